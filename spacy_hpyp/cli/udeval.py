"""`hpyp udeval`: the official scores of Universal Dependencies."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path
from time import process_time
from typing import Annotated

import numpy as np
from spacy.language import Language
from wasabi import msg

from ..treebanks.conllu import COLUMNS, EMPTY, Block, blocks_of, read_blocks, select
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
from .parse import Given, parse_blocks

#: The F1 scores of the script.
METRICS = "Tokens Words Sentences UPOS XPOS UFeats Lemmas UAS LAS CLAS MLAS BLEX".split()
# The column of CoNLL-U that a score needs.
_NEEDED = dict(UPOS="upos", XPOS="xpos", UFeats="feats", Lemmas="lemma", MLAS="upos", BLEX="lemma")
_GIVEN: dict[Given, str] = {
    "text": "raw text",
    "sentences": "gold sentences",
    "words": "gold words",
}
#: The proportion of the resampled scores inside an interval, and the number of samples.
LEVEL, RESAMPLES = 0.95, 1000
# Fewer sentences than this get a warning with the interval.
_FEW = 50
#: The numerator and the denominator of each F1 score.
Counts = dict[str, tuple[int, int]]


def udeval(
    model: AnyPipeline,
    treebank: Annotated[Path, argument("Treebank in CoNLL-U, with trees", **FILE)],
    *,
    output: Json = None,
    threads: Threads = None,
) -> None:
    """Evaluate a pipeline with udtools, the official script of Universal Dependencies.

    The inputs are raw text, the text of each gold sentence, and gold words. Figures are F1 scores
    in percent, with punctuation and without label subtypes. Sentences without a complete tree are
    left out. The score of an empty treebank column is "-".
    """
    gold = complete_sentences(treebank)
    nlp = load_pipeline(model, threads=threads)
    print_scores(partial(parse_gold, nlp), gold, treebank.name, output)


def complete_sentences(treebank: Path) -> list[Block]:
    """Return the sentences with complete trees, and print how many others there are.

    RAISES (ValueError | ImportError): If there is none, or udtools cannot read them or is missing.
    """
    blocks = list(read_blocks(treebank))
    found = select(blocks, lambda block: block.problem is None)
    if not found:
        raise ValueError(f"No sentence of '{treebank}' has a complete tree.")
    if len(found) < len(blocks):
        note(
            f"The scores leave out {len(blocks) - len(found):,} of {len(blocks):,} sentences, "
            f"which have no complete tree: '{treebank}'"
        )
    official_counts(found, text_of(found))
    return found


def text_of(blocks: Sequence[Block]) -> str:
    """Return sentences as CoNLL-U."""
    return "".join(map(Block.lines, blocks))


def parse_gold(nlp: Language, blocks: Sequence[Block], keep: Given) -> str:
    """Parse the text, sentences or words (`keep`) of gold sentences, and return CoNLL-U."""
    bare = (
        replace(block, rows=[[*row[:2], *[EMPTY] * 7, row[9]] for row in block.rows])
        for block in blocks
    )
    return "".join(Bar(parse_blocks(nlp, bare, "gold", keep), desc="Parsing", unit=" sentences"))


def print_scores(
    parse: Callable[[Sequence[Block], Given], str],
    gold: Sequence[Block],
    name: str,
    output: Path | None,
) -> None:
    """Print, and save if there is a file, the scores of a function such as `parse_gold`."""
    empty = empty_metrics(gold)
    scores: dict[str, dict[str, float | None]] = {}
    for given in _GIVEN:
        start = process_time()
        text = parse(gold, given)
        seconds = process_time() - start
        scores[given] = {
            metric: None if metric in empty else right / max(1, total)
            for metric, (right, total) in official_counts(gold, text).items()
        }
        if given == "text":
            words = sum(line.split("\t")[0].isdigit() for line in text.splitlines())
            note(f"{words / seconds:,.0f} words of raw text per second of processor time")
        elif given == "sentences" and len(gold) < _FEW:
            pairs = zip(gold, blocks_of(text.splitlines(), "the parses"))
            counts = [official_counts([one], own.lines())["LAS"] for one, own in pairs]
            warn_of_few(counts, "LAS on gold sentences")
    rows = [(_GIVEN[given], *map(percent, found.values())) for given, found in scores.items()]
    print_table(("", *METRICS), rows, f"Official scores of {name}")
    save_json(output, scores, "scores")


def official_counts(gold: Sequence[Block], system: str) -> Counts:
    """Count by the official script. RAISES (ValueError): If it cannot read the CoNLL-U."""
    script = require_extra("ud", "udtools.udeval")
    try:
        words = [script.load_conllu(StringIO(text), "", {}) for text in (text_of(gold), system)]
    except script.UDError as error:
        raise ValueError(f"The official script cannot read the treebank: {error}") from error
    found = script.evaluate(*words)
    return {
        name: (2 * found[name].correct, found[name].gold_total + found[name].system_total)
        for name in METRICS
    }


def empty_metrics(blocks: Sequence[Block]) -> set[str]:
    """Return the scores that compare a column without a value in the treebank."""
    rows = [row for block in blocks for row in block.rows if row[0].isdigit()]
    used = {name for i, name in enumerate(COLUMNS) if any(row[i] != EMPTY for row in rows)}
    return {metric for metric, column in _NEEDED.items() if column not in used}


def bootstrap(counts: Sequence[tuple[int, int]]) -> tuple[float, float, float]:
    """Return a score with a percentile interval around it (Efron & Tibshirani 1993, chapter 13).

    counts (Sequence[tuple[int, int]]): A numerator and a denominator for each document; the score
        is the ratio of their sums.
    """
    rng, rows = np.random.default_rng(0), np.array(counts)
    sums = np.array([rng.choice(rows, len(rows)).sum(axis=0) for _ in range(RESAMPLES)])
    score = float(rows[:, 0].sum() / rows[:, 1].sum())
    # A sample may have nothing to count.
    scores = [right / total for right, total in sums if total] or [score]
    low, high = np.quantile(scores, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return score, min(score, low), max(score, high)


def warn_of_few(counts: Sequence[tuple[int, int]], name: str) -> None:
    """Print the interval of a score, given its counts by sentence, if there are few."""
    if len(counts) < _FEW:
        _, low, high = bootstrap(counts)
        msg.warn(
            f"{len(counts)} sentences are few: {name} is between {percent(low)} and "
            f"{percent(high)} in {LEVEL:.0%} of bootstrap samples"
        )
