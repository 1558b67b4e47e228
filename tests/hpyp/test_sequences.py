"""Sequences of symbols: probabilities sum to one, and draws and counts match them."""

import itertools
from collections import Counter

import numpy as np
import pytest

from spacy_hpyp.hpyp.franchise import CUSTOMERS, N_RESTAURANTS, TIER, new_franchise
from spacy_hpyp.hpyp.sequences import (
    BEFORE,
    GROUP,
    contexts,
    draw_sequence,
    learn_sequences,
    score_symbols,
)

#: The end, after two symbols.
END = 2
SEEN = [((0, 1), 0), ((0, 1, 1), 0), ((1,), 1), ((1, 0), 1), ((), 1)]
#: The boundary, after three words.
BOUNDARY = 3
SENTENCES = [[0, 1], [0, 1, 2], [1, 1, 0, 2], [2], [0, 1], [0, 2, 2, 1, 0, 1]]


def joined(sequences, end=END):
    symbols = np.array([symbol for each in sequences for symbol in (*each, end)], dtype=np.int32)
    return symbols, np.cumsum([0, *(len(each) + 1 for each in sequences)])


@pytest.fixture(
    scope="module",
    params=[[BEFORE, BEFORE + 1, GROUP], [GROUP, BEFORE]],
    ids=["group last", "group first"],
)
def franchise(request):
    columns = np.array([request.param], dtype=np.int32)
    symbols, offsets = joined([each for each, _ in SEEN])
    groups = np.array([group for _, group in SEEN], dtype=np.int32)
    return learn_sequences(
        new_franchise(columns, 3), symbols, offsets, groups, 6, np.random.default_rng(0)
    )


def probabilities(franchise, sequences, group, end=END):
    """The probability of each sequence with its end."""
    symbols, offsets = joined(sequences, end)
    rows = contexts(franchise, symbols, offsets, np.full(len(sequences), group))
    return np.exp(np.add.reduceat(score_symbols(franchise, rows, symbols), offsets[:-1]))


@pytest.mark.parametrize("group", [0, 5])
def test_sequence_probabilities_sum_to_nearly_one(franchise, group):
    total, totals = 0.0, []
    for length in range(15):
        sequences = list(itertools.product(range(2), repeat=length))
        total += probabilities(franchise, sequences, group).sum()
        totals.append(total)
    assert np.all(np.diff(totals) > 0.0)
    assert 0.98 < total < 1.0


@pytest.mark.parametrize("group", [0, 5])
def test_sequences_are_drawn_as_often_as_their_probabilities_predict(franchise, group):
    rng, room, draws = np.random.default_rng(1), np.empty(30, dtype=np.int32), 5000
    found = [
        tuple(room[: draw_sequence(franchise, group, rng, room)].tolist()) for _ in range(draws)
    ]
    short = [each for length in range(4) for each in itertools.product(range(2), repeat=length)]
    expected = probabilities(franchise, short, group)
    often = np.array([found.count(each) for each in short]) / draws
    # Four standard errors of a frequency.
    assert np.all(np.abs(often - expected) < 4 * np.sqrt(expected * (1 - expected) / draws) + 1e-9)


def test_sequences_longer_than_the_buffer_are_rejected(franchise):
    rng, room = np.random.default_rng(2), np.empty(1, dtype=np.int32)
    lengths = [draw_sequence(franchise, 0, rng, room) for _ in range(200)]
    assert set(lengths) == {-1, 0, 1}


def ngrams(order):
    """Count each word, or the boundary, after each context of order - 1 words."""
    found = Counter()
    for sentence in SENTENCES:
        padded = [BOUNDARY] * (order - 1) + [*sentence, BOUNDARY]
        found.update(
            (tuple(padded[i : i + order - 1]), padded[i + order - 1])
            for i in range(len(sentence) + 1)
        )
    return found


def learn_sentences(order, sweeps, **settings):
    columns = np.arange(BEFORE, BEFORE + order - 1, dtype=np.int32).reshape(1, -1)
    groups, rng = np.zeros(len(SENTENCES), dtype=np.int32), np.random.default_rng(0)
    franchise = new_franchise(columns, BOUNDARY + 1, **settings)
    return learn_sequences(franchise, *joined(SENTENCES, BOUNDARY), groups, sweeps, rng)


def test_bigram_probabilities_match_the_closed_form_from_counts():
    # One table for each dish: a word has one customer in the root for each context it was seen in
    # (Teh 2006, section 5).
    d, theta = np.array([0.3, 0.6]), np.array([0.5, 1.2])
    franchise = learn_sentences(2, 1, one_table=True)
    franchise.discount[:], franchise.strength[:] = d, theta
    counts = ngrams(2)
    contexts = Counter(word for _, word in counts)

    def unigram(word):
        fresh = theta[0] + d[0] * len(contexts)
        seen = max(contexts[word] - d[0], 0.0)
        return (seen + fresh / (BOUNDARY + 1)) / (theta[0] + contexts.total())

    def bigram(before, word):
        here = {seen: count for ((context,), seen), count in counts.items() if context == before}
        fresh = theta[1] + d[1] * len(here)
        return (max(here.get(word, 0) - d[1], 0.0) + fresh * unigram(word)) / (
            theta[1] + sum(here.values())
        )

    for sentence in [[], [0], [1, 0], [2, 2, 2], [0, 1, 2, 1]]:
        padded = [BOUNDARY, *sentence, BOUNDARY]
        expected = np.prod([bigram(*pair) for pair in itertools.pairwise(padded)])
        found = probabilities(franchise, [sentence], 0, BOUNDARY)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("order", [1, 5])
def test_leaf_customers_equal_n_gram_counts_after_sweeps(order):
    franchise, totals = learn_sentences(order, 4), Counter()
    for (context, _), count in ngrams(order).items():
        totals[context] += count
    restaurants = franchise.restaurants[: franchise.used[N_RESTAURANTS]]
    leaves = restaurants[restaurants[:, TIER] == order - 1]
    assert sorted(leaves[:, CUSTOMERS].tolist()) == sorted(totals.values())
