"""Easy-first classification: each word gets one of some outcomes, the easiest word first (Ma et al. 2012,
2013).

A state is a sequence of words some of which have an outcome. An action gives one more word an outcome; its
score is the sum of the weights that the features of the word, in that state, have for that outcome. The
easiest word is the one whose best outcome is furthest ahead of the second best, and the extensions of a state
are the outcomes of that word. So a hard word is decided when those on both sides of it are, and its features
can read their outcomes.

A feature that reads the outcome of an undecided word does not exist. It comes to exist once, when the last
outcome that it reads is there, and does not change any more: so little is scored after an action.

The search keeps the best states with the same number of decided words, in a beam. As a state has one next
word, no two states have the same outcomes: there is no spurious ambiguity. A long sequence is decided in
windows, from left to right.

Weights stand in one row: the place of a feature is where its weight for the outcome 0 is, the others follow.
So a table takes no more room for many outcomes, most of which most features are never seen with.

Learning is Algorithm 2 of Ma et al. (2013). Wrong outcomes get a head start, so that right ones learn to be
ahead of them by a margin.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, fetch, jit, overwrite, struct
from .perceptron import change_weight, tick
from .templates import Templates, begin_feature, place_of, read_symbol, shift_for

#: Places in the counts of updates.
EARLY, FULL = 0, 1
#: What features read beyond the first and last word of a sequence.
BOUNDARY = -2
# The two halves of the states that a step reads and writes.
_HALVES = 2


class EasyFirstSearch(NamedTuple):
    """The number of states in the beam, and the largest number of words that are decided together."""

    beam: int = 1
    window: int = 100


@struct
class Reading(NamedTuple):
    """What the features of a word read."""

    templates: Templates  # In each the elements that are no outcomes first
    fixed: np.ndarray  # int32[templates]: how many elements of each template are no outcomes
    distance: np.ndarray  # int32[elements]: how far behind the word each element's word stands
    attribute: np.ndarray  # int32[elements]: which of the word's symbols it is, `NONE` for the outcome
    reach: int  # The largest distance, either way, of an outcome that is read
    # The templates that read the outcome at each distance, from -reach on.
    reader_offsets: np.ndarray  # int32[2 * reach + 2]
    readers: np.ndarray  # int32[*]


@struct
class Sequences(NamedTuple):
    """Words to be decided."""

    symbols: np.ndarray  # int32[words, attributes]: what features read of each
    kind: np.ndarray  # int32[words]: which outcomes are possible for each
    given: np.ndarray  # int32[words]: the outcomes that are known before, `NONE` elsewhere
    offsets: np.ndarray  # int64[sequences + 1]: where each sequence begins


@struct
class Possible(NamedTuple):
    """The outcomes that are possible for each kind of word, and what these are made of."""

    # Each kind has one at least.
    offsets: np.ndarray  # int64[kinds + 1]
    outcomes: np.ndarray  # int32[*]
    # The weights of a feature for an outcome are those for each of its parts: what is learned of one holds
    # for others that share them.
    part_offsets: np.ndarray  # int64[outcomes + 1]
    parts: np.ndarray  # int32[*]


@struct
class Board(NamedTuple):
    """Workspace for a window."""

    slots: np.ndarray  # int64[window + 1]: where the scores of each word's outcomes begin in a state's row
    outcomes: np.ndarray  # int32[*]: the outcome of each slot
    # As in `Possible`.
    part_offsets: np.ndarray  # int64[outcomes + 1]
    parts: np.ndarray  # int32[*]
    head_start: np.ndarray  # float64[*]: the score of each slot before any feature is read
    codes: np.ndarray  # uint64[window, templates]: the hash of what features read besides outcomes
    places: np.ndarray  # int64[2, templates]: the places of features, of two words in turn
    # The outcomes of each state, with those around the window.
    decided: np.ndarray  # int32[2, beam, window + 2 * reach]
    scores: np.ndarray  # float64[2, beam, *]: of each slot, as far as the features exist
    # Of each undecided word, how far its best outcome is ahead of the second best, and the slot of the best.
    lead: np.ndarray  # float64[2, beam, window]
    choice: np.ndarray  # int64[2, beam, window]
    # The score of each state, and whether all actions are right.
    total: np.ndarray  # float64[2, beam]
    correct: np.ndarray  # bool[2, beam]
    first: np.ndarray  # int32[window + 2 * reach]: the outcomes that all states have begun with
    # The last action of each state of each step: state before, word, slot.
    taken: np.ndarray  # int64[window, beam, 3]
    # The best extensions of the states.
    found: np.ndarray  # float64[beam]
    found_action: np.ndarray  # int64[beam, 3]


def new_board(reading: Reading, possible: Possible, search: EasyFirstSearch) -> Board:
    """Workspace for a search."""
    window, beam = search.window, search.beam
    size, padded = window * int(np.diff(possible.offsets).max(initial=1)), window + 2 * reading.reach
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
    """The hash of what a template's feature reads besides outcomes, in the sequence from `start` to `end`."""
    templates = reading.templates
    code = begin_feature(template)
    first = templates.offsets[template]
    for i in range(first, first + reading.fixed[template]):
        element = templates.columns[i]
        at = word + reading.distance[element]
        within = start <= at < end
        code = read_symbol(
            code, sequences.symbols[at, reading.attribute[element]] if within else np.int32(BOUNDARY)
        )
    return code


