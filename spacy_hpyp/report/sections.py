"""The sections of a report."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from spacy.tokens import Token
from spacy.training import Example

from ..annotation.calibration import COVERAGE, PUNCTUATION, Calibration
from ..annotation.errors import Errors
from ..compiled import NONE
from .page import Section, Table, plot_bars, plot_lines
from .trees import draw_tree

_SCORES = {
    "tag_acc": "TAG",
    "dep_uas": "UAS",
    "dep_las": "LAS",
    "complete_match": "MATCH",
    "token_log_prob": "log-probability, nats a token",
}
# The confusions of each kind.
_LISTED = 20


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
    for title, own in found.confusions.items():
        shown = [(each.gold, each.predicted, each.count, *each.examples[:1]) for each in own[:_LISTED]]
        section.tables.append(Table(title, ("gold", "predicted", "tokens", "as in"), shown))
    return section


def trees_section(examples: Sequence[Example], count: int) -> Section:
    """Draw the sentences with the most wrong arcs, punctuation left out.

    examples (Sequence[Example]): Parsed sentences, and their references with the same tokens.
    """
    rated = []
    for number, example in enumerate(examples):
        gold = [token for token in example.reference if token.dep and token.dep_.lower() not in PUNCTUATION]
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
            tree = draw_tree(doc[:], lambda token, other=other: " ✗" * _is_wrong(token, other[token.i]))
            section.trees.append((f"{title}, {name}", tree))
    return section


def _is_wrong(token: Token, other: Token) -> bool:
    # UD has "root" where spaCy has "ROOT".
    return token.head.i != other.head.i or (token.head.i != token.i and token.dep_ != other.dep_)


def calibration_section(heads: Calibration, tags: Calibration) -> Section:
    """Show whether the probabilities of heads and tags are right, and the risk of the surest."""
    section = Section(
        "Calibration, risk and coverage", "No component gives the probabilities of heads or tags."
    )
    shown = {name: found for name, found in (("heads", heads), ("tags", tags)) if found.tokens.any()}
    if not shown:
        return section
    section.text = (
        "Calibrated probabilities lie on the dotted line. AUROC is the probability that a right choice is surer "
        "than a wrong one."
    )
    reliability = {name: (f.confidence[f.tokens > 0], f.accuracy[f.tokens > 0]) for name, f in shown.items()}
    risks = {name: (100 * COVERAGE, 100 * found.risk) for name, found in shown.items()}
    plot = partial(plot_lines, x_label="confidence", y_label="accuracy", diagonal=True)
    section.draw("Accuracy by confidence", partial(plot, lines=reliability))
    plot = partial(plot_lines, lines=risks, x_label="the surest, percent", y_label="wrong, percent")
    section.draw("Risk and coverage", plot)
    figures = ("tokens", "confidence", "accuracy", "expected_calibration_error", "auroc")
    rows = [(name, *map(found.to_dict().get, figures)) for name, found in shown.items()]
    section.tables.append(Table("Calibration", ("", *(name.replace("_", " ") for name in figures)), rows))
    return section


def surprisal_section(tokens: Sequence[Token], source: str) -> Section:
    """Show the surprisals of tokens."""
    section = Section("Surprisal along a text", "Only an hpyp_parser gives surprisals.")
    if not tokens:
        return section
    section.text = (
        f"The first {len(tokens)} tokens of {source}, in bits. The syntactic part leads to the tag of a word, the "
        "lexical part to the word given its tag."
    )
    parts = {
        name: [getattr(token._, f"surprisal_{name}") for token in tokens] for name in ("syntactic", "lexical")
    }
    plot = partial(plot_bars, names=[token.text for token in tokens], parts=parts, x_label="bits")
    section.draw("Surprisal", plot, height=0.21 * len(tokens) + 0.9)
    rows = [(token.text, token.tag_, token._.surprisal, *own) for token, *own in zip(tokens, *parts.values())]
    section.tables.append(Table("Surprisal in bits", ("token", "tag", "surprisal", *parts), rows))
    return section


def training_section(log: Sequence[Mapping[str, Any]], performance: Mapping[str, Any]) -> Section:
    """Show learning curves.

    log (Sequence[Mapping]): The lines that `spacy.ConsoleLogger.v3` writes to its output_file.
    performance (Mapping[str, Any]): The scores in `meta.json`.
    """
    section = Section("Training", "Learning curves need --log, the output_file of spacy.ConsoleLogger.v3.")
    if log:
        section.text = f"{len(log)} evaluations, the last after {log[-1]['step']:,} steps."
    for kind in ("scores", "losses") if log else ():
        lines: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
        for line in log:
            for name, value in line[kind].items():
                if name != "speed":
                    lines[name][0].append(line["step"])
                    lines[name][1].append(value)
        section.draw(kind.capitalize(), partial(plot_lines, lines=lines, x_label="step", y_label=kind))
    rows = sorted((name, value) for name, value in performance.items() if isinstance(value, int | float))
    if rows:
        section.tables.append(Table("Scores of this model in training (meta.json)", ("name", "value"), rows))
    return section


def experts_section(models: Mapping[str, Any]) -> Section:
    """Show the discounts, strengths and weights of experts.

    models (Mapping[str, Any]): Models with `conditionals`, `franchises` and `weights`, by component.
    """
    section = Section("Discounts, strengths and weights", "The pipeline has no Pitman-Yor processes.")
    for component, model in models.items():
        for name, conditional in model.conditionals.items():
            if not conditional.experts:
                continue
            section.text = (
                "By expert and by the length of its context. A high discount says that contexts of a length add "
                "little to shorter ones. The weights of an expert rise with the events in its context."
            )
            franchise, buckets = model.franchises[name], model.weights[name].bucket
            depth = franchise.columns.shape[1]
            lines: dict[str, dict[str, tuple[Sequence[float], Sequence[float]]]] = {
                "discount": {},
                "strength": {},
            }
            rows = []
            for number, context in enumerate(conditional.experts):
                lengths = range(1 + int(np.sum(franchise.columns[number] != NONE)))
                tiers = [number * (depth + 1) + length for length in lengths]
                for what, own in lines.items():
                    own[str(number + 1)] = lengths, getattr(franchise, what)[tiers]
                for length, tier in zip(lengths, tiers):
                    weights = "" if conditional.is_plain else " ".join(f"{w:.2f}" for w in buckets[tier])
                    values = float(franchise.discount[tier]), float(franchise.strength[tier])
                    rows.append((number + 1, " ".join(context) or "–", length, *values, weights))
            for what, own in lines.items():
                plot = partial(plot_lines, lines=own, x_label="length of the context", y_label=what)
                section.draw(f"{component}, {name}: {what}", partial(plot, log=what == "strength"))
            columns = ("expert", "context", "length", "discount", "strength", "weights")
            section.tables.append(Table(f"{component}, {name}", columns, rows))
    return section
