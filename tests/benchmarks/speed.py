"""Speed of a pipeline beside spaCy's own CNN tagger and parser, in one process.

    python tests/benchmarks/speed.py PIPELINE TRAIN DEV
    python tests/benchmarks/speed.py FOLDER TRAIN DEV --train en

PIPELINE is a trained pipeline; the treebank is in CoNLL-U or .spacy files. Prints words per second
of processor time from raw documents, and of an hpyp_parser with given sentences and tokens; seconds
of a Gibbs sweep; size on disk, start-up times and memory. Speeds are also ratios to spaCy's tagger
and parser, which are trained briefly unless they are given (--peer). With --train the
pipelines of configs/pool.cfg and configs/guided.cfg are trained first, into a folder; the time and
memory of that and the size of a wheel are printed. Nothing is asserted: read the ratios, and read
them twice.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import NumpyOps, set_current_ops

from spacy_hpyp.pipeline.corpus import create_gold_corpus, read_treebank

START = """
import time
import spacy
import spacy.cli
start = time.perf_counter()
nlp = spacy.load({path!r})
doc = nlp("The first parse.")
taken = time.perf_counter() - start
with open("/proc/self/status") as file:
    memory = dict(line.split(":") for line in file)
print(taken, *(memory[name].split()[0] for name in ("VmRSS", "RssAnon")))
"""


def words_per_second(parse: Callable[[list[Doc]], None], docs: list[Doc]) -> float:
    words = sum(len(doc) for doc in docs)
    best = float("inf")
    for _ in range(3):
        fresh = [doc.copy() for doc in docs]
        start = time.process_time()
        parse(fresh)
        best = min(best, time.process_time() - start)
    return words / best


def raw_words_per_second(pipelines: list[Language], texts: list[str]) -> list[float]:
    """The fastest of four alternating runs of each pipeline, after a warm-up run."""
    found = [0.0 for _ in pipelines]
    for repeat in range(5):
        for i, nlp in enumerate(pipelines):
            start = time.process_time()
            words = sum(map(len, nlp.pipe(texts)))
            found[i] = max(found[i], words / (time.process_time() - start) if repeat else 0.0)
    return found


def cnn(examples: list[Example]) -> Language:
    """SpaCy's efficiency pipeline, trained just enough to make decisions."""
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec")
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "*"}
    tagger = {"@architectures": "spacy.Tagger.v2", "tok2vec": listener}
    nlp.add_pipe("tagger", config={"model": tagger})
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
    own = []
    for example in examples:
        gold = Doc(nlp.vocab).from_bytes(example.reference.to_bytes())
        own.append(Example(Doc(nlp.vocab, words=[token.text for token in gold]), gold))
    nlp.initialize(lambda: own)
    for start in range(0, len(own), 100):
        nlp.update(own[start : start + 100])
    return nlp


def start_up(pipeline: Path, **variables: str) -> tuple[float, float, float]:
    """Seconds to load the pipeline and parse once, without spaCy's import, with some environment
    variables; the memory of the process, and the unshared part of it, in MB.
    """
    line = [sys.executable, "-c", START.format(path=str(pipeline))]
    output = subprocess.check_output(line, text=True, env={**os.environ, **variables})
    seconds, *memory = map(float, output.split())
    return seconds, memory[0] / 1e3, memory[1] / 1e3


def start_ups(pipeline: Path) -> None:
    """Print the size on disk, and start-up with and without compiled code on disk."""
    print(f"pipeline on disk: {size_of(pipeline) / 1e6:.1f} MB")
    start_up(pipeline)
    warm, memory, own = start_up(pipeline)
    print(f"load and first parse: {warm:.2f} s")
    with tempfile.TemporaryDirectory() as compiled:
        cold, *_ = start_up(pipeline, NUMBA_CACHE_DIR=compiled)
    print(f"load and first parse, with compiling: {cold:.1f} s")
    print(f"memory after the first parse: {memory:.0f} MB, {own:.0f} of them its own")


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a directory."""
    return sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())


def train_all(folder: Path, train: Path, dev: Path, lang: str) -> list[Path]:
    """Train a pool, annotate with it, and train the guided pipeline; print the cost of each. Return
    both pipelines.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pool, guided = folder / "pool" / "model-best", folder / "guided" / "model-best"
    compact = folder / "compact"
    guides = folder / "guides.spacy"
    common = ["--paths.dev", dev, "--nlp.lang", lang, "--paths.classes", ""]
    guide = ["--components.hpyp_parser.guides", "true"]
    of_pool = ["--output", pool.parent, "--paths.train", train, *guide, *common]
    of_guided = ["--output", guided.parent, "--paths.train", guides, "--paths.parser", pool]
    steps = {
        "pool.cfg": ["train", "configs/pool.cfg", *of_pool],
        "guides": ["hpyp", "guides", pool, train, guides],
        "guided.cfg": ["train", "configs/guided.cfg", *of_guided, *common],
        "compact": ["hpyp", "compact", guided, compact],
    }
    for name, step in steps.items():
        start, line = time.perf_counter(), [sys.executable, "-m", "spacy", *map(str, step)]
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{name} has failed.")
        taken = time.perf_counter() - start
        cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6
        print(f"{name}: {taken:.0f} s, {cpu:.0f} of processor time, {memory:.2f} GB")
    wheel = Path(shutil.make_archive(str(folder / "wheel"), "zip", compact))
    print(f"wheel of the guided pipeline: {size_of(wheel) / 1e6:.1f} MB")
    return [pool, guided]


