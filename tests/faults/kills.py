"""Processes that are killed while they save: what had been saved before is there, and learning goes on from
it.
"""

import itertools
import multiprocessing
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import spacy
from checks import check_trees
from pipelines import COMPONENTS, NGRAM
from spacy.cli import setup_cli
from spacy.language import Language

from spacy_hpyp.language_model.ngram import NGramModel
from spacy_hpyp.training.raw_training import last_checkpoint

#: What may come of a kill, and of going on after it.
KEPT, LOST, RESUMED = "kept", "lost", "resumed"
#: A file that spaCy writes itself, and not as a whole, was cut short; see the Limits in README.md. The model
#: is there.
CUT_BY_SPACY = "file of spaCy's cut"
_TEXT = "The ferry leaves at noon. Zenobia forgot the bread."
#: Processes have from this one what is compiled and loaded: they are killed while they save, and not while
#: they start.
_FORK = multiprocessing.get_context("fork")


def kill_saving(
    pipelines: tuple[Path, Path], folder: Path, count: int, seed: int, *, seconds: float
) -> Iterator[str]:
    """Kill processes that save two pipelines in turn to the same path.

    pipelines (tuple[Path, Path]): The pipelines, which have the same settings and different models, each with
        an n-gram model.
    folder (Path): An empty directory.
    count (int): How many kills.
    seed (int): Fixes how long processes run, which is not quite the same as where they are killed.
    seconds (float): How long a process may take to start.
    YIELDS (str): KEPT, CUT_BY_SPACY, or LOST and why.
    """
    rng = random.Random(seed)
    target = folder / "saved"
    shutil.copytree(pipelines[0], target)
    # Views are removed with the model that they are of, and made again.
    kept = [file for file in own_files(pipelines[0]) if file.name != "view.bin"]
    saved = {file: [(pipeline / file).read_bytes() for pipeline in pipelines] for file in kept}
    both = [(spacy.load(pipeline), NGramModel.from_disk(pipeline / NGRAM)) for pipeline in pipelines]
    for _ in range(count):
        pipe, end = _FORK.Pipe(duplex=False)
        child = _FORK.Process(target=_save_for_ever, args=(end, both, target), daemon=True)
        child.start()
        end.close()
        if not pipe.poll(seconds) or pipe.recv() != "saving":
            raise RuntimeError("A process that should save pipelines does not begin.")
        time.sleep(rng.uniform(0.0, 0.5))
        child.kill()
        child.join()
        pipe.close()
        lost = [str(file) for file, both in saved.items() if (target / file).read_bytes() not in both]
        if lost:
            yield f"{LOST}: neither of the two that were saved: {', '.join(lost)}"
            continue
        problem = _problem(target)
        if problem:
            shutil.copytree(pipelines[0], target, dirs_exist_ok=True, ignore=lambda *_: COMPONENTS)
            yield f"{LOST}: {problem}" if _problem(target) else CUT_BY_SPACY
        else:
            yield KEPT


def own_files(pipeline: Path) -> list[Path]:
    """The files of a pipeline that this package has written, relative to it."""
    files = [file for name in COMPONENTS for file in sorted((pipeline / name).glob("*"))]
    return [file.relative_to(pipeline) for file in [*files, pipeline / NGRAM]]


def _save_for_ever(pipe: Connection, both: Sequence[tuple[Language, NGramModel]], target: Path) -> None:
    pipe.send("saving")
    while True:
        for nlp, words in both:
            nlp.to_disk(target)
            words.to_disk(target / NGRAM)


def _problem(pipeline: Path) -> str:
    """Why a pipeline cannot be loaded or does not parse; empty if it does."""
    try:
        nlp = spacy.load(pipeline)
        check_trees(nlp(_TEXT))
        if (pipeline / NGRAM).exists():
            NGramModel.from_disk(pipeline / NGRAM)
    except Exception as error:
        return f"{pipeline}: {type(error).__name__}: {error}"
    return ""


