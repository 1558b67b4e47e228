"""Components that work with others, which they look for in the pipeline that they stand in."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from types import MappingProxyType
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..compat.spacy import PipelineMember


def components_before(component: Any, components: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Those of a pipeline that come before one of them, all if that is none of them; with their names."""
    return takewhile(lambda each: each[1] is not component, components)


@dataclass(frozen=True)
class Place:
    """Where a component stands.

    others (Mapping[str, Any]): Those that it works with in the place of the pipeline's, by their names.
    """

    nlp: Language
    component: "NeighbouringComponent"
    others: Mapping[str, Any] = field(default_factory=dict)

    def before(self, *, disabled: bool = False) -> list[tuple[str, Any]]:
        """The names of the components before it, and these; perhaps with those that are disabled."""
        return [
            (name, self.others.get(name, component))
            for name, component in components_before(self.component, self.nlp.components)
            if disabled or name not in self.nlp.disabled
        ]

    def named(self, name: str, setting: str) -> Any:
        """A component of the pipeline.

        setting (str): The setting that has its name.
        RAISES (ValueError): If there is none of this name.
        """
        if name not in self.nlp.component_names:
            raise ValueError(
                f"The setting '{setting}' of the component '{self.component.name}' is '{name}', but the "
                f"pipeline has no such component: it "
                f"has {self.nlp.component_names}. If it has been renamed, set "
                f"nlp.get_pipe('{self.component.name}').{setting}."
            )
        return self.others.get(name, self.nlp.get_pipe(name))


class NeighbouringComponent(PipelineMember):
    """A component that looks for others in the pipeline that it stands in, whenever it works with them.

    A component that has been sourced stands in two pipelines: in each it works with the components of that
    one, which it tells by the vocabulary of the Docs; of pipelines with one vocabulary, in that which it was
    put into last.
    """

    name: str
    _pipelines: Mapping[Vocab, Language] = MappingProxyType({})

    def stands_in(self, nlp: Language) -> None:
        """Called by spaCy, see `PipelineMember`."""
        others = {vocab: each for vocab, each in self._places().items() if vocab is not nlp.vocab}
        self._pipelines = {**others, nlp.vocab: nlp}

    def _places(self) -> dict[Vocab, Language]:
        """The pipelines that have it still."""
        return {
            vocab: nlp
            for vocab, nlp in self._pipelines.items()
            if any(component is self for _, component in nlp.components)
        }

    def place(self, docs: Sequence[Doc] = ()) -> Place:
        """Where it stands.

        docs (Sequence[Doc]): In the pipeline that has their vocabulary; without any, or if there is none, in
            that which it was put into last.
        RAISES (ValueError): If it stands in no pipeline.
        """
        places = self._places()
        if not places:
            raise ValueError(
                f"The component '{self.name}' works with others of its pipeline, but it stands in none. Put "
                f"it into one: "
                "'nlp.add_pipe'."
            )
        last = list(places.values())[-1]
        return Place(places.get(docs[0].vocab, last) if docs else last, self)
