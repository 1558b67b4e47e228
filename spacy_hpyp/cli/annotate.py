"""`hpyp annotate`: a training corpus with guides that have not seen it."""

from pathlib import Path

import typer
from spacy.training import Corpus
from wasabi import msg

from ..components.corpus import reading
from .app import MOST, hpyp, load_parser, prepare_docs, save_docs
from .progress import Bar


@hpyp.command("annotate")
def annotate_cli(
    model: str = typer.Argument(..., help="Name or path of a pipeline with an hpyp_parser"),
    corpus: Path = typer.Argument(
        ..., help="The .spacy file that it was trained on, or a directory of them", exists=True
    ),
    output: Path = typer.Argument(..., help="The .spacy file to write", dir_okay=False),
    folds: int = typer.Option(
        10, "--folds", help="How many parts of the corpus are left out, one after the other", min=2, max=MOST
    ),
    threads: int | None = typer.Option(None, "--threads", "-t", help="Threads, instead of the pipeline's setting"),
) -> None:
    """Write the corpus that a parser was trained on with what it believes about it, for components that read guides to learn from.

    A part of the sentences is taken out of the model, parsed by what is left of it, and put back, until all have been parsed by a
    parser that has not seen them. The documents have the gold annotation on the tokens that the parser has learned, and the guides
    in `doc._.guide`.
    """
    annotate(model, corpus, output, folds=folds, threads=threads)


def annotate(model: str | Path, corpus: Path, output: Path, *, folds: int = 10, threads: int | None = None) -> None:
    """Write a parser's training corpus with its guides.

    model (str | Path): Name or path of the pipeline.
    corpus (Path): A .spacy file or a directory of them.
    output (Path): The .spacy file to write.
    folds (int): How many parts of the corpus are left out, at least 2.
    threads (int | None): Instead of the pipeline's setting.
    RAISES (ValueError): If the parser has not been trained on the corpus, or something cannot be read.
    """
    prepare_docs(output)
    nlp, parser = load_parser(model, threads=threads)
    with reading(corpus):
        examples = list(Corpus(corpus)(nlp))
    if not any(len(example.predicted) for example in examples):
        raise ValueError(f"There is nothing to annotate in '{corpus}'.")
    words = sum(len(example.predicted) for example in examples)
    with Bar(total=words, desc="Annotating", unit=" words") as bar:
        docs, learned = parser.leave_out(examples, folds=folds, progress=bar.update)
    save_docs(output, docs)
    msg.good(f"Annotated {words:,} tokens, with {learned:,} sentences left out when they were parsed; saved {output}")
