"""Workers of a Ray cluster make the same bytes, whoever is killed."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_line import run

from spacy_hpyp.distributed.inputs import find_shards
from spacy_hpyp.distributed.run import Folder, Task, run_shards

pytestmark = pytest.mark.ray
TEXT = "".join(
    f"The dog sees {i} cats. Ada sleeps.\n\nKim waits near the old bird.\n\n" for i in range(20)
)


@pytest.fixture(scope="session")
def ray():
    """A cluster of this machine, which all commands of this process use."""
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        # Workers have to find the tasks of this file.
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        settings = {
            "include_dashboard": False,
            "object_store_memory": 80_000_000,
            "log_to_driver": False,
        }
        ray.init("local", num_cpus=2, logging_level="error", **settings)
        yield ray
        ray.shutdown()


@pytest.fixture(scope="module")
def model(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("ray") / "model"
    trained.to_disk(path)
    return path


@dataclass(frozen=True)
class Words(Task):
    """Writes texts, slowly if it is told; where a folder says so, a word ends its worker."""

    marks: str

    def process(self):
        folder = Path(self.marks)

        def process(shard, documents):
            time.sleep(float(self.model or 0))
            for word in (word for document in documents for word in document.text.split()):
                mark = folder / f"{word}.kills"
                if mark.exists() and (left := int(mark.read_text())):
                    mark.write_text(str(left - 1))
                    os.kill(os.getpid(), signal.SIGKILL)
            return [f"{document.place} {document.text}\n" for document in documents], len(documents)

        return process


def make(ray, text, output, marks, *, seconds="", workers=2):
    """Make what is missing; returns the rows of the shards that ended."""
    out = Folder(Path(output), "txt")
    out.begin({"command": "test"})
    shards = [one for one in find_shards([Path(text)]) if one.number not in out.done()]
    task = Words(seconds, False, "txt", str(marks))
    return list(run_shards(ray, task, out, {"command": "test"}, shards, workers))


def files_of(folder):
    """The complete files; others are removed when theirs is written again."""
    files = [path for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".tmp"]
    return {path.relative_to(folder): path.read_bytes() for path in files}


def without_names(text):
    return re.sub(r"^# (sent_id|newpar id|newdoc id) = .*\n", "", text, flags=re.MULTILINE)


def test_parse_writes_the_same_without_ray_and_with_any_number_of_workers(
    ray, model, write, tmp_path
):
    paths = [write(TEXT, f"{name}.txt") for name in "abc"]
    run("hpyp", "parse", model, *paths, "-o", tmp_path / "alone.conllu")
    common = ("hpyp", "parse", model, *paths, "--ray", "auto")
    for workers in (1, 2):
        done = run(*common, "--workers", workers, "-o", tmp_path / f"by-{workers}")
        assert "960 words in 120 documents, 0 of which failed" in " ".join(done.output.split())
    ours, theirs = files_of(tmp_path / "by-1"), files_of(tmp_path / "by-2")
    assert len([path for path in ours if path.suffix == ".conllu"]) > 2
    assert ours == theirs
    text = "".join(ours[path].decode() for path in sorted(ours) if path.suffix == ".conllu")
    assert without_names(text) == without_names((tmp_path / "alone.conllu").read_text("utf8"))
    names = re.findall("sent_id = (.*)", text)
    assert len(set(names)) == len(names)
    # The same command does nothing again, and another one is refused.
    assert "Saved 0 shards" in run(*common, "-o", tmp_path / "by-1").output
    done = run(*common, "--per-line", "-o", tmp_path / "by-1", exit_code=1)
    assert "per_line was False, and is True" in " ".join(done.output.split())


def test_surprisal_writes_tables(ray, model, write, tmp_path):
    paths = [write(TEXT, f"{name}.txt") for name in "abc"]
    done = run(
        "hpyp", "surprisal", model, *paths, "--ray", "auto", "-K", 50, "-o", tmp_path / "out"
    )
    assert "960 words" in " ".join(done.output.split())
    assert len(list((tmp_path / "out").glob("part=*/*.tsv"))) > 1


@pytest.fixture(scope="module")
def undisturbed(ray, tmp_path_factory):
    """Texts, a folder of marks, and the files that are made of the texts if nothing happens."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "texts").mkdir()
    for number in range(6):
        paragraphs = (f"This is paragraph {i} ." for i in range(10 * number, 10 * number + 10))
        (folder / "texts" / f"{number}.txt").write_text("\n\n".join(paragraphs))
    rows = make(ray, folder / "texts", folder / "out", folder, workers=1)
    assert sum(row["documents"] for row in rows) == 60
    return folder / "texts", folder, files_of(folder / "out")


def test_a_worker_that_dies_is_replaced_and_a_shard_that_kills_three_is_left(
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


def test_a_driver_that_is_killed_is_started_again(ray, undisturbed, tmp_path):
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


def test_problems_of_workers_are_named(ray, undisturbed, tmp_path):
    text, _, _ = undisturbed
    rows = make(ray, text, tmp_path / "out", tmp_path, seconds="soon")
    assert {row["errors"] for row in rows} - {0}
    out = Folder(tmp_path / "other", "txt")
    (tmp_path / "other").mkdir()
    (row, *_) = run_shards(ray, Words("", False, "txt", ""), out, {}, find_shards([Path(text)]), 1)
    assert "share" in row["problem"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [(("--keep", "text"), "--keep text"), ((), "--output"), (("-o", "/dev/null/out"), "dev/null")],
)
def test_errors_are_said_before_a_cluster_is_asked(model, write, options, problem):
    done = run("hpyp", "parse", model, write(TEXT), "--ray", "localhost:1", *options, exit_code=1)
    assert problem in " ".join(done.output.split())
