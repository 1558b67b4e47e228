"""Classes of words as data of a pipeline: one table that is saved with it, and that all of its components read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from spacy.language import Language
from spacy.util import registry
from spacy.vocab import Vocab

from ..models.stored import ClassedModel
from ..text.word_classes import TABLE, classes_in, read_classes

_Classed = TypeVar("_Classed", bound=ClassedModel)


@registry.callbacks("spacy-hpyp.WordClasses.v1")
def create_word_classes(path: str | Path | None = None) -> Callable[[Language], None]:
    """Read classes of words into a pipeline before it is initialized, as `[initialize.before_init]`. They are saved with it.

    path (str | Path | None): A file that 'python -m spacy hpyp classes' has written, or one of the same form; with none, or an empty name, there are none.
    RETURNS (Callable): Puts them into `nlp.vocab.lookups`, in the place of those that were there.
    RAISES (ValueError): If the file is none of classes.
    """

    def read(nlp: Language) -> None:
        if path:
            classes = {each.word: each for each in read_classes(Path(path))}
            if nlp.vocab.lookups.has_table(TABLE):
                nlp.vocab.lookups.remove_table(TABLE)
            nlp.vocab.lookups.add_table(TABLE, classes)

    return read


def begin_with_classes(model: _Classed, vocab: Vocab) -> _Classed:
    """Let a model that is going to be initialized read the classes of a vocabulary, if it has any."""
    model.use_classes(classes_in(vocab))
    return model


def given_classes(model: Any, vocab: Vocab) -> Any:
    """A model, which reads the classes of a vocabulary if it has learned with some.

    The vocabulary may not have them yet: spaCy takes a component of another pipeline before anything is read into the new one.
    """
    if isinstance(model, ClassedModel) and model.is_classed and model.classes is None:
        classes = classes_in(vocab)
        if classes is not None:
            model.classes = classes
    return model
