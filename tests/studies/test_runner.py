"""What is run, and what is not run again."""

import json
import re
import signal
import sys
from pathlib import Path

import pytest
import srsly

import spacy_hpyp
from spacy_hpyp.studies.page import to_json, to_markdown
from spacy_hpyp.studies.runner import Runner, program_version, wall_seconds
from spacy_hpyp.studies.study import read_study

PACKAGE = Path(spacy_hpyp.__file__).parent

#: What the commands of these studies are: `write FILE TEXT`, `add FILE FROM TEXT`, `print TEXT`, `fail`. With
#: a file `signal.txt`,
#: `print` sends the signal that is named there to the program that has started it, and takes longer than
#: anybody waits.
PROGRAM = """
import os
import sys
import time
from pathlib import Path

command, *given = sys.argv[1:]
with open("order.txt", "a") as order:
    print(command, *given, file=order)
if command == "write":
    Path(given[0]).write_text(given[1])
elif command == "add":
    Path(given[0]).write_text(Path(given[1]).read_text().replace("70", given[2]))
elif command == "print":
    print(given[0], flush=True)
    if Path("signal.txt").exists():
        os.kill(os.getppid(), int(Path("signal.txt").read_text()))
        time.sleep(30)
        print("This should have been ended.", file=open("late.txt", "w"))
else:
    sys.exit("\\n".join(["first"] * 20 + ["what is wrong"]))
"""

STUDY = """
[study]
title = "A study"
tokens = 100
train = "{train}"

[vars]
train = null
folder = "out"
old = "data.txt"
more = "80.5"

[columns]

[columns.UAS]
key = "scores.uas"
digits = 1

[commands]

[commands.write]
command = ["write"]
suffix = ".json"
foreign = true

[commands.fill]
command = ["write"]
fills = true

[commands.add]
command = ["add"]
suffix = ".json"
alone = true

[commands.print]
command = ["print"]
suffix = ".json"
prints = true

[commands.fail]
command = ["fail"]

[runs]

[runs.low]
command = "write"
arguments = ["{output}","{\\"scores\\": {\\"uas\\": 70}}"]
seconds = 60

[runs.filled]
command = "fill"
arguments = ["{output}/file.json","{\\"scores\\": {\\"uas\\": 60}}"]
seconds = 60

[runs.high]
command = "add"
arguments = ["{output}","{low}","{more}"]
seconds = 120

[runs.printed]
command = "print"
arguments = ["[{\\"k\\": 1, \\"scores\\": {\\"uas\\": 75}, \\"words\\": [\\"a\\", \\"b\\"]}]"]
seconds = 60

[runs.broken]
command = "fail"
arguments = ["{low}"]
seconds = 1

[runs.after]
command = "add"
arguments = ["{output}","{broken}","1"]
seconds = 1

[runs.without]
command = "add"
arguments = ["{output}","{train}","1"]
seconds = 1

[tables]

[tables.good]
title = "Good"
paper = "A paper, Table 1"
columns = ["UAS"]
rows = {"low": {"run": "low", "published": [71.0]}, "high": {"run": "high", "published": [90]}, "printed": {"run": "printed", "pick": {"k": 1}}, "none": {"run": "printed", "pick": {"k": 2}}, "theirs": {"published": [92]}}
claims = [
    {"says": "high is higher", "column": "UAS", "order": ["low","high"]},
    {"says": "printed is highest", "column": "UAS", "order": ["high","printed"], "otherwise": "Or not."},
    {"says": "printed is about as good", "column": "UAS", "order": ["low","printed"], "within": 6},
    {"says": "twice as much", "column": "UAS", "order": ["low","high"], "factor": 2}
    ]
samples = {"words": {"run": "printed", "key": "words", "pick": {"k": 1}, "published": ["c d"]}}

[tables.bad]
title = "Bad"
paper = "A paper, Table 2"
columns = ["UAS"]
rows = {"low": {"run": "low"}, "after": {"run": "after"}, "without": {"run": "without", "published": [1]}}
claims = [{"says": "more", "column": "UAS", "order": ["low","after"]}]

[tables.own]
title = "Our own"
columns = ["UAS"]
rows = {"low": {"run": "low"}, "high": {"run": "high"}}
claims = [{"says": "high is higher", "column": "UAS", "order": ["low","high"]}]
"""


