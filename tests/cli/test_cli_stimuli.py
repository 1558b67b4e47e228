"""`hpyp surprisal` with tables of stimuli, by a parser and by an n-gram model, as a psycholinguist
would use it.
"""

import csv
import io
import json
from collections import Counter
from functools import partial

import command_line
import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from typer.testing import CliRunner

import spacy_hpyp
from spacy_hpyp.annotation.syntactic_words import Analysis, write_words
from spacy_hpyp.cli import hpyp
from spacy_hpyp.language_model.increments import find_increments
from spacy_hpyp.language_model.ngram import NGramModel, collect_vocabulary, train_ngram_model
from spacy_hpyp.language_model.scoring import search_for_reading

run = partial(command_line.run, "hpyp", "surprisal")
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
        train_ngram_model(text, collect, order=3, sweeps=2).to_disk(folder / name)
    clitics(toy, trained).to_disk(folder / "clitics")
    options = ("--vocab-from", folder / "clitics", "--order", 2, "--sweeps", 2)
    command_line.run("hpyp", "ngram", write_lines(folder, text), folder / "clitics.ngram", *options)
    return folder


def write_lines(folder, text):
    (folder / "text.txt").write_text("\n".join(" ".join([*words, "don't"]) for words in text))
    return folder / "text.txt"


def clitics(toy, trained):
    """The pipeline with a tokenizer that has learned that some tokens are several words."""
    config = trained.config.copy()
    config["nlp"]["tokenizer"] = {"@tokenizers": "spacy-hpyp.LearnedTokenizer.v1"}
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    nlp.from_bytes(trained.to_bytes(), exclude=["tokenizer", "config"])
    examples = []
    for number, (first, second) in enumerate([("do", "n't"), ("can", "not"), ("dog", "'s")] * 8):
        words = toy.sentences(24)[number].words[:-1]
        doc = Doc(nlp.vocab, [*words, first + second, "."], [*[True] * (len(words)), False, False])
        write_words(doc, len(words), [Analysis(first), Analysis(second)])
        examples.append(Example(doc, doc))
    nlp.tokenizer.initialize(lambda: examples)
    return nlp


@pytest.fixture(scope="module", params=["pipeline", "ngram"])
def model(models, request):
    return models / request.param


def test_a_table_is_read_row_by_row_and_its_columns_are_carried_through(model, write):
    path = write(TABLE, "stimuli.csv")
    found = rows(run(model, path).stdout)
    assert (
        list(found[0])[:9] == "file item condition group region sentence word token start".split()
    )
    assert {row["file"] for row in found} == {str(path)}
    assert [row["text"] for row in found if row["item"] == "2"] == ["Ada", "sleeps", "."]
    assert {row["group"] for row in found if row["item"] == "2"} == {"b"}
    long = [row for row in found if row["condition"] == "long"]
    assert [row["region"] for row in long] == list("1112333344" + "4")[: len(long)]
    text = "The old dog sees a cat, Kim near Mona."
    for row in found:
        # Each row of the table is one sentence.
        assert row["sentence"] == "1"
    assert [text[int(row["start"]) : int(row["end"])] for row in long] == [
        row["text"] for row in long
    ]


def test_words_and_regions_are_sums_over_tokens_with_and_without_punctuation(model, write):
    path = write(TABLE, "stimuli.csv")
    tokens = rows(run(model, path).stdout)
    for options, key in ((("--words",), "word"), (("--regions",), "region")):
        for punctuation in (True, False):
            found = rows(
                run(model, path, *options, *([] if punctuation else ["--no-punctuation"])).stdout
            )
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


@pytest.mark.parametrize("name", ["spelled", "spelled.ngram"])
def test_a_rare_word_that_is_spelled_out_has_its_own_surprisal(models, write, name):
    path = write(
        "item,condition,text\n1,a,the zyzzyva sleeps .\n1,b,the byzzyva sleeps .\n", "t.csv"
    )
    found = rows(run(models / name, path).stdout)
    one, other = (
        next(row for row in found if row["text"] == word) for word in ("zyzzyva", "byzzyva")
    )
    assert one["class"] == other["class"]
    assert one["surprisal"] != other["surprisal"]


