"""`hpyp parse`: texts as trees in CoNLL-U."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.util import minibatch

from ..distributed.run import ENDINGS, Write, unique_names
from ..pipeline.corpus import mark_sentence
from ..text.paragraphs import paragraphs_of
from ..treebanks.conllu import Block, blocks_of
from .app import Bar, is_shown, load_pipeline, writing
from .conllu_format import to_doc, write_block, write_doc
from .distribute import distribute
from .options import AnyPipeline, PerLine, RayAddress, Threads, Workers, argument, option
from .raw_text import STDIN, existing, is_conllu, lines_of, locate_paragraphs

# The number of paragraphs, or sentences of CoNLL-U, to parse together.
_BATCH = 32
# spaCy forgets the strings of parsed texts after this many texts.
_FORGET = 256

#: The annotation of CoNLL-U to keep: words and sentences, sentences, or only the text.
Given = Literal["words", "sentences", "text"]


def parse(
    model: AnyPipeline,
    texts: Annotated[
        list[Path] | None, argument("Texts or .conllu files; '-' for stdin (default)")
    ] = None,
    *,
    output: Annotated[
        Path | None, option("CoNLL-U file, or folder with --ray (default: stdout)", "--output -o")
    ] = None,
    keep: Annotated[Given, option("Annotation to keep from CoNLL-U inputs")] = "words",
    per_line: PerLine = False,
    threads: Threads = None,
    ray: RayAddress = None,
    workers: Workers = None,
) -> None:
    """Parse texts and write the trees in CoNLL-U.

    Empty lines separate the paragraphs of a text; the pipeline finds words and sentences. CoNLL-U
    inputs keep words, sentences, multiword tokens and comments; --keep keeps less. Empty nodes and
    enhanced graphs are left out. '# log_prob' is the log-probability of a sentence in nats;
    HeadProb and TagProb in MISC are the probabilities of a word's head and tag.

    With --ray, each input becomes one output file. Repeat an interrupted command to resume.
    """
    texts, settings = texts or [STDIN], {"keep": keep, "per_line": per_line}
    if ray is not None:
        if threads is not None or STDIN in texts:
            raise ValueError("--ray works without --threads and stdin: use --workers and files.")
        place = {"reads": ENDINGS, "ending": "conllu", "address": ray, "workers": workers}
        distribute(_load_writer, model, settings, texts, output, **place)
        return
    existing(texts)
    nlp = load_pipeline(model, threads=threads)
    with writing(output, "trees") as file, Bar(unit=" sentences", disable=is_shown(output)) as bar:
        for path, name in zip(texts, unique_names(texts)):
            name = "stdin" if path == STDIN else name
            for sentence in parse_file(nlp, path, name, **settings):
                file.write(sentence)
                bar.update()


def _load_writer(model: str, **settings: Any) -> Write:
    """Load a pipeline in a worker, and return the function that writes the trees of a text."""
    nlp = load_pipeline(model, threads=1)
    return lambda path, name, file: file.writelines(parse_file(nlp, path, name, **settings))


def parse_file(
    nlp: Language, path: Path, name: str, *, keep: Given = "words", per_line: bool = False
) -> Iterator[str]:
    """Yield the sentences of a text as a pipeline parses them, in CoNLL-U. Their names begin with
    `name`; `keep` and `per_line` are options of `hpyp parse`.

    RAISES (ValueError): If the text is not in its format, CoNLL-U has no sentence or is read
        `per_line`, or the pipeline finds no sentences or trees.
    """
    if not is_conllu(path):
        return _parse_paragraphs(nlp, locate_paragraphs(path, per_line=per_line), name, per_line)
    if per_line:
        raise ValueError(f"--per-line is for texts: '{path}' has its own sentences.")
    blocks = blocks_of((line for _, line in lines_of(path)), str(path))
    if (first := next(blocks, None)) is None:
        raise ValueError(f"There is no sentence in '{path}'.")
    return parse_blocks(nlp, chain([first], blocks), name, keep)


def parse_blocks(
    nlp: Language, blocks: Iterable[Block], name: str, keep: Given = "words"
) -> Iterator[str]:
    """Yield sentences of CoNLL-U as a pipeline parses them, see `parse_file`."""
    if keep == "text":
        paragraphs = paragraphs_of((1, line) for line in raw_lines(blocks))
        return _parse_paragraphs(nlp, paragraphs, name, per_line=False)
    kept = keep == "words"
    texts = ((block if kept else block.text().strip(), block.comments) for block in blocks)
    return (sentence for _, sentence in parse_texts(nlp, texts, name, whole=True))


def _parse_paragraphs(
    nlp: Language, paragraphs: Iterable[tuple[int, str]], name: str, per_line: bool
) -> Iterator[str]:
    texts = (
        (text, [f"newdoc id = {name}"] * (i == 1) + [f"newpar id = {name}-p{i}"] * (not per_line))
        for i, (_, text) in enumerate(paragraphs, 1)
    )
    return (sentence for _, sentence in parse_texts(nlp, texts, name, whole=per_line))


def parse_texts(
    nlp: Language,
    texts: Iterable[tuple[str | Block, Sequence[str]]],
    name: str,
    *,
    whole: bool = False,
) -> Iterator[tuple[list[Token], str]]:
    """Yield the words of parsed sentences, which are valid until the next one, and the sentences in
    CoNLL-U.

    texts (Iterable[tuple[str | Block, Sequence[str]]]): Sentences of CoNLL-U, and texts with
        comments on their first sentences, or their only one if `whole`.
    name (str): The prefix of the names of sentences.
    RAISES (ValueError): If the pipeline finds no sentences or trees.
    """

    def to_parse(text: str | Block) -> Doc | str:
        if isinstance(text, Block):
            return to_doc(text, nlp.vocab)
        return mark_sentence(nlp.make_doc(text)) if whole else text

    number = 0
    for batch in minibatch(texts, _FORGET):
        with nlp.memory_zone():
            docs = nlp.pipe((to_parse(text) for text, _ in batch), batch_size=_BATCH)
            for (text, comments), doc in zip(batch, docs):
                if not doc.has_annotation("SENT_START"):
                    raise ValueError(f"The pipeline finds no sentences: it has {nlp.pipe_names}.")
                if isinstance(text, Block):
                    own = [word for word in doc if not word.is_space]
                    found = [(own, write_block(text, doc, f"{name}-{number + 1}"))]
                else:
                    found = write_doc(doc, name, number, comments, whole=whole)
                number += len(found)
                yield from found
            del docs, doc, found


def raw_lines(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the text of sentences, and an empty line before each document and paragraph but the
    first.
    """
    for i, block in enumerate(blocks):
        if i and block.begins("newdoc", "newpar"):
            yield "\n"
        yield block.text()
