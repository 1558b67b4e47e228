"""Cases that run in child processes, so that a crash or a hang is noticed and the next case is tried."""

import multiprocessing
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

#: How the result of a case begins when it went wrong.
CRASH, HANG, ERROR = "crash", "hang", "error"
_SECONDS_TO_START = 600.0
_SPAWN = multiprocessing.get_context("spawn")


class Result(NamedTuple):
    """What came of a case.

    number (int): Which case.
    outcome (str): What the case returned; or CRASH, HANG or ERROR.
    details (str): What happened to a case that went wrong.
    """

    number: int
    outcome: str
    details: str = ""


class Wrong(Exception):  # noqa: N818
    """A case has found something that should not be."""


def run_cases(
    prepare: Callable[..., Callable[[int], str]], arguments: Sequence[Any], count: int, *, seconds: float
) -> Iterator[Result]:
    """Run cases one after the other in a child process, and go on with a new one when it ends before its
    time.

    prepare (Callable): Called once in each process; returns what runs a case, given its number. An exception
        in there is an ERROR.
    arguments (Sequence[Any]): What `prepare` is called with.
    count (int): How many cases.
    seconds (float): How long a case may run before it hangs.
    RAISES (RuntimeError): If a process does not even start.
    """
    done = 0
    while done < count:
        pipe, end = _SPAWN.Pipe(duplex=False)
        child = _SPAWN.Process(target=_child, args=(end, prepare, arguments, range(done, count)), daemon=True)
        child.start()
        # With the only other end in the child, a pipe without a child is at its end.
        end.close()
        started = False
        while done < count:
            try:
                if not pipe.poll(seconds if started else _SECONDS_TO_START):
                    child.kill()
                    result = Result(done, HANG, f"no answer for {seconds:.0f} s")
                else:
                    result = pipe.recv()
            except EOFError:
                child.join()
                result = Result(done, CRASH, f"exit code {child.exitcode}")
            if not started:
                if not isinstance(result, str):
                    raise RuntimeError(f"The cases cannot be prepared: {result.outcome}, {result.details}")
                started = True
                continue
            yield result
            done += 1
            if result.outcome in (CRASH, HANG):
                break
        pipe.close()
        child.kill()
        child.join()


def _child(pipe: Connection, prepare: Callable, arguments: Sequence[Any], numbers: Sequence[int]) -> None:
    run = prepare(*arguments)
    pipe.send("started")
    for number in numbers:
        try:
            result = Result(number, run(number))
        except Exception:
            result = Result(number, ERROR, traceback.format_exc())
        pipe.send(result)
