"""`hpyp surprisal` with tables of stimuli, by a parser and by an n-gram model, as a psycholinguist would use
it.
"""

import csv
import gzip
import io
import json
from collections import Counter
from functools import partial
from pathlib import Path

import command_line
import numpy as np
import pytest
from typer.testing import CliRunner

import spacy_hpyp
from spacy_hpyp.cli import hpyp
from spacy_hpyp.cli import surprisal as cli_surprisal
from spacy_hpyp.language_model.ngram import NGramModel, collect_vocabulary, train_ngram_model
from spacy_hpyp.language_model.stimuli import check_prose

run = partial(command_line.run, "hpyp", "surprisal")
GARDEN_PATHS = Path(__file__).parents[2] / "assets" / "garden_paths.csv"
TABLE = """item,condition,group,regions
1,short,a,"The dog | sees | a cat."
1,long,a,"The old dog | sees | a cat, Kim | near Mona."
2,short,b,Ada | sleeps.
"""
ENTROPIES = ["entropy_next", "entropy_analyses", "reduction_next", "reduction_analyses"]


def rows(table, dialect="excel-tab"):
    return list(csv.DictReader(io.StringIO(table, newline=""), dialect=dialect))


def message(done):
    assert done.stdout == ""
    return squeezed(done.stderr)


def squeezed(text):
    """Without white space: messages are wrapped."""
    return "".join(text.split())


@pytest.fixture(scope="module")
def models(toy, trained, tmp_path_factory):
    """A pipeline, and an n-gram model of the same text that spells rare words out."""
    folder = tmp_path_factory.mktemp("stimuli")
    trained.to_disk(folder / "pipeline")
    toy.trained(spelling=True, sweeps=1).to_disk(folder / "spelled")
    text = [sentence.words for sentence in toy.sentences(60)]
    for name, spelling in (("ngram", False), ("spelled.ngram", True)):
        collect = partial(collect_vocabulary, spelling=spelling)
        train_ngram_model(text, collect, order=3, sweeps=2, samples=2).to_disk(folder / name)
    return folder


@pytest.fixture(scope="module", params=["pipeline", "ngram"])
def model(models, request):
    return models / request.param


def test_a_table_is_read_row_by_row_and_its_columns_are_carried_through(model, write):
    path = write(TABLE, "stimuli.csv")
    found = rows(run(model, path).stdout)
    assert list(found[0])[:9] == "file item condition group region sentence word token start".split()
    assert {row["file"] for row in found} == {str(path)}
    assert [row["text"] for row in found if row["item"] == "2"] == ["Ada", "sleeps", "."]
    assert {row["group"] for row in found if row["item"] == "2"} == {"b"}
    long = [row for row in found if row["condition"] == "long"]
    assert [row["region"] for row in long] == list("1112333344" + "4")[: len(long)]
    text = "The old dog sees a cat, Kim near Mona."
    for row in found:
        # Each row of the table is one sentence.
        assert row["sentence"] == "1"
    assert [text[int(row["start"]) : int(row["end"])] for row in long] == [row["text"] for row in long]


def test_words_and_regions_are_sums_over_tokens_with_and_without_punctuation(model, write):
    path = write(TABLE, "stimuli.csv")
    tokens = rows(run(model, path).stdout)
    for options, key in ((("--words",), "word"), (("--regions",), "region")):
        for punctuation in (True, False):
            found = rows(run(model, path, *options, *([] if punctuation else ["--no-punctuation"])).stdout)
            for row in found:
                own = [t for t in tokens if all(t[k] == row[k] for k in ("item", "condition", key))]
                own = [t for t in own if punctuation or t["text"] not in ".,"]
                assert int(row["tokens"]) == len(own)
                assert float(row["surprisal"]) == pytest.approx(
                    sum(float(t["surprisal"]) for t in own), abs=1e-5
                )
                assert row["text"].replace(" ", "").replace(",", "") == "".join(
                    t["text"] for t in own
                ).replace(",", "")
            if key == "region":
                assert [row["text"] for row in found][:3] == [
                    "The dog",
                    "sees",
                    "a cat." if punctuation else "a cat",
                ]
    kept = rows(run(model, path, "--no-punctuation").stdout)
    assert kept == [row for row in tokens if row["text"] not in ".,"]


def test_rare_words_are_known_by_their_class(model, models, write):
    path = write("item,condition,text\n1,a,the zyzzyva near the .\n", "t.csv")
    found = rows(run(model, path).stdout)
    assert [row["known"] for row in found] == ["TRUE", "FALSE", "TRUE", "TRUE", "TRUE"]
    assert [bool(row["class"]) for row in found] == [False, True, False, False, False]
    (sentence,) = rows(
        run(model, write("item,condition,regions\n1,a,the zyzzyva sleeps .\n", "r.csv"), "-r").stdout
    )
    assert (sentence["known"], sentence["class"]) == ("FALSE", found[1]["class"])


