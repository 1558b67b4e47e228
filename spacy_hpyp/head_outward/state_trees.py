"""Trees of models with latent states: the most probable ones, and draws from the posterior.

Children are independent of each other given their parent and there is no STOP, so that a tree's probability is a product over
its arcs: of word d from its parent h, summed over its states,

    sum over s of p(s | h or document) p(d | s, h).

With the counts held fixed these are scores of a chart. But the events of a sentence see each other, so a tree that is drawn
from the chart, with states for its words, is accepted in a Metropolis-Hastings step (Johnson, Griffiths & Goldwater 2007). As in
`spacy_hpyp.arc_standard.latent`: write q(D) for the product of the probabilities of the events of a derivation D, its arcs and
states, while all of the sentence's events are out, and T(D) for that of what each is predicted with when it is seated after the
events before it. D' is proposed in proportion to q(D'), and accepted with the probability

    min(1, T(D') q(D) / (T(D) q(D'))).

Events leave in reverse order, each a customer drawn from those who have ordered the same; on rejection they sit where they sat.
"""

from collections.abc import Iterator
from itertools import pairwise
from math import log
from typing import NamedTuple

import numpy as np

from ..annotation.arrays import is_projective
from ..compiled import NONE, borrowing, compiled, inner
from ..hpyp.franchise import (
    deepest,
    dish_probability,
    open_restaurant,
    restaurant_distribution,
    seat_as,
    seat_noting,
    unseat_as,
    unseat_noting,
)
from ..inference.drawing import draw
from .chart import Scores, best_tree, inside, sample_tree
from .states import (
    STATE,
    Dependents,
    StateModel,
    enter_context,
    reserve_words,
    state_weights,
    visit_words,
)

# Words that room is made for at a time, unless a sentence has more.
_CHUNK = 8192


class _Derivation(NamedTuple):
    """A sentence's arcs and states, and where their events are seated.

    head (int32[n]): The heads, as positions in the sentence.
    state (int32[n]): The states.
    place (int32[n, 2]): The restaurants of each word's state and of the word.
    moved (int64[n, 2, 2]): What seating or unseating the two has changed.
    """

    head: np.ndarray
    state: np.ndarray
    place: np.ndarray
    moved: np.ndarray


@compiled
def score_arcs(model, word, document):
    """What a model says of the arcs of a sentence, with its counts held fixed.

    model (StateModel): The model, which is only read.
    word (int32[n]): The words.
    document (int): The number of their document, `NONE` for one that is not known.
    RETURNS (Scores): The chart's scores.
    """
    n, states = len(word), model.states.alphabet[0]
    frequency, place = np.empty(states), np.empty(states, dtype=np.int64)
    condition, context = np.empty(1, dtype=np.int32), np.empty(2, dtype=np.int32)
    root, first = np.empty(n), np.zeros((n, n))
    for h in range(n + 1):
        # What is the same for all children. The last parent is the root.
        enter_context(model, word[h] if h < n else model.words.alphabet[0], document, condition, context)
        restaurant_distribution(model.states, deepest(model.states, 0, condition), frequency)
        for state in range(states):
            context[STATE] = state
            place[state] = deepest(model.words, 0, context)
        for d in range(n):
            if h != d:
                total = 0.0
                for state in range(states):
                    total += frequency[state] * dish_probability(model.words, place[state], word[d])
                if h < n:
                    first[h, d] = log(total)
                else:
                    root[d] = log(total)
    return Scores(root, first, first.reshape(n, 1, n), np.zeros((2, n)), np.zeros((n, n)))


@compiled
def parse_sentences(model, word, offsets, heads):
    """The most probable trees of sentences, with the counts of a model held fixed, in documents that are not known.

    model (StateModel): The model, which is only read.
    word (int32[n]): The words of all sentences.
    offsets (int64[sentences + 1]): Where each sentence begins.
    heads (int32[n]): Overwritten with positions among all words, `NONE` for the root's children.
    """
    for number in range(len(offsets) - 1):
        start, end = offsets[number], offsets[number + 1]
        if start < end:
            found, _ = best_tree(score_arcs(model, word[start:end], NONE))
            for i in range(end - start):
                heads[start + i] = NONE if found[i] == NONE else start + found[i]


