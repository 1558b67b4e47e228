"""The attacks of run.py, a few of each, and that they notice what goes wrong."""

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from children import CRASH, ERROR, HANG, run_cases

RUN = Path(__file__).parent / "run.py"
COUNTS = {"documents": 20, "files": 20, "kills": 2, "interrupts": 8}


def prepare_faulty():
    """Cases that go wrong in their own ways, and two that do not."""

    def run(number):
        if number == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        if number == 2:
            raise ValueError("the third case")
        return "fine"

    return run


def prepare_endless():
    """Cases that never end."""
    return lambda number: threading.Event().wait()


def prepare_nothing():
    """No cases at all."""
    raise ValueError("nothing can be prepared")


def test_a_crash_and_an_error_are_counted_and_the_next_case_is_tried():
    results = list(run_cases(prepare_faulty, (), 4, seconds=600.0))
    assert [result.number for result in results] == [0, 1, 2, 3]
    assert [result.outcome for result in results] == ["fine", CRASH, ERROR, "fine"]
    assert "the third case" in results[2].details


def test_a_hang_is_counted():
    assert [result.outcome for result in run_cases(prepare_endless, (), 2, seconds=0.1)] == [HANG, HANG]


def test_cases_that_cannot_be_prepared_are_no_success():
    with pytest.raises(RuntimeError, match="cannot be prepared"):
        list(run_cases(prepare_nothing, (), 2, seconds=600.0))


@pytest.mark.slow
def test_a_few_attacks_of_each_kind_do_no_harm():
    options = [text for part, count in COUNTS.items() for text in (f"--{part}", str(count))]
    done = subprocess.run([sys.executable, RUN, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search("^20 random documents: 20 parsed as they should be", done.stdout, re.MULTILINE)
    damaged = re.findall(r"^(\d+) files with damaged \w+", done.stdout, re.MULTILINE)
    assert sum(map(int, damaged)) == 20
    assert len(re.findall("^1 kills .* 0 times something was lost", done.stdout, re.MULTILINE)) == 2
    assert re.search("^8 interrupts: .* 0 crashes, 0 hangs, 0 errors", done.stdout, re.MULTILINE)
