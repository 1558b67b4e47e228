"""`hpyp parse`: texts as trees in CoNLL-U."""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from spacy.attrs import IS_SPACE
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..annotation.documents import UnknownTagWarning
from ..annotation.syntactic_words import word_spans
from ..components.corpus import mark_sentence
from ..components.easy_first_parser import EasyFirstParser
from ..components.head_outward_parser import HeadOutwardParser
from ..components.hpyp_parser import HPYPParser
from ..components.parse_combiner import ParseCombiner
from ..distributed.inputs import CONLLU, Document, Shard
from ..distributed.run import Process, Task
from ..treebanks.conllu import Block
from .app import load_pipeline, note, prepare_output, set_threads
from .conllu_format import (
    ROW,
    Comments,
    checked_blocks,
    comments_of,
    conllu_sentences,
    lines_of_text,
    tags_of,
    text_of,
    to_doc,
    word_rows,
    words_to_write,
    write_again,
    write_sentence,
)
from .options import Cluster, PerLine, argument, option, place, refuse_uris
from .output import is_shown, writing
from .progress import Bar
from .raw_text import STDIN, is_conllu, locate_paragraphs
from .shards import distribute, place_of

# How many paragraphs, or sentences of CoNLL-U, a process gets at once.
_BATCH = 32
# After how many the strings of what has been parsed are forgotten. Several processes are started anew then.
_FORGET, _FORGET_PROCESSES = 256, 20_000
_PARSERS = (HPYPParser, EasyFirstParser, HeadOutwardParser, ParseCombiner)


#: What is kept of CoNLL-U: words and sentences, sentences, or the text alone.
Given = Literal["words", "sentences", "text"]
#: What is parsed, with the comments of its first sentence: a paragraph, or a sentence whose words are kept.
Text = tuple[str | Block, Comments]


class Source(NamedTuple):
    """A text to parse: its path, the name that sentences are numbered with, and whether it is in CoNLL-U."""

    path: Path
    name: str
    is_conllu: bool


def parse(
    model: Annotated[str, argument("Name or path of a trained pipeline with a parser")],
    texts: Annotated[
        list[Path] | None, argument("Texts or .conllu files; '-' or none is stdin", parser=place)
    ] = None,
    *,
    output: Annotated[
        Path | None, option("CoNLL-U file, not stdout; with --ray a folder", "-o", parser=place)
    ] = None,
    conllu: Annotated[bool, option("All texts are CoNLL-U, whatever their names are", "-c")] = False,
    keep: Annotated[
        Given, option("Of CoNLL-U: keep words and sentences, or sentences, or the text alone")
    ] = "words",
    keep_tags: Annotated[
        bool, option("Of CoNLL-U: keep tags, features and lemmas, and parse with these tags")
    ] = False,
    per_line: PerLine = False,
    n_process: Annotated[int, option("Processes", "-n", least=1)] = 1,
    threads: Annotated[
        int | None, option("Threads of a process; 1 of several, else the pipeline's", "-t")
    ] = None,
    cluster: Cluster = Cluster(),
    output_format: Annotated[
        Literal["conllu", "parquet"], option("With --ray: the format of the output", "--format")
    ] = "conllu",
) -> None:
    """Write the trees that a pipeline finds, in CoNLL-U.

    A text has paragraphs, with empty lines between them; the pipeline finds words and sentences. Of CoNLL-U
    the words, sentences, multiword tokens and comments are kept; with --keep sentences or text, the pipeline
    finds what is below. Empty nodes and enhanced graphs are left out.

    '# log_prob' is the log-probability of a sentence in nats, HeadProb and TagProb in MISC say how sure the
    parser is of a word's head and tag, where it says so. No text is held in memory as a whole.

    With --ray, each worker has one thread; sentences are named after where their paragraph begins in its
    file, in bytes. The same command goes on where it was interrupted.
    """
    if cluster.ray is not None:
        if keep_tags or keep == "text" or n_process > 1 or threads is not None or not texts or STDIN in texts:
            raise ValueError(
                "With --ray there are no --keep-tags, --keep text, --n-process, --threads and stdin."
            )
        task = ParseTask(place_of(model), per_line, cluster.field, output_format, keep)
        distribute("parse", task, texts, output, cluster, is_conllu=conllu)
        return
    refuse_uris(output, *(texts or []))
    prepare_output(output, texts or [], ".conllu", ".conll", ".txt")
    sources = _sources(texts or [STDIN], conllu=conllu)
    if keep_tags and not all(source.is_conllu for source in sources):
        raise ValueError(
            "--keep-tags is for CoNLL-U, but there is a text without tags. If it is one, add --conllu."
        )
    if keep_tags and keep != "words":
        raise ValueError(f"--keep-tags keeps the tags of words, which --keep {keep} does not keep.")
    if per_line and any(source.is_conllu for source in sources):
        raise ValueError("--per-line is for texts: CoNLL-U says itself where sentences are.")
    nlp = load_pipeline(model)
    set_threads(nlp, 1 if threads is None and n_process > 1 else threads)
    left_out: Counter[str] = Counter()
    with ExitStack() as stack:
        file = stack.enter_context(writing(output, "trees"))
        bar = stack.enter_context(Bar(unit=" sentences", disable=is_shown(output)))
        if keep_tags:
            stack.enter_context(nlp.select_pipes(disable=_given_tags(nlp)))
            # They are counted instead.
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore", UnknownTagWarning)
        for source in sources:
            for sentence in parsed(
                nlp, source, left_out, keep=keep, tagged=keep_tags, per_line=per_line, n_process=n_process
            ):
                file.write(sentence)
                bar.update()
    if left_out["empty nodes"]:
        note(f"Empty nodes of the input are left out: {left_out['empty nodes']}")
    if left_out["tags"]:
        note(f"Tokens with tags that the parser does not know, and found others for: {left_out['tags']}")


