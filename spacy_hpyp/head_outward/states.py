"""Dependency models of words with latent states (Wallach, Sutton & McCallum 2008).

Words are untagged, uncased, and independent of their siblings. A parent word, or `root`, generates
each child, in some kinds through a latent state:

    dependencies   word | parent
    syntactic      state | parent       word | state, parent
    semantic       state | document     word | state, parent
    lda            state | document     word | state

All distributions have hierarchical Dirichlet priors: franchises with discount 0. A word backs off
from state and parent to the state, to no context and to the uniform distribution; a state backs off
to its overall frequency.

Each word has one event in each of two franchises. A step of the collapsed Gibbs sampler removes
both, draws the state in proportion to its probability given all other words, and seats both again.
The sum over the states is the leave-one-out probability of the word.

Children are independent given their parent, and there is no STOP. So the probability of a tree is a
product over arcs: for word d and its parent h, the sum over s of p(s | h or document) p(d | s, h).
With fixed counts, these are scores of a chart.
"""

from math import log
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit, jitable, struct
from ..hpyp import franchise as column
from ..hpyp.franchise import (
    Franchise,
    child,
    deepest,
    dish_probability,
    new_franchise,
    reserve,
    restaurant_distribution,
    restaurant_probability,
    serving_of,
)
from ..hpyp.gibbs import draw
from ..hpyp.seating import add, remove
from .chart import ChartScores, best_tree

DEPENDENCIES, SYNTACTIC, SEMANTIC, LDA = "dependencies", "syntactic", "semantic", "lda"
#: The kinds of models.
KINDS = (DEPENDENCIES, SYNTACTIC, SEMANTIC, LDA)
#: The columns of a word's context row.
STATE, PARENT = range(2)
#: The kinds with words that depend on their parents.
OF_PARENTS = (DEPENDENCIES, SYNTACTIC, SEMANTIC)
#: The kinds with states that depend on the document.
OF_DOCUMENTS = (SEMANTIC, LDA)

_FIRST_STRENGTH = 1.0
# The number of words to reserve space for at a time.
_CHUNK = 8192


@struct
class StateModel(NamedTuple):
    """The distributions of states and words."""

    states: Franchise  # Given the parent word, or the document
    words: Franchise  # Given the state and the parent word
    of_documents: np.ndarray  # bool[1]: whether states depend on documents

    @property
    def count(self) -> int:
        """The number of states."""
        return int(self.states.alphabet[0])

    @property
    def root(self) -> int:
        """The word number of the root."""
        return int(self.words.alphabet[0])


class Dependents(NamedTuple):
    """Words with their parents, one sentence after the other."""

    word: np.ndarray  # int32[n]
    head: np.ndarray  # int32[n]: the positions of the parents in these arrays, or `NONE`
    document: np.ndarray  # int32[n]
    offsets: np.ndarray  # int64[sentences + 1]: the start of each sentence


def new_model(kind: str, states: int, vocabulary: int) -> StateModel:
    """Return an untrained model of one of the `KINDS`; `DEPENDENCIES` have 1 state."""
    # The contexts of states and of words, most important element first.
    of_states = [] if kind == DEPENDENCIES else [0]
    of_words = {DEPENDENCIES: [PARENT], LDA: [STATE]}.get(kind, [STATE, PARENT])
    return StateModel(
        new_franchise(np.array([of_states]), states, 0.0, _FIRST_STRENGTH),
        new_franchise(np.array([of_words]), vocabulary, 0.0, _FIRST_STRENGTH),
        np.array([kind in OF_DOCUMENTS]),
    )


@jitable
def enter_context(model, parent, document, condition, context):
    """Write the context of a state (int32[1]), and the parent into that of a word (int32[2])."""
    condition[0] = document if model.of_documents[0] else parent
    context[PARENT] = parent


@jitable
def word_probabilities(model, word, context, place, probability):
    """Write the probability of a word given its context and each state into `probability`
    (float64[states]); `place` (int64[states]) is workspace.
    """
    franchise = model.words
    place[:] = 0
    probability[:] = dish_probability(franchise, 0, word)
    for element in franchise.columns[0]:
        # Loops over states, so that their look-ups overlap.
        for state in range(len(place)):
            if place[state] != NONE:
                place[state] = child(
                    franchise, place[state], state if element == STATE else context[element]
                )
        for state in range(len(place)):
            if place[state] != NONE:
                serving = serving_of(franchise, place[state], word)
                probability[state] = restaurant_probability(
                    franchise, place[state], serving, probability[state]
                )


@jitable
def state_weights(model, word, condition, context, place, probability, weight):
    """Write the joint probability of each state and a word into `weight`. Return the sum."""
    restaurant_distribution(model.states, deepest(model.states, 0, condition), weight)
    word_probabilities(model, word, context, place, probability)
    total = 0.0
    for state in range(len(weight)):
        weight[state] *= probability[state]
        total += weight[state]
    return total


@jitable
def seat_word(model, word, state, condition, context, rng):
    """Seat a word and its state."""
    context[STATE] = state
    add(model.states, 0, condition, state, rng)
    add(model.words, 0, context, word, rng)


@jitable
def unseat_word(model, word, state, condition, context, rng):
    """Remove a word and its state."""
    context[STATE] = state
    remove(model.states, 0, condition, state, rng)
    remove(model.words, 0, context, word, rng)


