"""The parts of a report, each made of what has been measured elsewhere."""

from collections.abc import Mapping, Sequence
from typing import Any

from spacy.tokens import Token

from ..annotation.calibration import COVERAGE, Calibration
from ..annotation.errors import Confusion, Errors
from ..annotation.intervals import LEVEL, Interval
from .figures import bar_figure, calibration_figure, interval_figure, line_figure
from .page import Cell, PageTable, Section
from .parameters import BUCKET_NAMES, Learned
from .training_log import Check

_SCORES = {"tag_acc": "TAG", "dep_uas": "UAS", "dep_las": "LAS", "complete_match": "MATCH"}
_LOG_PROB = "token_log_prob"
# How many labels or tags stand in a table of confusions, and how many confusions in the list below it.
_CONFUSED, _LISTED = 10, 20
# The longest text beside a bar, in characters.
_LONGEST = 18


def scores_section(intervals: Mapping[str, Interval], resamples: int) -> Section:
    """The scores with their intervals, which are from so many samples."""
    percent = {name: intervals[key] for key, name in _SCORES.items() if key in intervals}
    text = (
        f"On gold tokens and gold sentence boundaries, without punctuation but for tags; MATCH is the part "
        f"of the sentences whose "
        f"heads are all right. The intervals hold {LEVEL:.0%} of the scores of {resamples:,} bootstrap "
        f"samples of the sentences."
    )
    section = Section("scores", "Scores", [text])
    title = f"Scores in percent, with {LEVEL:.0%} intervals"
    values = [tuple(100 * value for value in each) for each in percent.values()]
    section.draw(interval_figure, title, [*percent], values, height=0.45 * len(percent) + 0.9)
    rows: list[list[object]] = [[name, *each] for name, each in percent.items()]
    if _LOG_PROB in intervals:
        rows.append(
            ["log-probability, nats a token", *(Cell(f"{value:.4f}") for value in intervals[_LOG_PROB])]
        )
    section.tabulate("Scores", ["score", "", "from", "to"], rows)
    return section


def training_section(
    checks: Sequence[Check] | None, performance: Mapping[str, Any], progress: Mapping[str, Mapping[str, int]]
) -> Section:
    """How the pipeline was trained.

    checks (Sequence[Check] | None): The evaluations of a training log, if there is one.
    performance (Mapping[str, Any]): What `meta.json` keeps of the best model.
    progress (Mapping[str, Mapping[str, int]]): By component, what it has counted.
    """
    section = Section("training", "Training")
    if checks is None:
        section.texts.append("A pipeline keeps no learning curves: give what 'spacy train' printed by --log.")
    else:
        for kind, title, label in (
            ("scores", "Scores on the development data in the course of training", "score"),
            ("losses", "Losses in the course of training", "loss"),
        ):
            lines: dict[str, tuple[list[float], list[float]]] = {}
            for check in checks:
                for name, value in getattr(check, kind).items():
                    steps, values = lines.setdefault(name, ([], []))
                    steps.append(check.step)
                    values.append(value)
            if lines:
                section.draw(line_figure, title, lines, x_label="step", y_label=label)
        section.texts.append(f"{len(checks)} evaluations, the last after {checks[-1].step:,} steps.")
    if progress:
        names = list(dict.fromkeys(name for counts in progress.values() for name in counts))
        rows = [
            [component, *(_count(counts.get(name)) for name in names)]
            for component, counts in progress.items()
        ]
        section.tabulate("What the components have gone over", ["component", *names], rows)
    kept = {
        name: value
        for name, value in performance.items()
        if isinstance(value, int | float) and name != "speed"
    }
    if kept:
        rows = [[name, Cell(f"{value:.4f}")] for name, value in sorted(kept.items())]
        section.tabulate("What training measured of this model (meta.json)", ["name", "value"], rows)
    else:
        section.texts.append(
            "The pipeline does not say what training measured: its meta.json has no performance."
        )
    return section


def discounts_section(found: Mapping[str, Sequence[Learned]]) -> Section:
    """Discounts and strengths by depth of the context, by component; none of those whose distributions are
    estimators of Eisner (1996).
    """
    section = Section("discounts", "Discounts and strengths", for_experts=True)
    if not found:
        section.texts.append(
            "The pipeline has no component with Pitman–Yor processes, so that there are none."
        )
        return section
    section.texts.append(
        "By how many elements of an expert's context are read: 0 is the distribution without any. The lines "
        "are the experts, with the "
        "numbers that they have in the tables. A high discount at some depth says that contexts of that "
        "depth say little about what comes "
        "next which shorter ones do not say."
    )
    for component, distributions in found.items():
        for learned in distributions:
            for what in ("discount", "strength"):
                lines = {
                    str(each[0].expert): (
                        [tier.depth for tier in each],
                        [getattr(tier, what) for tier in each],
                    )
                    for each in learned.experts
                }
                title = f"{component}, {learned.name}: {what} by depth of the context"
                axes = {"x_label": "elements of the context", "y_label": what, "log": what == "strength"}
                section.draw(line_figure, title, lines, **axes)
            rows = [
                [tier.expert, " ".join(tier.context) or "–", tier.depth]
                + [Cell(f"{value:.3f}") for value in (tier.discount, tier.strength)]
                + [_count(tier.restaurants), _count(tier.customers)]
                for each in learned.experts
                for tier in each
            ]
            columns = ["expert", "context", "depth", "discount", "strength", "restaurants", "customers"]
            section.tabulate(
                f"{component}, {learned.name}: discounts and strengths", columns, rows, folded=True
            )
    return section


