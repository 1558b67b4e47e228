"""Trees of a sentence by whoever has found them."""

import numpy as np
import spacy
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_hpyp.annotation.candidates import Candidates, lowered, parsed_candidates
from spacy_hpyp.compiled import NONE


def two_sentences(vocab):
    words = ["the", "dog", " ", "sleeps", ".", "\n", "Kim", "waits"]
    heads = [1, 3, 1, 3, 3, 4, 7, 7]
    deps = ["det", "nsubj", "dep", "ROOT", "punct", "dep", "nsubj", "ROOT"]
    return Doc(vocab, words=words, heads=heads, deps=deps, tags=["T"] * 8)


def test_trees_of_a_parsed_document_are_read_without_white_space():
    first, second = parsed_candidates(two_sentences(spacy.blank("en").vocab))
    assert first.token.tolist() == [0, 1, 3, 4]
    assert first.heads.tolist() == [[1, 2, NONE, 2]]
    assert first.labels == [["det", "nsubj", "ROOT", "punct"]]
    assert second.token.tolist() == [6, 7]
    assert second.heads.tolist() == [[1, NONE]]
    assert (len(second), second.tags) == (1, [["T", "T"]])
    assert parsed_candidates(Doc(Vocab())) == []


def candidates(*heads, score=(3.0, 2.0, 1.0)):
    rows = np.array(heads, dtype=np.int32)
    labels = [["ROOT" if head == NONE else "dep" for head in own] for own in heads]
    tags = [["T"] * rows.shape[1] for _ in heads]
    return Candidates(np.arange(rows.shape[1]), rows, labels, tags, np.array(score[: len(heads)]))


def test_a_tree_that_is_put_first_is_there_once_and_keeps_its_score():
    found = candidates([NONE, 0, 1], [NONE, 0, 0], [1, NONE, 1])
    changed = found.chosen_first(found.first(2).chosen_first(candidates([NONE, 0, 0])))
    assert changed.heads.tolist() == [[NONE, 0, 0], [NONE, 0, 1], [1, NONE, 1]]
    assert changed.score.tolist() == [2.0, 3.0, 1.0]
    new = found.chosen_first(candidates([2, 2, NONE]))
    assert new.heads[0].tolist() == [2, 2, NONE]
    assert new.score.tolist() == [1.0, 3.0, 2.0, 1.0]


def test_trees_that_are_not_projective_are_made_so_and_back(toy):
    doc = toy.doc(Vocab(), toy.non_projective)
    (found,) = parsed_candidates(doc)
    (sentence,) = found.sentences(doc)
    assert any("||" in label for label in sentence.labels)
    heads, labels = lowered(np.array(sentence.heads, dtype=np.int32), sentence.labels, doc, found.token)
    assert heads.tolist() == found.heads[0].tolist()
    assert labels == found.labels[0]


def test_what_hangs_on_white_space_hangs_on_what_that_hangs_on():
    vocab = spacy.blank("en").vocab
    doc = Doc(vocab, words=["a", " ", "b", "\n", "c"], heads=[2, 0, 2, 1, 3], deps=["x", "", "ROOT", "", "y"])
    (own,) = parsed_candidates(doc)
    assert own.heads.tolist() == [[1, NONE, 0]]
    # All that is left of white space that is a root itself.
    doc = Doc(vocab, words=["\n", "a", "b"], heads=[0, 0, 0], deps=["ROOT", "x", "y"])
    (own,) = parsed_candidates(doc)
    assert (own.heads.tolist(), own.labels) == ([[NONE, 0]], [["ROOT", "y"]])


def test_a_generative_parser_gives_the_same_trees_as_documents_and_as_candidates(toy, trained):
    sentence = toy.sentences(5)[4]
    doc = trained(" ".join(sentence.words))
    parser = toy.parser(trained)
    (found,) = parser.candidates(doc, 4)
    alternatives = parser.k_best(doc, 4)
    assert found.score.tolist() == [each.log_prob for each in alternatives]
    for i, each in enumerate(alternatives):
        (own,) = parsed_candidates(each.doc)
        assert found.place_of(own.heads[0], own.labels[0], own.tags[0]) == i
