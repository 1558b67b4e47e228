"""Trees of models with latent states: the most probable ones, and draws from the posterior.

Children are independent of each other given their parent and there is no STOP, so that a tree's probability
is a product over its arcs: of word d from its parent h, summed over its states,

    sum over s of p(s | h or document) p(d | s, h).

With the counts held fixed these are scores of a chart. But the events of a sentence see each other, so a tree
that is drawn from the chart, with states for its words, is accepted or not in a Metropolis-Hastings step, see
`spacy_hpyp.inference.metropolis`.
"""

from itertools import pairwise
from math import log
from typing import NamedTuple

import numpy as np

from ..annotation.arrays import is_projective
from ..compiled import NONE, by_reference, compiled, implements, inner_maker
from ..hpyp.franchise import Franchise, deepest, dish_probability, restaurant_distribution
from ..inference.drawing import draw
from ..inference.gibbs import enter_event, new_events
from ..inference.metropolis import derivation_of, draw_again, pools_of, propose, read_all
from ..pools.conditional import Conditional
from ..pools.pool import SeatedPool
from .chart import ChartScores, best_tree, inside, sample_tree
from .states import (
    STATE,
    Dependents,
    StateModel,
    enter_context,
    enter_word,
    reserve_words,
    state_weights,
    visit_words,
)

# Words that room is made for at a time, unless a sentence has more.
_CHUNK = 8192


@by_reference
class LatentStateTrees(NamedTuple):
    """Sentences whose trees and states are latent, for `inference.metropolis`.

    model (StateModel): With room for twice as many words as are visited.
    states, words (SeatedPool): Its franchises.
    dependents (Dependents): The words, all of which are seated; heads are overwritten.
    state (int32[n]): Their states, overwritten.
    """

    model: StateModel
    states: SeatedPool
    words: SeatedPool
    dependents: Dependents
    state: np.ndarray


def latent_state_trees(model: StateModel, dependents: Dependents, state: np.ndarray) -> LatentStateTrees:
    """What is handed to `draw_again`, for a model as it is until more room is reserved."""
    return LatentStateTrees(model, _pool_of(model.states), _pool_of(model.words), dependents, state)


def _pool_of(franchise: Franchise) -> SeatedPool:
    """A franchise as a pool of one expert, which has no weights."""
    # What the entries of a context row are is not asked.
    elements, no_gates = np.empty((2, 4), dtype=np.int32), np.empty(0, dtype=np.int32)
    conditional = Conditional("", ((),), elements, franchise.columns, no_gates, mixed=False)
    none = conditional.first_weights(0)
    return conditional.seated(franchise, none, none)


@compiled
def score_arcs(model, word, document):
    """Score the arcs of a sentence for the chart, with counts held fixed and states summed out.

    word (int32[n]): The words.
    document (int): The number of their document, `NONE` if unknown.
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
    return ChartScores(root, first, first.reshape(n, 1, n), np.zeros((2, n)), np.zeros((n, n)))


@compiled
def parse_sentences(model, word, offsets, heads):
    """Find the most probable trees of sentences of unknown documents, with counts held fixed.

    word (int32[n]), offsets (int64[sentences + 1]): The words, and the start of each sentence.
    heads (int32[n]): Overwritten with positions among all words, `NONE` for the root's children.
    """
    for number in range(len(offsets) - 1):
        start, end = offsets[number], offsets[number + 1]
        if start < end:
            found, _ = best_tree(score_arcs(model, word[start:end], NONE))
            for i in range(end - start):
                heads[start + i] = NONE if found[i] == NONE else start + found[i]


@implements(pools_of, LatentStateTrees)
@inner_maker
def _pools_of(latent):
    return latent.states, latent.words


@implements(derivation_of, LatentStateTrees)
@inner_maker
def _derivation_of(latent, number):
    start, end = latent.dependents.offsets[number], latent.dependents.offsets[number + 1]
    return latent.dependents.head[start:end], latent.state[start:end]


@implements(read_all, LatentStateTrees)
@inner_maker
def _read_all(latent, number):
    start, end = latent.dependents.offsets[number], latent.dependents.offsets[number + 1]
    of_states, of_words = new_events(latent.states, end - start), new_events(latent.words, end - start)
    for i in range(start, end):
        enter_word(latent.model, latent.dependents, i, of_states.row, of_words.row)
        of_words.row[STATE] = latent.state[i]
        enter_event(latent.states, of_states, 0, latent.state[i])
        enter_event(latent.words, of_words, 0, latent.dependents.word[i])
    return of_states, of_words


@implements(propose, LatentStateTrees)
@inner_maker
def _propose(latent, number, old, rng):
    model, dependents = latent.model, latent.dependents
    start, end = dependents.offsets[number], dependents.offsets[number + 1]
    states = model.states.alphabet[0]
    condition, context = np.empty(1, dtype=np.int32), np.empty(2, dtype=np.int32)
    place, generated, weight = np.empty(states, dtype=np.int64), np.empty(states), np.empty(states)
    scores = score_arcs(model, dependents.word[start:end], dependents.document[start])
    head = sample_tree(scores, inside(scores), rng)
    for i in range(start, end):
        dependents.head[i] = NONE if head[i - start] == NONE else start + head[i - start]
        enter_word(model, dependents, i, condition, context)
        total = state_weights(model, dependents.word[i], condition, context, place, generated, weight)
        latent.state[i] = draw(weight, total, rng)


@compiled
def visit_trees(latent, first, last, drawn, rng, probability, draws):
    """Draw the tree and states of each sentence from `first` to before `last` anew, then each word's state.

    drawn (bool[sentences]): Which trees the chart has; others stay.
    draws (int64[2]): See `visit_latent`.
    """
    for number in range(first, last):
        start, end = latent.dependents.offsets[number], latent.dependents.offsets[number + 1]
        if drawn[number]:
            draw_again(latent, number, rng, draws)
        visit_words(latent.model, latent.dependents, start, end, latent.state, rng, probability)


def sweep(
    model: StateModel,
    dependents: Dependents,
    state: np.ndarray,
    rng: np.random.Generator,
    probability: np.ndarray,
    draws: np.ndarray | None = None,
) -> StateModel:
    """A Gibbs step for the state of every word, and, with `draws`, for the tree of every sentence.

    RETURNS (StateModel): The model to go on with; the one passed in must not be used any more.
    """
    offsets, first = dependents.offsets, 0
    parts = [dependents.head[start:end] - start for start, end in pairwise(offsets.tolist())]
    drawn = [draws is not None and is_projective(np.maximum(head, NONE)) for head in parts]
    while first < len(offsets) - 1:
        # As many sentences as fit, but at least one.
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _CHUNK, side="right")) - 1)
        start, end = int(offsets[first]), int(offsets[last])
        model = reserve_words(model, (1 if draws is None else 3) * (end - start))
        if draws is None:
            visit_words(model, dependents, start, end, state, rng, probability)
        else:
            latent = latent_state_trees(model, dependents, state)
            visit_trees(latent, first, last, np.array(drawn), rng, probability, draws)
        first = last
    return model
