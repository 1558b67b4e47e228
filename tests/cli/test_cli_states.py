"""The command `hpyp states`."""

import json
from functools import partial
from pathlib import Path

import command_line
import numpy as np
import pytest
import spacy
from spacy.tokens import DocBin

from spacy_hpyp.annotation.uncased import read_uncased, uncased_key
from spacy_hpyp.cli.raw_text import read_documents
from spacy_hpyp.models.latent_states import LatentStates
from spacy_hpyp.text.unknown_words import unknown_words
from spacy_hpyp.text.vocabulary import VocabularySettings
from spacy_hpyp.training.state_study import study_states

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"
TRAIN, DEV = (SAMPLE / f"en_sample-ud-{part}.conllu" for part in ("train", "dev"))

run = partial(command_line.run, "hpyp", "papers", "states")


def documents(path, **settings):
    return list(read_documents(path, spacy.blank("en").vocab, **{"document_words": 100, **settings}))


def test_all_kinds_of_models_are_compared_on_the_sample(tmp_path):
    arguments = (
        "--states",
        "2,4",
        "--sweeps",
        6,
        "--dev",
        DEV,
        "--top-words",
        3,
        "--output",
        tmp_path / "out.json",
    )
    output = run(TRAIN, *arguments).output
    found = json.loads((tmp_path / "out.json").read_text())
    expected = [
        ("lda", 2),
        ("lda", 4),
        ("dependencies", 1),
        *((k, n) for k in ("syntactic", "semantic") for n in (2, 4)),
    ]
    assert [(row["kind"], row["states"]) for row in found] == expected
    for row in found:
        assert (row["accuracy"] is None) == (row["kind"] == "lda")
        assert f"{row['bits']:.3f}" in output
        assert 4.0 < row["bits"] <= row["exact_bits"] < 10.0
        assert len(row["top_words"]) == row["states"]
        if row["kind"] != "dependencies":
            assert " ".join(word["word"] for word in row["top_words"][-1]) in output
    # The same seed, the same figures, whatever else is asked for.
    run(TRAIN, "--kinds", "syntactic", "--states", 4, *arguments[2:])
    (again,) = json.loads((tmp_path / "out.json").read_text())
    assert again == next(row for row in found if (row["kind"], row["states"]) == ("syntactic", 4))


def test_trees_are_sampled_if_they_are_to_be(tmp_path):
    arguments = ("--states", 2, "--sweeps", 4, "--kinds", "semantic,lda")
    output = run(TRAIN, *arguments, "--sample-trees", "--output", tmp_path / "out.json").output
    lda, semantic = json.loads((tmp_path / "out.json").read_text())
    assert lda["accepted"] is None
    assert 0.0 < semantic["accepted"] < 1.0
    assert "ACCEPTED" in output


def test_text_is_parsed_by_a_pipeline(toy, trained, tmp_path):
    trained.to_disk(tmp_path / "pipeline")
    lines = [" ".join(sentence.words) for sentence in toy.sentences(12)]
    (tmp_path / "text.txt").write_text(
        "\n".join(lines[:6]) + "\n\n" + "\n".join(lines[6:]) + "\n", encoding="utf8"
    )
    arguments = ("--states", 2, "--sweeps", 2, "--kinds", "semantic")
    assert "complete trees" in run(tmp_path / "text.txt", *arguments, exit_code=1).output
    assert "semantic" in run(tmp_path / "text.txt", *arguments, "--parser", tmp_path / "pipeline").output
    spacy.blank("en").to_disk(tmp_path / "blank")
    assert (
        "has no parser"
        in run(tmp_path / "text.txt", *arguments, "--parser", tmp_path / "blank", exit_code=1).output
    )


def test_documents_are_those_of_the_treebank(tmp_path):
    found = documents(TRAIN)
    assert len(found) == TRAIN.read_text(encoding="utf8").count("# newdoc") == 23
    text = TRAIN.read_text(encoding="utf8").replace("# newdoc", "# other")
    (tmp_path / "one.conllu").write_text(text, encoding="utf8")
    (one,) = documents(tmp_path / "one.conllu")
    assert [token.text for token in one] == [token.text for doc in found for token in doc]
    assert len(list(one.sents)) == sum(len(list(doc.sents)) for doc in found)
    DocBin(docs=found).to_disk(tmp_path / "found.spacy")
    for doc, other in zip(found, documents(tmp_path / "found.spacy"), strict=True):
        assert uncased_key(doc) == uncased_key(other)
    output = " ".join(
        run(tmp_path / "one.conllu", "--states", 2, "--sweeps", 2, "--kinds", "lda").output.split()
    )
    assert "are in one document" in output


def test_documents_of_text_end_with_an_empty_line_or_when_they_are_long(tmp_path):
    (tmp_path / "text.txt").write_text("a b c\nd e\nf\n\n\ng h\n", encoding="utf8")
    found = documents(tmp_path / "text.txt", document_words=4)
    assert [[sentence.text.split() for sentence in doc.sents] for doc in found] == [
        [["a", "b", "c"], ["d", "e"]],
        [["f"]],
        [["g", "h"]],
    ]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--kinds", "pragmatic"), "'kinds' must be"),
        (("--states", "two"), "'states' must be whole numbers"),
        (("--states", "0"), "'states' must be a whole number of at least 1"),
        (("--parser", "no_such_pipeline"), "no_such_pipeline"),
        (("--dev", "damaged"), "line 1: a word has 10 columns"),
    ],
)
def test_what_is_wrong_is_said(arguments, problem, tmp_path):
    (tmp_path / "damaged.conllu").write_text("1\ta\tb\n", encoding="utf8")
    arguments = [tmp_path / "damaged.conllu" if argument == "damaged" else argument for argument in arguments]
    shown = run(TRAIN, "--sweeps", 2, "--kinds", "dependencies", *arguments, exit_code=1).output
    assert problem in " ".join(shown.split())


def test_bits_a_word_are_those_of_the_second_half_of_the_sweeps():
    texts = [(uncased_key(doc), read_uncased(doc).complete()) for doc in documents(TRAIN)]
    settings = VocabularySettings(unknown_words("en"))
    models = [LatentStates("semantic", 3, settings) for _ in range(2)]
    for model in models:
        model.initialize(model.collect([text for _, text in texts]))
    shown = []
    found = study_states(models[0], texts, sweeps=5, seed=3, progress=shown.append)
    rng, probabilities = np.random.default_rng(3), []
    for _ in range(5):
        probabilities.append(models[1].visit(texts, rng))
        models[1].end_sweep(rng)
    np.testing.assert_allclose(shown, -np.log2(probabilities).mean(axis=1))
    assert found.bits == pytest.approx(-np.log2(probabilities[3:]).mean())
    assert found.exact_bits == pytest.approx(np.log2(np.mean(1 / np.array(probabilities[3:]), axis=0)).mean())
    assert found.top_words == models[1].top_words(10)
