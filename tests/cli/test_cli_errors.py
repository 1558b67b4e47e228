"""Wrong uses of the commands: each ends with one message on stderr that says what is wrong, and
with no traceback.
"""

import errno
import shlex
import zlib
from itertools import cycle, islice

import command_line
import pytest
import spacy
import srsly
from numba.core.errors import NumbaError
from spacy.tokens import Doc, DocBin
from typer.testing import CliRunner

from spacy_hpyp.cli import hpyp
from spacy_hpyp.language_model.ngram import train_ngram_model

# Of typer, when it reads the arguments.
USAGE = 2


@pytest.fixture(scope="module")
def files(toy, tmp_path_factory):
    """Pipelines, models, texts and `.spacy` files, good and bad ones, in one directory."""
    folder = tmp_path_factory.mktemp("files")
    nlp = toy.trained()
    nlp.to_disk(folder / "trained")
    toy.nlp().to_disk(folder / "untrained")
    spacy.blank("en").to_disk(folder / "blank")
    nlp.to_disk(folder / "damaged")
    model = folder / "damaged" / "hpyp_parser" / "model"
    model.write_bytes(model.read_bytes()[:-1])
    (folder / "nothing").mkdir()
    train_ngram_model([s.words for s in toy.sentences(20)], order=2, sweeps=2).to_disk(
        folder / "model.ngram"
    )
    gold = [toy.doc(nlp.vocab, sentence) for sentence in toy.sentences(20)]
    docs = {
        "gold": gold,
        "other": [toy.doc(nlp.vocab, sentence) for sentence in toy.sentences(60)[45:]],
        "none": [],
        "wordless": [Doc(nlp.vocab)],
    }
    for name, found in docs.items():
        DocBin(docs=found).to_disk(folder / f"{name}.spacy")
    data = (folder / "gold.spacy").read_bytes()
    (folder / "cut.spacy").write_bytes(data[: len(data) // 2])
    (folder / "odd.spacy").write_bytes(zlib.compress(srsly.msgpack_dumps(["no", "DocBin"])))
    (folder / "text.txt").write_text("the dog sees a cat .\nAda sleeps .\n")
    (folder / "table.csv").write_text("item,text\n1,the dog\n")
    (folder / "bank.conllu").write_text("# text = Ada\n1\tAda\t_\tPROPN\tNNP\t_\t_\t_\t_\t_\n")
    (folder / "latin.txt").write_bytes("café\n".encode("latin-1"))
    (folder / "empty.txt").write_text("")
    return folder


def files_below(folder):
    """The files of a folder, and when each was written last."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


# What is wrong with a pipeline, a treebank, a text or a place is said by all commands that use one,
# and by the same functions.
WITH_PARSER = [
    "evaluate {} gold.spacy",
    "guides {} gold.spacy out.spacy",
    "generate {}",
    "learn-text {} text.txt out",
    "perplexity {} text.txt",
    "rank {} text.txt",
    "surprisal {} text.txt",
    "ngram text.txt out.ngram --vocab-from {}",
]
WITH_PARTICLES = [form for form in WITH_PARSER if not form.startswith(("guides", "ngram"))]
PIPELINES = {
    "untrained": "'untrained' has not been trained",
    "blank": "but it has",
    "damaged": "the checksum is wrong",
    "nothing": "nothing",
}
WITH_TREEBANK = ["evaluate trained {}", "guides trained {} out.spacy"]
TREEBANKS = {
    "none.spacy": "There is no",
    "wordless.spacy": "There is no",
    "cut.spacy": "'cut.spacy' is not a .spacy file, or it is damaged",
    "text.txt": "'text.txt' is not a .spacy file",
}
WITH_TEXT = [
    "rank trained {}",
    "learn-text trained {} out",
    "ngram {} out.ngram",
    "ngram text.txt out.ngram --vocab-from {}",
    "perplexity trained {}",
    "perplexity model.ngram {}",
]
TEXTS = {
    "latin.txt": "'latin.txt' is not text in UTF-8",
    "table.csv": "'table.csv' is a table",
    "empty.txt": "There",
    "wordless.spacy": "There",
    "odd.spacy": "'odd.spacy' is not a .spacy file, or it is damaged",
}
WITH_OUTPUT = [
    "evaluate trained gold.spacy -o {}",
    "generate trained -o {}",
    "learn-text trained text.txt {}",
    "ngram text.txt {}",
    "rank trained text.txt -f jsonl -o {}",
]
SETTINGS = {"-K 0": "'particles' must be", "-t 0": "'threads' must be"}


def in_turn(forms, problems):
    """Each form of a command with one of some wrong words, and each of these in one of the forms,
    with what is said of it.
    """
    pairs = zip(cycle(forms), cycle(problems.items()))
    return [
        (form.format(name), problem)
        for form, (name, problem) in islice(pairs, max(len(forms), len(problems)))
    ]


ROWS = [
    *in_turn(WITH_PARSER, PIPELINES),
    *((form.format("nowhere"), "nowhere", USAGE if "learn" in form else 1) for form in WITH_PARSER),
    *in_turn(WITH_TREEBANK, TREEBANKS),
    *((form.format("nowhere.spacy"), "does not exist", USAGE) for form in WITH_TREEBANK),
    *in_turn(WITH_TEXT, TEXTS),
    *(
        (form.format("text.txt/new/out.jsonl"), "Not a directory: 'text.txt")
        for form in WITH_OUTPUT
    ),
    ("surprisal trained text.txt -o text.txt/new/out.tsv", "Not a directory: 'text.txt"),
    *(
        (form.format("nothing"), "is a directory", USAGE)
        for form in WITH_OUTPUT
        if form.split()[0] not in {"learn-text", "surprisal"}
    ),
    *in_turn([f"{form.format('trained')} {{}}" for form in WITH_PARTICLES], SETTINGS),
    # The commands one by one.
    ("guides trained other.spacy out.spacy", "is this the training part of its treebank?"),
    ("guides trained gold.spacy out.spacy --folds 1", "--folds", USAGE),
    ("nonsense", "nonsense", USAGE),
    (
        "evaluate trained gold.spacy --components.hpyp_parser.decoding nonsense",
        "'decoding' must be",
    ),
    ("evaluate trained gold.spacy --decoding best", "--decoding"),
    ("rank trained text.txt -o out.conllu", "should end with .txt, not 'out.conllu'"),
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_wrong_use_ends_with_a_message(files, monkeypatch, row):
    arguments, problem, *code = row
    monkeypatch.chdir(files)
    before = files_below(files)
    done = command_line.run("hpyp", *shlex.split(arguments), exit_code=code[0] if code else 1)
    shown = " ".join(done.stderr.split())
    assert problem in shown
    assert shown.count("✘") == (0 if code == [USAGE] else 1)
    assert "✘" not in done.stdout
    assert files_below(files) == before


def test_with_debug_the_traceback_is_shown_before_the_message(files):
    call = ["rank", str(files / "blank"), str(files / "text.txt")]
    plain = CliRunner().invoke(hpyp, call)
    assert "Traceback" not in plain.stderr
    done = CliRunner().invoke(hpyp, ["--debug", *call])
    assert done.exit_code == plain.exit_code == 1
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith(plain.stderr)


@pytest.mark.parametrize(
    "error", [RecursionError("x"), MemoryError("x"), TypeError("x"), NumbaError("x")]
)
def test_an_error_of_the_program_is_not_taken_for_a_wrong_use(files, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("spacy_hpyp.pipeline.hpyp_parser.encode_docs", fail)
    done = CliRunner().invoke(hpyp, ["surprisal", str(files / "trained"), str(files / "text.txt")])
    assert done.exception is error


@pytest.mark.parametrize(
    "command",
    ["generate trained -n 3 -b 3 --min-length 1 -o out.jsonl", "ngram text.txt out.ngram"],
)
def test_a_full_disk_is_reported_and_leaves_what_was_there(files, monkeypatch, command):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.chdir(files)
    output = files / command.split()[-1].replace("text.txt", "")
    output.write_bytes(b"old")
    monkeypatch.setattr("os.fsync", full)
    done = command_line.run("hpyp", *shlex.split(command), exit_code=1)
    assert "No space left on device" in done.stderr
    assert output.read_bytes() == b"old"
    output.unlink()