def weights_section(found: Mapping[str, Sequence[Learned]]) -> Section:
    """The weights of experts, by component."""
    section = Section("weights", "Weights of experts", for_experts=True)
    all_learned = [(component, learned) for component, own in found.items() for learned in own]
    shown = [(component, learned) for component, learned in all_learned if learned.experts[0][-1].weights]
    if not shown:
        section.texts.append(
            "No distribution of the pipeline has several experts, so that there are no weights."
        )
        return section
    section.texts.append(
        "Where the whole context of an expert has been seen, by how often. The weights of experts that are "
        "multiplied are exponents; those "
        "of experts that are mixed are logarithms of shares, up to a constant. What tags add to them (the "
        "gates) is left out."
    )
    for component, learned in shown:
        whole = [each[-1] for each in learned.experts]
        lines = {str(tier.expert): (range(len(tier.weights)), tier.weights) for tier in whole}
        title = f"{component}, {learned.name}: weights"
        how = f"{title} of experts that are {'mixed' if learned.mixed else 'multiplied'}"
        axes = {"x_label": "events seen in the context", "y_label": "weight", "x_names": BUCKET_NAMES}
        section.draw(line_figure, how, lines, **axes)
        rows = [
            [tier.expert, " ".join(tier.context) or "–", *(Cell(f"{weight:.3f}") for weight in tier.weights)]
            for tier in whole
        ]
        section.tabulate(title, ["expert", "context", *BUCKET_NAMES], rows, folded=True)
    return section


def calibration_section(heads: Calibration, tags: Calibration) -> Section:
    """Whether the probabilities of heads and tags are what they say, and how many are wrong of the surest."""
    section = Section("calibration", "Calibration, risk and coverage")
    shown = {name: found for name, found in (("heads", heads), ("tags", tags)) if found.tokens.any()}
    for name in {"heads", "tags"} - shown.keys():
        section.texts.append(f"No component of the pipeline says how probable its {name} are.")
    section.texts.sort()
    if not shown:
        return section
    reliability = {}
    for name, found in shown.items():
        filled = found.tokens > 0
        reliability[name] = found.confidence[filled].tolist(), found.accuracy[filled].tolist()
    section.texts.append(
        "What is calibrated lies on the dotted line: of what it is sure of by 80 %, 80 % are right. To keep "
        "to the surest choices only "
        "is to move to the left in the second figure. AUROC is how probable it is that a right choice is "
        "surer than a wrong one."
    )
    title = "Calibration: how many are right, by how sure they are"
    section.draw(calibration_figure, title, reliability)
    risks = {name: ((100 * COVERAGE).tolist(), (100 * found.risk).tolist()) for name, found in shown.items()}
    title = "Risk and coverage: how many are wrong of the surest"
    section.draw(line_figure, title, risks, x_label="the surest, percent", y_label="wrong, percent")
    figures = ("tokens", "confidence", "accuracy", "expected_calibration_error", "auroc")
    rows = [[name, *map(found.to_dict().get, figures)] for name, found in shown.items()]
    columns = ["", "tokens", "confidence", "right", "calibration error", "AUROC"]
    section.tabulate("Calibration, in percent", columns, rows)
    return section


def error_tables(found: Errors) -> list[PageTable]:
    """The tables of errors that there are: by length, of known and unknown words, and folded those by label
    and by tag, which may be long.
    """
    by_length = ["length", "gold", "predicted", "precision", "recall", "las"]
    of_sentences = ["sentences", "tokens", "uas", "las", "tag_acc", "complete_match"]
    by_name = ["name", "gold", "predicted", "precision", "recall", "f"]
    tables = [
        ("By length of the arc", found.arc_lengths, by_length),
        ("By length of the sentence", found.sentence_lengths, ["length", *of_sentences]),
        ("By whether the word is known", found.words, ["words", *of_sentences[1:-1]]),
        ("By label", found.labels, [*by_name, "uas"]),
        ("By tag", found.tags if any(row["predicted"] for row in found.tags) else [], by_name),
    ]
    read = [
        (title, columns, [[row[name] for name in columns] for row in rows]) for title, rows, columns in tables
    ]
    return [
        PageTable(title, [name.replace("_", " ") for name in columns], cells, folded=columns[0] == "name")
        for title, columns, cells in read
        if cells
    ]


