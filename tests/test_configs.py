"""The configs that come with the project are complete, and what the factory does without them."""

from pathlib import Path

import pytest
import spacy
from command_line import run
from spacy.util import load_config, load_model_from_config

from spacy_hpyp.model import DISTRIBUTIONS

PROJECT = Path(__file__).parent.parent
SAMPLE = PROJECT / "assets" / "sample"
CONFIGS = sorted((PROJECT / "configs").glob("*.cfg"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    for part in ("train", "dev"):
        run("convert", SAMPLE / f"en_sample-ud-{part}.conllu", folder, "--converter", "conllu", "--n-sents", 10)
    return folder


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.name)
def test_config_passes_the_checks_of_spacy(config, corpus):
    train, dev = (corpus / f"en_sample-ud-{part}.spacy" for part in ("train", "dev"))
    output = run("debug", "config", config, "--paths.train", train, "--paths.dev", dev).output
    assert "Config is valid" in output


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.name)
def test_config_leaves_nothing_to_defaults(config):
    given = load_config(config)
    nlp = load_model_from_config(given, auto_fill=True)
    filled, given = (c.interpolate()["components"]["hpyp_parser"] for c in (nlp.config, given))
    # Labels apart from directions, Kneser-Ney seating and arcs without labels are not the paper's: these may be left out.
    given["model"] = {"label": [], "seating": "sampled", "labelled": True, **given["model"]}
    filled["model"]["label"] = [list(expert) for expert in filled["model"]["label"]]
    assert given == filled
    joint = nlp.get_pipe("hpyp_parser").joint
    for name in DISTRIBUTIONS:
        assert [list(expert) for expert in getattr(joint.contexts, name)] == given["model"][name]


def test_pools_are_made_by_add_pipe_with_lists_alone(toy, assert_forest):
    model = load_config(PROJECT / "configs" / "pool.cfg")["components"]["hpyp_parser"]["model"]
    nlp = spacy.blank("en")
    lists = {name: model[name][:3] for name in DISTRIBUTIONS}
    nlp.add_pipe("hpyp_parser", config={"particles": 20, "model": {**lists, "seating": "kneser-ney"}})
    joint = toy.parser(nlp).joint
    assert joint.is_factored
    assert joint.one_table
    assert joint.vocabulary_settings.min_count == 2
    assert_forest(toy.train(nlp, toy.sentences(20), 2)("the dog sees a cat ."))