@jit
def visit_words(model, dependents, first, last, state, rng, probability):
    """Resample the states of the words `first` to `last` - 1 by Gibbs sampling.

    model (StateModel): With space for them, see `reserve_words`.
    state (int32[n]): Overwritten; `NONE` for unseated words.
    probability (float64[n]): Overwritten with that of each word given all other seated words.
    """
    states = model.states.alphabet[0]
    place, generated, weight = np.empty(states, dtype=np.int64), np.empty(states), np.empty(states)
    condition, context = np.empty(1, dtype=np.int32), np.empty(2, dtype=np.int32)
    for i in range(first, last):
        word = dependents.word[i]
        head = dependents.head[i]
        parent = model.words.alphabet[0] if head == NONE else dependents.word[head]
        enter_context(model, parent, dependents.document[i], condition, context)
        if state[i] != NONE:
            unseat_word(model, word, state[i], condition, context, rng)
        probability[i] = state_weights(model, word, condition, context, place, generated, weight)
        state[i] = draw(weight, probability[i], rng)
        seat_word(model, word, state[i], condition, context, rng)


def reserve_words(model: StateModel, words: int) -> StateModel:
    """Reserve space for more words. Do not use the given model afterwards."""
    return model._replace(states=reserve(model.states, words), words=reserve(model.words, words))


@jit
def believe_states(model, word, parent, sweeps, rng, belief, log_probability):
    """Find the posterior of the states of a new document's words, with fixed counts.

    It is exact if states do not depend on the document. Else Gibbs sampling draws them, and the
    predictive distributions of the second half of the sweeps are averaged. The mean inverse of a
    word's predictions is the inverse of its probability, states summed out.

    word, parent (int32[n]): The numbers of the words and of their parents.
    sweeps (int): At least 2.
    belief (float64[n, states]): Overwritten with the probabilities.
    log_probability (float64[n]): Overwritten with that of each word in nats, given its parent and,
        if states depend on the document, the document's other words.
    """
    n, states = belief.shape
    condition, context = np.empty(1, dtype=np.int32), np.empty(2, dtype=np.int32)
    # The probability of each word given its parent and each state.
    generated, place = np.empty((n, states)), np.empty(states, dtype=np.int64)
    for i in range(n):
        enter_context(model, parent[i], NONE, condition, context)
        total = state_weights(model, word[i], condition, context, place, generated[i], belief[i])
        log_probability[i] = log(total)
        belief[i] /= total
    if not model.of_documents[0] or states == 1:
        return
    frequency, weight = np.empty(states), np.empty(states)
    restaurant_distribution(model.states, 0, frequency)
    frequency *= model.states.strength[1]
    count, inverse = np.zeros(states), np.zeros(n)
    drawn = np.empty(n, dtype=np.int64)
    belief[:] = 0.0
    for sweep in range(sweeps):
        for i in range(n):
            if sweep > 0:
                count[drawn[i]] -= 1.0
            weight[:] = (frequency + count) * generated[i]
            total = weight.sum()
            drawn[i] = draw(weight, total, rng)
            count[drawn[i]] += 1.0
            if sweep >= sweeps - sweeps // 2:
                belief[i] += weight / total
                inverse[i] += 1.0 / total
    belief /= sweeps // 2
    normaliser = model.states.strength[1] + n - 1
    log_probability[:] = -np.log(inverse / (sweeps // 2) * normaliser)


@jitable
def score_arcs(model, word, document):
    """Return the `ChartScores` of words (int32[n]), with fixed counts and states summed out."""
    n, states = len(word), model.states.alphabet[0]
    frequency, place = np.empty(states), np.empty(states, dtype=np.int64)
    condition, context = np.empty(1, dtype=np.int32), np.empty(2, dtype=np.int32)
    root, first = np.empty(n), np.zeros((n, n))
    for h in range(n + 1):
        # The last parent is the root.
        enter_context(
            model, word[h] if h < n else model.words.alphabet[0], document, condition, context
        )
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
    return ChartScores(root, first, first.reshape(n, 1, n), np.zeros((2, n)), np.zeros((n, n)))


@jit
def parse_sentences(model, word, offsets, heads):
    """Write the best trees of new documents into `heads` (int32[n]: positions in `word`)."""
    for number in range(len(offsets) - 1):
        start, end = offsets[number], offsets[number + 1]
        if start < end:
            tree, _ = best_tree(score_arcs(model, word[start:end], NONE))
            for i in range(end - start):
                heads[start + i] = NONE if tree[i] == NONE else start + tree[i]


def sweep(
    model: StateModel,
    dependents: Dependents,
    state: np.ndarray,
    rng: np.random.Generator,
    probability: np.ndarray,
) -> StateModel:
    """Resample every state, see `visit_words`. Do not use the given model afterwards."""
    for first in range(0, len(state), _CHUNK):
        last = min(first + _CHUNK, len(state))
        model = reserve_words(model, last - first)
        visit_words(model, dependents, first, last, state, rng, probability)
    return model


def word_counts(model: StateModel) -> np.ndarray:
    """Return the counts of words by state (int64[states, words])."""
    restaurants, elements = model.words.restaurants, model.words.columns[0]
    servings = model.words.servings[: model.words.used[column.N_SERVINGS]]
    servings = servings[restaurants[servings[:, column.RESTAURANT], column.TIER] == len(elements)]
    place = servings[:, column.RESTAURANT]
    # Walk up to the restaurant of the first element, the state.
    for _ in elements[1:]:
        place = restaurants[place, column.PARENT]
    state = restaurants[place, column.SYMBOL] if elements[0] == STATE else 0
    counts = np.zeros((model.count, model.root), dtype=np.int64)
    np.add.at(counts, (state, servings[:, column.DISH]), servings[:, column.SERVED])
    return counts
