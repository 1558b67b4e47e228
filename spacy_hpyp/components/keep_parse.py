"""The spaCy component `keep_parse`: several parsers in one pipeline."""

from pathlib import Path
from typing import Any

import numpy as np
import srsly
from spacy import util
from spacy.attrs import SENT_START
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..annotation.extensions import forget_probabilities, register_extensions
from ..annotation.syntactic_words import words_as_tokens, write_back
from ..annotation.written import current_parse, keep, note_starts, noted_starts, take_back
from ..settings import OneOf, check
from ..storage.files import replace_file

register_extensions()

#: Which sentence boundaries the next parser finds.
BOUNDARIES = OneOf(("all", "given"))


@Language.factory(
    "keep_parse", assigns=["doc._.parses"], default_config={"name_of_parse": "", "boundaries": "all"}
)
def make_keep_parse(nlp: Language, name: str, name_of_parse: str, boundaries: str) -> "KeepParse":
    """Make a component that keeps a parse; see `KeepParse`."""
    # While the pipeline is being made, the last component is the one before this one.
    before = nlp.component_names[-1] if nlp.component_names else ""
    return KeepParse(nlp.vocab, name, name_of_parse=name_of_parse or before, boundaries=boundaries)


class KeepParse(Pipe):
    """Keeps the parse that a Doc has in `doc._.parses`, and takes it back, so that the next parser starts
    anew.

    It stands after each parser but the last one before a `parse_combiner`. Tags stay, for parsers that need
    them. Where a Doc has not been parsed, it notes which sentence boundaries are set: before the first
    parser, that is what `boundaries = "given"` needs.

    name_of_parse (str): The name of the parse. In a config, "" is the name of the component before this one;
        where one is put at another place than the end of a pipeline (`add_pipe(..., before=...)`), it has to
        be given.
    boundaries (str): Which sentence boundaries the next parser finds: "all", those of this parse, or "given",
        those that were set before the first parser; so parsers may differ about the others.
    RAISES (ValueError): If a setting is not what it may be.
    """

    def __init__(
        self, vocab: Vocab, name: str = "keep_parse", *, name_of_parse: str, boundaries: str = "all"
    ) -> None:
        check("boundaries", boundaries, BOUNDARIES)
        self.vocab = vocab
        self.name = name
        self.name_of_parse = name_of_parse
        self.boundaries = boundaries

    def __call__(self, doc: Doc) -> Doc:
        """Keep the parse of a Doc: that of its syntactic words.

        RAISES (ValueError): If there are to be the boundaries that were given, and nobody has noted them.
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
        if not self.name_of_parse:
            raise ValueError(
                f"The component '{self.name}' has to keep a parse, but not under which name: set "
                f"'name_of_parse'."
            )
        keep(doc, self.name_of_parse, current_parse(doc))
        starts = doc.to_array(SENT_START).view(np.int64) if self.boundaries == "all" else noted_starts(doc)
        if starts is None:
            raise ValueError(
                f"The component '{self.name}' is set to leave only the sentence boundaries that were there "
                f"before the parser "
                "(boundaries = \"given\"), but nobody has noted them: put a 'keep_parse' before the first "
                "parser, too."
            )
        take_back(doc, starts)
        forget_probabilities(doc)

    # Storage: the name may have been found out when the pipeline was made.

    def to_bytes(self, *, exclude: Any = ()) -> bytes:
        """Serialize the component: the name of the parse."""
        return util.to_bytes({"cfg": self._settings}, exclude)

    def from_bytes(self, data: bytes, *, exclude: Any = ()) -> "KeepParse":
        """Load the component from bytes.

        RAISES (ValueError): If they are damaged.
        """
        util.from_bytes(data, {"cfg": self._load}, exclude)
        return self

    def to_disk(self, path: str | Path, *, exclude: Any = ()) -> None:
        """Save the component to a directory."""
        util.to_disk(path, {"cfg": lambda file: replace_file(file, self._settings().encode())}, exclude)

    def from_disk(self, path: str | Path, *, exclude: Any = ()) -> "KeepParse":
        """Load the component from a directory.

        RAISES (ValueError): If it is damaged.
        """
        util.from_disk(path, {"cfg": lambda file: self._load(file.read_bytes(), f" in {file}")}, exclude)
        return self

    def _settings(self) -> str:
        return srsly.json_dumps({"name_of_parse": self.name_of_parse})

    def _load(self, data: bytes, where: str = "") -> None:
        try:
            stored = srsly.json_loads(data)
        except ValueError:
            stored = None
        if not isinstance(stored, dict) or not isinstance(stored.get("name_of_parse"), str):
            raise ValueError(f"The settings of the component '{self.name}'{where} are damaged.")
        self.name_of_parse = stored["name_of_parse"]
