"""`hpyp calibrate`: whether the probabilities of heads and tags are what they say."""

from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import srsly
import typer
from spacy.training import Corpus
from wasabi import msg

from ..annotation.calibration import Calibration, calibrate_heads, calibrate_tags
from ..components.corpus import create_gold_corpus, reading
from ..components.easy_first_tagger import EasyFirstTagger
from ..components.parse_combiner import ParseCombiner
from .app import hpyp, load_parser, load_pipeline, parsers_of, set_threads
from .perplexity import Output


@hpyp.command("calibrate")
def calibrate_cli(
    model: str = typer.Argument(..., help="Name or path of a trained pipeline with a parser of this package"),
    data_path: Path = typer.Argument(..., help="Evaluation data in .spacy format", exists=True),
    bins: int = typer.Option(10, "--bins", "-b", help="Bins of equal width", min=1, max=1000),
    punctuation: bool = typer.Option(False, "--punctuation", help="Count the heads of punctuation"),
    particles: int | None = typer.Option(
        None, "--particles", "-K", help="Particles, instead of the pipeline's setting"
    ),
    temperature: float | None = typer.Option(
        None, "--temperature", "-T", help="Temperature, instead of the pipeline's setting"
    ),
    threads: int | None = typer.Option(None, "--threads", "-t", help="Threads, instead of the pipeline's setting"),
    output: Output = typer.Option(Output.table, "--output", "-o", help="Print tables, or JSON"),
) -> None:
    """Print reliability tables of `token._.head_prob` and `token._.tag_prob`, their expected calibration error and their AUROC.

    First on raw documents, whose tokens and sentences the pipeline finds; what is no gold token is left out. Then on gold tokens
    and gold sentence boundaries. A head is right whatever its label, and punctuation is left out, as in UAS. The expected
    calibration error is the mean over all tokens of the distance between confidence and accuracy in their bins; AUROC is how
    probable it is that a right choice is surer than a wrong one. Then how many choices are wrong among the surest of them.
    """
    raw, gold = calibrate(
        model,
        data_path,
        bins=bins,
        punctuation=punctuation,
        particles=particles,
        temperature=temperature,
        threads=threads,
    )
    if output == Output.json:
        print(srsly.json_dumps({**gold.to_dict(), "raw": raw.to_dict()}, indent=2))
        return
    for text, found in (("raw documents", raw), ("gold sentences", gold)):
        _print(f"head_prob, {text}", found.heads)
        if found.tags.tokens.any():
            _print(f"tag_prob, {text}", found.tags)


class Calibrations(NamedTuple):
    """How well probabilities are calibrated.

    heads, tags (Calibration): Those of heads and of tags.
    """

    heads: Calibration
    tags: Calibration

    def to_dict(self) -> dict[str, Any]:
        """The figures and the tables; what is not a number is None."""
        return {name: _without_nan(found.to_dict()) for name, found in self._asdict().items()}


def calibrate(
    model: str | Path,
    data_path: Path,
    *,
    bins: int = 10,
    punctuation: bool = False,
    particles: int | None = None,
    temperature: float | None = None,
    threads: int | None = None,
) -> tuple[Calibrations, Calibrations]:
    """Measure how well the probabilities of heads and tags are calibrated.

    model (str | Path): Name or path of the pipeline.
    data_path (Path): A .spacy file or a directory of them.
    bins (int): The number of bins.
    punctuation (bool): Whether the heads of punctuation count.
    particles, temperature, threads (int | float | None): Instead of the pipeline's settings.
    RETURNS (tuple[Calibrations, Calibrations]): On raw documents, and on gold tokens and sentences.
    RAISES (ValueError): If there is nothing to parse or to compare with, or a setting is out of its range.
    """
    nlp = load_pipeline(model)
    generative = parsers_of(nlp, model).hpyp
    if generative or {particles, temperature} != {None}:
        nlp, parser = load_parser(model, particles=particles, threads=threads)
        parser.marginals = True
        parser.temperature = parser.temperature if temperature is None else temperature
    set_threads(nlp, threads)
    # Only a generative parser that finds tags says how sure of them it is, and not where a tagger comes after it.
    tagger = not generative or any(isinstance(pipe, EasyFirstTagger | ParseCombiner) for _, pipe in nlp.pipeline)
    with reading(data_path):
        raw = list(Corpus(data_path)(nlp))
    found = []
    for examples in (raw, list(create_gold_corpus(data_path)(nlp))):
        if not examples:
            raise ValueError(f"There is nothing to parse in '{data_path}'.")
        for example, doc in zip(examples, nlp.pipe(example.predicted for example in examples)):
            example.predicted = doc
        heads, tags = calibrate_heads(examples, bins, punctuation=punctuation), calibrate_tags(examples, bins)
        if not heads.tokens.any() or not (tags.tokens.any() or tagger):
            missing = "tag" if heads.tokens.any() else "head"
            raise ValueError(f"There is nothing to compare with in '{data_path}': no token has a gold {missing}.")
        found.append(Calibrations(heads, tags))
    return found[0], found[1]


def _without_nan(table: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(value, float) and isnan(value) else value for name, value in table.items()}


def _print(name: str, found: Calibration) -> None:
    table = found.to_dict()
    rows = [
        (f"{row['from']:.2f}-{row['to']:.2f}", row["tokens"], f"{row['confidence']:.4f}", f"{row['accuracy']:.4f}")
        for row in table["bins"]
    ]
    footer = ("all", table["tokens"], f"{table['confidence']:.4f}", f"{table['accuracy']:.4f}")
    header = (name, "tokens", "confidence", "accuracy")
    msg.table(
        rows, header=header, footer=footer, divider=True, aligns=("l", "r", "r", "r"), title=f"Reliability of {name}"
    )
    msg.text(f"Expected calibration error: {found.error:.4f}")
    msg.text(f"AUROC: {found.auroc:.4f}")
    surest = [(f"{row['part']:.0%}", f"{row['confidence']:.4f}", f"{row['risk']:.4f}") for row in table["coverage"]]
    header = ("surest", "confidence from", "wrong")
    msg.table(surest, header=header, divider=True, aligns=("r", "r", "r"), title=f"Risk and coverage of {name}")