def test_a_text_of_lines_has_surprisals_by_an_n_gram_model_too(models, write):
    path = write("Ada sleeps .\nthe dog waits .\n")
    found = rows(run(models / "ngram", path, "--per-line").stdout)
    assert [row["paragraph"] for row in found] == list("1112222")
    assert "--per-line" in message(run(models / "ngram", path, exit_code=1))
    segmented = rows(run(models / "ngram", path, "--segment-with", models / "pipeline").stdout)
    assert [row["text"] for row in segmented] == [row["text"] for row in found]


@pytest.mark.slow
def test_entropies_are_those_of_the_parses_and_next_words(toy, trained):
    text = "The old dog sees a cat, Kim near Mona."
    found = spacy_hpyp.surprisal(trained, [text], entropy=True, particles=200)
    parser = toy.parser(trained)
    search = search_for_reading(parser.search, 200)
    (steps,) = find_increments(parser.joint, [trained.make_doc(text)], search, 1000)
    assert len(steps) == len(found)
    before = 0.0
    for n, (row, step) in enumerate(zip(found, steps), 1):
        assert row["entropy_next"] == pytest.approx(step.entropy_next, abs=1e-5)
        assert row["entropy_analyses"] == pytest.approx(step.entropy_analyses, abs=1e-5)
        probability = np.array([parse.probability for parse in step.parses])
        assert probability.sum() == pytest.approx(1.0, abs=1e-3)
        assert np.all(np.diff(probability) <= 0.0)
        shown = -(probability * np.log2(np.maximum(probability, 1e-9))).sum()
        assert row["entropy_analyses"] == pytest.approx(shown, abs=1e-2)
        assert sum(p for _, p in step.next_words) <= 1.0 + 1e-3
        assert row["reduction_analyses"] == pytest.approx(
            max(before - row["entropy_analyses"], 0.0), abs=1e-5
        )
        before = row["entropy_analyses"]
        for parse in step.parses:
            assert len(parse.heads) == len(parse.tags) == len(parse.deps) == len(step.words) == n
            assert parse.stack == [i for i, head in enumerate(parse.heads) if head is None]
            assert parse.stack[-1] == n - 1
            assert all((head is None) == (dep == "") for head, dep in zip(parse.heads, parse.deps))
        assert len({str((parse.tags, parse.heads, parse.deps)) for parse in step.parses}) == len(
            step.parses
        )


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
    assert [(row["item"], row["region"]) for row in found] == [("x", 1)] * 2 + [("x", 2)] * 4 + [
        ("y", 1)
    ] + [("y", 2)] * 2
    assert [row["surprisal"] for row in found] == [row["surprisal"] for row in plain]
    ngrams = NGramModel.from_disk(models / "ngram")
    assert [row["text"] for row in spacy_hpyp.surprisal(ngrams, table)] == [
        row["text"] for row in found
    ]
    with pytest.raises(ValueError, match="a list of texts"):
        spacy_hpyp.surprisal(trained, "the dog sees a cat .")
    with pytest.raises(ValueError, match="keep_default_na"):
        spacy_hpyp.surprisal(trained, [{"regions": ["the dog", float("nan")]}])


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


def test_a_row_may_have_several_sentences(models, write):
    path = write("item,condition,text\n1,a,the dog sees a cat. Ada sleeps.\n", "t.csv")
    done = run(models / "pipeline", path)
    assert "--running" in done.stderr
    assert {row["sentence"] for row in rows(done.stdout)} == {"1"}
    with pytest.warns(UserWarning, match="running=True"):
        spacy_hpyp.surprisal(models / "pipeline", path)
    assert {
        row["sentence"] for row in rows(run(models / "pipeline", path, "--running").stdout)
    } == {"1", "2"}


