"""Components of a pipeline that learn side by side, and find nothing twice."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import WeakKeyDictionary

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry, resolve_dot_names


class Step:
    """A step of a training loop, which calls `finish_update` of all components when all of them have been
    updated.

    executor (ThreadPoolExecutor): Where they learn.
    kept (WeakKeyDictionary[Doc, Example]): What steps before have made, by the gold documents that are the
        same in each pass.
    """

    def __init__(self, executor: ThreadPoolExecutor, kept: WeakKeyDictionary[Doc, Example]) -> None:
        self.executor, self._kept = executor, kept
        self._given: Any = None
        self._made: list[Example] = []

    def shared(self, examples: Any, make: Callable[[Any], list[Example]]) -> list[Example]:
        """What is made of the examples of an update, which all components are given: the first one makes it."""
        if self._given is not examples:
            known = [self._kept.get(example.reference) for example in examples]
            new = iter(make([example for example, made in zip(examples, known) if made is None]))
            self._given, self._made = examples, [next(new) if made is None else made for made in known]
            # What has the gold document itself would keep that for good.
            found = ((example.reference, made) for example, made in zip(examples, self._made))
            self._kept.update((gold, made) for gold, made in found if made.reference is not gold)
        return self._made


@registry.callbacks("spacy-hpyp.SideBySide.v1")
def create_side_by_side(threads: int = 2) -> Callable[[Language, dict[str, Any]], None]:
    """Let the components of this package learn side by side, as `[training.before_update]`: what they learn
    is the same.

    None of them may ask another one while it learns, as `parse_reranker` does. Parsers that are frozen parse
    the development part before anything is learned, when there is most room, and remember what they find.

    threads (int): How many components learn at a time.
    RETURNS (Callable): Called by spaCy before each update.
    """
    executor, kept = ThreadPoolExecutor(threads), WeakKeyDictionary()

    def begin(nlp: Language, progress: dict[str, Any]) -> None:
        step, training = Step(executor, kept), nlp.config["training"]
        for name, component in nlp.pipeline:
            if name not in training["frozen_components"] and hasattr(component, "begin_step"):
                component.begin_step(step)
            elif progress["step"] == 0 and hasattr(component, "remember"):
                (read,) = resolve_dot_names(nlp.config.interpolate(), [training["dev_corpus"]])
                component.remember([example.predicted for example in read(nlp)], nlp.batch_size)

    return begin