def with_gold_sentences(nlp: Language, spacys: Language, examples: list[Example]) -> None:
    parser = nlp.get_pipe("hpyp_parser")
    docs = [example.predicted for example in examples]
    list(parser.pipe([doc.copy() for doc in docs[:20]]))
    theirs = [
        Doc(spacys.vocab, words=[t.text for t in doc], spaces=[bool(t.whitespace_) for t in doc])
        for doc in docs
    ]
    for doc in theirs:
        for i, token in enumerate(doc):
            token.is_sent_start = i == 0
    peer = words_per_second(lambda some: list(spacys.pipe(some, batch_size=256)), theirs)
    print(f"gold sentences, one thread, spaCy's CNN: {peer:,.0f} words/s")
    usual = parser.particles
    for particles in dict.fromkeys((usual, 1000, 100, 10)):
        parser.particles = particles
        ours = words_per_second(lambda some: list(parser.pipe(some, batch_size=256)), docs)
        rate = f"{ours:,.0f} words/s, {ours / peer:.2f} of spaCy's CNN"
        print(f"gold sentences, hpyp_parser, K = {particles}: {rate}")
    parser.particles = usual


def sweeps(nlp: Language, path: Path, count: int, peer: float) -> None:
    train = list(create_gold_corpus(path)(nlp))
    words = sum(len(example.reference) for example in train)
    for sweep in range(count):
        start = time.perf_counter()
        nlp.get_pipe("hpyp_parser").update(train, sgd=False)
        elapsed = time.perf_counter() - start
        rate = f"{words / elapsed / peer:.2f} of the CNN's rate"
        print(f"Gibbs sweep {sweep + 1} over {words:,} words: {elapsed:.2f} s, {rate}")


def measure(pipeline: Path, arguments: argparse.Namespace) -> None:
    """Print the speed of a pipeline."""
    nlp = spacy.load(pipeline)
    print(f"\n{pipeline}: {', '.join(nlp.pipe_names)}")
    for _, component in nlp.pipeline:
        if hasattr(component, "threads"):
            component.threads = 1
    examples = list(create_gold_corpus(arguments.dev)(nlp))
    spacys = spacy.load(arguments.peer) if arguments.peer else cnn(examples[:600])
    texts = [doc.text for doc in read_treebank(arguments.dev, spacy.blank("xx").vocab)]
    theirs, ours = raw_words_per_second([spacys, nlp], texts)
    print(f"raw documents, one thread, spaCy's CNN: {theirs:,.0f} words/s")
    rate = f"{ours:,.0f} words/s, {ours / theirs:.2f} of spaCy's CNN"
    print(f"raw documents, one thread, all components: {rate}")
    if "hpyp_parser" in nlp.pipe_names and "easy_first_parser" not in nlp.pipe_names:
        with_gold_sentences(nlp, spacys, examples)
        sweeps(nlp, arguments.train, arguments.sweeps, theirs)
    start_ups(pipeline)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("pipeline", "train", "dev"):
        options.add_argument(name, type=Path)
    options.add_argument("--train", dest="lang", help="Train pipelines of a language into PIPELINE")
    options.add_argument("--sweeps", type=int, default=3)
    options.add_argument("--peer", help="A trained pipeline to compare with")
    arguments = options.parse_args()
    set_current_ops(NumpyOps())
    pipelines = [arguments.pipeline]
    if arguments.lang is not None:
        pipelines = train_all(arguments.pipeline, arguments.train, arguments.dev, arguments.lang)
    for pipeline in pipelines:
        measure(pipeline, arguments)
    if arguments.peer:
        print(f"load and first parse, spaCy's CNN: {start_up(Path(arguments.peer))[0]:.2f} s")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"peak memory of this process: {used:.2f} GB")


if __name__ == "__main__":
    main()
