"""The command `hpyp perplexity` for a parser; for an n-gram model see test_cli_ngram.py."""

import json
from functools import partial

import command_line
import pytest
import spacy
from spacy.tokens import DocBin

from spacy_hpyp.language_model.ngram import train_ngram_model
from spacy_hpyp.language_model.scoring import (
    perplexity_of,
    score_by_beam,
    score_by_particles,
    search_for_sums,
)

run = partial(command_line.run, "hpyp", "perplexity")


@pytest.fixture(scope="module")
def sentences(toy):
    return [sentence.words for sentence in toy.sentences(20, seed=1)]


@pytest.fixture(scope="module")
def files(toy, trained, sentences, tmp_path_factory):
    folder = tmp_path_factory.mktemp("perplexity")
    trained.to_disk(folder / "pipeline")
    docs = [toy.doc(trained.vocab, sentence) for sentence in toy.sentences(20, seed=1)]
    DocBin(docs=docs).to_disk(folder / "dev.spacy")
    (folder / "dev.txt").write_text("".join(" ".join(words) + "\n" for words in sentences), encoding="utf8")
    return folder


def test_the_sum_over_the_beam_is_the_default(toy, trained, files, sentences):
    found = json.loads(run(files / "pipeline", files / "dev.spacy", "--output", "json").stdout)
    parser = toy.parser(trained)
    expected = perplexity_of(score_by_beam(parser.joint, sentences, search_for_sums(parser.search)))
    assert found == pytest.approx(expected.to_dict())
    assert found["standard_error"] == found["bias"] == 0.0
    table = run(files / "pipeline", files / "dev.spacy", "--method", "beam").output
    assert f"{expected.perplexity:.2f}" in table
    assert "upper bound" in table
    assert "Closed vocabulary" in table


def test_a_pipeline_that_spells_has_an_open_vocabulary_and_bits_a_character(toy, files, sentences, tmp_path):
    nlp = toy.trained(spelling=True)
    nlp.to_disk(tmp_path / "pipeline")
    (tmp_path / "text.txt").write_text("the dog sees Zenobia .\n", encoding="utf8")
    parser = toy.parser(nlp)
    search = search_for_sums(parser.search)
    expected = perplexity_of(score_by_beam(parser.joint, [["the", "dog", "sees", "Zenobia", "."]], search))
    shown = " ".join(run(tmp_path / "pipeline", tmp_path / "text.txt", "--tokenized").output.split())
    assert f"PERPLEXITY {expected.perplexity:.2f}" in shown
    assert f"PERPLEXITY WITHOUT LETTERS {expected.closed_perplexity:.2f}" in shown
    assert f"BITS A CHARACTER {expected.bits_per_character:.4f}" in shown
    assert "Open vocabulary" in shown
    closed = " ".join(run(files / "pipeline", tmp_path / "text.txt", "--tokenized").output.split())
    assert f"PERPLEXITY {expected.closed_perplexity:.2f}" in closed
    assert "BITS A CHARACTER" not in closed
    assert "WITHOUT LETTERS" not in closed


def test_particles_give_an_estimate_with_its_error(toy, trained, files, sentences):
    arguments = ("--method", "particles", "-K", 20, "-R", 3, "--seed", 2, "--threads", 2)
    found = json.loads(
        run(files / "pipeline", files / "dev.txt", *arguments, "--tokenized", "--output", "json").stdout
    )
    joint = toy.parser(trained).joint
    expected = perplexity_of(score_by_particles(joint, sentences, particles=20, replicates=3, seed=2))
    assert found == pytest.approx(expected.to_dict())
    assert found["standard_error"] > 0.0
    table = run(files / "pipeline", files / "dev.txt", *arguments, "--tokenized").output
    assert f"{expected.perplexity:.2f} ± {expected.perplexity * expected.standard_error:.2f}" in " ".join(
        table.split()
    )


def test_text_is_read_by_the_pipeline_s_tokenizer_or_by_another_pipeline(files, tmp_path):
    (tmp_path / "text.txt").write_text("The cat sleeps. The dog\nsleeps.\n", encoding="utf8")
    found = json.loads(run(files / "pipeline", tmp_path / "text.txt", "--output", "json").stdout)
    assert (found["sentences"], found["words"]) == (2, 8)
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path / "segmenter")
    arguments = ("--segment-with", tmp_path / "segmenter", "--output", "json")
    found = json.loads(run(files / "pipeline", tmp_path / "text.txt", *arguments).stdout)
    assert [found[name] for name in ("sentences", "words")] == [2, 8]


def test_more_particles_make_the_bound_tighter(files):
    few, many = (
        json.loads(run(files / "pipeline", files / "dev.spacy", "-K", k, "--output", "json").stdout)[
            "perplexity"
        ]
        for k in (1, 100_000)
    )
    assert many < few


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--replicates", 3), "--replicates is a setting of the method 'particles'"),
        (("--method", "beam", "--seed", 3), "--seed is a setting of the method 'particles'"),
        (("--method", "particles", "--replicates", 1), "'replicates' must be at least 2"),
        (("--method", "particles", "--particles", 0), "'particles' must be a whole number of at least 1"),
        (("--particles", 0), "'particles' must be a whole number"),
    ],
)
def test_settings_that_do_not_fit_are_explained(files, arguments, problem):
    assert problem in " ".join(
        run(files / "pipeline", files / "dev.spacy", *arguments, exit_code=1).output.split()
    )


def test_what_is_wrong_with_the_files_is_said(toy, files, sentences, tmp_path):
    train_ngram_model(sentences, order=2, sweeps=2, samples=1).to_disk(tmp_path / "ngram")
    assert (
        "an n-gram model"
        in run(tmp_path / "ngram", files / "dev.txt", "--method", "beam", exit_code=1).output
    )
    assert "no_such_model" in run("no_such_model", files / "dev.txt", exit_code=1).output
    (tmp_path / "empty.txt").write_text("\n", encoding="utf8")
    assert "no sentence" in run(files / "pipeline", tmp_path / "empty.txt", exit_code=1).output
    nlp = toy.trained(tags="given", word=[], sweeps=1)
    nlp.to_disk(tmp_path / "unlexicalised")
    shown = run(tmp_path / "unlexicalised", files / "dev.txt", exit_code=1).output
    assert "gives no probability" in " ".join(shown.split())
