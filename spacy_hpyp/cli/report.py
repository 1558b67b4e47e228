"""`hpyp report`: one HTML page about a trained pipeline and its parses of a treebank."""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from spacy import displacy
from spacy.tokens import Span, Token
from spacy.training import Example
from wasabi import msg

from ..annotation.sentences import PUNCTUATION
from ..pipeline.surprisal import surprisal
from ..storage import replace_file
from .analysis import calibrations, find_errors
from .app import (
    NEW_FILE,
    AnyPipeline,
    Data,
    Threads,
    argument,
    load_pipeline,
    option,
    parsers_of,
    require_extra,
)
from .evaluate import known_words, parse_examples, read_examples

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SCORES = {
    "tag_acc": "TAG",
    "dep_uas": "UAS",
    "dep_las": "LAS",
    "complete_match": "MATCH",
    "token_log_prob": "log-probability, nats a token",
}
# The tokens whose surprisal is shown, and the confusions of each kind.
_TOKENS, _LISTED = 80, 20
_FIGURE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "report",
    "text.parse_math": False,
    "axes.grid": True,
}
#: A part of the page: "title", "text", and perhaps "tables", "trees" and "figures".
Section = dict[str, Any]


def report(
    model: AnyPipeline,
    data_path: Data,
    output: Annotated[Path, argument("HTML file to write", **NEW_FILE)],
    *,
    sentences: Annotated[
        int, option("Number of worst sentences to show", "--sentences -n", least=0)
    ] = 5,
    threads: Threads = None,
) -> None:
    """Write a report about a pipeline as one self-contained HTML file.

    It has scores, errors, the sentences with the most wrong arcs, calibration and surprisal along
    the data. Sentences are parsed with gold tokens and boundaries, as in 'hpyp evaluate'.
    """
    require_extra("report", "matplotlib")
    nlp = load_pipeline(model, threads=threads)
    gold = read_examples(nlp, data_path, heads=True)
    for parser in parsers_of(nlp):
        parser.decoding = "mbr"
    scores, parsed = parse_examples(nlp, gold)
    read = []
    if len(parsers_of(nlp)) == 1:
        read = surprisal(nlp, [example.text for example in gold[:_TOKENS]])[:_TOKENS]
    tables, confusions = find_errors(parsed, known=known_words(nlp))
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["cell"] = _cell
    html = environment.get_template("report.html").render(
        title=f"{nlp.lang}_{nlp.meta['name']} {nlp.meta['version']}",
        facts={
            "Pipeline": model,
            "Components": ", ".join(nlp.pipe_names),
            "Data": data_path,
            "Sentences": len(parsed),
        },
        sections=[
            _scores_section(scores),
            _errors_section({**tables, **confusions}),
            _trees_section(parsed, sentences),
            _calibration_section(calibrations(parsed)),
            _surprisal_section(read, str(data_path)),
        ],
    )
    replace_file(output, html.encode())
    msg.good(f"Saved the report to {output}")


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    columns = [name.replace("_", " ") for name in rows[0]] if rows else []
    return {"title": title, "columns": columns, "rows": [list(row.values()) for row in rows]}


def _scores_section(scores: Mapping[str, Any]) -> Section:
    rows = [
        {"": name, "score": scores[key]}
        for key, name in _SCORES.items()
        if scores.get(key) is not None
    ]
    text = (
        "On gold tokens and gold sentence boundaries. MATCH is the proportion of sentences without "
        "a wrong head."
    )
    return {"title": "Scores", "text": text, "tables": [_table("Scores, from 0 to 1", rows)]}


def _errors_section(tables: Mapping[str, list[dict[str, Any]]]) -> Section:
    """Show tables of errors, and confusions with an example each."""
    return {
        "title": "Errors",
        "text": "By properties of gold words, without punctuation.",
        "tables": [
            _table(title, rows if "name" in (rows or [{}])[0] else rows[:_LISTED])
            for title, rows in tables.items()
        ],
    }


