"""Logs of training runs."""

import json

import pytest

from spacy_hpyp.report.training_log import Check, read_training_log

TABLE = """\x1b[38;5;4mℹ Saving to output directory: training\x1b[0m
============================= Training pipeline =============================
ℹ Pipeline: ['hpyp_parser']
E    #       LOSS HPYP_...  TAG_ACC  DEP_UAS  DEP_LAS  SPEED    SCORE
---  ------  -------------  -------  -------  -------  -------  ------
  0       4       12345.67    80.10    60.00    50.50  1000.00    0.51
/some/file.py: a warning of 3 words
  0       8      102345.67    85.10    70.00    60.50  1000.00    0.61
✔ Saved pipeline to output directory
"""


def test_the_table_that_spacy_prints_is_read(write):
    found = read_training_log(write(TABLE, "train.log"))
    scores = {"tag_acc": 85.1, "dep_uas": 70.0, "dep_las": 60.5}
    assert [check.step for check in found] == [4, 8]
    assert found[1] == Check(8, {"hpyp_...": 102345.67}, scores)


def test_lines_of_json_are_read_in_the_order_of_steps(write):
    lines = [
        {
            "epoch": 0,
            "step": step,
            "losses": {"hpyp_parser": loss},
            "scores": {"dep_las": 50.0, "speed": 9.0},
            "score": 0.5,
        }
        for step, loss in ((20, 3.0), (10, 4.0), (20, 2.0))
    ]
    found = read_training_log(write("\n".join(json.dumps(line) for line in lines), "log.jsonl"))
    assert found == [
        Check(10, {"hpyp_parser": 4.0}, {"dep_las": 50.0}),
        Check(20, {"hpyp_parser": 2.0}, {"dep_las": 50.0}),
    ]


def test_names_that_are_cut_off_alike_are_told_apart(write):
    header = "E    #       LOSS EASY_...  LOSS EASY_...  DEP_LAS  SCORE"
    [found] = read_training_log(write(f"{header}\n  0  4  1.00  2.00  50.00  0.50\n"))
    assert found.losses == {"easy_...": 1.0, "easy_... (2)": 2.0}


@pytest.mark.parametrize("text", ["", "\n\n", "nothing\n", '{"step": 3}\n', "{\n", "1 2 3\n", b"\xff\xfe"])
def test_what_is_no_log_is_an_error(write, text):
    with pytest.raises(ValueError, match=r"train\.log"):
        read_training_log(write(text, "train.log"))
