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

The weights are one column: a feature's weight for outcome i is i places after that for outcome 0.
So the size of the table does not depend on the number of outcomes.

Learning is Algorithm 2 of Ma et al. (2013), with a margin added to the scores of wrong outcomes.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, fetch, jit, jitable, overwrite, struct
from .perceptron import Templates, change_weight, place_of, read_symbol, shift_for, tick

#: Indices of the counts of updates.
EARLY, FULL = 0, 1
# The symbol beyond the first and last word of a sequence.
_BOUNDARY = -2


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
    # The weight for an outcome is the sum of those for its parts: itself, and shared ones.
    part_offsets: np.ndarray  # int64[outcomes + 1]
    parts: np.ndarray  # int32[*]


@struct
class Board(NamedTuple):
    """A model, and the workspace of a search in a window.

    A step reads one half of the states and writes the other; with a beam of 1, the same half.
    """

    reading: Reading
    possible: Possible
    weights: np.ndarray  # int16[places, 1]: averages in any unit | float32[places, 1]: in training
    beam: int
    window: int
    slots: np.ndarray  # int64[window + 1]: the first slot of each word in a state's row of scores
    outcomes: np.ndarray  # int32[*]: the outcome of each slot
    bonus: np.ndarray  # float64[*]: the initial score of each slot
    codes: np.ndarray  # uint64[window, templates]: hashes of the elements other than outcomes
    places: np.ndarray  # int64[2, templates]: the places of features, of two words in turn
    first: np.ndarray  # int32[window + 2 * reach]: the initial outcomes in and around the window
    # For each state: the outcomes; the score of each slot so far; the lead of each undecided word's
    # best outcome over the second best; the state's score; whether all its actions are correct.
    decided: np.ndarray  # int32[2 * beam, window + 2 * reach]
    scores: np.ndarray  # float64[2 * beam, *]
    lead: np.ndarray  # float64[2 * beam, window]
    total: np.ndarray  # float64[2 * beam]
    correct: np.ndarray  # bool[2 * beam]
    # The last action of each state, by step: previous state in its half, word, slot.
    taken: np.ndarray  # int64[window, beam, 3]
    # The scores and actions of the best extensions.
    best: np.ndarray  # float64[beam]
    best_action: np.ndarray  # int64[beam, 3]


def new_board(
    reading: Reading, possible: Possible, weights: np.ndarray, search: EasyFirstSearch
) -> Board:
    """Return the workspace of a search with some weights, see `Board`."""
    beam, window = search
    size = window * int(np.diff(possible.offsets).max(initial=1))
    padded, templates = window + 2 * reading.reach, len(reading.fixed)
    return Board(
        reading,
        possible,
        weights,
        beam,
        window,
        slots=np.zeros(window + 1, dtype=np.int64),
        outcomes=np.zeros(size, dtype=np.int32),
        bonus=np.zeros(size),
        codes=np.zeros((window, templates), dtype=np.uint64),
        places=np.zeros((2, templates), dtype=np.int64),
        first=np.zeros(padded, dtype=np.int32),
        decided=np.zeros((2 * beam, padded), dtype=np.int32),
        scores=np.zeros((2 * beam, size)),
        lead=np.zeros((2 * beam, window)),
        total=np.zeros(2 * beam),
        correct=np.zeros(2 * beam, dtype=np.bool_),
        taken=np.zeros((window, beam, 3), dtype=np.int64),
        best=np.zeros(beam),
        best_action=np.zeros((beam, 3), dtype=np.int64),
    )


# Features


@jitable
def _code(reading, sequences, start, end, word, template):
    """Return the hash of a feature's elements other than outcomes; `end` is exclusive."""
    templates = reading.templates
    code, first = templates.seeds[template], templates.offsets[template]
    for i in range(first, first + reading.fixed[template]):
        element = templates.columns[i]
        at = word + reading.distance[element]
        symbol = np.int32(_BOUNDARY)
        if start <= at < end:
            symbol = sequences.symbols[at, reading.attribute[element]]
        code = read_symbol(code, symbol)
    return code


@jitable
def _place_of(reading, codes, template, outcomes, shift):
    """Return the place of a word's feature, or `NONE` if it reads an undecided word.

    codes (uint64[templates]): The hashes of the elements other than outcomes.
    outcomes (int32[*]): Those of the words from `reach` before this one on.
    """
    templates, code = reading.templates, codes[template]
    first = templates.offsets[template] + reading.fixed[template]
    for i in range(first, templates.offsets[template + 1]):
        outcome = outcomes[reading.reach + reading.distance[templates.columns[i]]]
        if outcome == NONE:
            return np.int64(NONE)
        code = read_symbol(code, outcome)
    return place_of(code, shift)