def test_a_table_needs_no_condition_and_may_have_columns_with_names_of_ours(models, write):
    path = write(
        "item;text;word;surprisal\r\n1;Ada sleeps.;Ada, or not;7\r\n2;Kim waits.;b;8\r\n", "t.csv"
    )
    found = rows(run(models / "ngram", path).stdout)
    assert list(found[0])[:5] == ["file", "item", "input_word", "input_surprisal", "sentence"]
    assert [(row["item"], row["input_word"], row["input_surprisal"]) for row in found] == [
        ("1", "Ada, or not", "7")
    ] * 3 + [("2", "b", "8")] * 3
    assert [row["text"] for row in found][:3] == ["Ada", "sleeps", "."]


def test_a_text_may_be_stdin(models, write):
    text = "the dog sees a cat.\n\nAda sleeps.\n"
    named = run(models / "pipeline", write(text)).stdout
    done = CliRunner().invoke(hpyp, ["surprisal", str(models / "pipeline"), "-"], input=text)
    assert [row | {"file": ""} for row in rows(done.stdout)] == [
        row | {"file": ""} for row in rows(named)
    ]


@pytest.mark.parametrize("name", ["pipeline", "ngram", "clitics", "clitics.ngram"])
def test_a_region_that_cuts_a_token_is_an_error_and_one_that_cuts_a_word_is_not(
    models, name, write
):
    model = models / name
    path = write("item,condition,regions\n1,a,Ada slee|ps.\n", "t.csv")
    shown = message(run(model, path, "-o", path.with_suffix(".tsv"), exit_code=1))
    assert squeezed("Region 1 of line 2") in shown
    assert squeezed("inside of the token 'sleeps'") in shown
    path = write("item,condition,regions\n1,a,Kim do|n't sleep.\n", "t.csv")
    found = rows(run(model, path, "--words").stdout)
    assert [(row["text"], row["region"]) for row in found] == [
        ("Kim", "1"),
        ("do", "1"),
        ("n't", "2"),
        ("sleep.", "2"),
    ]
    assert [row["text"] for row in rows(run(model, path, "--regions").stdout)] == [
        "Kim do",
        "n't sleep.",
    ]


@pytest.mark.parametrize("name", ["clitics", "clitics.ngram"])
def test_the_perplexity_of_a_text_is_the_sum_of_its_surprisals(models, name, write):
    path = write("Kim don't sleep.\nthe dog's cat cannot wait .\n")
    found = rows(run(models / name, path, "--per-line").stdout)
    assert [
        row["text"] for row in found
    ] == "Kim do n't sleep . the dog 's cat can not wait .".split()
    log_prob = sum(float(row["log_prob"]) for row in found)
    printed = command_line.run("hpyp", "perplexity", models / name, path, "--output", "json").stdout
    # A parser's beams are of different sizes.
    assert json.loads(printed)["log_prob"] == pytest.approx(
        log_prob, rel=0.05 if name == "clitics" else 1e-6
    )


def test_what_stands_before_a_stimulus_is_read_and_has_no_rows(model, write):
    table = "item,before,note,regions\n1,the  old dog,x,sees | a cat.\n2,,y,Ada | sleeps.\n"
    found = rows(run(model, write(table, "t.csv"), "--context", "before").stdout)
    whole = rows(
        run(model, write("item,text\n1,the old dog sees a cat.\n2,Ada sleeps.\n", "w.csv")).stdout
    )
    assert list(found[0])[:4] == ["file", "item", "note", "region"]
    assert [row["region"] for row in found] == list("1222122")
    assert [row["token"] for row in found] == list("1234123")
    assert [row["surprisal"] for row in found] == [row["surprisal"] for row in whole[3:]]
    for row in found:
        text = {"1": "sees a cat.", "2": "Ada sleeps."}[row["item"]]
        assert text[int(row["start"]) : int(row["end"])] == row["text"]


