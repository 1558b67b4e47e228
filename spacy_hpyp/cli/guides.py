"""`hpyp guides`: a training corpus with guides that have not seen it."""

from pathlib import Path
from typing import Annotated

from wasabi import msg

from ..components.base import example_of_words
from .app import load_parser, prepare_docs, save_docs
from .documents import read_training
from .options import DocsFile, Generative, Threads, argument, option
from .progress import Bar


def guides(
    model: Generative,
    corpus: Annotated[Path, argument("What it was trained on: .conllu or .spacy, or a directory", exists=True)],
    output: DocsFile,
    *,
    folds: Annotated[int, option("How many parts of the corpus are left out, one after the other", least=2)] = 10,
    threads: Threads = None,
) -> None:
    """Write the corpus that a parser was trained on with what it believes about it, for components that read guides to learn from.

    A part of the sentences is taken out of the model, parsed by what is left of it, and put back, until all have been parsed by a
    parser that has not seen them. The documents have the gold annotation on the tokens and words that the parser has learned, and
    the guides, which are about words, in `doc._.guide`.
    """
    prepare_docs(output)
    nlp, parser = load_parser(model, threads=threads)
    examples = read_training(corpus, nlp, nlp.config)
    words = sum(len(example_of_words(example).predicted) for example in examples)
    if not words:
        raise ValueError(f"There is nothing to annotate in '{corpus}'.")
    with Bar(total=words, desc="Annotating", unit=" words") as bar:
        docs, learned = parser.leave_out(examples, folds=folds, progress=bar.update)
    save_docs(output, docs)
    msg.good(f"Annotated {words:,} words, with {learned:,} sentences left out when they were parsed; saved {output}")
