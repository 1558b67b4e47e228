"""How commands are listed, what names they had before, and what one of them does that others did."""

import json

import pytest
from command_line import run

from spacy_hpyp.cli.app import FORMER


def test_commands_are_listed_by_what_they_are_for_the_common_ones_first():
    shown = run("hpyp", "--help").output
    headings = [shown.index(heading) for heading in ("Every day:", "For training:", "For the papers:")]
    places = [
        shown.index(f"\n  {name} ")
        for name in ("parse", "evaluate", "generate", "guides", "combine", "papers")
    ]
    assert headings == sorted(headings)
    assert places == sorted(places)
    assert places[2] < headings[1] < places[3]
    assert "..." not in shown.split("Every day:")[1]
    assert "as parsers are compared in the literature." in " ".join(shown.split())


@pytest.mark.parametrize("name", FORMER)
def test_an_old_name_goes_on_working_and_says_the_new_one(name):
    old = run("hpyp", name, "--help")
    assert f"'hpyp {name}' is called 'hpyp {FORMER[name]}' now" in old.stderr
    assert old.stdout == run("hpyp", *FORMER[name].split(), "--help").stdout


def test_the_name_of_the_group_of_the_papers_was_that_of_the_tables(tmp_path):
    wrong = run("hpyp", "papers", tmp_path / "no.cfg", "--list", exit_code=1)
    assert "'hpyp papers' is called 'hpyp papers tables' now" in wrong.stderr
    assert "There is no study" in wrong.stderr


def test_errors_and_calibration_are_parts_of_an_evaluation(toy, trained, tmp_path):
    from spacy.tokens import DocBin

    trained.to_disk(tmp_path / "model")
    docs = [toy.doc(trained.vocab, *toy.sentences(20, seed=1)[i : i + 4]) for i in range(0, 20, 4)]
    DocBin(docs=docs).to_disk(tmp_path / "dev.spacy")
    files = tmp_path / "model", tmp_path / "dev.spacy"
    done = run(
        "hpyp", "evaluate", *files, "--errors", "--calibration", "--bins", 5, "-o", tmp_path / "all.json"
    )
    found = json.loads((tmp_path / "all.json").read_text())
    plain = run("hpyp", "evaluate", *files, "-o", tmp_path / "plain.json").stdout
    scores = json.loads((tmp_path / "plain.json").read_text())
    assert {name: found[name] for name in ("dep_las", "tag_acc", "complete_match")} == {
        name: scores[name] for name in ("dep_las", "tag_acc", "complete_match")
    }
    for title in ("By label", "Reliability of head_prob"):
        assert title in done.stdout
        assert title not in plain