def test_sentences_before_a_stimulus_are_running_text_with_it(models, write):
    path = write("item,before,text\n1,Ada sleeps.,the dog waits. Kim sleeps.\n", "t.csv")
    options = ("--context", "before", "--running")
    found = rows(run(models / "pipeline", path, *options).stdout)
    whole = rows(run(models / "pipeline", write("Ada sleeps. the dog waits. Kim sleeps.")).stdout)
    assert [row["surprisal"] for row in found] == [row["surprisal"] for row in whole[3:]]
    assert [row["sentence"] for row in found] == list("1111222")


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("index.csv", ',item,text\n0,1,"Ada ""A"" sleeps."\n1,2,Kim waits.\n'),
        ("r.csv", '"","item","text"\n"1",1,"Ada \\"A\\" sleeps."\n"2",2,"Kim waits."\n'),
        ("commas.csv", 'item,text,,\n1,"Ada ""A"" sleeps.",,\n2,Kim waits.,,\n,,,\n'),
        ("utf16.csv", 'item;text\n1;"Ada ""A"" sleeps."\n2;Kim waits.\n'.encode("utf-16")),
        ("utf16.tsv", 'item\ttext\n1\t"Ada ""A"" sleeps."\n2\tKim waits.\n'.encode("utf-16")),
    ],
)
def test_tables_are_read_as_r_pandas_and_spreadsheets_write_them(models, write, name, table):
    plain = write('item,text\n1,"Ada ""A"" sleeps."\n2,Kim waits.\n', "plain.csv")
    expected, found = (
        rows(run(models / "ngram", path).stdout) for path in (plain, write(table, name))
    )
    assert [row | {"file": ""} for row in found] == [row | {"file": ""} for row in expected]


def test_words_and_regions_that_the_model_does_not_know_are_counted(models, write):
    table = "item,critical,regions\n1,1,the zyzzyva | sleeps .\n2,2,the zyzzyva | sleeps .\n"
    shown = " ".join(run(models / "ngram", write(table, "t.csv")).stderr.split())
    assert "2 of 8 words (25.0 %)" in shown
    assert "1 of 2 (critical) regions" in shown
    assert "Warning" in shown
    assert "Warning" not in run(models / "ngram", write("the dog sleeps .\n"), "--per-line").stderr


@pytest.mark.parametrize(
    "table",
    [
        # As minicons has sub-words, and pangoling words with the value of a first one missing.
        "sentence_id,token,surprisal\n0,The,1\n0,Ġdog,2\n0,Ġsle,3\n0,eps,4\n0,.,5\n1,ĠAda,6\n1,Ġwaits,7\n1,.,8\n",
        '"","sent","word","surprisal"\n"1",1,"The",1\n"2",1,"dog",2\n"3",1,"sleeps.",12\n"4",2,"Ada",6\n'
        '"5",2,"waits.",15\n',
    ],
)
def test_values_of_another_model_stand_beside_the_same_words(models, write, table):
    other, stimuli = (
        write(table, "gpt2.csv"),
        write("item,text\n1,The dog sleeps.\n2,Ada waits.\n", "t.csv"),
    )
    options = ("--align", other)
    found = rows(run(models / "ngram", stimuli, "--words", *options).stdout)
    assert [float(row["gpt2_surprisal"]) for row in found] == [1, 2, 12, 6, 15]
    words = "1,The\n1,dog\n1,sleeps.\n2,Ada\n2,waits.\n"
    options = ("--text-by", "text", "--per-line", "--lags", 1, *options)
    found = rows(run(models / "ngram", write(f"text,word\n{words}", "w.csv"), *options).stdout)
    assert [row["gpt2_surprisal_lag1"] for row in found] == [
        "",
        "1.000000",
        "2.000000",
        "",
        "6.000000",
    ]