@pytest.mark.parametrize("name", ["spelled", "spelled.ngram"])
def test_a_rare_word_that_is_spelled_out_has_its_own_surprisal(models, write, name):
    path = write("item,condition,text\n1,a,the zyzzyva sleeps .\n1,b,the byzzyva sleeps .\n", "t.csv")
    found = rows(run(models / name, path).stdout)
    one, other = (next(row for row in found if row["text"] == word) for word in ("zyzzyva", "byzzyva"))
    assert one["class"] == other["class"]
    assert one["surprisal"] != other["surprisal"]


def test_an_n_gram_model_gives_the_surprisals_that_it_has(models, write):
    ngrams = NGramModel.from_disk(models / "ngram")
    found = rows(run(models / "ngram", write(TABLE, "t.csv"), "--entropy").stdout)
    words = ["Ada", "sleeps", "."]
    own = [row for row in found if row["item"] == "2"]
    expected = ngrams.log_probs(words)
    assert [float(row["surprisal"]) for row in own] == pytest.approx(
        (-expected[:-1] / np.log(2)).tolist(), abs=1e-5
    )
    assert sum(float(row["log_prob"]) for row in own) == pytest.approx(expected.sum(), abs=1e-5)
    ahead = ngrams.next_words(words)
    np.testing.assert_allclose(ahead.sum(axis=1), 1.0)
    numbers = [*ngrams.words.vocabulary.numbers(words), ahead.shape[1] - 1]
    np.testing.assert_allclose(np.log(ahead[range(4), numbers]), expected)
    entropies = -(ahead * np.log2(ahead)).sum(axis=1)
    assert [float(row["entropy_next"]) for row in own] == pytest.approx(entropies[1:].tolist(), abs=1e-5)
    reduced = np.maximum(entropies[:-1] - entropies[1:], 0.0)
    assert [float(row["reduction_next"]) for row in own] == pytest.approx(reduced.tolist(), abs=1e-5)
    assert "entropy_analyses" not in own[0]


def test_a_text_of_lines_has_surprisals_by_an_n_gram_model_too(models, write):
    path = write("Ada sleeps .\nthe dog waits .\n")
    found = rows(run(models / "ngram", path, "--per-line").stdout)
    assert [row["paragraph"] for row in found] == list("1112222")
    assert "--per-line" in message(run(models / "ngram", path, exit_code=1))
    segmented = rows(run(models / "ngram", path, "--segment-with", models / "pipeline").stdout)
    assert [row["text"] for row in segmented] == [row["text"] for row in found]


@pytest.mark.slow
def test_entropies_are_those_of_the_parses_and_words_that_are_written_as_jsonl(models, write, tmp_path):
    path, output = write(TABLE, "t.csv"), tmp_path / "parses.jsonl"
    found = rows(run(models / "pipeline", path, "--entropy", "-K", 200).stdout)
    assert list(found[0])[-4:] == ENTROPIES
    run(models / "pipeline", path, "--parses", 1000, "-K", 200, "-o", output)
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert len(lines) == len(found)
    before = {}
    for row, line in zip(found, lines):
        assert (row["item"], row["condition"], row["text"]) == (line["item"], line["condition"], line["text"])
        assert float(row["entropy_next"]) == pytest.approx(line["entropy_next"], abs=1e-5)
        probability = np.array([parse["probability"] for parse in line["parses"]])
        assert probability.sum() == pytest.approx(1.0, abs=1e-3)
        assert np.all(np.diff(probability) <= 0.0)
        shown = -(probability * np.log2(np.maximum(probability, 1e-9))).sum()
        assert float(row["entropy_analyses"]) == pytest.approx(shown, abs=1e-2)
        assert sum(p for _, p in line["next_words"]) <= 1.0 + 1e-3
        n = int(row["token"])
        before = before if n > 1 else {"entropy_analyses": 0.0}
        reduced = max(before["entropy_analyses"] - float(row["entropy_analyses"]), 0.0)
        assert float(row["reduction_analyses"]) == pytest.approx(reduced, abs=1e-5)
        before = {"entropy_analyses": float(row["entropy_analyses"])}
        for parse in line["parses"]:
            assert len(parse["heads"]) == len(parse["tags"]) == len(parse["deps"]) == len(line["words"]) == n
            assert parse["stack"] == [i for i, head in enumerate(parse["heads"], 1) if head is None]
            assert parse["stack"][-1] == n
            assert all((head is None) == (dep == "") for head, dep in zip(parse["heads"], parse["deps"]))
        different = {json.dumps([parse["tags"], parse["heads"], parse["deps"]]) for parse in line["parses"]}
        assert len(different) == len(line["parses"])


@pytest.mark.slow
def test_entropies_of_words_are_those_after_their_last_token(models, write):
    path = write("item,condition,text\n1,a,the dog sees a cat.\n", "t.csv")
    tokens, words = (
        rows(run(models / "pipeline", path, "-e", *options).stdout) for options in ((), ("--words",))
    )
    assert [words[-1][name] for name in ENTROPIES[:2]] == [tokens[-1][name] for name in ENTROPIES[:2]]
    for name in ("next", "analyses"):
        before = float(tokens[-3][f"entropy_{name}"]) - float(tokens[-1][f"entropy_{name}"])
        assert float(words[-1][f"reduction_{name}"]) == pytest.approx(max(before, 0.0), abs=1e-5)


