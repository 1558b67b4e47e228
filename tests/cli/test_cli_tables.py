"""The command that fills the papers' tables, and the study that comes with the project."""

import sys
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest
import srsly
from command_line import run
from spacy import registry
from spacy.cli import app
from spacy.tokens import DocBin
from spacy.util import dot_to_object, load_config
from typer.main import get_command

from spacy_hpyp.cli.papers import Accuracy, Choice
from spacy_hpyp.language_model.scoring import Perplexity
from spacy_hpyp.storage.files import locked
from spacy_hpyp.studies.study import read_study
from spacy_hpyp.training.state_study import StateFigures

PROJECT = Path(__file__).parents[2]
SAMPLE = PROJECT / "assets" / "sample"

#: A run on the treebank that comes with the project, which takes no time.
TINY = """
[study]
title = "A tiny study"
tokens = 100

[vars]
folder = "FOLDER"
documents = "DOCUMENTS"
states = 2

[columns]

[columns.bits]
key = "bits"

[commands]

[commands.states]
command = ["hpyp","papers","states"]
suffix = ".json"

[commands.states.options]
output = "{output}"
kinds = "lda"
sweeps = 4

[runs]

[runs.latent_states]
command = "states"
arguments = ["{documents}"]
seconds = 3

[runs.latent_states.options]
states = "{states}"

[tables]

[tables.bits]
title = "Bits a word"
paper = "A paper"
columns = ["bits"]
rows = {"LDA": {"run": "latent_states", "pick": {"kind": "lda"}, "published": [9.08]}}

[tables.others]
title = "Others' bits"
paper = "A paper"
columns = ["bits"]
rows = {"Unigrams": {"published": [10]}}
"""


@pytest.fixture
def study(tmp_path, write):
    documents = SAMPLE / "en_sample-ud-dev.conllu"
    text = TINY.replace("FOLDER", (tmp_path / "out").as_posix()).replace("DOCUMENTS", documents.as_posix())
    return write(text, "tiny.cfg")


def test_a_study_is_listed_run_and_not_run_again(study, tmp_path):
    listed = run("hpyp", "papers", "tables", study, "--list").output
    assert "bits" in listed
    assert not (tmp_path / "out").exists()
    first = run("hpyp", "papers", "tables", study, "bits", "--jobs", 2, "--vars.states", 3).output
    assert "spacy hpyp papers states" in first
    page = (tmp_path / "out" / "tiny.md").read_text(encoding="utf8")
    found = srsly.read_json(tmp_path / "out" / "tiny.json")["tables"]["bits"]["rows"]["LDA"]
    assert f"| LDA | 9.08 | {found['found']['bits']:.2f} | [1] |" in page
    assert "--states 3" in found["command"]
    again = run("hpyp", "papers", "tables", study, "bits", "--vars.states", 3).output
    assert "spacy hpyp papers states" not in again
    assert (tmp_path / "out" / "tiny.md").read_text(encoding="utf8") == page
    assert "Others' bits" not in page
    run("hpyp", "papers", "tables", study, "--vars.states", 3, "others")
    whole = (tmp_path / "out" / "tiny.md").read_text(encoding="utf8")
    assert f"| LDA | 9.08 | {found['found']['bits']:.2f} | [1] |" in whole
    assert "Others' bits" in whole


def test_a_study_is_written_elsewhere(study, tmp_path):
    run("hpyp", "papers", "tables", study, "others", "--output", tmp_path / "else")
    assert (tmp_path / "else" / "tiny.md").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["two"], "There is no table 'two'"),
        (["--vars.nothing", "3"], "no setting 'vars.nothing'"),
        (["--vars.documents", "there/is/none.conllu"], "there is no 'there/is/none.conllu'"),
    ],
)
def test_what_is_wrong_is_said(study, arguments, problem):
    missing = "--vars.documents" in arguments
    done = run("hpyp", "papers", "tables", study, *arguments, exit_code=0 if missing else 1)
    assert problem in " ".join(done.output.split())


