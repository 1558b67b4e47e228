"""`hpyp cross-validate` and `hpyp learning-curve`: what pipelines are worth that have been trained on parts
of a treebank.
"""

import json
import random
import shutil
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc
from wasabi import msg

from ..annotation.intervals import LEVEL, bootstrap
from ..annotation.syntactic_words import multiword_tokens
from ..compat.cli import parse_config_overrides
from ..components.corpus import spans_of
from ..components.documents import read_treebank, spacy_files
from ..storage.files import prepare_folder, replace_file
from ..treebanks.conllu import Block, read_blocks
from .app import load_pipeline, note, save_docs
from .convert import hold_out_last
from .evaluate import parse_examples, read_examples
from .options import FILE, Data, TrainData, argument, option
from .output import SCORES, percent, print_table, save_json
from .trainings import Figures, files_of, made_of, train_pipeline
from .udeval import METRICS, of_pipeline, official

# How many sentences are one document, where the treebank does not say what its documents are.
_SENTENCES = 10


def cross_validate(
    ctx: typer.Context,
    config_path: Annotated[Path, argument("Config of a pipeline", **FILE)],
    treebank: Annotated[Path, argument("Treebank in CoNLL-U, with trees", **FILE)],
    *,
    output: Annotated[Path, option("Folder for the figures", "-o", file_okay=False)],
    parser: Annotated[
        Path | None, option("Config of the parser that guides it, trained first", exists=True)
    ] = None,
    folds: Annotated[int, option("How many parts are held out, one after the other", least=2)] = 5,
    keep: Annotated[bool, option("Keep the trained pipelines")] = False,
    unless: Annotated[list[Path] | None, option("Do nothing if there is this file; may be repeated")] = None,
) -> None:
    """Train a pipeline on all but a part of a treebank, parse the raw text of that part, and so on: official
    scores of the whole treebank.

    Each training is what 'spacy train' would do, with the same config and the same overrides
    (--training.max_steps 100). The last tenth of what is learned from tells which model is the best. A part
    is every n-th document; where the treebank has fewer documents than parts, ten sentences are one. Scores
    are F1 scores of all documents together, as those of 'hpyp udeval', and their intervals are of bootstrap
    samples of the documents. Figures are written after each part: the same command goes on after the last
    one.
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
    kept = Figures(output / "folds.json", "fold", ("counts",))
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
        for path, part in zip(paths, hold_out_last(learned)):
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
    print_table(
        ("", "F1", "from", "to"), rows, f"Official scores of {treebank.name}, raw text, cross-validated"
    )
    are_marked = sum(block.begins("newdoc") for block in blocks) == len(documents)
    what = "documents" if are_marked else "runs of sentences, for want of documents,"
    note(
        f"{LEVEL:.0%} of the scores of bootstrap samples of {len(documents):,} {what} lie between 'from' and "
        f"'to'"
    )
    save_json(
        output / "scores.json", {name: interval._asdict() for name, interval in intervals.items()}, "scores"
    )


def _documents(blocks: Sequence[Block], folds: int) -> list[list[Block]]:
    """The documents of a treebank, or what stands for them if it has fewer than there are to be folds."""
    begins = [i for i, block in enumerate(blocks) if i == 0 or block.begins("newdoc")]
    if len(begins) < folds:
        begins = list(range(0, len(blocks), min(_SENTENCES, len(blocks) // folds)))
    return [list(blocks[i:j]) for i, j in zip(begins, [*begins[1:], len(blocks)])]


def _write(path: Path, blocks: Sequence[Block]) -> str:
    text = "".join(map(Block.lines, blocks))
    replace_file(path, text.encode())
    return text


def _counts(nlp: Language, document: Sequence[Block], path: Path) -> dict[str, tuple[int, int]]:
    """What the scores of a document, which is written to a path, are made of: two numbers each that can be
    summed over documents.
    """
    score = official(_write(path, document), str(path))
    found = score(of_pipeline(nlp, path)("text"))
    return {name: (2 * each.correct, each.gold_total + each.system_total) for name, each in found.items()}


#: Which parts of a treebank are learned from.
PARTS = ("1/10", "1/3", "2/3", "1")
_POINTS = "learning-curve.json"


def learning_curve(
    ctx: typer.Context,
    config_path: Annotated[Path, argument("Config of a pipeline with a parser", **FILE)],
    train_path: TrainData,
    dev_path: Data,
    *,
    output: Annotated[Path, option("Folder for the figures", "-o", file_okay=False)],
    parts: Annotated[
        list[str], option("A part of the treebank, as 1/3; may be repeated", "--part -p")
    ] = list(PARTS),  # noqa: B006
    unit: Annotated[
        Literal["documents", "sentences"], option("What the parts are made of", "-u")
    ] = "documents",
    seed: Annotated[int, option("Fixes which documents or sentences these are", "-s", least=0)] = 0,
    model: Annotated[
        Literal["best", "last"], option("Evaluate the best or the last model of a training")
    ] = "best",
    keep: Annotated[bool, option("Keep the trained pipelines and the parts")] = False,
) -> None:
    """Train on parts of a treebank, each of which is in the next one, and evaluate each pipeline on gold
    tokens and sentences.

    What 'spacy train' would do, with the same config and the same overrides (--training.max_steps 100).
    Figures are written after each training: the same command goes on after the last one that has ended.
    """
    shares = read_parts(parts)
    overrides = parse_config_overrides([*ctx.args])
    docs = _read_docs(train_path, unit)
    read_examples(spacy.blank("xx"), dev_path)
    chosen = nested_parts(docs, shares, seed)
    if len(set(map(len, chosen))) < len(shares):
        raise ValueError(
            f"'{train_path}' has {len(docs)} {unit}, of which {len(shares)} parts cannot be made"
            f"{': try --unit sentences' if unit == 'documents' else ''}."
        )
    prepare_folder(output)
    dev = (path.read_bytes() for path in spacy_files(dev_path))
    alike = (config_path.read_bytes(), [overrides, model], *files_of(overrides), *dev)
    needed = "share", *SCORES.values()
    points = Figures(output / _POINTS, "part", needed)
    for share, own in zip(shares, chosen):
        # A file of documents has the time in it; what was chosen is known by the text.
        key = made_of(*alike, list(map(_content, own)))
        if points.has(key):
            msg.info(f"{share} of the treebank has been learned from before")
            continue
        name = f"part-{str(share).replace('/', '-of-')}"
        folder = output / name
        size = {"documents": len(own), "sentences": _sentences(own), "words": sum(map(len, own))}
        msg.divider(f"{share} of the treebank: {size['sentences']} sentences")
        folder.mkdir(exist_ok=True)
        save_docs(folder / "train.spacy", own)
        train_pipeline(config_path, folder, folder / "train.spacy", dev_path, overrides)
        pipeline = folder / f"model-{model}"
        nlp = load_pipeline(pipeline)
        scores, _ = parse_examples(nlp, read_examples(nlp, dev_path), pipeline)
        figures = {name: scores.get(name) for name in SCORES.values()}
        points.add({"part": str(share), "share": float(share), **size, **figures, "made_of": key})
        if not keep:
            shutil.rmtree(folder)
    wanted = {str(share) for share in shares}
    shown = sorted(
        (point for point in points.records if point["part"] in wanted), key=lambda point: point["share"]
    )
    rows = [
        [point["part"], point["sentences"], point["words"], *(percent(point[key]) for key in SCORES.values())]
        for point in shown
    ]
    print_table(("part", "sentences", "words", *SCORES), rows, "Learning curve")
    msg.good(f"Saved the figures to {output / _POINTS}")


def read_parts(parts: Sequence[str]) -> list[Fraction]:
    """Parts of a treebank as numbers, the smallest first, given as "1/3" or "0.5". RAISES (ValueError): If
    one is none.
    """
    found = set()
    for part in parts:
        try:
            share = Fraction(part)
        except (ValueError, ZeroDivisionError):
            share = Fraction(0)
        if not 0 < share <= 1:
            raise ValueError(f"A part of a treebank is above 0 and at most 1, as 1/3 or 0.5, not '{part}'.")
        found.add(share)
    return sorted(found)


def nested_parts(docs: Sequence[Doc], shares: Sequence[Fraction], seed: int) -> list[list[Doc]]:
    """Parts of a treebank, each of which is in the next one, in the treebank's order.

    shares (Sequence[Fraction]): How large the parts are, in sentences; a part ends with the document with
        which it is large enough.
    seed (int): Fixes which documents these are.
    """
    order = list(range(len(docs)))
    random.Random(seed).shuffle(order)
    sizes = list(accumulate(_sentences([docs[i]]) for i in order))
    taken = [1 + bisect_left(sizes, share * sizes[-1]) for share in shares]
    return [[docs[i] for i in sorted(order[:count])] for count in taken]


def _read_docs(path: Path, unit: str) -> list[Doc]:
    docs = list(read_treebank(path, spacy.blank("xx").vocab))
    if not docs:
        raise ValueError(f"There is no document in '{path}'.")
    if unit == "sentences":
        docs = [sentence.as_doc(copy_user_data=True) for doc in docs for sentence in spans_of(doc)]
    return docs


def _sentences(docs: Sequence[Doc]) -> int:
    return sum(len(spans_of(doc)) for doc in docs)


def _content(doc: Doc) -> str:
    words = [analyses for _, analyses in multiword_tokens(doc)]
    return json.dumps(
        [doc.to_json(), [token.is_sent_start for token in doc], words], sort_keys=True, default=str
    )
