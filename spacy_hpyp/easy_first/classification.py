"""Easy-first classification of words (Ma et al. 2012, 2013).

A state assigns outcomes to some words of a sequence. An action decides one more word; its score is
the sum of the weights of the word's features for the outcome. The easiest word has the largest lead
of the best outcome over the second best. The extensions of a state are the outcomes of that word.
So the features of a hard word can read the outcomes of the words on both sides.

A feature fires only once all outcomes that it reads are decided, and does not change afterwards. So
an action changes few scores.

A beam keeps the best states with the same number of decided words. A state has one next word, so no
two states have the same outcomes: there is no spurious ambiguity. Windows divide a long sequence,
from left to right.

The weights are one row: the weight of a feature for outcome i is i places after that for outcome 0.
So the size of the table does not depend on the number of outcomes.

Learning is Algorithm 2 of Ma et al. (2013), with a margin added to the scores of wrong outcomes.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, fetch, jit, overwrite, struct
from .perceptron import change_weight, tick
from .templates import Templates, begin_feature, place_of, read_symbol, shift_for

#: Indices of the counts of updates.
EARLY, FULL = 0, 1
#: The symbol beyond the first and last word of a sequence.
BOUNDARY = -2
# Steps read one half of the states and write the other.
_HALVES = 2


class EasyFirstSearch(NamedTuple):
    """The size of the beam, and of a window in words."""

    beam: int = 1
    window: int = 100


@struct
class Reading(NamedTuple):
    """The feature templates of a word."""

    templates: Templates  # Outcomes come last in each
    fixed: np.ndarray  # int32[templates]: the number of elements other than outcomes
    distance: np.ndarray  # int32[elements]: the relative position of each element's word
    attribute: np.ndarray  # int32[elements]: a column of `Sequences.symbols`; `NONE`: the outcome
    reach: int  # The largest absolute distance of an outcome
    # The templates with the outcome at each distance, from -reach to reach.
    reader_offsets: np.ndarray  # int32[2 * reach + 2]
    readers: np.ndarray  # int32[*]


@struct
class Sequences(NamedTuple):
    """Words to classify."""

    symbols: np.ndarray  # int32[words, attributes]
    kind: np.ndarray  # int32[words]: the row of `Possible`
    given: np.ndarray  # int32[words]: known outcomes, `NONE` elsewhere
    offsets: np.ndarray  # int64[sequences + 1]: the start of each sequence


@struct
class Possible(NamedTuple):
    """The possible outcomes of each kind of word, at least one, and the parts of each outcome."""

    offsets: np.ndarray  # int64[kinds + 1]
    outcomes: np.ndarray  # int32[*]
    # The weight for an outcome is the sum of those for its parts, which other outcomes share.
    part_offsets: np.ndarray  # int64[outcomes + 1]
    parts: np.ndarray  # int32[*]


@struct
class Board(NamedTuple):
    """Workspace for a window."""

    slots: np.ndarray  # int64[window + 1]: the first slot of each word in a state's row of scores
    outcomes: np.ndarray  # int32[*]: the outcome of each slot
    # As in `Possible`.
    part_offsets: np.ndarray  # int64[outcomes + 1]
    parts: np.ndarray  # int32[*]
    head_start: np.ndarray  # float64[*]: the initial score of each slot
    codes: np.ndarray  # uint64[window, templates]: hashes of the elements other than outcomes
    places: np.ndarray  # int64[2, templates]: the places of features, of two words in turn
    # The outcomes of each state, with those around the window.
    decided: np.ndarray  # int32[2, beam, window + 2 * reach]
    scores: np.ndarray  # float64[2, beam, *]: the score of each slot so far
    # For each undecided word, the lead of its best outcome over the second best, and its slot.
    lead: np.ndarray  # float64[2, beam, window]
    choice: np.ndarray  # int64[2, beam, window]
    # The score of each state, and whether all its actions are correct.
    total: np.ndarray  # float64[2, beam]
    correct: np.ndarray  # bool[2, beam]
    first: np.ndarray  # int32[window + 2 * reach]: the outcomes of the initial state
    # The last action of each state, by step: previous state, word, slot.
    taken: np.ndarray  # int64[window, beam, 3]
    # The scores and actions of the best extensions.
    best: np.ndarray  # float64[beam]
    best_action: np.ndarray  # int64[beam, 3]


def new_board(reading: Reading, possible: Possible, search: EasyFirstSearch) -> Board:
    """Return the workspace of a search."""
    window, beam = search.window, search.beam
    size, padded = (
        window * int(np.diff(possible.offsets).max(initial=1)),
        window + 2 * reading.reach,
    )
    return Board(
        np.zeros(window + 1, dtype=np.int64),
        np.zeros(size, dtype=np.int32),
        possible.part_offsets,
        possible.parts,
        np.zeros(size),
        np.zeros((window, len(reading.fixed)), dtype=np.uint64),
        np.zeros((2, len(reading.fixed)), dtype=np.int64),
        np.zeros((_HALVES, beam, padded), dtype=np.int32),
        np.zeros((_HALVES, beam, size)),
        np.zeros((_HALVES, beam, window)),
        np.zeros((_HALVES, beam, window), dtype=np.int64),
        np.zeros((_HALVES, beam)),
        np.zeros((_HALVES, beam), dtype=np.bool_),
        np.zeros(padded, dtype=np.int32),
        np.zeros((window, beam, 3), dtype=np.int64),
        np.zeros(beam),
        np.zeros((beam, 3), dtype=np.int64),
    )


# Features


@jit
def _code(reading, sequences, start, end, word, template):
    """Return the hash of a feature's elements other than outcomes; `end` is exclusive."""
    templates = reading.templates
    code = begin_feature(template)
    first = templates.offsets[template]
    for i in range(first, first + reading.fixed[template]):
        element = templates.columns[i]
        at = word + reading.distance[element]
        within = start <= at < end
        code = read_symbol(
            code,
            sequences.symbols[at, reading.attribute[element]] if within else np.int32(BOUNDARY),
        )
    return code


