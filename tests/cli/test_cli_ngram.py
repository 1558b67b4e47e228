"""The commands `hpyp ngram` and `hpyp perplexity`."""

import json
from functools import partial

import command_line
import pytest
from spacy.tokens import DocBin

from spacy_hpyp.cli.raw_text import read_sentences
from spacy_hpyp.language_model.ngram import NGramModel, train_ngram_model
from spacy_hpyp.language_model.scoring import (
    perplexity_of,
    score_by_beam,
    score_by_particles,
    search_for_sums,
)
from spacy_hpyp.storage import dump

run = partial(command_line.run, "hpyp")
SHORT = ("--order", 3, "--sweeps", 4)


@pytest.fixture(scope="module")
def files(toy, trained, tmp_path_factory):
    """The toy treebank's sentences as a .spacy file and as plain text, other sentences, and a
    pipeline.
    """
    folder = tmp_path_factory.mktemp("ngram")
    docs = [toy.doc(trained.vocab, sentence) for sentence in toy.sentences(60)]
    DocBin(docs=docs).to_disk(folder / "train.spacy")
    for name, seed in (("train", 0), ("dev", 1)):
        lines = [" ".join(sentence.words) + "\n" for sentence in toy.sentences(60, seed=seed)]
        (folder / f"{name}.txt").write_text("".join(lines), encoding="utf8")
    trained.to_disk(folder / "pipeline")
    return folder


@pytest.fixture(scope="module")
def saved(files):
    run("ngram", files / "train.spacy", files / "model", *SHORT)
    return files / "model"


def figures(*arguments):
    return json.loads(run("perplexity", *arguments, "--output", "json").stdout)


def table(*arguments):
    return " ".join(run("perplexity", *arguments).output.split())


def test_the_command_trains_the_model_that_the_function_trains(files, saved, tmp_path):
    expected = train_ngram_model(read_sentences(files / "train.spacy"), order=3, sweeps=4)
    assert NGramModel.from_disk(saved).to_bytes() == expected.to_bytes()
    # Lines of the same words, perhaps in several files, are the same text.
    lines = (files / "train.txt").read_text(encoding="utf8").splitlines(keepends=True)
    (tmp_path / "a.txt").write_text("".join(lines[:10]), encoding="utf-8-sig")
    (tmp_path / "b.txt").write_text("".join(lines[10:]), encoding="utf8")
    run("ngram", tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "model", "--tokenized", *SHORT)
    assert (tmp_path / "model").read_bytes() == saved.read_bytes()


def test_the_perplexity_of_an_ngram_model_is_printed(files, saved):
    found = figures(saved, files / "dev.txt", "--tokenized")
    expected = perplexity_of(NGramModel.from_disk(saved).score(read_sentences(files / "dev.txt")))
    assert found == pytest.approx(expected.to_dict())
    shown = table(saved, files / "dev.txt", "--tokenized")
    assert f"{expected.perplexity:.4f}" in shown
    assert "Closed vocabulary" in shown


def test_the_vocabulary_can_come_from_other_data_or_a_parser(files, toy, tmp_path):
    lines = (files / "train.txt").read_text(encoding="utf8").splitlines(keepends=True)[:10]
    (tmp_path / "few.txt").write_text("".join(lines), encoding="utf8")
    rule = {"@misc": "spacy-hpyp.UnknownWords.v1", "lang": "en"}
    nlp = toy.trained(unknown_words=rule, spelling=True)
    nlp.to_disk(tmp_path / "pipeline")
    run("ngram", tmp_path / "few.txt", tmp_path / "few", "--tokenized", *SHORT)
    for name in ("few.txt", "pipeline"):
        source = ("--vocab-from", tmp_path / name)
        options = ("--tokenized", *SHORT, *["--spelling"] * (name == "pipeline"))
        run("ngram", files / "train.txt", tmp_path / f"by-{name}", *source, *options)
    few, by_few, by_parser = (
        NGramModel.from_disk(tmp_path / name).words for name in ("few", "by-few.txt", "by-pipeline")
    )
    assert (few.vocabulary.words, few.vocabulary.classes) == (
        by_few.vocabulary.words,
        by_few.vocabulary.classes,
    )
    theirs = toy.parser(nlp).joint
    for word in [*theirs.vocabulary.words, "Zyzzyva", "near-by", "CAT", "1999", "readily"]:
        assert by_parser.vocabulary.number(word) == theirs.vocabulary.number(word)
    ours, expected = (
        dump(spelling.to_message()) for spelling in (by_parser.spelling, theirs.spelling)
    )
    assert ours == expected


def test_spelled_words_make_bits_a_character(files, saved, tmp_path):
    run("ngram", files / "train.spacy", tmp_path / "own", "--spelling", *SHORT)
    shown, plain = (
        table(model, files / "dev.txt", "--tokenized") for model in (tmp_path / "own", saved)
    )
    assert "bits per character" in shown
    assert "bits per character" not in plain
    assert (
        shown.split("closed perplexity ")[1].split()[0]
        == plain.split("closed perplexity ")[1].split()[0]
    )


def test_a_parser_sums_over_the_beam(toy, trained, files):
    found = figures(files / "pipeline", files / "dev.txt", "--tokenized")
    parser = toy.parser(trained)
    sentences = [sentence.words for sentence in toy.sentences(60, seed=1)]
    expected = perplexity_of(score_by_beam(parser.joint, sentences, search_for_sums(parser.search)))
    assert found == pytest.approx(expected.to_dict())
    assert "upper bound" in table(files / "pipeline", files / "dev.txt", "--method", "beam")


def test_particles_give_an_estimate_with_its_error(toy, trained, files):
    arguments = (
        "--method",
        "particles",
        "-K",
        20,
        "-R",
        3,
        "--seed",
        2,
        "--threads",
        2,
        "--tokenized",
    )
    found = figures(files / "pipeline", files / "dev.txt", *arguments)
    sentences = [sentence.words for sentence in toy.sentences(60, seed=1)]
    scores = score_by_particles(
        toy.parser(trained).joint, sentences, particles=20, replicates=3, seed=2
    )
    expected = perplexity_of(scores)
    assert found == pytest.approx(expected.to_dict())
    assert f"± {expected.perplexity * expected.to_dict()['standard_error']:.2f}" in table(
        files / "pipeline", files / "dev.txt", *arguments
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("ngram empty.txt out", "no sentence"),
        ("ngram train.txt out --lang zzz", "zzz"),
        ("ngram train.txt out --vocab-from no_such_pipeline", "no_such_pipeline"),
        ("ngram train.txt out --vocab-from pipeline --spelling", "does not spell"),
        ("perplexity model empty.txt", "no sentence"),
        ("perplexity dev.txt dev.txt", "cannot be read"),
        ("perplexity model dev.txt --method beam", "a parser"),
        ("perplexity pipeline dev.txt --seed 3", "'particles'"),
    ],
)
def test_errors_are_said_without_a_traceback(files, saved, monkeypatch, arguments, problem):
    monkeypatch.chdir(files)
    (files / "empty.txt").write_text("\n", encoding="utf8")
    assert problem in " ".join(run(*arguments.split(), exit_code=1).output.split())
    assert not (files / "out").exists()
