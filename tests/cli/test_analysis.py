"""Tables of errors and calibration, compared with handmade values."""

import pytest
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_hpyp.cli.analysis import calibrate, calibrations, find_errors

WORDS = "the dog sees a cat .".split()
TAGS = "DT NN VBZ DT NN .".split()
HEADS = [1, 2, 2, 4, 2, 2]
DEPS = "det nsubj ROOT det obj punct".split()


def example(gold=(TAGS, HEADS, DEPS), predicted=(TAGS, HEADS, DEPS)):
    vocab = Vocab()
    docs = [
        Doc(vocab, words=WORDS, tags=tags, heads=heads, deps=deps)
        for tags, heads, deps in (predicted, gold)
    ]
    return Example(*docs)


@pytest.fixture(name="examples")
def parsed_examples():
    """A correct sentence, and one with a wrong label, a wrong tag, two wrong heads and a wrong head
    of punctuation.
    """
    tags = "DT NN NN DT NN .".split()
    deps = "det obl ROOT det obj punct".split()
    return [example(), example(predicted=(tags, [1, 2, 2, 2, 1, 0], deps))]


def test_words_are_counted_by_gold_properties_without_punctuation(examples):
    tables, _ = find_errors(examples)
    labels = {row.pop("name"): row for row in tables["By label"]}
    assert list(labels) == ["det", "ROOT", "nsubj", "obj"]
    assert labels["det"] == {"tokens": 4, "uas": 0.75, "las": 0.75, "tag_acc": 1.0}
    assert labels["nsubj"] == {"tokens": 2, "uas": 1.0, "las": 0.5, "tag_acc": 1.0}
    lengths = [list(row.values())[:3] for row in tables["By length of the arc"]]
    assert lengths == [["1", 6, 5 / 6], ["2", 2, 0.5], ["root", 2, 1.0]]


def test_confusions_are_sorted_by_frequency_with_an_example(examples):
    other = ["nsubj" if dep == "obj" else dep for dep in DEPS]
    _, confusions = find_errors([*examples, *[example(predicted=(TAGS, HEADS, other))] * 2])
    first, second = confusions["Confusions of labels"]
    assert (first["gold"], first["predicted"], first["count"]) == ("obj", "nsubj", 2)
    assert "[cat]" in first["example"]
    assert (second["gold"], second["predicted"], second["count"]) == ("nsubj", "obl", 1)
    (tag,) = confusions["Confusions of tags"]
    assert (tag["gold"], tag["predicted"], tag["count"]) == ("VBZ", "NN", 1)


def test_tokens_without_gold_heads_are_ignored():
    tables, confusions = find_errors([example(gold=(TAGS, None, None))])
    assert tables["By label"] == confusions["Confusions of labels"] == []


def test_calibration_error_is_the_mean_gap_between_confidence_and_accuracy():
    confidence = [0.1, 0.15, 0.55, 0.95, 1.0, 1.0]
    found = calibrate(list(zip(confidence, [False, True, True, True, True, False])))
    rows = [(row["tokens"], row["confidence"], row["accuracy"]) for row in found["bins"]]
    assert rows == [
        (2, pytest.approx(0.125), 0.5),
        (1, pytest.approx(0.55), 1.0),
        (3, pytest.approx(2.95 / 3), pytest.approx(2 / 3)),
    ]
    error = (2 * 0.375 + 1 * 0.45 + 3 * (2.95 / 3 - 2 / 3)) / 6
    assert found["expected_calibration_error"] == pytest.approx(error)
    assert found["confidence"] == pytest.approx(3.75 / 6)
    assert found["accuracy"] == pytest.approx(4 / 6)
    (row,) = calibrate([(0.31, True), (0.39, False)])["bins"]
    expected = {"from": 0.3, "to": 0.4, "tokens": 2, "confidence": 0.35, "accuracy": 0.5}
    assert row == pytest.approx(expected)
    assert calibrate([])["expected_calibration_error"] is None


def test_auroc_is_the_share_of_correctly_ordered_pairs():
    # Three of the four pairs are in order, and one is a tie.
    choices = [(0.9, True), (0.8, False), (0.8, True), (0.3, False)]
    assert calibrate(choices)["auroc"] == pytest.approx(3.5 / 4)
    assert calibrate([(0.5, True), (0.6, True)])["auroc"] is None


def rated(toy, vocab, gold, predicted, probabilities):
    """A parsed document with the same probabilities for heads and tags."""
    doc = toy.doc(vocab, predicted)
    for token, p in zip(doc, probabilities):
        token._.head_prob = token._.tag_prob = p
    return Example(doc, toy.doc(vocab, gold))


def test_heads_and_tags_are_compared_with_gold_annotation(toy, trained):
    words, deps = ["Ada", "sees", "Kim", "."], ["nsubj", "ROOT", "obj", "punct"]
    gold = toy.sentence(words, ["N", "V", "N", "."], [1, 1, 1, 1], deps)
    predicted = toy.sentence(words, ["N", "V", "N", "N"], [1, 1, 0, 2], deps)
    parsed = rated(toy, trained.vocab, gold, predicted, [0.95, 0.85, 0.75, 0.65])
    heads, tags = calibrations([parsed]).values()
    assert heads["tokens"] == 3
    assert heads["expected_calibration_error"] == pytest.approx((0.05 + 0.15 + 0.75) / 3)
    assert tags["expected_calibration_error"] == pytest.approx((0.05 + 0.15 + 0.25 + 0.65) / 4)
    for token in parsed.reference:
        token.tag_ = ""
    assert calibrations([parsed])["tags"]["tokens"] == 0


def test_misaligned_tokens_are_skipped_and_never_correct_heads(toy, trained):
    # "cannot" is two gold tokens, and "he" "re" is one.
    gold = toy.sentence(["Ada", "can", "not", "sleep", "here"], list("NVRVR"), [3, 3, 3, 3, 3],
                        ["nsubj", "aux", "advmod", "ROOT", "advmod"])  # fmt: skip
    found = toy.sentence(["Ada", "cannot", "sleep", "he", "re"], list("NVVRR"), [1, 2, 2, 2, 3],
                         ["nsubj", "aux", "ROOT", "advmod", "dep"])  # fmt: skip
    heads, tags = calibrations([rated(toy, trained.vocab, gold, found, [0.9] * 5)]).values()
    assert heads["tokens"] == tags["tokens"] == 2
    assert (heads["accuracy"], tags["accuracy"]) == (0.5, 1.0)
