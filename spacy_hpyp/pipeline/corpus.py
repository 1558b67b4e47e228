"""Readers of treebanks, and a batcher that divides a corpus into parts."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice, repeat
from pathlib import Path

import numpy as np
from spacy.errors import Errors
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import registry
from spacy.vocab import Vocab

from ..annotation.syntactic_words import to_word_doc
from ..settings import OneOf, check, whole
from .alignment import unannotated, with_words
from .documents import read_treebank

_TOKENS = OneOf(("tokenizer", "gold"))


def mark_sentence(doc: Doc) -> Doc:
    """Mark a document as one sentence, and return it."""
    for i, token in enumerate(doc):
        token.is_sent_start = i == 0
    return doc


def spans_of(doc: Doc) -> list[Span]:
    """Return the sentences of a document; without boundaries it is one, as for spaCy's reader."""
    return list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]


@registry.readers("spacy-hpyp.GoldCorpus.v1")
def create_gold_corpus(
    path: str | Path | None, gold_tags: bool = False, limit: int = 0
) -> Callable[[Language], Iterator[Example]]:
    """Read a treebank one gold sentence at a time, with gold words as tokens, and cache it.

    Each sentence is a document marked as one sentence, so that a parser finds no boundaries inside
    it.

    path (str | Path | None): A file, or a directory of files that end with .conllu or .spacy.
    gold_tags (bool): Whether the document to be parsed has gold tags, for `predict_tags = false`.
    limit (int): The number of documents to read, 0 for all.
    RETURNS (Callable): Yields the examples for a pipeline.
    RAISES (ValueError): If `path` is None or `limit` is invalid. When it is read, see
        `read_treebank`.
    """
    if path is None:
        raise ValueError(Errors.E913)
    whole("limit", limit, least=0)

    # The corpus is read again at each evaluation.
    found: list[Doc] = []

    def sentences(vocab: Vocab) -> Iterator[Doc]:
        for words in map(to_word_doc, islice(read_treebank(Path(path), vocab), limit or None)):
            for sentence in spans_of(words):
                # An empty line between paragraphs belongs to no sentence.
                end = max(
                    (token.i + 1 for token in sentence if not token.is_space), default=sentence.end
                )
                yield words[sentence.start : end].as_doc()

    def read(nlp: Language) -> Iterator[Example]:
        if not found or found[0].vocab is not nlp.vocab:
            found[:] = sentences(nlp.vocab)
        for gold in found:
            example = Example(mark_sentence(unannotated(gold)), gold)
            if gold_tags:
                for token, own in zip(example.predicted, gold):
                    token.tag_ = own.tag_
            yield example

    return read


@registry.batchers("spacy-hpyp.batch_by_parts.v1")
def create_parts_batcher(parts: int) -> Callable[[Iterable[Example]], Iterator[list[Example]]]:
    """Create a batcher that divides each sweep over a corpus into batches of about as many words.

    The first sweep has one batch more, unless all others would be empty. spaCy evaluates after
    steps 0, n, 2 n, ...: with `eval_frequency` = n = `parts`, after every sweep. Batches are empty
    where examples are too few.

    parts (int): The number of batches in a sweep, at least 1.
    RAISES (ValueError): If there are fewer.
    """
    counts = chain([whole("parts", parts) + 1], repeat(parts))

    def batches(examples: Iterable[Example]) -> Iterator[list[Example]]:
        examples = list(examples)
        batches: list[list[Example]] = [[] for _ in range(next(counts))]
        ends = np.cumsum([len(example.reference) for example in examples])
        for example, end in zip(examples, ends):
            begin = end - len(example.reference)
            batches[min(begin * len(batches) // max(1, ends[-1]), len(batches) - 1)].append(example)
        if not any(batches[1:]):
            # An evaluation needs the loss of an example since the previous one.
            del batches[parts:]
        return iter(batches)

    return batches


@registry.readers("spacy-hpyp.ConlluCorpus.v1")
def create_conllu_corpus(
    path: str | Path | None, tokens: str = "tokenizer", limit: int = 0
) -> Callable[[Language], Iterator[Example]]:
    """Read CoNLL-U (with an empty line between paragraphs) or `.spacy` files, document by document.

    path (str | Path | None): A file, or a directory of files that end with .conllu or .spacy.
    tokens (str): Tokens of the documents to be parsed: "tokenizer" or "gold". Documents with
        unknown white space always have gold ones.
    limit (int): The number of documents to read, 0 for all.
    RETURNS (Callable): Yields the examples for a pipeline.
    RAISES (ValueError): If `path` is None, or a setting is not valid. When it is read, see
        `read_treebank`.
    """
    if path is None:
        raise ValueError(Errors.E913)
    check("tokens", tokens, _TOKENS)
    whole("limit", limit, least=0)

    def read(nlp: Language) -> Iterator[Example]:
        for reference in islice(read_treebank(Path(path), nlp.vocab), limit or None):
            own = tokens == "gold" or reference.has_unknown_spaces
            yield Example(with_words(reference) if own else nlp.make_doc(reference.text), reference)

    return read
