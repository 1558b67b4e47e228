"""`hpyp learn-text`: a trained pipeline learns from raw text."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from wasabi import msg

from ..pipeline.hpyp_parser import HPYPParser
from ..storage import prepare_folder
from ..training.raw_training import learn_from_text
from .app import Bar, Threads, argument, load_parser, option
from .raw_text import existing, read_sentences


def learn_text(
    model: Annotated[Path, argument("Path of a trained pipeline with an hpyp_parser", exists=True)],
    text: Annotated[Path, argument("Text with one sentence a line, or a .conllu file")],
    output: Annotated[Path, argument("Directory for the pipeline (model-last)", file_okay=False)],
    *,
    learning: Annotated[
        Literal["words", "all"], option("Distributions to train: words only, or all")
    ] = "words",
    tokenized: Annotated[
        bool, option("Words are between spaces; else the tokenizer finds them")
    ] = False,
    particles: Annotated[
        int, option("Number of particles for each sentence", "--particles -K")
    ] = 100,
    threads: Threads = None,
) -> None:
    """Let a pipeline learn from raw text: parse a batch, take the best parses for trees, and add
    them to the model.

    The text is read once and not held in memory. The progress bar shows the mean log-probability of
    a word in nats, predicted before it was added. The pipeline is saved in the end; it can learn
    from another text then.
    """
    existing([text])
    nlp, saved = load_parser(model)
    # How the text is parsed is not saved with the pipeline.
    parser = HPYPParser(nlp.vocab, saved.model, saved.name, **asdict(saved.settings))
    parser.change(particles=particles, threads=saved.threads if threads is None else threads)
    prepare_folder(output)
    sentences = read_sentences(text, None if tokenized else nlp)
    with Bar(sentences, desc="Learning", unit=" sentences", leave=True) as bar:
        for done in learn_from_text(
            parser.joint,
            bar,
            search=parser.search,
            seed=parser.seed,
            threads=parser.threads,
            learning=learning,
        ):
            bar.set_postfix_str(f"{done.words:,} words, {done.log_prob / done.words:.4f} nats/word")
    nlp.to_disk(output / "model-last")
    learned = f"{done.words:,} words in {done.sentences:,} sentences"
    msg.good(f"Learned from {learned}; saved {output / 'model-last'}")
