"""Tables of errors: what is counted where, by hand on a few sentences."""

from dataclasses import asdict

import pytest
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_hpyp.annotation.errors import find_errors

WORDS = "the dog sees a cat .".split()
TAGS = "DT NN VBZ DT NN .".split()
HEADS = [1, 2, 2, 4, 2, 2]
DEPS = "det nsubj ROOT det obj punct".split()


@pytest.fixture(scope="module", name="vocab")
def empty_vocab():
    return Vocab()


def example(vocab, gold=(TAGS, HEADS, DEPS), predicted=(TAGS, HEADS, DEPS), words=WORDS):
    docs = [
        Doc(vocab, words=words, tags=tags, heads=heads, deps=deps)
        if deps
        else Doc(vocab, words=words, tags=tags)
        for tags, heads, deps in (predicted, gold)
    ]
    return Example(*docs)


@pytest.fixture(name="examples")
def parsed_examples(vocab):
    """A right sentence and one in which a label, a tag, two heads and the head of punctuation are wrong."""
    tags = "DT NN NN DT NN .".split()
    deps = "det obl ROOT det obj punct".split()
    return [example(vocab), example(vocab, predicted=(tags, [1, 2, 2, 2, 1, 0], deps))]


def row(table, name, key):
    return next(each for each in table if each[key] == name)


def test_scores_by_label_are_those_of_whole_arcs_and_punctuation_has_none(examples):
    labels = find_errors(examples).labels
    assert [each["name"] for each in labels] == ["det", "ROOT", "nsubj", "obj", "obl"]
    assert row(labels, "det", "name") == {
        "name": "det", "gold": 4, "predicted": 4, "precision": 0.75, "recall": 0.75, "f": 0.75, "uas": 0.75
    }  # fmt: skip
    nsubj = row(labels, "nsubj", "name")
    assert (nsubj["gold"], nsubj["predicted"], nsubj["precision"], nsubj["recall"], nsubj["uas"]) == (
        2,
        1,
        1.0,
        0.5,
        1.0,
    )
    assert row(labels, "obl", "name") == {
        "name": "obl", "gold": 0, "predicted": 1, "precision": 0.0, "recall": None, "f": None, "uas": None
    }  # fmt: skip
    assert row(find_errors(examples, punctuation=True).labels, "punct", "name")["recall"] == 0.5


def test_tags_of_all_tokens_count(examples):
    tags = find_errors(examples).tags
    assert sum(each["gold"] for each in tags) == 12
    assert row(tags, "VBZ", "name")["recall"] == 0.5
    assert row(tags, "NN", "name")["precision"] == 0.8


def test_arcs_are_counted_by_the_length_of_the_gold_and_of_the_predicted_one(examples):
    lengths = find_errors(examples).arc_lengths
    assert [each["length"] for each in lengths] == ["root", "1", "2", "3-5", "6-10", "11+"]
    assert [each["gold"] for each in lengths] == [2, 6, 2, 0, 0, 0]
    assert [each["predicted"] for each in lengths] == [2, 6, 1, 1, 0, 0]
    assert [each["recall"] for each in lengths] == [1.0, 5 / 6, 0.5, None, None, None]
    assert [each["precision"] for each in lengths] == [1.0, 5 / 6, 1.0, 0.0, None, None]
    assert [each["las"] for each in lengths[:3]] == [1.0, 4 / 6, 0.5]


def test_sentences_are_counted_by_their_length(vocab, examples):
    long = example(
        vocab,
        (["NN"] * 12, [0] * 12, ["ROOT", *["dep"] * 11]),
        (["NN"] * 12, [0] * 12, ["ROOT", *["dep"] * 11]),
        words=["buffalo"] * 12,
    )
    short, longer = find_errors([*examples, long]).sentence_lengths[:2]
    assert short == {
        "length": "1-10", "sentences": 2, "tokens": 10, "uas": 0.8, "las": 0.7, "tag_acc": 11 / 12, "complete_match": 0.5
    }  # fmt: skip
    assert (longer["length"], longer["sentences"], longer["tokens"], longer["las"]) == ("11-20", 1, 12, 1.0)


def test_known_and_unknown_words_are_told_apart_where_somebody_knows(examples):
    assert find_errors(examples).words == []
    known, unknown = find_errors(examples, known=lambda word: word != "cat").words
    assert (known["words"], known["tokens"], known["uas"]) == ("known", 8, 7 / 8)
    assert (unknown["words"], unknown["tokens"], unknown["uas"], unknown["tag_acc"]) == (
        "unknown",
        2,
        0.5,
        1.0,
    )


def test_confusions_have_their_sentences(examples):
    found = find_errors(examples)
    (label,) = found.label_confusions
    assert (label.gold, label.predicted, label.count, label.right_heads) == ("nsubj", "obl", 1, 1)
    assert asdict(label)["examples"] == [
        {
            "words": tuple(WORDS),
            "word": 1,
            "gold_head": 2,
            "predicted_head": 2,
            "gold_label": "nsubj",
            "predicted_label": "obl",
            "gold_tag": "NN",
            "predicted_tag": "NN",
        }
    ]
    (tag,) = found.tag_confusions
    assert (tag.gold, tag.predicted, tag.count, tag.examples[0].gold_head) == ("VBZ", "NN", 1, None)
    assert [(each.gold, each.examples[0].predicted_head) for each in found.wrong_heads] == [
        ("det", 2),
        ("obj", 1),
    ]


def test_the_most_frequent_confusion_comes_first_with_sentences_of_about_ten_words(vocab, examples):
    other = ["nsubj" if dep == "obj" else dep for dep in DEPS]
    short = example(
        vocab, (["NN", "NN"], [1, 1], ["obj", "ROOT"]), (["NN", "NN"], [1, 1], ["nsubj", "ROOT"]), ["a", "b"]
    )
    longer = example(vocab, predicted=(TAGS, HEADS, other))
    first, second = find_errors([*examples, short, longer], show=1).label_confusions
    assert (first.gold, first.predicted, first.count) == ("obj", "nsubj", 2)
    assert [found.words for found in first.examples] == [tuple(WORDS)]
    assert second.count == 1


def test_tokens_without_gold_heads_have_no_arcs_to_count(vocab):
    found = find_errors([example(vocab, (TAGS, None, None))])
    assert found.labels == []
    assert sum(each["gold"] for each in found.tags) == 6


def test_nothing_has_no_errors():
    found = find_errors([])
    assert found.labels == found.tag_confusions == []
