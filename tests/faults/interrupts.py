"""Interrupts of what learns: what there is afterwards can be saved and loaded, is the same when it is loaded,
and goes on learning.
"""

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import spacy
from checks import check_trees, require
from pipelines import LEARNING, examples_of, learn
from spacy.language import Language
from spacy.training import Example

#: What a case returns: when the interrupt came.
DURING, AFTER = "during", "after"
_TEXT = "The ferry leaves at noon. Zenobia forgot the bread."


def prepare(pipeline: Path, folder: Path, seed: int) -> Callable[[int], str]:
    """Load a pipeline; see `children.run_cases`.

    pipeline (Path): A trained pipeline.
    folder (Path): Where its corpus is.
    seed (int): Fixes what is interrupted, and about when.
    RETURNS (Callable): Runs a case, and returns the name of the component and DURING or AFTER.
    """
    # A process that was started in the background ignores interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nlp = spacy.load(pipeline)
    examples = examples_of(nlp, folder)[:80]
    # As it is after `initialize`, in the first sweep, and later.
    trained = {name: nlp.get_pipe(name).to_bytes(exclude=["vocab"]) for name in LEARNING}
    lasting: dict[tuple[str, str], float] = {}

    def run(number: int) -> str:
        rng = random.Random(f"{seed}/{number}")
        name, kind = LEARNING[number % len(LEARNING)], rng.choice(["first", "later", "leave_out"])
        kind = "later" if kind == "leave_out" and name != "hpyp_parser" else kind
        component = nlp.get_pipe(name)
        begin(nlp, name, trained[name], kind, examples)
        step = STEPS[kind]
        if (name, kind) not in lasting:
            started = time.monotonic()
            step(nlp, name, examples)
            lasting[name, kind] = time.monotonic() - started
            begin(nlp, name, trained[name], kind, examples)
        came = interrupted(lambda: step(nlp, name, examples), rng.uniform(0.0, lasting[name, kind]))
        saved = component.to_bytes(exclude=["vocab"])
        here = annotation(nlp) if component.is_trained else None
        component.from_bytes(saved, exclude=["vocab"])
        require(here is None or annotation(nlp) == here, "what was saved parses in another way")
        learn(nlp, name, examples)
        check_trees(nlp(_TEXT))
        component.from_bytes(component.to_bytes(exclude=["vocab"]), exclude=["vocab"])
        begin(nlp, name, trained[name], "later", examples)
        return f"{name} {came}"

    return run


def begin(nlp: Language, name: str, trained: bytes, kind: str, examples: list[Example]) -> None:
    """Put a component into the state that a step begins with."""
    component = nlp.get_pipe(name)
    component.from_bytes(trained, exclude=["vocab"])
    if kind == "first":
        component.initialize(lambda: examples, nlp=nlp)


def sweep(nlp: Language, name: str, examples: list[Example]) -> None:
    """Two sweeps, in four updates."""
    for _ in range(2):
        learn(nlp, name, examples[: len(examples) // 2])
        learn(nlp, name, examples[len(examples) // 2 :])


def leave_out(nlp: Language, name: str, examples: list[Example]) -> None:
    """What is learned from documents that are left out."""
    list(nlp.get_pipe(name).leave_out(examples, folds=4))


STEPS = {"first": sweep, "later": sweep, "leave_out": leave_out}


def annotation(nlp: Language) -> list[tuple]:
    """What a pipeline makes of a text."""
    doc = nlp(_TEXT)
    return [(t.tag_, t.dep_, t.head.i, t._.log_prob, t._.head_prob, t._.state) for t in doc]


def interrupted(step: Callable[[], None], seconds: float) -> str:
    """Run something that a signal interrupts after some time, as Ctrl-C does. Returns DURING or AFTER."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    came = DURING
    try:
        timer.start()
        step()
        came = AFTER
        timer.join()
        # The signal is handled before this ends, if it has not been so far.
        time.sleep(0.01)
    except (KeyboardInterrupt, SystemError) as error:
        # What interrupts Numba while it reads what compiled code is given comes out as the cause of a
        # SystemError.
        cause: BaseException | None = error
        while not isinstance(cause, KeyboardInterrupt):
            if cause is None:
                raise
            cause = cause.__cause__
        timer.join()
    return came
