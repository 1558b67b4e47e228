"""Shards, and the folder that they are written to: what stands there is complete, and follows from the input
alone.
"""

import csv
import gzip
import json

import pytest
import srsly
from command_line import run
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_hpyp.cli.parse import ParseTask
from spacy_hpyp.cli.shards import ShardTask, identity_of_model
from spacy_hpyp.cli.surprisal import SurprisalTask
from spacy_hpyp.distributed.folder import Folder
from spacy_hpyp.distributed.inputs import Document, cut, find_files, lines_of
from spacy_hpyp.distributed.work import TooManyFailuresError, work_on

pyarrow = pytest.importorskip("pyarrow")
dataset = pytest.importorskip("pyarrow.dataset").dataset
parquet = pytest.importorskip("pyarrow.parquet")

PARAGRAPHS = [f"Zoë sees {i} 😀.\nAda waits{' near 日本' * (i % 7)}.\n" for i in range(60)]
TEXT = "\n" + "\n \n".join(PARAGRAPHS)
SENTENCES = "The dog sees 3 cats. Ada sleeps.\n\nKim waits near the old bird.\n\nMona sings.\n"
CONLLU = "".join(f"# sent_id = {i}\n1\tAda\t_\t_\t_\t_\t0\troot\t_\t_\n\n" for i in range(20))
# What a line of CoNLL-U has behind the word, where nothing is known of that.
REST = "\t_" * 8 + "\n"


class Upper(ShardTask):
    """Writes texts in capitals; one that has "fail" in it fails."""

    def process(self):
        def process(shard, documents):
            if any("fail" in document.text for document in documents):
                raise KeyError("fail")
            found = [
                f"{document.place}\t{' '.join(document.text.upper().split())}\n" for document in documents
            ]
            return found, sum(len(document.text.split()) for document in documents)

        return process


def task(**settings):
    given = {
        "model": "",
        "made_of": "",
        "per_line": False,
        "field": "text",
        "output_format": "conllu",
        **settings,
    }
    return Upper(**given)


def shards_of(path, size=1_000_000, **settings):
    return cut(find_files([str(path)]), size, column="text", **settings)


def documents_of(path, size=1_000_000, **settings):
    return [document for shard in shards_of(path, size) for document in task(**settings).documents(shard)]


@pytest.mark.parametrize("size", [1, 17, 100, 1000, 100_000])
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
def test_each_line_is_in_one_shard_and_each_shard_begins_where_a_document_does(
    write, name, text, size, per_line
):
    path = write(text, name)
    shards = shards_of(path, size)
    found = [list(lines_of(shard, per_line=per_line)) for shard in shards]
    assert "".join(line for lines in found for _, line in lines) == text
    data = path.read_bytes()
    assert all(data[at:].decode().startswith(line) for lines in found for at, line in lines)
    assert documents_of(path, size, per_line=per_line) == documents_of(path, per_line=per_line)


@pytest.mark.parametrize("separator", ["", " ", "\n"])
def test_text_without_paragraphs_is_cut_at_lines_words_or_letters(write, monkeypatch, separator):
    monkeypatch.setattr("spacy_hpyp.distributed.inputs._LOOK", 100)
    text = separator.join(["日本語", "naïve"] * 500)
    path = write(text)
    shards = [[line for _, line in lines_of(shard, per_line=False)] for shard in shards_of(path, 333)]
    assert "".join(line for lines in shards for line in lines) == text
    assert len(shards) == len([lines for lines in shards if lines])
    assert all(
        "\udc80" > letter or letter > "\udcff" for lines in shards for line in lines for letter in line
    )
    assert all(lines[-1].endswith(separator) for lines in shards[:-1])


def test_all_formats_have_the_same_texts(write, tmp_path):
    texts = [paragraph.strip() for paragraph in PARAGRAPHS]
    data = "\n\n".join(texts).encode()
    records = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    (
        write(data),
        write(gzip.compress(data), "b.txt.gz"),
        write(pyarrow.compress(data, "zstd", asbytes=True), "c.txt.zst"),
    )
    write(records, "d.jsonl"), write(gzip.compress(records.encode()), "e.jsonl.gz")
    parquet.write_table(
        pyarrow.table({"n": range(60), "text": texts}), tmp_path / "f.parquet", row_group_size=25
    )
    for path in tmp_path.iterdir():
        assert [document.text.strip() for document in documents_of(path, 500)] == texts, path
    assert len(shards_of(tmp_path / "f.parquet", 500)) > 3
    assert len(shards_of(tmp_path / "b.txt.gz", 500)) == 1
    with pytest.raises(
        ValueError, match=r"no column 'body' of strings\. Name it with --field; there are n, text"
    ):
        cut(find_files([str(tmp_path / "f.parquet")]), 500, column="body")


