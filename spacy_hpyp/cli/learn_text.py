"""`hpyp learn-text`: a trained pipeline learns from raw text."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from wasabi import msg

from ..components.hpyp_parser import HPYPParser
from ..training.raw_training import last_checkpoint, learn_from_text
from .app import load_parser
from .options import Threads, argument, option
from .progress import Bar
from .raw_text import read_paragraphs, read_sentences


def learn_text(
    model: Annotated[Path, argument("Path of a trained pipeline with an hpyp_parser", exists=True)],
    text: Annotated[Path, argument("Text in UTF-8, or a .conllu file", exists=True, dir_okay=False)],
    output: Annotated[Path, argument("Directory for the pipeline (model-last) and checkpoints", file_okay=False)],
    *,
    learning: Annotated[
        Literal["words", "all"], option("What learns from the best parses: the word distribution, or all of them")
    ] = "words",
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
    before, size, seen = done.words, text.stat().st_size, 0
    read = read_paragraphs if running else read_sentences

    def followed() -> Iterator[list[str]]:
        """The texts; a file cannot be counted in advance, but has a size: that of words and the spaces between them."""
        nonlocal seen
        for words in read(text, None if tokenized else nlp):
            seen += sum(len(word.encode()) + 1 for word in words)
            yield words

    with Bar(total=size, unit="B", unit_scale=True, desc="Learning", leave=True) as bar:
        steps = learn_from_text(
            parser.joint,
            followed(),
            output,
            save=nlp.to_disk,
            search=parser.search,
            seed=parser.seed,
            threads=parser.threads,
            segmented=not running,
            learning=learning,
            batch_words=batch_words,
            checkpoint_words=checkpoint_words,
        )
        for done in steps:
            bar.n = min(seen, size)
            rate = (done.words - before) / max(bar.format_dict["elapsed"], 1e-9)
            bar.set_postfix_str(f"{rate:,.0f} words/s, {done.log_prob / max(done.words, 1):.4f} nats/word")
    msg.good(f"Learned from {done.words:,} words in {done.sentences:,} sentences; saved {output / 'model-last'}")
