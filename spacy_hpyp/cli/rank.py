"""`hpyp rank`: the sentences in which a parser expects the most wrong arcs, to be corrected next."""

from collections.abc import Iterable, Iterator
from heapq import nlargest
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from spacy.language import Language
from spacy.tokens import Span
from spacy.util import minibatch

from ..annotation.extensions import probabilities_of
from ..components.hpyp_parser import HPYPParser
from ..treebanks.conllu import Block, read_blocks
from .app import prepare_output, prepared
from .conllu_format import write_block, write_sentence
from .options import Particles, PerLine, Pipeline, Threads, argument, option
from .output import json_line, writing
from .parse import parse_each
from .progress import Bar
from .raw_text import existing, is_conllu, locate_paragraphs

# The paragraphs or sentences that are parsed together.
_BATCH = 64
# Comments that are wrong where a sentence is ranked.
_OF_PLACE = ("rank", "newdoc", "newpar", "expected_wrong")
Row = dict[str, Any]


def rank(
    model: Pipeline,
    texts: Annotated[list[Path], argument("Texts, '-' for stdin, or .conllu files", callback=existing)],
    *,
    output: Annotated[
        Path | None, option("File to write, instead of stdout", "--output -o", dir_okay=False)
    ] = None,
    top: Annotated[int | None, option("The number of sentences", "--top -n", least=1)] = None,
    by: Annotated[Literal["arcs", "rate"], option("Expected wrong arcs, or these a word")] = "arcs",
    most_confident: Annotated[bool, option("The sentences with the fewest first")] = False,
    form: Annotated[Literal["jsonl", "conllu"], option("The format of the output", "--format -f")] = "jsonl",
    per_line: PerLine = False,
    particles: Particles = None,
    threads: Threads = None,
) -> None:
    """Rank sentences by the number of wrong arcs that the parser expects: which to correct next.

    An arc is wrong if its head is. CoNLL-U keeps its sentences, multiword tokens and comments; the pipeline
    finds the sentences of texts. Only the sentences to write are kept in memory.
    """
    prepare_output(output, texts, f".{form}", ".txt")
    nlp, parsers = prepared(model, threads=threads, particles=particles)
    for parser in parsers:
        if isinstance(parser, HPYPParser):
            parser.decoding = "mbr"
    rows = chain.from_iterable(rank_sentences(nlp, path, per_line=per_line) for path in texts)
    sign = -1 if most_confident else 1

    def key(row: Row) -> float:
        return sign * row["expected_wrong_arcs"] / (row["words"] if by == "rate" else 1)

    with Bar(rows, unit=" sentences") as bar:
        ranked = sorted(bar, key=key, reverse=True) if top is None else nlargest(top, bar, key=key)
    if not ranked:
        raise ValueError(f"There is no sentence in {', '.join(map(str, texts))}.")
    with writing(output, f"{len(ranked)} sentences") as file:
        for place, row in enumerate(ranked, 1):
            line = json_line({"rank": place, **row})
            file.write(f"# rank = {place}\n{row['conllu']}" if form == "conllu" else line)


def rank_sentences(nlp: Language, path: Path, *, per_line: bool = False) -> Iterator[Row]:
    """Parse a file, and yield each sentence with its expected errors. The file is not held in memory.

    YIELDS (dict): "expected_wrong_arcs", "words", "file", "sentence" (its number), "text", and "conllu", the
        sentence in CoNLL-U.
    RAISES (ValueError): If the parser gives no probabilities of arcs.
    """
    number = 0
    if is_conllu(path):
        texts: Iterable[str | Block] = read_blocks(path)
    else:
        texts = (text for _, text in locate_paragraphs(path, per_line=per_line))
    for some in minibatch(texts, _BATCH):
        with nlp.memory_zone():
            docs = list(parse_each(nlp, some, whole=per_line))
            for text, doc in zip(some, docs):
                for sentence in doc.sents:
                    if any(not token.is_space for token in sentence):
                        number += 1
                        yield _row(sentence, text if isinstance(text, Block) else None, path, number)
            del docs, doc, sentence


def _row(sentence: Span, block: Block | None, path: Path, number: int) -> Row:
    words = [token for token in sentence if not token.is_space]
    arcs = probabilities_of("head_prob", words)
    if None in arcs:
        raise ValueError(f"'{path}': the last parser gives no probabilities of arcs, token._.head_prob.")
    wrong = round(sum(1.0 - p for p in arcs), 4)
    name, comment = f"{path.name}-{number}", f"expected_wrong_arcs = {wrong:.4f}"
    if block is None:
        conllu = write_sentence(sentence, name, [comment])
    else:
        kept = [own for own in block.comments if not own.startswith(_OF_PLACE)]
        conllu = write_block(block, sentence.doc, name, [*kept, comment])
    row = {"expected_wrong_arcs": wrong, "words": len(words), "file": str(path), "sentence": number}
    return {**row, "text": sentence.text.strip(), "conllu": conllu}