def test_files_are_found_in_folders_patterns_and_uris(write, tmp_path):
    for folder, name in (("x", "a.txt"), ("x/y", "b.conllu"), ("x/y", "c.py"), ("z", "a.txt")):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        write("text", f"{folder}/{name}")

    def found(given):
        return [path.rpartition(str(tmp_path))[2] for path, _ in find_files([given])]

    assert found(f"{tmp_path}/x") == ["/x/a.txt", "/x/y/b.conllu"]
    assert found(f"{tmp_path}/?/*.txt") == ["/x/a.txt", "/z/a.txt"]
    assert found(f"file://{tmp_path}/x/*") == ["/x/a.txt", "/x/y/b.conllu"]
    assert found(f"{tmp_path}/x/y/c.py") == ["/x/y/c.py"]
    assert [shard.name for shard in cut(find_files([str(tmp_path)]), 9, column="")] == ["a", "b", "a.2"]
    for nothing in ("w", "x/*.md"):
        with pytest.raises(ValueError, match=r"There is no file of text \(.txt"):
            find_files([f"{tmp_path}/{nothing}"])
    with pytest.raises(ValueError, match="'nix://x' is on no file system"):
        find_files(["nix://x"])


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_documents_that_fail_are_noted_with_their_places_and_the_others_are_written(write, tmp_path, scheme):
    texts = [b"good one", b"this will fail", b"not \xff UTF-8", "also gööd".encode()]
    path = write(b"\n\n".join(texts))
    folder = Folder(f"{scheme}{tmp_path}/out", "txt")
    folder.begin({"command": "x"})
    (shard,) = shards_of(path)
    record = work_on(shard, task(), task().process(), folder, 2)
    assert (record["documents"], record["words"], record["errors"]) == (4, 4, 2)
    assert (tmp_path / "out/part=00000/00000000.txt").read_text("utf8") == "0\tGOOD ONE\n39\tALSO GÖÖD\n"
    errors = list(srsly.read_jsonl(tmp_path / "out/_errors/00000/00000000.jsonl"))
    assert errors == [
        {"file": str(path), "place": 10, "message": "KeyError: 'fail'"},
        {"file": str(path), "place": 26, "message": "ValueError: it is not text in UTF-8"},
    ]
    assert folder.done() == {0: record}
    other = Folder(f"{scheme}{tmp_path}/other", "txt")
    with pytest.raises(TooManyFailuresError, match=r"2 documents of .* failed, as that at 26: ValueError"):
        work_on(shard, task(), task().process(), other, 1)
    assert other.done() == {}
    assert not [file for file in (tmp_path / "other").rglob("*") if file.is_file()]


@pytest.fixture(params=["mock", pytest.param("s3", marks=pytest.mark.ray)])
def bucket(request, monkeypatch):
    """A file system with a bucket that URIs lead to: pyarrow's own, or that of a store on this machine, of
    which it is told as it always is.
    """
    fs = pytest.importorskip("pyarrow.fs")
    if request.param == "mock":
        system = fs._MockFileSystem()
        for module in ("inputs", "folder"):
            monkeypatch.setattr(
                f"spacy_hpyp.distributed.{module}.locate", lambda uri: (system, uri.removeprefix("s3://"))
            )
        system.create_dir("bucket")
        yield system
        return
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    told = {
        "ENDPOINT_URL": f"http://{host}:{port}",
        "ACCESS_KEY_ID": "x",
        "SECRET_ACCESS_KEY": "x",
        "DEFAULT_REGION": "us-east-1",
    }
    for name, value in told.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    fs.S3FileSystem(endpoint_override=told["ENDPOINT_URL"], allow_bucket_creation=True).create_dir("bucket")
    yield fs.FileSystem.from_uri("s3://bucket")[0]
    server.stop()


def test_uris_are_read_and_written_by_what_pyarrow_says_that_they_are(bucket):
    bucket.create_dir("bucket/texts")
    for name, data in (("a.txt", TEXT.encode()), ("b.txt.gz", gzip.compress(TEXT.encode()))):
        with bucket.open_output_stream(f"bucket/texts/{name}", compression=None) as file:
            file.write(data)
    folder = Folder("s3://bucket/out", "txt")
    assert folder.run() is None
    folder.begin({"command": "x"})
    folder.begin({"command": "x"})
    shards = cut(find_files(["s3://bucket/texts/*"]), 500, column="")
    assert {shard.path for shard in shards} == {"s3://bucket/texts/a.txt", "s3://bucket/texts/b.txt.gz"}
    records = {shard.number: work_on(shard, task(), task().process(), folder, 0) for shard in shards}
    assert folder.done() == records
    found = {
        name: [folder.read(each) for each in shards if each.path.endswith(name)] for name in ("txt", "gz")
    }
    assert len(found["txt"]) > 3 > len(found["gz"])
    assert b"".join(found["txt"]) == b"".join(found["gz"])
    # A shard that fails leaves nothing.
    broken = Folder("s3://bucket/broken", "txt")
    with bucket.open_output_stream("bucket/texts/c.txt") as file:
        file.write(b"this will fail")
    (shard,) = cut(find_files(["s3://bucket/texts/c.txt"]), 500, column="")
    with pytest.raises(TooManyFailuresError):
        work_on(shard, task(), task().process(), broken, 0)
    assert broken.done() == {}
    left = bucket.get_file_info(
        pyarrow.fs.FileSelector("bucket/broken", recursive=True, allow_not_found=True)
    )
    assert not [file for file in left if file.is_file]


