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
    """A right sentence and one in which a label, a tag, two heads and the head of punctuation are
    wrong.
    """
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


def test_words_are_counted_by_lengths_of_arcs(examples):
    lengths = rows(find_errors(examples), "By length of the arc")
    assert {name: (row["tokens"], row["uas"]) for name, row in lengths.items()} == {
        "1": (6, 5 / 6),
        "2": (2, 0.5),
        "root": (2, 1.0),
    }


def test_known_and_unknown_words_are_told_apart_where_somebody_knows(examples):
    title = "By whether the word is known"
    assert title not in find_errors(examples).tables
    found = rows(find_errors(examples, known=lambda word: word != "cat"), title)
    assert (found["known"]["tokens"], found["known"]["uas"]) == (8, 7 / 8)
    assert (found["unknown"]["tokens"], found["unknown"]["uas"]) == (2, 0.5)


def test_confusions_have_a_sentence(examples):
    labels, tags = find_errors(examples).confusions.values()
    (label,), (tag,) = labels, tags
    assert label[:3] == ("nsubj", "obl", 1)
    assert "[dog]" in label.example
    assert tag[:3] == ("VBZ", "NN", 1)


def test_the_most_frequent_confusion_comes_first(vocab, examples):
    other = ["nsubj" if dep == "obj" else dep for dep in DEPS]
    more = [example(vocab, predicted=(TAGS, HEADS, other))] * 2
    first, second = find_errors([*examples, *more]).confusions["Confusions of labels"]
    assert (first.gold, first.predicted, first.count) == ("obj", "nsubj", 2)
    assert "[cat]" in first.example
    assert second.count == 1


def test_tokens_without_gold_heads_do_not_count(vocab):
    assert find_errors([example(vocab, (TAGS, None, None))]).tables["By label"] == []
