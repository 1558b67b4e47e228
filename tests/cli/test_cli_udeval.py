"""`hpyp udeval`: the official scores of the output of `hpyp parse`."""

import json
import re

import pytest
from command_line import run

from spacy_hpyp.cli.udeval import METRICS

udeval = pytest.importorskip("udtools.udeval")


CYCLE = "1\ta\t_\t_\t_\t_\t2\tdep\t_\t_\n2\tb\t_\t_\t_\t_\t1\tdep\t_\t_\n\n"


@pytest.fixture(scope="module")
def files(toy, trained, tmp_path_factory):
    """A trained pipeline, and a treebank with a multiword token and paragraphs."""
    folder = tmp_path_factory.mktemp("udeval")
    trained.to_disk(folder / "model")
    text = ""
    for number, sentence in enumerate(toy.sentences(12, seed=3)):
        text += "# newpar\n" if number % 4 == 0 else ""
        text += toy.conllu(sentence, [len(sentence.words) - 1])
    text = text.replace("\t_\tX\t", "\tlemma\tNOUN\t")
    (folder / "gold.conllu").write_text(text, encoding="utf8")
    return folder


@pytest.fixture(scope="module")
def scores(files):
    done = run(
        "hpyp", "udeval", files / "model", files / "gold.conllu", "-o", files / "scores.json"
    )
    return done.output, json.loads((files / "scores.json").read_text(encoding="utf8"))


@pytest.mark.parametrize("keep", ["text", "sentences", "words"])
def test_scores_match_the_official_script(files, scores, keep):
    shown, found = scores
    paths = files / "model", files / "gold.conllu", "-o", files / f"{keep}.conllu"
    run("hpyp", "parse", *paths, "--keep", keep)
    gold, system = (
        udeval.load_conllu_file(str(files / name)) for name in ("gold.conllu", f"{keep}.conllu")
    )
    expected = udeval.evaluate(gold, system)
    for name in METRICS:
        # The pipeline predicts no lemmas or parts of speech, and kept ones are not its own.
        if keep == "words" and name in ("Lemmas", "UPOS", "MLAS", "BLEX"):
            assert found[keep][name] == 0.0
        elif name != "UFeats":
            assert found[keep][name] == pytest.approx(expected[name].f1)
            assert f"{100 * expected[name].f1:.2f}" in shown


def test_sentences_without_a_tree_are_skipped_and_reported(files, scores, tmp_path):
    text = (files / "gold.conllu").read_text(encoding="utf8")
    path, output = tmp_path / "gold.conllu", tmp_path / "scores.json"
    path.write_text(CYCLE + text + CYCLE, encoding="utf8")
    done = run("hpyp", "udeval", files / "model", path, "-o", output)
    assert "leave out 2 of 14 sentences" in " ".join(done.stderr.split())
    assert json.loads(output.read_text(encoding="utf8")) == scores[1]


def test_few_sentences_get_an_interval_and_empty_columns_no_score(scores):
    shown, found = scores
    low, high = map(float, re.search(r"between ([0-9.]+) and\s+([0-9.]+)", shown).groups())
    assert low <= 100 * found["sentences"]["LAS"] <= high
    assert [found["text"][name] for name in ("UFeats", "Lemmas")] == [None, 0.0]


def test_given_sentences_and_words_score_perfectly(scores):
    _, found = scores
    assert found["sentences"]["Sentences"] == found["words"]["Sentences"] == 1.0
    assert found["words"]["Words"] == found["words"]["Tokens"] == 1.0
    assert found["text"]["Tokens"] < 1.0
    assert found["words"]["LAS"] > 0.5


def test_a_treebank_without_trees_or_with_an_empty_form_is_rejected(files, tmp_path):
    arguments = "hpyp", "udeval", files / "model"
    bad = tmp_path / "bad.conllu"
    bad.write_text(CYCLE)
    assert "No sentence" in run(*arguments, bad, exit_code=1).stderr
    bad.write_text("1\t\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    wrong = run(*arguments, bad, exit_code=1)
    assert "official script cannot read" in " ".join(wrong.stderr.split())