def test_a_run_that_fails_is_shown_with_its_last_lines(study):
    done = run("hpyp", "papers", "tables", study, "--vars.states", 0, exit_code=1)
    assert "1 of 1 runs failed: latent_states." in " ".join(done.output.split())
    assert done.output.count("at least 1") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="nobody is kept out there")
def test_two_do_not_fill_tables_in_one_directory(study, tmp_path):
    (tmp_path / "out").mkdir()
    with locked(tmp_path / "out" / "running.lock"):
        done = run("hpyp", "papers", "tables", study, "others", exit_code=1)
    assert "Another process is filling tables" in " ".join(done.output.split())
    # The file of one that has been killed is no hindrance.
    run("hpyp", "papers", "tables", study, "others")


@pytest.mark.parametrize(
    ("name", "quick"),
    [("papers", False), ("papers", True), ("accuracy", False), ("confidence", False), ("rare_words", False)],
)
def test_the_studies_of_the_project_set_what_there_is(name, quick, monkeypatch):
    monkeypatch.chdir(PROJECT)
    path = PROJECT / "configs" / f"{name}.cfg"
    given = {
        f"vars.{each}": f"corpus/{each}.spacy"
        for each, value in load_config(path)["vars"].items()
        if value is None
    }
    study = read_study(path, given, quick=quick)
    assert not any(each.missing for each in study.runs.values())
    shown = {run.name for table in study.tables.values() for run in study.runs_of(table)}
    parts = set() if quick else {each for each in study.runs if each.startswith("part_of_")}
    assert study.runs.keys() - shown == parts
    for each in study.runs.values():
        options = [argument for argument in each.arguments if argument.startswith("--")]
        if each.arguments[0] == "train":
            _assert_settings(each, options)
        else:
            command = _command(each.arguments)
            there = {option for parameter in command.params for option in parameter.opts}
            assert not set(options) - there, each.name


@cache
def _commands():
    """All of spaCy's."""
    registry.cli.get_all()
    return get_command(app)


def _command(arguments):
    """The command that arguments begin with."""
    command = _commands()
    for name in arguments:
        if name in getattr(command, "commands", {}):
            command = command.commands[name]
    return command


def _assert_settings(each, options):
    """That a config has the settings that are overridden."""
    path = Path(each.arguments[1])
    if path in {Path(argument) for argument in each.arguments[2:]} or not path.exists():
        # One that spaCy makes: what it has is spaCy's matter.
        assert each.needs
        return
    config = load_config(path, interpolate=False)
    for option in options:
        if option != "--output":
            dot_to_object(config, option[2:])


def test_the_studies_of_the_project_read_figures_that_commands_write(trained, toy, tmp_path):
    trained.to_disk(tmp_path / "model")
    docs = [toy.doc(trained.vocab, sentence) for sentence in toy.sentences(5)]
    DocBin(docs=docs).to_disk(tmp_path / "dev.spacy")
    run("hpyp", "evaluate", tmp_path / "model", tmp_path / "dev.spacy", "--output", tmp_path / "scores.json")
    written = {
        # That of spaCy, on raw documents, writes how well tokens are found, too.
        "evaluate": {*srsly.read_json(tmp_path / "scores.json"), "token_f"},
        "head-outward": {each.name for each in fields(Accuracy)},
        "states": {each.name for each in fields(StateFigures)},
        "rerank": {each.name for each in fields(Choice)},
        "perplexity": set(dir(Perplexity)),
    }
    for path in (PROJECT / "configs" / f"{name}.cfg" for name in ("papers", "accuracy", "rare_words")):
        _assert_read(read_study(path), written)


def _assert_read(study, written):
    """That figures of a study are among those that commands write."""
    for table in study.tables.values():
        for name, row in table.rows.items():
            if row.run is not None:
                (command,) = [argument for argument in study.runs[row.run].arguments if argument in written][
                    :1
                ]
                keys = [study.columns[column].key for column in table.columns]
                assert set(keys) & set(written[command]), (table.name, name)
                assert set(row.pick) <= set(written[command]), (table.name, name)
                published = [key for key, value in zip(keys, row.published) if value is not None]
                assert set(published) <= set(written[command]), (table.name, name)
