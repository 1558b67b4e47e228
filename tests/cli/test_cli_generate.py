"""The command `hpyp generate`."""

from functools import partial

import command_line
import pytest
import srsly

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
    train_ngram_model(text, order=3, sweeps=4).to_disk(path)
    return path


def test_the_most_probable_sentences_are_shown_and_saved_with_their_trees(
    toy, trained, pipeline, tmp_path
):
    drawn = {doc.text: doc for doc in toy.parser(trained).generate(100) if len(doc) >= 6}
    expected = sorted(drawn.values(), key=lambda doc: -doc._.log_prob)[:3]
    common = (pipeline, "--number", 100, "--best", 3, "--min-length", 6)
    shown = run(*common, "--output", tmp_path / "best.jsonl").stdout.splitlines()[:3]
    assert [line.strip() for line in shown] == [
        f"{doc._.log_prob:.2f}  {doc.text}" for doc in expected
    ]
    saved = list(srsly.read_jsonl(tmp_path / "best.jsonl"))
    assert [record["text"] for record in saved] == [doc.text for doc in expected]
    assert saved[0]["heads"] == [token.head.i for token in expected[0]]


def test_sentences_have_some_length(pipeline, tmp_path):
    arguments = "--max-length", 6, "--min-length", 3, "--seed", 4, "-K", 20
    run(pipeline, "--number", 20, *arguments, "--output", tmp_path / "best.jsonl")
    for record in srsly.read_jsonl(tmp_path / "best.jsonl"):
        assert 3 <= len(record["words"]) <= 6


def test_an_n_gram_model_generates_as_a_parser_does(ngrams, tmp_path):
    arguments = "--number", 60, "--best", 4, "--min-length", 3, "--max-length", 9, "--seed", 2
    run(ngrams, *arguments, "--output", tmp_path / "best.jsonl")
    saved = list(srsly.read_jsonl(tmp_path / "best.jsonl"))
    drawn = NGramModel.from_disk(ngrams).generate(60, max_length=9, seed=2)
    different = {tuple(one.words): one.log_prob for one in drawn if len(one.words) >= 3}
    expected = sorted(different.items(), key=lambda entry: -entry[1])[:4]
    assert [tuple(record["words"]) for record in saved] == [words for words, _ in expected]
    assert [record["log_prob"] for record in saved] == pytest.approx(
        [log_prob for _, log_prob in expected]
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--number", 3, "--min-length", 59), "None of the 3 sentences"),
        (("--number", 0), "'count'"),
    ],
)
def test_settings_that_fit_nothing_are_errors(pipeline, arguments, problem):
    assert problem in " ".join(run(pipeline, *arguments, exit_code=1).output.split())


def test_n_gram_models_have_no_particles(ngrams):
    assert "setting of a parser" in run(ngrams, "-K", 3, exit_code=1).output
