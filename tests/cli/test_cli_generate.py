"""The command `hpyp generate`."""

from functools import partial

import command_line
import pytest
import spacy
import srsly
from spacy.tokens import DocBin

from spacy_hpyp.cli import generate
from spacy_hpyp.language_model.ngram import NGramModel, train_ngram_model

run = partial(command_line.run, "hpyp", "generate")


@pytest.fixture(scope="module")
def pipeline(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("generate") / "pipeline"
    trained.to_disk(path)
    return path


@pytest.fixture(scope="module")
def drawn(toy, trained):
    return list(toy.parser(trained).generate(100))


def best_of(docs, count, min_length):
    long = {doc.text: doc for doc in docs if len(doc) >= min_length}
    return sorted(long.values(), key=lambda doc: -doc._.log_prob)[:count]


def test_the_most_probable_sentences_of_some_length_are_shown(pipeline, drawn):
    shown = run(pipeline, "--number", 100, "--best", 5, "--min-length", 6).stdout
    expected = best_of(drawn, 5, 6)
    assert [line.strip() for line in shown.splitlines()] == [
        f"{doc._.log_prob:.2f}  {doc.text}" for doc in expected
    ]


def test_trees_are_shown_word_by_word(pipeline, drawn):
    shown = run(pipeline, "--number", 100, "--best", 1, "--min-length", 6, "--trees").stdout.splitlines()
    (doc,) = best_of(drawn, 1, 6)
    assert len(shown) == 1 + len(doc)
    for line, token in zip(shown[1:], doc):
        assert line.split() == [
            f"{token._.log_prob:.2f}",
            token.text,
            token.tag_,
            token.dep_,
            token.head.text,
        ]


def test_sentences_are_saved_as_json_lines(pipeline, drawn, tmp_path):
    run(
        pipeline, "--number", 100, "--best", 3, "--min-length", 6, "--output", tmp_path / "new" / "best.jsonl"
    )
    saved = list(srsly.read_jsonl(tmp_path / "new" / "best.jsonl"))
    expected = best_of(drawn, 3, 6)
    assert [record["text"] for record in saved] == [doc.text for doc in expected]
    assert saved[0]["log_prob"] == pytest.approx(expected[0]._.log_prob)
    assert saved[0]["heads"] == [token.head.i for token in expected[0]]
    assert saved[0]["deps"] == [token.dep_ for token in expected[0]]


def test_sentences_are_saved_as_docs(pipeline, drawn, trained, tmp_path):
    run(pipeline, "--number", 100, "--best", 3, "--min-length", 6, "--output", tmp_path / "best.spacy")
    saved = list(DocBin().from_disk(tmp_path / "best.spacy").get_docs(trained.vocab))
    expected = best_of(drawn, 3, 6)
    assert [[(t.text, t.tag_, t.head.i) for t in doc] for doc in saved] == [
        [(t.text, t.tag_, t.head.i) for t in doc] for doc in expected
    ]
    assert saved[0]._.log_prob == pytest.approx(expected[0]._.log_prob)


def test_sentences_begin_with_given_text_and_are_no_longer_than_asked_for(pipeline, tmp_path):
    arguments = (
        "--begin-with",
        "the dog",
        "--max-length",
        6,
        "--min-length",
        3,
        "--seed",
        4,
        "-K",
        20,
        "-t",
        2,
    )
    run(pipeline, "--number", 20, *arguments, "--output", tmp_path / "best.jsonl")
    for record in srsly.read_jsonl(tmp_path / "best.jsonl"):
        assert record["words"][:2] == ["the", "dog"]
        assert 3 <= len(record["words"]) <= 6


def test_no_more_sentences_are_held_than_are_needed(monkeypatch):
    sentences = [
        ({"words": list(words), "log_prob": -value}, None)
        for words, value in zip("abacbd", (3, 1, 3, 2, 1, 2))
    ]
    monkeypatch.setattr(generate, "_BATCH", 1)
    found = generate._most_probable(sentences, 3, 1)
    assert ["".join(sentence["words"]) for sentence, _ in found] == ["b", "c", "d"]
    assert generate._most_probable(sentences, 3, 2) == []


def test_what_is_missing_is_said(pipeline):
    assert "Only" in run(pipeline, "--number", 3, "--best", 10, "--min-length", 1).output
    assert (
        "None of the 3 sentences"
        in run(pipeline, "--number", 3, "--min-length", 59, "--max-length", 60, exit_code=1).output
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--output", "best.txt"), "should end in .jsonl or .spacy"),
        (("--min-length", 61), "No sentence has 61 words or more"),
        (("--number", 0), "'count' must be a whole number"),
        (("--seed", -1), "'seed' must be a whole number"),
        (("--particles", 0), "'particles' must be a whole number"),
    ],
)
def test_what_is_wrong_is_said_without_a_traceback(pipeline, arguments, problem):
    done = run(pipeline, *arguments, exit_code=1)
    assert problem in " ".join(done.output.split())


def test_the_number_of_the_best_has_a_range(pipeline):
    assert "'--best'" in run(pipeline, "--best", 0, exit_code=2).output


def test_a_pipeline_that_is_not_there_or_has_no_parser_is_said(tmp_path):
    assert "no_such_pipeline" in run("no_such_pipeline", exit_code=1).output
    spacy.blank("en").to_disk(tmp_path / "blank")
    assert "hpyp_parser" in run(tmp_path / "blank", exit_code=1).output


@pytest.fixture(scope="module")
def ngrams(toy, tmp_path_factory):
    path = tmp_path_factory.mktemp("ngrams") / "model.ngram"
    train_ngram_model(
        [sentence.words for sentence in toy.sentences(40)], order=3, sweeps=4, samples=2
    ).to_disk(path)
    return path


def test_an_n_gram_model_generates_as_a_parser_does(ngrams, tmp_path):
    arguments = (
        "--number",
        60,
        "--best",
        4,
        "--min-length",
        3,
        "--max-length",
        9,
        "--begin-with",
        "the dog",
        "--seed",
        2,
    )
    done = run(ngrams, *arguments, "--output", tmp_path / "best.jsonl")
    saved = list(srsly.read_jsonl(tmp_path / "best.jsonl"))
    drawn = NGramModel.from_disk(ngrams).generate(60, begin_with=["the", "dog"], max_length=9, seed=2)
    different = {tuple(one.words): one.log_prob for one in drawn if len(one.words) >= 3}
    expected = sorted(different.items(), key=lambda entry: -entry[1])[:4]
    assert [tuple(record["words"]) for record in saved] == [words for words, _ in expected]
    assert [record["log_prob"] for record in saved] == pytest.approx([log_prob for _, log_prob in expected])
    shown = [line.strip() for line in done.stdout.splitlines()][: len(saved)]
    assert shown == [f"{record['log_prob']:.2f}  {record['text']}" for record in saved]


@pytest.mark.parametrize(
    "arguments", [("--trees",), ("-K", 5), ("-t", 2), ("--output", "best.spacy")], ids=str
)
def test_what_an_n_gram_model_does_not_have_is_refused(ngrams, arguments):
    assert "here is an n-gram model" in " ".join(run(ngrams, *arguments, exit_code=1).output.split())
