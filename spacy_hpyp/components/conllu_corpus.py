"""Training data from treebanks."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from spacy.errors import Errors
from spacy.language import Language
from spacy.training import Example
from spacy.util import registry

from ..annotation.documents import with_words
from ..settings import OneOf, check, whole
from .documents import read_treebank

_TOKENS = OneOf(("tokenizer", "gold"))


@registry.readers("spacy-hpyp.ConlluCorpus.v1")
def create_conllu_corpus(
    path: str | Path | None, tokens: str = "tokenizer", n_sents: int = 10, limit: int = 0
) -> Callable[[Language], Iterator[Example]]:
    """Read CoNLL-U or `.spacy` files, an example for each document, with an empty line between paragraphs.

    path (str | Path | None): A file, or a directory of files that end with .conllu or .spacy.
    tokens (str): Tokens of the documents to be parsed: "tokenizer" or "gold".
    n_sents (int): Sentences per document in a file without marks of documents and paragraphs.
    limit (int): The number of documents to read, 0 for all.
    RETURNS (Callable): Yields the examples for a pipeline.
    RAISES (ValueError): If there is no path, or a setting is not valid. When it is read, if it is damaged.
    """
    if path is None:
        raise ValueError(Errors.E913)
    check("tokens", tokens, _TOKENS)
    whole("n_sents", n_sents)
    whole("limit", limit, least=0)

    def read(nlp: Language) -> Iterator[Example]:
        for reference in islice(read_treebank(Path(path), nlp.vocab, n_sents=n_sents), limit or None):
            own = tokens == "gold" or reference.has_unknown_spaces
            yield Example(with_words(reference) if own else nlp.make_doc(reference.text), reference)

    return read
