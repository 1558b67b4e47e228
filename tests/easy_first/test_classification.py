"""Easy-first classification: decisions match a plain search, and every update is valid."""

from dataclasses import replace

import numpy as np
import pytest
from plain_classification import enumerate_all, features, only, random_task, scores, search
from plain_parser import dense

from spacy_hpyp.compiled import NONE
from spacy_hpyp.easy_first.classification import (
    EARLY,
    FULL,
    EasyFirstSearch,
    decide,
    find_leads,
    learn_outcomes,
    new_board,
)
from spacy_hpyp.easy_first.perceptron import Perceptron
from spacy_hpyp.easy_first.words import STARTS, compile_reading


def decided(task, beam=1, window=100):
    outcomes = np.full(len(task.gold), NONE, dtype=np.int32)
    board = new_board(task.reading, task.possible, task.weights, EasyFirstSearch(beam, window))
    decide(board, task.sequences, 0, len(task.sequences.offsets) - 1, outcomes)
    return outcomes


def learned(task, perceptron, *, beam=1, window=100, margin=0.0):
    """Learn from all sequences. Return the counts of updates and the smallest lead."""
    counts, weights = np.zeros(2, dtype=np.int64), perceptron.begin_learning()
    search = EasyFirstSearch(beam, window)
    board = new_board(task.reading, task.possible, weights.weights, search)
    return counts, learn_outcomes(board, weights, task.sequences, task.gold, margin, counts)


@pytest.mark.parametrize(("beam", "window"), [(1, 100), (1, 1), (1, 4), (3, 100), (3, 4), (8, 3)])
def test_search_matches_the_plain_search(beam, window):
    for seed in range(8):
        task = random_task(seed, [1, 7, 2, 12, 5])
        expected = [outcome for i in range(5) for outcome in search(task, i, beam, window)]
        assert decided(task, beam, window).tolist() == expected


def test_a_beam_of_all_states_finds_the_best_outcomes():
    better = 0
    for seed in range(12):
        task = random_task(seed, [5], outcomes=3)
        best = enumerate_all(task, 0)
        assert decided(task, beam=3**5).tolist() == best
        better += decided(task).tolist() != best
    # Otherwise the test would show nothing.
    assert better > 0


def test_one_word_windows_decide_from_left_to_right():
    task = random_task(3, [9])
    outcomes = [NONE] * 9
    for word in range(9):
        found = scores(task, 0, word, outcomes)
        outcomes[word] = max(found, key=found.get)
    assert decided(task, window=1).tolist() == outcomes


@pytest.mark.parametrize("window", [1, 3, 100])
def test_given_outcomes_are_kept_and_read(window):
    task = random_task(5, [10, 4])
    given = task.sequences.given.copy()
    given[[0, 4, 13]] = 4, 0, 1
    task.sequences = task.sequences._replace(given=given)
    found = decided(task, 2, window)
    assert found[[0, 4, 13]].tolist() == [4, 0, 1]
    assert found.tolist() == [*search(task, 0, 2, window), *search(task, 1, 2, window)]


def test_sequences_are_independent():
    task = random_task(7, [6, 6])
    both = decided(task)
    assert np.array_equal(decided(only(task, 0)), both[:6])
    assert np.array_equal(decided(only(task, 1)), both[6:])


def test_leads_compare_outcomes_given_all_other_words():
    _, reading = compile_reading([["word"], ["prev.start"], ["next.start", "word"]], STARTS)
    task = random_task(9, [6, 2])
    task.reading = reading
    outcomes = np.random.default_rng(0).integers(2, size=8).astype(np.int32)
    leads = np.empty(8)
    find_leads(reading, task.weights, task.sequences, outcomes, leads)
    size = len(task.weights)
    for sequence, start, length in ((0, 0, 6), (1, 6, 2)):
        for word in range(length):
            places = features(task, sequence, word, outcomes[start : start + length].tolist())
            expected = sum(
                float(task.weights[(p + 1) % size, 0]) - float(task.weights[p % size, 0])
                for p in places
            )
            assert leads[start + word] == pytest.approx(expected)


# Training


