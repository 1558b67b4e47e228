"""Gold trees on the tokenizer's tokens: trees are complete for any splits and joins."""

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hpyp.annotation.sentences import problem_of, read_gold
from spacy_hpyp.annotation.syntactic_words import Analysis, write_words
from spacy_hpyp.pipeline.alignment import annotated_document, example_of_words, gold_sentences

VOCAB = spacy.blank("xx").vocab


def gold_doc(*sentences):
    """A document of sentences, each a list of (word, tag, head, label), without spaces."""
    words, tags, heads, deps = [], [], [], []
    for sentence in sentences:
        start = len(words)
        for word, tag, head, dep in sentence:
            words.append(word)
            tags.append(tag)
            heads.append(start + head)
            deps.append(dep)
    return unspaced(words, tags=tags, heads=heads, deps=deps)


def unspaced(words, **annotation):
    """A document without spaces."""
    return Doc(VOCAB, words=words, spaces=[False] * len(words), **annotation)


def keys_of(sentences):
    return [sentence.key for sentence in sentences]


def on_tokens(gold, tokens):
    """The sentences of a gold document on some tokens, as lists of (token, tag, head, label)."""
    example = Example(unspaced(tokens), gold)
    found = []
    for sentence in gold_sentences(example, "tokenizer"):
        forms, tags, deps = map(sentence.strings, range(3))
        heads = (np.arange(len(forms)) + sentence.rows[:, 3]).tolist()
        found.append(list(zip(forms, tags, heads, deps)))
    return found


def rows(text):
    """The words of a sentence as (word, tag, head, label), written with commas between them."""
    words = (word.split(" ") for word in text.split(", "))
    return [(form, tag, int(head), label) for form, tag, head, label in words]


CANNOT = rows("we PRP 3 nsubj, ca MD 3 aux, n't RB 3 advmod, go VB 3 ROOT")
DOWN = rows("go VB 0 ROOT, downhill RB 0 advmod, now RB 1 advmod")
#: A chain of heads: in the token "bc", one word is the head of the other.
DEEP = rows("a A 1 x, b B 2 y, c C 3 z, d D 3 ROOT")


def test_sentences_with_equal_tokens_have_equal_keys_among_others():
    gold = gold_doc(CANNOT, DOWN)
    example = Example(unspaced("we can't go go downhill now".split()), gold)
    keys, gold_keys = (keys_of(gold_sentences(example, name)) for name in ("tokenizer", "gold"))
    assert keys[0] != gold_keys[0]
    assert keys[1] == gold_keys[1]


@pytest.mark.parametrize(
    ("gold", "tokens", "expected"),
    [
        # A token of several words inherits everything from their head, here the first of two
        # sisters.
        (CANNOT, "we can't go", "we PRP 2 nsubj, can't MD 2 aux, go VB 2 ROOT"),
        (CANNOT, "we ca n'tgo", "we PRP 2 nsubj, ca MD 2 aux, n'tgo VB 2 ROOT"),
        (DEEP, "a bc d", "a A 1 x, bc C 2 z, d D 2 ROOT"),
        (DEEP, "abcd", "abcd D 0 ROOT"),
        # The pieces of a word attach to its first piece, and so do its dependents.
        (
            DOWN,
            "go down hi ll now",
            "go VB 0 ROOT, down RB 0 advmod, hi RB 1 dep, ll RB 1 dep, now RB 1 advmod",
        ),
        (
            DOWN,
            "g o downhill now",
            "g VB 0 ROOT, o VB 0 dep, downhill RB 0 advmod, now RB 2 advmod",
        ),
        (
            rows("!! . 1 punct, e-mail VB 1 ROOT"),
            "! ! e - mail",
            "! . 2 punct, ! . 0 punct, e VB 2 ROOT, - VB 2 punct, mail VB 2 dep",
        ),
        # Split and joined at once: the token in between holds the rest of one word and the
        # beginning of another.
        (
            CANNOT,
            "we c an 't go",
            "we PRP 4 nsubj, c MD 4 aux, an RB 4 advmod, 't RB 2 dep, go VB 4 ROOT",
        ),
    ],
)
def test_tags_and_arcs_are_carried_over(gold, tokens, expected):
    assert on_tokens(gold_doc(gold), tokens.split()) == [rows(expected)]


