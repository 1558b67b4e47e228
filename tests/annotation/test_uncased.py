"""Lower-case words with their parents, without white space and optionally without incomplete
sentences.
"""

import spacy
from spacy.tokens import Doc

from spacy_hpyp.annotation.uncased_words import read_uncased, uncased_key

VOCAB = spacy.blank("en").vocab


def doc_of(words, heads, deps=None, starts=None):
    return Doc(
        VOCAB, words=words, heads=heads, deps=deps or ["dep"] * len(words), sent_starts=starts
    )


def test_words_are_lower_case_with_heads_and_sentence_offsets():
    found = read_uncased(doc_of(["The", "Dog", "sleeps", "STOP"], [1, 2, 2, 3]))
    assert found.forms == ["the", "dog", "sleeps", "stop"]
    assert found.heads.tolist() == [1, 2, -1, -1]
    assert found.offsets.tolist() == [0, 3, 4]
    assert found.is_attached.all()


def test_white_space_is_skipped_and_its_children_move_to_its_head():
    found = read_uncased(doc_of(["\n", "a", " ", "  ", "b", "\n"], [1, 4, 4, 2, 4, 4]))
    assert found.forms == ["a", "b"]
    assert found.token.tolist() == [1, 4]
    assert found.heads.tolist() == [1, -1]
    found = read_uncased(doc_of(["a", " ", "\n", "b"], [2, 2, 3, 3]))
    assert found.heads.tolist() == [1, -1]
    found = read_uncased(doc_of(["a", "\n"], [1, 1]))
    assert found.heads.tolist() == [-1]


def test_documents_without_words_or_trees_can_be_read():
    empty = read_uncased(Doc(VOCAB))
    assert (empty.forms, empty.offsets.tolist()) == ([], [0])
    found = read_uncased(Doc(VOCAB, words=["a", "b"]))
    assert found.heads.tolist() == [-1, -1]
    assert not found.is_attached.any()
    assert found.offsets.tolist() == [0, 2]
    assert found.complete().forms == []
    assert empty.complete().offsets.tolist() == [0]


def test_complete_keeps_only_fully_annotated_sentences():
    words, heads = ["a", "b", "c", "d", "e"], [0, 2, 2, 4, 4]
    doc = doc_of(words, heads, deps=["ROOT", "", "ROOT", "dep", "ROOT"])
    found = read_uncased(doc).complete()
    assert found.forms == ["a", "d", "e"]
    assert found.heads.tolist() == [-1, 2, -1]
    assert found.token.tolist() == [0, 3, 4]
    assert found.offsets.tolist() == [0, 1, 3]


def test_uncased_key_depends_on_lower_case_words_and_trees():
    trees = ("aB", [1, 1]), ("Ab", [1, 1]), ("ab", [0, 0]), ("ac", [1, 1])
    keys = [uncased_key(doc_of(list(words), heads)) for words, heads in trees]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
