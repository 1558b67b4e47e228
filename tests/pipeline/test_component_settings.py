"""The factory: adding the component to a pipeline, and its possible settings."""

import json
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError, asdict, fields, replace

import numpy as np
import pytest
import settings_page
import spacy
import srsly
from spacy.tokens import Doc

from spacy_hpyp.annotation.encoding import UnknownTagWarning
from spacy_hpyp.arc_standard.search import ROUND, TOP
from spacy_hpyp.pipeline.settings import ParserSettings
from spacy_hpyp.settings import TRUTH, Number, OneOf, Whole

TABLE_1 = "s1.tag s2.tag s1.right.tag s1.left.tag s3.tag s2.right.tag".split()

#: Contexts without words.
NO_WORDS = {
    "transition": [TABLE_1],
    "tag": [TABLE_1],
    "word": [["next.tag", "s1.tag", "s1.right.tag", "s1.left.tag"]],
}

PAPER = {
    "lexicalised": {},
    "unlexicalised context": NO_WORDS,
    "unlexicalised": {**NO_WORDS, "word": [], "predict_tags": False},
}


def test_registered_functions_are_found_and_spacy_starts_without_numba():
    program = """
import sys, spacy, spacy.cli
nlp = spacy.blank("en")
assert "numba" not in sys.modules
from spacy.util import registry
for kind, name in [
    ("architectures", "spacy-hpyp.HPYPModel.v1"),
    ("misc", "spacy-hpyp.EnglishUnknownWords.v1"),
    ("misc", "spacy-hpyp.UniversalUnknownWords.v1"),
    ("readers", "spacy-hpyp.GoldCorpus.v1"),
    ("scorers", "spacy-hpyp.scorer.v1"),
]:
    assert callable(getattr(registry, kind).get(name)), name
assert nlp.add_pipe("hpyp_parser").name == "hpyp_parser"
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_setting_of_the_config_is_saved(toy):
    nlp = toy.nlp()
    config = nlp.get_pipe_config("hpyp_parser")
    settings = asdict(toy.parser(nlp).settings)
    assert {**config, **settings} == config
    assert config.keys() - settings.keys() == {"factory", "model", "scorer"}
    saved = json.loads(srsly.msgpack_loads(toy.parser(nlp).to_bytes())["cfg"])
    assert saved == {"given": settings, "set": settings}


def test_settings_are_described_in_the_docs_as_declared():
    page = settings_page.PAGE.read_text(encoding="utf8")
    assert settings_page.write(page) == page
    assert all(f"| setting of {name} | default |" in page for name in settings_page.SETTINGS)


def test_a_setting_without_a_description_is_an_error():
    page = settings_page.PAGE.read_text(encoding="utf8")
    with pytest.raises(ValueError, match="'k'"):
        settings_page.write(re.sub(r"\| `k` \|.*\n", "", page))


@pytest.mark.parametrize("declared", fields(ParserSettings), ids=lambda declared: declared.name)
def test_every_setting_is_an_attribute_and_is_checked(toy, declared):
    assert declared.default in declared.metadata["possible"]
    parser = toy.parser(toy.nlp())
    value = getattr(parser, declared.name)
    nothing = [] if declared.default is None else [None]
    for impossible in [[value], -1.5, "no such value", *nothing]:
        with pytest.raises(ValueError, match=rf"'{declared.name}' must be"):
            setattr(parser, declared.name, impossible)
        with pytest.raises(ValueError, match=rf"'{declared.name}' must be"):
            toy.nlp(**{declared.name: impossible})
    assert getattr(parser, declared.name) == value


@pytest.mark.parametrize(
    ("possible", "inside", "outside"),
    [
        (Whole(1, 5), [1, 5, np.int32(3)], [0, 6, 1.5, True, "1", None, 2**63]),
        (Number(0.0), [0, 0.5, np.float32(2.0)], [-0.1, float("nan"), float("inf"), True, "0"]),
        (Number(0.0, 1.0), [0, 1.0], [1.1]),
        (OneOf(("a", "b")), ["a"], ["c", "", None]),
        (TRUTH, [True, np.bool_(False)], [1, "yes", None]),
    ],
    ids=str,
)
def test_settings_accept_only_their_possible_values(possible, inside, outside):
    assert all(value in possible for value in inside)
    assert not any(value in possible for value in outside)


def test_decoding_determines_the_search(toy):
    def search(**settings):
        nlp = toy.nlp(particles=7, stack_penalty=0.25, future_cost=0.5, **settings)
        return toy.parser(nlp).search

    found = {decoding: search(decoding=decoding) for decoding in ("best", "mbr", "beam")}
    assert {each.particles for each in found.values()} == {7}
    assert {each.stack_penalty for each in found.values()} == {0.25}
    assert [each.scheme for each in found.values()] == [ROUND, ROUND, TOP]
    assert [each.future_cost for each in found.values()] == [0.5, 0.5, 0.0]
    assert [each.consensus for each in found.values()] == [False, True, False]
    assert [each.marginals for each in found.values()] == [False, True, False]
    assert search(decoding="best", guides=True).marginals
    # This is exactly Algorithm 1.
    assert toy.parser(toy.nlp(stack_penalty=0, future_cost=0)).search.tag_threshold == 0.0


def test_settings_are_changed_together_or_not_at_all(toy):
    parser = toy.parser(toy.nlp())
    before = parser.settings
    with pytest.raises(ValueError, match="'seed'"):
        parser.change(particles=7, seed=-1)
    assert parser.settings == before
    parser.change(particles=np.int32(7), stack_penalty=1)
    assert parser.settings == replace(before, particles=7, stack_penalty=1.0)
    assert [type(value) for value in (parser.particles, parser.stack_penalty)] == [int, float]
    with pytest.raises(FrozenInstanceError):
        parser.settings.particles = 8
    with pytest.raises(TypeError, match="particle"):
        parser.change(particle=8)


def test_an_unlexicalised_model_needs_given_tags(toy):
    with pytest.raises(ValueError, match="predict_tags = false"):
        toy.nlp(word=[])
    parser = toy.parser(toy.nlp(word=[], predict_tags=False))
    with pytest.raises(ValueError, match="predict_tags = false"):
        parser.predict_tags = True


@pytest.mark.parametrize("setting", PAPER)
def test_settings_of_the_paper_train_and_parse(toy, assert_forest, setting):
    sentences = toy.sentences()
    nlp = toy.trained(sentences, **PAPER[setting])
    doc = nlp(Doc(nlp.vocab, words=sentences[0].words, tags=sentences[0].tags))
    assert_forest(doc)
    assert [token.head.i for token in doc] == sentences[0].heads
    words = {"word": 0} if setting == "unlexicalised" else {}
    assert toy.customers(nlp) == {**toy.customers_of(sentences), **words}


def test_a_missing_given_tag_raises_an_error_and_an_unknown_one_warns(toy):
    nlp = toy.trained(toy.sentences(10), sweeps=1, predict_tags=False)
    doc = Doc(nlp.vocab, words=["the", "dog", "sleeps"], tags=["DT", "XYZ", "VBZ"])
    with pytest.warns(UnknownTagWarning, match="'XYZ' was not in the training data"):
        assert [token.tag_ for token in nlp(doc)] == ["DT", "NN", "VBZ"]
    doc = Doc(nlp.vocab, words=["the", "dog", "sleeps"], tags=["DT", "", "VBZ"])
    with pytest.raises(ValueError, match=r"token 1 \('dog'\) has no tag"):
        nlp(doc)


def test_a_custom_rule_for_unknown_words_can_be_registered(toy):
    @spacy.registry.misc("toy.UnknownWords.v1")
    def make_rule():
        return lambda form, lower_tag: ["LONG" if len(form) > 6 else "SHORT"]

    rule = {"@misc": "toy.UnknownWords.v1"}
    nlp = toy.trained(toy.sentences(20), sweeps=1, unknown_words=rule, min_count=6)
    vocabulary = toy.parser(nlp).joint.vocabulary
    assert set(vocabulary.classes) >= {"SHORT"}
    assert set(vocabulary.classes) <= {"SHORT", "LONG", "UNKNOWN"}