@pytest.mark.slow
def test_entropies_do_not_depend_on_threads_or_on_what_follows(models, write):
    whole = write("the dog sees a cat near Ada . Kim sleeps .\n\nMona waits .\n")
    one, two = (run(models / "pipeline", whole, "-e", "-t", threads).stdout for threads in (1, 2))
    assert one == two
    words = "the old dog sees a".split()
    tables = [
        rows(run(models / "pipeline", write(" ".join(words[:n]), "part.txt"), "-e", "-l").stdout)
        for n in range(1, 6)
    ]
    for n, part in enumerate(tables[:-1], 1):
        for ours, theirs in zip(part, tables[-1][:n]):
            assert [ours[name] for name in ENTROPIES] == [theirs[name] for name in ENTROPIES]


@pytest.mark.slow
def test_one_call_from_python_does_what_the_command_does(model, models, write):
    path = write(TABLE, "stimuli.csv")
    for by, option in (("token", []), ("word", ["--words"]), ("region", ["--regions"])):
        found = spacy_hpyp.surprisal(model, path, by=by, punctuation=False, entropy=True)
        table = rows(run(model, path, *option, "--no-punctuation", "--entropy").stdout)
        assert [list(row) for row in found] == [list(row) for row in table]
        for ours, theirs in zip(found, table):
            for name, value in ours.items():
                if isinstance(value, float):
                    assert value == pytest.approx(float(theirs[name]), abs=1e-5)
                elif isinstance(value, bool):
                    assert theirs[name] == str(value).upper()
                else:
                    assert str(value) == theirs[name]


def test_python_takes_strings_rows_and_lists_of_regions(trained, models):
    plain = spacy_hpyp.surprisal(trained, ["the dog sees a cat .", "Ada sleeps ."])
    assert [row["item"] for row in plain] == [1] * 6 + [2] * 3
    table = [
        {"item": "x", "condition": 1, "regions": ["the dog", "sees a cat ."]},
        {"item": "y", "condition": 2, "regions": "Ada | sleeps ."},
    ]
    found = spacy_hpyp.surprisal(trained, table)
    assert [(row["item"], row["region"]) for row in found] == [("x", 1)] * 2 + [("x", 2)] * 4 + [("y", 1)] + [
        ("y", 2)
    ] * 2
    assert [row["surprisal"] for row in found] == [row["surprisal"] for row in plain]
    ngrams = NGramModel.from_disk(models / "ngram")
    assert [row["text"] for row in spacy_hpyp.surprisal(ngrams, table)] == [row["text"] for row in found]
    with pytest.raises(ValueError, match="in brackets"):
        spacy_hpyp.surprisal(trained, "the dog sees a cat .")
    with pytest.raises(ValueError, match="'by' must be"):
        spacy_hpyp.surprisal(trained, ["the dog"], by="line")
    for missing in (float("nan"), None, ["the dog", float("nan")]):
        with pytest.raises(ValueError, match=r"The regions of text 1 should be a string.*keep_default_na"):
            spacy_hpyp.surprisal(trained, [{"regions": missing}])
    with pytest.raises(ValueError, match="The text of text 2 should be a string, but there is nan"):
        spacy_hpyp.surprisal(trained, ["the dog", {"text": float("nan")}])
    with pytest.raises(ValueError, match="no regions in text 1"):
        spacy_hpyp.surprisal(trained, ["the dog"], by="region")


def test_a_table_of_pandas_is_not_taken_for_the_names_of_its_columns(trained):
    class DataFrame:
        """As much of one as can be gone over without pandas."""

        def __iter__(self):
            return iter(["item", "regions"])

        def to_dict(self, orient):
            raise NotImplementedError

    with pytest.raises(ValueError, match="to_dict"):
        spacy_hpyp.surprisal(trained, DataFrame())


def test_asking_changes_no_setting_of_a_pipeline(toy, trained):
    nlp = toy.copy(trained, outlook=1.0)
    rows_of = spacy_hpyp.surprisal(nlp, ["the dog sees a cat ."])
    assert toy.parser(nlp).outlook == 1.0
    assert rows_of == spacy_hpyp.surprisal(trained, ["the dog sees a cat ."])


@pytest.mark.slow
def test_a_parsed_document_shows_its_parses_word_by_word(toy, trained):
    doc = trained("the dog sees a cat. Ada sleeps.")
    found = toy.parser(trained).increments(doc, 3)
    assert [one.token for one in found] == list(range(len(doc)))
    starts = [sentence.start for sentence in doc.sents]
    for one in found:
        start = max(begin for begin in starts if begin <= one.token)
        assert one.words == list(range(start, one.token + 1))
        assert 1 <= len(one.parses) <= 3
        assert one.parses[0].stack[-1] == one.token
        assert {head for parse in one.parses for head in parse.heads} <= {None, *one.words}
    with pytest.raises(ValueError, match="'k' must be"):
        toy.parser(trained).increments(doc, 0)


