"""`hpyp rank`: the sentences in which a parser expects the most errors, to be corrected next."""

from collections.abc import Iterator
from dataclasses import replace
from heapq import nlargest
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from spacy.language import Language
from spacy.tokens import Token

from ..annotation.extensions import probabilities_of
from ..annotation.guides import read_guide
from ..treebanks.conllu import Block, blocks_of, read_blocks
from .app import Bar, json_line, load_pipeline, parsers_of, writing
from .options import AnyPipeline, PerLine, Threads, argument, option
from .parse import parse_texts
from .raw_text import existing, is_conllu, locate_paragraphs

# Comments that are wrong in a ranking.
_OUTDATED = ("rank", "newdoc", "newpar", "expected_wrong")
Row = dict[str, Any]
By = Literal["arcs", "rate", "tags"]


def rank(
    model: AnyPipeline,
    texts: Annotated[
        list[Path], argument("Texts, '-' for stdin, or .conllu files", callback=existing)
    ],
    *,
    output: Annotated[
        Path | None, option("File to write (default: stdout)", "--output -o", dir_okay=False)
    ] = None,
    top: Annotated[int | None, option("Number of sentences to write", "--top -n", min=1)] = None,
    by: Annotated[
        By, option("Rank by expected wrong arcs, wrong arcs per word, or wrong tags")
    ] = "arcs",
    most_confident: Annotated[
        bool, option("Write the sentences with the fewest expected errors first")
    ] = False,
    form: Annotated[
        Literal["list", "jsonl", "conllu"], option("Format of the output", "--format -f")
    ] = "list",
    per_line: PerLine = False,
    threads: Threads = None,
) -> None:
    """Rank sentences by expected errors, for correction.

    An arc is wrong if its head is wrong. CoNLL-U inputs keep words, sentences, multiword tokens and
    comments. Each line of a text is a paragraph; the pipeline finds its sentences. With --top, only
    the sentences to write stay in memory.
    """
    nlp = load_pipeline(model, threads=threads)
    for parser in parsers_of(nlp):
        parser.decoding = "mbr"
    kind = "tags" if by == "tags" else "arcs"
    rows = chain.from_iterable(_rank_file(nlp, path, kind, per_line=per_line) for path in texts)

    def key(row: Row) -> float:
        wrong = row[f"expected_wrong_{kind}"] / (row["words"] if by == "rate" else 1)
        return -wrong if most_confident else wrong

    with Bar(rows, unit=" sentences") as bar:
        ranked = sorted(bar, key=key, reverse=True) if top is None else nlargest(top, bar, key=key)
    if not ranked:
        raise ValueError(f"There is no sentence in {', '.join(map(str, texts))}.")
    with writing(output, f"{len(ranked)} sentences") as file:
        for place, row in enumerate(ranked, 1):
            if form == "jsonl":
                file.write(json_line({"rank": place, **row}))
            elif form == "conllu":
                file.write(f"# rank = {place}\n{row['conllu']}")
            else:
                wrong = f"{row[f'expected_wrong_{kind}']:.2f} wrong {kind} of {row['words']} words"
                source = f"{row['file']}, sentence {row['sentence']}"
                file.write(f"{place}. {wrong} expected ({source})\n   {row['text']}\n")


def _rank_file(nlp: Language, path: Path, kind: str, *, per_line: bool) -> Iterator[Row]:
    """Parse a file, and yield each sentence with its expected errors."""
    if is_conllu(path):
        texts: Iterator[tuple] = ((_without_outdated(block), ()) for block in read_blocks(path))
    else:
        texts = ((text, ()) for _, text in locate_paragraphs(path, per_line=True))
    attribute = "tag_prob" if kind == "tags" else "head_prob"
    known = (parser.joint.vocabulary.tag_classes for parser in parsers_of(nlp))
    usual = {tag: name for classes in known if classes for tag, name in classes.usual.items()}
    parsed = parse_texts(nlp, texts, path.name, whole=per_line)
    for number, (words, conllu) in enumerate(parsed, 1):
        if not words:
            continue
        expected = round(float((1.0 - _probabilities(words, attribute, usual)).sum()), 4)
        if np.isnan(expected):
            raise ValueError(
                f"'{path}': the pipeline does not set token._.{attribute}. "
                "Use one with an hpyp_parser."
            )
        yield {
            f"expected_wrong_{kind}": expected,
            "words": len(words),
            "file": str(path),
            "sentence": number,
            "text": next(blocks_of(conllu.splitlines(), "")).text().strip(),
            "conllu": f"# expected_wrong_{kind} = {expected:.4f}\n{conllu}",
        }


def _without_outdated(block: Block) -> Block:
    comments = [comment for comment in block.comments if not comment.startswith(_OUTDATED)]
    return replace(block, comments=comments)


def _probabilities(words: list[Token], attribute: str, usual: dict[str, str]) -> np.ndarray:
    """Return probabilities of words; those of tags may be a guide's, about the `usual` classes of
    tags. NaN where there are none.
    """
    p = np.array(probabilities_of(attribute, words), dtype=np.float64)
    guide = read_guide(words[0].doc)
    if attribute == "head_prob" or guide is None:
        return p
    names, places = np.array([*guide.tag_names, ""]), [word.i for word in words]
    tags = np.array([usual.get(word.tag_, word.tag_) for word in words])
    same = names[guide.tags[places]] == tags[:, None]
    return np.where(np.isnan(p), np.where(same, guide.tag_probs[places], 0.0).sum(axis=1), p)
