"""`hpyp rank`: the sentences in which a parser expects the most errors, to be corrected next."""

import re
from collections.abc import Iterable, Iterator
from heapq import nlargest
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..annotation.extensions import probabilities_of
from ..annotation.guides import read_guide
from ..annotation.syntactic_words import to_word_doc
from ..treebanks.conllu import Block, read_blocks
from .app import (
    AnyPipeline,
    Bar,
    Particles,
    PerLine,
    Threads,
    argument,
    json_line,
    load_pipeline,
    option,
    parsers_of,
    writing,
)
from .conllu_format import write_block, write_doc
from .parse import parse_each
from .raw_text import existing, is_conllu, locate_paragraphs

# The paragraphs or sentences that are parsed together.
_BATCH = 64
# Comments that are wrong where a sentence is ranked.
_OF_PLACE = ("rank", "newdoc", "newpar", "expected_wrong")
_TEXT = re.compile(r"^# text = (.*)$", re.MULTILINE)
Row = dict[str, Any]
By = Literal["arcs", "rate", "tags"]


def rank(
    model: AnyPipeline,
    texts: Annotated[
        list[Path], argument("Texts, '-' for stdin, or .conllu files", callback=existing)
    ],
    *,
    output: Annotated[
        Path | None, option("File to write, instead of stdout", "--output -o", dir_okay=False)
    ] = None,
    top: Annotated[int | None, option("The number of sentences", "--top -n", least=1)] = None,
    by: Annotated[
        By, option("Expected wrong arcs, or these a word, or expected wrong tags")
    ] = "arcs",
    most_confident: Annotated[bool, option("The sentences with the fewest first")] = False,
    form: Annotated[
        Literal["list", "jsonl", "conllu"], option("The format of the output", "--format -f")
    ] = "list",
    per_line: PerLine = False,
    particles: Particles = None,
    threads: Threads = None,
) -> None:
    """Rank sentences by the number of errors that the parser expects: which to correct next.

    An arc is wrong if its head is. CoNLL-U keeps its sentences, multiword tokens and comments. Each
    line of a text is a paragraph, in which the pipeline finds sentences. Only the sentences to
    write are kept in memory.
    """
    nlp = load_pipeline(model, threads=threads, particles=particles)
    for parser in parsers_of(nlp):
        parser.decoding = "mbr"
    rows = chain.from_iterable(
        rank_sentences(nlp, path, by=by, per_line=per_line) for path in texts
    )
    name, sign = _name(by), -1 if most_confident else 1

    def key(row: Row) -> float:
        return sign * row[name] / (row["words"] if by == "rate" else 1)

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
                of = f"{row[name]:.2f} wrong {name.split('_')[-1]} of {row['words']} words expected"
                file.write(
                    f"{place}. {of} ({row['file']}, sentence {row['sentence']})\n   {row['text']}\n"
                )


def _name(by: By) -> str:
    return "expected_wrong_tags" if by == "tags" else "expected_wrong_arcs"


def rank_sentences(
    nlp: Language, path: Path, *, by: By = "arcs", per_line: bool = False
) -> Iterator[Row]:
    """Parse a file, and yield each sentence with its expected errors. The file is not held in
    memory.

    YIELDS (dict): "expected_wrong_arcs" or "expected_wrong_tags", "words", "file", "sentence" (its
        number), "text", and "conllu", the sentence in CoNLL-U.
    RAISES (ValueError): If the pipeline gives no probabilities.
    """
    number = 0
    if is_conllu(path):
        texts: Iterable[str | Block] = read_blocks(path)
    else:
        texts = (text for _, text in locate_paragraphs(path, per_line=True))
    for some in minibatch(texts, _BATCH):
        with nlp.memory_zone():
            docs = list(parse_each(nlp, some, whole=per_line))
            for text, doc in zip(some, docs):
                for row in _rows(doc, text if isinstance(text, Block) else None, path, number, by):
                    number += 1
                    yield row
            del docs, doc


def _rows(doc: Doc, block: Block | None, path: Path, number: int, by: By) -> list[Row]:
    words, rows = to_word_doc(doc), []
    wrong = 1.0 - (
        _tag_probabilities(words) if by == "tags" else _probabilities("head_prob", words)
    )
    if block is None:
        conllu = write_doc(doc, path.name, number)
    else:
        kept = [own for own in block.comments if not own.startswith(_OF_PLACE)]
        conllu = [write_block(block, doc, f"{path.name}-{number + 1}", kept)]
    for sentence in words.sents:
        places = [token.i for token in sentence if not token.is_space]
        if not places:
            continue
        expected = round(float(wrong[places].sum()), 4)
        if np.isnan(expected):
            kind = "token._.tag_prob and guides" if by == "tags" else "token._.head_prob"
            raise ValueError(f"'{path}': the pipeline gives no probabilities: there is no {kind}.")
        row = {
            _name(by): expected,
            "words": len(places),
            "file": str(path),
            "sentence": number + len(rows) + 1,
        }
        written = f"# {_name(by)} = {expected:.4f}\n{conllu[len(rows)]}"
        rows.append({**row, "text": _TEXT.search(written)[1], "conllu": written})
    return rows


def _probabilities(name: str, doc: Doc) -> np.ndarray:
    """Return probabilities of tokens, NaN where there are none (float64[tokens])."""
    return np.array(probabilities_of(name, doc), dtype=np.float64)


def _tag_probabilities(words: Doc) -> np.ndarray:
    """Return the probabilities of tags: those of a guide, if the tagger gives none."""
    own, guide = _probabilities("tag_prob", words), read_guide(words)
    if guide is None:
        return own
    names = np.array([*guide.tag_names, ""])
    same = names[guide.tags] == np.array([token.tag_ for token in words])[:, None]
    return np.where(np.isnan(own), np.where(same, guide.tag_probs, 0.0).sum(axis=1), own)
