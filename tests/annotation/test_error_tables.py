"""Tables of errors: what is counted where, by hand on a few sentences."""

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


def row(table, name):
    return next(each for each in table if each["name"] == name)


def test_scores_by_label_are_those_of_whole_arcs_and_punctuation_has_none(examples):
    labels = find_errors(examples).tables["labels"]
    assert [each["name"] for each in labels] == ["det", "ROOT", "nsubj", "obj", "obl"]
    assert row(labels, "det") == {
        "name": "det", "gold": 4, "predicted": 4, "precision": 0.75, "recall": 0.75, "f": 0.75
    }  # fmt: skip
    assert row(labels, "nsubj") == {
        "name": "nsubj", "gold": 2, "predicted": 1, "precision": 1.0, "recall": 0.5, "f": pytest.approx(2 / 3)
    }  # fmt: skip
    assert row(labels, "obl") == {
        "name": "obl", "gold": 0, "predicted": 1, "precision": 0.0, "recall": None, "f": None
    }  # fmt: skip
    assert row(find_errors(examples, punctuation=True).tables["labels"], "punct")["recall"] == 0.5


def test_tags_of_all_tokens_count(examples):
    tags = find_errors(examples).tables["tags"]
    assert sum(each["gold"] for each in tags) == 12
    assert row(tags, "VBZ")["recall"] == 0.5
    assert row(tags, "NN")["precision"] == 0.8


def test_arcs_are_counted_by_the_length_of_the_gold_and_of_the_predicted_one(examples):
    lengths = find_errors(examples).tables["arc_lengths"]
    assert [each["name"] for each in lengths] == ["root", "1", "2", "3-5"]
    assert [each["gold"] for each in lengths] == [2, 6, 2, 0]
    assert [each["predicted"] for each in lengths] == [2, 6, 1, 1]
    assert [each["recall"] for each in lengths] == [1.0, 5 / 6, 0.5, None]
    assert [each["precision"] for each in lengths] == [1.0, 5 / 6, 1.0, 0.0]


def test_sentences_are_counted_by_their_length(vocab, examples):
    tree = (["NN"] * 12, [0] * 12, ["ROOT", *["dep"] * 11])
    long = example(vocab, tree, tree, words=["buffalo"] * 12)
    short, longer = find_errors([*examples, long]).tables["sentence_lengths"][:2]
    assert short == {"name": "1-10", "tokens": 10, "uas": 0.8, "las": 0.7, "tag_acc": 11 / 12}
    assert longer == {"name": "11-20", "tokens": 12, "uas": 1.0, "las": 1.0, "tag_acc": 1.0}


def test_known_and_unknown_words_are_told_apart_where_somebody_knows(examples):
    assert "known" not in find_errors(examples).tables
    known, unknown = find_errors(examples, known=lambda word: word != "cat").tables["known"]
    assert (known["name"], known["tokens"], known["uas"]) == ("known", 8, 7 / 8)
    assert (unknown["name"], unknown["tokens"], unknown["uas"], unknown["tag_acc"]) == (
        "unknown",
        2,
        0.5,
        1.0,
    )


def test_confusions_have_their_sentences(examples):
    found = find_errors(examples).confusions
    assert found["label_confusions"] == [
        ("nsubj", "obl", 1, ["the [dog] sees a cat . (head: sees 3)"]),
    ]
    assert [each[:3] for each in found["tag_confusions"]] == [("VBZ", "NN", 1)]
    assert [each.gold for each in found["wrong_heads"]] == ["det", "obj"]
    assert found["wrong_heads"][0].examples == ["the dog sees [a] cat . (head: cat 5, not sees 3)"]


def test_the_most_frequent_confusion_comes_first_with_sentences_of_about_ten_words(vocab, examples):
    other = ["nsubj" if dep == "obj" else dep for dep in DEPS]
    short = example(
        vocab, (["NN", "NN"], [1, 1], ["obj", "ROOT"]), (["NN", "NN"], [1, 1], ["nsubj", "ROOT"]), ["a", "b"]
    )
    longer = example(vocab, predicted=(TAGS, HEADS, other))
    first, second = find_errors([*examples, short, longer], show=1).confusions["label_confusions"]
    assert (first.gold, first.predicted, first.count) == ("obj", "nsubj", 2)
    assert "the dog sees a [cat] ." in first.examples[0]
    assert second.count == 1


def test_tokens_without_gold_heads_have_no_arcs_to_count(vocab):
    found = find_errors([example(vocab, (TAGS, None, None))]).tables
    assert found["labels"] == []
    assert sum(each["gold"] for each in found["tags"]) == 6
    assert find_errors([]).tables["labels"] == []
