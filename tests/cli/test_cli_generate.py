"""The command `hpyp generate`."""

from functools import partial

import command_line
import pytest
import srsly
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_hpyp.cli import generate
from spacy_hpyp.language_model.ngram import NGramModel, train_ngram_model

run = partial(command_line.run, "hpyp", "generate")


@pytest.fixture(scope="module")
def pipeline(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("generate") / "pipeline"
    trained.to_disk(path)
    return path


@pytest.fixture(scope="module")
def ngrams(toy, tmp_path_factory):
    path = tmp_path_factory.mktemp("ngrams") / "model.ngram"
    text = [sentence.words for sentence in toy.sentences(40)]
    train_ngram_model(text, order=3, sweeps=4, samples=2).to_disk(path)
    return path


def test_the_most_probable_sentences_are_shown_and_saved_with_their_trees(toy, trained, pipeline, tmp_path):
    drawn = {doc.text: doc for doc in toy.parser(trained).generate(100) if len(doc) >= 6}
    expected = sorted(drawn.values(), key=lambda doc: -doc._.log_prob)[:3]
    common = (pipeline, "--number", 100, "--best", 3, "--min-length", 6)
    shown = run(*common, "--output", tmp_path / "best.jsonl").stdout.splitlines()[:3]
    assert [line.strip() for line in shown] == [f"{doc._.log_prob:.2f}  {doc.text}" for doc in expected]
    saved = list(srsly.read_jsonl(tmp_path / "best.jsonl"))
    assert [record["text"] for record in saved] == [doc.text for doc in expected]
    assert saved[0]["heads"] == [token.head.i for token in expected[0]]
    run(*common, "--output", tmp_path / "best.spacy")
    docs = list(DocBin().from_disk(tmp_path / "best.spacy").get_docs(trained.vocab))
    assert [[(t.text, t.tag_, t.head.i) for t in doc] for doc in docs] == [
        [(t.text, t.tag_, t.head.i) for t in doc] for doc in expected
    ]
    assert docs[0]._.log_prob == pytest.approx(expected[0]._.log_prob)
    lines = run(*common, "--trees").stdout.splitlines()[1 : 1 + len(expected[0])]
    for line, token in zip(lines, expected[0], strict=True):
        columns = [f"{token._.log_prob:.2f}", token.text, token.tag_, token.dep_, token.head.text]
        assert line.split() == columns


def test_sentences_have_some_length(pipeline, tmp_path):
    arguments = "--max-length", 6, "--min-length", 3, "--seed", 4, "-K", 20
    run(pipeline, "--number", 20, *arguments, "--output", tmp_path / "best.jsonl")
    for record in srsly.read_jsonl(tmp_path / "best.jsonl"):
        assert 3 <= len(record["words"]) <= 6


def test_no_more_sentences_are_held_than_are_needed(monkeypatch):
    vocab = Vocab()
    sentences = [(-value, Doc(vocab, [word])) for word, value in zip("abacbd", (3, 1, 3, 2, 1, 2))]
    monkeypatch.setattr(generate, "_BATCH", 1)
    assert [doc.text for _, doc in generate._most_probable(sentences, 3, 1)] == ["b ", "c ", "d "]
    assert generate._most_probable(sentences, 3, 2) == []


def test_an_n_gram_model_generates_as_a_parser_does(ngrams, tmp_path):
    arguments = "--number", 60, "--best", 4, "--min-length", 3, "--max-length", 9, "--seed", 2
    run(ngrams, *arguments, "--output", tmp_path / "best.jsonl")
    saved = list(srsly.read_jsonl(tmp_path / "best.jsonl"))
    drawn = NGramModel.from_disk(ngrams).generate(60, max_length=9, seed=2)
    different = {tuple(one.words): one.log_prob for one in drawn if len(one.words) >= 3}
    expected = sorted(different.items(), key=lambda entry: -entry[1])[:4]
    assert [tuple(record["words"]) for record in saved] == [words for words, _ in expected]
    assert [record["log_prob"] for record in saved] == pytest.approx([log_prob for _, log_prob in expected])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--output", "best.txt"), "should end in .jsonl"),
        (("--number", 3, "--min-length", 59), "None of the 3 sentences"),
        (("--number", 0), "'count'"),
    ],
)
def test_settings_that_fit_nothing_are_errors(pipeline, arguments, problem):
    assert problem in " ".join(run(pipeline, *arguments, exit_code=1).output.split())


def test_n_gram_models_have_no_trees(ngrams):
    assert "n-gram model" in run(ngrams, "--trees", exit_code=1).output
