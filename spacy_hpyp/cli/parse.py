"""`hpyp parse`: texts as trees in CoNLL-U."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, TextIO

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..distributed.run import Write, unique_names
from ..pipeline.corpus import mark_sentence
from ..text.paragraphs import paragraphs_of
from ..treebanks.conllu import Block, blocks_of
from .app import (
    AnyPipeline,
    Bar,
    PerLine,
    RayAddress,
    Threads,
    Workers,
    argument,
    is_shown,
    load_pipeline,
    option,
    writing,
)
from .conllu_format import to_doc, write_block, write_doc
from .distribute import distribute
from .raw_text import STDIN, existing, is_conllu, lines_of, locate_paragraphs

# Paragraphs, or sentences of CoNLL-U, that are parsed together.
_BATCH = 32
# After so many, spaCy forgets the strings of parsed texts.
_FORGET = 256

#: The annotation of CoNLL-U that is kept: words and sentences, sentences, or the text alone.
Given = Literal["words", "sentences", "text"]


def parse(
    model: AnyPipeline,
    texts: Annotated[
        list[Path] | None, argument("Texts or .conllu files; '-' or none is stdin")
    ] = None,
    *,
    output: Annotated[
        Path | None,
        option("File for CoNLL-U, or with --ray a folder (default: stdout)", "--output -o"),
    ] = None,
    keep: Annotated[Given, option("Annotation of CoNLL-U to keep")] = "words",
    per_line: PerLine = False,
    threads: Threads = None,
    ray: RayAddress = None,
    workers: Workers = None,
) -> None:
    """Write the trees that a pipeline finds, in CoNLL-U.

    A text has paragraphs, with empty lines between them; the pipeline finds words and sentences.
    CoNLL-U keeps its words, sentences, multiword tokens and comments; --keep keeps less. Empty
    nodes and enhanced graphs are left out. '# log_prob' is the log-probability of a sentence in
    nats; HeadProb and TagProb in MISC are the probabilities of a word's head and tag.

    With --ray, each input becomes one output file. Repeat an interrupted command to resume.
    """
    texts = texts or [STDIN]
    if ray is not None:
        if threads is not None or STDIN in texts:
            raise ValueError("--ray works without --threads and stdin: use --workers and files.")
        settings = {"keep": keep, "per_line": per_line}
        place = {"ending": "conllu", "address": ray, "workers": workers}
        distribute(_load_writer, model, settings, texts, output, **place)
        return
    existing(texts)
    nlp = load_pipeline(model, threads=threads)
    with writing(output, "trees") as file, Bar(unit=" sentences", disable=is_shown(output)) as bar:
        for path, name in zip(texts, unique_names(texts)):
            name = "stdin" if path == STDIN else name
            for sentence in parse_file(nlp, path, name, keep=keep, per_line=per_line):
                file.write(sentence)
                bar.update()


def _load_writer(model: str, *, keep: Given, per_line: bool) -> Write:
    """Load a pipeline in a worker, and return the function that writes the trees of a text."""
    nlp = load_pipeline(model, threads=1)

    def write(path: Path, name: str, file: TextIO) -> None:
        file.writelines(parse_file(nlp, path, name, keep=keep, per_line=per_line))

    return write


def parse_file(
    nlp: Language, path: Path, name: str, *, keep: Given = "words", per_line: bool = False
) -> Iterator[str]:
    """Yield the sentences of a text as a pipeline parses them, in CoNLL-U.

    name (str): The prefix of the names of sentences.
    keep, per_line: See the options of `hpyp parse`.
    RAISES (ValueError): If the text is not in its format, or the pipeline finds no trees.
    """
    if not is_conllu(path):
        paragraphs = locate_paragraphs(path, per_line=per_line)
        return _parse(nlp, _commented(paragraphs, name, per_line=per_line), name, whole=per_line)
    if per_line:
        raise ValueError(f"--per-line is for texts: '{path}' has its own sentences.")
    blocks = blocks_of((line for _, line in lines_of(path)), str(path))
    return parse_blocks(nlp, blocks, name, keep)


def parse_blocks(
    nlp: Language, blocks: Iterable[Block], name: str, keep: Given = "words"
) -> Iterator[str]:
    """Yield sentences of CoNLL-U as a pipeline parses them, see `parse_file`."""
    if keep == "text":
        paragraphs = paragraphs_of((1, line) for line in raw_lines(blocks))
        return _parse(nlp, _commented(paragraphs, name), name)
    kept = keep == "words"
    texts = ((block if kept else block.text().strip(), block.comments) for block in blocks)
    return _parse(nlp, texts, name, whole=True)


def _commented(
    paragraphs: Iterable[tuple[int, str]], name: str, *, per_line: bool = False
) -> Iterator[tuple[str, list[str]]]:
    """Yield paragraphs with the comments on their first sentences."""
    for number, (_, text) in enumerate(paragraphs, 1):
        begins = [f"newdoc id = {name}"] if number == 1 else []
        yield text, begins if per_line else [*begins, f"newpar id = {name}-p{number}"]


def _parse(
    nlp: Language,
    texts: Iterable[tuple[str | Block, Sequence[str]]],
    name: str,
    *,
    whole: bool = False,
) -> Iterator[str]:
    """Parse texts with comments, each perhaps one sentence, and yield their sentences."""
    number = 0
    for batch in minibatch(texts, _FORGET):
        with nlp.memory_zone():
            docs = parse_each(nlp, (text for text, _ in batch), whole=whole)
            for (text, comments), doc in zip(batch, docs):
                if isinstance(text, Block):
                    found = [write_block(text, doc, f"{name}-{number + 1}")]
                else:
                    found = write_doc(doc, name, number, comments, whole=whole)
                number += len(found)
                yield from found
            del docs


def raw_lines(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the text of sentences, and an empty line before each document and paragraph but the
    first.
    """
    for i, block in enumerate(blocks):
        if i and block.begins("newdoc", "newpar"):
            yield "\n"
        yield block.text()


def parse_each(nlp: Language, texts: Iterable[str | Block], *, whole: bool) -> Iterator[Doc]:
    """Parse texts, each perhaps one sentence, and sentences of CoNLL-U.

    RAISES (ValueError): If the pipeline finds no sentences.
    """

    def to_parse(text: str | Block) -> Doc | str:
        if isinstance(text, Block):
            return to_doc(text, nlp.vocab)
        return mark_sentence(nlp.make_doc(text)) if whole else text

    for doc in nlp.pipe(map(to_parse, texts), batch_size=_BATCH):
        if not doc.has_annotation("SENT_START"):
            raise ValueError(
                f"The pipeline finds no sentences. Its components are {nlp.pipe_names}."
            )
        yield doc
