"""Learning to decide words, the easiest first (Algorithm 2 of Ma et al. 2013).

Wrong outcomes are given a head start, so that right ones come to be ahead of them by a margin.
"""

import numpy as np

from ..compiled import NONE, borrowing, compiled, overwrite
from .classification import begin_beam, easiest, extend, find_extensions, open_window, place_of_feature
from .perceptron import change_weight, tick
from .templates import shift_for

#: Positions in the counts of updates.
EARLY, FULL = 0, 1


@borrowing
def _change(reading, perceptron, board, decided, word, outcome, amount):
    """Add to the weights of the features that an action has."""
    size = len(perceptron.weights)
    mask, shift = size - 1, shift_for(size)
    for template in range(len(reading.fixed)):
        place = place_of_feature(reading, board, word, template, decided, shift)
        if place != NONE:
            for i in range(board.part_offsets[outcome], board.part_offsets[outcome + 1]):
                change_weight(perceptron, (place + board.parts[i]) & mask, 0, amount)


@borrowing
def _set_goals(gold, bounds, margin, board, goals):
    """Find the slots of the right outcomes of a window's words, and give the others a head start.

    gold (int32[words]): The right outcomes, `NONE` where they are not known.
    goals (int64[window]): Overwritten; `NONE` where the right outcome is not known or not possible: any is
        right then.
    """
    for i in range(bounds[3] - bounds[2]):
        goals[i] = NONE
        for slot in range(board.slots[i], board.slots[i + 1]):
            if board.outcomes[slot] == gold[bounds[2] + i]:
                goals[i] = slot
        if goals[i] != NONE:
            for slot in range(board.slots[i], board.slots[i + 1]):
                board.head_start[slot] = 0.0 if slot == goals[i] else margin


@borrowing
def _find_correct(reading, board, half, states, goals, length, action):
    """Find the best correct extension of the correct states by one action (TOPC of Algorithm 2), into
    `action`. Returns its score.
    """
    best = -np.inf
    for state in range(states):
        if not board.correct[half, state]:
            continue
        word = easiest(reading, board, half, state, length)
        slot = goals[word] if goals[word] != NONE else board.choice[half, state, word]
        score = board.total[half, state] + board.scores[half, state, slot]
        if score > best:
            best = score
            action[0], action[1], action[2] = state, word, slot
    return best


@borrowing
def _trace(board, steps, state, path):
    """Write the actions that led to a state, as words and slots, into `path` (int64[window, 2])."""
    for i in range(steps - 1, -1, -1):
        state, path[i, 0], path[i, 1] = board.taken[i, state]


@borrowing
def _replay(reading, perceptron, board, path, shared, steps, amount, decided):
    """Do the actions of a path, and add to the weights of the features of those that are not shared;
    `decided` has the outcomes then.
    """
    overwrite(decided, board.first)
    for i in range(steps):
        word, outcome = path[i, 0], board.outcomes[path[i, 1]]
        if i >= shared:
            _change(reading, perceptron, board, decided, word, outcome, amount)
        decided[word + reading.reach] = outcome


@compiled
def learn_outcomes(reading, perceptron, sequences, possible, gold, search, margin, counts, board):
    """Learn from some sequences, one after the other (Algorithm 2 of Ma et al. 2013).

    An early update does not end the work on a sequence: the search goes on with the new weights from the best
    correct state, which is then the only one in the beam, so that nothing of a sequence is lost (Goldberg &
    Elhadad 2010 do so in a greedy search). The averages are taken over all updates and sequences.

    perceptron (Perceptron): With one column; it is changed.
    gold (int32[words]): The right outcomes, `NONE` where they are not known: there any is right.
    search (EasyFirstSearch): How to search.
    margin (float): The head start of wrong outcomes.
    counts (int64[2]): The numbers of early and of full updates are added.
    board (Board): Written on.
    RETURNS (float): The least by which, in an update, the score of the predicted actions, with its head
        start, was above that of the correct ones; infinite without updates. It is never negative: the updates
        are valid.
    """
    outcomes = np.full(len(gold), NONE, dtype=np.int32)
    goals = np.zeros(search.window, dtype=np.int64)
    action = np.zeros(3, dtype=np.int64)
    correct = np.zeros((search.window, 2), dtype=np.int64)
    predicted = np.zeros((search.window, 2), dtype=np.int64)
    decided = np.zeros(search.window + 2 * reading.reach, dtype=np.int32)
    least = np.inf
    for i in range(len(sequences.offsets) - 1):
        start, stop = sequences.offsets[i], sequences.offsets[i + 1]
        for first in range(start, stop, search.window):
            bounds = (start, stop, first, min(first + search.window, stop))
            length = bounds[3] - first
            remaining = open_window(reading, sequences, possible, bounds, outcomes, board)
            _set_goals(gold, bounds, margin, board, goals)
            while remaining > 0:
                half, states, steps, some, score = 0, 1, 0, True, 0.0
                begin_beam(reading, perceptron.weights, board, half, length)
                while some and steps < remaining:
                    score = _find_correct(reading, board, half, states, goals, length, action)
                    states = find_extensions(reading, board, half, states, search, length)
                    half = extend(reading, perceptron.weights, board, half, states, steps, length, goals)
                    some = board.correct[half, :states].any()
                    steps += 1
                remaining -= steps
                if some and board.correct[half, 0]:
                    break
                counts[FULL if some else EARLY] += 1
                least = min(least, board.total[half, 0] - score)
                _trace(board, steps, 0, predicted)
                _trace(board, steps - 1, action[0], correct)
                correct[steps - 1, 0], correct[steps - 1, 1] = action[1], action[2]
                shared = 0
                while (
                    predicted[shared, 0] == correct[shared, 0] and predicted[shared, 1] == correct[shared, 1]
                ):
                    shared += 1
                tick(perceptron)
                _replay(reading, perceptron, board, predicted, shared, steps, -1.0, decided)
                _replay(reading, perceptron, board, correct, shared, steps, 1.0, decided)
                overwrite(board.first, decided)
            for j in range(length):
                given = sequences.given[first + j]
                outcomes[first + j] = given if given != NONE else gold[first + j]
        # Weights that are right for a long time are to count for more: time passes without updates, too.
        tick(perceptron)
    return least