@jit
def place_of_feature(reading, board, word, template, decided, shift):
    """Return the place of a feature, or `NONE` if it reads an undecided word."""
    templates = reading.templates
    code = board.codes[word, template]
    for i in range(
        templates.offsets[template] + reading.fixed[template], templates.offsets[template + 1]
    ):
        outcome = decided[word + reading.reach + reading.distance[templates.columns[i]]]
        if outcome == NONE:
            return np.int64(NONE)
        code = read_symbol(code, outcome)
    return place_of(code, shift)


@jit
def _add(board, weights, place, word, scores):
    """Add the weights of a feature to the scores of a word's outcomes."""
    mask = len(weights) - 1
    for slot in range(board.slots[word], board.slots[word + 1]):
        outcome, score = board.outcomes[slot], scores[slot]
        for i in range(board.part_offsets[outcome], board.part_offsets[outcome + 1]):
            score += weights[(place + board.parts[i]) & mask, 0]
        scores[slot] = score


@jit
def _find_weights(reading, board, weights, word, decided, shift):
    """Find the places of a word's features, and prefetch their weights."""
    mask, places = len(weights) - 1, board.places[word % 2]
    for template in range(len(reading.fixed)):
        place = places[template] = place_of_feature(reading, board, word, template, decided, shift)
        if place != NONE:
            for slot in range(board.slots[word], board.slots[word + 1]):
                fetch(
                    weights, (place + board.parts[board.part_offsets[board.outcomes[slot]]]) & mask
                )


@jit
def _compare(board, half, state, word):
    """Find a word's best outcome and its lead, infinite if it is the only one."""
    scores = board.scores[half, state]
    choice, best, second = board.slots[word], -np.inf, -np.inf
    for slot in range(board.slots[word], board.slots[word + 1]):
        if scores[slot] > best:
            choice, best, second = slot, scores[slot], best
        elif scores[slot] > second:
            second = scores[slot]
    board.lead[half, state, word] = best - second
    board.choice[half, state, word] = choice