@jit
def place_of_feature(reading, board, word, template, decided, shift):
    """Return the place of a feature, given the `decided` outcomes; `NONE` while it does not exist."""
    templates = reading.templates
    code = board.codes[word, template]
    for i in range(templates.offsets[template] + reading.fixed[template], templates.offsets[template + 1]):
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
    """Find the places of a word's features, and have the processor fetch their weights."""
    mask, places = len(weights) - 1, board.places[word % 2]
    for template in range(len(reading.fixed)):
        place = places[template] = place_of_feature(reading, board, word, template, decided, shift)
        if place != NONE:
            for slot in range(board.slots[word], board.slots[word + 1]):
                fetch(weights, (place + board.parts[board.part_offsets[board.outcomes[slot]]]) & mask)


@jit
def _compare(board, half, state, word):
    """See which of a word's outcomes is the best, and by how much."""
    scores = board.scores[half, state]
    choice, best, second = board.slots[word], -np.inf, -np.inf
    for slot in range(board.slots[word], board.slots[word + 1]):
        if scores[slot] > best:
            choice, best, second = slot, scores[slot], best
        elif scores[slot] > second:
            second = scores[slot]
    # Of a word that has only one outcome, infinite.
    board.lead[half, state, word] = best - second
    board.choice[half, state, word] = choice


# Windows


