"""The command `hpyp surprisal`: tables of tokens and of words for text files."""

import csv
import io
import itertools
from functools import partial
from hashlib import sha256

import command_line
import pytest
import srsly

import spacy_hpyp

run = partial(command_line.run, "hpyp", "surprisal")
COLUMNS = (
    "file paragraph sentence word token start end text tag surprisal surprisal_lexical surprisal_syntactic "
    "surprisal_letters "
    "log_prob known class"
).split()
SUMMED = ("surprisal", "surprisal_lexical", "surprisal_syntactic", "log_prob")
TEXT = """the dog sees a cat. Ada waits near
the old parser.

  \t
Don't stop, Kim! "the cat" sleeps.

"""


def rows(table):
    return list(csv.DictReader(io.StringIO(table, newline=""), dialect="excel-tab"))


@pytest.fixture(scope="module")
def model(toy, trained, tmp_path_factory):
    """The pipeline, set to look at the words to come, which the command does not."""
    assert toy.parser(trained).future_cost == 0.0
    path = tmp_path_factory.mktemp("surprisal") / "model"
    toy.copy(trained, future_cost=1.0).to_disk(path)
    return path


def test_a_row_has_the_surprisal_of_a_token(model, trained, write):
    path = write(TEXT)
    found = rows(run(model, path).stdout)
    texts = [TEXT[: TEXT.index("\n\n")], TEXT[TEXT.index("Don") :]]
    expected = spacy_hpyp.surprisal(trained, texts, running=True)
    assert [row["text"] for row in found] == [row["text"] for row in expected]
    assert list(found[0]) == COLUMNS
    for ours, theirs in zip(found, expected):
        assert ours["file"] == str(path)
        assert int(ours["paragraph"]) == theirs["item"]
        assert ours["tag"] == theirs["tag"]
        for name in (*SUMMED, "sentence"):
            assert float(ours[name]) == pytest.approx(theirs[name], abs=1e-6)


@pytest.mark.parametrize("options", [(), ("--words",), ("--per-line",), ("--per-line", "--words")])
def test_offsets_point_at_the_text_in_the_file(model, write, options):
    texts = [
        TEXT,
        "\n\n" + TEXT,
        "Zoë  sees 😀\tthe naïve\u00a0cat.\n\n日本 sleeps",
        "\ufeffAda sleeps.",
    ]
    contents = {}
    for text, line_end in itertools.product(texts, ("\n", "\r\n")):
        content = text.replace("\n", line_end)
        contents[str(write(content, f"{len(contents)}.txt"))] = content
    found = rows(run(model, *contents, *options).stdout)
    for path, content in contents.items():
        own = [row for row in found if row["file"] == path]
        assert "".join(row["text"] for row in own) == "".join(
            content.removeprefix("\ufeff").split()
        )
        for row in own:
            assert content[int(row["start"]) : int(row["end"])] == row["text"]


@pytest.mark.parametrize("options", [(), ("--per-line",)])
def test_no_surprisal_depends_on_the_words_to_come(model, write, options):
    words = "Zenobia Quux waits near the old blorp frobs a cat .".split()
    whole = rows(run(model, write(" ".join(words)), "-K", 2, *options).stdout)
    for length in range(1, len(words)):
        part = rows(run(model, write(" ".join(words[:length])), "-K", 2, *options).stdout)
        for name in SUMMED[:3]:
            assert [row[name] for row in part] == [row[name] for row in whole[:length]]


def test_each_line_may_be_a_sentence(model, trained, write):
    lines = ["Ada sleeps . Kim waits .", "the dog", "", "  sees a cat ."]
    found = rows(run(model, write("\n".join(lines)), "--per-line").stdout)
    assert [int(row["paragraph"]) for row in found] == [1] * 6 + [2] * 2 + [3] * 4
    assert {row["sentence"] for row in found} == {"1"}
    alone = spacy_hpyp.surprisal(trained, lines[:1])
    assert [float(row["surprisal"]) for row in found[:6]] == pytest.approx(
        [row["surprisal"] for row in alone], abs=1e-6
    )


@pytest.mark.parametrize("text", ["", " \r\n\t\n", "\ufeff\n"])
def test_a_file_without_words_has_no_rows(model, write, text):
    assert run(model, write(text)).stdout == "\t".join(COLUMNS) + "\n"


def test_a_table_that_is_not_complete_does_not_replace_another(model, write, tmp_path):
    output = tmp_path / "tables" / "table.tsv"
    output.parent.mkdir()
    output.write_text("old")
    good, bad = write(TEXT), write(b"the dog \xff sleeps", "bad.txt")
    done = run(model, good, bad, "--output", output, exit_code=1)
    assert "bad.txt" in done.stderr.replace("\n", "")
    assert "UTF-8" in done.stderr
    assert [file.name for file in output.parent.iterdir()] == ["table.tsv"]
    assert output.read_text() == "old"


def test_beside_a_table_stands_what_it_was_made_by(model, write, tmp_path):
    path, output = write(TEXT), tmp_path / "table.tsv"
    run(model, path, "-K", 20, "-o", output)
    found = srsly.read_json(tmp_path / "table.tsv.json")
    assert found["versions"]["spacy-hpyp"] == spacy_hpyp.__version__
    assert found["model"]["particles"] == 20
    assert found["texts"] == {str(path): sha256(path.read_bytes()).hexdigest()}
    run(model, path, "-K", 20, "-o", output)
    assert srsly.read_json(tmp_path / "table.tsv.json") == found
