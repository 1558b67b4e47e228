"""Speed of hpyp_parser beside spaCy's own CNN tagger and parser, in one process.

    python tests/benchmarks/speed.py PIPELINE TRAIN.spacy DEV.spacy

PIPELINE is a trained pipeline with an hpyp_parser; the .spacy files are made by `spacy convert`. Prints words per second
of decoding with given sentence boundaries and tokens, seconds of a Gibbs sweep, size on disk, peak memory, start-up times,
and all speeds as ratios to spaCy's tagger and parser. The CNN's speed does not depend on what it has learned, so it is
only initialised and trained for a moment. Nothing is asserted: read the ratios, and read them twice.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example
from thinc.api import NumpyOps, set_current_ops

from spacy_hpyp.components.corpus import create_gold_corpus

START = """
import time
import spacy
import spacy.cli
start = time.perf_counter()
nlp = spacy.load({path!r})
doc = nlp("The first parse.")
print(time.perf_counter() - start)
"""


def words_per_second(parse: Callable[[list[Doc]], None], docs: list[Doc], repeats: int = 3) -> float:
    words = sum(len(doc) for doc in docs)
    best = float("inf")
    for _ in range(repeats):
        fresh = [doc.copy() for doc in docs]
        start = time.perf_counter()
        parse(fresh)
        best = min(best, time.perf_counter() - start)
    return words / best


def cnn(examples: list[Example]) -> Language:
    """SpaCy's efficiency pipeline, trained just enough to make decisions."""
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec")
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "*"}
    nlp.add_pipe("tagger", config={"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": listener}})
    parser = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "parser",
        "extra_state_tokens": False,
        "hidden_width": 64,
        "maxout_pieces": 2,
        "use_upper": True,
        "tok2vec": listener,
    }
    nlp.add_pipe("parser", config={"model": parser})
    own = [Example(Doc(nlp.vocab, words=[t.text for t in eg.reference]), _own(nlp, eg.reference)) for eg in examples]
    nlp.initialize(lambda: own)
    for start in range(0, len(own), 100):
        nlp.update(own[start : start + 100])
    return nlp


def _own(nlp: Language, doc: Doc) -> Doc:
    return Doc(nlp.vocab).from_bytes(doc.to_bytes())


def start_up(pipeline: str, cache: str | None) -> float:
    """Seconds to load the pipeline and parse once, on top of spaCy's own import."""
    environment = dict(os.environ)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    script = START.format(path=pipeline)
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    return float(output.stdout.split()[-1])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("pipeline")
    options.add_argument("train", type=Path)
    options.add_argument("dev", type=Path)
    options.add_argument("--sweeps", type=int, default=3)
    arguments = options.parse_args()
    set_current_ops(NumpyOps())

    nlp = spacy.load(arguments.pipeline)
    examples = list(create_gold_corpus(arguments.dev)(nlp))
    docs = [example.predicted for example in examples]
    parser = nlp.get_pipe("hpyp_parser")
    parser.threads = 1
    list(parser.pipe([doc.copy() for doc in docs[:20]]))

    spacys = cnn(examples[:600])
    theirs = [Doc(spacys.vocab, words=[t.text for t in doc], spaces=[bool(t.whitespace_) for t in doc]) for doc in docs]
    for doc in theirs:
        for i, token in enumerate(doc):
            token.is_sent_start = i == 0
    peer = words_per_second(lambda some: list(spacys.pipe(some, batch_size=256)), theirs)
    print(f"spaCy's CNN tagger and parser, one thread: {peer:,.0f} words/s")
    for particles in (1000, 100, 10):
        parser.particles = particles
        ours = words_per_second(lambda some: list(parser.pipe(some, batch_size=256)), docs)
        print(f"hpyp_parser, K = {particles}, one thread: {ours:,.0f} words/s, {ours / peer:.2f} of spaCy's CNN")

    train = list(Corpus(arguments.train, gold_preproc=True)(nlp))
    words = sum(len(example.reference) for example in train)
    for sweep in range(arguments.sweeps):
        start = time.perf_counter()
        nlp.update(train, sgd=False)
        elapsed = time.perf_counter() - start
        print(
            f"Gibbs sweep {sweep + 1} over {words:,} words: {elapsed:.2f} s, {words / elapsed / peer:.2f} of the CNN's rate"
        )
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
    size = sum(file.stat().st_size for file in Path(arguments.pipeline).rglob("*") if file.is_file())
    print(f"pipeline on disk: {size / 1e6:.1f} MB")
    start_up(arguments.pipeline, None)
    print(f"load and first parse, warm cache: {start_up(arguments.pipeline, None):.2f} s")
    with tempfile.TemporaryDirectory() as cache:
        print(f"load and first parse, cold cache: {start_up(arguments.pipeline, cache):.1f} s")


if __name__ == "__main__":
    main()
