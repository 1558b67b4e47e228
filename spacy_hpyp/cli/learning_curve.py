"""`hpyp learning-curve`: what a parser learns from parts of a treebank, and what more trees would give."""

import json
import random
import shutil
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, Literal

import spacy
import typer
from spacy.tokens import Doc
from wasabi import msg

from ..annotation.syntactic_words import multiword_tokens
from ..compat.cli import parse_config_overrides
from ..components.documents import read_documents, spacy_files
from ..storage.files import prepare_folder
from .app import load_pipeline, save_docs
from .evaluate import parse_examples, read_examples
from .options import Data, Elsewhere, TrainData, argument, option
from .output import percent, print_table
from .trainings import Kept, files_of, made_of, run_commands, train_pipeline

#: Which parts of a treebank are learned from.
PARTS = ("1/10", "1/3", "2/3", "1")
_SCORES = {"UAS": "dep_uas", "LAS": "dep_las", "TAG": "tag_acc"}
_POINTS = "learning-curve.json"


def learning_curve(
    ctx: typer.Context,
    config_path: Annotated[Path, argument("Config of a pipeline with a parser", exists=True, dir_okay=False)],
    train_path: TrainData,
    dev_path: Data,
    *,
    output: Annotated[Path, option("Folder for the figures", "--output -o", file_okay=False)],
    parts: Annotated[list[str], option("A part of the treebank, as 1/3; may be repeated", "--part -p")] = list(PARTS),  # noqa: B006
    unit: Annotated[Literal["documents", "sentences"], option("What the parts are made of", "--unit -u")] = "documents",
    seed: Annotated[int, option("Fixes which documents or sentences these are", "--seed -s", least=0)] = 0,
    model: Annotated[Literal["best", "last"], option("Evaluate the best or the last model of a training")] = "best",
    keep: Annotated[bool, option("Keep the trained pipelines and the parts", "--keep")] = False,
    elsewhere: Elsewhere = Elsewhere(),
) -> None:
    """Train on parts of a treebank, each of which is in the next one, and evaluate each pipeline on gold tokens and sentences.

    What 'spacy train' would do, with the same config and the same overrides (--training.max_steps 100). Figures are written after
    each training: the same command goes on after the last one that has ended. With --ray all parts are trained on at once, as far as there
    is room for them.
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
    alike = (
        config_path.read_bytes(),
        [overrides, model],
        *files_of(overrides),
        *(path.read_bytes() for path in spacy_files(dev_path)),
    )
    needed = "share", *_SCORES.values()
    points, lines = Kept(output / _POINTS, "part", needed), {}
    for share, own in zip(shares, chosen):
        # A file of documents has the time in it; what was chosen is known by the text.
        key = made_of(*alike, list(map(_content, own)))
        if points.has(key):
            msg.info(f"{share} of the treebank has been learned from before")
            continue
        name = f"part-{str(share).replace('/', '-of-')}"
        folder = output / name
        if elsewhere.ray is not None:
            own_settings = {"output": folder, "part": share, "unit": unit, "seed": seed, "model": model}
            given = [f"--{key}={value}" for key, value in own_settings.items()] + ["--keep"][: 1 if keep else 0]
            files = map(str, (config_path, train_path, dev_path))
            lines[name] = ["hpyp", "learning-curve", *files, *given, *ctx.args]
            continue
        size = {"documents": len(own), "sentences": _sentences(own), "words": sum(map(len, own))}
        msg.divider(f"{share} of the treebank: {size['sentences']} sentences")
        folder.mkdir(exist_ok=True)
        save_docs(folder / "train.spacy", own)
        train_pipeline(config_path, folder, folder / "train.spacy", dev_path, overrides)
        pipeline = folder / f"model-{model}"
        nlp = load_pipeline(pipeline)
        scores, _ = parse_examples(nlp, read_examples(nlp, dev_path), pipeline)
        figures = {name: scores.get(name) for name in _SCORES.values()}
        points.add({"part": str(share), "share": float(share), **size, **figures, "made_of": key})
        if not keep:
            shutil.rmtree(folder)
    for name in run_commands(lines, output, elsewhere, name="learning-curve"):
        for record in Kept(output / name / _POINTS, "part", needed).records:
            points.add(record)
        if not keep:
            shutil.rmtree(output / name)
    wanted = {str(share) for share in shares}
    shown = sorted((point for point in points.records if point["part"] in wanted), key=lambda point: point["share"])
    rows = [
        [point["part"], point["sentences"], point["words"], *(percent(point[key]) for key in _SCORES.values())]
        for point in shown
    ]
    print_table(("part", "sentences", "words", *_SCORES), rows, "Learning curve")
    msg.good(f"Saved the figures to {output / _POINTS}")


def read_parts(parts: Sequence[str]) -> list[Fraction]:
    """Parts of a treebank as numbers, the smallest first.

    parts (Sequence[str]): As "1/3" or "0.5".
    RAISES (ValueError): If one is none.
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

    docs (Sequence[Doc]): The treebank.
    shares (Sequence[Fraction]): How large the parts are, in sentences; a part ends with the document with which it is large enough.
    seed (int): Fixes which documents these are.
    """
    order = list(range(len(docs)))
    random.Random(seed).shuffle(order)
    sizes = list(accumulate(_sentences([docs[i]]) for i in order))
    taken = [1 + bisect_left(sizes, share * sizes[-1]) for share in shares]
    return [[docs[i] for i in sorted(order[:count])] for count in taken]


def _read_docs(path: Path, unit: str) -> list[Doc]:
    docs = list(read_documents(path, spacy.blank("xx").vocab))
    if not docs:
        raise ValueError(f"There is no document in '{path}'.")
    if unit == "sentences":
        docs = [sentence.as_doc(copy_user_data=True) for doc in docs for sentence in _spans(doc)]
    return docs


def _spans(doc: Doc) -> list[Any]:
    return list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]


def _sentences(docs: Sequence[Doc]) -> int:
    return sum(len(_spans(doc)) for doc in docs)


def _content(doc: Doc) -> str:
    """All of a document that a pipeline may learn from."""
    words = [analyses for _, analyses in multiword_tokens(doc)]
    return json.dumps([doc.to_json(), [token.is_sent_start for token in doc], words], sort_keys=True, default=str)
