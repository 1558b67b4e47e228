"""A spool gives back the text that was put into it, as words and as numbers."""

from itertools import chain

import pytest

from spacy_hpyp.text import spool
from spacy_hpyp.text.spool import Spool
from spacy_hpyp.text.unknown_words import english_unknown_words
from spacy_hpyp.text.vocabulary import Vocabulary, VocabularySettings

TEXT = [["The", "cat", "sat"], ["The"], [], ["cat", "The", "cat", "\n", "a b"], ["sat"] * 9]


def vocabulary(text):
    return Vocabulary.collect(
        ((words, [0] * len(words)) for words in text), [""], VocabularySettings(english_unknown_words())
    )


@pytest.mark.parametrize("part", [1, 3, 1000])
def test_sentences_come_back_in_their_order_without_the_empty_ones(monkeypatch, part):
    monkeypatch.setattr(spool, "_PART", part)
    with Spool(iter(TEXT)) as held:
        for _ in range(2):
            assert list(held.texts()) == [words for words in TEXT if words]
        assert (held.sentences, held.words) == (4, 18)


@pytest.mark.parametrize("part", [1, 3, 1000])
def test_streams_are_whole_sentences_of_the_vocabulary_s_numbers(monkeypatch, part):
    monkeypatch.setattr(spool, "_PART", part)
    known = vocabulary(TEXT)
    expected = [[*(known.number(word) for word in words), len(known)] for words in TEXT if words]
    with Spool(TEXT) as held:
        streams = [stream.tolist() for stream in held.streams(held.encode(known))]
    assert list(chain(*streams)) == list(chain(*expected))
    assert all(stream[-1] == len(known) for stream in streams)
    assert len(streams) == {1: 4, 3: 3, 1000: 1}[part]


def test_an_empty_text_has_no_streams():
    with Spool([[], []]) as held:
        assert list(held.texts()) == []
        assert list(held.streams(held.encode(vocabulary(TEXT)))) == []