# Windows


@jit
def open_window(reading, sequences, possible, bounds, outcomes, board):
    """Set up a window, decide words with one possible outcome, and count the undecided ones.

    bounds (tuple[int, int, int, int]): The start and end of the sequence and of the window.
    outcomes (int32[words]): The decided outcomes of the sequences.
    """
    start, end, first, last = bounds
    reach = reading.reach
    for i in range(last - first + 2 * reach):
        word = first + i - reach
        if word < start or word >= end:
            board.first[i] = BOUNDARY
        else:
            board.first[i] = outcomes[word] if word < first else sequences.given[word]
    undecided = 0
    board.slots[0] = 0
    for i in range(last - first):
        kind, slot = sequences.kind[first + i], board.slots[i]
        allowed = possible.outcomes[possible.offsets[kind] : possible.offsets[kind + 1]]
        if board.first[i + reach] == NONE and len(allowed) == 1:
            board.first[i + reach] = allowed[0]
        if board.first[i + reach] == NONE:
            undecided += 1
            for outcome in allowed:
                board.outcomes[slot], board.head_start[slot] = outcome, 0.0
                slot += 1
            for template in range(len(reading.fixed)):
                board.codes[i, template] = _code(
                    reading, sequences, start, end, first + i, template
                )
        board.slots[i + 1] = slot
    return undecided


@jit
def _decide(reading, weights, board, half, state, word, slot, length):
    """Decide a word, and add the features that it completes to the scores of its neighbours."""
    shift = shift_for(len(weights))
    reach = reading.reach
    decided, scores = board.decided[half, state], board.scores[half, state]
    decided[word + reach] = board.outcomes[slot]
    for distance in range(-reach, reach + 1):
        other = word - distance
        if other < 0 or other >= length or decided[other + reach] != NONE:
            continue
        changed = False
        for i in range(
            reading.reader_offsets[distance + reach], reading.reader_offsets[distance + reach + 1]
        ):
            place = place_of_feature(reading, board, other, reading.readers[i], decided, shift)
            if place != NONE:
                _add(board, weights, place, other, scores)
                changed = True
        if changed:
            _compare(board, half, state, other)


# Beams


@jit
def begin_beam(reading, weights, board, half, length):
    """Begin a beam with the initial state."""
    scores, decided = board.scores[half, 0], board.decided[half, 0]
    overwrite(decided, board.first[: length + 2 * reading.reach])
    board.total[half, 0] = 0.0
    board.correct[half, 0] = True
    shift = shift_for(len(weights))
    for i in range(-1, length):
        # Prefetch the weights of the next word before adding up those of this one.
        if i + 1 < length and decided[i + 1 + reading.reach] == NONE:
            _find_weights(reading, board, weights, i + 1, decided, shift)
        if i < 0 or decided[i + reading.reach] != NONE:
            continue
        for slot in range(board.slots[i], board.slots[i + 1]):
            scores[slot] = board.head_start[slot]
        for place in board.places[i % 2]:
            if place != NONE:
                _add(board, weights, place, i, scores)
        _compare(board, half, 0, i)


@jit
def _enter(board, kept, beam, score, state, word, slot):
    """Insert an extension among the best `kept` so far. Return their new number."""
    i = min(kept, beam - 1)
    while i > 0 and board.best[i - 1] < score:
        board.best[i] = board.best[i - 1]
        overwrite(board.best_action[i], board.best_action[i - 1])
        i -= 1
    board.best[i] = score
    board.best_action[i, 0], board.best_action[i, 1], board.best_action[i, 2] = state, word, slot
    return min(kept + 1, beam)


@jit
def easiest(reading, board, half, state, length):
    """Return the next word of a state, the first among equals."""
    easiest, lead = NONE, -np.inf
    for word in range(length):
        if (
            board.decided[half, state, word + reading.reach] == NONE
            and board.lead[half, state, word] > lead
        ):
            easiest, lead = word, board.lead[half, state, word]
    return easiest


