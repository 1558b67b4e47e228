"""Syntactic words: from a Doc of tokens to a Doc of words, and back."""

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.attrs import DEP, HEAD
from spacy.tokens import Doc

from spacy_hpyp.annotation.encoding import write_extensions
from spacy_hpyp.annotation.syntactic_words import (
    Analysis,
    WordsInFlight,
    has_multiword_tokens,
    spelled_apart,
    to_word_doc,
    write_back,
    write_words,
)
from spacy_hpyp.annotation.user_data import (
    WRITTEN,
    current_parse,
    keep,
    take_back,
    write_entries,
    write_sentence_probabilities,
)

VOCAB = spacy.blank("xx").vocab


@st.composite
def documents(draw):
    """A Doc with multiword tokens, and a tree over all words."""
    counts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=8))
    doc = Doc(VOCAB, words=[f"t{i}" for i in range(len(counts))])
    for i, count in enumerate(counts):
        if count > 1:
            write_words(doc, i, [Analysis(f"t{i}w{j}") for j in range(count)])
    total = sum(counts)
    # A random tree: the words are in random order, and each word's head is an earlier one.
    order = draw(st.permutations(range(total)))
    heads = [0] * total
    for rank, word in enumerate(order):
        heads[word] = word if rank == 0 else order[draw(st.integers(0, rank - 1))]
    return doc, counts, heads


def a_bc(words, **settings):
    """A Doc in which the token "bc" has two words."""
    doc = Doc(VOCAB, words=words, **settings)
    write_words(doc, words.index("bc"), [Analysis("b"), Analysis("c")])
    return doc


def annotated(words, heads):
    return Doc(
        words.vocab,
        words=[token.text for token in words],
        spaces=[bool(token.whitespace_) for token in words],
        tags=[f"T{i}" for i in range(len(words))],
        pos=["NOUN"] * len(words),
        morphs=["Case=Nom" if i % 2 else "" for i in range(len(words))],
        lemmas=[f"L{i}" for i in range(len(words))],
        heads=heads,
        deps=["ROOT" if head == i else f"d{i}" for i, head in enumerate(heads)],
        user_data=words.user_data,
    )


@settings(deadline=None)
@given(documents())
def test_word_annotation_round_trips_and_tokens_form_a_tree(given):
    doc, counts, heads = given
    words = to_word_doc(doc)
    assert len(words) == sum(counts)
    words = annotated(words, heads)
    if max(counts) == 1:
        return
    write_back(words, doc)
    again = to_word_doc(doc)
    flat = doc._.ud_words

    def columns_of(items):
        names = ("text", "tag_", "pos_", "lemma_", "dep_", "morph")
        return [[str(getattr(item, name)) for item in items] for name in names]

    assert columns_of(again) == columns_of(flat) == columns_of(words)
    assert [token.whitespace_ for token in again] == [token.whitespace_ for token in words]
    assert [token.head.i for token in again] == heads
    assert [flat.index(word.head) for word in flat] == heads
    # Like the words, the tokens have one root and no cycle.
    assert len(list(doc.sents)) == 1
    assert sum(token.head.i == token.i for token in doc) == 1
    for token in doc:
        assert len(list(token.ancestors)) < len(doc)


@settings(deadline=None)
@given(documents(), st.data())
def test_spelled_apart_splits_only_tokens_that_concatenate_their_words(given, data):
    _, counts, heads = given
    apart = [count > 1 and data.draw(st.booleans()) for count in counts]
    forms = [
        [f"w{j}" for j in range(count)] if own else [f"t{i}"]
        for i, (own, count) in enumerate(zip(apart, counts))
    ]
    doc = Doc(VOCAB, words=["".join(own) for own in forms])
    for i, (own, count) in enumerate(zip(apart, counts)):
        if count > 1:
            write_words(doc, i, [Analysis(f"w{j}" if own else f"t{i}w{j}") for j in range(count)])
    write_back(annotated(to_word_doc(doc), heads), doc)
    found = spelled_apart(doc)
    assert found.text == doc.text
    assert not has_multiword_tokens(found)
    assert [token.text for token in found] == [form for own in forms for form in own]
    # The position of each word in the new Doc, which is one tree.
    places = [i for i, (own, count) in enumerate(zip(apart, counts)) for _ in range(count)]
    begin = np.cumsum([0, *map(len, forms)])
    token_of = [begin[i] + (k - places.index(i)) * apart[i] for k, i in enumerate(places)]
    assert len(list(found.sents)) == 1
    for token in found:
        *_, highest = token, *token.ancestors
        assert highest.head == highest
    for i, token in zip(np.repeat(np.arange(len(forms)), list(map(len, forms))), found):
        own = [k for k, target in enumerate(token_of) if target == token.i]
        word = int(token.tag_[1:])
        assert word in own
        assert token.head.i == token_of[heads[word]]
        assert len(own) == 1 or not apart[i]


