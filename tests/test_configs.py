"""The configs that come with the project are complete, and what the factory does without them."""

from pathlib import Path

import pytest
import spacy
import srsly
from command_line import run
from spacy.training.initialize import init_nlp
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


def test_labels_that_spacy_writes_are_read_again_and_shown_without_what_they_are_decorated_with(corpus, tmp_path):
    config = PROJECT / "configs" / "paper.cfg"
    overrides = ["--paths.train", corpus / "en_sample-ud-train.spacy", "--paths.dev", corpus / "en_sample-ud-dev.spacy"]
    run("init", "labels", config, tmp_path, *overrides)
    settings = load_config(
        config, overrides=dict(zip([name[2:] for name in overrides[::2]], map(str, overrides[1::2])))
    )
    settings["initialize"]["components"]["hpyp_parser"] = {
        "labels": {"@readers": "spacy.read_labels.v1", "path": str(tmp_path / "hpyp_parser.json")}
    }
    nlp = init_nlp(settings)
    labels = srsly.read_json(tmp_path / "hpyp_parser.json")
    assert any("||" in label for label in labels["labels"])
    assert nlp.get_pipe("hpyp_parser").label_data == labels
    nlp.to_disk(tmp_path / "model")
    run("package", tmp_path / "model", tmp_path, "--build", "none", "--name", "cards")
    (folder,) = tmp_path.glob("en_cards-*")
    meta, card = srsly.read_json(folder / "meta.json"), (folder / "README.md").read_text(encoding="utf8")
    shown = {label.split("||")[0] for label in labels["labels"]} | {"ROOT", "dep"}
    assert meta["labels"]["hpyp_parser"] == sorted(shown)
    assert all(f"`{label}`" in card for label in shown)
    assert "||" not in card


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