@jit
def find_extensions(reading, board, half, states, search, length):
    """Find the best extensions of the states by one action. Return their number."""
    kept = 0
    for state in range(states):
        total, word = board.total[half, state], easiest(reading, board, half, state, length)
        for slot in range(board.slots[word], board.slots[word + 1]):
            score = total + board.scores[half, state, slot]
            if kept < search.beam or score > board.best[kept - 1]:
                kept = _enter(board, kept, search.beam, score, state, word, slot)
    return kept


@jit
def extend(reading, weights, board, half, kept, step, length, goals):
    """Apply the best extensions. Return the half of the board with the new states.

    goals (int64[window] | None): The slots of the gold outcomes, if known; `NONE` allows any.
    """
    # In greedy search the new state may replace the old one.
    other = half if board.scores.shape[1] == 1 else 1 - half
    reach = reading.reach
    for i in range(kept):
        state, word, slot = (
            board.best_action[i, 0],
            board.best_action[i, 1],
            board.best_action[i, 2],
        )
        if other != half:
            overwrite(board.decided[other, i], board.decided[half, state, : length + 2 * reach])
            overwrite(board.lead[other, i], board.lead[half, state, :length])
            overwrite(board.choice[other, i], board.choice[half, state, :length])
            for j in range(length):
                if board.decided[half, state, j + reach] == NONE:
                    for k in range(board.slots[j], board.slots[j + 1]):
                        board.scores[other, i, k] = board.scores[half, state, k]
        board.total[other, i] = board.best[i]
        if goals is not None:
            board.correct[other, i] = board.correct[half, state] and (
                goals[word] == NONE or goals[word] == slot
            )
        overwrite(board.taken[step, i], board.best_action[i])
        _decide(reading, weights, board, other, i, word, slot, length)
    return other


@jit
def decide(reading, weights, sequences, possible, begin, end, search, board, outcomes):
    """Find the outcomes of the sequences `begin` to `end` - 1 (Algorithm 1 of Ma et al. 2013).

    weights (int16[places, 1]): The averaged weights, in any unit.
    outcomes (int32[words]): Overwritten at the words of these sequences.
    """
    for i in range(begin, end):
        start, stop = sequences.offsets[i], sequences.offsets[i + 1]
        for first in range(start, stop, search.window):
            bounds = (start, stop, first, min(first + search.window, stop))
            length = bounds[3] - first
            steps = open_window(reading, sequences, possible, bounds, outcomes, board)
            half, states = 0, 1
            begin_beam(reading, weights, board, half, length)
            for step in range(steps):
                states = find_extensions(reading, board, half, states, search, length)
                half = extend(reading, weights, board, half, states, step, length, None)
            for j in range(length):
                outcomes[first + j] = board.decided[half, 0, j + reading.reach]


@jit
def find_leads(reading, weights, sequences, outcomes, leads):
    """Find the score of outcome 1 minus that of outcome 0 for each word, given all other outcomes.

    weights (int16[places, 1]): The averaged weights, in any unit.
    outcomes (int32[words]): The decided outcomes.
    leads (float64[words]): Overwritten, in the same unit.
    """
    shift, mask = shift_for(len(weights)), len(weights) - 1
    templates = reading.templates
    for i in range(len(sequences.offsets) - 1):
        start, end = sequences.offsets[i], sequences.offsets[i + 1]
        for word in range(start, end):
            leads[word] = 0.0
            for template in range(len(reading.fixed)):
                code = _code(reading, sequences, start, end, word, template)
                for j in range(
                    templates.offsets[template] + reading.fixed[template],
                    templates.offsets[template + 1],
                ):
                    at = word + reading.distance[templates.columns[j]]
                    code = read_symbol(
                        code, outcomes[at] if start <= at < end else np.int32(BOUNDARY)
                    )
                place = place_of(code, shift)
                leads[word] += weights[(place + 1) & mask, 0] - weights[place & mask, 0]


# Learning