@pytest.mark.parametrize("name", ["t.csv", "t.CSV", "t.tsv"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_byte_order_marks_and_quotes_change_nothing(models, write, name, line_end, mark):
    expected = rows(run(models / "ngram", write(TABLE, "plain.csv")).stdout)
    lines = list(csv.reader(io.StringIO(TABLE)))
    made = io.StringIO(newline="")
    writer = csv.writer(
        made, delimiter="\t" if name == "t.tsv" else ";" if mark else ",", lineterminator=line_end
    )
    writer.writerows([*lines[:2], [], *lines[2:]])
    found = rows(run(models / "ngram", write(mark + made.getvalue(), name)).stdout)
    assert [{**row, "file": ""} for row in found] == [{**row, "file": ""} for row in expected]


def test_a_csv_file_comes_out_as_one(models, write, tmp_path):
    path, output = write(TABLE, "stimuli.csv"), tmp_path / "out.csv"
    run(models / "ngram", path, "-o", output)
    assert rows(output.read_text(), "excel") == rows(run(models / "ngram", path).stdout)


def test_a_row_may_have_several_sentences(models, write):
    path = write("item,condition,text\n1,a,the dog sees a cat. Ada sleeps.\n", "t.csv")
    assert {row["sentence"] for row in rows(run(models / "pipeline", path).stdout)} == {"1"}
    assert {row["sentence"] for row in rows(run(models / "pipeline", path, "--running").stdout)} == {"1", "2"}


def test_a_table_needs_no_condition_and_may_have_columns_with_names_of_ours(models, write):
    path = write(
        "sep=;\r\nitem;text;word;surprisal\r\n1;Ada sleeps.;Ada, or not;7\r\n2;Kim waits.;b;8\r\n", "t.csv"
    )
    found = rows(run(models / "ngram", path).stdout)
    assert list(found[0])[:5] == ["file", "item", "input_word", "input_surprisal", "sentence"]
    assert [(row["item"], row["input_word"], row["input_surprisal"]) for row in found] == [
        ("1", "Ada, or not", "7")
    ] * 3 + [("2", "b", "8")] * 3
    assert [row["text"] for row in found][:3] == ["Ada", "sleeps", "."]


def test_cells_that_a_spreadsheet_takes_for_formulas_are_escaped_where_that_is_asked_for(models, write):
    path = write("item,text,note,=code\n1,=1+1 @you sleeps.,=A1,-3\n", "t.csv")
    plain, escaped = (
        rows(run(models / "ngram", path, "--words", *options).stdout) for options in ((), ("--escape",))
    )
    assert [row["text"] for row in plain] == ["=1+1", "@you", "sleeps."]
    assert [row["text"] for row in escaped] == ["'=1+1", "'@you", "sleeps."]
    assert {row["note"] for row in escaped} == {"'=A1"}
    assert {row["'=code"] for row in escaped} == {"-3"}
    assert [row["log_prob"] for row in escaped] == [row["log_prob"] for row in plain]


def test_letters_of_every_language_are_written_as_they_are(models, write):
    done = run(models / "pipeline", write("\u0b85 sleeps\n"), "--parses", 1)
    assert '"text": "\u0b85"' in done.stdout


def test_a_text_may_be_stdin(models, write):
    text = "the dog sees a cat.\n\nAda sleeps.\n"
    named = run(models / "pipeline", write(text)).stdout
    done = CliRunner().invoke(hpyp, ["surprisal", str(models / "pipeline"), "-"], input=text)
    assert [row | {"file": ""} for row in rows(done.stdout)] == [row | {"file": ""} for row in rows(named)]
    done = CliRunner().invoke(hpyp, ["surprisal", str(models / "pipeline"), "-"], input=TABLES["tabs"])
    assert "looks like a table" in done.stderr


def test_what_is_done_is_kept_where_a_command_is_interrupted(models, write, tmp_path, monkeypatch):
    def batches_of(passages):
        yield [next(passages)]
        raise KeyboardInterrupt

    path, output = write("the dog sees a cat.\n\nAda sleeps.\n"), tmp_path / "table.csv"
    output.write_text("old")
    run(models / "pipeline", path, "-o", tmp_path / "whole.csv")
    monkeypatch.setattr(cli_surprisal, "batches_of", batches_of)
    done = CliRunner().invoke(hpyp, ["surprisal", str(models / "pipeline"), str(path), "-o", str(output)])
    assert done.exit_code != 0
    assert f"kept in '{tmp_path / 'table.partial.csv'}'" in done.stderr
    kept = (tmp_path / "table.partial.csv").read_text().splitlines()
    assert kept == (tmp_path / "whole.csv").read_text().splitlines()[:7]
    assert output.read_text() == "old"


HEADER = "item,condition,regions\n"
BAD = {
    "no item": ("cond,text\na,the dog\n", "has no column 'item'", "in line 1 there are: cond, text"),
    "twice without condition": ("item,text\n1,the dog\n1,a\n", "Item '1' stands twice: in line 2"),
    "no text": ("item,condition,sentence\n1,a,the dog\n", "has no column 'text' or 'regions'"),
    "text and regions": (
        "item,condition,text,regions\n1,a,b,c\n",
        "both a column 'text' and a column 'regions'",
    ),
    "two alike": ("item,condition,text,x,x\n1,a,b,c,d\n", "two with the same: 'x'"),
    "a name of ours twice": ("item,text,word,input_word\n1,a,b,c\n", "Line 2", "one with 'input_' before it"),
    "empty": ("", "is empty"),
    "a header alone": (HEADER, "no rows"),
    "an empty region": (HEADER + "1,a,the dog | | sleeps\n", "Region 2 of line 2", "is empty"),
    "an empty last region": (HEADER + "1,a,x\n2,a,the dog |\n", "Region 2 of line 3", "is empty"),
    "an empty text": ("item,condition,text\n1,a, \n", "The text of line 2", "is empty"),
    "too many fields": (HEADER + "1,a,the dog, the cat\n", "Line 2", "4 fields", "3 columns", "quoted"),
    "twice": (HEADER + '1,a,"the\ndog"\n2,a,x\n1,a,y\n', "Item '1' stands twice", "line 2", "line 5"),
    "Latin-1": (
        (HEADER + "1,a,the dog\n2,a,the caf\u00e9\n").encode("latin-1"),
        "not text in UTF-8: line 3",
        "0xe9",
    ),
    "UTF-16": ((HEADER + "1,a,the dog\n").encode("utf-16"), "not text in UTF-8: line 1"),
    "UTF-16 without a mark": (
        (HEADER + "1,a,the dog\n").encode("utf-16-le"),
        "not text in UTF-8: line 1",
        "UTF-16",
    ),
    "a condition with a blank": (HEADER + "1,a,x\n1, a,y\n", "Item '1' stands twice with condition 'a'"),
    "a row without item": (HEADER + "1,a,x\n,b,y\n", "Line 3", "has no item"),
    "a header below empty lines": ("\n\nid,text\n1,x\n", "has no column 'item'", "in line 3 there are"),
    "quotes in a field": (HEADER + '1,a,"the "old" dog"\n', "Line 2", "those in it are doubled"),
    "an open quote": (HEADER + '1,a,"the dog\n', "Line 2", "cannot be read"),
}


@pytest.mark.parametrize("table", BAD)
def test_what_is_wrong_with_a_table_is_said_with_file_and_line(models, write, table):
    content, *problems = BAD[table]
    path = write(content, "bad.csv")
    shown = message(run(models / "ngram", path, "-o", path.parent / "out.tsv", exit_code=1))
    for problem in problems:
        assert squeezed(problem) in shown
    assert "bad.csv" in shown
    assert not (path.parent / "out.tsv").exists()


def test_a_region_that_cuts_a_token_is_an_error_and_one_that_cuts_a_word_is_not(model, write):
    path = write(HEADER + "1,a,Ada slee|ps.\n", "t.csv")
    shown = message(run(model, path, "-o", path.with_suffix(".tsv"), exit_code=1))
    assert squeezed("Region 1 of line 2") in shown
    assert squeezed("inside of the token 'sleeps'") in shown
    path = write(HEADER + "1,a,Kim do|n't sleep.\n", "t.csv")
    found = rows(run(model, path, "--words").stdout)
    assert [(row["text"], row["region"]) for row in found] == [
        ("Kim", "1"),
        ("do", "1"),
        ("n't", "2"),
        ("sleep.", "2"),
    ]
    assert [row["text"] for row in rows(run(model, path, "--regions").stdout)] == ["Kim do", "n't sleep."]


TABLES = {
    "tabs": "1\ta\tthe dog sees\n2\ta\tAda sleeps\n",
    "a header": TABLE,
    "commas": "1,a,the dog\n2,a,the cat\n3,a,the bird\n",
    "separators in quotes": 'id,cond,sentence\n1,a,"the dog, the cat, and Ada."\n2,a,"Ada"\n',
    "sentences without a header": "1,a,the dog sees.\n1,b,the cat sees.\n2,a,Ada sleeps.\n",
    "sentences behind tabs": "1\ta\tthe dog sees.\n2\ta\tAda sleeps.\n",
    "semicolons": "Item;Cond;Text\n1;a;Ada sleeps.\n",
}
PROSE = {
    "one line": "the dog, the cat, and Ada.",
    "lists": "the dog, the cat, and Ada.\nKim, Mona, and Ada.\nthe cat, the dog, and Kim.\n",
    "a tab": "the dog\tsees\nAda sleeps.\n",
    "indented": "\tthe dog sees.\n\tAda sleeps.\n",
    "words": "the item has a condition, and sleeps.\nAda waits, too.\n",
}


@pytest.mark.parametrize("text", TABLES)
@pytest.mark.parametrize("options", [(), ("--per-line",)])
def test_a_table_is_not_taken_for_prose(models, write, text, options):
    shown = message(run(models / "pipeline", write(TABLES[text], "table.txt"), *options, exit_code=1))
    assert squeezed("table.txt' looks like a table") in shown
    assert squeezed(".csv or .tsv") in shown


@pytest.mark.parametrize("text", TABLES)
def test_a_table_whose_lines_end_in_carriage_returns_is_not_taken_for_prose(text):
    lines = io.BytesIO(TABLES[text].replace("\n", "\r").encode())
    with pytest.raises(ValueError, match="'-' looks like a table"):
        check_prose(lines, Path("-"))


def test_compressed_text_is_read_as_others_are_and_looked_through_for_tables(models, write):
    prose, table = (
        write(gzip.compress(text.encode()), f"{i}.txt.gz") for i, text in enumerate((PROSE["lists"], TABLE))
    )
    compressed = rows(run(models / "ngram", prose, "--per-line").stdout)
    plain = rows(run(models / "ngram", write(PROSE["lists"]), "--per-line").stdout)
    assert [{**row, "file": ""} for row in compressed] == [{**row, "file": ""} for row in plain]
    assert squeezed("looks like a table") in message(run(models / "ngram", table, "--per-line", exit_code=1))


@pytest.mark.parametrize("text", PROSE)
def test_prose_is_not_taken_for_a_table(models, write, text):
    assert rows(run(models / "ngram", write(PROSE[text]), "--per-line").stdout)


def test_a_line_of_prose_may_be_longer_than_a_field_of_a_table(write):
    path = write("the dog sees a cat " * 10_000)
    check_prose(path.read_bytes().splitlines(), path)


def test_text_in_another_encoding_is_reported_with_its_line(models, write):
    for lines in (3, 300):
        text = ("the dog sleeps.\n" * lines + "caf\u00e9\n").encode("latin-1")
        path = write(text)
        shown = message(run(models / "ngram", path, "-l", "-o", path.with_name("out"), exit_code=1))
        assert f"line{lines + 1}" in shown
        assert squeezed("text.txt' is not text in UTF-8") in shown


def test_options_that_do_not_fit_are_refused(models, write):
    table, text = write(TABLE, "t.csv"), write("Ada sleeps.\n")
    for arguments, problem in (
        (("ngram", table, "--parses", 3), "--parses is a setting of a parser"),
        (("ngram", table, "-K", 3), "--particles is a setting of a parser"),
        (("pipeline", table, "--segment-with", "x"), "--segment-with is a setting of an n-gram model"),
        (("pipeline", table, "--words", "--regions"), "either --words or --regions"),
        (("pipeline", table, text), "have different columns"),
        (("pipeline", text, "--regions"), "There are no regions in"),
        (("ngram", table, "--running"), "finds no sentences"),
        (("pipeline", table, "--per-line"), "--per-line is a setting of texts"),
        (("pipeline", text, "--running"), "--running is a setting of tables"),
        (("pipeline", table, "--parses", 3, "--words"), "--words is a setting of a table"),
        (("pipeline", table, "--parses", 3, "--no-punctuation"), "--no-punctuation is a setting of a table"),
        (("pipeline", table, "--parses", 3, "--entropy"), "--entropy is a setting of a table"),
        (("pipeline", table, "--parses", 3, "--text-by", "item"), "--text-by is a setting of a table"),
        (("pipeline", table, "--text-by", "item", "--running"), "rows are those of the table"),
        (("pipeline", text, "--text-by", "item"), "--text-by is a setting of tables"),
        (("pipeline", text, "--context", "item"), "--context is a setting of tables of stimuli"),
        (("pipeline", table, "--context", "before"), "no column 'before' in line 2"),
        (("pipeline", table, "--lags", 2), "--lags is a setting of a table with one word a row"),
        (("ngram", table, "--text-by", "item", "--word", "group"), "finds no sentences"),
    ):
        name, *rest = arguments
        assert squeezed(problem) in message(run(models / name, *rest, "-o", text.parent / "out", exit_code=1))


def test_tables_with_other_columns_are_refused_before_anything_is_written(models, write):
    table = write(TABLE, "one.csv")
    for other, options, problem in (
        ("item,condition,regions\n1,a,Ada | sleeps.\n", [], "'other.csv' has other columns than 'one.csv'"),
        (
            "item,condition,group,text\n1,a,b,Ada sleeps.\n",
            [],
            "item, condition, group, not item, condition, group, regions",
        ),
        (
            "item,condition,group,text\n1,a,b,Ada sleeps.\n",
            ["--regions"],
            "There are no regions in 'other.csv'",
        ),
    ):
        done = run(models / "ngram", table, write(other, "other.csv"), *options, exit_code=1)
        assert squeezed(problem) in message(done).replace(squeezed(f"{table.parent}/"), "")


def test_what_stands_before_a_stimulus_is_read_and_has_no_rows(model, write):
    table = "item,before,note,regions\n1,the  old dog,x,sees | a cat.\n2,,y,Ada | sleeps.\n"
    found = rows(run(model, write(table, "t.csv"), "--context", "before").stdout)
    whole = rows(run(model, write("item,text\n1,the old dog sees a cat.\n2,Ada sleeps.\n", "w.csv")).stdout)
    assert list(found[0])[:4] == ["file", "item", "note", "region"]
    assert [row["region"] for row in found] == list("1222122")
    assert [row["token"] for row in found] == list("1234123")
    assert [row["surprisal"] for row in found] == [row["surprisal"] for row in whole[3:]]
    for row in found:
        text = {"1": "sees a cat.", "2": "Ada sleeps."}[row["item"]]
        assert text[int(row["start"]) : int(row["end"])] == row["text"]
    continued = write("item,prefix,continuation\n1,the old dog,sees a cat.\n2,,Ada sleeps.\n", "c.csv")
    one, other = rows(run(model, continued, "--regions").stdout)
    assert (one["text"], other["text"]) == ("sees a cat.", "Ada sleeps.")
    assert float(one["surprisal"]) == pytest.approx(
        sum(float(row["surprisal"]) for row in found[:4]), abs=1e-5
    )
    assert float(one["log_prob"]) == pytest.approx(sum(float(row["log_prob"]) for row in found[:4]), abs=1e-5)


def test_sentences_before_a_stimulus_are_running_text_with_it(models, write):
    path = write("item,before,text\n1,Ada sleeps.,the dog waits. Kim sleeps.\n", "t.csv")
    options = ("--context", "before", "--running")
    found = rows(run(models / "pipeline", path, *options).stdout)
    whole = rows(run(models / "pipeline", write("Ada sleeps. the dog waits. Kim sleeps.")).stdout)
    assert [row["surprisal"] for row in found] == [row["surprisal"] for row in whole[3:]]
    assert [row["sentence"] for row in found] == list("1111222")
    lines = run(models / "pipeline", path, *options, "--parses", 1).stdout.splitlines()
    assert [json.loads(line)["text"] for line in lines] == [row["text"] for row in found]


#: Reading times of two texts, with a row without a word, a dash by itself, and columns with names of the
#: result.
WORDS = """story\tword\tform\tsurprisal
b\t1\tThe\t310.5
b\t2\tdog\t300
b\t3\tdoesn't\t290
b\t4\t\t280
b\t5\tsleep,\t270
b\t6\tKim!\t260
b\t7\t–\t250
b\t8\tAda\t240
b\t9\twaits.\t230
a\t1\tthe\t220
a\t2\tcat\t210
a\t3\tsleeps.\t200
"""
BY_WORD = ("--text-by", "story", "--word", "form")


@pytest.fixture
def reading_options(models, model):
    """What a model needs to read running text."""
    return ["--segment-with", models / "pipeline"] if model.name == "ngram" else []


def test_rows_with_one_word_have_the_surprisals_of_the_running_text(model, reading_options, write):
    table = list(csv.DictReader(io.StringIO(WORDS), dialect="excel-tab"))
    found = rows(run(model, write(WORDS, "times.tsv"), *BY_WORD, *reading_options).stdout)
    assert list(found[0])[:6] == ["story", "word", "form", "input_surprisal", "sentence", "tokens"]
    for ours, theirs in zip(found, table, strict=True):
        assert [ours[name] for name in ("story", "word", "form", "input_surprisal")] == [*theirs.values()]
    texts = [
        " ".join(row["form"] for row in table if row["form"] and row["story"] == story) for story in "ba"
    ]
    words = rows(run(model, write("\n\n".join(texts)), "--words", *reading_options).stdout)
    said = [row for row in found if row["form"]]
    assert [row["form"] for row in said] == [row["text"] for row in words]
    for ours, theirs in zip(said, words):
        for name in [*ours][4:-2]:
            assert ours[name] == theirs[name]
    (empty,) = (row for row in found if not row["form"])
    assert not any([*empty.values()][4:])
    assert [row["length"] for row in said] == ["3", "3", "6", "5", "3", "0", "3", "5", "3", "3", "6"]
    tokens = rows(run(model, write(texts[0]), *reading_options).stdout)
    total = sum(float(row["surprisal"]) for row in said if row["story"] == "b")
    assert total == pytest.approx(sum(float(row["surprisal"]) for row in tokens), abs=1e-4)


def test_rows_have_what_the_words_before_have(models, write):
    path = write(WORDS, "times.tsv")
    options = (*BY_WORD, "--per-line", "--no-punctuation", "--entropy", "--lags", 2)
    found = rows(run(models / "ngram", path, *options).stdout)
    repeated = ["surprisal", "entropy_next", "reduction_next", "length", "log_frequency"]
    assert list(found[0])[-10:] == [f"{name}_lag{lag}" for lag in (1, 2) for name in repeated]
    for story in "ba":
        # The dash is punctuation, which is not counted here, and no word before another.
        own = [row for row in found if row["story"] == story and row["form"] not in ("", "–")]
        for i, row in enumerate(own):
            for lag in (1, 2):
                for name in repeated:
                    assert row[f"{name}_lag{lag}"] == (own[i - lag][name] if i >= lag else "")
    for row in found:
        assert bool(row["surprisal"]) == (row["form"] not in ("", "–"))


def test_frequencies_are_those_of_training_or_of_another_text_or_table(toy, models, write):
    path = write('t,word\n1,"The"\n1,dog\n1,do-cat.\n1,zyzzyva\n', "times.csv")

    def frequencies(model, *options):
        found = rows(run(models / model, path, "--text-by", "t", "--per-line", *options).stdout)
        return [float(row["log_frequency"]) for row in found]

    def zipf(counts, words):
        total = sum(counts.values()) + len(counts)
        return [np.log10((counts.get(word, 0) + 1) / total * 1e9) for word in words]

    for model, sentences in (("ngram", toy.sentences(60)), ("pipeline", toy.sentences())):
        counts = Counter(word.lower() for sentence in sentences for word in sentence.words)
        found, expected = frequencies(model), zipf(counts, ["the", "dog"])
        # Words that a model knows by their class alone are counted as a word less each.
        assert found[:2] == pytest.approx(expected, abs=0.02)
        assert found[0] - found[1] == pytest.approx(expected[0] - expected[1], abs=1e-5)
        assert found[3] == min(found)
    expected = zipf({"the": 3, "dog": 1, "cat": 1, "do": 2}, ["the", "dog", "cat", "zyzzyva"])
    for other in (
        write("The cat do the\nthe DOG do\n", "frequencies.txt"),
        write("word,count\nThe,2\nthe,1\ndog,1\ncat,1\ndo,2\n", "frequencies.csv"),
    ):
        assert frequencies("ngram", "--frequencies", other) == pytest.approx(expected, abs=1e-5)
    bad = write("word,count\nThe,2.5\n", "bad.csv")
    done = run(models / "ngram", path, "--text-by", "t", "--per-line", "--frequencies", bad, exit_code=1)
    assert squeezed("should be a whole number, but it is '2.5'") in message(done)


BAD_WORDS = {
    "no text column": ("t,word\n1,the\n", "There is no column 'story' in line 2", "t, word"),
    "no word column": ("story,token\n1,the\n", "There is no column 'word' in line 2"),
    "a row without text": ("story,word\n1,the\n,dog\n", "Line 3", "nothing in the column 'story'"),
    "texts in pieces": ("story,word\n1,a\n2,b\n2,c\n1,d\n", "Line 5", "'1', whose rows ended with line 2"),
    "a text without words": (
        "story,word,x\n1,a,\n2,,y\n",
        "The text '2', which begins with line 3",
        "no words",
    ),
    "too many fields": ("story,word\n1,a\n1,b,c\n", "Line 3", "3 fields", "2 columns"),
    "speech without quotes": (
        'story,word,x\n1,a,y\n1,"Oh,y\n1,no.",y\n',
        "The word of line 3",
        "double the marks",
    ),
    "a name twice": ("story,word,length,input_length\n1,a,b,c\n", "Line 2", "Rename one"),
}


@pytest.mark.parametrize("table", BAD_WORDS)
def test_what_is_wrong_with_a_table_of_words_is_said_with_its_line(models, write, table):
    content, *problems = BAD_WORDS[table]
    shown = message(
        run(models / "ngram", write(content, "t.csv"), "--text-by", "story", "--per-line", exit_code=1)
    )
    for problem in problems:
        assert squeezed(problem) in shown


def test_python_gives_rows_back_as_the_command_does(models, write):
    table = list(csv.DictReader(io.StringIO(WORDS), dialect="excel-tab"))
    command = rows(
        run(models / "ngram", write(WORDS, "times.tsv"), *BY_WORD, "--per-line", "--lags", 1).stdout
    )
    settings = {"text_by": "story", "word": "form", "running": False, "lags": 1}
    for texts in (table, write(WORDS, "times.tsv")):
        found = spacy_hpyp.surprisal(models / "ngram", texts, **settings)
        assert [list(row) for row in found] == [list(row) for row in command]
        assert [row["surprisal"] or 0.0 for row in found] == pytest.approx(
            [float(row["surprisal"] or 0.0) for row in command], abs=1e-5
        )
    with pytest.raises(ValueError, match="The word of row 1 should be a string, but there is nan"):
        spacy_hpyp.surprisal(models / "ngram", [{"t": 1, "word": float("nan")}], text_by="t")
    with pytest.raises(ValueError, match="name the column of its texts"):
        spacy_hpyp.surprisal(models / "ngram", ["the dog"], lags=1)


def test_the_garden_paths_are_pairs_with_the_same_critical_region(models):
    found = rows(run(models / "ngram", GARDEN_PATHS, "--regions").stdout)
    assert {row["type"] for row in found} == {"NP/S", "NP/Z", "MV/RR"}
    critical = [row for row in found if row["region"] == row["critical"]]
    pairs = {}
    for row in critical:
        pairs.setdefault(row["item"], {})[row["condition"]] = row["text"]
    assert len(pairs) == 12
    for pair in pairs.values():
        assert set(pair) == {"ambiguous", "unambiguous"}
        assert pair["ambiguous"] == pair["unambiguous"]
