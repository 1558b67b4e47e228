"""The commands `hpyp ngram` and `hpyp perplexity`."""

import json
from functools import partial

import command_line
import pytest
import spacy
from spacy import registry
from spacy.tokens import DocBin

from spacy_hpyp.cli import progress
from spacy_hpyp.cli.raw_text import read_sentences
from spacy_hpyp.language_model.ngram import NGramModel, train_ngram_model
from spacy_hpyp.text.unknown_words import english_unknown_words

run = partial(command_line.run, "hpyp")
SHORT = ("--order", 3, "--sweeps", 4, "--samples", 2)


@pytest.fixture(scope="module")
def files(toy, tmp_path_factory):
    """The toy treebank's sentences as a .spacy file, as tokenized and as plain text, and other sentences."""
    folder = tmp_path_factory.mktemp("ngram")
    vocab = spacy.blank("en").vocab
    docs = [toy.doc(vocab, sentence) for sentence in toy.sentences(60)]
    DocBin(docs=docs).to_disk(folder / "train.spacy")
    for name, seed in (("train", 0), ("dev", 1)):
        lines = [" ".join(sentence.words) + "\n" for sentence in toy.sentences(60, seed=seed)]
        (folder / f"{name}.txt").write_text("".join(lines), encoding="utf8")
    return folder


@pytest.fixture(scope="module")
def saved(files):
    run("ngram", files / "train.spacy", files / "model", *SHORT)
    return files / "model"


def test_the_command_trains_the_model_that_the_function_trains(files, saved):
    expected = train_ngram_model(read_sentences(files / "train.spacy"), order=3, sweeps=4, samples=2)
    assert NGramModel.from_disk(saved).to_bytes() == expected.to_bytes()


def test_gold_sentences_and_lines_of_the_same_words_give_the_same_model(files, saved, tmp_path):
    run("ngram", files / "train.txt", tmp_path / "model", "--tokenized", *SHORT)
    assert (tmp_path / "model").read_bytes() == saved.read_bytes()


def test_several_files_are_one_text(files, saved, tmp_path):
    lines = (files / "train.txt").read_text(encoding="utf8").splitlines(keepends=True)
    for name, part in (("a.txt", lines[:10]), ("b.txt", lines[10:])):
        (tmp_path / name).write_text("".join(part), encoding="utf8")
    run("ngram", tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "model", "--tokenized", *SHORT)
    assert (tmp_path / "model").read_bytes() == saved.read_bytes()


def test_training_shows_speed_time_left_and_likelihood(files, tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "_LINES", -1.0)
    shown = run("ngram", files / "train.spacy", tmp_path / "new" / "model", *SHORT).output
    assert "words/s" in shown
    assert "sweep 4/4" in shown
    assert "nats" in shown
    assert "Saved a 3-gram model" in shown


def test_perplexity_is_printed_as_a_table_or_as_json(files, saved):
    found = json.loads(run("perplexity", saved, files / "dev.txt", "--tokenized", "--output", "json").stdout)
    expected = NGramModel.from_disk(saved).perplexity(read_sentences(files / "dev.txt"))
    assert found["perplexity"] == pytest.approx(expected.perplexity)
    assert found["predictions"] == found["words"] + found["sentences"] == expected.predictions
    assert found["log_prob"] == pytest.approx(found["log_prob_per_prediction"] * found["predictions"])
    assert "closed vocabulary" in found["convention"]
    table = run("perplexity", saved, files / "dev.txt", "--tokenized").output
    assert f"{expected.perplexity:.2f}" in table
    assert "Closed vocabulary" in table


def test_the_vocabulary_can_come_from_other_data(files, tmp_path):
    lines = (files / "train.txt").read_text(encoding="utf8").splitlines(keepends=True)[:10]
    (tmp_path / "few.txt").write_text("".join(lines), encoding="utf8")
    run(
        "ngram",
        files / "train.txt",
        tmp_path / "all",
        "--vocab-from",
        tmp_path / "few.txt",
        "--tokenized",
        *SHORT,
    )
    run("ngram", tmp_path / "few.txt", tmp_path / "few", "--tokenized", *SHORT)
    words = [NGramModel.from_disk(tmp_path / name).words.vocabulary for name in ("all", "few")]
    assert words[0].words == words[1].words
    assert words[0].classes == words[1].classes


def test_the_rule_for_rare_words_is_a_setting(files, tmp_path):
    name = "spacy-hpyp.UniversalUnknownWords.v1"
    run("ngram", files / "train.spacy", tmp_path / "model", "--unknown-words", name, *SHORT)
    assert NGramModel.from_disk(tmp_path / "model").words.unknown_words == {"@misc": name}
    shown = run(
        "ngram", files / "train.spacy", tmp_path / "other", "--unknown-words", "no.such.rule", exit_code=1
    ).output
    assert "no.such.rule" in shown


@registry.misc("tests.own_rule")
def own_rule():
    return english_unknown_words()


