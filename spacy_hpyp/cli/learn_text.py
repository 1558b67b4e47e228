"""`hpyp learn-text`: a trained pipeline learns from raw text."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Annotated

from wasabi import msg

from ..components.hpyp_parser import HPYPParser
from ..training.raw_training import Progress, last_checkpoint, learn_from_text
from .app import load_parser
from .options import Threads, argument, option
from .progress import Bar
from .raw_text import read_paragraphs, read_sentences


class Learning(str, Enum):
    """Which distributions learn."""

    words = "words"
    all = "all"


def learn_text(
    model: Annotated[Path, argument("Path of a trained pipeline with an hpyp_parser", exists=True)],
    text: Annotated[Path, argument("Text in UTF-8, or a .conllu file", exists=True, dir_okay=False)],
    output: Annotated[Path, argument("Directory for the pipeline (model-last) and checkpoints", file_okay=False)],
    *,
    learning: Annotated[
        Learning, option("What learns from the best parses: the word distribution, or all of them")
    ] = Learning.words,
    running: Annotated[
        bool,
        option("The text is running text, whose sentences the parser finds; else a line is a sentence", "--running"),
    ] = False,
    tokenized: Annotated[
        bool,
        option("Words are separated by spaces already, instead of by the pipeline's tokenizer", "--tokenized"),
    ] = False,
    particles: Annotated[int, option("Particles that a sentence is parsed with", "--particles -K")] = 100,
    threads: Threads = None,
    batch_words: Annotated[int, option("Words that are parsed before what they say is added")] = 50_000,
    checkpoint_words: Annotated[int, option("Words between two checkpoints")] = 1_000_000,
    resume: Annotated[bool, option("Go on from the last checkpoint in the output directory", "--resume")] = False,
) -> None:
    """Let a pipeline learn from raw text: parse a batch, take the best parses for trees, and add them to the model.

    The text is read once and not held in memory. The progress bar shows the mean log-probability of a word in nats, predicted
    before it was added. Interrupted, the command goes on from the last checkpoint with --resume; use the same model, text
    and options.
    """
    checkpoint, done = last_checkpoint(output)
    if checkpoint is not None and not resume:
        raise ValueError(
            f"'{output}' has a checkpoint of an interrupted run. Go on with --resume, or remove the directory."
        )
    if checkpoint is None and resume:
        raise ValueError(f"There is no checkpoint in '{output}' to go on from.")
    nlp, saved = load_parser(model if checkpoint is None else checkpoint)
    # The model is the saved parser's, but how the text is parsed is not what the pipeline is to be saved with.
    parser = HPYPParser(nlp.vocab, saved.model, saved.name, **asdict(saved.settings))
    parser.change(particles=particles, threads=saved.threads if threads is None else threads)
    read = read_paragraphs if running else read_sentences
    with closing(FileBar(text, done)) as bar:
        steps = learn_from_text(
            parser.joint,
            bar.follow(read(text, None if tokenized else nlp)),
            output,
            save=nlp.to_disk,
            search=parser.search,
            seed=parser.seed,
            threads=parser.threads,
            segmented=not running,
            learning=learning.value,
            batch_words=batch_words,
            checkpoint_words=checkpoint_words,
        )
        for done in steps:
            bar.show(done)
    msg.good(f"Learned from {done.words:,} words in {done.sentences:,} sentences; saved {output / 'model-last'}")


class FileBar:
    """A progress bar over a file, which cannot be counted in advance but has a size.

    file (Path): The file.
    done (Progress): What had been learned from it before.
    """

    def __init__(self, file: Path, done: Progress) -> None:
        self._before = done.words
        self._bar = Bar(total=file.stat().st_size, unit="B", unit_scale=True, desc="Learning", leave=True)
        self._read = 0

    def follow(self, texts: Iterator[Sequence[str]]) -> Iterator[Sequence[str]]:
        """Pass texts on and remember how much has been read: words and the spaces between them."""
        for text in texts:
            self._read += sum(len(word.encode()) + 1 for word in text)
            yield text

    def show(self, done: Progress) -> None:
        """Show how far learning is."""
        self._bar.n = min(self._read, self._bar.total)
        seconds = self._bar.format_dict["elapsed"]
        rate = (done.words - self._before) / max(seconds, 1e-9)
        self._bar.set_postfix_str(f"{rate:,.0f} words/s, {done.log_prob / max(done.words, 1):.4f} nats/word")

    def close(self) -> None:
        """End the bar."""
        self._bar.close()