def test_records_that_are_none_are_noted(write):
    path = write('{"text": "a"}\n{"text": 3}\n{"body": "a"}\n[\n\n{"text": "b\\n\\nc"}\n', "a.jsonl")
    found = documents_of(path)
    assert [document.text for document in found if not document.problem] == ["a", "b\n", "c"]
    assert found[1:4] == [
        Document(at, "", "it is no record with a 'text' that is a string") for at in (14, 26, 40)
    ]


def test_a_folder_has_one_run(tmp_path):
    folder = Folder(str(tmp_path / "out"), "txt")
    assert folder.run() is None
    folder.begin({"command": "parse", "keep": "words"})
    folder.begin({"command": "parse", "keep": "words"})
    with pytest.raises(ValueError, match="another run was begun: keep was words, and is text"):
        folder.begin({"command": "parse", "keep": "text"})


@pytest.fixture(scope="module")
def model(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("shards") / "model"
    trained.to_disk(path)
    return path


def worked_on(path, task, output):
    """The one file that a task makes of one."""
    folder = Folder(str(output), task.output_format)
    (shard,) = shards_of(path)
    work_on(shard, task, task.start(), folder, 0)
    return output / f"part=00000/00000000.{task.output_format}"


def test_trees_are_the_same_in_all_formats(model, write, tmp_path):
    path, bank = write(SENTENCES), tmp_path / "bank.conllu"
    run("hpyp", "parse", model, path, "-o", bank)
    rows = [line.split("\t") for line in bank.read_text("utf8").splitlines() if line[:1].isdigit()]
    common = (str(model), identity_of_model(str(model)), False, "text")
    table = worked_on(path, ParseTask(*common, "parquet", "words"), tmp_path / "rows")
    found = dataset(table.parent.parent, format="parquet", partitioning="hive").to_table().to_pylist()
    columns = ("text", "tag", "head", "deprel")
    assert [[str(row[name]) for name in columns] for row in found] == [
        [row[i] for i in (1, 4, 6, 7)] for row in rows
    ]
    for row in found:
        assert SENTENCES.encode()[row["paragraph"] :].decode()[row["start"] : row["end"]] == row["text"]
    saved = worked_on(path, ParseTask(*common, "spacy", "words"), tmp_path / "docs")
    docs = list(DocBin().from_disk(saved).get_docs(Vocab()))
    assert [t.tag_ for doc in docs for t in doc if not t.text.isspace()] == [row[4] for row in rows]
    assert docs[1].user_data["paragraph"] == SENTENCES.index("Kim")
    for keep in ("words", "sentences"):
        again = worked_on(bank, ParseTask(*common, "conllu", keep), tmp_path / keep).read_text("utf8")
        assert [line.split("\t")[1] for line in again.splitlines() if line[:1].isdigit()] == [
            row[1] for row in rows
        ]
        assert "# newpar id = text-p1" in again


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", SENTENCES.replace(" ", " \n")),
        (
            "a.conllu",
            "1-2\tdidn't" + REST + "1\tdid" + REST + "2\tn't" + REST + "3\tAda" + REST + "\n" + CONLLU,
        ),
    ],
)
def test_words_of_a_shard_are_those_that_are_written(model, write, tmp_path, name, text):
    parsing = ParseTask(str(model), identity_of_model(str(model)), False, "text", "conllu", "words")
    (shard,) = shards_of(write(text, name))
    folder = Folder(str(tmp_path / "out"), "conllu")
    record = work_on(shard, parsing, parsing.start(), folder, 0)
    lines = folder.read(shard).decode().splitlines()
    assert record["words"] == sum(line.split("\t")[0].isdigit() for line in lines)


@pytest.mark.parametrize(("by", "option"), [("token", ()), ("word", ("--words", "--no-punctuation"))])
def test_surprisals_are_those_of_one_process(model, write, tmp_path, by, option):
    path = write(SENTENCES)
    run("hpyp", "surprisal", model, path, *option, "-o", tmp_path / "alone.csv")
    settings = (by, not option, False, None, None)
    common = (str(model), identity_of_model(str(model)), False, "text", "parquet")
    found = (
        parquet.ParquetFile(worked_on(path, SurprisalTask(*common, *settings), tmp_path / "out"))
        .read()
        .to_pylist()
    )
    alone = list(csv.DictReader((tmp_path / "alone.csv").read_text("utf8").splitlines()))
    assert list(found[0]) == list(alone[0])
    for ours, theirs in zip(found, alone, strict=True):
        assert ours["surprisal"] == pytest.approx(float(theirs["surprisal"]), abs=1e-6)
        assert (ours["text"], str(ours["sentence"])) == (theirs["text"], theirs["sentence"])


def test_another_pipeline_than_that_of_the_command_is_refused(model):
    with pytest.raises(ValueError, match="is another one on a worker than for the command"):
        ParseTask(str(model), "", False, "text", "conllu", "words").start()
    with pytest.raises(ValueError, match="install it, where all of them see it"):
        identity_of_model("no/where")