@pytest.fixture
def start(tmp_path, monkeypatch, write):
    """Reads the study and makes a runner of it, with what has been changed in it."""
    monkeypatch.chdir(tmp_path)
    write(PROGRAM, "program.py")

    def start(version="1", **settings):
        study = read_study(
            write(STUDY, "study.cfg"), {f"vars.{name}": value for name, value in settings.items()}
        )
        any_version = version == "any"
        runner = Runner(study, version, any_version=any_version, program=(sys.executable, "program.py"))
        return study, runner

    return start


def run(started, table="good", jobs=2):
    """Run what a table needs; returns what failed."""
    study, runner = started
    return runner.run(study.runs_of(study.tables[table]), jobs=jobs, report=lambda text: None)


def order(tmp_path):
    """The commands that have been run since this was asked last."""
    path = tmp_path / "order.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [line.split()[0] for line in lines]


def test_runs_come_after_those_that_they_need_and_are_not_run_again(start, tmp_path):
    assert run(start()) == {}
    assert sorted(order(tmp_path)) == ["add", "print", "write"]
    assert json.loads((tmp_path / "out" / "high.json").read_text())["scores"]["uas"] == 80.5
    assert run(start()) == {}
    assert order(tmp_path) == []


def test_what_is_not_as_it_was_is_run_again_and_what_needs_it(start, tmp_path):
    run(start())
    order(tmp_path)
    run(start(more="81.5"))
    assert order(tmp_path) == ["add"]
    (tmp_path / "out" / "low.json").unlink()
    run(start(more="81.5"))
    assert order(tmp_path) == ["write"]
    study = start()[0].runs["high"]
    assert study.needs == ("low",)
    run(start("any", more="81.5"))
    assert order(tmp_path) == []


def test_another_version_runs_what_is_its_own_again_and_not_what_is_spacys(start, tmp_path):
    run(start())
    order(tmp_path)
    run(start("2"), jobs=1)
    assert order(tmp_path) == ["print", "add"]
    run(start("2"))
    assert order(tmp_path) == []


def test_a_directory_that_a_command_wants_to_find_is_there(start, tmp_path):
    study, runner = start()
    assert runner.run([study.runs["filled"]], jobs=1, report=lambda text: None) == {}
    assert (tmp_path / "out" / "filled" / "file.json").exists()


def test_a_file_that_has_changed_is_read_again(start, tmp_path, write):
    write('{"scores": {"uas": 70}}', "corpus.txt")
    started = start(train=str(tmp_path / "corpus.txt"))
    assert [*run(started, "bad")] == ["broken", "after"]
    assert order(tmp_path).count("add") == 1
    run(start(train=str(tmp_path / "corpus.txt")), "bad")
    assert order(tmp_path).count("add") == 0
    write('{"scores": {"uas": 71}}', "corpus.txt")
    run(start(train=str(tmp_path / "corpus.txt")), "bad")
    assert order(tmp_path).count("add") == 1


def test_what_fails_says_why_and_keeps_the_others(start, tmp_path):
    failures = run(start(), "bad")
    assert [*failures] == ["broken", "after"]
    assert failures["broken"].endswith("first\nwhat is wrong")
    assert failures["broken"].count("first") == 14
    assert failures["after"] == "it needs 'broken'"
    assert order(tmp_path) == ["write", "fail"]
    study, runner = start()
    assert runner.problem(study.runs["without"]) == "'train' of [vars] is null"
    found = to_json(study, runner, [study.tables["bad"]])["tables"]["bad"]
    assert found["rows"]["without"]["problem"] == "'train' of [vars] is null"
    assert [claim["holds"] for claim in found["claims"]] == [None]


def test_an_output_that_the_lock_file_does_not_know_is_that_of_a_run_that_was_interrupted(start, tmp_path):
    run(start())
    order(tmp_path)
    lock = tmp_path / "out" / "project.lock"
    noted = srsly.read_yaml(lock)
    del noted["printed"]
    srsly.write_yaml(lock, noted)
    run(start())
    assert order(tmp_path) == ["print"]
    lock.write_text("low: [")
    run(start())
    assert sorted(order(tmp_path)) == ["add", "print", "write"]


