"""`hpyp report`: one HTML page about a trained pipeline and its parses of a treebank."""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from spacy import displacy
from spacy.tokens import Span, Token
from spacy.training import Example
from wasabi import msg

from ..annotation.sentences import PUNCTUATION
from ..storage import replace_file
from .analysis import calibrations, find_errors
from .app import load_pipeline, parsers_of, require_extra
from .evaluate import ROWS, parse_examples, read_examples
from .options import NEW_FILE, AnyPipeline, Data, Threads, argument, option

_SCORES = {**ROWS, "log-probability, nats a token": "token_log_prob"}
# The number of confusions of each kind to show.
_LISTED = 20
_FIGURE = {"svg.fonttype": "none", "svg.hashsalt": "report"}
_FIGURE |= {"text.parse_math": False, "axes.grid": True}


def report(
    model: AnyPipeline,
    data_path: Data,
    output: Annotated[Path, argument("HTML file to write", **NEW_FILE)],
    *,
    sentences: Annotated[
        int, option("Number of worst sentences to show", "--sentences -n", min=0)
    ] = 5,
    threads: Threads = None,
) -> None:
    """Write a report about a pipeline as one self-contained HTML file.

    The report has scores, errors, calibration, and the sentences with the most wrong arcs. Tokens
    and sentence boundaries are gold, as in 'hpyp evaluate'.
    """
    matplotlib = require_extra("report", "matplotlib")
    nlp = load_pipeline(model, threads=threads)
    gold = read_examples(nlp, data_path, heads=True)
    for parser in parsers_of(nlp):
        parser.decoding = "mbr"
    scores, parsed = parse_examples(nlp, gold)
    tables, confusions = find_errors(parsed)
    calibration = {name: table for name, table in calibrations(parsed).items() if table["bins"]}
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["cell"] = _cell
    with matplotlib.rc_context(_FIGURE):
        figure = _draw_calibration(calibration) if calibration else None
    html = environment.get_template("report.html").render(
        title=f"{nlp.lang}_{nlp.meta['name']} {nlp.meta['version']}",
        facts={
            "Pipeline": model,
            "Components": ", ".join(nlp.pipe_names),
            "Data": data_path,
            "Sentences": len(parsed),
        },
        scores=[
            {"": name, "score": scores[key]}
            for name, key in _SCORES.items()
            if scores.get(key) is not None
        ],
        errors=tables | {title: rows[:_LISTED] for title, rows in confusions.items()},
        trees=_worst_trees(parsed, sentences),
        calibration=[
            {"": name, **{key: value for key, value in table.items() if key != "bins"}}
            for name, table in calibration.items()
        ],
        figure=figure,
    )
    replace_file(output, html.encode())
    msg.good(f"Saved the report to {output}")


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _worst_trees(examples: Sequence[Example], count: int) -> list[tuple[str, Markup]]:
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
    return trees


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


def _draw_calibration(tables: Mapping[str, dict[str, Any]]) -> str:
    """Draw the accuracies of bins of probabilities, and return the URL of the figure."""
    from matplotlib.figure import Figure

    figure, file = Figure(figsize=(5.0, 3.0), layout="constrained"), BytesIO()
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="gray", linestyle=":")
    for name, table in tables.items():
        points = [[row[key] for row in table["bins"]] for key in ("confidence", "accuracy")]
        axes.plot(*points, marker="o", markersize=3, label=name)
    axes.set(xlabel="confidence", ylabel="accuracy")
    axes.legend(fontsize=8)
    figure.savefig(file, format="svg", metadata={"Date": None})
    return f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}"