@pytest.mark.parametrize("margin", [0.0, 3.0])
@pytest.mark.parametrize(("beam", "window"), [(1, 100), (1, 3), (4, 100), (4, 3)])
def test_every_update_is_valid(beam, window, margin):
    updates = np.zeros(2, dtype=np.int64)
    for seed in range(4):
        task = random_task(seed, [1, 6, 9, 3, 12])
        perceptron = Perceptron(1 << 10, 1, sparse=True)
        for _ in range(6):
            for i in range(5):
                # Learn each sentence alone, so that none hides behind another.
                counts, least = learned(
                    only(task, i), perceptron, beam=beam, window=window, margin=margin
                )
                assert (least == np.inf) == (counts.sum() == 0)
                assert least >= 0.0
                updates += counts
        assert perceptron.begin_learning().clock[0] > 0
    assert updates[EARLY] > 0
    assert (updates[FULL] > 0) == (beam > 1)


@pytest.mark.parametrize("beam", [1, 4])
def test_separable_data_are_learned_without_errors(beam):
    task = random_task(
        11, [6, 9, 3, 12, 8], places=1 << 14, templates=[["word", "suffix1"], ["prev.tag", "word"]]
    )
    rng = np.random.default_rng(0)
    symbols = task.sequences.symbols
    symbols[:] = rng.permutation(symbols.size).reshape(symbols.shape)
    perceptron = Perceptron(1 << 14, 1, sparse=True)
    for _ in range(30):
        counts, _ = learned(task, perceptron, beam=beam)
    assert counts.sum() == 0
    task.weights = perceptron.begin_learning().weights
    assert np.array_equal(decided(task, beam), task.gold)


def test_greedy_search_learns_from_every_word_of_a_sentence():
    # Each word is its own symbol, so that learning one word does not affect the others.
    task = random_task(1, [8], templates=[["word"]], places=1 << 14)
    task.sequences.symbols[:, 0] = np.arange(8)
    task.sequences.kind[:] = 1
    first, second = task.possible.outcomes[task.possible.offsets[1] :][:2].tolist()
    task.gold[:] = second
    perceptron = Perceptron(1 << 14, 1, sparse=True)
    counts, least = learned(task, perceptron)
    assert counts[EARLY] == 8
    assert least == 0.0
    assert learned(task, perceptron)[0].sum() == 0
    assert first != second


def test_correct_sequences_cause_no_updates():
    task = random_task(4, [5, 5])
    perceptron = Perceptron(1 << 10, 1, sparse=True)
    perceptron.begin_learning().weights[:] = task.weights
    counts, least = learned(replace(task, gold=decided(task)), perceptron)
    assert counts.sum() == 0
    assert least == np.inf
    assert np.array_equal(perceptron.begin_learning().weights, task.weights)


def test_words_without_a_possible_gold_outcome_cause_no_updates():
    for gold in (NONE, 77):
        task = replace(random_task(6, [9]), gold=np.full(9, gold, dtype=np.int32))
        perceptron = Perceptron(1 << 10, 1, sparse=True)
        assert learned(task, perceptron, beam=3, margin=2.0)[0].sum() == 0


def test_correct_outcomes_lead_by_the_margin():
    task = random_task(1, [6], templates=[["word"]], places=1 << 14)
    task.sequences.symbols[:, 0] = np.arange(6)
    perceptron = Perceptron(1 << 14, 1, sparse=True)
    while learned(task, perceptron, margin=5.0)[0].sum():
        pass
    task.weights = perceptron.begin_learning().weights
    for word in range(6):
        found = scores(task, 0, word, [NONE] * 6)
        right = found.pop(int(task.gold[word]))
        assert all(right - wrong >= 5.0 for wrong in found.values())


def test_averages_are_taken_over_updates_and_sequences():
    task = random_task(1, [1] * 3, parts=0, templates=[["word"]])
    task.sequences.symbols[:, 0] = [0, 0, 0]
    task.sequences.kind[:] = 1
    wrong, right = task.possible.outcomes[task.possible.offsets[1] :][:2].tolist()
    task.gold[:] = right
    perceptron = Perceptron(1 << 10, 1, sparse=True)
    counts, _ = learned(task, perceptron)
    assert counts.sum() == 1
    assert perceptron.begin_learning().clock[0] == 4
    average = dense(perceptron.averages())
    # The update came at the first time step.
    assert np.array_equal(average, perceptron.begin_learning().weights)
    task.gold[:] = wrong
    learned(only(task, 0), perceptron)
    # Four time steps with the first weights, two without any.
    average = dense(perceptron.averages())
    assert sorted(average[average != 0.0].tolist()) == pytest.approx([-4 / 6, 4 / 6])