def _sources(paths: list[Path], *, conllu: bool) -> list[Source]:
    if paths.count(STDIN) > 1:
        raise ValueError("'-' is stdin, which can be read once only, but it is there several times.")
    names = ["stdin" if path == STDIN else "_".join(path.stem.split()) for path in paths]
    seen: Counter[str] = Counter()
    sources = []
    for path, name in zip(paths, names):
        if path != STDIN and not path.is_file():
            raise ValueError(f"There is no file '{path}'.")
        seen[name] += 1
        unique = name if names.count(name) == 1 else f"{name}.{seen[name]}"
        sources.append(Source(path, unique, conllu or is_conllu(path)))
    return sources


def _given_tags(nlp: Language) -> list[str]:
    """Have the parsers of a pipeline use the tags that there are; returns the components that would write
    others.
    """
    for _, pipe in nlp.pipeline:
        if isinstance(pipe, HPYPParser):
            pipe.tags = "given"
    return [
        name
        for name, pipe in nlp.pipeline
        if not isinstance(pipe, _PARSERS) and "token.tag" in nlp.get_pipe_meta(name).assigns
    ]


def parsed(
    nlp: Language,
    source: Source,
    left_out: Counter[str],
    *,
    keep: Given = "words",
    tagged: bool = False,
    per_line: bool = False,
    n_process: int = 1,
    bare: bool = False,
) -> Iterator[str]:
    """The sentences of a text as a pipeline parses them, in CoNLL-U.

    left_out (Counter[str]): Gets how many "empty nodes" are left out, and "tags" are not known.
    keep, tagged, per_line, n_process: As the options of `hpyp parse`.
    bare (bool): Whether nothing but the forms of words is kept, even where the pipeline finds nothing of what
        is given.
    RAISES (ValueError): If the text is not what it should be, or the pipeline finds no trees.
    """
    if source.is_conllu and keep != "text":
        sentences = conllu_sentences(source.path, tagged=tagged)
        texts: Iterator[Text] = (
            (own if keep == "words" else text_of(own), comments_of(own)) for own in sentences
        )
    else:
        lines = lines_of_text(conllu_sentences(source.path)) if source.is_conllu else None
        texts = _paragraphs(source, lines, per_line=per_line)
    whole = per_line or (source.is_conllu and keep != "text")
    parsers = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, HPYPParser)]
    known = {*parsers[-1].joint.vocabulary.tags} if tagged and parsers else None
    number = 0
    for some in minibatch(texts, _FORGET if n_process == 1 else _FORGET_PROCESSES):
        with nlp.memory_zone():
            docs = parse_each(nlp, (text for text, _ in some), n_process, whole=whole, tagged=tagged)
            for (text, begins), doc in zip(some, docs):
                if isinstance(text, Block):
                    left_out["empty nodes"] += sum("." in row[0] for row in text.rows)
                    left_out["tags"] += 0 if known is None else sum(tag not in known for tag in tags_of(text))
                found = _written(
                    text, doc, begins, source.name, number, whole=whole, tagged=tagged, bare=bare
                )
                number += len(found)
                yield from found
            del docs
    if not number and source.is_conllu and keep == "words":
        raise ValueError(f"There is no sentence in '{source.path}'.")