def test_the_lock_file_is_that_of_spacys_projects(start, tmp_path):
    run(start())
    noted = srsly.read_yaml(tmp_path / "out" / "project.lock")["high"]
    assert noted["deps"][-1]["path"] == "out/low.json"
    assert [each["path"] for each in noted["outs"]] == ["out/high.json"]
    assert noted["script"] == ["python program.py add out/high.json out/low.json 80.5", "1"]


def test_what_reads_an_output_that_was_made_again_as_it_was_is_not_run_again(start, tmp_path):
    run(start())
    order(tmp_path)
    (tmp_path / "out" / "low.json").write_text("another one")
    run(start())
    assert order(tmp_path) == ["write"]


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_interrupted_is_ended_and_begun_again_and_nothing_else(start, tmp_path, write, number):
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # What was started in the background may ignore Ctrl-C.
    of_python = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        write(str(int(number)), "signal.txt")
        with pytest.raises(KeyboardInterrupt):
            run(start(), jobs=1)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGINT, of_python)
    assert order(tmp_path) == ["write", "print"]
    assert (tmp_path / "out" / "printed.json").exists()
    (tmp_path / "signal.txt").unlink()
    assert run(start(), jobs=1) == {}
    assert order(tmp_path) == ["print", "add"]
    assert not (tmp_path / "late.txt").exists()


def test_time_is_estimated_by_the_size_of_the_treebank_and_then_known(start):
    study, runner = start()
    runs = study.runs_of(study.tables["good"])
    assert wall_seconds(runner, runs, 2) == 60 + 120
    # Half of each, but for the four seconds in which a command begins.
    assert wall_seconds(Runner(study, "1", share=0.5), runs, 1) == 120 + 3 * 2
    assert wall_seconds(Runner(study, "1", share=0.0), runs, 1) == 3 * 4
    run((study, runner))
    assert all(runner.seconds(each) < 60 for each in runs)


def test_the_page_has_both_figures_and_the_command_of_each(start):
    study, runner = start()
    run((study, runner))
    page = to_markdown(study, runner, study.choose(["good", "bad"]))
    assert "| low | 71.0 | 70.0 | [1] |" in page
    assert "| high | 90.0 | 80.5 | [2] |" in page
    assert "none: 'out/printed.json' has no such figures." in page
    assert "| theirs | 92.0 | – |  |" in page
    assert "* **holds**: high is higher.\n" in page
    assert "* **does not hold**: printed is highest: UAS -5.5.\n  Or not." in page
    assert "* **holds**: printed is about as good.\n" in page
    assert "* **does not hold**: twice as much: UAS ×1.15 (paper ×1.27)" in page
    assert "* **not known yet**: more" in page
    assert "without: 'train' of [vars] is null." in page
    assert re.search(r"\n2\. `python program.py add out/high.json out/low.json 80.5` \d+ s\n", page)
    # All but one ran on the same day with the same version, which the page says once.
    assert re.search(
        r"<summary>6 commands, each with its time</summary>\n\nWhere [^\n]* ran on \S+ with 1\.\n", page
    )
    assert re.search(r"\n1\. `python program.py write [^\n]*` \d+ s, on \S+ with spaCy \S+\n", page)
    assert "* a\n* b\n" in page
    figures = to_json(study, runner, study.choose(["good"]))["tables"]["good"]
    assert figures["rows"]["high"]["found"] == {"UAS": 80.5}
    assert figures["rows"]["printed"]["command"].endswith("> out/printed.json")
    assert [claim["holds"] for claim in figures["claims"]] == [True, False, True, False]


def test_a_table_of_no_paper_has_one_figure_a_column(start):
    study, runner = start()
    run((study, runner), "own")
    page = to_markdown(study, runner, study.choose(["own"]))
    assert "|  | UAS |  |\n| --- | --- | --- |\n| low | 70.0 | [1] |\n| high | 80.5 | [2] |\n" in page
    assert "* **holds**: high is higher.\n" in page
    assert "paper" not in page
    assert "published" not in page


def test_the_version_is_that_of_all_sources_but_those_that_show_figures(tmp_path):
    assert all((PACKAGE / name).exists() for name in ("studies/page.py", "cli/tables.py"))
    for name in ("model.py", "studies/page.py", "cli/tables.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
    before = program_version(tmp_path)
    for name in ("studies/page.py", "cli/tables.py"):
        (tmp_path / name).write_text("2")
        assert program_version(tmp_path) == before
    (tmp_path / "model.py").write_text("2")
    assert program_version(tmp_path) != before
