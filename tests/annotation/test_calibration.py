"""Reliability tables and expected calibration errors, by hand; and the command `hpyp evaluate
--calibration`.
"""

import json
from functools import partial

import command_line
import numpy as np
import pytest
from spacy.tokens import DocBin
from spacy.training import Example

from spacy_hpyp.annotation.calibration import calibrate, calibrate_heads, calibrate_tags

run = partial(command_line.run, "hpyp")


def test_the_error_is_the_mean_distance_between_confidence_and_accuracy():
    found = calibrate(
        [0.1, 0.15, 0.55, 0.95, 1.0, 1.0], [False, True, True, True, True, False], bins=10
    )
    assert found.tokens.tolist() == [0, 2, 0, 0, 0, 1, 0, 0, 0, 3]
    assert found.confidence[[1, 5, 9]] == pytest.approx([0.125, 0.55, 2.95 / 3])
    assert found.accuracy[[1, 5, 9]] == pytest.approx([0.5, 1.0, 2 / 3])
    assert np.isnan(found.accuracy[0])
    assert found.error == pytest.approx((2 * 0.375 + 1 * 0.45 + 3 * (2.95 / 3 - 2 / 3)) / 6)
    assert found.mean_confidence == pytest.approx(3.75 / 6)
    assert found.mean_accuracy == pytest.approx(4 / 6)


def test_the_table_of_nothing_has_no_rows():
    found = calibrate([], [])
    assert np.isnan(found.error)
    assert found.to_dict()["bins"] == []


def test_a_dictionary_lists_the_bins_that_are_not_empty():
    (row,) = calibrate([0.31, 0.39], [True, False], bins=5).to_dict()["bins"]
    assert row == pytest.approx(
        {"from": 0.2, "to": 0.4, "tokens": 2, "confidence": 0.35, "accuracy": 0.5}
    )


@pytest.mark.parametrize("confidence", [1.5, -0.1, float("nan")])
def test_what_is_no_probability_is_refused(confidence):
    with pytest.raises(ValueError, match="between 0 and 1"):
        calibrate([confidence], [True])


def example_of(toy, nlp, sentence, heads, tags, probabilities):
    """A document with a given parse, as if the parser was as sure of its heads and tags as told."""
    reference = toy.doc(nlp.vocab, sentence)
    predicted = toy.doc(nlp.vocab, toy.sentence(sentence.words, tags, heads, sentence.deps))
    for token, p in zip(predicted, probabilities):
        token._.head_prob = token._.tag_prob = p
    return Example(predicted, reference)


def test_heads_and_tags_are_compared_with_gold_ones(toy, trained):
    sentence = toy.sentence(
        ["Ada", "sees", "Kim", "."],
        ["N", "V", "N", "."],
        [1, 1, 1, 1],
        ["nsubj", "ROOT", "obj", "punct"],
    )
    example = example_of(
        toy, trained, sentence, [1, 1, 0, 2], ["N", "V", "N", "N"], [0.95, 0.85, 0.75, 0.65]
    )
    heads, tags = calibrate_heads([example]), calibrate_tags([example])
    assert heads.tokens.tolist() == [0, 0, 0, 0, 0, 0, 0, 1, 1, 1]
    assert heads.error == pytest.approx((0.05 + 0.15 + 0.75) / 3)
    assert tags.error == pytest.approx((0.05 + 0.15 + 0.25 + 0.65) / 4)


def test_white_space_and_what_has_no_gold_annotation_are_left_out(toy, trained):
    sentence = toy.sentence(
        ["Ada", "sleeps", " "], ["N", "V", "_SP"], [1, 1, 1], ["nsubj", "ROOT", "dep"]
    )
    example = example_of(toy, trained, sentence, [1, 1, 1], ["N", "V", "_SP"], [1.0, 1.0, None])
    assert calibrate_heads([example]).tokens.sum() == calibrate_tags([example]).tokens.sum() == 2
    for token in example.reference:
        token.tag_ = ""
    assert calibrate_tags([example]).tokens.sum() == 0


def test_tokens_that_are_no_gold_tokens_are_left_out_and_are_no_right_heads(toy, trained):
    vocab = trained.vocab
    gold = toy.sentence(["Ada", "can", "not", "sleep", "here"], list("NVRVR"), [3, 3, 3, 3, 3],
                        ["nsubj", "aux", "advmod", "ROOT", "advmod"])  # fmt: skip
    # "cannot" is two gold tokens, and "he" "re" is one.
    found = toy.sentence(["Ada", "cannot", "sleep", "he", "re"], list("NVVRR"), [1, 2, 2, 2, 3],
                         ["nsubj", "aux", "ROOT", "advmod", "dep"])  # fmt: skip
    predicted = toy.doc(vocab, found)
    for token in predicted:
        token._.head_prob = token._.tag_prob = 0.9
    example = Example(predicted, toy.doc(vocab, gold))
    heads, tags = calibrate_heads([example]), calibrate_tags([example])
    assert heads.tokens.sum() == tags.tokens.sum() == 2
    assert heads.mean_accuracy == 0.5
    assert tags.mean_accuracy == 1.0


def test_auroc_is_the_part_of_pairs_in_which_the_right_one_is_surer():
    confidence, correct = [0.9, 0.8, 0.8, 0.3], [True, False, True, False]
    # Of the four pairs three are in order, and one is a tie.
    assert calibrate(confidence, correct).auroc == pytest.approx(3.5 / 4)
    assert np.isnan(calibrate([0.5, 0.6], [True, True]).auroc)


def test_the_command_measures_the_probabilities_of_the_parser(toy, trained, tmp_path):
    nlp = toy.copy(trained, decoding="mbr")
    nlp.to_disk(tmp_path / "model")
    sentences = toy.sentences(40, seed=1)
    docs = [toy.doc(trained.vocab, *sentences[i : i + 4]) for i in range(0, 40, 4)]
    DocBin(docs=docs).to_disk(tmp_path / "dev.spacy")
    arguments = tmp_path / "model", tmp_path / "dev.spacy", "-o", tmp_path / "scores.json"
    shown = run("evaluate", "--calibration", *arguments).output
    assert shown.index("head_prob, raw documents") < shown.index("head_prob, gold sentences")
    found = json.loads((tmp_path / "scores.json").read_text())["calibration"]["heads"]
    confidence, right = [], []
    for sentence in sentences:
        doc = nlp.make_doc(" ".join(sentence.words))
        for token in doc:
            token.is_sent_start = token.i == 0
        for token, gold in zip(nlp(doc), toy.doc(nlp.vocab, sentence)):
            if gold.dep_ != "punct":
                confidence.append(token._.head_prob)
                right.append(token.head.i == gold.head.i)
    assert found["tokens"] == len(confidence)
    assert found["confidence"] == pytest.approx(np.mean(confidence))
    assert found["accuracy"] == pytest.approx(np.mean(right))
    error = calibrate(confidence, right).error
    assert found["expected_calibration_error"] == pytest.approx(error)
