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


def rows(found, title):
    return {row.pop("name"): row for row in found.tables[title]}


def test_words_are_counted_by_their_gold_labels_without_punctuation(examples):
    labels = rows(find_errors(examples), "By label")
    assert list(labels) == ["det", "ROOT", "nsubj", "obj"]
    assert labels["det"] == {"tokens": 4, "uas": 0.75, "las": 0.75, "tag_acc": 1.0}
    assert labels["nsubj"] == {"tokens": 2, "uas": 1.0, "las": 0.5, "tag_acc": 1.0}


def test_words_are_counted_by_tags_and_lengths(vocab, examples):
    tree = (["NN"] * 12, [0] * 12, ["ROOT", *["dep"] * 11])
    found = find_errors([*examples, example(vocab, tree, tree, words=["buffalo"] * 12)])
    assert rows(found, "By tag")["VBZ"]["tag_acc"] == 0.5
    lengths = rows(find_errors(examples), "By length of the arc")
    assert {name: (row["tokens"], row["uas"]) for name, row in lengths.items()} == {
        "1": (6, 5 / 6),
        "2": (2, 0.5),
        "root": (2, 1.0),
    }
    assert rows(found, "By length of the sentence") == {
        "11-20": {"tokens": 12, "uas": 1.0, "las": 1.0, "tag_acc": 1.0},
        "1-10": {"tokens": 10, "uas": 0.8, "las": 0.7, "tag_acc": 0.9},
    }


def test_known_and_unknown_words_are_told_apart_where_somebody_knows(examples):
    title = "By whether the word is known"
    assert title not in find_errors(examples).tables
    found = rows(find_errors(examples, known=lambda word: word != "cat"), title)
    assert (found["known"]["tokens"], found["known"]["uas"]) == (8, 7 / 8)
    assert (found["unknown"]["tokens"], found["unknown"]["uas"]) == (2, 0.5)


def test_confusions_have_their_sentences(examples):
    labels, heads, tags = find_errors(examples).confusions.values()
    assert labels == [("nsubj", "obl", 1, ["the [dog] sees a cat . (head: sees 3)"])]
    assert [each.gold for each in heads] == ["det", "obj"]
    assert heads[0].examples == ["the dog sees [a] cat . (head: cat 5, not sees 3)"]
    assert [each[:3] for each in tags] == [("VBZ", "NN", 1)]


def test_the_most_frequent_confusion_comes_first_with_sentences_of_about_ten_words(vocab, examples):
    other = ["nsubj" if dep == "obj" else dep for dep in DEPS]
    short = example(
        vocab, (["NN", "NN"], [1, 1], ["obj", "ROOT"]), (["NN", "NN"], [1, 1], ["nsubj", "ROOT"]), ["a", "b"]
    )
    longer = example(vocab, predicted=(TAGS, HEADS, other))
    first, second = find_errors([*examples, short, longer]).confusions["Confusions of labels"]
    assert (first.gold, first.predicted, first.count) == ("obj", "nsubj", 2)
    assert "the dog sees a [cat] ." in first.examples[0]
    assert second.count == 1


def test_tokens_without_gold_heads_do_not_count(vocab):
    assert find_errors([example(vocab, (TAGS, None, None))]).tables["By label"] == []
