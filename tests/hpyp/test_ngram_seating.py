"""Seating and scoring of n-grams, against counting and calculation by hand."""

from collections import Counter

import numpy as np
import pytest

from spacy_hpyp.hpyp.franchise import CUSTOMERS, N_RESTAURANTS, TIER, new_franchise, reserve
from spacy_hpyp.hpyp.sequences import BEFORE, score_symbols, visit_sequences
from spacy_hpyp.hpyp.storage import pack, unpack

# Three words and the boundary, which is the last dish.
END = 3
SENTENCES = [[0, 1], [0, 1, 2], [1, 1, 0, 2], [2], [0, 1], [0, 2, 2, 1, 0, 1]]


def stream_of(sentences):
    return np.array(
        [number for sentence in sentences for number in [*sentence, END]], dtype=np.int32
    )


def columns_of(order):
    return np.arange(BEFORE, BEFORE + order - 1, dtype=np.int32).reshape(1, -1)


def visit(franchise, sentences, seated, rng):
    offsets = np.cumsum([0, *(len(sentence) + 1 for sentence in sentences)])
    return visit_sequences(
        franchise,
        stream_of(sentences),
        offsets,
        np.zeros(len(sentences), dtype=np.int32),
        seated,
        rng,
    )


def seat_sentences(order, sweeps=1, seed=0, one_table=False, sentences=SENTENCES):
    rng = np.random.default_rng(seed)
    room = len(stream_of(sentences))
    franchise = reserve(
        new_franchise(columns_of(order), END + 1, 0.4, 0.7, one_table=one_table), room
    )
    for sweep in range(sweeps):
        visit(franchise, sentences, sweep > 0, rng)
    return franchise


def scores(franchise, sentences):
    symbols = stream_of(sentences)
    offsets = np.cumsum([0, *(len(sentence) + 1 for sentence in sentences)])
    found, groups = np.empty(len(symbols)), np.zeros(len(sentences), dtype=np.int32)
    score_symbols(franchise, symbols, offsets, groups, found)
    return found


def ngrams(order, sentences=SENTENCES):
    """The number of times that each word, or the end, was seen after each context of order - 1
    words.
    """
    found = Counter()
    for sentence in sentences:
        padded = [END] * (order - 1) + [*sentence, END]
        found.update(
            (tuple(padded[i : i + order - 1]), padded[i + order - 1])
            for i in range(len(sentence) + 1)
        )
    return found


def test_a_bigram_is_what_the_counts_give_by_hand():
    # One table for each dish: a word has one customer in the root for each context it was seen in
    # (Teh 2006, section 5).
    d, theta = np.array([0.3, 0.6]), np.array([0.5, 1.2])
    franchise = seat_sentences(2, one_table=True)
    franchise.discount[:], franchise.strength[:] = d, theta
    counts = ngrams(2)
    contexts = Counter(word for _, word in counts)

    def unigram(word):
        fresh = theta[0] + d[0] * len(contexts)
        seen = max(contexts[word] - d[0], 0.0)
        return (seen + fresh / (END + 1)) / (theta[0] + contexts.total())

    def bigram(before, word):
        here = {seen: count for ((context,), seen), count in counts.items() if context == before}
        fresh = theta[1] + d[1] * len(here)
        return (max(here.get(word, 0) - d[1], 0.0) + fresh * unigram(word)) / (
            theta[1] + sum(here.values())
        )

    for sentence in [[], [0], [1, 0], [2, 2, 2], [0, 1, 2, 1]]:
        padded = [END, *sentence, END]
        expected = [bigram(padded[i], padded[i + 1]) for i in range(len(padded) - 1)]
        np.testing.assert_allclose(np.exp(scores(franchise, [sentence])), expected, rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 5])
def test_the_customers_of_the_leaves_are_the_n_grams_however_often_they_were_moved(order):
    franchise = seat_sentences(order, sweeps=4)
    totals = Counter()
    for (context, _), count in ngrams(order).items():
        totals[context] += count
    restaurants = franchise.restaurants[: franchise.used[N_RESTAURANTS]]
    leaves = restaurants[restaurants[:, TIER] == order - 1]
    assert sorted(leaves[:, CUSTOMERS].tolist()) == sorted(totals.values())
    packed = pack(franchise)
    once = pack(seat_sentences(order))
    for part in ("children", "symbol", "dishes", "dish"):
        assert np.array_equal(packed[part], once[part])
    # It would not be read back if customers, tables and those sent to the parents did not agree.
    unpack(packed, new_franchise(columns_of(order), END + 1))
