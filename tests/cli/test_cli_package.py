"""`hpyp package` and `hpyp release`: wheels that pip installs from a page, and the workflow that makes them
when a version is tagged.
"""

import hashlib
import re
import shlex
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
import spacy
import srsly
from command_line import run
from spacy.cli import app
from typer.main import get_command

from spacy_hpyp.about import __version__
from spacy_hpyp.cli.package import _card, package_name
from spacy_hpyp.cli.udeval import GIVEN, METRICS

PROJECT = Path(__file__).parents[2]
WORKFLOW = PROJECT / ".github" / "workflows" / "release.yml"
LICENCE = "This work is licensed under the terms of a licence.\n"


@pytest.fixture(scope="module", name="folder")
def released(trained, tmp_path_factory):
    """A treebank, the wheel of a pipeline that has learned from it, and the page of that."""
    folder = tmp_path_factory.mktemp("package")
    trained.to_disk(folder / "pipeline")
    srsly.write_json(
        folder / "scores.json", {"pipeline": {given: dict.fromkeys(METRICS, 0.5) for given in GIVEN}}
    )
    treebank = folder / "UD_English-Toy"
    treebank.mkdir()
    shutil.copy(
        PROJECT / "assets" / "sample" / "en_sample-ud-dev.conllu", treebank / "en_toy-ud-train.conllu"
    )
    (treebank / "LICENSE.txt").write_text(LICENCE)
    (treebank / "README.md").write_text(
        "<pre>\nLicense: CC BY 9.0\nContributors: Žák, Kim\n</pre>\n", encoding="utf8"
    )
    with pytest.MonkeyPatch.context() as patch:
        build = subprocess.run
        # What building needs is here, and not fetched.
        patch.setattr(
            subprocess, "run", lambda line, **settings: build([*line, "--no-isolation"], **settings)
        )
        command = "hpyp", "package", folder / "pipeline", treebank / "en_toy-ud", folder / "a"
        run(*command, "--scores", folder / "scores.json")
    run("hpyp", "release", folder / "a", "--output", folder / "all")
    return folder


def test_names_follow_those_of_spacy():
    names = {("ta_ttb-ud", "ta"), ("wo_wtb-ud", "xx"), ("wsj", "en"), ("en_ewt-ud-self", "en")}
    assert {package_name(*each) for each in names} == {
        "ttb_hpyp",
        "wo_wtb_hpyp",
        "wsj_hpyp",
        "ewt_ud_self_hpyp",
    }


def test_the_page_has_wheels_with_their_checksums(folder):
    page = (folder / "all" / "index.html").read_text(encoding="utf8")
    (wheel,) = (folder / "all").glob("*.whl")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert wheel.name == "en_toy_hpyp-0.1.0-py3-none-any.whl"
    assert f'href="{wheel.name}#sha256={digest}"' in page
    assert (folder / "all" / "SHA256SUMS").read_text() == f"{digest}  {wheel.name}\n"
    assert "CC BY 9.0" in page
    # What has been gathered stays.
    run("hpyp", "release", folder / "all", "--output", folder / "all")
    assert (folder / "all" / "index.html").read_text(encoding="utf8") == page


def test_a_model_card_says_what_was_learned_from_and_how_good_that_is(folder):
    card = (folder / "all" / "en_toy_hpyp-0.1.0.md").read_text(encoding="utf8")
    assert card.rstrip() == (folder / "a" / "README.md").read_text(encoding="utf8").rstrip()
    for each in (
        "CC BY 9.0",
        "UniversalDependencies/UD_English-Toy",
        "Žák, Kim",
        "40 sentences, 283 words",
        "| raw text | 50.00 |",
    ):
        assert each in card


def test_nothing_in_a_model_card_is_empty(folder):
    card = (folder / "a" / "README.md").read_text(encoding="utf8")
    assert f"| **Author** | spacy-hpyp {__version__} |" in card
    assert not re.search(r"n/a|\(\)|``", card)
    rows = [line.split("|")[1:-1] for line in card.splitlines() if line.startswith("| **")]
    assert rows
    assert all(cell.strip() for row in rows for cell in row)