def _trees_section(examples: Sequence[Example], count: int) -> Section:
    """Draw the sentences with the most wrong arcs, without punctuation."""
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
    trees = []
    for wrong, number, arcs in sorted(rated)[:count]:
        docs = examples[number].reference, examples[number].predicted
        for name, doc, other in (("gold", *docs), ("predicted", *docs[::-1])):
            tree = draw_tree(
                doc[:], lambda token, other=other: " ✗" * _is_wrong(token, other[token.i])
            )
            trees.append((f"Sentence {number + 1}: {-wrong} of {arcs} arcs wrong, {name}", tree))
    return {
        "title": "Sentences with the most wrong arcs",
        "text": "A cross marks arcs that the other tree does not have.",
        "trees": trees,
    }


def _is_wrong(token: Token, other: Token) -> bool:
    # UD has "root" where spaCy has "ROOT".
    return token.head.i != other.head.i or (token.head.i != token.i and token.dep_ != other.dep_)


def draw_tree(sentence: Span, note: Callable[[Token], str] = lambda token: "") -> Markup:
    """Draw the tree of a sentence as SVG.

    note (Callable[[Token], str]): Text behind the label of a token's arc.
    """
    start = sentence.start
    arcs = [
        {
            "start": min(token.i, token.head.i) - start,
            "end": max(token.i, token.head.i) - start,
            "label": escape(token.dep_ + note(token)),
            "dir": "left" if token.i < token.head.i else "right",
        }
        for token in sentence
        if token.dep_ and token.head.i != token.i
    ]
    words = [{"text": token.text, "tag": escape(token.tag_)} for token in sentence]
    settings = {
        "lang": sentence.doc.lang_,
        "direction": sentence.vocab.writing_system.get("direction", "ltr"),
    }
    tree = {"words": words, "arcs": arcs, "settings": settings}
    options = {"compact": True, "distance": 110, "color": "currentColor", "bg": "transparent"}
    return Markup(displacy.render(tree, style="dep", manual=True, jupyter=False, options=options))


@contextmanager
def _drawing(
    section: Section, title: str, x_label: str, y_label: str = "", height: float = 3.0
) -> "Iterator[Axes]":
    """Give a section a figure that is drawn on the given axes."""
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
    data = f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}"
    section["figures"] = [(title, data)]


def _calibration_section(tables: Mapping[str, dict[str, Any]]) -> Section:
    """Show whether the probabilities of heads and tags are right."""
    tables = {name: own for name, own in tables.items() if own["bins"]}
    if not tables:
        text = "No component gives the probabilities of heads or tags."
        return {"title": "Calibration", "text": text}
    text = (
        "Calibrated probabilities lie on the dotted line. AUROC is the probability that a right "
        "choice is surer than a wrong one."
    )
    section: Section = {"title": "Calibration", "text": text}
    with _drawing(section, "Accuracy by confidence", "confidence", "accuracy") as axes:
        axes.plot([0, 1], [0, 1], color="gray", linestyle=":")
        for name, own in tables.items():
            points = [[row[key] for row in own["bins"]] for key in ("confidence", "accuracy")]
            axes.plot(*points, marker="o", markersize=3, label=name)
    rows = [
        {"": name, **{key: value for key, value in own.items() if key != "bins"}}
        for name, own in tables.items()
    ]
    section["tables"] = [_table("Calibration", rows)]
    return section


def _surprisal_section(rows: Sequence[Mapping[str, Any]], source: str) -> Section:
    """Show the surprisals of tokens."""
    if not rows:
        text = "Only an hpyp_parser gives surprisals."
        return {"title": "Surprisal along a text", "text": text}
    text = (
        f"The first {len(rows)} tokens of {source}, in bits. The syntactic part leads to the tag "
        "of a word, the lexical part to the word given its tag."
    )
    section: Section = {"title": "Surprisal along a text", "text": text}
    left = np.zeros(len(rows))
    with _drawing(section, "Surprisal", "bits", height=0.21 * len(rows) + 0.9) as axes:
        for part in ("syntactic", "lexical"):
            values = np.array([row[f"surprisal_{part}"] for row in rows])
            axes.barh(range(len(rows)), values, left=left, label=part)
            left += values
        axes.set_yticks(range(len(rows)), [row["text"] for row in rows], fontsize=8)
        axes.invert_yaxis()
    return section