@inner
def _open(model, word, document, derivation, condition, context):
    """Find or found the restaurants of a derivation."""
    for i in range(len(word)):
        parent = model.words.alphabet[0] if derivation.head[i] == NONE else word[derivation.head[i]]
        enter_context(model, parent, document, condition, context)
        context[STATE] = derivation.state[i]
        derivation.place[i, 0] = open_restaurant(model.states, 0, condition)
        derivation.place[i, 1] = open_restaurant(model.words, 0, context)


@borrowing
def _predict(model, word, derivation, i):
    """The log-probability of a word and its state, given what is seated."""
    return log(dish_probability(model.states, derivation.place[i, 0], derivation.state[i])) + log(
        dish_probability(model.words, derivation.place[i, 1], word[i])
    )


@inner
def _remove(model, word, derivation, rng):
    """Take a derivation's events out, the last one first.

    RETURNS (tuple[bool, float]): Whether all were seated, and log T - log q.
    """
    weight = 0.0
    for i in range(len(word) - 1, -1, -1):
        for events, franchise, dish in ((0, model.states, derivation.state[i]), (1, model.words, word[i])):
            tables, size = unseat_noting(franchise, derivation.place[i, events], dish, rng)
            if tables < 0:
                return False, weight
            derivation.moved[i, events, 0], derivation.moved[i, events, 1] = tables, size
        weight += _predict(model, word, derivation, i)
    for i in range(len(word)):
        weight -= _predict(model, word, derivation, i)
    return True, weight


@inner
def _put_back(model, word, derivation):
    """Seat a derivation's events where `_remove` has taken them away."""
    moved = derivation.moved
    for i in range(len(word)):
        seat_as(model.states, derivation.place[i, 0], derivation.state[i], moved[i, 0, 0], moved[i, 0, 1])
        seat_as(model.words, derivation.place[i, 1], word[i], moved[i, 1, 0], moved[i, 1, 1])


@inner
def _add(model, word, derivation, rng):
    """Seat a derivation's events. Returns log T - log q."""
    weight = 0.0
    for i in range(len(word)):
        weight -= _predict(model, word, derivation, i)
    for i in range(len(word)):
        weight += _predict(model, word, derivation, i)
        for events, franchise, dish in ((0, model.states, derivation.state[i]), (1, model.words, word[i])):
            _, tables, size = seat_noting(franchise, derivation.place[i, events], dish, rng)
            derivation.moved[i, events, 0], derivation.moved[i, events, 1] = tables, size
    return weight


@inner
def _take_back(model, word, derivation):
    """Take a derivation's events out again that `_add` has seated."""
    moved = derivation.moved
    for i in range(len(word) - 1, -1, -1):
        unseat_as(model.words, derivation.place[i, 1], word[i], moved[i, 1, 0], moved[i, 1, 1])
        unseat_as(model.states, derivation.place[i, 0], derivation.state[i], moved[i, 0, 0], moved[i, 0, 1])


