"""`hpyp udeval`: the official scores of Universal Dependencies."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Annotated, Any

import numpy as np
from spacy.language import Language
from wasabi import msg

from ..treebanks.conllu import COLUMNS, EMPTY, Block, blocks_of, read_blocks, select, write_blocks
from .app import (
    FILE,
    AnyPipeline,
    Bar,
    Json,
    Threads,
    argument,
    load_pipeline,
    note,
    percent,
    print_table,
    require_extra,
    save_json,
)
from .parse import Given, Source, parsed

#: The F1 scores of the script.
METRICS = "Tokens Words Sentences UPOS XPOS UFeats Lemmas UAS LAS CLAS MLAS BLEX".split()
# Scores that compare one column of CoNLL-U.
_COLUMNS = {
    "UPOS": "upos",
    "XPOS": "xpos",
    "UFeats": "feats",
    "Lemmas": "lemma",
    "MLAS": "upos",
    "BLEX": "lemma",
}
#: The annotation that each row is given.
GIVEN: dict[Given, str] = {"text": "raw text", "sentences": "gold sentences", "words": "gold words"}
# A text before speed is measured.
_FIRST = "One sentence. Another one, of 9 words, stands behind it!"
#: The proportion of the resampled scores inside an interval, and the number of samples.
LEVEL, RESAMPLES = 0.95, 1000
#: Fewer sentences than these get a warning with an interval.
FEW = 50
#: The numerator and the denominator of each F1 score.
Counts = dict[str, tuple[int, int]]
#: A score and the interval that holds it.
Interval = tuple[float, float, float]


def udeval(
    model: AnyPipeline,
    treebank: Annotated[Path, argument("Treebank in CoNLL-U, with trees", **FILE)],
    *,
    output: Json = None,
    threads: Threads = None,
) -> dict[str, dict[str, float | None]]:
    """Evaluate a pipeline by the official script of Universal Dependencies, udtools.

    Three times: on raw text, on the text of each gold sentence, and on gold words. The figures are
    F1 scores in percent, with punctuation, and without subtypes of labels. Sentences without a
    complete tree are left out. A score of a column that is empty in the treebank is "-".
    """
    with complete_part(treebank) as path:
        score = official(path.read_text(encoding="utf8"), str(treebank))
        nlp = load_pipeline(model, threads=threads)
        nlp(_FIRST)
        return show_scores(of_pipeline(nlp, path), score, path, output)


@contextmanager
def complete_part(treebank: Path) -> Iterator[Path]:
    """Yield a temporary copy of a treebank without sentences that have no complete tree."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / treebank.name
        write_blocks(path, with_trees(list(read_blocks(treebank)), treebank))
        yield path


def with_trees(blocks: Sequence[Block], treebank: Path) -> list[Block]:
    """Return the sentences that have complete trees, and print how many others there are.

    RAISES (ValueError): If there is none.
    """
    found = select(blocks, lambda block: block.problem is None)
    if not found:
        raise ValueError(f"No sentence of '{treebank}' has a complete tree.")
    if len(found) < len(blocks):
        note(
            f"The scores leave out {len(blocks) - len(found):,} of {len(blocks):,} sentences, which have no "
            f"complete tree: '{treebank}'"
        )
    return found


def show_scores(
    system: Callable[[Given], str],
    score: Callable[[str], Counts],
    treebank: Path,
    output: Path | None,
) -> dict[str, dict[str, float | None]]:
    """Print and save the scores of a system, which writes CoNLL-U given some of the annotation."""
    scores: dict[str, dict[str, float | None]] = {}
    blocks = list(read_blocks(treebank))
    empty = empty_metrics(blocks)
    for given in GIVEN:
        start = process_time()
        text = system(given)
        seconds = process_time() - start
        scores[given] = {
            metric: None if metric in empty else right / total if total else 0.0
            for metric, (right, total) in score(text).items()
        }
        if given == "text":
            words = sum(line.split("\t")[0].isdigit() for line in text.splitlines())
            note(
                f"{words / seconds:,.0f} words of raw text in a second of processor time, of all threads"
            )
        elif given == "sentences" and len(blocks) < FEW:
            pairs = zip(blocks, blocks_of(text.splitlines(), "the parses"))
            warn_of_few(
                [official(gold.lines(), str(treebank))(own.lines())["LAS"] for gold, own in pairs],
                "LAS on gold sentences",
            )
    rows = [(GIVEN[given], *map(percent, found.values())) for given, found in scores.items()]
    print_table(("", *METRICS), rows, f"Official scores of {treebank.name}")
    save_json(output, scores, "scores")
    return scores


def empty_metrics(blocks: Sequence[Block]) -> set[str]:
    """Return the scores that compare a column without a value in the treebank."""
    rows = [row for block in blocks for row in block.rows if row[0].isdigit()]
    used = {name for i, name in enumerate(COLUMNS) if any(row[i] != EMPTY for row in rows)}
    return {metric for metric, column in _COLUMNS.items() if column not in used}


def official(gold: str, name: str) -> Callable[[str], Counts]:
    """Return a function that scores CoNLL-U beside a treebank, by `METRICS`.

    RAISES (ValueError): If the script cannot read the treebank.
    RAISES (ImportError): If it is not installed.
    """
    script = require_extra("ud", "udtools.udeval")

    def load(text: str, name: str) -> Any:
        try:
            return script.load_conllu(StringIO(text), name, {})
        except script.UDError as error:
            raise ValueError(f"The official script cannot read '{name}': {error}") from error

    def score(text: str) -> Counts:
        # Scoring changes the gold sentences.
        found = script.evaluate(load(gold, name), load(text, "the parses"))
        return {
            metric: (
                2 * found[metric].correct,
                found[metric].gold_total + found[metric].system_total,
            )
            for metric in METRICS
        }

    load(gold, name)
    return score


def bootstrap(counts: np.ndarray) -> Interval:
    """Return a score with its percentile interval (Efron & Tibshirani 1993, chapter 13).

    counts (int64[documents, 2]): The score of some documents is the ratio of the sums of the
    columns.
    """
    rng, documents = np.random.default_rng(0), len(counts)
    draws = (rng.integers(documents, size=documents) for _ in range(RESAMPLES))
    sums = np.array([np.bincount(draw, minlength=documents) @ counts for draw in draws])
    score = float(counts[:, 0].sum() / counts[:, 1].sum())
    # A sample may have nothing to count.
    scores = sums[sums[:, 1] > 0]
    ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    low, high = (
        np.quantile(scores[:, 0] / scores[:, 1], ends).tolist() if len(scores) else (score, score)
    )
    return score, min(score, low), max(score, high)


def warn_of_few(counts: Sequence[tuple[int, int]], score: str) -> None:
    """Print the interval of a score, given its counts by sentence, if there are fewer than
    `FEW`.
    """
    if len(counts) < FEW:
        _, low, high = bootstrap(np.array(counts))
        msg.warn(
            f"{len(counts)} sentences say little: {score} is between {percent(low)} and {percent(high)} in "
            f"{LEVEL:.0%} of bootstrap samples"
        )


def of_pipeline(nlp: Language, treebank: Path) -> Callable[[Given], str]:
    """Return a function that parses a treebank, given some of its annotation."""
    source = Source(treebank, treebank.stem, is_conllu=True)

    def parse(keep: Given) -> str:
        with Bar(
            parsed(nlp, source, keep=keep, bare=True), desc="Parsing", unit=" sentences"
        ) as sentences:
            return "".join(sentences)

    return parse
