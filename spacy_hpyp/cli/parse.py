"""`hpyp parse`: texts as trees in CoNLL-U."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from spacy.attrs import IS_SPACE
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..annotation.syntactic_words import word_spans
from ..distributed.inputs import Document, Shard
from ..distributed.run import Process, Task
from ..pipeline.corpus import mark_sentence
from ..text.paragraphs import paragraphs_of
from ..treebanks.conllu import Block, blocks_of
from .app import (
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
from .raw_text import STDIN, existing, is_conllu, lines_of, locate_paragraphs
from .shards import distribute, place_of

# The paragraphs, or sentences of CoNLL-U, that are parsed at once.
_BATCH = 32
# After so many, spaCy forgets the strings of parsed texts.
_FORGET = 256

#: The annotation of CoNLL-U that is kept: words and sentences, sentences, or the text alone.
Given = Literal["words", "sentences", "text"]
#: A paragraph, or a sentence whose words are kept, with the comments on its first sentence.
Text = tuple[str | Block, Sequence[str]]


class Source(NamedTuple):
    """A text to parse, with the prefix of the names of its sentences."""

    path: Path
    name: str
    is_conllu: bool


def parse(
    model: Annotated[str, argument("Name or path of a trained pipeline with a parser")],
    texts: Annotated[
        list[Path] | None, argument("Texts or .conllu files; '-' or none is stdin")
    ] = None,
    *,
    output: Annotated[
        Path | None, option("CoNLL-U file, not stdout; with --ray a folder", "--output -o")
    ] = None,
    keep: Annotated[Given, option("The annotation of CoNLL-U to keep")] = "words",
    per_line: PerLine = False,
    threads: Threads = None,
    ray: RayAddress = None,
    workers: Workers = None,
) -> None:
    """Write the trees that a pipeline finds, in CoNLL-U.

    A text has paragraphs, with empty lines between them; the pipeline finds words and sentences.
    CoNLL-U keeps its words, sentences, multiword tokens and comments, or by --keep less. Empty
    nodes and enhanced graphs are left out. '# log_prob' is the log-probability of a sentence in
    nats; HeadProb and TagProb in MISC are the probabilities of a word's head and tag.

    With --ray, sentences are named after the place of their paragraph in its file, in characters.
    The same command goes on after an interruption.
    """
    texts = texts or [STDIN]
    if ray is not None:
        if keep == "text" or threads is not None or STDIN in texts:
            raise ValueError("--ray excludes --keep text, --threads and stdin.")
        task = ParseTask(place_of(model), per_line, "conllu", keep)
        distribute("parse", task, texts, output, ray, workers)
        return
    existing(texts)
    if per_line and any(map(is_conllu, texts)):
        raise ValueError("--per-line is for texts: CoNLL-U has its own sentences.")
    nlp = load_pipeline(model, threads=threads)
    seen: Counter[str] = Counter()
    with writing(output, "trees") as file, Bar(unit=" sentences", disable=is_shown(output)) as bar:
        for path in texts:
            stem = "stdin" if path == STDIN else "_".join(path.stem.split())
            seen[stem] += 1
            source = Source(
                path, stem if seen[stem] == 1 else f"{stem}.{seen[stem]}", is_conllu(path)
            )
            for sentence in parsed(nlp, source, keep=keep, per_line=per_line):
                file.write(sentence)
                bar.update()


def parsed(
    nlp: Language,
    source: Source,
    *,
    keep: Given = "words",
    per_line: bool = False,
    bare: bool = False,
) -> Iterator[str]:
    """Yield the sentences of a text as a pipeline parses them, in CoNLL-U.

    keep, per_line: See the options of `hpyp parse`.
    bare (bool): Whether the words of CoNLL-U keep their forms alone.
    RAISES (ValueError): If the text is not in its format, or the pipeline finds no trees.
    """
    whole = per_line or (source.is_conllu and keep != "text")
    number = 0
    for some in minibatch(_texts(source, keep, per_line), _FORGET):
        with nlp.memory_zone():
            docs = parse_each(nlp, (text for text, _ in some), whole=whole)
            for (text, comments), doc in zip(some, docs):
                found = _written(text, doc, comments, source.name, number, whole=whole, bare=bare)
                number += len(found)
                yield from found
            del docs
    if not number and source.is_conllu:
        raise ValueError(f"There is no sentence in '{source.path}'.")


def blocks_of_source(source: Source) -> Iterator[Block]:
    """Read the sentences of a text in CoNLL-U."""
    return blocks_of((line for _, line in lines_of(source.path)), str(source.path))


def _kept(block: Block, keep: Given) -> Text:
    return block if keep == "words" else block.text().strip(), block.comments


def _texts(source: Source, keep: Given, per_line: bool) -> Iterator[Text]:
    if source.is_conllu and keep != "text":
        yield from (_kept(block, keep) for block in blocks_of_source(source))
        return
    if source.is_conllu:
        lines = ((1, line) for line in lines_of_text(blocks_of_source(source)))
        found = paragraphs_of(lines, per_line=per_line)
    else:
        found = locate_paragraphs(source.path, per_line=per_line)
    for number, (_, text) in enumerate(found, 1):
        begins = [f"newdoc id = {source.name}"] if number == 1 else []
        yield text, begins if per_line else [*begins, f"newpar id = {source.name}-p{number}"]


def lines_of_text(blocks: Iterable[Block]) -> Iterator[str]:
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


def _written(
    text: str | Block,
    doc: Doc,
    comments: Sequence[str],
    name: str,
    number: int = 0,
    *,
    whole: bool,
    bare: bool = False,
) -> list[str]:
    if isinstance(text, Block):
        return [write_block(text, doc, f"{name}-{number + 1}", bare=bare)]
    return write_doc(doc, name, number, comments, whole=whole)


@dataclass(frozen=True)
class ParseTask(Task):
    """The work of `hpyp parse --ray`.

    keep (str): The annotation of CoNLL-U to keep, words or sentences.
    """

    keep: Given

    def process(self) -> Process:
        """Return a function that parses documents to sentences of CoNLL-U."""
        nlp = load_pipeline(self.model, threads=1)

        def parse_documents(shard: Shard, documents: Sequence[Document]) -> tuple[list[str], int]:
            is_text, found, words = not shard.is_conllu, [], 0
            whole = self.per_line or not is_text
            texts: list[Text] = []
            for one in documents:
                if is_text:
                    texts.append(
                        (one.text, [] if whole else [f"newpar id = {shard.name}-{one.place}"])
                    )
                else:
                    texts.append(
                        _kept(next(blocks_of(one.text.splitlines(), shard.path)), self.keep)
                    )
            with nlp.memory_zone():
                docs = list(parse_each(nlp, (text for text, _ in texts), whole=whole))
                for one, (text, comments), doc in zip(documents, texts, docs, strict=True):
                    words += len(word_spans(doc)) - int(doc.to_array(IS_SPACE).sum())
                    found += _written(text, doc, comments, f"{shard.name}-{one.place}", whole=whole)
                del docs, doc
            return found, words

        return parse_documents