@jit
def _change(reading, perceptron, board, decided, word, outcome, amount):
    """Add to the weights of an action's features."""
    size = len(perceptron.weights)
    mask, shift = size - 1, shift_for(size)
    for template in range(len(reading.fixed)):
        place = place_of_feature(reading, board, word, template, decided, shift)
        if place != NONE:
            for i in range(board.part_offsets[outcome], board.part_offsets[outcome + 1]):
                change_weight(perceptron, (place + board.parts[i]) & mask, 0, amount)


@jit
def _set_goals(gold, bounds, margin, board, goals):
    """Find the slots of the gold outcomes in a window, and add the margin to the other slots."""
    for i in range(bounds[3] - bounds[2]):
        goals[i] = NONE
        for slot in range(board.slots[i], board.slots[i + 1]):
            if board.outcomes[slot] == gold[bounds[2] + i]:
                goals[i] = slot
        if goals[i] != NONE:
            for slot in range(board.slots[i], board.slots[i + 1]):
                board.head_start[slot] = 0.0 if slot == goals[i] else margin


@jit
def _find_correct(reading, board, half, states, goals, length, action):
    """Find the best correct extension (TOPC of Algorithm 2), into `action`. Return its score."""
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


@jit
def _trace(board, steps, state, path):
    """Write the words and slots of a state's actions into `path` (int64[window, 2])."""
    for i in range(steps - 1, -1, -1):
        state, path[i, 0], path[i, 1] = board.taken[i, state]


@jit
def _replay(reading, perceptron, board, path, shared, steps, amount, decided):
    """Apply the actions of a path to `decided`, and add to the weights after the shared ones."""
    overwrite(decided, board.first)
    for i in range(steps):
        word, outcome = path[i, 0], board.outcomes[path[i, 1]]
        if i >= shared:
            _change(reading, perceptron, board, decided, word, outcome, amount)
        decided[word + reading.reach] = outcome


@jit
def learn_outcomes(reading, perceptron, sequences, possible, gold, search, margin, counts, board):
    """Learn from sequences, one after the other (Algorithm 2 of Ma et al. 2013).

    After an early update, the search continues with the new weights from the best correct state
    (Goldberg & Elhadad 2010, in greedy search).

    gold (int32[words]): The gold outcomes; `NONE` allows any.
    margin (float): Added to the scores of wrong outcomes.
    counts (int64[2]): Incremented by the numbers of early and of full updates.
    RETURNS (float): The smallest violation of an update; updates are valid, so it is not negative.
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
                half, states, steps, any_correct, score = 0, 1, 0, True, 0.0
                begin_beam(reading, perceptron.weights, board, half, length)
                while any_correct and steps < remaining:
                    score = _find_correct(reading, board, half, states, goals, length, action)
                    states = find_extensions(reading, board, half, states, search, length)
                    half = extend(
                        reading, perceptron.weights, board, half, states, steps, length, goals
                    )
                    any_correct = board.correct[half, :states].any()
                    steps += 1
                remaining -= steps
                if any_correct and board.correct[half, 0]:
                    break
                counts[FULL if any_correct else EARLY] += 1
                least = min(least, board.total[half, 0] - score)
                _trace(board, steps, 0, predicted)
                _trace(board, steps - 1, action[0], correct)
                correct[steps - 1, 0], correct[steps - 1, 1] = action[1], action[2]
                shared = 0
                while (
                    predicted[shared, 0] == correct[shared, 0]
                    and predicted[shared, 1] == correct[shared, 1]
                ):
                    shared += 1
                tick(perceptron)
                _replay(reading, perceptron, board, predicted, shared, steps, -1.0, decided)
                _replay(reading, perceptron, board, correct, shared, steps, 1.0, decided)
                overwrite(board.first, decided)
            for j in range(length):
                given = sequences.given[first + j]
                outcomes[first + j] = given if given != NONE else gold[first + j]
        # Advance the clock per sequence, too: weights that stay correct for long count for more.
        tick(perceptron)
    return least
