"""What commands say on stderr while they work."""

import io

from numba.core.event import end_event, start_event

from spacy_hpyp.cli import progress
from spacy_hpyp.cli.progress import Bar, telling_of_compilation


class Screen(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, *, seconds_a_step):
    clock = iter(range(0, 10**9, seconds_a_step))
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    with Bar(range(1000), desc="Doing", mininterval=0.0, miniters=1) as bar:
        for _ in bar:
            bar.refresh()
            bar.clear()
    return stream.getvalue()


def test_a_bar_is_drawn_on_a_screen(monkeypatch):
    assert shown(monkeypatch, Screen(), seconds_a_step=1).count("\r") > 100


def test_a_file_gets_a_line_now_and_then(monkeypatch):
    assert shown(monkeypatch, io.StringIO(), seconds_a_step=1).count("\r") == 0
    lines = shown(monkeypatch, io.StringIO(), seconds_a_step=1).splitlines()
    assert 1 < len(lines) < 100
    assert all(line.startswith("Doing: ") for line in lines)


def test_it_is_said_once_that_a_command_waits_for_numba(monkeypatch):
    said, clock = [], iter([10.0, 10.5, 11.0, 12.5, 14.0])
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    with telling_of_compilation(said.append):
        for after in (False, False, False, True):
            start_event("numba:compile")
            assert bool(said) == after
        end_event("numba:compile")
    assert len(said) == 1
    start_event("numba:compile")
