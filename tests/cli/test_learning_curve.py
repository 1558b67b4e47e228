"""`hpyp learning-curve`: what is learned from parts of a treebank."""

from fractions import Fraction
from pathlib import Path

import command_line
import pytest
import spacy
import srsly
from command_line import interrupt_after_one_training
from spacy.tokens import Doc, DocBin

from spacy_hpyp.cli import trainings
from spacy_hpyp.cli.parts import _read_docs, nested_parts

QUICK = ["--training.max_steps", "2", "--training.eval_frequency", "1", "-p", "1/3", "-p", "1"]


@pytest.fixture(name="folder")
def files(toy, tmp_path):
    """A config that is quick to train, and treebanks."""
    nlp = toy.nlp(particles=10)
    nlp.config.to_disk(tmp_path / "config.cfg")
    spacy.blank("en").config.to_disk(tmp_path / "blank.cfg")
    sentences = toy.sentences(40)
    docs = {
        "train": [toy.doc(nlp.vocab, *sentences[i : i + 3]) for i in range(0, 30, 3)],
        "dev": [toy.doc(nlp.vocab, sentence) for sentence in sentences[30:]],
        "one": [toy.doc(nlp.vocab, *sentences[:30])],
        "bare": [Doc(nlp.vocab, words=sentence.words) for sentence in sentences],
        "none": [],
    }
    for name, found in docs.items():
        DocBin(docs=found).to_disk(tmp_path / f"{name}.spacy")
    return tmp_path


def run(folder, *options, train="train", dev="dev", config="config.cfg", exit_code=0):
    arguments = folder / config, folder / f"{train}.spacy", folder / f"{dev}.spacy", "-o", folder / "curve"
    return command_line.run("hpyp", "learning-curve", *arguments, *options, exit_code=exit_code)


def points(folder):
    return srsly.read_json(folder / "curve" / "learning-curve.json")


def no_training(*arguments, **settings):
    raise ValueError("A part is to be trained on.")


def test_each_part_has_its_point(folder):
    shown = run(folder, *QUICK, "--keep").stdout
    third, whole = points(folder)
    assert (third["part"], third["documents"], third["sentences"]) == ("1/3", 4, 12)
    assert (whole["part"], whole["documents"], whole["sentences"]) == ("1", 10, 30)
    for point in (third, whole):
        assert f"{100 * point['dep_las']:.2f}" in shown
        assert str(point["words"]) in shown
    pipeline = folder / "curve" / "part-1-of-3" / "model-best"
    command_line.run("hpyp", "evaluate", pipeline, folder / "dev.spacy", "-o", folder / "scores.json")
    scores = srsly.read_json(folder / "scores.json")
    assert {name: third[name] for name in ("dep_uas", "dep_las", "tag_acc")} == {
        name: pytest.approx(scores[name]) for name in ("dep_uas", "dep_las", "tag_acc")
    }


def test_what_has_ended_is_not_trained_again(folder, monkeypatch):
    train = trainings.train
    interrupt_after_one_training(monkeypatch)
    assert "no power" in run(folder, *QUICK, exit_code=1).stderr
    (third,) = points(folder)
    monkeypatch.setattr(trainings, "train", train)
    assert "1/3 of the treebank has been learned from before" in run(folder, *QUICK).stdout
    assert points(folder)[0] == third
    assert [path.name for path in (folder / "curve").iterdir()] == ["learning-curve.json"]
    monkeypatch.setattr(trainings, "train", no_training)
    run(folder, *QUICK)
    for options in (["--seed", "1"], ["--components.hpyp_parser.seed", "5"]):
        assert "A part is to be trained on." in run(folder, *QUICK, *options, exit_code=1).stderr


@pytest.mark.parametrize("seed", [0, 1])
def test_parts_are_nested_and_large_enough(toy, seed):
    vocab = spacy.blank("en").vocab
    sentences = toy.sentences(30)
    docs = [toy.doc(vocab, *sentences[i : i + 1 + i % 4]) for i in range(0, 26, 2)]
    shares = [Fraction(1, 10), Fraction(1, 2), Fraction(1)]
    parts = nested_parts(docs, shares, seed)
    total = sum(len(list(doc.sents)) for doc in docs)
    for part, share in zip(parts, shares):
        size = sum(len(list(doc.sents)) for doc in part)
        assert share * total <= size < share * total + 4
        assert part == [doc for doc in docs if doc in part]
    assert all(doc in parts[1] for doc in parts[0])
    assert parts[2] == docs
    assert (parts == nested_parts(docs, shares, 0)) == (seed == 0)


@pytest.mark.parametrize(
    ("settings", "options", "problem"),
    [
        ({"train": "one"}, [], "try --unit sentences"),
        ({"train": "none"}, [], "There is no document"),
        ({"train": "bare"}, [], "cannot be initialized"),
        ({"dev": "bare"}, [], "nothing to compare with"),
        ({"dev": "none"}, [], "nothing to evaluate"),
        ({}, ["-p", "0"], "above 0 and at most 1"),
        ({}, ["-p", "half"], "above 0 and at most 1"),
        ({}, ["--no-such-option"], "no-such-option"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(folder, settings, options, problem):
    done = run(folder, *QUICK, *options, **settings, exit_code=1)
    assert problem in " ".join(done.stderr.split())
    assert not (folder / "curve" / "learning-curve.json").exists()


def test_sentences_of_one_document_can_be_parts(folder):
    run(folder, *QUICK, "--unit", "sentences", train="one")
    assert [point["sentences"] for point in points(folder)] == [10, 30]


@pytest.mark.parametrize("unit", ["documents", "sentences"])
def test_parts_of_conllu_have_its_words_under_tokens(unit):
    path = Path(__file__).parents[2] / "assets" / "sample" / "en_sample-ud-dev.conllu"
    docs = _read_docs(path, unit)
    assert len(docs) == (4 if unit == "documents" else 40)
    assert sum(len(doc._.words) for doc in docs) > sum(not token.is_space for doc in docs for token in doc)
