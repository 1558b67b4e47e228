"""The command `hpyp surprisal`: tables for texts, stimuli and words."""

import csv
import io
from functools import partial
from hashlib import sha256

import command_line
import pytest
import srsly
from typer.testing import CliRunner

import spacy_hpyp
from spacy_hpyp.cli import hpyp
from spacy_hpyp.language_model.ngram import train_ngram_model

run = partial(command_line.run, "hpyp", "surprisal")
COLUMNS = (
    "file paragraph sentence word token start end text tag surprisal surprisal_lexical "
    "surprisal_syntactic surprisal_letters log_prob known class"
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
    """The pipeline with settings that look ahead, which the command ignores."""
    assert toy.parser(trained).future_cost == 0.0
    path = tmp_path_factory.mktemp("surprisal") / "model"
    toy.copy(trained, future_cost=1.0).to_disk(path)
    return path


@pytest.fixture(scope="module")
def ngrams(toy, tmp_path_factory):
    path = tmp_path_factory.mktemp("surprisal") / "model.ngram"
    train_ngram_model([s.words for s in toy.sentences(60)], order=3, sweeps=2).to_disk(path)
    return path


def test_each_row_has_the_surprisal_of_a_token(model, trained, write):
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
    strange = "Zoë  sees 😀\tthe naïve\u00a0cat.\n\n日本 sleeps"
    contents = {}
    for text in (TEXT, "\n\n" + TEXT, strange, "\ufeffAda sleeps."):
        for content in (text, text.replace("\n", "\r\n")):
            contents[str(write(content, f"{len(contents)}.txt"))] = content
    found = rows(run(model, *contents, *options).stdout)
    for path, content in contents.items():
        own = [row for row in found if row["file"] == path]
        text = "".join(row["text"] for row in own)
        assert text == "".join(content.removeprefix("\ufeff").split())
        for row in own:
            assert content[int(row["start"]) : int(row["end"])] == row["text"]


@pytest.mark.parametrize("options", [(), ("--per-line",)])
def test_surprisal_does_not_depend_on_later_words(model, write, options):
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
    alone = [row["surprisal"] for row in spacy_hpyp.surprisal(trained, lines[:1])]
    assert [float(row["surprisal"]) for row in found[:6]] == pytest.approx(alone, abs=1e-6)


@pytest.mark.parametrize("text", ["", " \r\n\t\n", "\ufeff\n"])
def test_a_file_without_words_has_no_rows(model, write, text):
    assert run(model, write(text)).stdout == "\t".join(COLUMNS) + "\n"


def test_a_table_whose_rows_are_all_dropped_keeps_its_columns_and_counts(model, write):
    table = write("item,condition,regions\n1,a,...|!\n", "t.csv")
    other = write("token,surprisal\na,1\n", "v.csv")
    done = run(model, table, "--regions", "--no-punctuation", "--align", other)
    assert done.stdout.startswith("file\titem\tcondition\tregion\t")
    assert done.stdout.rstrip().endswith("\tv_surprisal")
    assert "2 of 2 words" in done.stderr
    assert "0 of 0 rows" in done.stderr


def test_an_incomplete_table_does_not_replace_another(model, write, tmp_path):
    output = tmp_path / "tables" / "table.tsv"
    output.parent.mkdir()
    output.write_text("old")
    good, bad = write(TEXT), write(b"the dog \xff sleeps", "bad.txt")
    done = run(model, good, bad, "--output", output, exit_code=1)
    assert "bad.txt" in done.stderr.replace("\n", "")
    assert "UTF-8" in done.stderr
    assert [file.name for file in output.parent.iterdir()] == ["table.tsv"]
    assert output.read_text() == "old"


def test_a_json_file_records_how_a_table_was_made(model, write, tmp_path):
    path, output = write(TEXT), tmp_path / "table.tsv"
    run(model, path, "-K", 20, "-o", output)
    found = srsly.read_json(tmp_path / "table.tsv.json")
    assert found["versions"]["spacy-hpyp"] == spacy_hpyp.__version__
    assert found["model"]["particles"] == 20
    assert found["texts"] == {str(path): sha256(path.read_bytes()).hexdigest()}
    run(model, path, "-K", 20, "-o", output)
    assert srsly.read_json(tmp_path / "table.tsv.json") == found


STIMULI = """item,condition,group,regions
1,short,a,"The dog | sees | a cat."
1,long,a,"The old dog | sees | a cat, Kim | near Mona."
2,short,b,Ada | sleeps.
"""
WORDS = "story,word\nb,The\nb,dog\nb,sees\nb,Kim.\na,Ada\na,sleeps.\n"


@pytest.mark.parametrize("name", ["model", "ngrams"])
@pytest.mark.parametrize(("by", "option"), [("token", ()), ("word", ("-w",)), ("region", ("-r",))])
def test_the_command_gives_the_same_rows_as_the_function(request, write, name, by, option):
    model, path = request.getfixturevalue(name), write(STIMULI, "stimuli.csv")
    expected = spacy_hpyp.surprisal(model, path, by=by, punctuation=False, entropy=True)
    output = path.with_name("rows.csv")
    run(model, path, *option, "--no-punctuation", "--entropy", "-o", output)
    found = list(csv.DictReader(output.read_text("utf8").splitlines()))
    for row, other in zip(found, expected, strict=True):
        assert list(row) == list(other)
        for column, value in other.items():
            if isinstance(value, float):
                assert float(row[column]) == pytest.approx(value, abs=1e-5)
            else:
                assert row[column] == (str(value).upper() if column == "known" else str(value))


def test_word_tables_gain_lags_frequencies_and_values_of_another_model(ngrams, write):
    path, counts = write(WORDS, "words.csv"), write("the dog\nthe cat\n", "counts.txt")
    other = write("token,surprisal\nthe,1\ndog,2\nsee,3\ns,4\n", "gpt2.csv")
    options = ("--text-by", "story", "--per-line", "--lags", 1)
    done = run(ngrams, path, *options, "--frequencies", counts, "--align", other)
    found = rows(done.stdout)
    assert [row["word"] for row in found] == ["The", "dog", "sees", "Kim.", "Ada", "sleeps."]
    assert [row["gpt2_surprisal"] for row in found[:4]] == ["1.000000", "2.000000", "7.000000", ""]
    assert [row["surprisal_lag1"] for row in found] == [
        *("", *(row["surprisal"] for row in found[:3]), "", found[4]["surprisal"])
    ]
    assert found[0]["log_frequency"] > found[1]["log_frequency"] > found[2]["log_frequency"]
    shown = " ".join(done.stderr.split())
    assert "Warning: 3 of 6 rows have no gpt2_surprisal" in shown
    assert "are unknown to the model" in shown


def test_text_can_come_from_stdin(ngrams, write):
    text = "the dog sees a cat.\nAda sleeps.\n"
    named = run(ngrams, write(text), "-l").stdout
    done = CliRunner().invoke(hpyp, ["surprisal", str(ngrams), "-", "-l"], input=text)
    ours, theirs = ([row | {"file": ""} for row in rows(table)] for table in (done.stdout, named))
    assert ours == theirs


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("ngrams t.csv -K 3", "parsers"),
        ("ngrams t.csv --threads 2", "parsers"),
        ("model t.csv --segment-with x", "n-gram models"),
        ("model t.csv t.txt", "one table"),
        ("model t.csv u.csv", "one table"),
        ("model t.csv --per-line", "texts"),
        ("model t.txt x.conllu", "file of text"),
        ("model none.csv", "There are no rows"),
        ("model none.csv --text-by item", "There are no rows"),
        ("model t.csv --text-by item --word regions --frequencies x.txt", "no words"),
        ("model t.txt --ray local --frequencies t.txt -o out", "--ray"),
        ("model t.txt --regions", "tables"),
        ("ngrams t.txt", "finds no sentences"),
        ("model t.csv --lags 2", "--text-by"),
        ("model t.csv --context before", "no column 'before'"),
        ("model bad.csv -o out.tsv", "'bad.csv' has 3 fields"),
    ],
)
def test_incompatible_options_and_files_are_rejected(
    request, write, monkeypatch, arguments, problem
):
    write(STIMULI, "t.csv"), write("Ada sleeps.\n", "t.txt"), write("item,text\n1,Ada\n", "u.csv")
    write("", "x.conllu"), write("", "x.txt"), write("item,text\n", "none.csv")
    folder = write("item,text\n1,Ada,Kim\n", "bad.csv").parent
    monkeypatch.chdir(folder)
    name, *options = arguments.split()
    done = run(request.getfixturevalue(name), *options, exit_code=1)
    assert done.stdout == ""
    assert "".join(problem.split()) in "".join(done.stderr.split())
    assert not (folder / "out.tsv").exists()