@jitable
def _add(board, place, word, scores):
    """Add the weights of a feature to the scores of a word's outcomes."""
    possible, weights = board.possible, board.weights
    mask = len(weights) - 1
    for slot in range(board.slots[word], board.slots[word + 1]):
        outcome, score = board.outcomes[slot], scores[slot]
        for i in range(possible.part_offsets[outcome], possible.part_offsets[outcome + 1]):
            score += weights[(place + possible.parts[i]) & mask, 0]
        scores[slot] = score


@jitable
def _find_places(board, word, decided, shift):
    """Find the places of a word's features, and prefetch their weights."""
    possible, places, mask = board.possible, board.places[word % 2], len(board.weights) - 1
    codes, outcomes = board.codes[word], decided[word:]
    for template in range(len(places)):
        place = places[template] = _place_of(board.reading, codes, template, outcomes, shift)
        if place != NONE:
            for slot in range(board.slots[word], board.slots[word + 1]):
                part = possible.parts[possible.part_offsets[board.outcomes[slot]]]
                fetch(board.weights, (place + part) & mask)


@jitable
def _find_lead(board, state, word):
    """Find the lead of a word's best outcome, infinite if it is the only one."""
    scores = board.scores[state]
    best, second = -np.inf, -np.inf
    for slot in range(board.slots[word], board.slots[word + 1]):
        if scores[slot] > best:
            best, second = scores[slot], best
        elif scores[slot] > second:
            second = scores[slot]
    board.lead[state, word] = best - second


# Search


@jitable
def open_window(board, sequences, bounds, outcomes):
    """Set up a window, decide words with one possible outcome, and return the number of others.

    bounds (tuple[int, int, int, int]): The start and end of the sequence and of the window.
    outcomes (int32[words]): The outcomes, decided before the window; later ones are not read.
    """
    start, end, first, last = bounds
    reading, possible, reach = board.reading, board.possible, board.reading.reach
    for i in range(last - first + 2 * reach):
        word = first + i - reach
        if word < start or word >= end:
            board.first[i] = _BOUNDARY
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
                board.outcomes[slot], board.bonus[slot] = outcome, 0.0
                slot += 1
            for template in range(len(reading.fixed)):
                board.codes[i, template] = _code(
                    reading, sequences, start, end, first + i, template
                )
        board.slots[i + 1] = slot
    return undecided


@jitable
def begin_beam(board, length):
    """Begin a beam with the initial state."""
    reach, scores, decided = board.reading.reach, board.scores[0], board.decided[0]
    overwrite(decided, board.first[: length + 2 * reach])
    board.total[0], board.correct[0] = 0.0, True
    shift = shift_for(len(board.weights))
    for i in range(-1, length):
        # Prefetch the weights of the next word before adding up those of this one.
        if i + 1 < length and decided[i + 1 + reach] == NONE:
            _find_places(board, i + 1, decided, shift)
        if i < 0 or decided[i + reach] != NONE:
            continue
        for slot in range(board.slots[i], board.slots[i + 1]):
            scores[slot] = board.bonus[slot]
        for place in board.places[i % 2]:
            if place != NONE:
                _add(board, place, i, scores)
        _find_lead(board, 0, i)


@jitable
def _easiest(board, state, length):
    """Return the next word of a state, the first among equals."""
    decided, lead, reach = board.decided[state], board.lead[state], board.reading.reach
    easiest, highest = NONE, -np.inf
    for word in range(length):
        if decided[word + reach] == NONE and lead[word] > highest:
            easiest, highest = word, lead[word]
    return easiest


