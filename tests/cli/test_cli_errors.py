"""Misuse of a command ends with one message on stderr, without a traceback."""

import errno

import command_line
import pytest
import spacy
from numba.core.errors import NumbaError
from spacy.tokens import DocBin
from typer.testing import CliRunner

from spacy_hpyp.cli import hpyp

# The exit code for arguments that typer rejects.
USAGE = 2


@pytest.fixture(scope="module")
def files(toy, trained, tmp_path_factory):
    """Good and bad pipelines, texts and `.spacy` files in one directory."""
    folder = tmp_path_factory.mktemp("files")
    toy.nlp().to_disk(folder / "untrained")
    spacy.blank("en").to_disk(folder / "blank")
    for name in ("trained", "damaged"):
        trained.to_disk(folder / name)
    model = folder / "damaged" / "hpyp_parser" / "model"
    model.write_bytes(model.read_bytes()[:-1])
    (folder / "nothing").mkdir()
    for name, sentences in (("gold", toy.sentences(20)), ("other", toy.sentences(60)[45:])):
        docs = [toy.doc(trained.vocab, sentence) for sentence in sentences]
        DocBin(docs=docs).to_disk(folder / f"{name}.spacy")
    DocBin().to_disk(folder / "none.spacy")
    (folder / "cut.spacy").write_bytes((folder / "gold.spacy").read_bytes()[:100])
    (folder / "text.txt").write_text("the dog sees a cat .\nAda sleeps .\n")
    (folder / "table.csv").write_text("item,text\n1,the dog\n")
    return folder


ROWS = [
    ("evaluate untrained gold.spacy", "has not been trained"),
    ("guides blank gold.spacy out.spacy", "should have one trained"),
    ("rank blank text.txt", "finds no sentences"),
    ("generate damaged", "the checksum is wrong"),
    ("surprisal nothing text.txt", "nothing"),
    ("evaluate nowhere gold.spacy", "nowhere"),
    ("evaluate trained none.spacy", "There is nothing to evaluate"),
    ("evaluate trained nowhere.spacy", "does not exist", USAGE),
    ("guides trained cut.spacy out.spacy", "'cut.spacy' is not a .spacy file, or it is damaged"),
    ("perplexity trained table.csv", "'table.csv' is a table"),
    ("generate trained -o text.txt/new/out.jsonl", "Not a directory: 'text.txt"),
    ("surprisal trained text.txt -o text.txt/new/out.tsv", "Not a directory: 'text.txt"),
    ("evaluate trained gold.spacy -o nothing", "is a directory", USAGE),
    ("rank trained text.txt -t 0", "'threads' must be"),
    ("guides trained other.spacy out.spacy", "training part of its own treebank"),
    ("guides trained gold.spacy out.spacy --folds 1", "--folds", USAGE),
    ("evaluate trained gold.spacy --components.hpyp_parser.decoding no", "'decoding' must be"),
    ("evaluate trained gold.spacy --decoding best", "--decoding"),
]


def files_below(folder):
    """The files of a folder, with their modification times."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_misuse_ends_with_a_message(files, monkeypatch, row):
    arguments, problem, *code = row
    monkeypatch.chdir(files)
    before = files_below(files)
    done = command_line.run("hpyp", *arguments.split(), exit_code=code[0] if code else 1)
    shown = " ".join(done.stderr.split())
    assert problem in shown
    assert shown.count("✘") == (0 if code == [USAGE] else 1)
    assert "✘" not in done.stdout
    assert files_below(files) == before


def test_debug_shows_the_traceback_before_the_message(files):
    call = ["rank", str(files / "blank"), str(files / "text.txt")]
    plain = CliRunner().invoke(hpyp, call)
    assert "Traceback" not in plain.stderr
    done = CliRunner().invoke(hpyp, ["--debug", *call])
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith(plain.stderr)


@pytest.mark.parametrize("error", [MemoryError("x"), TypeError("x"), NumbaError("x")])
def test_internal_errors_are_not_reported_as_misuse(monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("spacy_hpyp.cli.rank.load_pipeline", fail)
    assert CliRunner().invoke(hpyp, ["rank", "model", "-"]).exception is error


def test_a_full_disk_is_reported_and_keeps_the_old_file(files, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.chdir(files)
    (files / "out.jsonl").write_bytes(b"old")
    monkeypatch.setattr("os.fsync", full)
    command = "hpyp generate trained -n 3 -b 3 --min-length 1 -o out.jsonl"
    assert "No space left" in command_line.run(*command.split(), exit_code=1).stderr
    assert (files / "out.jsonl").read_bytes() == b"old"