@compiled
def draw_derivation_again(model, word, document, head, state, rng):
    """A Metropolis-Hastings step for the tree and the states of a sentence that is seated.

    model (StateModel): With room for twice as many words.
    word (int32[n]): The words.
    document (int): The number of their document.
    head (int32[n]): Positions in the sentence of a tree that the chart has, overwritten if another one is accepted.
    state (int32[n]): The states, overwritten likewise.
    rng (numpy.random.Generator): The source of randomness.
    RETURNS (tuple[bool, bool, bool]): Whether the sentence was seated as it should be; if so, whether another derivation was
        proposed, and whether it was accepted.
    """
    n = len(word)
    condition, context = np.empty(1, dtype=np.int32), np.empty(2, dtype=np.int32)
    states = model.states.alphabet[0]
    place, generated, weight = np.empty(states, dtype=np.int64), np.empty(states), np.empty(states)
    moved = np.empty((n, 2, 2), dtype=np.int64)
    old = _Derivation(head.copy(), state.copy(), np.empty((n, 2), dtype=np.int32), moved)
    _open(model, word, document, old, condition, context)
    found, old_weight = _remove(model, word, old, rng)
    if not found:
        return False, False, False
    scores = score_arcs(model, word, document)
    new_head = sample_tree(scores, inside(scores), rng)
    new_state = np.empty(n, dtype=np.int32)
    for i in range(n):
        parent = model.words.alphabet[0] if new_head[i] == NONE else word[new_head[i]]
        enter_context(model, parent, document, condition, context)
        total = state_weights(model, word[i], condition, context, place, generated, weight)
        new_state[i] = draw(weight, total, rng)
    if np.array_equal(new_head, head) and np.array_equal(new_state, state):
        _put_back(model, word, old)
        return True, False, False
    new = _Derivation(new_head, new_state, np.empty((n, 2), dtype=np.int32), np.empty((n, 2, 2), dtype=np.int64))
    _open(model, word, document, new, condition, context)
    new_weight = _add(model, word, new, rng)
    if log(1.0 - rng.random()) < new_weight - old_weight:
        head[:] = new_head
        state[:] = new_state
        return True, True, True
    _take_back(model, word, new)
    _put_back(model, word, old)
    return True, True, False


@compiled
def visit_trees(model, dependents, first, last, drawn, state, rng, probability, draws):
    """A step for the tree and states of each of some sentences, and then a Gibbs step for the state of each of its words.

    model (StateModel): With room for three times as many words.
    dependents (Dependents): The words, all of which are seated; heads are overwritten.
    first, last (int): The sentences from the one to before the other are visited.
    drawn (bool[sentences]): Which trees the chart has; others could not be drawn again, and stay as they are.
    state (int32[n]), rng (numpy.random.Generator), probability (float64[n]): See `visit_words`.
    draws (int64[2]): How many derivations were proposed that differ from those before, and how many of these were accepted, are
        added to it.
    RETURNS (bool): Whether all were seated as they should be.
    """
    for number in range(first, last):
        start, end = dependents.offsets[number], dependents.offsets[number + 1]
        if drawn[number]:
            head = np.empty(end - start, dtype=np.int32)
            for i in range(end - start):
                head[i] = NONE if dependents.head[start + i] == NONE else dependents.head[start + i] - start
            found, proposed, accepted = draw_derivation_again(
                model, dependents.word[start:end], dependents.document[start], head, state[start:end], rng
            )
            if not found:
                return False
            draws[0] += proposed
            draws[1] += accepted
            for i in range(end - start):
                dependents.head[start + i] = NONE if head[i] == NONE else start + head[i]
        if visit_words(model, dependents, start, end, state, rng, probability) < end:
            return False
    return True


def sweep(
    model: StateModel,
    dependents: Dependents,
    state: np.ndarray,
    rng: np.random.Generator,
    probability: np.ndarray,
    draws: np.ndarray | None = None,
) -> StateModel:
    """A Gibbs step for the state of every word, see `visit_words`; with `draws`, and one for the tree of every sentence, see
    `visit_trees`.

    RETURNS (StateModel): The model to go on with; the one passed in must not be used any more.
    RAISES (ValueError): If a word is not seated as it should be.
    """
    offsets, first = dependents.offsets, 0
    drawn = [draws is not None and is_projective(head) for head in _heads(dependents)]
    while first < len(offsets) - 1:
        # As many sentences as fit, but at least one.
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _CHUNK, side="right")) - 1)
        start, end = int(offsets[first]), int(offsets[last])
        model = reserve_words(model, (1 if draws is None else 3) * (end - start))
        if draws is None:
            visited = visit_words(model, dependents, start, end, state, rng, probability) == end
        else:
            visited = visit_trees(model, dependents, first, last, np.array(drawn), state, rng, probability, draws)
        if not visited:
            raise ValueError("The states, the trees and the seating of a model do not belong together.")
        first = last
    return model


def _heads(dependents: Dependents) -> Iterator[np.ndarray]:
    """The heads of each sentence, as positions in it."""
    for start, end in pairwise(dependents.offsets.tolist()):
        heads = dependents.head[start:end]
        yield np.where(heads == NONE, NONE, heads - start)
