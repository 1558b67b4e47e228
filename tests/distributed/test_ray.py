"""Workers of a Ray cluster make the bytes that one process makes, whoever is killed."""

import errno
import importlib
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run

from spacy_hpyp.cli.parse import ParseTask
from spacy_hpyp.cli.shards import ShardTask, made_with, send
from spacy_hpyp.distributed.cluster import Worker, connected, run_shards
from spacy_hpyp.distributed.folder import Folder
from spacy_hpyp.distributed.inputs import Document, Shard, cut, find_files

pytestmark = pytest.mark.ray
TEXT = "".join(f"The dog sees {i} cats. Ada sleeps.\n\nKim waits near the old bird.\n\n" for i in range(60))


@pytest.fixture(scope="session")
def cluster():
    """A cluster of this machine, which commands take that are told of any."""
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        # Workers have to find the tasks of this file.
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        settings = {"include_dashboard": False, "object_store_memory": 80_000_000, "log_to_driver": False}
        yield ray.init("local", num_cpus=2, **settings).address_info["address"]
        ray.shutdown()


@pytest.fixture(scope="module")
def model(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("ray") / "model"
    trained.to_disk(path)
    return path


class Words(ShardTask):
    """Writes words, slowly if it is told; where a folder says so, what reads a word ends its worker."""

    def process(self):
        folder = Path(self.field)

        def process(shard, documents):
            time.sleep(float(self.made_of or 0))
            for document in documents:
                for word in document.text.split():
                    mark = folder / f"{word}.kills"
                    if mark.exists() and (left := int(mark.read_text())):
                        mark.write_text(str(left - 1))
                        os.kill(os.getpid(), signal.SIGKILL)
            return [f"{document.place} {document.text}\n" for document in documents], len(documents)

        return process

    def start(self):
        return self.process()

    def write(self, file, found):
        def as_long_as_there_is_room():
            for some in found:
                for mark in Path(self.field).glob("*.full"):
                    if any(mark.stem in line.split() for line in some):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                yield some

        super().write(file, as_long_as_there_is_room())


def make(text, folder, marks, *, seconds="", kind=Words, **settings):
    task = kind("", seconds, False, str(marks), "conllu")
    out = Folder(str(folder), "txt")
    out.begin({"command": "test"})
    shards = cut(find_files([str(text)]), 200, column="")
    given = {"max_errors": 0, "progress": lambda summary: None, **settings}
    return run_shards(task, out, {"command": "test"}, shards, **given)


def files_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def without_names(text):
    return re.sub(r"^# (sent_id|newpar id|newdoc id) = .*\n", "", text, flags=re.MULTILINE)


def test_parse_writes_what_it_writes_without_ray_whoever_works_on_it(cluster, model, write, tmp_path):
    path = write(TEXT)
    run("hpyp", "parse", model, path, "-o", tmp_path / "alone.conllu")
    common = ("hpyp", "parse", model, path, "--ray", cluster, "--shard-size", 1)
    # There is no room for the third one.
    for workers in (1, 3):
        done = run(*common, "--workers", workers, "-o", tmp_path / f"by-{workers}")
        assert "960 words in 120 documents, 0 of which failed" in " ".join(done.output.split())
    ours, theirs = files_of(tmp_path / "by-1"), files_of(tmp_path / "by-3")
    assert len([path for path in ours if path.suffix == ".conllu"]) > 2
    assert ours == theirs
    text = "".join(ours[path].decode() for path in sorted(ours) if path.suffix == ".conllu")
    assert without_names(text) == without_names((tmp_path / "alone.conllu").read_text("utf8"))
    names = re.findall("sent_id = (.*)", text)
    assert len(set(names)) == len(names)
    # What is done is not done again, and nothing else is begun there.
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "by-1").rglob("*")}
    run(*common, "-o", tmp_path / "by-1")
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "by-1").rglob("*")}
    done = run(*common, "--per-line", "-o", tmp_path / "by-1", exit_code=1)
    assert "per_line was False, and is True" in " ".join(done.output.split())


def test_a_pipeline_that_a_node_does_not_see_comes_from_the_object_store(
    cluster, model, tmp_path, monkeypatch
):
    monkeypatch.setattr("spacy_hpyp.cli.shards.gettempdir", lambda: str(tmp_path))
    task = ParseTask(*made_with(str(model)), False, "text", "conllu", "words")
    sent = send(task)
    for _ in range(2):
        process = replace(sent, model="/no/where").start()
        found, words = process(Shard(0, "a.txt", "a", "text", 0, 9), [Document(0, "Ada sleeps.")])
        assert (len(found), words) == (1, 3)
    assert [path.name for path in tmp_path.iterdir()] == [f"hpyp-{task.made_of}"]


def test_a_full_disk_on_a_worker_is_said_with_its_node(cluster, undisturbed, tmp_path):
    text, marks, expected = undisturbed
    (marks / "23.full").touch()
    with pytest.raises(OSError, match=r"No space left on device \(on the node "):
        make(text, tmp_path / "out", marks, workers=1)
    (marks / "23.full").unlink()
    assert 0 < len(files_of(tmp_path / "out")) < len(expected)
    make(text, tmp_path / "out", marks, workers=1)
    assert files_of(tmp_path / "out") == expected


