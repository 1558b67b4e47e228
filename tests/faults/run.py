"""Attack the parser: random documents, damaged model files, and processes that are killed while they save.

    python tests/faults/run.py [documents] [files] [kills] [--documents N] [--files N] [--kills N] [--seed S]

Trains a small pipeline on assets/sample, and then
* parses random documents: any characters, white space, no token or one, very long ones, sentence boundaries and trees that
  were there before, and random settings. Trees, probabilities and what was set before are checked;
* damages the model file, its bytes or what is written in it, and loads it: it has to be refused with a message that names it, or
  be a model that parses and learns. A file with a checksum has to be refused whenever a byte was changed;
* kills processes that save a pipeline over another one, and runs of `hpyp learn`: what was saved before has to load and parse, and
  `learn --resume` has to go on. Where `nlp.to_disk` is killed while spaCy writes a file of its own, as config.cfg, that file is
  cut short, whatever the components are: this is counted by itself, and the pipeline has to load when spaCy's files are put back.

Compiled code runs in processes of its own: one that crashes or hangs is counted, and the next case is tried. Prints what went
wrong and, at the end, the counts. The exit code is 1 if anything went wrong. The same seed gives the same documents and files.
"""

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import damaged_files
import documents
import kills
import spacy
from children import CRASH, ERROR, HANG, run_cases
from spacy.cli.convert import convert
from spacy.cli.train import train
from spacy.training import Corpus
from tqdm import tqdm

PROJECT = Path(__file__).resolve().parent.parent.parent
SAMPLE = PROJECT / "assets" / "sample"
PARTS = ("documents", "files", "kills")
#: Enough for trees that make sense.
STEPS = {"paper": {"training.max_steps": 4}, "pool": {"training.max_steps": 6, "training.batcher.parts": 3}}


class Report:
    """What was counted, and how often something went wrong.

    problems (int): How many cases went wrong.
    """

    def __init__(self) -> None:
        self.problems = 0
        self._lines: list[str] = []

    def problem(self, text: str) -> None:
        """Count a case that went wrong, and print what happened at once."""
        self.problems += 1
        print(text, file=sys.stderr, flush=True)

    def line(self, text: str) -> None:
        """Add a line of counts."""
        self._lines.append(text)

    def show(self) -> None:
        """Print the counts."""
        print("\n".join(self._lines))


def train_pipeline(folder: Path, config: str) -> None:
    """Train a pipeline on the sample: `folder/model-last`, and `folder/other`, which has learned something besides."""
    for part in ("train", "dev"):
        convert(SAMPLE / f"en_sample-ud-{part}.conllu", folder, converter="conllu", file_type="spacy", n_sents=10)
    overrides = {
        "paths.train": str(folder / "en_sample-ud-train.spacy"),
        "paths.dev": str(folder / "en_sample-ud-dev.spacy"),
        "components.hpyp_parser.particles": 10,
        "training.eval_frequency": 1000,
        **STEPS[config],
    }
    train(PROJECT / "configs" / f"{config}.cfg", folder, overrides=overrides)
    nlp = spacy.load(folder / "model-last")
    nlp.update(list(Corpus(folder / "en_sample-ud-train.spacy")(nlp))[:1])
    nlp.to_disk(folder / "other")


