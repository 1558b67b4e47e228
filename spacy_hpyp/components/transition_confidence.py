"""The spaCy component `transition_confidence`."""

from collections.abc import Iterable, Iterator

import numpy as np
from spacy.language import Language
from spacy.pipeline import DependencyParser
from spacy.tokens import Doc
from spacy.util import minibatch

from ..annotation.extensions import mark_uncalibrated, register_extensions, write_head_probability
from ..compat.spacy import transition_probabilities
from .neighbours import NeighbouringComponent

register_extensions()


class TransitionConfidence(NeighbouringComponent):
    """Says how sure spaCy's own parser is of its arcs, in `token._.head_prob`: the probability of the
    transition that made each of them.

    It stands behind that parser, before what keeps its parse or has it vote. Nobody has calibrated what it
    says, and roots have none: a `parse_combiner` learns what it is worth.

    parser (str): The name of spaCy's parser.
    """

    factory = "transition_confidence"

    def __init__(self, name: str = factory, *, parser: str = "parser") -> None:
        self.name, self.parser = name, parser

    def __call__(self, doc: Doc) -> Doc:
        """Write into a parsed Doc how probable its arcs are.

        RAISES (ValueError): If there is no parser of spaCy's under the name.
        """
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """The same for many, which are parsed once more by so many together."""
        for docs in minibatch(stream, batch_size):
            parser = self.place(docs).named(self.parser, "parser")
            if not isinstance(parser, DependencyParser):
                raise ValueError(
                    f"The setting 'parser' of the component '{self.name}' is '{self.parser}', but that is no "
                    f"parser of spaCy's."
                )
            for doc, probabilities in zip(docs, transition_probabilities(parser, docs)):
                write_head_probability(doc, np.arange(len(doc)), probabilities)
            mark_uncalibrated(docs, self.name)
            yield from docs


@Language.factory(
    TransitionConfidence.factory,
    assigns=["token._.head_prob"],
    requires=["token.dep", "token.head"],
    default_config={"parser": "parser"},
)
def make_transition_confidence(nlp: Language, name: str, parser: str) -> TransitionConfidence:
    """Make a component that says how sure spaCy's own parser is; see `TransitionConfidence`."""
    return TransitionConfidence(name, parser=parser)
