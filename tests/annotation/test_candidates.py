"""Candidate trees of a sentence."""

import numpy as np
from spacy.vocab import Vocab

from spacy_hpyp.annotation.candidates import Candidates, lowered
from spacy_hpyp.compiled import NONE


def heads_of(doc):
    return [NONE if token.head.i == token.i else token.head.i for token in doc]


def test_lifting_and_lowering_restores_non_projective_trees(toy):
    doc = toy.doc(Vocab(), toy.non_projective)
    heads, labels = np.array(heads_of(doc), dtype=np.int32), [token.dep_ for token in doc]
    found = Candidates(np.arange(len(doc)), heads[None], [labels], [["T"] * len(doc)], np.zeros(1))
    (sentence,) = found.sentences(doc)
    assert any("||" in label for label in sentence.labels)
    again, lowered_labels = lowered(np.array(sentence.heads), sentence.labels, list(doc))
    assert again.tolist() == heads.tolist()
    assert lowered_labels == labels


def test_candidates_and_k_best_give_the_same_trees(toy, trained):
    doc = trained(" ".join(toy.sentences(5)[4].words))
    parser = toy.parser(trained)
    (found,) = parser.candidates(doc, 4)
    alternatives = parser.k_best(doc, 4)
    assert found.score.tolist() == [each.log_prob for each in alternatives]
    assert found.heads.tolist() == [heads_of(each.doc) for each in alternatives]
    assert found.labels == [[token.dep_ for token in each.doc] for each in alternatives]
    assert found.tags == [[token.tag_ for token in each.doc] for each in alternatives]
