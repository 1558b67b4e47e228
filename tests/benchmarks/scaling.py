"""Cost of `hpyp parse --ray` on one machine beside one process, and its output after kills.

    python tests/benchmarks/scaling.py parse PIPELINE TEXT FOLDER --workers 1 2
    python tests/benchmarks/scaling.py kills PIPELINE TEXT FOLDER --times 5

PIPELINE is a trained pipeline, TEXT is a file or folder of text in UTF-8, FOLDER is for the output.
`parse` prints seconds and words a second with start-up. `kills` kills a worker and then the driver
in each run, and prints how often the output equals that of an undisturbed run. Nothing is
asserted.
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path


def command(given: argparse.Namespace, output: Path, *options: str) -> list[str]:
    """Return the command line."""
    line = [sys.executable, "-m", "spacy", "hpyp", "parse", str(given.pipeline), str(given.text)]
    return [*line, "-o", str(output), *options]


def parse(given: argparse.Namespace) -> None:
    """Print the speed of one process and of workers."""
    runs = {"one process": ("-t", "1")}
    runs |= {f"{n} workers": ("--ray", "local", "--workers", str(n)) for n in given.workers}
    words = 0
    for name, options in runs.items():
        output = given.folder / name.replace(" ", "-")
        shutil.rmtree(output, ignore_errors=True)
        begun = time.perf_counter()
        subprocess.run(command(given, output, *options), check=True, stderr=subprocess.DEVNULL)
        seconds = time.perf_counter() - begun
        words = words or len(re.findall(r"^\d+\t", output.read_text("utf8"), re.MULTILINE))
        speed = f"{words / seconds:,.0f} words/s"
        print(f"{name}: {words:,} words in {seconds:.1f} s, {speed}", flush=True)


def workers_of(driver: int) -> list[int]:
    """Find the processes of workers below a driver."""
    parents, found = {}, []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if b"MapWorker" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue

    def is_below(process: int) -> bool:
        return process == driver or (process in parents and is_below(parents[process]))

    return [process for process in found if is_below(process)]


def kills(given: argparse.Namespace) -> None:
    """Print how often the output is the same after kills."""
    options = ("--ray", "local", "--workers", "2")
    rng = random.Random(0)
    expected, same = {}, 0
    for number in range(given.times + 1):
        output = given.folder / str(number)
        shutil.rmtree(output, ignore_errors=True)
        victims = ["worker", "driver"] if number else []
        code = -1
        while code != 0:
            driver = subprocess.Popen(command(given, output, *options), stderr=subprocess.DEVNULL)
            ready = len(list(output.glob("part=*/*")))
            while driver.poll() is None:
                time.sleep(0.1)
                if victims and len(list(output.glob("part=*/*"))) > ready:
                    time.sleep(rng.random())
                    workers = workers_of(driver.pid)
                    if victims.pop(0) == "driver":
                        driver.kill()
                    elif workers:
                        os.kill(rng.choice(workers), signal.SIGKILL)
            code = driver.returncode
        found = {path.name: path.read_bytes() for path in output.glob("part=*/*")}
        expected = expected or found
        same += number > 0 and found == expected
        print(f"the same {same} of {number} times", flush=True)


def main() -> None:
    """Print figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["parse", "kills"])
    for name in ("pipeline", "text", "folder"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    (parse if given.what == "parse" else kills)(given)


if __name__ == "__main__":
    main()
