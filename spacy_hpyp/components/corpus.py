"""How training data come to the pipeline: a reader of gold sentences, and a batcher that divides a corpus into parts."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from spacy.errors import Errors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example
from spacy.training.batchers import minibatch_by_words
from spacy.util import registry

from ..storage.checksum import DAMAGE

# Of treebanks of this size a pool learns more by going over them more often. On French Sequoia six sweeps instead of three were worth 0.8
# points of LAS; on 400 Tamil sentences, and on a twelfth of English EWT, they were worth nothing.
_MEDIUM = range(25_000, 100_000)


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """What is wrong with a `.spacy` file that is read here is an error that names the file.

    path (str | Path): The file, or a directory of them.
    RAISES (ValueError): If it is damaged, or no such file.
    """
    if Path(path).is_file() and Path(path).suffix != ".spacy":
        raise ValueError(f"'{path}' is not a .spacy file, or its name does not say so.")
    try:
        yield
    except DAMAGE as error:
        raise ValueError(f"'{path}' is not a .spacy file, or it is damaged: {error}") from error


def spacy_files(path: Path) -> list[Path]:
    """The `.spacy` files of a treebank in their order: the file that it is, or those of a directory."""
    return sorted(path.rglob("*.spacy")) if path.is_dir() else [path]


def mark_sentence(doc: Doc) -> Doc:
    """Mark a document as one sentence, so that a parser does not look for boundaries inside it; returns the document."""
    for i, token in enumerate(doc):
        token.is_sent_start = i == 0
    return doc


@registry.readers("spacy-hpyp.GoldCorpus.v1")
def create_gold_corpus(
    path: str | Path | None, gold_tags: bool = False, limit: int = 0
) -> Callable[[Language], Iterator[Example]]:
    """Read a `.spacy` file one gold sentence at a time.

    Parsers are compared on gold tokens and sentences. spaCy's reader gives each sentence as a document of its own; this one
    also marks it as one sentence, so that a parser does not look for boundaries inside it.

    path (str | Path | None): The file or directory.
    gold_tags (bool): Whether to put the gold tags into the document to be parsed, for `tags = "given"`.
    limit (int): Read only so many documents of the file, 0 for all.
    RETURNS (Callable): Yields the examples for a pipeline.
    RAISES (ValueError): If there is no path, as in a config whose paths have not been filled in. When it is read, if it is damaged.
    """
    if path is None:
        raise ValueError(Errors.E913)

    def read(nlp: Language) -> Iterator[Example]:
        with reading(path):
            for example in Corpus(path, gold_preproc=True, limit=limit)(nlp):
                mark_sentence(example.predicted)
                if gold_tags:
                    for token, gold in zip(example.predicted, example.reference):
                        token.tag_ = gold.tag_
                yield example

    return read


@registry.batchers("spacy-hpyp.batch_by_parts.v1")
def create_parts_batcher(
    parts: int, medium_parts: int | None = None
) -> Callable[[Iterable[Example]], Iterator[list[Example]]]:
    """Create a batcher that divides the corpus into about so many batches, whatever its size.

    So a step of training is the same part of a sweep for every treebank.

    parts (int): How many batches the corpus is divided into, at least 1.
    medium_parts (int | None): The same for a corpus of 25,000 to 100,000 tokens: with fewer parts, as many steps are more sweeps. By
        default it is `parts`.
    RAISES (ValueError): If there are fewer.
    """
    for name, value in (("parts", parts), ("medium_parts", medium_parts)):
        if value is not None and value < 1:
            raise ValueError(f"'{name}' must be at least 1, but it is {value}.")

    def batches(examples: Iterable[Example]) -> Iterator[list[Example]]:
        examples = list(examples)
        words = sum(len(example.reference) for example in examples)
        chosen = parts if medium_parts is None or words not in _MEDIUM else medium_parts
        return minibatch_by_words(examples, size=max(1, words // chosen), tolerance=0.0, get_length=_length)

    return batches


def _length(example: Example) -> int:
    return len(example.reference)
