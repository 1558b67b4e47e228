"""What workers of a Ray cluster on one machine cost, beside one process without Ray.

    python tests/benchmarks/scaling.py parse PIPELINE TEXT FOLDER --workers 1 2
    python tests/benchmarks/scaling.py shards FOLDER --shards 10000
    python tests/benchmarks/scaling.py kills PIPELINE TEXT FOLDER --times 20 --shard-size 8000
    python tests/benchmarks/scaling.py heaps TEXT

PIPELINE is a trained pipeline, TEXT is text in UTF-8, FOLDER is for what is written. `parse` prints words in
a second, of the clock and of processor time in workers, and how much memory these have after their first and
their last shard; `shards` what a shard costs that has one word, and the memory of the driver; `kills` how
often the output had the same bytes as that of an undisturbed run, where a worker was killed every 20 s, one
of two nodes in the middle, and the driver twice; `heaps` how the numbers of different words, pairs and
5-grams grow with text. Nothing is asserted.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from spacy_hpyp.cli.parse import ParseTask, Source, parsed
from spacy_hpyp.cli.shards import identity_of_model
from spacy_hpyp.distributed.cluster import connected, run_shards
from spacy_hpyp.distributed.folder import Folder
from spacy_hpyp.distributed.inputs import cut, find_files
from spacy_hpyp.text.ngrams import add_up, ngram_rows


def resident() -> float:
    """The resident memory of this process, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@dataclass(frozen=True)
class Timed(ParseTask):
    """Parses, and notes what it has taken so far.

    log (str): Where; a line for each batch has the process, words, processor time in seconds and memory in
        MB.
    """

    log: str = ""

    def process(self):
        """What parses documents."""
        inner = super().process()

        def process(shard, documents):
            found, words = inner(shard, documents)
            with Path(self.log).open("a") as file:
                file.write(f"{os.getpid()} {words} {time.process_time()} {resident()}\n")
            return found, words

        return process


@dataclass(frozen=True)
class Copy(ParseTask):
    """Writes texts as they are."""

    def start(self):
        """What copies documents."""
        return lambda shard, documents: ([document.text for document in documents], len(documents))


@dataclass(frozen=True)
class Mortal(ParseTask):
    """Parses, and notes which processes do.

    pids (str): A folder that has a file for each.
    """

    pids: str = ""

    def process(self):
        """What parses documents."""
        process = super().process()
        Path(self.pids, str(os.getpid())).write_text(started(os.getpid()))
        return process


