"""`hpyp learning-curve`: what a parser learns from parts of a treebank, and what more trees would give."""

import json
import random
import shutil
import sys
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import redirect_stdout
from fractions import Fraction
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, Literal

import spacy
import srsly
import typer
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin
from wasabi import msg

from ..annotation.syntactic_words import multiword_tokens
from ..compat.cli import parse_config_overrides
from ..components.documents import read_documents, spacy_files
from ..storage.files import prepare_folder, replace_file
from .app import load_pipeline
from .evaluate import parse_examples, read_examples
from .options import Data, TrainData, argument, option
from .output import percent, print_table

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
) -> None:
    """Train on parts of a treebank, each of which is in the next one, and evaluate each pipeline on gold tokens and sentences.

    What 'spacy train' would do, with the same config and the same overrides (--training.max_steps 100). Figures are written after
    each training: the same command goes on after the last one that has ended.
    """
    shares = read_parts(parts)
    overrides = parse_config_overrides(ctx.args)
    docs = _read_docs(train_path, unit)
    read_examples(spacy.blank("xx"), dev_path)
    chosen = nested_parts(docs, shares, seed)
    if len(set(map(len, chosen))) < len(shares):
        raise ValueError(
            f"'{train_path}' has {len(docs)} {unit}, of which {len(shares)} parts cannot be made"
            f"{': try --unit sentences' if unit == 'documents' else ''}."
        )
    prepare_folder(output)
    made_alike = sha256()
    for part in (config_path.read_bytes(), json.dumps([overrides, model], sort_keys=True, default=str).encode()):
        made_alike.update(part)
    for path in spacy_files(dev_path):
        made_alike.update(path.read_bytes())
    points = _finished(output)
    for share, own in zip(shares, chosen):
        corpus = DocBin(docs=own, store_user_data=True).to_bytes()
        key = made_alike.copy()
        # What is compressed has the time in it; what was chosen is known by the text.
        key.update("\n".join(_content(doc) for doc in own).encode())
        if any(point["made_of"] == key.hexdigest() for point in points):
            msg.info(f"{share} of the treebank has been learned from before")
            continue
        size = {"documents": len(own), "sentences": _sentences(own), "words": sum(map(len, own))}
        msg.divider(f"{share} of the treebank: {size['sentences']} sentences")
        folder = output / f"part-{str(share).replace('/', '-of-')}"
        scores = _train(config_path, folder, corpus, dev_path, overrides, model)
        point = {
            "part": str(share),
            "share": float(share),
            **size,
            **{name: scores.get(name) for name in _SCORES.values()},
            "made_of": key.hexdigest(),
        }
        points = [*(other for other in points if other["part"] != point["part"]), point]
        replace_file(output / _POINTS, srsly.json_dumps(points, indent=2).encode())
        if not keep:
            shutil.rmtree(folder)
    wanted = {str(share) for share in shares}
    shown = sorted((point for point in points if point["part"] in wanted), key=lambda point: point["share"])
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


def _finished(output: Path) -> list[dict[str, Any]]:
    """The points that stand in a folder."""
    path = output / _POINTS
    if not path.exists():
        return []
    try:
        points = json.loads(path.read_text(encoding="utf8"))
        return [point for point in points if {"made_of", "part", "share", *_SCORES.values()} <= point.keys()]
    except (ValueError, AttributeError, TypeError) as error:
        raise ValueError(f"'{path}' is no learning curve ({error}). Remove it, or choose another folder.") from error


def _train(
    config_path: Path, folder: Path, corpus: bytes, dev_path: Path, overrides: dict[str, Any], model: str
) -> dict[str, Any]:
    """Train a pipeline as 'spacy train' does, and evaluate it."""
    folder.mkdir(exist_ok=True)
    replace_file(folder / "train.spacy", corpus)
    paths = {"paths.train": str(folder / "train.spacy"), "paths.dev": str(dev_path)}
    # What spaCy says of a training belongs to its progress.
    with redirect_stdout(sys.stderr):
        train(config_path, folder, overrides={**paths, **overrides})
    pipeline = folder / f"model-{model}"
    nlp = load_pipeline(pipeline)
    scores, _ = parse_examples(nlp, read_examples(nlp, dev_path), pipeline)
    return scores
