"""`hpyp rank`: the sentences in which a parser expects the most wrong arcs, to be corrected next."""

from collections.abc import Iterable, Iterator
from heapq import nlargest, nsmallest
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import minibatch

from ..components.hpyp_parser import HPYPParser
from ..components.rating import rate_labels
from ..treebanks.conllu import Block, read_blocks
from .app import prepare_output, prepared
from .conllu_format import write_block, write_sentence
from .options import Particles, PerLine, Pipeline, Threads, argument, option
from .output import json_line, writing
from .parse import parse_each
from .progress import Bar
from .raw_text import existing, is_conllu, locate_paragraphs, parse_documents, read_documents

# The paragraphs or documents that are parsed together.
_BATCH = 64
_DIGITS = 4
# Comments that are wrong where a sentence is ranked.
_OF_PLACE = ("rank", "newdoc", "newpar", "expected_wrong")
By = Literal["arcs", "tags", "both", "rate"]
Row = dict[str, Any]


def rank(
    model: Pipeline,
    texts: Annotated[
        list[Path], argument("Texts, '-' for stdin, .spacy or .conllu files", callback=existing)
    ],
    *,
    output: Annotated[Path | None, option("File to write, instead of stdout", "-o", dir_okay=False)] = None,
    top: Annotated[int | None, option("The number of sentences", "-n", least=1)] = None,
    by: Annotated[By, option("Expected wrong arcs, tags, both, or arcs a word")] = "arcs",
    most_confident: Annotated[bool, option("The sentences with the fewest first")] = False,
    form: Annotated[Literal["jsonl", "conllu"], option("The format of the output", "--format -f")] = "jsonl",
    per_line: PerLine = False,
    particles: Particles = None,
    threads: Threads = None,
) -> None:
    """Rank sentences by the number of wrong arcs that the parser expects: which to correct next.

    An arc is wrong if its head or its label is; without probabilities of labels, if its head is. Sentences of
    .spacy and .conllu files are kept; the pipeline finds those of texts. CoNLL-U keeps multiword tokens and
    comments. Only the sentences to write are kept in memory.
    """
    prepare_output(output, texts, f".{form}", ".txt")
    nlp, parsers = prepared(model, threads=threads, particles=particles)
    for parser in parsers:
        if isinstance(parser, HPYPParser):
            parser.decoding = "mbr"
    rows = chain.from_iterable(rank_sentences(nlp, path, per_line=per_line) for path in texts)
    with Bar(rows, unit=" sentences") as bar:
        ranked = select(bar, by, top, most_confident=most_confident)
    if not ranked:
        raise ValueError(f"There is no sentence in {', '.join(map(str, texts))}.")
    with writing(output, f"{len(ranked)} sentences") as file:
        for place, row in enumerate(ranked, 1):
            conllu = row.pop("conllu")
            file.write(
                f"# rank = {place}\n{conllu}" if form == "conllu" else json_line({"rank": place, **row})
            )


def rank_sentences(nlp: Language, path: Path, *, per_line: bool = False) -> Iterator[Row]:
    """Parse a file, and yield each sentence with its expected errors. The file is not held in memory.

    YIELDS (dict): "expected_wrong_arcs", "expected_wrong_tags" (None without probabilities of tags), "words",
        "file", "sentence" (its number), "text", "tokens", and "conllu", the sentence in CoNLL-U.
    RAISES (ValueError): If the parser gives no probabilities of arcs.
    """
    parsers = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, HPYPParser)]
    number = 0
    for batch in _parsed(nlp, path, per_line=per_line):
        if parsers:
            rate_labels(parsers[-1], [doc for doc, _ in batch])
        for doc, block in batch:
            for sentence in doc.sents:
                if any(not token.is_space for token in sentence):
                    number += 1
                    yield _row(sentence, block, path, number)


def _parsed(nlp: Language, path: Path, *, per_line: bool) -> Iterator[list[tuple[Doc, Block | None]]]:
    """Yield parsed documents, some at a time, with the sentences of CoNLL-U that they are."""
    if path.suffix == ".spacy":
        docs = parse_documents(read_documents(path, nlp.vocab), nlp)
        yield from minibatch(((doc, None) for doc in docs if len(doc)), _BATCH)
        return
    if is_conllu(path):
        texts: Iterable[str | Block] = read_blocks(path)
    else:
        texts = (text for _, text in locate_paragraphs(path, per_line=per_line))
    for some in minibatch(texts, _BATCH):
        blocks = [text if isinstance(text, Block) else None for text in some]
        with nlp.memory_zone():
            batch = list(zip(parse_each(nlp, some, whole=per_line), blocks))
            yield batch
            del batch


def _row(sentence: Span, block: Block | None, path: Path, number: int) -> Row:
    words = [token for token in sentence if not token.is_space]
    place = {token.i: i for i, token in enumerate(words)}
    tokens = [
        {
            "text": token.text,
            "tag": token.tag_,
            "pos": token.pos_,
            "morph": str(token.morph),
            "label": token.dep_,
            "head": None if token.head.i == token.i else place.get(token.head.i),
            **{name: _rounded(getattr(token._, name)) for name in ("head_prob", "label_prob", "tag_prob")},
            "space": bool(token.whitespace_),
        }
        for token in words
    ]
    arcs = [t._.head_prob if t._.label_prob is None else t._.label_prob for t in words]
    tags = [t._.tag_prob for t in words]
    if None in arcs:
        raise ValueError(f"'{path}': the last parser gives no probabilities of arcs, token._.head_prob.")
    wrong = {"expected_wrong_arcs": sum(1.0 - p for p in arcs)}
    wrong["expected_wrong_tags"] = None if None in tags else sum(1.0 - p for p in tags)
    comments = [f"{name} = {value:.{_DIGITS}f}" for name, value in wrong.items() if value is not None]
    name = f"{path.name}-{number}"
    if block is None:
        conllu = write_sentence(sentence, name, comments)
    else:
        kept = [comment for comment in block.comments if not comment.startswith(_OF_PLACE)]
        conllu = write_block(block, sentence.doc, name, [*kept, *comments])
    return {
        **{name: _rounded(value) for name, value in wrong.items()},
        "words": len(words),
        "file": str(path),
        "sentence": number,
        "text": sentence.text.strip(),
        "tokens": tokens,
        "conllu": conllu,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def select(rows: Iterable[Row], by: By, top: int | None, *, most_confident: bool = False) -> list[Row]:
    """Return the sentences with the most or fewest expected errors; of equal ones, the first come first.

    RAISES (ValueError): If they are to be ranked by tags without probabilities.
    """

    def key(row: Row) -> float:
        arcs, tags = row["expected_wrong_arcs"], row["expected_wrong_tags"]
        if by in ("tags", "both") and tags is None:
            raise ValueError("Ranking by tags needs their probabilities, token._.tag_prob.")
        return {"arcs": arcs, "rate": arcs / row["words"], "tags": tags, "both": arcs + (tags or 0.0)}[by]

    if top is None:
        return sorted(rows, key=key, reverse=not most_confident)
    return (nsmallest if most_confident else nlargest)(top, rows, key=key)
