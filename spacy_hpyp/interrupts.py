"""Let Ctrl-C wait for the end of a training step."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Run the body to its end before a Ctrl-C that comes meanwhile takes effect.

    A training step changes the seating, the list of seated sentences and the position in the sweep
    one after the other. Only between steps is there a model to save or to go on from. In other
    threads than the main one, or without a handler from Python, which could not be restored, the
    body runs as it is.
    """
    received: list[tuple[int, Any]] = []
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: received.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if received and callable(before):
        before(*received[-1])