@jit
def open_window(reading, sequences, possible, bounds, outcomes, board):
    """Put a window on the board, decide words with only one possible outcome, and count the undecided ones.

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
        own = possible.outcomes[possible.offsets[kind] : possible.offsets[kind + 1]]
        if board.first[i + reach] == NONE and len(own) == 1:
            board.first[i + reach] = own[0]
        if board.first[i + reach] == NONE:
            undecided += 1
            for outcome in own:
                board.outcomes[slot], board.head_start[slot] = outcome, 0.0
                slot += 1
            for template in range(len(reading.fixed)):
                board.codes[i, template] = _code(reading, sequences, start, end, first + i, template)
        board.slots[i + 1] = slot
    return undecided


@jit
def _decide(reading, weights, board, half, state, word, slot, length):
    """Give a word an outcome, and add to the scores of its neighbours what its features now are."""
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
    """Begin a beam of the one state in which only `first` is decided."""
    scores, decided = board.scores[half, 0], board.decided[half, 0]
    overwrite(decided, board.first[: length + 2 * reading.reach])
    board.total[half, 0] = 0.0
    board.correct[half, 0] = True
    shift = shift_for(len(weights))
    for i in range(-1, length):
        # They come while those of the word before are added up.
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
    """Enter an extension among the best that have been found; returns how many there are then."""
    i = min(kept, beam - 1)
    while i > 0 and board.found[i - 1] < score:
        board.found[i] = board.found[i - 1]
        for j in range(3):
            board.found_action[i, j] = board.found_action[i - 1, j]
        i -= 1
    board.found[i] = score
    board.found_action[i, 0], board.found_action[i, 1], board.found_action[i, 2] = state, word, slot
    return min(kept + 1, beam)


@jit
def easiest(reading, board, half, state, length):
    """The word of a state to be decided next, the first of several."""
    easiest, lead = NONE, -np.inf
    for word in range(length):
        if board.decided[half, state, word + reading.reach] == NONE and board.lead[half, state, word] > lead:
            easiest, lead = word, board.lead[half, state, word]
    return easiest


@jit
def find_extensions(reading, board, half, states, search, length):
    """Find the best extensions of the states by one action; returns how many there are."""
    kept = 0
    for state in range(states):
        total, word = board.total[half, state], easiest(reading, board, half, state, length)
        for slot in range(board.slots[word], board.slots[word + 1]):
            score = total + board.scores[half, state, slot]
            if kept < search.beam or score > board.found[kept - 1]:
                kept = _enter(board, kept, search.beam, score, state, word, slot)
    return kept


@jit
def extend(reading, weights, board, half, kept, step, length, goals):
    """Make the states that were found. Returns the half of the board where they are.

    goals (int64[window] | None): The slots of the right outcomes, if known; `NONE` where any is right.
    """
    # The only child of the only state may take its place.
    other = half if board.scores.shape[1] == 1 else 1 - half
    reach = reading.reach
    for i in range(kept):
        state, word, slot = board.found_action[i, 0], board.found_action[i, 1], board.found_action[i, 2]
        if other != half:
            overwrite(board.decided[other, i], board.decided[half, state, : length + 2 * reach])
            overwrite(board.lead[other, i], board.lead[half, state, :length])
            overwrite(board.choice[other, i], board.choice[half, state, :length])
            for j in range(length):
                if board.decided[half, state, j + reach] == NONE:
                    for k in range(board.slots[j], board.slots[j + 1]):
                        board.scores[other, i, k] = board.scores[half, state, k]
        board.total[other, i] = board.found[i]
        if goals is not None:
            board.correct[other, i] = board.correct[half, state] and (
                goals[word] == NONE or goals[word] == slot
            )
        overwrite(board.taken[step, i], board.found_action[i])
        _decide(reading, weights, board, other, i, word, slot, length)
    return other


@jit
def decide(reading, weights, sequences, possible, begin, end, search, board, outcomes):
    """Find the outcomes of the sequences from `begin` to before `end` (Algorithm 1 of Ma et al. 2013).

    weights (int16[places, 1]): The averaged weights, in steps of any size.
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
    """Find how far the outcome 1 of each word is ahead of 0, given all other words, for tasks with two
    outcomes.

    weights (int16[places, 1]): The averaged weights, in steps of any size.
    outcomes (int32[words]): The decided outcomes.
    leads (float64[words]): Overwritten, in these steps.
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
                    templates.offsets[template] + reading.fixed[template], templates.offsets[template + 1]
                ):
                    at = word + reading.distance[templates.columns[j]]
                    code = read_symbol(code, outcomes[at] if start <= at < end else np.int32(BOUNDARY))
                place = place_of(code, shift)
                leads[word] += weights[(place + 1) & mask, 0] - weights[place & mask, 0]


# Learning


@jit
def _change(reading, perceptron, board, decided, word, outcome, amount):
    """Add to the weights of the features that an action has."""
    size = len(perceptron.weights)
    mask, shift = size - 1, shift_for(size)
    for template in range(len(reading.fixed)):
        place = place_of_feature(reading, board, word, template, decided, shift)
        if place != NONE:
            for i in range(board.part_offsets[outcome], board.part_offsets[outcome + 1]):
                change_weight(perceptron, (place + board.parts[i]) & mask, 0, amount)


@jit
def _set_goals(gold, bounds, margin, board, goals):
    """Find the slots of the right outcomes of a window's words, and give the others a head start."""
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
    """Find the best correct extension of the correct states (TOPC of Algorithm 2), into `action`. Returns its
    score.
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


@jit
def _trace(board, steps, state, path):
    """Write the actions that led to a state, as words and slots, into `path` (int64[window, 2])."""
    for i in range(steps - 1, -1, -1):
        state, path[i, 0], path[i, 1] = board.taken[i, state]


@jit
def _replay(reading, perceptron, board, path, shared, steps, amount, decided):
    """Do the actions of a path into `decided`, and add to the weights of those that are not shared."""
    overwrite(decided, board.first)
    for i in range(steps):
        word, outcome = path[i, 0], board.outcomes[path[i, 1]]
        if i >= shared:
            _change(reading, perceptron, board, decided, word, outcome, amount)
        decided[word + reading.reach] = outcome


@jit
def learn_outcomes(reading, perceptron, sequences, possible, gold, search, margin, counts, board):
    """Learn from some sequences, one after the other (Algorithm 2 of Ma et al. 2013).

    After an early update the search goes on with the new weights from the best correct state, so that nothing
    of a sequence is lost (Goldberg & Elhadad 2010 do so in greedy search). Averages are over updates and
    sequences.

    gold (int32[words]): The right outcomes, `NONE` where unknown: there any is right.
    margin (float): The head start of wrong outcomes.
    counts (int64[2]): The numbers of early and of full updates are added.
    RETURNS (float): The smallest violation of an update, not negative: updates are valid.
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
