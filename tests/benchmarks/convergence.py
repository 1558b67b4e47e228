"""How far surprisals with the default number of particles are from those with very many.

    python tests/benchmarks/convergence.py PIPELINE TEXT

PIPELINE has a trained hpyp_parser. TEXT is running text, of which an empty line ends a paragraph; with
--per-line each line is a sentence by itself, and with --joined all lines are one paragraph. Prints the share
of words that are off by more than 0.3 bits, how many by more than 1, the most, and how long it took beside
the parse alone, in one process. Nothing is asserted.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import spacy

import spacy_hpyp


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pipeline")
    parser.add_argument("text", type=Path)
    parser.add_argument("--particles", type=int, help="instead of the default number", default=None)
    parser.add_argument("--reference", type=int, help="how many are very many", default=20_000)
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--per-line", action="store_true")
    shape.add_argument("--joined", action="store_true")
    given = parser.parse_args()
    content = given.text.read_text(encoding="utf8")
    lines = [line for line in content.splitlines() if line.strip()]
    texts = lines if given.per_line else [" ".join(lines)] if given.joined else content.split("\n\n")
    texts = [text for text in texts if text.strip()]
    nlp = spacy.load(given.pipeline)
    spacy_hpyp.surprisal(nlp, ["Ready ?"], running=not given.per_line)

    def surprisals(particles: int | None) -> np.ndarray:
        rows = spacy_hpyp.surprisal(nlp, texts, running=not given.per_line, particles=particles)
        return np.array([row["surprisal"] for row in rows])

    start = time.perf_counter()
    found = surprisals(given.particles)
    taken = time.perf_counter() - start
    list(nlp.pipe(texts[:1]))
    start = time.perf_counter()
    list(nlp.pipe(texts))
    parsing = time.perf_counter() - start
    off = np.abs(found - surprisals(given.reference))
    print(
        f"{len(off)} words: {100 * np.mean(off > 0.3):.2f} % off by more than 0.3 bits, {np.sum(off > 1.0)} "
        f"by more than 1,"
    )
    print(
        f"the most {off.max():.2f}, on average {off.mean():.3f}. Takes {taken / parsing:.1f} times as long "
        f"as the parse alone."
    )


if __name__ == "__main__":
    main()