def _paragraphs(source: Source, lines: Iterator[str] | None, *, per_line: bool) -> Iterator[Text]:
    for number, (_, text) in enumerate(locate_paragraphs(source.path, per_line=per_line, file=lines), 1):
        begins: Comments = {"newdoc id": source.name} if number == 1 else {}
        yield text, begins if per_line else {**begins, "newpar id": f"{source.name}-p{number}"}


def parse_each(
    nlp: Language, texts: Iterable[str | Block], n_process: int = 1, *, whole: bool, tagged: bool = False
) -> Iterator[Doc]:
    """Parse texts, each perhaps one sentence, and sentences of CoNLL-U, perhaps with their tags.

    RAISES (ValueError): If the pipeline finds no sentences.
    """

    def to_parse(text: str | Block) -> Doc | str:
        if isinstance(text, Block):
            return to_doc(text, nlp.vocab, tagged=tagged)
        return mark_sentence(nlp.make_doc(text)) if whole else text

    for doc in nlp.pipe(map(to_parse, texts), n_process=n_process, batch_size=_BATCH):
        if not doc.has_annotation("SENT_START"):
            raise ValueError(f"The pipeline finds no sentences. Its components are {nlp.pipe_names}.")
        yield doc


def _written(
    text: str | Block, doc: Doc, begins: Comments, name: str, number: int = 0, *, whole: bool, **kept: bool
) -> list[str]:
    """The sentences of a parsed text in CoNLL-U, numbered after some that were before; comments are those of
    the first one.
    """
    if isinstance(text, Block):
        return [write_again(text, doc, f"{name}-{number + 1}", **kept)]
    words, ranges = words_to_write(doc)
    found: list[str] = []
    for span in [words[:]] if whole else words.sents:
        begins.setdefault("sent_id", f"{name}-{number + len(found) + 1}")
        if written := write_sentence(span, begins, ranges):
            found.append(written)
            begins = {}
    return found


@dataclass(frozen=True)
class ParseTask(Task):
    """What `hpyp parse --ray` has workers do, who keep of CoNLL-U words or sentences."""

    keep: Given

    columns = ROW

    def process(self) -> Process:
        """What parses documents, and gives them in the form in which they are written."""
        nlp = load_pipeline(self.model)
        set_threads(nlp, 1)

        def parse_documents(shard: Shard, documents: Sequence[Document]) -> tuple[Any, int]:
            whole, found, words = self.per_line or shard.kind == CONLLU, [], 0
            names = [f"{shard.name}-{document.place}" for document in documents]
            texts: list[Text] = [
                (document.text, {} if whole else {"newpar id": name})
                for document, name in zip(documents, names)
            ]
            if shard.kind == CONLLU:
                blocks = [next(checked_blocks(StringIO(text), shard.path)) for text, _ in texts]
                texts = [(own if self.keep == "words" else text_of(own), comments_of(own)) for own in blocks]
            with nlp.memory_zone():
                docs = list(parse_each(nlp, (text for text, _ in texts), whole=whole))
                for document, name, (text, begins), doc in zip(documents, names, texts, docs, strict=True):
                    place = {"file": shard.path, "paragraph": document.place}
                    words += len(word_spans(doc)) - int(doc.to_array(IS_SPACE).sum())
                    if self.ending == "parquet":
                        found += word_rows(doc, place)
                    else:
                        found += _written(text, doc, begins, name, whole=whole)
                del docs, doc
            return found, words

        return parse_documents
