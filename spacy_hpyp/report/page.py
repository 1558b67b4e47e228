"""A page about a pipeline: one HTML file of sections with figures, tables and trees, which loads
nothing else.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from spacy.tokens import Token
from spacy.training import Example

from ..annotation.calibration import PUNCTUATION, Calibration
from ..annotation.errors import Errors
from .trees import draw_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

_SCORES = {
    "tag_acc": "TAG",
    "dep_uas": "UAS",
    "dep_las": "LAS",
    "complete_match": "MATCH",
    "token_log_prob": "log-probability, nats a token",
}
# The confusions of each kind.
_LISTED = 20
_FIGURE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "report",
    "text.parse_math": False,
    "axes.grid": True,
}


class Table(NamedTuple):
    """A table. Floats are rounded by `_cell`."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass
class Section:
    """A part of the page, with figures and trees by their titles."""

    title: str
    text: str = ""
    figures: list[tuple[str, str]] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    trees: list[tuple[str, Markup]] = field(default_factory=list)

    @contextmanager
    def drawing(
        self, title: str, x_label: str, y_label: str = "", height: float = 3.0
    ) -> "Iterator[Axes]":
        """Add a figure that is drawn on the given axes."""
        import matplotlib
        from matplotlib.figure import Figure

        with matplotlib.rc_context(_FIGURE):
            figure = Figure(figsize=(5.0, height), layout="constrained")
            axes = figure.add_subplot()
            yield axes
            axes.set(xlabel=x_label, ylabel=y_label)
            axes.legend(fontsize=8)
            file = BytesIO()
            figure.savefig(file, format="svg", metadata={"Date": None})
        self.figures.append(
            (title, f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}")
        )


def write_page(title: str, facts: Mapping[str, object], sections: Sequence[Section]) -> str:
    """Return the page as HTML, with facts by their names."""
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    environment.filters["cell"] = _cell
    return environment.get_template("page.html").render(title=title, facts=facts, sections=sections)


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def scores_section(scores: Mapping[str, Any]) -> Section:
    """Show scores by spaCy's names."""
    text = "On gold tokens and gold sentence boundaries. MATCH is the proportion of sentences without a wrong head."
    rows = [(name, scores[key]) for key, name in _SCORES.items() if scores.get(key) is not None]
    return Section("Scores", text, tables=[Table("Scores, from 0 to 1", ("", "score"), rows)])


def errors_section(found: Errors) -> Section:
    """Show tables of errors, and confusions with an example each."""
    section = Section("Errors", "By properties of gold words, without punctuation.")
    for title, rows in found.tables.items():
        cells = [list(row.values()) for row in rows]
        section.tables.append(Table(title, ("", "tokens", "UAS", "LAS", "TAG"), cells))
    for title, confusions in found.confusions.items():
        shown = [each[:4] for each in confusions[:_LISTED]]
        section.tables.append(Table(title, ("gold", "predicted", "tokens", "as in"), shown))
    return section


def trees_section(examples: Sequence[Example], count: int) -> Section:
    """Draw the sentences with the most wrong arcs, punctuation left out.

    examples (Sequence[Example]): Parsed sentences, and their references with the same tokens.
    """
    rated = []
    for number, example in enumerate(examples):
        gold = [
            token
            for token in example.reference
            if token.dep and token.dep_.lower() not in PUNCTUATION
        ]
        wrong = sum(_is_wrong(token, example.predicted[token.i]) for token in gold)
        if wrong:
            rated.append((-wrong, number, len(gold)))
    section = Section(
        "Sentences with the most wrong arcs", "Arcs that the other tree does not have have a cross."
    )
    for wrong, number, arcs in sorted(rated)[:count]:
        title = f"Sentence {number + 1}: {-wrong} of {arcs} arcs wrong"
        docs = examples[number].reference, examples[number].predicted
        for name, doc, other in (("gold", *docs), ("predicted", *docs[::-1])):
            tree = draw_tree(
                doc[:], lambda token, other=other: " ✗" * _is_wrong(token, other[token.i])
            )
            section.trees.append((f"{title}, {name}", tree))
    return section


def _is_wrong(token: Token, other: Token) -> bool:
    # UD has "root" where spaCy has "ROOT".
    return token.head.i != other.head.i or (token.head.i != token.i and token.dep_ != other.dep_)


def calibration_section(heads: Calibration, tags: Calibration) -> Section:
    """Show whether the probabilities of heads and tags are right."""
    section = Section("Calibration", "No component gives the probabilities of heads or tags.")
    shown = {
        name: found for name, found in (("heads", heads), ("tags", tags)) if found.tokens.any()
    }
    if not shown:
        return section
    section.text = (
        "Calibrated probabilities lie on the dotted line. AUROC is the probability that a right choice is "
        "surer "
        "than a wrong one."
    )
    with section.drawing("Accuracy by confidence", "confidence", "accuracy") as axes:
        axes.plot([0, 1], [0, 1], color="gray", linestyle=":")
        for name, found in shown.items():
            used = found.tokens > 0
            axes.plot(
                found.confidence[used], found.accuracy[used], marker="o", markersize=3, label=name
            )
    figures = ("tokens", "confidence", "accuracy", "expected_calibration_error", "auroc")
    rows = [(name, *map(found.to_dict().get, figures)) for name, found in shown.items()]
    section.tables.append(
        Table("Calibration", ("", *(name.replace("_", " ") for name in figures)), rows)
    )
    return section


def surprisal_section(tokens: Sequence[Token], source: str) -> Section:
    """Show the surprisals of tokens."""
    section = Section("Surprisal along a text", "Only an hpyp_parser gives surprisals.")
    if not tokens:
        return section
    section.text = (
        f"The first {len(tokens)} tokens of {source}, in bits. The syntactic part leads to the tag of a "
        f"word, the "
        "lexical part to the word given its tag."
    )
    left = np.zeros(len(tokens))
    with section.drawing("Surprisal", "bits", height=0.21 * len(tokens) + 0.9) as axes:
        for part in ("syntactic", "lexical"):
            bits = np.array([getattr(token._, f"surprisal_{part}") for token in tokens])
            axes.barh(range(len(tokens)), bits, left=left, label=part)
            left += bits
        axes.set_yticks(range(len(tokens)), [token.text for token in tokens], fontsize=8)
        axes.invert_yaxis()
    return section
