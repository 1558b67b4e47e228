"""Attack the components: random documents, damaged files, and processes that are killed or interrupted.

    python tests/faults/run.py [documents] [files] [kills] [interrupts] [--documents N] [--files N] [--kills
    N] [--interrupts N] [--seed S]

Trains a small pipeline on assets/sample that has every component, and an n-gram model, and then
* parses random documents: any characters, white space, no token or one, very long ones, sentence boundaries
  and trees that were there before, and random settings. Trees, probabilities and what was set before are
  checked, and that a document has the same parse alone and in a batch;
* damages a file that was saved, its bytes or what is written in it, and loads it: it has to be refused with a
  message that names it, or be a model that parses and learns. A file with a checksum has to be refused
  whenever a byte was changed, and a view to be made again;
* kills processes that save a pipeline over another one, and runs of `hpyp learn`: what was saved before has
  to load and parse, and `learn --resume` has to go on. Where `nlp.to_disk` is killed while spaCy writes a
  file of its own, as config.cfg, that file is cut short, whatever the components are: this is counted by
  itself, and the pipeline has to load when spaCy's files are put back;
* interrupts what learns by SIGINT, in the first sweep, later, and while documents are left out: the component
  has to be saved and loaded, to parse then as it did before, and to go on learning.

Compiled code runs in processes of its own: one that crashes or hangs is counted, and the next case is tried.
Prints what went wrong and, at the end, the counts. The exit code is 1 if anything went wrong. The same seed
gives the same documents and files.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import damaged_files
import documents
import interrupts
import kills
from children import CRASH, ERROR, HANG, run_cases
from pipelines import SAMPLE, train_pipelines
from tqdm import tqdm

#: What is tried, and how often.
PARTS = {"documents": 100_000, "files": 10_000, "kills": 500, "interrupts": 500}


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


def try_documents(folder: Path, count: int, seed: int, seconds: float, report: Report) -> None:
    """Parse random documents."""
    found: Counter[str] = Counter()
    cases = -(-count // documents.BATCH)
    results = run_cases(documents.prepare, (folder / "one", seed, count), cases, seconds=seconds)
    for result in tqdm(results, "documents", cases, disable=None):
        if result.outcome in (CRASH, HANG, ERROR):
            found[result.outcome] += 1
            report.problem(f"documents, batch {result.number}: {result.outcome}: {result.details}")
        else:
            found["parsed"] += int(result.outcome)
    report.line(
        f"{count} random documents: {found['parsed']} parsed as they should be; {_wrong(found)} in batches"
    )


def try_files(folder: Path, count: int, seed: int, seconds: float, report: Report) -> None:
    """Load damaged files."""
    found: Counter[str] = Counter()
    damaged = folder / "damaged"
    shutil.copytree(folder / "one", damaged)
    arguments = (folder / "one", folder, damaged, seed)
    results = run_cases(damaged_files.prepare, arguments, count, seconds=seconds)
    for result in tqdm(results, "files", count, disable=None):
        found[result.outcome] += 1
        if result.outcome in (CRASH, HANG, ERROR):
            report.problem(f"files, case {result.number}: {result.outcome}: {result.details}")
    for kind in (damaged_files.BYTES, damaged_files.CONTENT):
        outcomes = (damaged_files.REFUSED, damaged_files.REPAIRED, damaged_files.LOADED)
        refused, repaired, loaded = (found[f"{outcome} {kind}"] for outcome in outcomes)
        report.line(
            f"{refused + repaired + loaded} files with damaged {kind}: {refused} refused, {repaired} views "
            f"made again, {loaded} loaded "
            "although damaged"
        )
    report.line(f"{count} damaged files: {_wrong(found)}")


def try_kills(folder: Path, count: int, seed: int, seconds: float, report: Report) -> None:
    """Kill processes while they save."""
    for name in ("saving", "learning"):
        (folder / name).mkdir()
    pipelines = (folder / "one", folder / "other")
    half = count // 2
    saved = kills.kill_saving(pipelines, folder / "saving", count - half, seed, seconds=seconds)
    found = _count(saved, "saving", report)
    report.line(
        f"{count - half} kills while a pipeline is saved: {found[kills.KEPT]} times all was there, "
        f"{found[kills.LOST]} times "
        f"something was lost, {found[kills.CUT_BY_SPACY]} times a file that spaCy writes was cut"
    )
    text = folder / "text.txt"
    text.write_text(4 * (SAMPLE / "raw.txt").read_text(encoding="utf8"), encoding="utf8")
    learned = kills.kill_learning(pipelines[0], text, folder / "learning", half, seed, seconds=seconds)
    found = _count(learned, "learning", report)
    report.line(
        f"{half} kills of 'hpyp learn-text': {found[kills.KEPT]} times all was there, {found[kills.LOST]} "
        f"times something was lost; "
        f"{found[kills.RESUMED]} runs went on from a checkpoint"
    )


def try_interrupts(folder: Path, count: int, seed: int, seconds: float, report: Report) -> None:
    """Interrupt what learns."""
    found: Counter[str] = Counter()
    results = run_cases(interrupts.prepare, (folder / "one", folder, seed), count, seconds=seconds)
    for result in tqdm(results, "interrupts", count, disable=None):
        found[result.outcome] += 1
        if result.outcome in (CRASH, HANG, ERROR):
            report.problem(f"interrupts, case {result.number}: {result.outcome}: {result.details}")
    during, after = (
        sum(number for outcome, number in found.items() if outcome.endswith(f" {when}"))
        for when in (interrupts.DURING, interrupts.AFTER)
    )
    if count > 20 and not during:
        report.problem("no interrupt came while something was learned")
    report.line(
        f"{count} interrupts: {during} while something was learned and {after} after it; what was saved went "
        f"on; {_wrong(found)}"
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
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "parts", nargs="*", metavar="PART", help=f"what to try, of {', '.join(PARTS)}; all without any"
    )
    for part, count in PARTS.items():
        options.add_argument(f"--{part}", type=int, default=count, help=f"how many {part}")
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
        # Of all processes.
        os.environ["SPACY_HPYP_CACHE"] = str(folder / "cache")
        train_pipelines(folder)
        for part, attack in zip(PARTS, (try_documents, try_files, try_kills, try_interrupts), strict=True):
            if not arguments.parts or part in arguments.parts:
                attack(folder, getattr(arguments, part), arguments.seed, arguments.seconds, report)
    report.show()
    sys.exit(1 if report.problems else 0)


if __name__ == "__main__":
    main()
