"""`hpyp combine`: what parsers say of sentences that they were not trained on, for a combiner to learn from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import spacy
from spacy.tokens import Doc
from wasabi import msg

from ..annotation.kept import current_parse, keep
from ..components.corpus import create_gold_corpus
from ..settings import whole
from .app import load_pipeline, prepare_docs, save_docs
from .documents import read_corpus
from .options import DocsFile, argument, option
from .progress import Bar


def hold_out(
    corpus: Annotated[Path, argument("A .spacy file, or a directory of them", exists=True)],
    output: Annotated[Path, argument("The directory to write to", file_okay=False)],
    *,
    parts: Annotated[int, option("How many parts the corpus is divided into", "--parts -n", least=2)] = 8,
    first: Annotated[int, option("Hold out so many of the parts, one after the other", least=1)] = 1,
) -> None:
    """Divide a corpus into documents to train parsers on, and others that they have not seen.

    For each part that is held out there are two files, `1-train.spacy` and `1-held-out.spacy`. A part is every n-th document, so that
    parts are alike.
    """
    whole("first", first, highest=parts)
    docs = [example.reference for example in read_corpus(corpus, spacy.blank("xx"))]
    if len(docs) < parts:
        raise ValueError(
            f"'{corpus}' has {len(docs)} documents, which cannot be divided into {parts} parts. Convert it with fewer sentences to a "
            "document ('python -m spacy convert --n-sents')."
        )
    output.mkdir(parents=True, exist_ok=True)
    for part in range(first):
        two = output / f"{part + 1}-train.spacy", output / f"{part + 1}-held-out.spacy"
        for path, held in zip(two, (False, True)):
            chosen = [doc for i, doc in enumerate(docs) if (i % parts == part) == held]
            save_docs(path, chosen)
            msg.good(f"Saved {len(chosen):,} documents with {sum(map(len, chosen)):,} tokens: {path}")


def keep_parses(
    corpus: Annotated[Path, argument("Gold documents that the parsers were not trained on", exists=True)],
    output: DocsFile,
    parsers: Annotated[
        list[str],
        argument("Name of a voter and the pipeline whose parses are its, as parser=training/cnn; two at least"),
    ],
) -> None:
    """Write gold sentences with the parses of several pipelines in `doc._.parses`, for a parse_combiner to learn from.

    The last guide that one of the pipelines writes is kept, too. The files of several parts, each by pipelines that were trained without
    it, can be put into one directory.
    """
    voters = read_voters(parsers)
    prepare_docs(output)
    references: list[Doc] = []
    for name, pipeline in voters.items():
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
    msg.good(f"Saved {len(references):,} sentences with the parses of {', '.join(voters)}: {output}")


def read_voters(given: Sequence[str]) -> dict[str, str]:
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
