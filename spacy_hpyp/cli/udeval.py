"""`hpyp udeval` and `hpyp cross-validate`: the official scores of Universal Dependencies."""

import random
import shutil
import sys
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from hashlib import sha256
from io import StringIO
from itertools import accumulate
from pathlib import Path
from time import process_time
from typing import Annotated, Any

import numpy as np
import srsly
import typer
from spacy.cli.train import train
from spacy.language import Language
from spacy.util import load_config
from wasabi import msg

from ..spacy_internals import parse_config_overrides
from ..storage import prepare_folder, replace_file
from ..treebanks import conllu
from ..treebanks.conllu import EMPTY, Block
from .app import Bar, load_pipeline, note, percent, print_table, require_extra, save_json
from .convert import hold_out
from .options import FILE, AnyPipeline, Json, Threads, argument, option
from .parse import Given, parse_blocks
from .prepare import guides

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
#: The parts of the training data in a learning curve.
SHARES = {"1/10": 1 / 10, "1/3": 1 / 3, "2/3": 2 / 3, "1": 1.0}
# Prefixes of the settings that a guided pipeline shares with its generative parser.
_COMMON = ("nlp.", "system.", "paths.classes")


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
    blocks = list(conllu.read_blocks(treebank))
    found = conllu.select(blocks, lambda block: block.problem is None)
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
            pairs = zip(gold, conllu.blocks_of(text.splitlines(), "the parses"))
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
    used = {name for i, name in enumerate(conllu.COLUMNS) if any(row[i] != EMPTY for row in rows)}
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


def cross_validate(
    ctx: typer.Context,
    config_path: Annotated[Path, argument("Config of a pipeline", **FILE)],
    treebank: Annotated[Path, argument("Treebank in CoNLL-U, with trees", **FILE)],
    *,
    output: Annotated[Path, option("Folder for the figures", "--output -o", file_okay=False)],
    parser: Annotated[Path | None, option("Config of the guiding parser", exists=True)] = None,
    folds: Annotated[int, option("Number of parts, each held out once", min=2)] = 5,
    curve: Annotated[bool, option("Also train on a tenth, a third and two thirds")] = False,
) -> None:
    """Cross-validate a config on the raw text of a treebank.

    Each part is parsed after training on the others, as by 'spacy train' with the same config and
    overrides (--training.max_epochs 3). A tenth of the training data chooses the best model. A part
    is every n-th document, or every n-th run of up to ten sentences. The command prints F1 scores,
    as 'hpyp udeval', over all documents, with bootstrap intervals. It leaves out sentences without
    a complete tree. Settings of components with 'source' go to the training of --parser. Repeat an
    interrupted command to continue with the next part.
    """
    overrides = parse_config_overrides(ctx.args)
    blocks = complete_sentences(treebank)
    # Training holds out a sentence.
    folds = min(folds, len(blocks) // 2)
    if folds < 2:
        raise ValueError(
            f"'{treebank}' has too few complete trees to cross-validate: {len(blocks)}. "
            "Use at least four."
        )
    documents = conllu.documents_of(blocks, folds)
    prepare_folder(output)
    inputs = [path.read_bytes() for path in (config_path, parser, treebank) if path is not None]
    run = sha256(repr((inputs, folds, sorted(overrides.items()))).encode()).hexdigest()
    record = output / "folds.json"
    done = srsly.read_json(record) if record.exists() else {}
    counts: dict[str, list[Counts]] = {}
    for share in SHARES if curve else ["1"]:
        counts[share] = []
        for fold in range(folds):
            key = f"{run} {share} {fold}"
            if key not in done:
                msg.divider(f"Part {fold + 1} of {folds}" + f", {share} of the others" * curve)
                learned = [document for i, document in enumerate(documents) if i % folds != fold]
                folder = output / f"fold-{fold + 1}"
                folder.mkdir(exist_ok=True)
                paths = {part: folder / f"{part}.conllu" for part in ("train", "dev")}
                for path, part in zip(paths.values(), hold_out(_share(learned, SHARES[share]))):
                    conllu.write_blocks(path, part)
                _train(config_path, folder, paths, overrides, parser)
                nlp = load_pipeline(folder / "model-best")
                done[key] = [
                    official_counts(own, parse_gold(nlp, own, "text"))
                    for own in documents[fold::folds]
                ]
                replace_file(record, srsly.json_dumps(done).encode())
                shutil.rmtree(folder)
            counts[share] += done[key]
    empty = empty_metrics(blocks)
    figures = {
        share: {
            name: (None,) * 3 if name in empty else bootstrap([each[name] for each in own])
            for name in METRICS
        }
        for share, own in counts.items()
    }
    rows = [(name, *map(percent, figures["1"][name])) for name in METRICS]
    title = f"Official scores of {treebank.name}, raw text, cross-validated"
    print_table(("", "F1", "from", "to"), rows, title)
    note(
        f"'from' - 'to' has {LEVEL:.0%} of the scores of bootstrap samples of "
        f"{len(counts['1']):,} documents"
    )
    if curve:
        points = {
            share: {name: values[0] for name, values in own.items()}
            for share, own in figures.items()
        }
        rows = [(share, *map(percent, own.values())) for share, own in points.items()]
        print_table(("part", *METRICS), rows, "Learning curve")
        save_json(output / "curve.json", points, "the learning curve")
    named = ("score", "low", "high")
    scores = {name: dict(zip(named, values)) for name, values in figures["1"].items()}
    save_json(output / "scores.json", scores, "scores")


def _share(documents: Sequence[Sequence[Block]], share: float) -> list[Block]:
    """Return the sentences of a random part of some documents; a larger part has those of a smaller
    one.
    """
    order = list(range(len(documents)))
    random.Random(0).shuffle(order)
    sizes = list(accumulate(len(documents[i]) for i in order))
    # At least two sentences: one is held out.
    count = 1 + bisect_left(sizes, max(2, round(share * sizes[-1])))
    return [block for i in sorted(order[:count]) for block in documents[i]]


def _train(
    config: Path,
    folder: Path,
    paths: dict[str, Path],
    overrides: dict[str, Any],
    parser: Path | None,
) -> None:
    """Train a pipeline as 'spacy train' does, after the generative parser that guides it, if there
    is one.
    """
    own = {f"paths.{part}": str(path) for part, path in paths.items()}
    if given := own.keys() & overrides.keys():
        raise ValueError(f"The command sets the data of each part: remove --{min(given)}.")
    # spaCy's output is part of the progress.
    with redirect_stdout(sys.stderr):
        if parser is not None:
            # The pipeline takes its parser from the trained one, with the parser's settings.
            components = load_config(config).get("components", {})
            sourced = tuple(
                f"components.{name}." for name, one in components.items() if "source" in one
            )
            names = (*_COMMON, *sourced)
            common = {name: value for name, value in overrides.items() if name.startswith(names)}
            overrides = {
                name: overrides[name] for name in overrides if not name.startswith(sourced)
            }
            settings = {**common, **own, "components.hpyp_parser.guides": True}
            train(parser, folder / "parser", overrides=settings)
            # In a tiny treebank, the best model may have learned from the first batch alone.
            trained, guided = folder / "parser" / "model-last", folder / "train-guided.spacy"
            guides(str(trained), paths["train"], guided)
            own |= {"paths.train": str(guided), "paths.parser": str(trained)}
        train(config, folder, overrides={**overrides, **own})
