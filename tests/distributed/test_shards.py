"""Each file is a shard and becomes one output file, without Ray."""

from pathlib import Path

import pytest
from command_line import run

from spacy_hpyp.cli import parse, surprisal
from spacy_hpyp.distributed.run import Task, find_shards, unique_names

SENTENCES = "The dog sees 3 cats. Ada sleeps.\n\nKim waits near the old bird.\n\nMona sings.\n"


def upper(path, name, file):
    """Write a text in capitals, after a first line that is always written."""
    file.write(f"{name}\n")
    file.write(path.read_text("utf8").upper())


def test_files_are_found_in_folders(write, tmp_path):
    for folder, name in (("x", "a.txt"), ("x/y", "b.conllu"), ("x/y", "c.py"), ("z", "a.txt")):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        write("text", f"{folder}/{name}")
    paths = [shard.path for shard in find_shards([tmp_path / "x"])]
    assert paths == [f"{tmp_path}/x/a.txt", f"{tmp_path}/x/y/b.conllu"]
    assert [Path(one.path).name for one in find_shards([tmp_path / "x"], [".txt"])] == ["a.txt"]
    assert [shard.name for shard in find_shards([tmp_path])] == ["a", "b", "a.2"]
    (tmp_path / "x" / "folder.txt").mkdir()
    assert len(find_shards([tmp_path / "x"])) == 2
    paths = [Path(name) for name in ("x/a.txt", "x/a.2.txt", "y/a.txt")]
    assert unique_names(paths) == ["a", "a.2", "a.3"]
    with pytest.raises(ValueError, match="no file of text"):
        find_shards([tmp_path / "w"])


def test_a_shard_is_written_completely_or_not_at_all(write, tmp_path):
    task = Task(lambda: upper, tmp_path / "out", "txt")
    task.begin({"command": "x"})
    shards = find_shards([write("good", "a.txt"), write(b"not \xff UTF-8", "b.txt")])
    task.work_on(shards[0], upper)
    with pytest.raises(UnicodeDecodeError):
        task.work_on(shards[1], upper)
    assert task.done() == {0}
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert sorted(path.name for path in files) == ["00000000.txt", "_run.json"]
    assert (tmp_path / "out/part=00000/00000000.txt").read_text() == "a\nGOOD"
    with pytest.raises(ValueError, match="command was x, and is y"):
        task.begin({"command": "y"})


OF_TOKENS = {"by": "token", "punctuation": True}
OF_WORDS = {"by": "word", "punctuation": False}
READ = {"entropy": False, "per_line": False, "particles": None, "segment_with": None}


@pytest.mark.parametrize(
    ("command", "options", "load", "settings"),
    [
        ("parse", [], parse._load_writer, {"keep": "words", "per_line": False}),
        ("parse", ["--keep", "text"], parse._load_writer, {"keep": "text", "per_line": False}),
        ("surprisal", [], surprisal._load_writer, {**OF_TOKENS, **READ}),
        ("surprisal", ["-w", "--no-punctuation"], surprisal._load_writer, {**OF_WORDS, **READ}),
    ],
)
def test_workers_write_the_same_bytes_as_one_process(
    saved, write, tmp_path, command, options, load, settings
):
    path = write(SENTENCES)
    run("hpyp", command, saved, path, *options, "-o", tmp_path / "alone.tsv")
    task = Task(lambda: load(str(saved), **settings), tmp_path / "out", "tsv")
    task.begin({})
    task.work_on(find_shards([path])[0], task.load())
    made = (tmp_path / "out/part=00000/00000000.tsv").read_bytes()
    assert made == (tmp_path / "alone.tsv").read_bytes()
