"""Memory that one long Doc without sentence boundaries takes.

    python tests/benchmarks/memory.py PIPELINE TEXT --words 10000 100000 1000000

PIPELINE is a trained pipeline with an hpyp_parser; TEXT is a file of words with white space between them,
repeated where it is too short. Each length is parsed in a process of its own, with the settings of the
pipeline. Prints the highest resident memory of the process before the Doc was made, with the Doc, and after
parsing. Nothing is asserted.
"""

import argparse
import resource
import subprocess
import sys
import time
from itertools import cycle, islice
from pathlib import Path

import spacy
from spacy.tokens import Doc


def peak() -> float:
    """The highest resident memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def measure(pipeline: str, text: Path, words: int, particles: int | None) -> None:
    """Parse a text of some words and print what it took."""
    nlp = spacy.load(pipeline)
    if particles is not None:
        nlp.get_pipe("hpyp_parser").particles = particles
    nlp("The first parse .")
    loaded = peak()
    doc = Doc(nlp.vocab, words=list(islice(cycle(text.read_text(encoding="utf8").split()), words)))
    made = peak()
    start = time.perf_counter()
    doc = nlp.get_pipe("hpyp_parser")(doc)
    seconds = time.perf_counter() - start
    sentences = sum(1 for _ in doc.sents)
    print(
        f"{words:>9,} words: {loaded:.2f} GB with the pipeline, {made:.2f} with the Doc, {peak():.2f} after "
        f"parsing "
        f"{sentences:,} sentences in {seconds:,.0f} s",
        flush=True,
    )


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("pipeline")
    options.add_argument("text", type=Path)
    options.add_argument("--words", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    options.add_argument("--particles", type=int)
    arguments = options.parse_args()
    if len(arguments.words) == 1:
        measure(arguments.pipeline, arguments.text, arguments.words[0], arguments.particles)
        return
    for words in arguments.words:
        command = [sys.executable, __file__, arguments.pipeline, str(arguments.text), "--words", str(words)]
        if arguments.particles is not None:
            command += ["--particles", str(arguments.particles)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
