"""`hpyp generate`: sentences drawn from a model, and the best of them."""

from pathlib import Path
from typing import Any

import srsly
import typer
from spacy.tokens import Doc, DocBin
from tqdm import tqdm
from wasabi import msg

from ..storage.files import prepare_folder, replace_file
from .app import hpyp, load_parser

_FORMATS = (".jsonl", ".spacy")


@hpyp.command("generate")
def generate_cli(
    model: str = typer.Argument(..., help="Name or path of a trained pipeline with an hpyp_parser"),
    number: int = typer.Option(1000, "--number", "-n", help="How many sentences to draw"),
    best: int = typer.Option(10, "--best", "-b", help="How many of them to show and to save: the most probable ones"),
    min_length: int = typer.Option(10, "--min-length", help="Shorter sentences are not among the best"),
    max_length: int = typer.Option(60, "--max-length", help="The most words of a sentence"),
    begin_with: str = typer.Option("", "--begin-with", help="Text that every sentence begins with"),
    seed: int = typer.Option(0, "--seed", help="Fixes the sentences"),
    trees: bool = typer.Option(False, "--trees", help="Show tags and trees"),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="File for the best, .jsonl or .spacy", dir_okay=False
    ),
    particles: int | None = typer.Option(
        None, "--particles", "-K", help="Particles, instead of the pipeline's setting"
    ),
    threads: int | None = typer.Option(None, "--threads", "-t", help="Threads, instead of the pipeline's setting"),
) -> None:
    """Draw sentences from a model and show the most probable ones of some length.

    A sentence's probability is the sum over the parser's beam, not that of the derivation that was drawn. Rare words are
    spelled out, or appear as the name of their class in angle brackets if the model does not spell.
    """
    if output is not None and output.suffix not in _FORMATS:
        raise ValueError(f"'{output}' should end in .jsonl or .spacy")
    if min_length > max_length:
        raise ValueError(f"No sentence has {min_length} words or more and {max_length} or fewer")
    if best < 1:
        raise ValueError(f"--best must be at least 1, not {best}")
    if output is not None:
        prepare_folder(output.parent)
    docs = generate(
        model,
        number,
        best=best,
        min_length=min_length,
        max_length=max_length,
        begin_with=begin_with,
        seed=seed,
        particles=particles,
        threads=threads,
    )
    if not docs:
        raise ValueError(
            f"None of the {number} sentences has {min_length} words or more. Draw more, or allow shorter ones with --min-length."
        )
    for doc in docs:
        _show(doc, trees=trees)
    if len(docs) < best:
        msg.info(f"Only {len(docs)} of the {number} sentences have {min_length} words or more")
    if output is not None:
        _save(docs, output)
        msg.good(f"Saved {len(docs)} sentences to {output}")


def generate(
    model: str | Path,
    number: int = 1000,
    *,
    best: int = 10,
    min_length: int = 10,
    max_length: int = 60,
    begin_with: str = "",
    seed: int = 0,
    particles: int | None = None,
    threads: int | None = None,
) -> list[Doc]:
    """Draw sentences and choose the most probable ones of some length (B&B section 5.5).

    model (str | Path): Name or path of the pipeline.
    number (int): How many sentences to draw.
    best (int): How many of them to choose.
    min_length, max_length (int): The fewest words of those that are chosen, and the most words of any.
    begin_with (str): Text that all of them begin with; the pipeline's tokenizer finds its words.
    seed (int): Fixes the sentences.
    particles, threads (int | None): Instead of the pipeline's settings.
    RETURNS (list[Doc]): The most probable one first. Of equal sentences there is one.
    RAISES (ValueError): If the pipeline cannot generate them.
    """
    nlp, parser = load_parser(model, particles=particles, threads=threads)
    words = [token.text for token in nlp.make_doc(begin_with) if not token.is_space]
    drawn = parser.generate(number, begin_with=words, max_length=max_length, seed=seed)
    different: dict[tuple[str, ...], Doc] = {}
    with tqdm(drawn, desc="Generating", total=number, unit=" sentences", leave=False) as drawn:
        for doc in drawn:
            if len(doc) >= min_length:
                different.setdefault(tuple(token.text for token in doc), doc)
    return sorted(different.values(), key=lambda doc: -doc._.log_prob)[:best]


def _show(doc: Doc, *, trees: bool) -> None:
    print(f"{doc._.log_prob:8.2f}  {doc.text}")
    if trees:
        widths = [max(len(name) for name in column) for column in zip(*((t.text, t.tag_, t.dep_) for t in doc))]
        for token in doc:
            columns = (name.ljust(width) for name, width in zip((token.text, token.tag_, token.dep_), widths))
            print(f"{token._.log_prob:8.2f}  {'  '.join(columns)}  {token.head.text}")


def _save(docs: list[Doc], output: Path) -> None:
    if output.suffix == ".spacy":
        replace_file(output, DocBin(docs=docs, store_user_data=True).to_bytes())
    else:
        lines = (srsly.json_dumps(_record(doc)) + "\n" for doc in docs)
        replace_file(output, "".join(lines).encode())


def _record(doc: Doc) -> dict[str, Any]:
    return {
        "text": doc.text,
        "log_prob": doc._.log_prob,
        "words": [token.text for token in doc],
        "tags": [token.tag_ for token in doc],
        "heads": [token.head.i for token in doc],
        "deps": [token.dep_ for token in doc],
    }
