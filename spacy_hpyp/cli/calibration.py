"""What `hpyp evaluate --calibration` prints: whether the probabilities of heads and tags are what they say."""

from math import isnan
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from spacy.language import Language
from wasabi import msg

from ..annotation.calibration import PRECISION, Calibration, calibrate_heads, calibrate_tags
from ..components.corpus import create_gold_corpus
from ..components.easy_first_tagger import EasyFirstTagger
from ..components.voting import VotingComponent
from .app import Parsers
from .documents import read_corpus
from .options import option
from .output import print_table

Bins = Annotated[int, option("How many bins of equal width --calibration has", "--bins", least=1, most=1000)]


class Calibrations(NamedTuple):
    """How well probabilities are calibrated.

    heads, tags (Calibration): Those of heads and of tags.
    """

    heads: Calibration
    tags: Calibration

    def to_dict(self) -> dict[str, Any]:
        """The figures and the tables; what is not a number is None."""
        return {name: _without_nan(found.to_dict()) for name, found in self._asdict().items()}


def calibrations(
    nlp: Language, parsers: Parsers, data_path: Path, *, bins: int, punctuation: bool
) -> tuple[Calibrations, Calibrations]:
    """Measure how well the probabilities of heads and tags are calibrated.

    nlp (Language), parsers (Parsers): The pipeline, and its parsers.
    data_path (Path): A .spacy file or a directory of them.
    bins (int): The number of bins.
    punctuation (bool): Whether the heads of punctuation count.
    RETURNS (tuple[Calibrations, Calibrations]): On raw documents, and on gold tokens and sentences.
    RAISES (ValueError): If there is no parser of this package, or nothing to parse or to compare with.
    """
    if not any(parsers):
        raise ValueError(f"Parsers of this package say how sure they are, but the pipeline has {nlp.pipe_names}.")
    for parser in parsers.hpyp:
        parser.marginals = True
    # Only a generative parser that finds tags says how sure of them it is, and not where a tagger comes after it.
    others = any(isinstance(pipe, EasyFirstTagger | VotingComponent) for _, pipe in nlp.pipeline)
    found = []
    for examples in (read_corpus(data_path, nlp), list(create_gold_corpus(data_path)(nlp))):
        if not examples:
            raise ValueError(f"There is nothing to parse in '{data_path}'.")
        for example, doc in zip(examples, nlp.pipe(example.predicted for example in examples)):
            example.predicted = doc
        heads, tags = calibrate_heads(examples, bins, punctuation=punctuation), calibrate_tags(examples, bins)
        if not heads.tokens.any() or not (tags.tokens.any() or others or not parsers.hpyp):
            missing = "tag" if heads.tokens.any() else "head"
            raise ValueError(f"There is nothing to compare with in '{data_path}': no token has a gold {missing}.")
        found.append(Calibrations(heads, tags))
    return found[0], found[1]


def print_calibrations(raw: Calibrations, gold: Calibrations) -> None:
    """Print reliability tables, first those of raw documents."""
    for text, found in (("raw documents", raw), ("gold sentences", gold)):
        _print(f"head_prob, {text}", found.heads)
        if found.tags.tokens.any():
            _print(f"tag_prob, {text}", found.tags)


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
    print_table(header, rows, f"Reliability of {name}", footer=footer)
    print_figures(found)
    surest = [(f"{row['part']:.0%}", f"{row['confidence']:.4f}", f"{row['risk']:.4f}") for row in table["coverage"]]
    print_table(("surest", "confidence from", "wrong"), surest, f"Risk and coverage of {name}", left=0)


def print_figures(found: Calibration) -> None:
    """Print what a reliability table says in three numbers."""
    msg.text(f"Expected calibration error: {found.error:.4f}")
    msg.text(f"AUROC: {found.auroc:.4f}")
    if isnan(found.threshold):
        msg.text(f"Precision {PRECISION:.0%}: with no threshold")
    else:
        msg.text(f"Precision {PRECISION:.0%}: from {found.threshold:.4f} on, which {found.above:.1%} have")