@jitable
def find_extensions(board, half, states, length, most, goals):
    """Find the best extensions of the states of a half, for `extend`. Return their number.

    most (int): The largest number of extensions.
    goals (int64[window] | None): The slots of the gold outcomes, see `extend`, to find only correct
        extensions of correct states (TOPC of Algorithm 2).
    """
    kept = 0
    for state in range(states):
        row = half * board.beam + state
        if goals is not None and not board.correct[row]:
            continue
        word = _easiest(board, row, length)
        for slot in range(board.slots[word], board.slots[word + 1]):
            if goals is not None and goals[word] != NONE and goals[word] != slot:
                continue
            score = board.total[row] + board.scores[row, slot]
            if kept == most and score <= board.best[kept - 1]:
                continue
            kept = min(kept + 1, most)
            i = kept - 1
            while i > 0 and board.best[i - 1] < score:
                board.best[i] = board.best[i - 1]
                overwrite(board.best_action[i], board.best_action[i - 1])
                i -= 1
            action = board.best_action[i]
            board.best[i], action[0], action[1], action[2] = score, state, word, slot
    return kept


@jitable
def extend(board, half, kept, step, length, goals):
    """Apply the best extensions. Return the half with the new states.

    goals (int64[window] | None): The slots of the gold outcomes, if known; `NONE` allows any.
    """
    # In greedy search the new state may replace the old one.
    other = half if board.beam == 1 else 1 - half
    reach = board.reading.reach
    for i in range(kept):
        new, (state, word, slot) = other * board.beam + i, board.best_action[i]
        old = half * board.beam + state
        if other != half:
            overwrite(board.decided[new], board.decided[old, : length + 2 * reach])
            overwrite(board.lead[new], board.lead[old, :length])
            overwrite(board.scores[new], board.scores[old, : board.slots[length]])
        board.total[new] = board.best[i]
        if goals is not None:
            is_correct = goals[word] == NONE or goals[word] == slot
            board.correct[new] = board.correct[old] and is_correct
        overwrite(board.taken[step, i], board.best_action[i])
        _decide_word(board, new, word, slot, length)
    return other


@jitable
def _decide_word(board, state, word, slot, length):
    """Decide a word, and add the features that it completes to the scores of its neighbours."""
    reading, reach, shift = board.reading, board.reading.reach, shift_for(len(board.weights))
    decided, scores, offsets = board.decided[state], board.scores[state], reading.reader_offsets
    decided[word + reach] = board.outcomes[slot]
    for distance in range(-reach, reach + 1):
        other = word - distance
        if other < 0 or other >= length or decided[other + reach] != NONE:
            continue
        changed, codes, outcomes = False, board.codes[other], decided[other:]
        for i in range(offsets[distance + reach], offsets[distance + reach + 1]):
            place = _place_of(reading, codes, reading.readers[i], outcomes, shift)
            if place != NONE:
                _add(board, place, other, scores)
                changed = True
        if changed:
            _find_lead(board, state, other)


@jit
def decide(board, sequences, begin, end, outcomes):
    """Find the outcomes of the sequences `begin` to `end` - 1 (Algorithm 1 of Ma et al. 2013).

    outcomes (int32[words]): Overwritten at the words of these sequences.
    """
    for i in range(begin, end):
        start, stop = sequences.offsets[i], sequences.offsets[i + 1]
        for first in range(start, stop, board.window):
            last = min(first + board.window, stop)
            length = last - first
            steps = open_window(board, sequences, (start, stop, first, last), outcomes)
            half, states = 0, 1
            begin_beam(board, length)
            for step in range(steps):
                states = find_extensions(board, half, states, length, board.beam, None)
                half = extend(board, half, states, step, length, None)
            decided = board.decided[half * board.beam]
            overwrite(outcomes[first:last], decided[board.reading.reach :][:length])


@jit
def find_leads(reading, weights, sequences, outcomes, leads):
    """Find the score of outcome 1 minus that of outcome 0 for each word, given all other outcomes.

    weights (int16[places, 1]): The averaged weights, in any unit.
    outcomes (int32[words]): The decided outcomes.
    leads (float64[words]): Overwritten, in the same unit.
    """
    shift, mask, reach = shift_for(len(weights)), len(weights) - 1, reading.reach
    codes = np.empty(len(reading.fixed), dtype=np.uint64)
    for i in range(len(sequences.offsets) - 1):
        start, end = sequences.offsets[i], sequences.offsets[i + 1]
        decided = np.empty(end - start + 2 * reach, dtype=np.int32)
        decided[:] = _BOUNDARY
        overwrite(decided[reach:], outcomes[start:end])
        for word in range(start, end):
            leads[word] = 0.0
            for template in range(len(codes)):
                codes[template] = _code(reading, sequences, start, end, word, template)
                place = _place_of(reading, codes, template, decided[word - start :], shift)
                leads[word] += weights[(place + 1) & mask, 0] - weights[place & mask, 0]