def test_a_token_across_two_sentences_belongs_to_the_first():
    first, second = on_tokens(gold_doc(CANNOT, DOWN), "we ca n't gogo downhill now".split())
    assert first == [*CANNOT[:3], ("gogo", "VB", 3, "ROOT")]
    # The root is lost, so its first dependent becomes the root.
    assert second == rows("downhill RB 0 advmod, now RB 0 advmod")


def test_dependents_of_a_lost_word_attach_to_its_head():
    lost = rows("x X 2 x, y Y 0 y, z Z 2 ROOT")
    _, second = on_tokens(gold_doc(DOWN, lost), ["go", "downhill", "nowx", "y", "z"])
    assert second == rows("y Y 1 y, z Z 1 ROOT")


def test_white_space_is_not_a_token():
    gold = Doc(VOCAB, words=["go", "\n", "on", "up"], spaces=[False, False, True, False],
               tags=["VB", "_SP", "RP", "RB"], heads=[0, 0, 0, 2],
               deps=["ROOT", "dep", "prt", "x"])  # fmt: skip
    predicted = Doc(
        VOCAB, words=["g", "o", "\n", "on", "up"], spaces=[False, False, False, True, False]
    )
    (sentence,) = gold_sentences(Example(predicted, gold), "tokenizer")
    read = read_gold(sentence)
    assert (read.words, read.heads) == (["g", "o", "on", "up"], [-1, 0, 0, 2])


def test_an_incomplete_sentence_is_returned_unchanged():
    gold = gold_doc([("go", "", 0, "ROOT"), ("up", "RB", 0, "x")], DOWN)
    example = Example(unspaced(["goup", "go", "downhill", "now"]), gold)
    problems = [problem_of(sentence.rows) for sentence in gold_sentences(example, "tokenizer")]
    assert problems == ["without tags", None]


@st.composite
def documents(draw):
    """Two random trees over random words, and tokens cut at random places of the same text."""
    sentences = []
    for _ in range(2):
        n = draw(st.integers(1, 6))
        # Every word but the root has a head before it in a random order.
        order = draw(st.permutations(range(n)))
        heads = [0] * n
        for place, word in enumerate(order):
            heads[word] = order[draw(st.integers(0, place - 1))] if place else word
        words = ["a" * draw(st.integers(1, 3)) for _ in range(n)]
        sentences.append(
            [(w, "T", h, "ROOT" if h == i else "x") for i, (w, h) in enumerate(zip(words, heads))]
        )
    text = "".join(word for sentence in sentences for word, *_ in sentence)
    cuts = draw(st.sets(st.integers(1, max(1, len(text) - 1))))
    ends = sorted(cuts | {len(text)})
    return gold_doc(*sentences), [text[a:b] for a, b in zip([0, *ends], ends)]


@given(documents())
@settings(max_examples=300, deadline=None)
def test_sentences_keep_complete_trees_and_tokens_occur_once(case):
    gold, tokens = case
    found = gold_sentences(Example(unspaced(tokens), gold), "tokenizer")
    assert [problem_of(sentence.rows) for sentence in found] == [None] * len(found)
    assert [form for sentence in found for form in sentence.strings(0)] == tokens


def as_columns(doc):
    return [(token.text, token.tag_, token.head.i, token.dep_) for token in doc]


@pytest.mark.parametrize("tokens", ["gold", "tokenizer"])
def test_a_document_with_gold_tokens_keeps_its_annotation(tokens):
    gold = gold_doc(CANNOT, DOWN)
    doc, sentences = annotated_document(Example(gold.copy(), gold), tokens)
    assert doc is not gold
    assert as_columns(doc) == as_columns(gold)
    assert keys_of(sentences) == keys_of(gold_sentences(Example(gold, gold), "gold"))
    assert [each.place.tolist() for each in sentences] == [[0, 1, 2, 3], [4, 5, 6]]


