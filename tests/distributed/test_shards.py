"""Texts are cut into shards, and each shard becomes one file, without Ray."""

import csv
import gzip
import json

import pytest
import srsly
from command_line import run

pyarrow = pytest.importorskip("pyarrow")
from pyarrow import fs, parquet  # noqa: E402

from spacy_hpyp.cli.parse import ParseTask  # noqa: E402
from spacy_hpyp.cli.surprisal import SurprisalTask  # noqa: E402
from spacy_hpyp.distributed.inputs import cut, documents_of, find_files  # noqa: E402
from spacy_hpyp.distributed.run import Folder, Task, work_on  # noqa: E402

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


UPPER = Upper("", False, "text", "txt")


def documents(path, size=1_000_000, *, per_line=False):
    shards = cut(find_files([str(path)]), size)
    return [one for shard in shards for one in documents_of(shard, per_line=per_line, field="text")]


@pytest.mark.parametrize("size", [1, 17, 100, 1000])
@pytest.mark.parametrize("per_line", [False, True])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", TEXT),
        ("a.txt", TEXT.replace("\n", "\r\n")),
        ("a.conllu", CONLLU),
        ("a.jsonl", '{"text": "x"}\n' * 50),
    ],
)
def test_each_document_is_in_one_shard_with_its_place_in_the_file(write, name, text, size, per_line):
    path = write(text, name)
    found = documents(path, size, per_line=per_line)
    assert found == documents(path, per_line=per_line)
    if name != "a.jsonl":
        data = path.read_bytes()
        assert all(data[one.place :].decode().startswith(one.text) for one in found)


def test_text_without_paragraphs_is_cut_at_lines(write, monkeypatch):
    monkeypatch.setattr("spacy_hpyp.distributed.inputs._LOOK", 100)
    text = "日本語 naïve\n" * 500
    path = write(text)
    assert len(cut(find_files([str(path)]), 999)) > 5
    found = documents(path, 999)
    assert len(found) > 5
    assert "".join(document.text for document in found) == text


def test_all_formats_have_the_same_texts(write, tmp_path):
    texts = [paragraph.strip() for paragraph in PARAGRAPHS]
    data = "\n\n".join(texts).encode()
    records = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    write(data)
    write(gzip.compress(data), "b.txt.gz")
    write(pyarrow.compress(data, "zstd", asbytes=True), "c.txt.zst")
    write(records, "d.jsonl")
    table = pyarrow.table({"n": range(60), "text": texts})
    parquet.write_table(table, tmp_path / "f.parquet", row_group_size=25)
    for path in tmp_path.iterdir():
        assert [document.text.strip() for document in documents(path, 500)] == texts, path
    assert len(cut(find_files([str(tmp_path / "f.parquet")]), 500)) == 3
    assert len(cut(find_files([str(tmp_path / "b.txt.gz")]), 500)) == 1


def test_files_are_found_in_folders_and_uris(write, tmp_path):
    for folder, name in (("x", "a.txt"), ("x/y", "b.conllu"), ("x/y", "c.py"), ("z", "a.txt")):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        write("text", f"{folder}/{name}")
    paths = [path for path, _ in find_files([f"{tmp_path}/x"])]
    assert paths == [f"{tmp_path}/x/a.txt", f"{tmp_path}/x/y/b.conllu"]
    assert [path for path, _ in find_files([f"file://{tmp_path}/x"])] == [f"file://{path}" for path in paths]
    assert [shard.name for shard in cut(find_files([str(tmp_path)]), 9)] == ["a", "b", "a.2"]
    with pytest.raises(ValueError, match="no file of text"):
        find_files([f"{tmp_path}/w"])


@pytest.fixture(params=["", "file://", "mock"])
def place(request, tmp_path, monkeypatch):
    """Where a folder may be: a path, a URI, and a URI of pyarrow's file system in memory."""
    if request.param == "mock":
        system = fs._MockFileSystem()
        for module in ("inputs", "run"):
            target = f"spacy_hpyp.distributed.{module}.locate"
            monkeypatch.setattr(target, lambda uri: (system, uri.removeprefix("s3://")))
        return "s3://bucket", system, "bucket"
    return f"{request.param}{tmp_path}", fs.LocalFileSystem(), str(tmp_path)


