"""The spaCy component `keep_parse`: several parsers in one pipeline."""

from collections.abc import Callable

from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc

from ..annotation.extensions import forget_probabilities, register_extensions
from ..annotation.syntactic_words import words_as_tokens, write_back
from ..annotation.user_data import current_parse, keep, take_back
from .pipeline_lookup import PipelineReference, name_before

register_extensions()


class KeepParse(Pipe):
    """Moves the parse of a Doc to `doc._.parses`, so that the next parser starts anew.

    It stands after each parser but the last one before a `parse_combiner`. Tags stay, for parsers
    that need them, and so do sentence boundaries.

    name_of_parse (str): The name of the parse; if it is "", that of the component before.
    """

    def __init__(
        self, name: str = "keep_parse", *, name_of_parse: str = "", nlp: Language | None = None
    ) -> None:
        self.name = name
        self._name_of_parse = name_of_parse
        self._pipeline = PipelineReference(nlp)

    @property
    def name_of_parse(self) -> str:
        """The name of the parse that is kept."""
        return self._name_of_parse or name_before(self, self._pipeline()) or self.name

    def initialize(self, get_examples: Callable, *, nlp: Language | None = None) -> None:
        """Take note of the pipeline, for a component of another one."""
        self._pipeline = PipelineReference(nlp)

    def __call__(self, doc: Doc) -> Doc:
        """Keep the parse of a Doc: that of its syntactic words."""
        words = words_as_tokens(doc)
        if words.has_annotation("DEP"):
            keep(words, self.name_of_parse, current_parse(words))
            take_back(words)
            forget_probabilities(words)
            write_back(words, doc)
        return doc


@Language.factory("keep_parse", assigns=["doc._.parses"], default_config={"name_of_parse": ""})
def make_keep_parse(nlp: Language, name: str, name_of_parse: str) -> KeepParse:
    """Make a component that keeps a parse, by default that of the component before it."""
    return KeepParse(name, name_of_parse=name_of_parse, nlp=nlp)