# Learning


@jitable
def _set_goals(board, gold, margin, goals):
    """Find the slots (`goals`) of outcomes `gold` (int32[length]); add the margin to the others."""
    for i in range(len(gold)):
        goals[i] = NONE
        for slot in range(board.slots[i], board.slots[i + 1]):
            if board.outcomes[slot] == gold[i]:
                goals[i] = slot
        for slot in range(board.slots[i], board.slots[i + 1]):
            board.bonus[slot] = 0.0 if goals[i] == NONE or goals[i] == slot else margin


@jitable
def _trace(board, steps, state, path):
    """Write the words and slots of a state's actions into `path` (int64[window, 2])."""
    for i in range(steps - 1, -1, -1):
        state, path[i, 0], path[i, 1] = board.taken[i, state]


@jitable
def _change(board, perceptron, path, shared, steps, amount, decided):
    """Apply a path's actions to `decided`, and add to the weights of those not shared."""
    possible, mask, shift = board.possible, len(board.weights) - 1, shift_for(len(board.weights))
    overwrite(decided, board.first)
    for step in range(steps):
        word, outcome = path[step, 0], board.outcomes[path[step, 1]]
        if step >= shared:
            codes, outcomes = board.codes[word], decided[word:]
            for template in range(len(codes)):
                place = _place_of(board.reading, codes, template, outcomes, shift)
                if place != NONE:
                    first, end = possible.part_offsets[outcome], possible.part_offsets[outcome + 1]
                    for i in range(first, end):
                        change_weight(perceptron, (place + possible.parts[i]) & mask, 0, amount)
        decided[word + board.reading.reach] = outcome


@jit
def learn_outcomes(board, perceptron, sequences, gold, margin, counts):
    """Learn from sequences, one after the other (Algorithm 2 of Ma et al. 2013).

    After an early update, the search continues with the new weights from the best correct state
    (Goldberg & Elhadad 2010, in greedy search).

    board (Board): With the weights of the perceptron.
    gold (int32[words]): The gold outcomes; `NONE`, or an impossible one, allows any.
    margin (float): Added to the scores of wrong outcomes.
    counts (int64[2]): Incremented by the numbers of early and of full updates.
    RETURNS (float): The smallest violation of an update, never negative; infinity without updates.
    """
    outcomes = np.full(len(gold), NONE, dtype=np.int32)
    goals = np.zeros(board.window, dtype=np.int64)
    action = np.zeros(3, dtype=np.int64)
    correct = np.zeros((board.window, 2), dtype=np.int64)
    predicted = np.zeros((board.window, 2), dtype=np.int64)
    decided = np.zeros(len(board.first), dtype=np.int32)
    least = np.inf
    for i in range(len(sequences.offsets) - 1):
        start, stop = sequences.offsets[i], sequences.offsets[i + 1]
        for first in range(start, stop, board.window):
            last = min(first + board.window, stop)
            length = last - first
            remaining = open_window(board, sequences, (start, stop, first, last), outcomes)
            _set_goals(board, gold[first:last], margin, goals)
            while remaining > 0:
                half, states, steps, any_correct, score = 0, 1, 0, True, 0.0
                begin_beam(board, length)
                while any_correct and steps < remaining:
                    find_extensions(board, half, states, length, 1, goals)
                    score = board.best[0]
                    overwrite(action, board.best_action[0])
                    states = find_extensions(board, half, states, length, board.beam, None)
                    half = extend(board, half, states, steps, length, goals)
                    row = half * board.beam
                    any_correct = board.correct[row : row + states].any()
                    steps += 1
                remaining -= steps
                if any_correct and board.correct[row]:
                    break
                counts[FULL if any_correct else EARLY] += 1
                least = min(least, board.total[row] - score)
                _trace(board, steps, 0, predicted)
                _trace(board, steps - 1, action[0], correct)
                correct[steps - 1] = action[1:]
                shared = 0
                while np.all(predicted[shared] == correct[shared]):
                    shared += 1
                tick(perceptron)
                _change(board, perceptron, predicted, shared, steps, -1.0, decided)
                _change(board, perceptron, correct, shared, steps, 1.0, decided)
                overwrite(board.first, decided)
            for word in range(first, last):
                given = sequences.given[word]
                outcomes[word] = given if given != NONE else gold[word]
        # Advance the clock per sequence, too: weights that stay correct for long count for more.
        tick(perceptron)
    return least