def test_a_package_that_workers_do_not_have_is_named(undisturbed, tmp_path, monkeypatch):
    text, marks, _ = undisturbed
    (tmp_path / "only_here.py").write_text("from test_ray import Words\nclass Own(Words): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    kind = importlib.import_module("only_here").Own
    with pytest.raises(
        ValueError, match=r"do not have all packages that the command has: .*No module named 'only_here'"
    ):
        make(text, tmp_path / "out", marks, kind=kind, workers=1)


def test_an_output_folder_that_a_node_does_not_share_is_named(tmp_path):
    pytest.importorskip("pyarrow")
    worker = Worker(
        Words("", "", False, str(tmp_path), "conllu"), Folder(str(tmp_path), "txt"), {"command": "test"}, 0
    )
    with pytest.raises(
        ValueError, match=r"is another folder on the node .* on a file system that all nodes share"
    ):
        worker.start()


@pytest.fixture(scope="module")
def undisturbed(cluster, tmp_path_factory):
    """A text, a folder of marks, and what is made of the text."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "text.txt").write_text(TEXT)
    make(folder / "text.txt", folder / "out", folder, workers=1)
    return folder / "text.txt", folder, files_of(folder / "out")


def test_a_worker_that_dies_is_replaced_and_a_shard_that_kills_three_is_named(undisturbed, tmp_path):
    text, marks, expected = undisturbed
    for word, times in (("17", 1), ("31", 3)):
        (marks / f"{word}.kills").write_text(str(times))
    summary = make(text, tmp_path / "out", marks, workers=2)
    assert list(summary.failed.values()) == ["it has killed 3 workers"]
    # The same command tries again.
    assert not make(text, tmp_path / "out", marks, workers=1).failed
    assert files_of(tmp_path / "out") == expected


def test_a_driver_that_is_killed_is_started_again(cluster, undisturbed, tmp_path):
    text, marks, expected = undisturbed
    program = (
        f"import ray; ray.init('{cluster}', log_to_driver=False)\nfrom pathlib import Path\nfrom test_ray "
        f"import make\n"
        f"make(Path('{text}'), Path('{tmp_path}'), Path('{marks}'), seconds='0.1', workers=1)"
    )
    driver = subprocess.Popen([sys.executable, "-c", program])
    while not list(tmp_path.glob("_done/*/*.json")):
        assert driver.poll() is None
        time.sleep(0.02)
    driver.kill()
    driver.wait()
    assert len(files_of(tmp_path)) < len(expected)
    make(text, tmp_path, marks, workers=1)
    assert files_of(tmp_path) == expected


NODES = """\
import threading, time
from pathlib import Path
import ray
from ray.cluster_utils import Cluster
from test_ray import make
text, folder = Path({text!r}), Path({folder!r})
settings = dict(num_cpus=1, object_store_memory=80_000_000)
cluster = Cluster(initialize_head=True, head_node_args=settings)
node = cluster.add_node(**settings)
ray.init(address=cluster.address, log_to_driver=False)

def remove():
    while len(list(folder.glob("_done/*/*.json"))) < 4:
        time.sleep(0.05)
    cluster.remove_node(node, allow_graceful=False)

remover = threading.Thread(target=remove, daemon=True)
remover.start()
summary = make(text, folder, folder, workers=2, seconds="0.5")
assert not summary.failed
# The cluster may hear of it later.
remover.join(60)
assert not remover.is_alive()
assert len(cluster.list_all_nodes()) == 1
"""


@pytest.mark.slow
def test_a_node_that_leaves_changes_nothing(undisturbed, tmp_path):
    text, _, expected = undisturbed
    program = NODES.format(text=str(text), folder=str(tmp_path))
    subprocess.run([sys.executable, "-c", program], check=True)
    assert files_of(tmp_path) == expected


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--keep-tags",), "With --ray there are no --keep-tags"),
        ((), "With --ray output goes to a folder"),
        (("-o", "/dev/null/out"), "Not a directory: '/dev/null"),
    ],
)
def test_what_cannot_be_is_said_before_a_cluster_is_asked(model, write, options, told):
    pytest.importorskip("pyarrow")
    done = run("hpyp", "parse", model, write(TEXT), "--ray", "localhost:1", *options, exit_code=1)
    assert told in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (
            RuntimeError("Version mismatch: The cluster was started with Ray 2.9"),
            "cannot be used: Version mismatch",
        ),
        (ConnectionError("nobody"), "There is no Ray cluster at 'auto'"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_named(monkeypatch, problem, told):
    ray = pytest.importorskip("ray")

    def refuse(**settings):
        raise problem

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(ValueError, match=told), connected("auto"):
        pass


def test_an_address_without_a_cluster_is_named(model, write, tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    done = run(
        "hpyp", "parse", model, write(TEXT), "--ray", "localhost:1", "-o", tmp_path / "out", exit_code=1
    )
    assert "There is no Ray cluster at 'localhost:1'" in " ".join(done.output.split())
