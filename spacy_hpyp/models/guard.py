"""Who may read what a model has learned while it learns: nobody.

A step of learning changes one thing after the other: where customers sit, which sentences are seated, how far
a sweep is. Between the first and the last of these changes there is nothing to predict by, to save or to go
on from.
"""

from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from threading import RLock, Thread
from typing import TypeVar

_Result = TypeVar("_Result")


def uninterrupted(step: Callable[[], _Result]) -> _Result:
    """Take a step in a thread of its own, and wait for it.

    An interrupt (Ctrl-C) is raised in the main thread and nowhere else: it ends the waiting, and never the
    step. Where it comes before the step has begun, the step is not taken.
    """
    outcome: Future[_Result] = Future()
    context = copy_context()

    def take() -> None:
        if outcome.set_running_or_notify_cancel():
            try:
                outcome.set_result(context.run(step))
            except BaseException as error:
                outcome.set_exception(error)

    try:
        # An executor would not know of a thread that an interrupt comes to while it is started, and not wait
        # for it.
        Thread(target=take).start()
        return outcome.result()
    finally:
        if not outcome.cancel():
            wait([outcome])


class Guard:
    """Lets one thread at a time read a model or change it, and none if a change has failed on its way.

    broken (bool): Whether one has.
    """

    def __init__(self, broken: bool = False) -> None:
        self._broken = broken
        self._lock = RLock()

    def __reduce__(self) -> tuple:
        return Guard, (self._broken,)

    def read(self, read: Callable[[], _Result]) -> _Result:
        """Call what reads the model, or makes of it what others read.

        RAISES (ValueError): If the model is broken.
        """
        with self._lock:
            if self._broken:
                raise ValueError(
                    "A step of learning has failed on its way, and what it has left of the model is nothing "
                    "to go on from. Load what "
                    "was saved before, or train from the beginning."
                )
            return read()

    def change(self, change: Callable[[], _Result]) -> _Result:
        """Call what changes the model, `uninterrupted`. What has failed on its way has left the model broken.

        RAISES (ValueError): If the model is broken.
        """

        def step() -> _Result:
            try:
                return change()
            except BaseException:
                self._broken = True
                raise

        return uninterrupted(lambda: self.read(step))