@pytest.mark.parametrize("end", [[], ["."]])
def test_words_follow_merged_heads_and_merged_tokens_lose_their_words(end):
    words = ["Il", "parle", "au", "bon", "maire", *end]
    heads, deps = [1, 1, 4, 4, 1], ["nsubj", "ROOT", "case", "amod", "obl"]
    doc = Doc(VOCAB, words=words, heads=heads + [1] * len(end), deps=deps + ["punct"] * len(end))
    write_words(
        doc, 2, [Analysis("à", dep="case", head_token=2), Analysis("le", dep="det", head_token=2)]
    )
    write_extensions(doc, np.arange(len(doc)), -np.ones((len(WRITTEN), len(doc))))
    parsed = to_word_doc(doc)
    keep(parsed, "first", current_parse(parsed))
    write_back(parsed, doc)
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[3:5])
    for flat in (doc._.ud_words, to_word_doc(doc)):
        assert [word.head.text for word in flat][2:5] == ["bon maire", "bon maire", "parle"]
    assert (doc[3]._.log_prob, doc[3]._.head_prob, doc._.log_prob) == (-2.0, None, -5.0 - len(end))
    assert doc._.surprisal == 2.0 * doc._.log_prob
    with pytest.warns(UserWarning, match="dropped"):
        assert doc._.hpyp_parses == {}
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[2:4])
    with pytest.warns(UserWarning, match="counts as one word"):
        assert [word.text for word in doc._.ud_words] == ["Il", "parle", "au bon maire", *end]
    assert doc._.log_prob == -5.0 - len(end)


def all_of(doc):
    tokens = [(t.text, t.tag_, t.lemma_, t.dep_, t.head.i, t.is_sent_start) for t in doc]
    return tokens, doc.user_data, doc.has_annotation("DEP")


@settings(deadline=None)
@given(
    documents(), st.lists(st.sampled_from(["tag_", "lemma_", "tree", "doc", "nothing"]), max_size=6)
)
def test_words_in_flight_equal_newly_made_words(given, steps):
    doc, counts, _ = given
    flying = before = None
    other = doc.copy()
    for number, step in enumerate(steps):
        before, flying = flying, WordsInFlight.of(doc)
        assert before in (None, flying) or steps[number - 1] == "doc" or flying.words is doc
        anew = to_word_doc(other)
        for words in (flying.words, anew):
            if step == "tree":
                done = annotated(words, [max(0, i - number) for i in range(sum(counts))])
                words.from_array([DEP, HEAD], done.to_array([DEP, HEAD]))
                probabilities = [number / 10 + i / 100 for i in range(len(words))]
                write_entries(words, "head_prob", probabilities)
            elif step in ("tag_", "lemma_"):
                for token in words:
                    setattr(token, step, f"{token.i}{number}")
        flying.write_back(doc)
        write_back(anew, other)
        for each in (doc, other) if step == "doc" else ():
            each[0].tag_ = f"own{number}"
        assert all_of(doc) == all_of(other)
    del flying, before
    assert not WordsInFlight._all


def test_tokens_and_words_share_sentence_boundaries():
    doc = a_bc(["a", "bc", "d"], sent_starts=[True, False, True])
    words = to_word_doc(doc)
    assert [token.is_sent_start for token in words] == [True, False, False, True]
    words[1].is_sent_start = True
    write_back(words, doc)
    assert [token.is_sent_start for token in doc] == [True, True, True]


def test_tokens_sum_word_log_probs_and_take_the_highest_words_confidence():
    doc = a_bc(["a", "bc", "d"])
    doc.user_data["other"] = 1
    words = annotated(to_word_doc(doc), [3, 3, 3, 3])
    probabilities = [0.1, 0.2, 0.3, 0.4]
    values = [[-1.0, -2.0, -4.0, -8.0], *np.ones((2, 4)), probabilities, probabilities]
    write_extensions(words, np.arange(4), np.array(values))
    write_back(words, doc)
    assert [token._.log_prob for token in doc] == [-1.0, -6.0, -8.0]
    assert doc._.log_prob == pytest.approx(-15.0)
    assert [token._.surprisal for token in doc] == [2.0, 4.0, 2.0]
    assert [token._.head_prob for token in doc] == [0.1, 0.2, 0.4]
    assert doc.user_data["other"] == 1


def test_white_space_stays_in_place():
    doc = a_bc(["a", "\n\n", "bc"], spaces=[False] * 3)
    words = to_word_doc(doc)
    assert [token.text for token in words] == ["a", "\n\n", "b", "c"]
    write_back(annotated(words, [0, 0, 2, 2]), doc)
    assert [token.head.i for token in doc] == [0, 0, 2]
    assert [word.text for word in doc._.ud_words] == ["a", "b", "c"]


def test_word_extensions_reach_the_next_component():
    doc = a_bc(["a", "bc", "d"])
    doc.user_data[("._.", "sent_end_prob", doc[1].idx, None)] = 0.75
    words = annotated(to_word_doc(doc), [2, 2, 2, 2])
    assert [token._.sent_end_prob for token in words] == [None, None, 0.75, None]
    keep(words, "first", current_parse(words))
    write_back(words, doc)
    again = to_word_doc(doc)
    assert again._.hpyp_parses["first"].heads.tolist() == [2, 1, 0, -1]
    assert [token._.sent_end_prob for token in again] == [None, None, 0.75, None]


def test_take_back_removes_the_parse():
    doc = a_bc(["a", "bc"])
    write_back(annotated(to_word_doc(doc), [1, 1, 1]), doc)
    words = to_word_doc(doc)
    take_back(words)
    write_back(words, doc)
    assert not doc.has_annotation("DEP")
    assert [token.is_sent_start for token in doc] == [True, False]


def test_sentence_log_probs_survive_conversion_to_tokens():
    doc = a_bc(["a", "bc", "d"])
    words = annotated(to_word_doc(doc), [1, 1, 1, 3])
    write_sentence_probabilities(words, np.array([0, 3]), np.array([-5.0, -2.0]))
    write_back(words, doc)
    assert doc._.log_prob == -7.0
    assert doc[:2]._.log_prob == -5.0
    assert doc[:1]._.log_prob is None
