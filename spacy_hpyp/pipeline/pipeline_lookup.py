"""Find the other components of a pipeline."""

from itertools import takewhile
from typing import Any
from weakref import ref

from spacy.language import Language


class PipelineReference:
    """Weak reference to the pipeline of a component. A pickled component takes its pipeline along.

    nlp (Language | None): None if there is no pipeline.
    """

    def __init__(self, nlp: Language | None) -> None:
        self._find: Any = (lambda: None) if nlp is None else ref(nlp)

    def __call__(self) -> Language | None:
        """Return the pipeline, or None if it is gone."""
        return self._find()

    def __reduce__(self) -> tuple:
        return _keep, (self(),)


def _keep(nlp: Language | None) -> PipelineReference:
    reference = PipelineReference(None)
    reference._find = lambda: nlp
    return reference


def components_before(component: Any, nlp: Language | None) -> list[tuple[str, Any]]:
    """Return the names and components before one in its pipeline, disabled ones too."""
    return (
        []
        if nlp is None
        else list(takewhile(lambda each: each[1] is not component, nlp.components))
    )


def name_before(component: Any, nlp: Language | None) -> str:
    """Return the name of the component directly before one, "" if there is none."""
    return next((name for name, _ in reversed(components_before(component, nlp))), "")