def test_an_annotated_document_has_the_learned_tokens_and_trees():
    predicted = unspaced(["we", "can't", " ", "go", "go", "down", "hill", "now"])
    gold = unspaced(
        ["we", "ca", "n't", " ", "go", "go", "downhill", "now"],
        tags="PRP MD RB _SP VB VB RB RB".split(),
        heads=[4, 4, 4, 4, 4, 5, 5, 6],
        deps="nsubj aux advmod dep ROOT ROOT advmod advmod".split(),
    )
    example = Example(predicted, gold)
    doc, sentences = annotated_document(example, "tokenizer")
    assert doc.text == predicted.text
    first = "we PRP 3 nsubj, can't MD 3 aux, go VB 3 ROOT"
    second = "go VB 4 ROOT, down RB 4 advmod, hill RB 5 dep, now RB 5 advmod"
    found = as_columns(doc)
    assert found.pop(2) == (" ", "_SP", 1, "dep")
    assert found == [*rows(first), *rows(second)]
    assert [token.is_sent_start for token in doc] == [i in (0, 4) for i in range(8)]
    assert keys_of(sentences) == keys_of(gold_sentences(example, "tokenizer"))
    assert [each.place.tolist() for each in sentences] == [[0, 1, 3], [4, 5, 6, 7]]
    # The written tree is the learned one.
    again = Example(doc.copy(), doc)
    assert keys_of(gold_sentences(again, "gold")) == keys_of(sentences)


def test_a_realigned_sentence_without_a_tree_has_no_annotation():
    words, heads = ["we", "ca", "n't", "go", "go", "now"], [1, 3, 3, 3, 4, 4]
    tags, deps = "PRP MD RB VB VB RB".split(), ["", "aux", "advmod", "ROOT", "ROOT", "advmod"]
    gold = unspaced(words, tags=tags, heads=heads, deps=deps)
    predicted = unspaced(["we", "can't", "go", "go", "now"])
    doc, sentences = annotated_document(Example(predicted, gold), "tokenizer")
    assert [token.dep_ for token in doc] == ["ROOT", "", "", "ROOT", "advmod"]
    assert [len(sentence) for sentence in doc.sents] == [3, 2]
    assert [token.tag_ for token in doc] == ["", "", "", "VB", "RB"]
    assert [token.is_sent_start for token in doc[1:]] == [False, False, True, False]
    assert [problem_of(sentence.rows) for sentence in sentences] == ["without tags", None]
    assert [each.place.tolist() for each in sentences] == [[0, 1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({}, ["va", "au", "port", "du", "lac"]),
        ({1: ["à", "le"]}, ["va", "à", "le", "port", "du", "lac"]),
        ({1: ["à", "le"], 3: ["de", "le"]}, ["va", "à", "le", "port", "de", "le", "lac"]),
        ({1: ["à", "les"], 2: ["po", "rt"]}, ["va", "au", "po", "rt", "du", "lac"]),
    ],
)
def test_words_found_by_the_tokenizer_are_learned_and_others_stay_whole(found, expected):
    vocab = spacy.blank("fr").vocab
    words = ["va", "au", "port", "du", "lac"]
    tree = {"heads": [0, 2, 0, 4, 2], "deps": ["ROOT", *["dep"] * 4]}
    reference = Doc(vocab, words, tags=[*"VAPDL"], **tree)
    predicted = Doc(vocab, words, tags=[*"vapdl"])
    for doc, known in ((reference, {1: ["à", "le"], 3: ["de", "le"]}), (predicted, found)):
        for i, forms in known.items():
            above = doc[i].head.i - i
            write_words(doc, i, [Analysis(form, dep="dep", head_token=above) for form in forms])
    example = example_of_words(Example(predicted, reference))
    assert [token.text for token in example.predicted] == expected
    assert [token.head.text for token in example.reference][1] == "port"
    assert example.predicted[0].tag_ == "v"
    words = " ".join(expected).replace("po rt", "port").split()
    assert [token.text for token in example.reference] == words
    gold = example_of_words(Example(predicted, reference), "gold")
    assert [token.text for token in gold.predicted] == "va à le port de le lac".split()


def test_an_incomplete_sentence_with_white_space_stays_one_sentence():
    tree = {"heads": [4, 0, 4, 4, 4], "deps": ["", "dep", "aux", "advmod", "ROOT"]}
    starts = [True, False, False, False, False]
    gold = unspaced(["we", "\n", "ca", "n't", "go"], **tree, sent_starts=starts)
    predicted = unspaced(["we", "\n", "can't", "go"])
    doc, (sentence,) = annotated_document(Example(predicted, gold), "tokenizer")
    assert sentence.place.tolist() == [0, 2, 3]
    assert sentence.rows[:, 3].tolist() == [0, -1, -2]
    assert [len(sentence) for sentence in doc.sents] == [4]