def test_a_model_card_says_who_made_the_pipeline(folder, tmp_path, monkeypatch):
    cards = []

    def build(small, *_, **__):
        cards.append((small / "README.md").read_text(encoding="utf8"))

    monkeypatch.setattr("spacy_hpyp.cli.package.package_by_spacy", build)
    command = (
        "hpyp",
        "package",
        folder / "pipeline",
        folder / "UD_English-Toy" / "en_toy-ud",
        tmp_path / "out",
    )
    # No wheel has been built.
    run(*command, "--author", "Kim Žák", exit_code=1)
    assert "| **Author** | Kim Žák |" in cards[0]


def test_a_licence_that_has_no_name_is_not_guessed(folder, capsys):
    bare = folder / "bare"
    bare.mkdir()
    shutil.copy(folder / "UD_English-Toy" / "en_toy-ud-train.conllu", bare)
    found = _card(bare / "en_toy-ud", None)
    assert found["license"] == "not known"
    assert "Official" not in found["notes"]
    assert "begins with 'License:'" in capsys.readouterr().err
    shutil.copy(folder / "UD_English-Toy" / "LICENSE.txt", bare)
    assert _card(bare / "en_toy-ud", None)["license"] == "see LICENSE"


def test_pip_installs_from_the_page_what_spacy_loads(folder, tmp_path, monkeypatch):
    line = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-index",
        "--no-deps",
        "--target",
        tmp_path,
        "--find-links",
    ]
    done = subprocess.run(
        [*line, folder / "all" / "index.html", "en_toy_hpyp"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    monkeypatch.syspath_prepend(tmp_path)
    nlp = spacy.load("en_toy_hpyp")
    assert nlp.meta["version"] == "0.1.0"
    assert nlp("The dog sees Kim.").has_annotation("DEP")
    assert (nlp.path / "LICENSE").read_text() == LICENCE
    (metadata,) = tmp_path.glob("en_toy_hpyp-*/METADATA")
    assert "Requires-Dist: spacy-hpyp" in metadata.read_text(encoding="utf8")


def test_there_is_no_page_without_a_wheel(tmp_path):
    (tmp_path / "none").mkdir()
    done = run("hpyp", "release", tmp_path / "none", "--output", tmp_path / "all", exit_code=1)
    assert "There is no wheel" in done.output


def test_commands_of_the_workflow_are_there():
    steps = srsly.read_yaml(WORKFLOW)["jobs"]["release"]["steps"]
    lines = [line for step in steps for line in step.get("run", "").splitlines()]
    project = srsly.read_yaml(PROJECT / "project.yml")
    extras = ConfigParser()
    extras.read(PROJECT / "setup.cfg")
    assert set(re.findall(r"\w+", "".join(re.findall(r"\[(.*)\]", lines[0])))) <= set(
        extras["options.extras_require"]
    )
    (trained,) = [shlex.split(line) for line in lines if "spacy" in line]
    assert trained[:5] == ["python", "-m", "spacy", "project", "run"]
    assert trained[5] in project["workflows"]
    assert {each.removeprefix("--vars.") for each in trained if each.startswith("--vars.")} <= project[
        "vars"
    ].keys()
    by_name = {command["name"]: command for command in project["commands"]}
    hpyp = get_command(app).commands["hpyp"].commands
    for name in project["workflows"][trained[5]]:
        for line in by_name[name]["script"]:
            assert shlex.split(line)[2] != "spacy" or shlex.split(line)[4] in hpyp
    # What is installed from and released is what is gathered.
    assert all("packages/release" in str(steps[i]) for i in (-2, -3))
    for treebank, prefix, lang in map(str.split, (PROJECT / "assets/treebanks.txt").read_text().splitlines()):
        assert treebank.startswith("UD_")
        assert prefix.startswith(f"{lang}_")