def test_words_that_another_table_lacks_or_joins_are_counted(models, write):
    other = write("token,lp\n[CLS],0\nthedog,1\nsees,2\nnear,NA\nadas,9\n.,5\n", "lp.csv")
    path = write("item,text\n1,the dog sees Kim near Ada.\n", "t.csv")
    done = run(models / "ngram", path, "--align", other, "--value", "lp")
    assert [row["lp_lp"] for row in rows(done.stdout)] == [
        "",
        "",
        "2.000000",
        "",
        "",
        "",
        "5.000000",
    ]
    assert "Warning: 5 of 7 rows have no lp_lp" in " ".join(done.stderr.split())


def test_reading_times_are_predicted_from_a_table_without_positions(toy, models, write, tmp_path):
    pytest.importorskip("statsmodels", reason="the extra 'reading' is not installed")
    words = [word for sentence in toy.sentences(24) for word in sentence.words]
    lines = "".join(f"{i // 30}\t{word}\t{300 + 7 * i % 50}\n" for i, word in enumerate(words[:90]))
    path = write(f"story\tword\ttime\n{lines}", "times.tsv")
    options = ("--text-by", "story", "--word", "word")
    run(
        models / "ngram",
        path,
        *options,
        "--per-line",
        "--lags",
        1,
        "-o",
        tmp_path / "predictors.tsv",
    )
    done = command_line.run(
        "hpyp", "reading", tmp_path / "predictors.tsv", "--time", "time", "--text-by", "story"
    )
    assert "87" in done.output


def test_several_readers_read_the_same_words(models, write):
    words, orders = "the dog sees a cat .".split(), ([1, 2, 3, 4, 5, 6], [1, 2, 4, 5, 6])
    table = [(f"s{who}", n, words[n - 1]) for who, order in enumerate(orders) for n in order]
    alone = write("text,word\n" + "".join(f"x,{word}\n" for word in words), "one.csv")
    options = ("--text-by", "text", "--per-line", "--lags", 1)
    expected = rows(run(models / "ngram", alone, *options).stdout)
    for sort in (lambda row: row[0], lambda row: row[1]):
        lines = "".join(f"{who},x,{n},{word}\n" for who, n, word in sorted(table, key=sort))
        path = write("subject,text,n,word\n" + lines, "readers.csv")
        found = rows(run(models / "ngram", path, *options, "--reader-by", "subject").stdout)
        assert [(row["subject"], int(row["n"])) for row in found] == [row[:2] for row in table]
        for row in found:
            one = expected[int(row["n"]) - 1]
            assert [row[name] for name in ("surprisal", "surprisal_lag1", "position")] == [
                one[name] for name in ("surprisal", "surprisal_lag1", "position")
            ]
    path = write("subject,text,word\na,x,the\na,x,dog\nb,x,dog\nb,x,the\n", "other.csv")
    done = run(models / "ngram", path, *options, "--reader-by", "subject", exit_code=1)
    assert "line 5" in " ".join(done.stderr.split())


#: Reading times of two texts, with a row without a word, a dash by itself, and columns with names
#: of the result.
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
        assert [ours[name] for name in ("story", "word", "form", "input_surprisal")] == [
            *theirs.values()
        ]
    texts = [
        " ".join(row["form"] for row in table if row["form"] and row["story"] == story)
        for story in "ba"
    ]
    words = rows(run(model, write("\n\n".join(texts)), "--words", *reading_options).stdout)
    said = [row for row in found if row["form"]]
    assert [row["form"] for row in said] == [row["text"] for row in words]
    for ours, theirs in zip(said, words):
        for name in [*ours][4 : [*ours].index("length")]:
            assert ours[name] == theirs[name]
    (empty,) = (row for row in found if not row["form"])
    assert not any([*empty.values()][4:])
    assert [row["length"] for row in said] == [
        "3",
        "3",
        "6",
        "5",
        "3",
        "0",
        "3",
        "5",
        "3",
        "3",
        "6",
    ]
    tokens = rows(run(model, write(texts[0]), *reading_options).stdout)
    total = sum(float(row["surprisal"]) for row in said if row["story"] == "b")
    assert total == pytest.approx(sum(float(row["surprisal"]) for row in tokens), abs=1e-4)


