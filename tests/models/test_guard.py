"""Steps of learning are whole, wherever an interrupt comes."""

import threading
import time
from threading import Thread

import pytest

from spacy_hpyp.models.guard import Guard

_START = Thread.start


def test_a_step_is_whole_though_an_interrupt_comes_while_its_thread_is_being_started(monkeypatch):
    begun, taken = threading.Event(), []

    def step():
        begun.set()
        time.sleep(0.1)
        taken.append("whole")

    def interrupted(thread):
        _START(thread)
        begun.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Guard().change(step)
    assert taken == ["whole"]


def test_a_step_that_has_not_begun_when_an_interrupt_comes_is_not_taken(monkeypatch):
    threads, taken = [], []

    def interrupted(thread):
        threads.append(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Guard().change(lambda: taken.append("whole"))
    for thread in threads:
        _START(thread)
        thread.join()
    assert len(threads) == 1
    assert taken == []


def test_what_a_step_raises_is_raised_and_leaves_the_model_broken():
    guard = Guard()
    with pytest.raises(ZeroDivisionError):
        guard.change(lambda: 1 // 0)
    with pytest.raises(ValueError, match="failed on its way"):
        guard.read(lambda: 0)