def fresh(folder: Path) -> Path:
    """A folder that is empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def busy() -> float:
    """How long all cores of this machine have worked since it was started, in seconds."""
    return sum(map(int, Path("/proc/stat").read_text().split()[1:4])) / os.sysconf("SC_CLK_TCK")


def workers_beside_one_process(given: argparse.Namespace) -> None:
    """Print words in a second."""
    from spacy_hpyp.cli.app import load_pipeline, set_threads

    nlp = load_pipeline(given.pipeline)
    set_threads(nlp, 1)
    nlp("Ready ?")
    all_cores, clock, processor = busy(), time.perf_counter(), time.process_time()
    lines = list(parsed(nlp, Source(given.text, "text", False), None))
    all_cores, clock, processor = (
        busy() - all_cores,
        time.perf_counter() - clock,
        time.process_time() - processor,
    )
    words = sum(line.split("\t")[0].isdigit() for sentence in lines for line in sentence.splitlines())
    print(
        f"one process: {words:,} words, {words / clock:,.0f} words/s, {words / processor:,.0f} a second of "
        f"processor time; others took "
        f"{(all_cores - processor) / clock:.2f} cores"
    )
    del nlp, lines
    shards = cut(find_files([str(given.text)]), given.shard_size, column="")
    for number in given.workers:
        log = fresh(given.folder) / "log"
        task = Timed(
            str(given.pipeline),
            identity_of_model(str(given.pipeline)),
            False,
            "",
            "conllu",
            "words",
            str(log),
        )
        folder = Folder(str(given.folder / "out"), "conllu")
        folder.begin({"command": "parse"})
        begun = time.perf_counter()
        with connected("local[2]"):
            started = time.perf_counter()
            # Of each shard that is there: when, how many words there are then, what all cores have worked and
            # the driver, and how many batches are in the log.
            seen: list[tuple[float, int, float, float, int]] = []

            def note(summary, seen=seen, log=log):
                batches = len(log.read_text().splitlines()) if log.exists() else 0
                seen.append((time.perf_counter(), summary.words, busy(), time.process_time(), batches))

            settings = {"workers": number, "max_errors": 0, "progress": note}
            run_shards(task, folder, {"command": "parse"}, shards, **settings)
        rows = [line.split() for line in log.read_text().splitlines()]
        memory = {row[0]: [float(row[3])] for row in reversed(rows)}
        for row in rows:
            memory[row[0]].append(float(row[3]))
        # When each has had one, all are at work.
        ready, before, cores, driver_before, batches = seen[number]
        end, total, all_cores, driver_, _ = seen[-1]
        seconds, words = driver_ - driver_before, 0
        worked = {row[0]: float(row[2]) for row in rows[:batches]}
        for row in rows[batches:]:
            seconds += float(row[2]) - worked[row[0]]
            worked[row[0]], words = float(row[2]), words + int(row[1])
        print(
            f"{number} workers: {total:,} words in {len(shards)} shards; after {number}, {(total - before) / (end - ready):,.0f} "
            f""
            f"words/s, "
            f"{words / seconds:,.0f} a second of processor time, that of the driver ({driver_ - driver_before:.2f} "
            f""
            f"s) with it; "
            f"others and Ray took {(all_cores - cores - seconds) / (end - ready):.2f} cores; cluster "
            f"{started - begun:.1f} s, "
            f"first shard {seen[1][0] - started:.1f} s; memory "
            + ", ".join(f"{own[1]:.0f} to {own[0]:.0f} MB (most {max(own):.0f})" for own in memory.values())
        )


def many_shards(given: argparse.Namespace) -> None:
    """Print what a shard costs that has one word."""
    text = fresh(given.folder) / "text.txt"
    text.write_text("".join(f"word {i:06d}\n\n" for i in range(given.shards)))
    shards = cut(find_files([str(text)]), 13, column="")
    folder = Folder(str(given.folder / "out"), "txt")
    folder.begin({"command": "copy"})
    with connected("local[2]"):
        memory = []

        def note(summary):
            if summary.done % (given.shards // 10) == 0:
                memory.append(f"{resident():.0f}")

        clock, processor = time.perf_counter(), time.process_time()
        task = Copy("", "", False, "", "conllu", "words")
        run_shards(task, folder, {"command": "copy"}, shards, workers=2, max_errors=0, progress=note)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
    print(
        f"{len(shards):,} shards: {1000 * clock / len(shards):.1f} ms each, {1000 * processor / len(shards):.1f} "
        f""
        f"ms of the driver's processor time; "
        f"memory of the driver {' '.join(memory)} MB"
    )
    clock = time.perf_counter()
    folder.done()
    print(f"what is done was found in {time.perf_counter() - clock:.1f} s")


def driver(given: argparse.Namespace) -> None:
    """Parse a text."""
    folder = Folder(str(given.folder), "conllu")
    folder.begin({"command": "parse"})
    made_of = identity_of_model(str(given.pipeline))
    task = Mortal(
        str(given.pipeline), made_of, False, "", "conllu", "words", str(given.folder.parent / "pids")
    )
    shards = cut(find_files([str(given.text)]), given.shard_size, column="")
    with connected(given.address):
        told = {"workers": 2, "max_errors": 0, "progress": lambda summary: None}
        failed = run_shards(task, folder, {"command": "parse"}, shards, **told).failed
    sys.exit(f"set aside: {failed}" if failed else 0)


def kills(given: argparse.Namespace) -> None:
    """Print how often the output was the same."""
    from ray.cluster_utils import Cluster

    # Where others have all cores a node is slow to answer, but it is there, and workers come to nothing after
    # everybody else.
    os.environ.setdefault("RAY_health_check_failure_threshold", "10")
    os.environ.setdefault("RAY_worker_niceness", "0")
    node = {"num_cpus": 1, "object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        kill_and_compare(given, cluster, node)
    finally:
        cluster.shutdown()


def kill_and_compare(given: argparse.Namespace, cluster: Any, settings: dict) -> None:
    """Kill workers, a node and drivers."""
    number = len(cut(find_files([str(given.text)]), given.shard_size, column=""))
    pids = fresh(given.folder) / "pids"
    rng = np.random.default_rng(0)
    same, expected = 0, {}
    for run_ in range(given.times + 1):
        out, log = given.folder / str(run_), (given.folder / f"{run_}.log").open("w")
        fresh(pids)
        begun = time.monotonic()
        due = begun + 20
        node, workers, nodes, drivers, again = another_node(cluster, settings), 0, 0, 0, 0
        # When so many shards are there, the driver is killed; in the middle the node leaves, and another one
        # comes.
        ends = sorted(rng.integers(1, number, 2).tolist()) if run_ else []
        while True:
            line = [
                sys.executable,
                __file__,
                "driver",
                str(given.pipeline),
                str(given.text),
                str(out),
                cluster.address,
            ]
            process = subprocess.Popen([*line, "--shard-size", str(given.shard_size)], stderr=log)
            while process.poll() is None:
                time.sleep(0.2)
                done = len(list(out.glob("_done/*/*.json")))
                if run_ and time.monotonic() > due:
                    due += 20
                    # Until one is ready there is nothing to lose.
                    for own in rng.permutation(workers_in(pids))[:1].tolist():
                        os.kill(own, signal.SIGKILL)
                        workers += 1
                if run_ and not nodes and 2 * done >= number:
                    cluster.remove_node(node, allow_graceful=False)
                    node, nodes = another_node(cluster, settings), 1
                if ends and done >= ends[0]:
                    del ends[0]
                    process.kill()
                    drivers += 1
            # One that has failed by itself is started again as well, and counted.
            again += process.wait() > 0
            if process.returncode == 0 or again > 5:
                break
        found = {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        expected = found if not run_ else expected
        same += bool(run_) and found == expected and process.returncode == 0
        print(
            f"the same {same} of {run_} times; {workers} workers, {nodes} node and {drivers} drivers killed, "
            f"{again} failed by themselves, "
            f"{time.monotonic() - begun:.0f} s",
            flush=True,
        )
        cluster.remove_node(node)
        log.close()


def another_node(cluster: Any, settings: dict) -> Any:
    """A node of a cluster; Ray gives one half a minute to start, which where others have all cores may be too
    little.
    """
    for _ in range(10):
        try:
            return cluster.add_node(**settings)
        except Exception as error:
            print(f"A node was not ready in time: {error}", file=sys.stderr)
    raise TimeoutError("No node gets ready.")


def started(process: int) -> str:
    """When a process has started: its number alone may be that of another one by now. "" if it has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def workers_in(folder: Path) -> list[int]:
    """The workers that have noted in a folder that they are ready, and that run."""
    return [int(path.name) for path in folder.iterdir() if path.read_text() == started(int(path.name)) != ""]