def errors_section(found: Errors) -> Section:
    """Scores by label, by length, and of known and unknown words."""
    section = Section("errors", "Where the errors are", ["In percent; arcs of punctuation are left out."])
    section.tables += error_tables(found)
    if not found.words:
        section.texts.append("Which words are known, no component of the pipeline says.")
    return section


def confusions_section(found: Errors) -> Section:
    """Which labels and which tags are confused."""
    section = Section("confusions", "Confusions of labels and tags")
    tagged = any(row["predicted"] for row in found.tags)
    for name, scores, confusions in (
        ("label", found.labels, found.label_confusions),
        ("tag", found.tags if tagged else [], found.tag_confusions),
    ):
        if not scores:
            section.texts.append(f"There is no {name} to compare.")
        elif not confusions:
            section.texts.append(f"No {name} is confused with another one.")
        else:
            _tabulate_confusions(section, name, scores, confusions)
    if section.tables:
        section.texts.insert(
            0,
            "The labels and tags with the most errors: a row has the tokens of a gold one by what they were "
            "given, the darker the larger "
            "the part of the row.",
        )
    return section


def _tabulate_confusions(
    section: Section, name: str, scores: Sequence[dict[str, Any]], confusions: Sequence[Confusion]
) -> None:
    errors: dict[str, int] = {}
    for each in confusions:
        for kind in (each.gold, each.predicted):
            errors[kind] = errors.get(kind, 0) + each.count
    most = sorted(errors, key=lambda kind: (-errors[kind], kind))[:_CONFUSED]
    gold = {row["name"]: row["gold"] for row in scores}
    shown = [kind for kind in gold if kind in most] + [kind for kind in most if kind not in gold]
    counts = {(each.gold, each.predicted): each.count for each in confusions}
    rows = []
    for kind in shown:
        total = gold.get(kind, 0)
        wrong = sum(count for (own, _), count in counts.items() if own == kind)
        row = [total - wrong if other == kind else counts.get((kind, other), 0) for other in shown]
        row.append(total - sum(row))
        if total:
            rows.append([Cell(kind or "–"), *(Cell(str(count or ""), count / total) for count in row)])
    listed = [
        [
            f"{each.gold or '–'} → {each.predicted or '–'}",
            each.count,
            ", ".join(dict.fromkeys(_short(error.words[error.word]) for error in each.examples)),
        ]
        for each in confusions[:_LISTED]
    ]
    columns = ["gold", *(kind or "–" for kind in shown), "others"]
    section.tabulate(f"Confusion of {name}s: gold in rows, predicted in columns", columns, rows)
    section.tabulate(
        f"The most frequent confusions of {name}s", ["gold → predicted", "tokens", "as in"], listed
    )


def trees_section(trees: Sequence[dict[str, Any]], asked: int) -> Section:
    """The sentences with the most wrong arcs, see `worst_trees`; so many were asked for at most."""
    section = Section("sentences", "Sentences with the most wrong arcs", trees=[*trees])
    section.texts.append(
        "Arcs that the other tree does not have are dashed. Punctuation is not counted."
        if trees
        else ("No sentence has a wrong arc." if asked else "None was asked for.")
    )
    return section


def surprisal_section(tokens: Sequence[Token], source: str) -> Section:
    """The surprisal along a text: tokens with their surprisals, perhaps none, and where they are from."""
    section = Section("surprisal", "Surprisal along a text")
    if not tokens:
        section.texts.append(
            "No component of the pipeline has surprisals of words: that needs an hpyp_parser."
        )
        return section
    section.texts.append(
        f"In bits, of the first {len(tokens)} tokens of {source}. The syntactic part leads to the tag of a "
        f"word, the lexical part is "
        "the word given its tag. A line ends a sentence."
    )
    words = [_short(token.text) for token in tokens]
    parts = {
        name: [getattr(token._, f"surprisal_{name}") for token in tokens] for name in ("syntactic", "lexical")
    }
    axes = {
        "x_label": "surprisal, bits",
        "ends": [i for i, token in enumerate(tokens[:-1]) if token.is_sent_end],
    }
    section.draw(bar_figure, "Surprisal of each token", words, parts, **axes, height=0.21 * len(tokens) + 0.9)
    rows: list[list[object]] = []
    for token, syntactic, lexical in zip(tokens, *parts.values()):
        bits = (Cell(f"{value:.2f}") for value in (lexical + syntactic, lexical, syntactic))
        rows.append([Cell(token.text, is_text=True), token.tag_ or "–", *bits])
    columns = ["token", "tag", "surprisal", "lexical", "syntactic"]
    section.tabulate("Surprisal of each token, in bits", columns, rows, folded=True)
    return section


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _count(value: int | None) -> Cell:
    return Cell("–" if value is None else f"{value:,}")
