"""`hpyp learn-text`: a trained pipeline learns from raw text."""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from spacy.language import Language
from wasabi import msg

from ..components.hpyp_parser import HPYPParser
from ..distributed.cluster import connected
from ..distributed.inputs import Document, Shard
from ..distributed.work import Process
from ..settings import whole
from ..training.raw_training import ParsedText, last_checkpoint, learn_from_trees, parse_texts
from .app import load_parser, note
from .options import Cluster, Threads, argument, option, place, refuse_uris
from .progress import Bar
from .raw_text import existing, read_paragraphs, read_sentences
from .shards import ShardTask, distribute, made_with, shards_of, words_in

_BATCH_WORDS = 50_000
# Of a word and the space behind it, about, in bytes.
_OF_WORD = 5


def learn_text(
    model: Annotated[Path, argument("Path of a trained pipeline with an hpyp_parser", exists=True)],
    text: Annotated[Path, argument("Text in UTF-8, or a .conllu file", parser=place)],
    output: Annotated[
        Path, argument("Directory for the pipeline (model-last) and checkpoints", file_okay=False)
    ],
    *,
    learning: Annotated[
        Literal["words", "all"], option("What learns from parses: the one of words, or all")
    ] = "words",
    running: Annotated[
        bool, option("The parser finds sentences of running text; else a line is one")
    ] = False,
    tokenized: Annotated[bool, option("Words are between spaces; else the tokenizer finds them")] = False,
    particles: Annotated[int, option("Particles that a sentence is parsed with", "-K")] = 100,
    threads: Threads = None,
    batch_words: Annotated[int, option("Words that are parsed before what they say is added")] = _BATCH_WORDS,
    checkpoint_words: Annotated[
        int, option("Words between checkpoints, or with --ray, of a round")
    ] = 1_000_000,
    resume: Annotated[bool, option("Go on from the last checkpoint in the output directory")] = False,
    cluster: Cluster = Cluster(max_errors=0),
) -> None:
    """Let a pipeline learn from raw text: parse a batch, take the best parses for trees, and add them to the
    model.

    The text is read once and not held in memory. The progress bar shows the mean log-probability of a word in
    nats, predicted before it was added. Interrupted, the command goes on from the last checkpoint with
    --resume; use the same model, text and options.

    With --ray workers parse the shards of a round with the pipeline that the round before has saved, and
    their trees are added in the order of the text: the pipeline does not depend on how many workers there
    are. Checkpoints are on a file system that all nodes share, where another cluster may go on.
    """
    if cluster.ray is None:
        refuse_uris(text)
        existing([text])
    elif batch_words != _BATCH_WORDS:
        raise ValueError("With --ray there is no --batch-words, but rounds of --checkpoint-words.")
    checkpoint, done = last_checkpoint(output)
    if checkpoint is not None and not resume:
        raise ValueError(
            f"'{output}' has a checkpoint of an interrupted run. Go on with --resume, or remove it."
        )
    if checkpoint is None and resume:
        raise ValueError(f"There is no checkpoint in '{output}' to go on from.")
    if done.words and (done.shards > 0) != (cluster.ray is not None):
        raise ValueError(
            f"The run of '{output}' began {'with' if done.shards else 'without'} --ray. Go on as it began."
        )
    nlp, parser = _reader(model if checkpoint is None else checkpoint, particles, threads)
    common: dict[str, Any] = {
        "save": nlp.to_disk,
        "seed": parser.seed,
        "threads": parser.threads,
        "learning": learning,
    }
    if cluster.ray is not None:
        task = TreesTask("", "", not running, cluster.field, "npz", particles, tokenized)
        with connected(cluster.ray):
            parsed = _rounds(task, model, text, output, cluster, checkpoint_words)
            for done in learn_from_trees(parser.joint, parsed, output, **common):
                note(
                    f"{done.words:,} words have been learned, {done.log_prob / max(done.words, 1):.4f} "
                    f"nats/word"
                )
    else:
        before, size, seen = done.words, text.stat().st_size, 0
        read = read_paragraphs if running else read_sentences

        def followed() -> Iterator[list[str]]:
            """The texts; a file cannot be counted in advance, but has a size: that of words and the spaces
            between them.
            """
            nonlocal seen
            for words in read(text, None if tokenized else nlp):
                seen += sum(len(word.encode()) + 1 for word in words)
                yield words

        with Bar(total=size, unit="B", unit_scale=True, desc="Learning", leave=True) as bar:
            parsed = _parsed(parser, islice(followed(), done.texts, None), batch_words, running=running)
            for done in learn_from_trees(
                parser.joint, parsed, output, checkpoint_words=checkpoint_words, **common
            ):
                bar.n = min(seen, size)
                rate = (done.words - before) / max(bar.format_dict["elapsed"], 1e-9)
                bar.set_postfix_str(
                    f"{rate:,.0f} words/s, {done.log_prob / max(done.words, 1):.4f} nats/word"
                )
    msg.good(
        f"Learned from {done.words:,} words in {done.sentences:,} sentences; saved {output / 'model-last'}"
    )


def _reader(model: str | Path, particles: int, threads: int | None) -> tuple[Language, HPYPParser]:
    """A pipeline, and a parser with its model: how the text is parsed is not what the pipeline is to be saved
    with.
    """
    nlp, saved = load_parser(model)
    parser = HPYPParser(nlp.vocab, saved.model, saved.name, **asdict(saved.settings))
    parser.change(particles=particles, threads=saved.threads if threads is None else threads)
    return nlp, parser


def _parsed(
    parser: HPYPParser, texts: Iterable[Sequence[str]], batch_words: int, *, running: bool
) -> Iterator[ParsedText]:
    how = {"search": parser.search, "threads": parser.threads, "segmented": not running}
    return parse_texts(parser.joint, texts, **how, batch_words=batch_words)


@dataclass(frozen=True)
class TreesTask(ShardTask):
    """What `hpyp learn-text --ray` has workers do: parse a shard, to be learned from, with options of the
    command.
    """

    particles: int
    tokenized: bool

    def process(self) -> Process:
        """What parses documents."""
        nlp, parser = _reader(self.model, self.particles, 1)

        def parse_documents(shard: Shard, documents: Sequence[Document]) -> tuple[Iterable[ParsedText], int]:
            texts = words_in(shard, documents, None if self.tokenized else nlp)
            found = list(_parsed(parser, texts, _BATCH_WORDS, running=not self.per_line))
            return found, sum(part.size.words for part in found)

        return parse_documents


def _rounds(
    task: TreesTask, model: Path, text: Any, output: Path, cluster: Cluster, words: int
) -> Iterator[ParsedText]:
    """The shards of a text, as workers parse them; those of a round with the last checkpoint, which has to be
    there when the next one begins. About so many words make a round.
    """
    whole("checkpoint_words", words)
    size = max(1, words * _OF_WORD // (cluster.shard_size * 1000))
    while True:
        checkpoint, done = last_checkpoint(output)
        where, made_of = made_with(str(checkpoint or model))
        task = replace(task, model=where, made_of=made_of)
        shards = shards_of(task, [text], cluster)
        some = shards[done.shards : done.shards + size]
        if not some:
            return
        folder = output / f"round-{done.shards}"
        # Of rounds that have been learned from nothing is needed.
        for other in {*output.glob("round-*")} - {folder}:
            shutil.rmtree(other)
        found = distribute("learn-text", task, some, folder, cluster)
        ends = len(shards) > done.shards + size
        for shard in some:
            yield ParsedText.from_bytes(found.read(shard))._replace(ends_round=ends and shard is some[-1])
        if not ends:
            shutil.rmtree(folder)
            return