def test_a_rule_of_one_s_own_is_named_again(files, tmp_path):
    named = ("--unknown-words", "tests.own_rule")
    text = (files / "dev.txt", "--tokenized", "--output", "json")
    for name, rule in (("own", "tests.own_rule"), ("ours", "spacy-hpyp.EnglishUnknownWords.v1")):
        run("ngram", files / "train.txt", tmp_path / name, "--tokenized", "--unknown-words", rule, *SHORT)
    own = json.loads(run("perplexity", tmp_path / "own", *text, *named).stdout)
    assert own == json.loads(run("perplexity", tmp_path / "ours", *text).stdout)
    for name, options, problem in (
        ("own", (), "'tests.own_rule'"),
        ("ours", named, "cannot have another one"),
    ):
        assert problem in " ".join(
            run("perplexity", tmp_path / name, *text, *options, exit_code=1).output.split()
        )


def test_a_byte_order_mark_changes_nothing(files, saved, tmp_path):
    for name in ("train.txt", "dev.txt"):
        (tmp_path / name).write_text((files / name).read_text(encoding="utf8"), encoding="utf-8-sig")
    run("ngram", tmp_path / "train.txt", tmp_path / "model", "--tokenized", *SHORT)
    assert (tmp_path / "model").read_bytes() == saved.read_bytes()
    found = [
        run("perplexity", saved, folder / "dev.txt", *options, "--output", "json").stdout
        for folder in (files, tmp_path)
        for options in ((), ("--tokenized",))
    ]
    assert found[:2] == found[2:]


def test_the_vocabulary_can_come_from_a_parser(files, toy, tmp_path):
    rule = {"@misc": "spacy-hpyp.UnknownWords.v1", "lang": "en"}
    trained = toy.trained(unknown_words=rule)
    trained.to_disk(tmp_path / "pipeline")
    # As in configs/paper.cfg, the language is the pipeline's.
    config = (tmp_path / "pipeline" / "config.cfg").read_text(encoding="utf8")
    head, section = config.split("model.unknown_words]")
    section = section.replace('lang = "en"', "lang = ${nlp.lang}", 1)
    (tmp_path / "pipeline" / "config.cfg").write_text(f"{head}model.unknown_words]{section}", encoding="utf8")
    run(
        "ngram",
        files / "train.txt",
        tmp_path / "model",
        "--tokenized",
        "--vocab-from",
        tmp_path / "pipeline",
        *SHORT,
    )
    theirs, ours = toy.parser(trained).joint.vocabulary, NGramModel.from_disk(tmp_path / "model").words
    assert ours.unknown_words == rule
    for word in [*theirs.words, "Zyzzyva", "near-by", "CAT", "1999", "readily"]:
        assert ours.vocabulary.number(word) == theirs.number(word)


def test_rare_words_are_spelled_out_as_the_data_or_a_parser_spell_them(files, toy, saved, tmp_path):
    run("ngram", files / "train.spacy", tmp_path / "own", "--spelling", *SHORT)
    shown = " ".join(run("perplexity", tmp_path / "own", files / "dev.txt", "--tokenized").output.split())
    plain = " ".join(run("perplexity", saved, files / "dev.txt", "--tokenized").output.split())
    assert "BITS A CHARACTER" in shown
    assert shown.split("WITHOUT LETTERS ")[1].split()[0] == plain.split("PERPLEXITY ")[1].split()[0]
    for spelling in (True, False):
        rule = {"@misc": "spacy-hpyp.UnknownWords.v1", "lang": "en"}
        nlp = toy.trained(unknown_words=rule, spelling=spelling)
        nlp.to_disk(tmp_path / "pipeline")
        arguments = (
            "ngram",
            files / "train.txt",
            tmp_path / "theirs",
            "--vocab-from",
            tmp_path / "pipeline",
            *SHORT,
        )
        shown = run(*arguments, "--tokenized", "--spelling", exit_code=int(not spelling)).output
        if spelling:
            theirs, ours = (
                toy.parser(nlp).joint.spelling,
                NGramModel.from_disk(tmp_path / "theirs").words.spelling,
            )
            assert ours.to_message() == theirs.to_message()
        else:
            assert "was not trained to spell" in " ".join(shown.split())


def test_a_pipeline_can_segment_running_text(files, saved, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path / "segmenter")
    (tmp_path / "running.txt").write_text("The cat sleeps. The dog\nsleeps.\n", encoding="utf8")
    arguments = ("--segment-with", tmp_path / "segmenter", "--output", "json")
    found = json.loads(run("perplexity", saved, tmp_path / "running.txt", *arguments).stdout)
    assert (found["sentences"], found["words"]) == (2, 8)


def test_what_is_wrong_is_said_without_a_traceback(files, saved, tmp_path):
    (tmp_path / "empty.txt").write_text("\n", encoding="utf8")
    assert "no sentence" in run("ngram", tmp_path / "empty.txt", tmp_path / "model", exit_code=1).output
    assert "'samples' must be" in run(
        "ngram", files / "train.txt", tmp_path / "model", "--sweeps", 2, "--samples", 3, exit_code=1
    ).output.replace("\n", " ")
    assert "no sentence" in run("perplexity", saved, tmp_path / "empty.txt", exit_code=1).output
    assert "cannot be read" in run(
        "perplexity", files / "dev.txt", files / "dev.txt", exit_code=1
    ).output.replace("\n", " ")
    for wrong in (
        ("--lang", "zzz"),
        ("--vocab-from", "no_such_pipeline"),
        ("--segment-with", "no_such_pipeline"),
    ):
        assert wrong[1] in run("ngram", files / "train.txt", tmp_path / "model", *wrong, exit_code=1).output
    assert not (tmp_path / "model").exists()