def heaps(given: argparse.Namespace) -> None:
    """Print how many different words, pairs and 5-grams there are in a half, a quarter ... of a text, and the
    exponents of Heaps' law.
    """
    from spacy_hpyp.cli.raw_text import opened

    with opened(given.text) as file:
        words = file.read().split()
    sizes = [len(words) >> i for i in range(6)]
    number: dict[str, int] = {}
    numbers = np.array([number.setdefault(word, len(number)) for word in words], dtype=np.int64)
    grams = ngram_rows(5)(np.append(0, numbers + 1).astype(np.int32))
    for name, values in (("words", grams[:, :1]), ("pairs", grams[1:, :2]), ("5-grams", grams[4:])):
        found = [len(add_up(values[:size], np.ones(len(values[:size]), dtype=np.int64))[0]) for size in sizes]
        exponent = np.polyfit(np.log(sizes), np.log(found), 1)[0]
        steps = ", ".join(f"{count:,} in {size:,}" for count, size in zip(found, sizes))
        local = np.mean([np.log2(more / less) for more, less in pairwise(found[:3])])
        print(f"different {name}: {steps}; exponent {exponent:.3f}, of the last two doublings {local:.3f}")


def main() -> None:
    """Print figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    own = commands.add_parser("parse")
    own.add_argument("pipeline", type=Path)
    own.add_argument("text", type=Path)
    own.add_argument("folder", type=Path)
    own.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    own.add_argument("--shard-size", type=int, default=100_000)
    own.set_defaults(run=workers_beside_one_process)
    own = commands.add_parser("shards")
    own.add_argument("folder", type=Path)
    own.add_argument("--shards", type=int, default=10_000)
    own.set_defaults(run=many_shards)
    for name, run in (("kills", kills), ("driver", driver)):
        own = commands.add_parser(name)
        own.add_argument("pipeline", type=Path)
        own.add_argument("text", type=Path)
        own.add_argument("folder", type=Path)
        own.add_argument(
            *(["--times"] if run is kills else ["address"]),
            **({"type": int, "default": 20} if run is kills else {}),
        )
        own.add_argument("--shard-size", type=int, default=8000)
        own.set_defaults(run=run)
    own = commands.add_parser("heaps")
    own.add_argument("text", type=Path)
    own.set_defaults(run=heaps)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
