"""Each file is a shard, which becomes one file of the output, without Ray."""

import csv

import pytest
import srsly
from command_line import run

from spacy_hpyp.cli.parse import ParseTask
from spacy_hpyp.cli.surprisal import SurprisalTask
from spacy_hpyp.distributed.inputs import documents_of, find_shards
from spacy_hpyp.distributed.run import Folder, Task, work_on

PARAGRAPHS = [f"Paragraph {i} has\nsome words{' near 日本' * (i % 7)}.\n" for i in range(60)]
TEXT = "\n" + "\n \n".join(PARAGRAPHS)
SENTENCES = "The dog sees 3 cats. Ada sleeps.\n\nKim waits near the old bird.\n\nMona sings.\n"
CONLLU = "".join(f"# sent_id = {i}\n1\tAda\t_\t_\t_\t_\t0\troot\t_\t_\n\n" for i in range(20))


class Upper(Task):
    """Writes texts in capitals; one that has "fail" in it fails."""

    def process(self):
        def process(shard, documents):
            if any("fail" in document.text for document in documents):
                raise KeyError("fail")
            found = [f"{one.place}\t{' '.join(one.text.upper().split())}\n" for one in documents]
            return found, sum(len(document.text.split()) for document in documents)

        return process


UPPER = Upper("", False, "txt")


def documents(path, *, per_line=False):
    return [one for shard in find_shards([path]) for one in documents_of(shard, per_line=per_line)]


@pytest.mark.parametrize("per_line", [False, True])
@pytest.mark.parametrize(
    ("name", "text", "number"),
    [("a.txt", TEXT, 60), ("a.txt", TEXT.replace("\n", "\r\n"), 60), ("a.conllu", CONLLU, 20)],
)
def test_documents_have_their_places_in_the_file(write, name, text, number, per_line):
    found = documents(write(text, name), per_line=per_line)
    assert len(found) == (120 if per_line and name == "a.txt" else number)
    assert all(text[one.place :].startswith(one.text) for one in found)


def test_files_are_found_in_folders(write, tmp_path):
    for folder, name in (("x", "a.txt"), ("x/y", "b.conllu"), ("x/y", "c.py"), ("z", "a.txt")):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        write("text", f"{folder}/{name}")
    paths = [shard.path for shard in find_shards([tmp_path / "x"])]
    assert paths == [f"{tmp_path}/x/a.txt", f"{tmp_path}/x/y/b.conllu"]
    assert [shard.name for shard in find_shards([tmp_path])] == ["a", "b", "a.2"]
    with pytest.raises(ValueError, match="no file of text"):
        find_shards([tmp_path / "w"])


def test_documents_that_fail_are_noted_and_the_others_are_written(write, tmp_path):
    texts = [b"good one", b"this will fail", b"not \xff UTF-8", "also gööd".encode()]
    (shard,) = find_shards([write(b"\n\n".join(texts))])
    folder = Folder(tmp_path / "out", "txt")
    folder.begin({"command": "x"})
    counts = work_on(shard, UPPER, UPPER.process(), folder)
    assert counts == {"documents": 4, "words": 4, "errors": 2}
    written = (tmp_path / "out/part=00000/00000000.txt").read_text("utf8")
    assert written == "0\tGOOD ONE\n39\tALSO GÖÖD\n"
    errors = list(srsly.read_jsonl(tmp_path / "out/_errors/00000000.jsonl"))
    assert [(error["place"], error["message"]) for error in errors] == [
        (10, "KeyError: 'fail'"),
        (26, "ValueError: it is not text in UTF-8"),
    ]
    assert folder.done() == {0}
    with pytest.raises(ValueError, match="command was x, and is y"):
        folder.begin({"command": "y"})


def test_a_shard_that_is_interrupted_leaves_nothing(write, tmp_path, monkeypatch):
    def interrupt(shard, documents):
        raise KeyboardInterrupt

    folder = Folder(tmp_path / "out", "txt")
    folder.begin({})
    (shard,) = find_shards([write(TEXT)])
    with pytest.raises(KeyboardInterrupt):
        work_on(shard, UPPER, interrupt, folder)
    assert [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()] == ["_run.json"]
    assert folder.done() == set()


@pytest.fixture(scope="module")
def model(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("shards") / "model"
    trained.to_disk(path)
    return path


def worked_on(path, task, output):
    """The one file that a task makes of one."""
    folder = Folder(output, task.ending)
    folder.begin({})
    (shard,) = find_shards([path])
    work_on(shard, task, task.process(), folder)
    return output / "part=00000" / f"00000000.{task.ending}"


def test_trees_are_those_of_one_process(model, write, tmp_path):
    path, bank = write(SENTENCES), tmp_path / "bank.conllu"
    run("hpyp", "parse", model, path, "-o", bank)
    rows = [line.split("\t") for line in bank.read_text("utf8").splitlines() if line[:1].isdigit()]
    for source, keep in ((path, "words"), (bank, "words"), (bank, "sentences")):
        task = ParseTask(str(model), False, "conllu", keep)
        again = worked_on(source, task, tmp_path / f"{source.name}-{keep}").read_text("utf8")
        found = [line.split("\t") for line in again.splitlines() if line[:1].isdigit()]
        assert [row[:8] for row in found] == [row[:8] for row in rows]


@pytest.mark.parametrize(
    ("by", "option"), [("token", ()), ("word", ("--words", "--no-punctuation"))]
)
def test_surprisals_are_those_of_one_process(model, write, tmp_path, by, option):
    path = write(SENTENCES)
    run("hpyp", "surprisal", model, path, *option, "-o", tmp_path / "alone.csv")
    task = SurprisalTask(str(model), False, "tsv", by, not option, False, None, None)
    lines = worked_on(path, task, tmp_path / "out").read_text("utf8").splitlines()
    found = list(csv.DictReader(lines, dialect="excel-tab"))
    alone = list(csv.DictReader((tmp_path / "alone.csv").read_text("utf8").splitlines()))
    assert list(found[0]) == list(alone[0])
    places = ("paragraph", "start", "end")
    assert [{**row, **dict.fromkeys(places)} for row in found] == [
        {**row, **dict.fromkeys(places)} for row in alone
    ]
