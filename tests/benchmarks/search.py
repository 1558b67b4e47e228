"""How often the search that hpyp_parser ships finds more probable parses than Algorithm 1 to the
letter, and how often less probable ones.

    python tests/benchmarks/search.py PIPELINE DEV [--particles 50,100,1000]

PIPELINE has a trained hpyp_parser; DEV is a treebank in CoNLL-U or .spacy files, whose tokens and
sentences are given. Both searches look for the most probable derivation; what is compared is log
p(words, tags, tree), in nats, of the trees that these belong to. Nothing is asserted.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import spacy
from thinc.api import NumpyOps, set_current_ops

from spacy_hpyp.pipeline.corpus import create_gold_corpus

#: What leaves derivations out, or looks ahead: without it the search is Algorithm 1 of the paper.
TO_THE_LETTER = {"stack_penalty": 0.0, "future_cost": 0.0}
# Sums over the derivations of a tree that are further apart differ.
SAME = 1e-6


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pipeline")
    parser.add_argument("dev", type=Path)
    parser.add_argument(
        "--particles", default="50,100,1000", help="numbers of particles of Algorithm 1"
    )
    given = parser.parse_args()
    set_current_ops(NumpyOps())
    nlp = spacy.load(given.pipeline)
    component = nlp.get_pipe("hpyp_parser")
    docs = [example.predicted for example in create_gold_corpus(given.dev)(nlp)]

    def search(**settings: float) -> tuple[np.ndarray, float]:
        component.change(decoding="best", threads=1, **settings)
        start = time.process_time()
        parsed = list(component.pipe([doc.copy() for doc in docs], batch_size=256))
        taken = time.process_time() - start
        return np.concatenate([component.sentence_log_probs(doc).log_prob for doc in parsed]), taken

    usual = component.particles
    search()
    found, taken = search()
    print(f"{len(found)} sentences; as shipped, K = {usual}: {found.mean():.3f} nats a sentence")
    for particles in map(int, given.particles.split(",")):
        letter, time_of_letter = search(**TO_THE_LETTER, particles=particles)
        gain = found - letter
        print(
            f"Algorithm 1 to the letter, K = {particles}: {letter.mean():.3f} nats, in {time_of_letter / taken:.2f} "
            f""
            f""
            f""
            f""
            f""
            f"of the time; as shipped "
            f"is more probable in {100 * np.mean(gain > SAME):.2f} % of the sentences, less in {100 * np.mean(gain < -SAME):.2f} "
            f""
            f""
            f""
            f""
            f""
            f"%"
        )


if __name__ == "__main__":
    main()
