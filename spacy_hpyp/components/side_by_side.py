"""Components of a pipeline that learn side by side, and find nothing twice."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from spacy.language import Language
from spacy.training import Example
from spacy.util import registry, resolve_dot_names


class Step:
    """A step of a training loop, which calls `finish_update` of all components when all of them have been updated.

    executor (ThreadPoolExecutor): Where they learn.
    """

    def __init__(self, executor: ThreadPoolExecutor) -> None:
        self.executor = executor
        self._given: Any = None
        self._made: list[Example] = []

    def shared(self, examples: Any, make: Callable[[Any], list[Example]]) -> list[Example]:
        """What is made of the examples of an update, which all components are given: the first one makes it."""
        if self._given is not examples:
            self._given, self._made = examples, make(examples)
        return self._made


@registry.callbacks("spacy-hpyp.SideBySide.v1")
def create_side_by_side(threads: int = 2) -> Callable[[Language, dict[str, Any]], None]:
    """Let the components of this package learn side by side, as `[training.before_update]`: what they learn is the same.

    None of them may ask another one while it learns, as `parse_reranker` does. Parsers that are frozen parse the development part before
    anything is learned, when there is most room, and remember what they find.

    threads (int): How many components learn at a time.
    RETURNS (Callable): Called by spaCy before each update.
    """
    executor = ThreadPoolExecutor(threads)

    def begin(nlp: Language, progress: dict[str, Any]) -> None:
        step, training = Step(executor), nlp.config["training"]
        for name, component in nlp.pipeline:
            if name not in training["frozen_components"] and hasattr(component, "begin_step"):
                component.begin_step(step)
            elif progress["step"] == 0 and hasattr(component, "remember"):
                (read,) = resolve_dot_names(nlp.config.interpolate(), [training["dev_corpus"]])
                component.remember([example.predicted for example in read(nlp)], nlp.batch_size)

    return begin
