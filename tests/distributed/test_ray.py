"""Workers of a Ray cluster write the same bytes, whichever process is killed."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from command_line import run

from spacy_hpyp.distributed.run import Task, find_shards, run_shards

pytestmark = pytest.mark.ray
TEXT = "".join(
    f"The dog sees {i} cats. Ada sleeps.\n\nKim waits near the old bird.\n\n" for i in range(20)
)


@pytest.fixture(scope="session")
def ray():
    """A cluster on this machine, shared by all commands of this process."""
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        # Workers must be able to import the tasks of this file.
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        settings = {"include_dashboard": False, "object_store_memory": 80_000_000}
        ray.init("local", num_cpus=2, logging_level="error", log_to_driver=False, **settings)
        yield ray
        ray.shutdown()


def load_writer(seconds, marks):
    """Return a function that writes texts, optionally slowly. Marked words kill its worker."""
    seconds = float(seconds)

    def write(path, name, file):
        time.sleep(seconds)
        for word in path.read_text().split():
            mark = Path(marks) / f"{word}.kills"
            if mark.exists() and (left := int(mark.read_text())):
                mark.write_text(str(left - 1))
                os.kill(os.getpid(), signal.SIGKILL)
            file.write(f"{word}\n")

    return write


def make(ray, text, output, marks, *, seconds="0", workers=2):
    """Make the missing files, and return the problems of finished shards."""
    task = Task(partial(load_writer, seconds, str(marks)), Path(output), "txt")
    task.begin({"command": "test"})
    shards = [one for one in find_shards([Path(text)]) if one.number not in task.done()]
    return list(run_shards(ray, task, shards, workers))


def files_of(folder):
    """The complete files. Incomplete files are removed when their shard is written again."""
    files = [path for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".tmp"]
    return {path.relative_to(folder): path.read_bytes() for path in files}


def test_parse_output_is_the_same_without_ray_and_with_any_workers(ray, saved, write, tmp_path):
    paths = [write(TEXT, f"{name}.txt") for name in "abc"]
    common = ("hpyp", "parse", saved, *paths, "--ray", "auto")
    for workers in (1, 2):
        run(*common, "--workers", workers, "-o", tmp_path / f"by-{workers}")
    ours, theirs = files_of(tmp_path / "by-1"), files_of(tmp_path / "by-2")
    assert ours == theirs
    parsed = [ours[path].decode() for path in sorted(ours) if path.suffix == ".conllu"]
    assert len(parsed) == 3
    run("hpyp", "parse", saved, *paths, "-o", tmp_path / "alone.conllu")
    assert "".join(parsed) == (tmp_path / "alone.conllu").read_text("utf8")
    # Repeating the command does nothing, and a different command is rejected.
    assert "Saved 0 shards" in run(*common, "-o", tmp_path / "by-1").output
    done = run(*common, "--per-line", "-o", tmp_path / "by-1", exit_code=1)
    assert "per_line was False, and is True" in " ".join(done.output.split())


@pytest.fixture(scope="module")
def undisturbed(ray, tmp_path_factory):
    """Texts, a folder of marks, and the files that an undisturbed run makes of the texts."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "texts").mkdir()
    for number in range(6):
        paragraphs = (f"This is paragraph {i} ." for i in range(10 * number, 10 * number + 10))
        (folder / "texts" / f"{number}.txt").write_text("\n\n".join(paragraphs))
    assert make(ray, folder / "texts", folder / "out", folder, workers=1) == [""] * 6
    return folder / "texts", folder, files_of(folder / "out")


def test_dead_workers_are_replaced_and_shards_that_kill_three_are_skipped(
    ray, undisturbed, tmp_path
):
    text, marks, expected = undisturbed
    for word, times in (("17", 1), ("31", 3)):
        (marks / f"{word}.kills").write_text(str(times))
    make(ray, text, tmp_path / "out", marks)
    found = files_of(tmp_path / "out")
    assert len(found) == len(expected) - 1
    # The same command tries again.
    make(ray, text, tmp_path / "out", marks)
    assert files_of(tmp_path / "out") == expected


def test_rerunning_a_killed_driver_completes_the_output(ray, undisturbed, tmp_path):
    text, marks, expected = undisturbed
    program = (
        "import ray; ray.init('local', num_cpus=1, log_to_driver=False, include_dashboard=False)\n"
        "import ray.data; from test_ray import make\n"
        f"make(ray, {str(text)!r}, {str(tmp_path)!r}, {str(marks)!r}, seconds='0.2', workers=1)"
    )
    driver = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    while not list(tmp_path.glob("part=*/*.txt")):
        assert driver.poll() is None
        time.sleep(0.02)
    driver.kill()
    driver.wait()
    assert len(files_of(tmp_path)) < len(expected)
    make(ray, text, tmp_path, marks)
    assert files_of(tmp_path) == expected


def test_problems_are_reported(ray, undisturbed, saved, write, tmp_path):
    text, _, _ = undisturbed
    assert "soon" in make(ray, text, tmp_path / "out", tmp_path, seconds="soon")[0]
    task = Task(partial(load_writer, "0", ""), tmp_path / "other", "txt")
    assert "share" in next(run_shards(ray, task, find_shards([Path(text)]), 1))
    common = "hpyp", "parse", saved, write(TEXT), "--ray", "localhost:1"
    assert "--output" in run(*common, exit_code=1).output
