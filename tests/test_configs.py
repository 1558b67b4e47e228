"""The configs that come with the project are complete, and what the factory does without them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
import spacy
import srsly
from command_line import run
from spacy.training.initialize import init_nlp
from spacy.util import load_config, load_model_from_config
from thinc.api import Adam

from spacy_hpyp import HPYPParser
from spacy_hpyp.arc_standard.distributions import DISTRIBUTIONS
from spacy_hpyp.components.conllu_corpus import create_conllu_corpus
from spacy_hpyp.text.unknown_words import unknown_words

PROJECT = Path(__file__).parent.parent
SAMPLE = PROJECT / "assets" / "sample"
#: These take components from trained pipelines.
SOURCED = {"guided", "combined", "reranked", "generative_reranker"}
#: What trains the parser that some of these take.
PARSERS = {"guided": "pool", "generative_reranker": "easy_first"}
#: These are what `hpyp papers` reads.
STUDIES = {"accuracy", "confidence", "papers", "rare_words", "word_classes"}
CONFIGS = sorted(path for path in (PROJECT / "configs").glob("*.cfg") if path.stem not in SOURCED | STUDIES)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    for part in ("train", "dev"):
        run(
            "convert",
            SAMPLE / f"en_sample-ud-{part}.conllu",
            folder,
            "--converter",
            "conllu",
            "--n-sents",
            10,
        )
    return folder


def test_what_is_taken_from_pipelines_of_other_configs_is_in_these():
    configs = {path.stem: load_config(path) for path in (PROJECT / "configs").glob("*.cfg")}
    made = {name: configs[name]["nlp"]["pipeline"] for name in ("guided", "easy_first", "pool")}
    made |= {"spacy": ["tok2vec", "tagger", "parser"]}
    for config in SOURCED:
        for name, component in configs[config]["components"].items():
            source = component.get("source", "")
            if source.startswith("${paths."):
                path = source.removeprefix("${paths.").removesuffix("}")
                pipeline = made[PARSERS[config] if path == "parser" else path]
                assert component.get("component", name) in pipeline, config


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.name)
def test_config_passes_the_checks_of_spacy(config, corpus):
    train, dev = (corpus / f"en_sample-ud-{part}.spacy" for part in ("train", "dev"))
    output = run("debug", "config", config, "--paths.train", train, "--paths.dev", dev).output
    assert "Config is valid" in output


@pytest.mark.parametrize(
    ("name", "pipe"),
    [
        pytest.param("paper", "hpyp_parser", marks=pytest.mark.slow),
        ("pool", "hpyp_parser"),
        pytest.param("easy_first", "easy_first_tagger", marks=pytest.mark.slow),
        pytest.param("easy_first", "easy_first_parser", marks=pytest.mark.slow),
        pytest.param("head_outward", "head_outward_parser", marks=pytest.mark.slow),
    ],
)
def test_model_and_data_pass_the_checks_of_spacy(name, pipe, corpus, tmp_path):
    # spaCy calls for a hundred documents at least.
    sentences = tmp_path / "en_sample-ud-train.spacy"
    run("convert", SAMPLE / "en_sample-ud-train.conllu", tmp_path, "--converter", "conllu")
    config, dev = PROJECT / "configs" / f"{name}.cfg", corpus / "en_sample-ud-dev.spacy"
    for train in (corpus / sentences.name, sentences):
        paths = ["--paths.train", train, "--paths.dev", dev]
        output = run("debug", "model", config, pipe, *paths, "-P3").output
        assert "Successfully ended analysis" in output
        output = run("debug", "data", config, *paths, exit_code=int(train != sentences)).output
        assert "Pipeline can be initialized with data" in output
        assert "Corpus is loadable" in output
        assert ("Low number of examples to train a new pipeline (23)" in output) == (train != sentences)


def test_labels_that_spacy_writes_are_read_again_and_shown_without_what_they_are_decorated_with(
    corpus, tmp_path
):
    config = PROJECT / "configs" / "paper.cfg"
    overrides = [
        "--paths.train",
        corpus / "en_sample-ud-train.spacy",
        "--paths.dev",
        corpus / "en_sample-ud-dev.spacy",
    ]
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
    for name in nlp.pipe_names:
        assert component(nlp.config, name) == component(given, name)
    if "hpyp_parser" in nlp.pipe_names:
        joint = nlp.get_pipe("hpyp_parser").joint
        for name in DISTRIBUTIONS:
            assert [list(expert) for expert in getattr(joint.contexts, name)] == component(given)["model"][
                name
            ]


def test_the_guided_config_leaves_nothing_to_defaults_and_reads_what_the_fast_one_reads_and_guides():
    guided, fast = (load_config(PROJECT / "configs" / f"{name}.cfg") for name in ("guided", "easy_first"))
    for name in ("easy_first_senter", "easy_first_tagger", "easy_first_parser"):
        ours, theirs = component(guided, name), component(fast, name)
        assert ours.keys() == theirs.keys()
        for lists in ours["model"].keys() & {"templates", "arcs", "labels"}:
            more = [template for template in ours["model"][lists] if template not in theirs["model"][lists]]
            assert len(ours["model"][lists]) == len(theirs["model"][lists]) + len(more)
            assert all(any("guide" in part or "missing" in part for part in template) for template in more)
            assert bool(more) == (name != "easy_first_senter")


def component(config, name="hpyp_parser"):
    """The settings of a component in a config."""
    return config.interpolate()["components"][name]


@pytest.mark.parametrize("lang", ["en", "it"])
def test_the_rule_for_unknown_words_is_that_of_the_language(lang):
    nlp = spacy.blank(lang)
    nlp.add_pipe("hpyp_parser")
    # The rule is the same for all languages but English.
    assert component(nlp.config)["model"]["unknown_words"]["lang"] == (lang if lang == "en" else "xx")
    vocabulary_settings = nlp.get_pipe("hpyp_parser").joint.vocabulary_settings
    for word in ("unthinkingly", "1984", "Zenobias"):
        assert vocabulary_settings.rule(word, "") == unknown_words(lang)(word, "")


def test_component_made_in_python_has_the_settings_of_the_factory(toy):
    nlp = spacy.blank("en")
    made = nlp.add_pipe("hpyp_parser")
    assert HPYPParser(nlp.vocab, made.model).settings == made.settings


def test_base_config_of_the_docs_is_filled_in_to_the_training_of_the_pool(tmp_path):
    page = (PROJECT / "docs" / "training.md").read_text(encoding="utf8")
    base = next(block for block in page.split("```\n") if block.startswith("[nlp]"))
    # French has to be imported first.
    base = base.replace('lang = "fr"', 'lang = "en"')
    (tmp_path / "base.cfg").write_text(base, encoding="utf8")
    run("init", "fill-config", tmp_path / "base.cfg", tmp_path / "filled.cfg")
    filled, pool = (load_config(path) for path in (tmp_path / "filled.cfg", PROJECT / "configs" / "pool.cfg"))
    filled, pool = (config.interpolate()["training"] for config in (filled, pool))
    # The optimizer's other settings are left out of the pool's config; dropout is nothing that the parser
    # has.
    assert filled["optimizer"] == {**filled["optimizer"], **pool["optimizer"]}
    default = Adam(0.02)
    others = {
        name: filled["optimizer"][name] for name in filled["optimizer"].keys() - pool["optimizer"].keys()
    }
    assert others == {
        "beta1": default.b1,
        "beta2": default.b2,
        "eps": default.eps,
        "L2_is_weight_decay": True,
    }
    # Those of `attribute_ruler`, by which no pipeline is chosen.
    for name in ("pos_acc", "morph_acc", "morph_per_feat"):
        assert not pool["score_weights"].pop(name)
        filled["score_weights"].pop(name, None)
    for training in (filled, pool):
        del training["optimizer"], training["dropout"]
    assert filled == pool


def test_an_installed_wheel_has_the_defaults(tmp_path):
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
    assert (installed / "configs" / "pool.cfg").read_bytes() == (
        PROJECT / "configs" / "pool.cfg"
    ).read_bytes()
    assert all((installed / "report" / name).is_file() for name in ("page.html", "tree.html"))
    program = "from spacy_hpyp.components import factories; print(factories.__file__); factories.shipped_config('pool')"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed.parent)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(installed))


def test_pools_are_made_by_add_pipe_with_lists_alone(toy, assert_forest):
    model = load_config(PROJECT / "configs" / "pool.cfg")["components"]["hpyp_parser"]["model"]
    nlp = spacy.blank("en")
    lists = {name: model[name][:3] for name in DISTRIBUTIONS}
    nlp.add_pipe("hpyp_parser", config={"particles": 20, "model": lists})
    joint = toy.parser(nlp).joint
    assert joint.is_factored
    assert joint.one_table
    assert joint.vocabulary_settings.min_count == 2
    assert_forest(toy.train(nlp, toy.sentences(20), 2)("the dog sees a cat ."))


@pytest.mark.parametrize("name", ["pool", "guided", "easy_first", "paper"])
def test_configs_read_conllu_and_learn_where_tokens_end(name):
    config = load_config(PROJECT / "configs" / f"{name}.cfg").interpolate()
    assert config["nlp"]["tokenizer"]["@tokenizers"] == "spacy-hpyp.LearnedTokenizer.v1"
    assert config["corpora"]["train"]["@readers"] == "spacy-hpyp.ConlluCorpus.v1"


def test_a_config_makes_a_pipeline_of_words_of_conllu():
    config = load_config(PROJECT / "configs" / "pool.cfg")
    config["nlp"]["pipeline"] = ["hpyp_parser"]
    config["components"] = {"hpyp_parser": config["components"]["hpyp_parser"]}
    config["initialize"]["components"] = {}
    config["paths"] |= {part: str(SAMPLE / f"en_sample-ud-{part}.conllu") for part in ("train", "dev")}
    nlp = init_nlp(config.interpolate())
    (example, *_) = create_conllu_corpus(SAMPLE / "en_sample-ud-train.conllu")(nlp)
    doc = nlp.make_doc(example.reference.text)
    assert doc.text == example.reference.text
    assert [word.text for word in doc._.words] == [word.text for word in example.reference._.words]