def try_documents(folder: Path, count: int, seed: int, seconds: float, report: Report) -> None:
    """Parse random documents."""
    found: Counter[str] = Counter()
    cases = -(-count // documents.BATCH)
    results = run_cases(documents.prepare, (folder / "model-last", seed, count), cases, seconds=seconds)
    for result in tqdm(results, "documents", cases, disable=None):
        if result.outcome in (CRASH, HANG, ERROR):
            found[result.outcome] += 1
            report.problem(f"documents, batch {result.number}: {result.outcome}: {result.details}")
        else:
            found["parsed"] += int(result.outcome)
    report.line(f"{count} random documents: {found['parsed']} parsed as they should be; {_wrong(found)} in batches")


def try_files(folder: Path, count: int, seed: int, seconds: float, report: Report) -> None:
    """Load damaged model files."""
    found: Counter[str] = Counter()
    damaged = folder / "damaged"
    shutil.copytree(folder / "model-last" / "hpyp_parser", damaged)
    arguments = (folder / "model-last", folder / "en_sample-ud-train.spacy", damaged, seed)
    results = run_cases(damaged_files.prepare, arguments, count, seconds=seconds)
    for result in tqdm(results, "files", count, disable=None):
        found[result.outcome] += 1
        if result.outcome in (CRASH, HANG, ERROR):
            report.problem(f"files, case {result.number}: {result.outcome}: {result.details}")
    for kind in (damaged_files.BYTES, damaged_files.CONTENT):
        refused, loaded = (found[f"{outcome} {kind}"] for outcome in (damaged_files.REFUSED, damaged_files.LOADED))
        report.line(
            f"{refused + loaded} files with damaged {kind}: {refused} refused, {loaded} loaded although damaged"
        )
    report.line(f"{count} damaged files: {_wrong(found)}")


def try_kills(folder: Path, count: int, seed: int, seconds: float, report: Report) -> None:
    """Kill processes while they save."""
    for name in ("saving", "learning"):
        (folder / name).mkdir()
    pipelines = (folder / "model-last", folder / "other")
    half = count // 2
    saved = kills.kill_saving(pipelines, folder / "saving", count - half, seed, seconds=seconds)
    found = _count(saved, "saving", report)
    report.line(
        f"{count - half} kills while a pipeline is saved: {found[kills.KEPT]} times all was there, {found[kills.LOST]} times "
        f"something was lost, {found[kills.CUT_BY_SPACY]} times a file that spaCy writes was cut"
    )
    text = folder / "text.txt"
    text.write_text(4 * (SAMPLE / "raw.txt").read_text(encoding="utf8"), encoding="utf8")
    learned = kills.kill_learning(pipelines[0], text, folder / "learning", half, seed, seconds=seconds)
    found = _count(learned, "learning", report)
    report.line(
        f"{half} kills of 'hpyp learn': {found[kills.KEPT]} times all was there, {found[kills.LOST]} times something was lost; "
        f"{found[kills.RESUMED]} runs went on from a checkpoint"
    )


def _count(outcomes: Iterable[str], name: str, report: Report) -> Counter[str]:
    found: Counter[str] = Counter()
    for outcome in tqdm(outcomes, name, disable=None):
        kind, _, problem = outcome.partition(":")
        found[kind] += 1
        if kind == kills.LOST:
            report.problem(f"{name}: {problem}")
    return found


def _wrong(found: Counter[str]) -> str:
    return f"{found[CRASH]} crashes, {found[HANG]} hangs, {found[ERROR]} errors"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "parts", nargs="*", metavar="PART", help=f"what to try, of {', '.join(PARTS)}; all without any"
    )
    options.add_argument("--documents", type=int, default=20_000, help="how many random documents")
    options.add_argument("--files", type=int, default=5_000, help="how many damaged model files")
    options.add_argument(
        "--kills", type=int, default=60, help="how many kills, of saving and of 'hpyp learn' in equal parts"
    )
    options.add_argument("--config", choices=sorted(STEPS), default="pool", help="which config to train with")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument(
        "--seconds", type=float, default=600.0, help="after how long without an answer a process hangs"
    )
    arguments = options.parse_args()
    unknown = set(arguments.parts) - set(PARTS)
    if unknown:
        options.error(f"there is no part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train_pipeline(folder, arguments.config)
        for part, attack in zip(PARTS, (try_documents, try_files, try_kills)):
            if not arguments.parts or part in arguments.parts:
                attack(folder, getattr(arguments, part), arguments.seed, arguments.seconds, report)
    report.show()
    sys.exit(1 if report.problems else 0)


if __name__ == "__main__":
    main()
