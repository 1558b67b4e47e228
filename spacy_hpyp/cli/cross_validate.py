"""`hpyp cross-validate`: how good a pipeline is that a treebank is too small to be divided for."""

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from spacy.language import Language
from wasabi import msg

from ..annotation.intervals import LEVEL, bootstrap
from ..compat.cli import parse_config_overrides
from ..storage.files import prepare_folder, replace_file
from ..treebanks.conllu import Block, read_blocks
from .app import load_pipeline, note
from .convert import hold_out
from .options import argument, option
from .output import percent, print_table, save_json
from .parse import Source, parsed
from .trainings import Kept, files_of, made_of, train_pipeline
from .udeval import METRICS, official

# How many sentences are one document, where the treebank does not say what its documents are.
_SENTENCES = 10


def cross_validate(
    ctx: typer.Context,
    config_path: Annotated[Path, argument("Config of a pipeline", exists=True, dir_okay=False)],
    treebank: Annotated[Path, argument("Treebank in CoNLL-U, with trees", exists=True, dir_okay=False)],
    *,
    output: Annotated[Path, option("Folder for the figures", "--output -o", file_okay=False)],
    parser: Annotated[
        Path | None,
        option("Config of the generative parser that guides the pipeline, which is trained before it", exists=True),
    ] = None,
    folds: Annotated[int, option("How many parts are held out, one after the other", least=2)] = 5,
    keep: Annotated[bool, option("Keep the trained pipelines", "--keep")] = False,
    unless: Annotated[
        list[Path] | None, option("Do nothing if there is such a file, as a development part; may be repeated")
    ] = None,
) -> None:
    """Train a pipeline on all but a part of a treebank, parse the raw text of that part, and so on: official scores of the whole treebank.

    Each training is what 'spacy train' would do, with the same config and the same overrides (--training.max_steps 100). The last
    tenth of what is learned from tells which model is the best. A part is every n-th document; where the treebank has fewer documents than
    parts, ten sentences are one. Scores are F1 scores of all documents together, as those of 'hpyp udeval', and their intervals are
    of bootstrap samples of the documents. Figures are written after each part: the same command goes on after the last one.
    """
    if there := next((path for path in unless or [] if path.exists()), None):
        note(f"There is '{there}': nothing is to be cross-validated")
        return
    overrides = parse_config_overrides(ctx.args)
    blocks = list(read_blocks(treebank))
    # What is learned from has a sentence to be held out.
    folds = min(folds, len(blocks) // 2)
    if folds < 2:
        raise ValueError(f"'{treebank}' has {len(blocks)} sentences, which are too few to be divided.")
    documents = _documents(blocks, folds)
    for document in documents:
        official("".join(map(Block.lines, document)), str(treebank))
    prepare_folder(output)
    configs = [path.read_bytes() for path in (config_path, parser) if path is not None]
    kept = Kept(output / "folds.json", "fold", ("counts",))
    keys = [
        made_of(*configs, overrides, *files_of(overrides), treebank.read_bytes(), [fold, folds])
        for fold in range(folds)
    ]
    for fold, key in enumerate(keys):
        if kept.has(key):
            msg.info(f"Part {fold + 1} of {folds} has been parsed before")
            continue
        msg.divider(f"Part {fold + 1} of {folds}")
        folder = output / f"fold-{fold + 1}"
        folder.mkdir(exist_ok=True)
        learned = [block for i, document in enumerate(documents) if i % folds != fold for block in document]
        paths = folder / "train.conllu", folder / "dev.conllu"
        for path, part in zip(paths, hold_out(learned)):
            _write(path, part)
        train_pipeline(config_path, folder, *paths, overrides, parser=parser)
        nlp = load_pipeline(folder / "model-best")
        counts = [_counts(nlp, document, folder / "held-out.conllu") for document in documents[fold::folds]]
        kept.add({"fold": fold + 1, "counts": counts, "made_of": key})
        if not keep:
            shutil.rmtree(folder)
    ours = [counts for record in kept.records if record["made_of"] in keys for counts in record["counts"]]
    intervals = bootstrap({name: np.array([counts[name] for counts in ours]) for name in METRICS})
    rows = [(name, *map(percent, intervals[name])) for name in METRICS]
    print_table(("", "F1", "from", "to"), rows, f"Official scores of {treebank.name}, raw text, cross-validated")
    what = "documents" if sum(map(_begins, blocks)) == len(documents) else "runs of sentences, for want of documents,"
    note(f"{LEVEL:.0%} of the scores of bootstrap samples of {len(documents):,} {what} lie between 'from' and 'to'")
    save_json(output / "scores.json", {name: interval._asdict() for name, interval in intervals.items()}, "scores")


def _documents(blocks: Sequence[Block], folds: int) -> list[list[Block]]:
    """The documents of a treebank, or what stands for them if it has fewer than there are to be folds."""
    begins = [i for i, block in enumerate(blocks) if i == 0 or _begins(block)]
    if len(begins) < folds:
        begins = list(range(0, len(blocks), min(_SENTENCES, len(blocks) // folds)))
    return [list(blocks[i:j]) for i, j in zip(begins, [*begins[1:], len(blocks)])]


def _begins(block: Block) -> bool:
    return any(comment.split()[:1] == ["newdoc"] for comment in block.comments)


def _write(path: Path, blocks: Sequence[Block]) -> str:
    text = "".join(map(Block.lines, blocks))
    replace_file(path, text.encode())
    return text


def _counts(nlp: Language, document: Sequence[Block], path: Path) -> dict[str, tuple[int, int]]:
    """What the scores of a document are made of: of each, the ratio of two numbers that can be summed over documents.

    path (Path): Where the document is written, to be parsed.
    """
    score = official(_write(path, document), str(path))
    source = Source(path, path.stem, is_conllu=True)
    found: dict[str, Any] = score("".join(parsed(nlp, source, Counter(), keep="text", bare=True)))
    return {name: (2 * each.correct, each.gold_total + each.system_total) for name, each in found.items()}
