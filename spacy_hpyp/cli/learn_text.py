"""`hpyp learn-text`: a trained pipeline learns from raw text."""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

from wasabi import msg

from ..components.hpyp_parser import HPYPParser
from ..training.raw_training import last_checkpoint, learn_from_text
from .app import load_parser
from .options import Threads, argument, option
from .progress import Bar
from .raw_text import existing, read_paragraphs, read_sentences


def learn_text(
    model: Annotated[Path, argument("Path of a trained pipeline with an hpyp_parser", exists=True)],
    text: Annotated[Path, argument("Text in UTF-8, or a .conllu file")],
    output: Annotated[
        Path, argument("Directory for the pipeline (model-last) and a checkpoint", file_okay=False)
    ],
    *,
    learning: Annotated[
        Literal["words", "all"], option("What learns from parses: the one of words, or all")
    ] = "words",
    running: Annotated[
        bool, option("The parser finds sentences of running text; else a line is one")
    ] = False,
    tokenized: Annotated[bool, option("Words are between spaces; else the tokenizer finds them")] = False,
    particles: Annotated[int, option("Particles that a sentence is parsed with", "--particles -K")] = 100,
    threads: Threads = None,
    batch_words: Annotated[int, option("Words that are parsed before their parses are added")] = 50_000,
    checkpoint_words: Annotated[int, option("Words between checkpoints")] = 1_000_000,
    resume: Annotated[bool, option("Go on from the checkpoint in the output directory")] = False,
) -> None:
    """Let a pipeline learn from raw text: parse a batch, take the best parses for trees, and add them to the
    model.

    The text is read once and not held in memory. The progress bar shows the mean log-probability of a word in
    nats, predicted before it was added. Interrupted, the command goes on from the checkpoint with --resume;
    use the same model, text and options.
    """
    existing([text])
    checkpoint, done = last_checkpoint(output)
    if checkpoint is not None and not resume:
        raise ValueError(f"'{output}' has a checkpoint of an interrupted run. Add --resume, or remove it.")
    if checkpoint is None and resume:
        raise ValueError(f"There is no checkpoint in '{output}' to go on from.")
    nlp, saved = load_parser(checkpoint or model)
    # How the text is parsed is not saved with the pipeline.
    parser = HPYPParser(nlp.vocab, saved.model, saved.name, **asdict(saved.settings))
    parser.change(particles=particles, threads=saved.threads if threads is None else threads)
    first, before, seen = done.texts, done.words, 0
    read = read_paragraphs if running else read_sentences

    def followed() -> Iterator[list[str]]:
        """Read the texts, counting the bytes of words and of the spaces between them for the bar."""
        nonlocal seen
        for words in read(text, None if tokenized else nlp):
            seen += sum(len(word.encode()) + 1 for word in words)
            yield words

    size = text.stat().st_size
    with Bar(total=size, unit="B", unit_scale=True, desc="Learning", leave=True) as bar:
        for done in learn_from_text(
            parser.joint,
            islice(followed(), first, None),
            output,
            save=nlp.to_disk,
            search=parser.search,
            seed=parser.seed,
            threads=parser.threads,
            segmented=not running,
            learning=learning,
            batch_words=batch_words,
            checkpoint_words=checkpoint_words,
        ):
            bar.n = min(seen, size)
            rate = (done.words - before) / max(bar.format_dict["elapsed"], 1e-9)
            bar.set_postfix_str(f"{rate:,.0f} words/s, {done.log_prob / done.words:.4f} nats/word")
    learned = f"{done.words:,} words in {done.sentences:,} sentences"
    msg.good(f"Learned from {learned}; saved {output / 'model-last'}")