def test_documents_that_fail_are_noted_and_the_others_are_written(place):
    uri, system, path = place
    texts = [b"good one", b"this will fail", b"not \xff UTF-8", "also gööd".encode()]
    system.create_dir(path)
    with system.open_output_stream(f"{path}/a.txt") as file:
        file.write(b"\n\n".join(texts))
    folder = Folder(f"{uri}/out", "txt")
    folder.begin({"command": "x"})
    (shard,) = cut(find_files([f"{uri}/a.txt"]), 1000)
    counts = work_on(shard, UPPER, UPPER.process(), folder)
    assert counts == {"documents": 4, "words": 4, "errors": 2}
    with system.open_input_file(f"{path}/out/part=00000/00000000.txt") as file:
        assert file.read().decode() == "0\tGOOD ONE\n39\tALSO GÖÖD\n"
    with system.open_input_file(f"{path}/out/_errors/00000000.jsonl") as file:
        errors = [srsly.json_loads(line) for line in file.read().decode().splitlines()]
    assert [(error["place"], error["message"]) for error in errors] == [
        (10, "KeyError: 'fail'"),
        (26, "ValueError: there is no text in UTF-8"),
    ]
    assert folder.done() == {0}
    with pytest.raises(ValueError, match="command was x, and is y"):
        folder.begin({"command": "y"})


def test_a_shard_that_is_interrupted_leaves_nothing(write, tmp_path, monkeypatch):
    def interrupt(shard, documents):
        raise KeyboardInterrupt

    folder = Folder(str(tmp_path / "out"), "txt")
    folder.begin({})
    (shard,) = cut(find_files([str(write(TEXT))]), 100_000)
    with pytest.raises(KeyboardInterrupt):
        work_on(shard, UPPER, interrupt, folder)
    assert [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()] == ["_run.json"]
    assert folder.done() == set()


def test_records_without_text_are_noted(write):
    path = write('{"text": "a"}\n{"text": 3}\n{"body": "a"}\n[\n\n{"text": "b\\n\\nc"}\n', "a.jsonl")
    found = documents(path)
    assert [document.text for document in found if document.text] == ["a", "b\n", "c"]
    assert [document.place for document in found if document.text is None] == [14, 26, 40]


@pytest.fixture(scope="module")
def model(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("shards") / "model"
    trained.to_disk(path)
    return path


def worked_on(path, task, output):
    """The one file that a task makes of one."""
    folder = Folder(str(output), task.ending)
    folder.begin({})
    (shard,) = cut(find_files([str(path)]), 1_000_000)
    work_on(shard, task, task.process(), folder)
    return output / "part=00000" / f"00000000.{task.ending}"


def test_trees_are_those_of_one_process(model, write, tmp_path):
    path, bank = write(SENTENCES), tmp_path / "bank.conllu"
    run("hpyp", "parse", model, path, "-o", bank)
    rows = [line.split("\t") for line in bank.read_text("utf8").splitlines() if line[:1].isdigit()]
    common = (str(model), False, "text", "conllu")
    parsed = worked_on(path, ParseTask(*common, "words"), tmp_path / "text").read_text("utf8")
    assert [line.split("\t") for line in parsed.splitlines() if line[:1].isdigit()] == rows
    for keep in ("words", "sentences"):
        again = worked_on(bank, ParseTask(*common, keep), tmp_path / keep).read_text("utf8")
        assert [line.split("\t")[1] for line in again.splitlines() if line[:1].isdigit()] == [
            row[1] for row in rows
        ]


@pytest.mark.parametrize(("by", "option"), [("token", ()), ("word", ("--words", "--no-punctuation"))])
def test_surprisals_are_those_of_one_process(model, write, tmp_path, by, option):
    path = write(SENTENCES)
    run("hpyp", "surprisal", model, path, *option, "-o", tmp_path / "alone.csv")
    task = SurprisalTask(str(model), False, "text", "parquet", by, not option, False, None, None)
    found = parquet.ParquetFile(worked_on(path, task, tmp_path / "out")).read().to_pylist()
    alone = list(csv.DictReader((tmp_path / "alone.csv").read_text("utf8").splitlines()))
    assert list(found[0]) == list(alone[0])
    for ours, theirs in zip(found, alone, strict=True):
        assert ours["surprisal"] == pytest.approx(float(theirs["surprisal"]), abs=1e-6)
        assert (ours["text"], str(ours["sentence"])) == (theirs["text"], theirs["sentence"])
