"""How probable arcs are together with their labels."""

import numpy as np
import pytest
from spacy.tokens import Doc

from spacy_hpyp.components.rating import rate_labels

TEXT = "the old dog near Kim sees a bird ."


@pytest.fixture(scope="module", name="sure")
def pipeline_with_probabilities(toy, trained):
    return toy.copy(trained, decoding="mbr")


def copy_with(doc, place, label):
    """A copy of a parsed document with another label of one word."""
    other = doc.copy()
    other[place].dep_ = label
    return other


def probabilities(doc, name="label_prob"):
    return np.array([token._.get(name) for token in doc])


def test_the_labels_of_an_arc_share_its_probability(toy, sure):
    parser = toy.parser(sure)
    doc = sure(TEXT)
    places = [token.i for token in doc if token.dep_ != "ROOT"]
    for place in places[:3]:
        copies = [copy_with(doc, place, label) for label in parser.labels]
        rate_labels(parser, copies, labels_per_arc=len(parser.labels))
        shares = [copy[place]._.label_prob for copy in copies]
        assert sum(shares) == pytest.approx(doc[place]._.head_prob)


def test_an_arc_with_its_label_is_no_more_probable_than_the_arc(toy, sure):
    doc = sure(TEXT)
    rate_labels(toy.parser(sure), [doc])
    assert np.all(probabilities(doc) <= probabilities(doc, "head_prob") + 1e-12)
    assert np.all(probabilities(doc) > 0.0)
    root = next(token for token in doc if token.head.i == token.i)
    assert root._.label_prob == pytest.approx(root._.head_prob)


def test_documents_and_threads_do_not_depend_on_each_other(toy, sure):
    texts = [TEXT, "Ada sleeps . Kim \n waits .", "", "the cat sees Mona ."]
    alone = [sure(text) for text in texts]
    for doc in alone:
        rate_labels(toy.parser(sure), [doc])
    together = [sure(text) for text in texts]
    rate_labels(toy.parser(toy.copy(sure, threads=3)), together)
    for one, other in zip(alone, together):
        assert [t._.label_prob for t in one] == [t._.label_prob for t in other]
    assert [t._.label_prob is None for t in alone[1]] == [t.is_space for t in alone[1]]


def test_the_arcs_of_another_parser_are_rated(toy, sure):
    doc = sure(TEXT)
    assert [token.dep_ for token in doc if token._.label_prob is not None] == []
    wrong = copy_with(doc, 0, "obj")
    rate_labels(toy.parser(sure), [doc, wrong])
    assert wrong[0]._.label_prob < 0.5 < doc[0]._.label_prob
    assert probabilities(wrong)[1:].tolist() == probabilities(doc)[1:].tolist()


def test_parsing_again_forgets_them(toy, sure):
    doc = sure(TEXT)
    rate_labels(toy.parser(sure), [doc])
    again = sure(doc)
    assert {token._.label_prob for token in again} == {None}


def test_what_has_not_been_parsed_is_refused(toy, trained):
    with pytest.raises(ValueError, match="have been parsed"):
        rate_labels(toy.parser(trained), [Doc(trained.vocab, words=["dog"])])
    with pytest.raises(ValueError, match="labels_per_arc"):
        rate_labels(toy.parser(trained), [], labels_per_arc=0)