def test_rows_have_what_the_words_before_have(models, write):
    path = write(WORDS, "times.tsv")
    options = (*BY_WORD, "--per-line", "--no-punctuation", "--entropy", "--lags", 2)
    found = rows(run(models / "ngram", path, *options).stdout)
    repeated = ["surprisal", "entropy_next", "reduction_next", "length", "log_frequency"]
    repeated += ["final_punctuation", "comma_dash", "quote"]
    assert list(found[0])[-16:] == [f"{name}_lag{lag}" for lag in (1, 2) for name in repeated]
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
        write(
            "Word\tFREQcount\tCDcount\nthe\t3\t8\ndog\t1\t1\ncat\t1\t1\ndo\t2\t1\n", "subtlex.txt"
        ),
    ):
        assert frequencies("ngram", "--frequencies", other) == pytest.approx(expected, abs=1e-5)


BAD = {
    "no item": ("cond,text\na,the dog\n", "no column 'item'"),
    "no text": ("item,sentence\n1,the dog\n", "either a 'text' or 'regions'"),
    "two alike": ("item,text,x,x\n1,b,c,d\n", "twice"),
    "a name of ours twice": ("item,text,word,input_word\n1,a,b,c\n", "Rename one"),
    "an empty region": ("item,regions\n1,x\n2,the dog | | sleeps\n", "Region 2 of line 3"),
    "an empty text": ("item,text\n1, \n", "text of line 2"),
    "too many fields": ("item,text\n1,the dog, the cat\n", "3 fields"),
    "row names of write.table": ("item,text\n1,1,the dog\n", "row.names = FALSE"),
    "Latin-1": ("item,text\n1,the caf\u00e9\n".encode("latin-1"), "UTF-8"),
    "an open quote": ('item,text\n1,"the dog\n', "Line 2"),
}
BAD_WORDS = {
    "no text column": ("t,word\n1,the\n", "no column 'story' in line 2"),
    "texts in pieces": ("story,word\n1,a\n2,b\n1,d\n", "--reader-by"),
    "several readers, sorted": (
        "story,word\n" + "".join(f"1,{w}\n" * 2 for w in "abcd"),
        "--reader-by",
    ),
    "several readers": ("story,word\n" + "1,a\n1,b\n1,c\n1,d\n1,e\n" * 2, "--reader-by"),
    "a text without words": ("story,word,x\n1,a,\n2,,y\n", "no words"),
    "speech without quotes": ('story,word,x\n1,a,y\n1,"Oh,y\n1,no.",y\n', "line end"),
}


@pytest.mark.parametrize("table", [*BAD, *BAD_WORDS])
def test_a_table_that_cannot_be_read_is_named_before_anything_is_written(models, write, table):
    content, problem = (BAD | BAD_WORDS)[table]
    path = write(content, "bad.csv")
    options = ("--text-by", "story", "--per-line") if table in BAD_WORDS else ()
    done = run(models / "ngram", path, *options, "-o", path.parent / "out.tsv", exit_code=1)
    assert squeezed(problem) in message(done)
    assert "bad.csv" in message(done)
    assert not (path.parent / "out.tsv").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("ngram t.csv -K 3", "a parser"),
        ("pipeline t.csv --segment-with x", "an n-gram model"),
        ("pipeline t.csv t.txt", "different columns"),
        ("pipeline t.csv u.csv", "different columns"),
        ("pipeline t.txt --regions", "tables"),
        ("ngram t.csv --running", "finds no sentences"),
        ("pipeline t.csv --lags 2", "--text-by"),
        ("pipeline t.csv --context before", "no column 'before'"),
    ],
)
def test_options_that_do_not_fit_are_refused(models, write, monkeypatch, arguments, problem):
    write(TABLE, "t.csv"), write("Ada sleeps.\n", "t.txt"), write("item,text\n1,Ada\n", "u.csv")
    monkeypatch.chdir(write("").parent)
    model, *options = arguments.split()
    assert squeezed(problem) in message(run(models / model, *options, exit_code=1))
