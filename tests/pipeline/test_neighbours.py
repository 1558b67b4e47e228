"""Components find others in their pipeline by position."""

import pickle

import pytest
import spacy
from spacy.language import Language

from spacy_hpyp.pipeline.base import components_before


@Language.component("v_first")
@Language.component("v_second")
def parse(doc):
    return doc


@pytest.fixture
def nlp():
    nlp = spacy.blank("en")
    nlp.add_pipe("v_first")
    nlp.add_pipe("v_second")
    nlp.add_pipe("keep_parse", after="v_first")
    nlp.add_pipe("parse_combiner")
    return nlp


def names_before(component):
    return [name for name, _ in components_before(component, component.nlp)]


def test_components_find_their_predecessors_when_used(nlp):
    keep, combiner = nlp.get_pipe("keep_parse"), nlp.get_pipe("parse_combiner")
    nlp.add_pipe("v_first", name="other", before="keep_parse")
    nlp.disable_pipe("other")
    assert keep.name_of_parse == "other"
    assert combiner.voters_in(nlp) == ["other", "v_second"]
    assert names_before(combiner) == ["v_first", "other", "keep_parse", "v_second"]


def test_a_pickled_component_keeps_its_pipeline(nlp):
    copy = pickle.loads(pickle.dumps(nlp)).get_pipe("parse_combiner")
    alone = pickle.loads(pickle.dumps(nlp.get_pipe("keep_parse")))
    assert names_before(copy) == names_before(nlp.get_pipe("parse_combiner"))
    assert alone.name_of_parse == "v_first"


def test_a_sourced_component_finds_its_new_pipeline(nlp):
    other = spacy.blank("en", vocab=nlp.vocab)
    other.add_pipe("v_second")
    keep = other.add_pipe("keep_parse", source=nlp)
    keep.initialize(list, nlp=other)
    assert keep.name_of_parse == "v_second"


def test_a_sourced_component_keeps_the_name_of_its_parse(nlp, tmp_path):
    nlp.to_disk(tmp_path)
    other = spacy.blank("en")
    other.add_pipe("v_second")
    other.add_pipe("keep_parse", source=spacy.load(tmp_path))
    other.to_disk(tmp_path)
    for each in (other, spacy.load(tmp_path)):
        assert each.get_pipe("keep_parse").name_of_parse == "v_first"
