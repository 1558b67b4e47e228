"""Word classes as data of a pipeline: one table that its components read."""

from collections.abc import Callable
from pathlib import Path

from spacy.language import Language
from spacy.util import registry

from ..text.word_classes import TABLE, read_classes


@registry.callbacks("spacy-hpyp.WordClasses.v1")
def create_word_classes(path: str | Path | None = None) -> Callable[[Language], None]:
    """Read classes of words into a pipeline before it is initialized, as
    `[initialize.before_init]`. They are saved with it.

    path (str | Path | None): A file that 'python -m spacy hpyp classes' has written, or one of the
        same form; with none, or an empty name, nothing changes.
    RETURNS (Callable): Puts them into `nlp.vocab.lookups`, in the place of those that were there.
        It raises a ValueError if the file is none of classes, an OSError if it cannot be read.
    """

    def read(nlp: Language) -> None:
        if path:
            classes = {each.word: each for each in read_classes(Path(path))}
            if nlp.vocab.lookups.has_table(TABLE):
                nlp.vocab.lookups.remove_table(TABLE)
            nlp.vocab.lookups.add_table(TABLE, classes)

    return read
