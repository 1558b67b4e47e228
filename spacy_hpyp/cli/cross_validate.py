"""`hpyp cross-validate`: official scores of a whole treebank, and learning curves."""

import random
import shutil
from bisect import bisect_left
from collections.abc import Sequence
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Annotated

import numpy as np
import srsly
import typer
from spacy.cli._util import parse_config_overrides
from spacy.language import Language
from wasabi import msg

from ..storage import prepare_folder, replace_file
from ..treebanks.conllu import Block, documents_of, read_blocks, select, write_blocks
from .app import FILE, argument, load_pipeline, note, option, percent, print_table, save_json
from .convert import hold_out
from .trainings import train_pipeline
from .udeval import (
    LEVEL,
    METRICS,
    Counts,
    bootstrap,
    empty_metrics,
    of_pipeline,
    official,
    with_trees,
)

#: The parts of the training data that a learning curve has.
SHARES = {"1/10": 1 / 10, "1/3": 1 / 3, "2/3": 2 / 3, "1": 1.0}
Documents = list[list[Block]]


def cross_validate(
    ctx: typer.Context,
    config_path: Annotated[Path, argument("Config of a pipeline", **FILE)],
    treebank: Annotated[Path, argument("Treebank in CoNLL-U, with trees", **FILE)],
    *,
    output: Annotated[Path, option("Folder for the figures", "--output -o", file_okay=False)],
    parser: Annotated[
        Path | None, option("Config of the parser that guides the pipeline", exists=True)
    ] = None,
    folds: Annotated[int, option("Number of parts, each held out once", least=2)] = 5,
    curve: Annotated[bool, option("Train on a tenth, a third and two thirds, too")] = False,
) -> None:
    """Train a pipeline on all but one part of a treebank, parse the raw text of that part, and so
    on.

    Each training is that of 'spacy train' with the same config and overrides (--training.max_epochs
    3); a tenth of its data chooses the best model. A part is every n-th document, or every n-th run
    of ten sentences. Prints the F1 scores of 'hpyp udeval' over all documents, with bootstrap
    intervals; sentences without a complete tree are left out. The same command goes on after the
    last part that was parsed.
    """
    overrides = parse_config_overrides(ctx.args)
    blocks = list(read_blocks(treebank))
    # The training data need a sentence to hold out.
    folds = min(folds, len(blocks) // 2)
    if folds < 2:
        raise ValueError(f"'{treebank}' has too few sentences to be divided: {len(blocks)}.")
    documents, scored = documents_of(blocks, folds), with_trees(blocks, treebank)
    official("".join(map(Block.lines, scored)), str(treebank))
    prepare_folder(output)
    made = [path.read_bytes() for path in (config_path, parser, treebank) if path is not None]
    run = sha256(repr((made, folds, sorted(overrides.items()))).encode()).hexdigest()
    record = output / "folds.json"
    kept = srsly.read_json(record) if record.exists() else {}
    shares, counts = list(SHARES) if curve else ["1"], {}
    for share in shares:
        counts[share] = []
        for fold in range(folds):
            key = f"{run} {share} {fold}"
            if key not in kept:
                msg.divider(f"Part {fold + 1} of {folds}" + f", {share} of the others" * curve)
                learned = [document for i, document in enumerate(documents) if i % folds != fold]
                folder = output / f"fold-{fold + 1}"
                folder.mkdir(exist_ok=True)
                paths = folder / "train.conllu", folder / "dev.conllu"
                for path, part in zip(paths, hold_out(_share(learned, SHARES[share]))):
                    write_blocks(path, part)
                train_pipeline(config_path, folder, *paths, overrides, parser=parser)
                nlp = load_pipeline(folder / "model-best")
                held_out = [
                    select(own, lambda block: block.problem is None)
                    for own in documents[fold::folds]
                ]
                kept[key] = [
                    _counts(nlp, own, folder / "held-out.conllu") for own in held_out if own
                ]
                replace_file(record, srsly.json_dumps(kept).encode())
                shutil.rmtree(folder)
            counts[share] += kept[key]
    empty = empty_metrics(scored)
    found = {
        share: {
            name: (None,) * 3
            if name in empty
            else bootstrap(np.array([each[name] for each in own]))
            for name in METRICS
        }
        for share, own in counts.items()
    }
    title = f"Official scores of {treebank.name}, raw text, cross-validated"
    rows = [(name, *map(percent, found["1"][name])) for name in METRICS]
    print_table(("", "F1", "from", "to"), rows, title)
    note(
        f"{LEVEL:.0%} of the scores of bootstrap samples of {len(counts['1']):,} documents are in 'from' - 'to'"
    )
    if curve:
        points = [
            (share, *(percent(own[name][0]) for name in METRICS)) for share, own in found.items()
        ]
        print_table(("part", *METRICS), points, "Learning curve")
        figures = {share: {name: own[name][0] for name in METRICS} for share, own in found.items()}
        save_json(output / "curve.json", figures, "the learning curve")
    save_json(
        output / "scores.json",
        {name: dict(zip(("score", "low", "high"), own)) for name, own in found["1"].items()},
        "scores",
    )


def _share(documents: Documents, share: float) -> list[Block]:
    """Return the sentences of a random part of some documents; a larger part has those of a smaller
    one.
    """
    order = list(range(len(documents)))
    random.Random(0).shuffle(order)
    sizes = list(accumulate(len(documents[i]) for i in order))
    # Two sentences at least: one is held out.
    count = 1 + bisect_left(sizes, max(2, round(share * sizes[-1])))
    return [block for i in sorted(order[:count]) for block in documents[i]]


def _counts(nlp: Language, document: Sequence[Block], path: Path) -> Counts:
    """Return the counts of a document's scores."""
    write_blocks(path, document)
    score = official(path.read_text(encoding="utf8"), str(path))
    return score(of_pipeline(nlp, path)("text"))
