"""Words of documents without white space; preset annotation is kept."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hpyp.annotation import encoding
from spacy_hpyp.annotation.encoding import (
    BEGINS,
    GOES_ON,
    NOTHING,
    read_spaces,
    read_words,
    write_starts,
    write_tags,
)
from spacy_hpyp.compiled import NONE

VOCAB = spacy.blank("en").vocab


def doc_of(words, starts=None, spaces=None):
    return Doc(VOCAB, words=words, spaces=spaces, sent_starts=starts)


def starts_of(doc):
    return [token.is_sent_start for token in doc]


def test_read_words_skips_white_space_in_all_documents():
    docs = [doc_of(["\n", "a", " ", "b"]), doc_of([]), doc_of(["b", "\n\n"]), doc_of(["\t"])]
    words = read_words(docs)
    assert [words.forms[place] for place in words.place] == ["a", "b", "b"]
    assert len(words.forms) == 2
    assert words.layout.token.tolist() == [1, 3, 0]
    assert words.layout.docs.tolist() == [0, 2, 2, 3, 3]
    assert words.layout.offsets.tolist() == [0, 2, 3]


@pytest.mark.parametrize("docs", [[], [doc_of([])], [doc_of([" "]), doc_of(["\n", " "])]])
def test_documents_without_words_are_accepted(docs):
    words = read_words(docs)
    columns = words.forms, words.place, words.starts, read_spaces(docs, words.layout)
    assert [len(column) for column in columns] == [0] * 4
    assert words.layout.offsets.tolist() == [0]
    assert len(words.layout.docs) == len(docs) + 1
    write_tags(docs, words.layout, np.empty(0, dtype=np.int32), ["X"])
    write_starts(docs, words, np.empty(0, dtype=np.int32))


def test_preset_boundaries_delimit_blocks():
    docs = [doc_of(["a", "b", "c", "d"], [True, None, False, True]), doc_of(["e", "f"])]
    words = read_words(docs)
    assert words.starts.tolist() == [BEGINS, NONE, GOES_ON, BEGINS, BEGINS, NONE]
    assert words.layout.offsets.tolist() == [0, 3, 4, 6]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", [NOTHING, encoding.SPACE]),
        ("a,", [NOTHING, NOTHING]),
        ("a  b", [NOTHING, encoding.SPACES]),
        ("a\tb", [NOTHING, encoding.SPACES]),
        ("a\nb", [NOTHING, encoding.LINE_END]),
        ("a \n b", [NOTHING, encoding.LINE_END]),
        ("a\n\nb", [NOTHING, encoding.EMPTY_LINE]),
        ("a \n \n b", [NOTHING, encoding.EMPTY_LINE]),
        ("\na", [encoding.LINE_END]),
        ("  a", [encoding.SPACES]),
    ],
)
def test_kinds_of_space_before_words_are_distinguished(text, expected):
    docs = [spacy.blank("en")(text)]
    assert read_spaces(docs, read_words(docs).layout).tolist() == expected


def test_tags_are_written_to_words_and_white_space():
    docs = [doc_of(["a", " ", "b"]), doc_of(["\n"]), doc_of(["c"])]
    words = read_words(docs)
    write_tags(docs, words.layout, np.array([1, 0, 1], dtype=np.int32), ["X", "Y"])
    assert [[token.tag_ for token in doc] for doc in docs] == [["Y", "_SP", "X"], ["_SP"], ["Y"]]


def test_starts_are_written_for_every_token():
    docs = [doc_of(["a", "b", "\n", "c"]), doc_of(["d", "e"])]
    write_starts(docs, read_words(docs), np.array([BEGINS, GOES_ON, BEGINS, BEGINS, GOES_ON]))
    assert starts_of(docs[0]) == [True, False, False, True]
    assert starts_of(docs[1]) == [True, False]
    assert [sentence.text for sentence in docs[0].sents] == ["a b \n", "c"]


def test_preset_sentence_starts_are_kept():
    doc = doc_of(["a", "b", "c", "d"], [True, False, True, None])
    write_starts([doc], read_words([doc]), np.array([BEGINS, BEGINS, GOES_ON, BEGINS]))
    assert starts_of(doc) == [True, False, True, True]


def test_a_boundary_preset_before_white_space_is_not_duplicated():
    doc = doc_of(["a", "\n", "b"], [True, True, None])
    words = read_words([doc])
    write_starts([doc], words, words.starts)
    assert starts_of(doc) == [True, True, False]
