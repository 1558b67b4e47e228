"""`hpyp cross-validate`: official scores of a whole treebank, and learning curves."""

import random
import shutil
import sys
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import redirect_stdout
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

import srsly
import typer
from spacy.cli.train import train
from spacy.util import load_config
from wasabi import msg

from ..spacy_internals import parse_config_overrides
from ..storage import prepare_folder, replace_file
from ..treebanks.conllu import Block, documents_of, write_blocks
from .app import FILE, argument, load_pipeline, note, option, percent, print_table, save_json
from .convert import hold_out
from .guides import guides
from .udeval import (
    LEVEL,
    METRICS,
    Counts,
    bootstrap,
    complete_sentences,
    empty_metrics,
    official_counts,
    parse_gold,
)

#: The parts of the training data in a learning curve.
SHARES = {"1/10": 1 / 10, "1/3": 1 / 3, "2/3": 2 / 3, "1": 1.0}
# Prefixes of the settings that a guided pipeline shares with its generative parser.
_COMMON = ("nlp.", "system.", "paths.classes")


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
    documents = documents_of(blocks, folds)
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
                    write_blocks(path, part)
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
