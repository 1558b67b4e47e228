"""The spaCy component `keep_parse`: several parsers in one pipeline."""

from collections.abc import Callable

from spacy.language import Language
from spacy.tokens import Doc

from ..annotation.syntactic_words import to_word_doc, write_back
from ..annotation.user_data import ARCS_AND_TAGS, current_parse, forget, keep, take_back
from .base import StoredPipe, components_before


class KeepParse(StoredPipe):
    """Moves the parse of a Doc to `doc._.hpyp_parses`, so that the next parser starts anew.

    It stands after each parser but the last one before a `parse_combiner`. Tags stay, for parsers
    that need them, and so do sentence boundaries.

    name_of_parse (str): The name of the parse. If it is "", the component takes the name of the one
        before it when it is first used, and keeps that wherever it is sourced.
    """

    file = "name_of_parse"

    def __init__(
        self, name: str = "keep_parse", *, name_of_parse: str = "", nlp: Language | None = None
    ) -> None:
        self.name = name
        self._given = self._found = name_of_parse
        self.nlp = nlp

    @property
    def name_of_parse(self) -> str:
        """The name of the parse that is kept."""
        before = [name for name, _ in components_before(self, self.nlp)]
        self._found = self._found or (before or [self.name])[-1]
        return self._found

    state = name_of_parse

    def _restore(self, state: str) -> None:
        self._found = self._given or state

    def initialize(self, get_examples: Callable, *, nlp: Language | None = None) -> None:
        """Forget a name that was found before, to find it again in a pipeline when it is used."""
        self.nlp, self._found = nlp, self._given

    def __call__(self, doc: Doc) -> Doc:
        """Keep the parse of a Doc's syntactic words with its probabilities, if there is one."""
        words = to_word_doc(doc)
        if words.has_annotation("DEP"):
            keep(words, self.name_of_parse, current_parse(words))
            take_back(words)
            forget(words, ARCS_AND_TAGS)
            write_back(words, doc)
        return doc
