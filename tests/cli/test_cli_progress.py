"""Messages of commands while they work."""

from numba.core.event import end_event, start_event

from spacy_hpyp.cli import progress
from spacy_hpyp.cli.progress import telling_of_compilation


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
