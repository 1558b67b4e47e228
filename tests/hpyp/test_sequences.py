"""Sequences of symbols: their probabilities add up to one, they are drawn as they are scored, and
counted as they are seated.
"""

import itertools

import numpy as np
import pytest

from spacy_hpyp.hpyp.franchise import CUSTOMERS, N_RESTAURANTS, TIER, new_franchise
from spacy_hpyp.hpyp.sequences import BEFORE, GROUP, draw_sequence, learn_sequences, score_symbols

#: Two symbols and the end.
END = 2
SEEN = [((0, 1), 0), ((0, 1, 1), 0), ((1,), 1), ((1, 0), 1), ((), 1)]


def joined(sequences):
    symbols = np.array([symbol for each in sequences for symbol in (*each, END)], dtype=np.int32)
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


def probabilities(franchise, sequences, group):
    symbols, offsets = joined(sequences)
    out, groups = np.empty(len(symbols)), np.full(len(sequences), group, dtype=np.int32)
    score_symbols(franchise, symbols, offsets, groups, out)
    return np.exp(np.add.reduceat(out, offsets[:-1]))


@pytest.mark.parametrize("group", [0, 1, 5])
def test_all_sequences_up_to_a_length_have_one_at_most_and_come_near_to_it(franchise, group):
    total, totals = 0.0, []
    for length in range(15):
        total += probabilities(
            franchise, list(itertools.product(range(2), repeat=length)), group
        ).sum()
        totals.append(total)
    assert np.all(np.diff(totals) > 0.0)
    assert 0.98 < total < 1.0


@pytest.mark.parametrize("group", [0, 1, 5])
def test_sequences_are_drawn_as_often_as_they_are_probable(franchise, group):
    rng, room, draws = np.random.default_rng(1), np.empty(30, dtype=np.int32), 5000
    found = [
        tuple(room[: draw_sequence(franchise, group, rng, room)].tolist()) for _ in range(draws)
    ]
    short = [each for length in range(4) for each in itertools.product(range(2), repeat=length)]
    expected = probabilities(franchise, short, group)
    often = np.array([found.count(each) for each in short]) / draws
    # Four standard errors of a frequency.
    assert np.all(np.abs(often - expected) < 4 * np.sqrt(expected * (1 - expected) / draws) + 1e-9)


def test_what_does_not_end_in_the_room_there_is_is_no_sequence(franchise):
    rng, room = np.random.default_rng(2), np.empty(1, dtype=np.int32)
    lengths = [draw_sequence(franchise, 0, rng, room) for _ in range(200)]
    assert set(lengths) == {-1, 0, 1}


def test_every_symbol_and_every_end_is_seated_once_however_many_sweeps_there_are(franchise):
    restaurants = franchise.restaurants[: franchise.used[N_RESTAURANTS]]
    depth = franchise.columns.shape[1]
    assert restaurants[restaurants[:, TIER] == depth, CUSTOMERS].sum() == sum(
        len(each) + 1 for each, _ in SEEN
    )
