"""What a study says, and what is said of one that is wrong."""

import pytest

from spacy_hpyp.studies.study import read_study

STUDY = """
[study]
title = "A study"
tokens = 100
train = "{train}"

[vars]
train = "corpus/train.spacy"
used = "{train}"
raw = null
folder = "out"
sweeps = 5
elements = ["s1.tag","s2.tag"]

[columns]

[columns.UAS]
key = "dep_uas"
scale = 100

[commands]

[commands.train]
command = ["train"]

[commands.train.options]
output = "{output}"
training.max_steps = "{sweeps}"

[commands.evaluate]
command = ["hpyp","evaluate"]
suffix = ".json"

[runs]

[runs.model]
command = "train"
arguments = ["configs/paper.cfg"]
seconds = 10

[runs.model.options]
paths.train = "{used}"
components.hpyp_parser.model.tag = "[{elements}]"
components.hpyp_parser.model.labelled = false
training.max_epochs = null
force = true
quiet = false

[runs.figures]
command = "evaluate"
arguments = ["{model}/model-last","{raw}"]
seconds = 2

[tables]

[tables.one]
title = "Table 1"
paper = "A paper"
columns = ["UAS"]
rows = {"ours": {"run": "figures", "published": [90.0]}, "theirs": {"published": [80]}}
claims = [{"says": "ours is better", "column": "UAS", "order": ["theirs","ours"]}]

[quick]
vars.used = "{part}/1.spacy"
vars.sweeps = 1
"""


def test_names_in_braces_are_variables_and_outputs_of_other_runs(write):
    study = read_study(write(STUDY, "study.cfg"))
    model, figures = study.runs["model"], study.runs["figures"]
    options = ["--output", "out/model", "--training.max_steps", "5", "--paths.train", "corpus/train.spacy"]
    lists = ["--components.hpyp_parser.model.tag", '[["s1.tag", "s2.tag"]]']
    labels = ["--components.hpyp_parser.model.labelled", "false"]
    assert model.arguments == ("train", "configs/paper.cfg", *options, *lists, *labels, "--force")
    assert [str(path) for path in model.inputs] == ["configs/paper.cfg", "corpus/train.spacy"]
    assert str(figures.output) == "out/figures.json"
    assert figures.needs == ("model",)
    assert figures.missing == ("raw",)
    assert [run.name for run in study.runs_of(study.tables["one"])] == ["model", "figures"]


def test_a_quick_study_has_other_settings_and_what_is_typed_counts_more(write):
    text = STUDY.replace("{part}", "corpus")
    assert "--training.max_steps 1 " in " ".join(read_study(write(text), quick=True).runs["model"].arguments)
    typed = read_study(write(text), {"vars.sweeps": 2}, quick=True)
    assert "--training.max_steps 2 " in " ".join(typed.runs["model"].arguments)


def test_a_quick_study_leaves_the_outputs_of_the_other_alone(write):
    study = read_study(write(STUDY))
    quick = read_study(write(STUDY.replace("{part}", "corpus")), quick=True)
    assert study.output.as_posix() == "out"
    assert quick.output.as_posix() == "out/quick"
    assert quick.runs["figures"].output.as_posix() == "out/quick/figures.json"


@pytest.mark.parametrize(("force", "flags"), [("true", ["--force"]), ("false", [])])
def test_a_variable_can_say_whether_a_flag_is_set(write, force, flags):
    text = STUDY.replace("force = true", 'force = "{force}"').replace(
        "sweeps = 5", f"sweeps = 5\nforce = {force}"
    )
    assert [each for each in read_study(write(text)).runs["model"].arguments if "force" in each] == flags


def test_a_config_that_all_runs_of_a_command_have_is_read_by_them(write):
    text = STUDY.replace('command = ["train"]', 'command = ["train","configs/paper.cfg"]')
    study = read_study(write(text.replace('arguments = ["configs/paper.cfg"]', ""), "study.cfg"))
    assert [str(path) for path in study.runs["model"].inputs] == ["configs/paper.cfg", "corpus/train.spacy"]


def test_a_file_may_stand_behind_a_name(write):
    text = STUDY.replace('"{model}/model-last","{raw}"', '"own={model}/model-last","other=corpus/model"')
    figures = read_study(write(text)).runs["figures"]
    assert figures.needs == ("model",)
    assert [str(path) for path in figures.inputs] == ["corpus/model"]


def test_a_setting_that_is_not_there_cannot_be_another_one(write):
    with pytest.raises(ValueError, match=r"no setting 'vars\.sweps'"):
        read_study(write(STUDY), {"vars.sweps": 2})


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ('used = "{train}"', 'used = "{trian}"', "'trian', but there is no such variable and no such run"),
        ('used = "{train}"', 'used = "{used}"', "stands for itself"),
        ('"{model}/model-last"', '"{figures}"', r"\[runs.figures\] needs its own output"),
        ("seconds = 10", "second = 10", r"\[runs.model\] has no 'seconds'"),
        ("seconds = 10", "seconds = 10\nstrange = 1", r"\[runs.model\] has no setting 'strange'"),
        (
            "seconds = 10",
            'seconds = "x"',
            r"\[runs.model\]: 'seconds' must be a finite number of at least 0, not 'x'",
        ),
        ('command = "train"', 'command = "trian"', "a command that has no section: trian"),
        ("[runs.figures]", "[runs.train]", r"\[runs.train\] has the name of a variable"),
        ('"run": "figures"', '"run": "figure"', "the run 'figure', which is not there"),
        ('columns = ["UAS"]', 'columns = ["LAS"]', "a column 'LAS', which is not among"),
        (
            '"published": [80]',
            '"published": [80, 70]',
            "2 published figures in the row 'theirs', but 1 columns",
        ),
        ('["theirs","ours"]', '["theirs","his"]', "claims something of 'his'"),
        ("[columns.UAS]", "[columns.LAS]", "a column 'UAS', which is not among"),
        ("[tables.one]", "[tables.one.two]", "tables"),
    ],
)
def test_what_is_wrong_is_said_with_its_section(right, wrong, problem, write):
    assert right in STUDY
    with pytest.raises(ValueError, match=problem):
        read_study(write(STUDY.replace(right, wrong), "study.cfg"))


def test_tables_are_chosen_by_their_names(write):
    study = read_study(write(STUDY))
    assert [table.name for table in study.choose([])] == ["one"]
    with pytest.raises(ValueError, match=r"There is no table 'two'\. There are one\."):
        study.choose(["two"])
