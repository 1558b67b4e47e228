"""`hpyp hold-out` and `hpyp keep`: what parsers say of sentences that they were not trained on, for a combiner to learn from."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import spacy
import typer
from spacy.tokens import Doc
from spacy.training import Corpus
from wasabi import msg

from ..annotation.kept import current_parse, keep
from ..components.corpus import create_gold_corpus, reading
from ..settings import whole
from .app import MOST, hpyp, load_pipeline, prepare_docs, save_docs
from .progress import Bar


@hpyp.command("hold-out")
def hold_out_cli(
    corpus: Path = typer.Argument(..., help="A .spacy file, or a directory of them", exists=True),
    output: Path = typer.Argument(..., help="The directory to write to", file_okay=False),
    parts: int = typer.Option(8, "--parts", "-n", help="How many parts the corpus is divided into", min=2, max=MOST),
    first: int = typer.Option(1, "--first", help="Hold out so many of the parts, one after the other", min=1, max=MOST),
) -> None:
    """Divide a corpus into documents to train parsers on, and others that they have not seen.

    For each part that is held out there are two files, `1-train.spacy` and `1-held-out.spacy`. A part is every n-th document, so that
    parts are alike.
    """
    hold_out(corpus, output, parts=parts, first=first)


def hold_out(corpus: Path, output: Path, *, parts: int = 8, first: int = 1) -> list[tuple[Path, Path]]:
    """Write what is left of a corpus without a part of it, and that part.

    corpus (Path): A .spacy file or a directory of them.
    output (Path): The directory to write to.
    parts (int): How many parts there are, at least 2.
    first (int): How many of them are held out, one after the other.
    RETURNS (list[tuple[Path, Path]]): The two files of each.
    RAISES (ValueError): If there are fewer documents than parts, or something cannot be read.
    """
    whole("parts", parts, least=2)
    whole("first", first, highest=parts)
    nlp = spacy.blank("xx")
    with reading(corpus):
        docs = [example.reference for example in Corpus(corpus)(nlp)]
    if len(docs) < parts:
        raise ValueError(
            f"'{corpus}' has {len(docs)} documents, which cannot be divided into {parts} parts. Convert it with fewer sentences to a "
            "document ('python -m spacy convert --n-sents')."
        )
    output.mkdir(parents=True, exist_ok=True)
    files = []
    for part in range(first):
        two = output / f"{part + 1}-train.spacy", output / f"{part + 1}-held-out.spacy"
        for path, held in zip(two, (False, True)):
            chosen = [doc for i, doc in enumerate(docs) if (i % parts == part) == held]
            save_docs(path, chosen)
            msg.good(f"Saved {len(chosen):,} documents with {sum(map(len, chosen)):,} tokens: {path}")
        files.append(two)
    return files


@hpyp.command("keep")
def keep_cli(
    corpus: Path = typer.Argument(..., help="Gold documents that the parsers were not trained on", exists=True),
    output: Path = typer.Argument(..., help="The .spacy file to write", dir_okay=False),
    parsers: list[str] = typer.Argument(
        ..., help="Name of a voter and the pipeline whose parses are its, as parser=training/cnn; two at least"
    ),
) -> None:
    """Write gold sentences with the parses of several pipelines in `doc._.parses`, for a parse_combiner to learn from.

    The files of several parts, each by pipelines that were trained without it, can be put into one directory.
    """
    keep_parses(corpus, output, read_parsers(parsers))


def read_parsers(given: Sequence[str]) -> dict[str, str]:
    """Names and pipelines.

    given (Sequence[str]): As `name=pipeline`.
    RAISES (ValueError): If one is not, or there are not two at least.
    """
    pairs = [each.partition("=") for each in given]
    for each, (name, _, pipeline) in zip(given, pairs):
        if not name or not pipeline:
            raise ValueError(f"A voter is given as NAME=PIPELINE, as parser=training/cnn, not as '{each}'.")
    parsers = {name: pipeline for name, _, pipeline in pairs}
    if len(parsers) < 2 or len(parsers) < len(pairs):
        raise ValueError(f"There should be two voters at least, each with a name of its own, not {', '.join(given)}.")
    return parsers


def keep_parses(corpus: Path, output: Path, parsers: Mapping[str, str | Path]) -> None:
    """Write gold sentences with the parses of several pipelines, and the last guide that one of them writes.

    corpus (Path): A .spacy file or a directory of them.
    output (Path): The .spacy file to write.
    parsers (Mapping[str, str | Path]): Pipelines by the names of their parses.
    RAISES (ValueError): If a pipeline does not parse, or something cannot be read.
    """
    prepare_docs(output)
    references: list[Doc] = []
    for name, pipeline in parsers.items():
        nlp = load_pipeline(pipeline)
        examples = list(create_gold_corpus(corpus)(nlp))
        references = references or [example.reference for example in examples]
        docs = nlp.pipe(example.predicted for example in examples)
        bar = Bar(docs, desc=name, unit=" sentences", total=len(examples))
        parsed = False
        for reference, doc in zip(references, bar):
            parsed |= doc.has_annotation("DEP")
            keep(reference, name, current_parse(doc))
            if doc._.guide is not None:
                reference._.guide = doc._.guide
        if not parsed:
            raise ValueError(
                f"The pipeline '{pipeline}', which is to be '{name}', has not parsed anything of '{corpus}'."
            )
    save_docs(output, references)
    msg.good(f"Saved {len(references):,} sentences with the parses of {', '.join(parsers)}: {output}")
