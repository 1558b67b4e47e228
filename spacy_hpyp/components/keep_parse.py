"""The spaCy component `keep_parse`: several parsers in one pipeline."""

from collections.abc import Callable

import numpy as np
from spacy.attrs import SENT_START
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc

from ..annotation.extensions import forget_probabilities, register_extensions
from ..annotation.syntactic_words import words_as_tokens, write_back
from ..annotation.written import current_parse, keep, note_starts, noted_starts, take_back
from ..settings import OneOf, check
from .neighbours import PipelineReference, name_before

register_extensions()


class KeepParse(Pipe):
    """Moves the parse of a Doc to `doc._.parses`, so that the next parser starts anew.

    It stands after each parser but the last one before a `parse_combiner`. Tags stay, for parsers that need
    them. In an unparsed Doc it notes the sentence boundaries that are set, as `boundaries = "given"` needs.

    name_of_parse (str): The name of the parse; if it is "", that of the component before.
    boundaries (str): The sentence boundaries that the next parser finds: "all", those of this parse, or
        "given", those that were set before the first parser.
    RAISES (ValueError): If `boundaries` is neither.
    """

    def __init__(
        self,
        name: str = "keep_parse",
        *,
        name_of_parse: str = "",
        boundaries: str = "all",
        nlp: Language | None = None,
    ) -> None:
        check("boundaries", boundaries, OneOf(("all", "given")))
        self.name = name
        self._name_of_parse = name_of_parse
        self._pipeline = PipelineReference(nlp)
        self.boundaries = boundaries

    @property
    def name_of_parse(self) -> str:
        """The name of the parse that is kept."""
        return self._name_of_parse or name_before(self, self._pipeline()) or self.name

    def initialize(self, get_examples: Callable, *, nlp: Language | None = None) -> None:
        """Take note of the pipeline, for a component of another one."""
        self._pipeline = PipelineReference(nlp)

    def __call__(self, doc: Doc) -> Doc:
        """Keep the parse of a Doc: that of its syntactic words.

        RAISES (ValueError): If the boundaries that were given have not been noted.
        """
        words = words_as_tokens(doc)
        if len(words) > 0:
            self._keep(words)
            write_back(words, doc)
        return doc

    def _keep(self, doc: Doc) -> None:
        if not doc.has_annotation("DEP"):
            note_starts(doc)
            return
        starts = doc.to_array(SENT_START).view(np.int64) if self.boundaries == "all" else noted_starts(doc)
        if starts is None:
            raise ValueError(
                f"The component '{self.name}' cannot restore the sentence boundaries that were given "
                "(boundaries = \"given\"): put a 'keep_parse' before the first parser, too."
            )
        keep(doc, self.name_of_parse, current_parse(doc))
        take_back(doc, starts)
        forget_probabilities(doc)


@Language.factory(
    "keep_parse", assigns=["doc._.parses"], default_config={"name_of_parse": "", "boundaries": "all"}
)
def make_keep_parse(nlp: Language, name: str, name_of_parse: str, boundaries: str) -> KeepParse:
    """Make a component that keeps a parse, by default that of the component before it."""
    return KeepParse(name, name_of_parse=name_of_parse, boundaries=boundaries, nlp=nlp)