def kill_learning(
    pipeline: Path, text: Path, folder: Path, count: int, seed: int, *, seconds: float
) -> Iterator[str]:
    """Kill runs of `hpyp learn-text`, and let each go on where the one before was killed; the last one may
    end.

    pipeline (Path): A trained pipeline.
    text (Path): Tokenized sentences, one a line.
    folder (Path): An empty directory.
    count (int): How many kills.
    seed (int): Fixes how long processes run.
    seconds (float): How long one may take to the first thing that it saves, and the last one to its end.
    YIELDS (str): For each kill KEPT, or LOST and why; and RESUMED for each run that has gone on from a
        checkpoint.
    """
    rng = random.Random(seed)
    outputs = (folder / f"run{number}" for number in itertools.count())
    output, words, killed = next(outputs), 0, 0
    while killed < count:
        process = _start_learning(pipeline, text, output)
        if rng.random() < 0.9:
            _wait_for_change(output, process, seconds)
        message, code = _end(process, output, rng.uniform(0.0, 2.0))
        killed += code < 0
        found, problem = _saved(output, message, code)
        if found > words > 0:
            yield RESUMED
        if problem or found < words:
            yield f"{LOST}: {problem or f'a checkpoint of {words} words has become one of {found}'}"
        elif code < 0:
            yield KEPT
        words = found
        if problem or code >= 0 or ((output / "model-last").exists() and last_checkpoint(output)[0] is None):
            output, words = next(outputs), 0
    if words > 0:
        message, code = _end(_start_learning(pipeline, text, output), output, seconds)
        _, problem = _saved(output, message, code)
        everything = len(text.read_text(encoding="utf8").split())
        if not problem and f"Learned from {everything:,} words" not in " ".join(message.split()):
            problem = f"the last run has not learned from {everything:,} words: {message[-500:]}"
        yield f"{LOST}: {problem}" if problem else RESUMED


def _start_learning(pipeline: Path, text: Path, output: Path) -> BaseProcess:
    settings = "--tokenized --learning all --particles 5 --batch-words 40 --checkpoint-words 80".split()
    resume = ["--resume"] if last_checkpoint(output)[0] else []
    command = ["spacy", "hpyp", "learn-text", str(pipeline), str(text), str(output), *settings, *resume]
    process = _FORK.Process(target=_run, args=(command, _printed(output)), daemon=True)
    process.start()
    return process


def _run(command: list[str], printed: Path) -> None:
    with printed.open("w", encoding="utf8") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.argv = command
    setup_cli()


def _end(process: BaseProcess, output: Path, seconds: float) -> tuple[str, int]:
    """Kill a run if it has not ended after some time; what it printed, and its exit code, below 0 if it was
    killed.
    """
    process.join(seconds)
    process.kill()
    process.join()
    return _printed(output).read_text(encoding="utf8"), process.exitcode


def _printed(output: Path) -> Path:
    return output.with_suffix(".txt")


def _wait_for_change(folder: Path, process: BaseProcess, seconds: float) -> None:
    def names() -> list[str]:
        return sorted(path.name for path in folder.glob("*"))

    before, end = names(), time.monotonic() + seconds
    while names() == before and process.is_alive() and time.monotonic() < end:
        time.sleep(0.01)


def _saved(output: Path, message: str, code: int) -> tuple[int, str]:
    """How many words what has been saved has been learned from, and what is wrong with it.

    message (str), code (int): What the last run has printed, and its exit code; below 0 if it was killed.
    """
    if code > 0:
        return 0, f"'learn' ends with {message[-500:]}"
    try:
        checkpoint, done = last_checkpoint(output)
    except ValueError as error:
        return 0, str(error)
    if checkpoint is not None:
        return done.words, _problem(checkpoint)
    if code < 0 and not (output / "model-last").exists():
        return 0, ""
    # All has been learned.
    return sys.maxsize, _problem(output / "model-last")
