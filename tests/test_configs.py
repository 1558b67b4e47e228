"""The configs that come with the project, and the defaults of the components."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
import spacy
from command_line import run
from spacy.training import Example
from spacy.training.loop import create_train_batches
from spacy.util import load_config, registry

from spacy_hpyp.arc_standard.distributions import DISTRIBUTIONS
from spacy_hpyp.text.unknown_words import unknown_words

PROJECT = Path(__file__).parent.parent
SAMPLE = PROJECT / "assets" / "sample"
#: Configs with components sourced from trained pipelines.
SOURCED = {"papers", "guided", "generative_reranker"}
#: The configs that train their parsers.
PARSERS = {"guided": "pool", "generative_reranker": "easy_first"}
ALL_CONFIGS = sorted((PROJECT / "configs").glob("*.cfg"))
CONFIGS = [path for path in ALL_CONFIGS if path.stem not in SOURCED]


def test_sourced_components_exist_in_their_source_pipelines():
    configs = {path.stem: load_config(path) for path in ALL_CONFIGS}
    made = {name: configs[name]["nlp"]["pipeline"] for name in ("guided", "easy_first", "pool")}
    for config in SOURCED - {"papers"}:
        for name, component in configs[config]["components"].items():
            source = component.get("source", "")
            if source.startswith("${paths."):
                path = source.removeprefix("${paths.").removesuffix("}")
                pipeline = made[PARSERS[config] if path == "parser" else path]
                assert component.get("component", name) in pipeline, config


def test_every_config_reads_conllu():
    for config in CONFIGS:
        corpus = load_config(config)["corpora"]["train"]
        assert corpus["@readers"] == "spacy-hpyp.ConlluCorpus.v1", config


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.name)
def test_filled_configs_pass_spacy_debug_config(config, tmp_path):
    run("init", "fill-config", config, tmp_path / "filled.cfg")
    paths = (f"--paths.{part}={SAMPLE}/en_sample-ud-{part}.conllu" for part in ("train", "dev"))
    assert "Config is valid" in run("debug", "config", tmp_path / "filled.cfg", *paths).output


@pytest.mark.parametrize("documents", [3, 40, 1255])
@pytest.mark.parametrize("config", ALL_CONFIGS, ids=lambda path: path.stem)
def test_training_ends_with_an_evaluation_after_whole_epochs_over_any_treebank(config, documents):
    nlp = spacy.blank("en")
    docs = [nlp.make_doc("a b c " * (i % 7)) for i in range(documents)]
    examples = [Example(nlp.make_doc("a b c"), doc) for doc in docs]
    training = load_config(config).interpolate()["training"]
    batcher = registry.resolve({"batcher": training["batcher"]})["batcher"]
    steps = list(create_train_batches(nlp, lambda _: examples, batcher, training["max_epochs"]))
    assert training["max_steps"] == 0
    assert (len(steps) - 1) % training["eval_frequency"] == 0
    assert steps[0][1]
    assert sum(len(batch) for _, batch in steps) == training["max_epochs"] * documents


def test_only_guided_components_have_guide_templates():
    counts = {}
    for guided in (False, True):
        nlp = spacy.blank("en")
        parser = nlp.add_pipe("easy_first_parser", config={"model": {"guided": guided}})
        counts[guided] = [len(templates) for templates in parser.parser.templates]
        assert parser.parser.is_guided == guided
    assert counts[True] > counts[False]


@pytest.mark.parametrize("lang", ["en", "it"])
def test_the_unknown_word_rule_matches_the_language(lang):
    nlp = spacy.blank(lang)
    nlp.add_pipe("hpyp_parser")
    # The rule is the same for all languages but English.
    rule = nlp.config["components"]["hpyp_parser"]["model"]["unknown_words"]
    assert rule["lang"] == ("en" if lang == "en" else "xx")
    vocabulary_settings = nlp.get_pipe("hpyp_parser").joint.vocabulary_settings
    for word in ("unthinkingly", "1984", "Zenobias"):
        assert vocabulary_settings.rule(word, "") == unknown_words(lang)(word, "")


def test_an_installed_wheel_contains_the_default_configs(tmp_path):
    source, wheel = tmp_path / "source", tmp_path / "wheel"
    source.mkdir()
    for name in ("README.md", "LICENSE", "pyproject.toml", "setup.cfg", "setup.py"):
        shutil.copy(PROJECT / name, source)
    for name in ("spacy_hpyp", "configs"):
        shutil.copytree(PROJECT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", wheel, source]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = wheel.glob("*.whl")
    with ZipFile(file) as archive:
        archive.extractall(tmp_path / "installed")
    installed = tmp_path / "installed" / "spacy_hpyp"
    config = (installed / "configs" / "pool.cfg").read_bytes()
    assert config == (PROJECT / "configs" / "pool.cfg").read_bytes()
    assert (installed / "cli" / "report.html").is_file()
    program = "from spacy_hpyp.pipeline import factories; print(factories.__file__)"
    place = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(installed.parent)}}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, **place)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(installed))


def test_add_pipe_makes_pools_from_lists_of_experts(toy, assert_forest):
    model = spacy.blank("en").add_pipe("hpyp_parser").joint.contexts
    nlp = spacy.blank("en")
    lists = {name: [list(expert) for expert in getattr(model, name)[:3]] for name in DISTRIBUTIONS}
    nlp.add_pipe("hpyp_parser", config={"particles": 20, "model": lists})
    joint = toy.parser(nlp).joint
    assert joint.is_factored
    assert joint.one_table
    assert joint.vocabulary_settings.min_count == 2
    assert_forest(toy.train(nlp, toy.sentences(20), 2)("the dog sees a cat ."))
