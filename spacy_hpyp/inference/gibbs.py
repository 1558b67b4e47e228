"""Gibbs sampling of the seating (B&B section 3.1).

What the events of a sentence are follows from its derivation: an action in every configuration and, with a shift, a tag and
a word. Where labels have a distribution of their own, an action is a direction and, with an arc, a label. Given the
derivations the distributions are independent of each other, so that each is visited on its own, in a thread of its own
if need be. Latent derivations are drawn in `latent`.

What leaves the posterior of the seating as it is moves one customer at a time: it leaves, and sits down again given all
others. To take a whole sentence out and seat its events one after the other is not such a step: what comes later in the
sentence would have to weigh in on where the first ones sit. So a sentence that has to be out, for what is predicted from
all other sentences, is put back as it was, and then its customers are moved. Its events are removed in reverse order,
and each notes what it has changed; put back in order, each undoes that, with the events before it seated and those
after it not.

With one table at most for each dish (Kneser-Ney counts) the seating is a function of the events: whatever is taken out and
added again sits where it sat, and nothing has to be moved.

A sentence that is seated for the first time is added event by event.
"""

from typing import NamedTuple

import numpy as np

from ..arc_standard.configuration import (
    DEPTH,
    FIELDS,
    FIRST_ARC,
    FIRST_RECORD,
    ROOT,
    SHIFT,
    begin,
    class_of,
    kind_of,
    label_of,
    reduce,
    shift,
)
from ..arc_standard.contexts import read_context
from ..arc_standard.oracle import static_oracle
from ..compiled import borrowing, compiled, inner
from ..hpyp.franchise import open_restaurants
from ..pools.pool import (
    is_plain,
    learn_mixture,
    learn_product,
    move_all,
    read_symbols,
    seat_all_as,
    seat_mixture,
    seat_product,
    unseat_all_noting,
)

# The distributions: A, T and W of B&B section 3.1, and that of the labels where A has none.
TRANSITION, LABEL, TAG, WORD = range(4)


class Derivations(NamedTuple):
    """How each of some sentences is derived.

    actions (int32[2 tokens]): The derivations, one after the other.
    tags (int32[tokens]): The tags.
    """

    actions: np.ndarray
    tags: np.ndarray


@compiled
def static_derivations(sentences, actions):
    """The derivations of the static oracle.

    sentences (Sentences): Projective trees.
    actions (int32[2 tokens]): Overwritten.
    RETURNS (int): How many sentences have one; fewer than there are if the next one is no projective tree.
    """
    for number in range(len(sentences.offsets) - 1):
        start, end = sentences.offsets[number], sentences.offsets[number + 1]
        if not static_oracle(sentences.heads[start:end], sentences.labels[start:end], actions[2 * start : 2 * end]):
            return number
    return len(sentences.offsets) - 1


class Events(NamedTuple):
    """What one distribution has generated in a derivation.

    dish (int32[*]): The outcomes.
    kind (int32[*]): The kinds of contexts, see `SeatedPool.possible`.
    place (int32[*, experts]): The restaurants that the contexts lead to.
    symbols (int32[*, gates]): The symbols of the pool's gates.
    moved (int32[*, experts, 2]): What removing or adding an event has changed under each expert, so that it can be undone.
    row (int32[elements]): Workspace.
    count (int64[1]): The number of events.
    """

    dish: np.ndarray
    kind: np.ndarray
    place: np.ndarray
    symbols: np.ndarray
    moved: np.ndarray
    row: np.ndarray
    count: np.ndarray


@compiled
def new_events(pool, n):
    """Room for the events of a sentence of n words in one distribution."""
    return Events(
        np.empty(2 * n, dtype=np.int32),
        np.empty(2 * n, dtype=np.int32),
        np.empty((2 * n, pool.franchise.columns.shape[0]), dtype=np.int32),
        np.empty((2 * n, len(pool.gates)), dtype=np.int32),
        np.empty((2 * n, pool.franchise.columns.shape[0], 2), dtype=np.int32),
        np.empty(len(pool.elements), dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


@inner
def enter_event(pool, events, records, top, known, kind, dish):
    """Enter an event: read its context, and find or found the restaurants that it leads to."""
    i = events.count[0]
    events.dish[i] = dish
    events.kind[i] = kind
    read_context(pool.elements, records, top, known, events.row)
    open_restaurants(pool.franchise, events.row, events.place[i])
    read_symbols(pool, events.row, events.symbols[i])
    events.count[0] += 1


@compiled
def read_events(pool, distribution, factored, words, tags, actions, events):
    """Run a derivation and read the events of one distribution.

    distribution (int): `TRANSITION`, `LABEL`, `TAG` or `WORD`.
    factored (bool): Whether an action is a direction and a label.
    words, tags (int32[n]): The sentence.
    actions (int32[2n]): The derivation.
    events (Events): Overwritten.
    """
    events.count[0] = 0
    if distribution == LABEL and not factored:
        return
    records = np.empty((FIRST_RECORD + len(actions), FIELDS), dtype=np.int32)
    used = begin(records)
    top = ROOT
    word = 0
    for action in actions:
        if distribution == TRANSITION and not factored:
            enter_event(pool, events, records, top, 0, 0, action)
        # What can only be a shift is not an event.
        elif distribution == TRANSITION and top != ROOT:
            enter_event(pool, events, records, top, 0, kind_of(records[top, DEPTH]), class_of(action))
        elif distribution == LABEL and factored and action >= FIRST_ARC:
            enter_event(pool, events, records, top, class_of(action), 0, label_of(action))
        if action == SHIFT:
            if distribution == TAG:
                enter_event(pool, events, records, top, 0, 0, tags[word])
            elif distribution == WORD:
                enter_event(pool, events, records, top, tags[word], 0, words[word])
            shift(records, used, top, tags[word], words[word])
            word += 1
        else:
            reduce(records, used, top, action)
        top = used
        used += 1


@borrowing
def remove(pool, events, rng):
    """Remove the events of a sentence, the last one first. Returns False if they were not all seated."""
    removed = True
    for i in range(events.count[0] - 1, -1, -1):
        removed = unseat_all_noting(pool.franchise, events.place[i], events.dish[i], rng, events.moved[i]) and removed
    return removed


@borrowing
def put_back(pool, events):
    """Add the events of a sentence that `remove` has removed, each where it sat."""
    for i in range(events.count[0]):
        seat_all_as(pool.franchise, events.place[i], events.dish[i], events.moved[i])


@borrowing
def add(pool, distribution, events, rng):
    """Add the events of a sentence. Returns the sum of their log-probabilities in nats, each before it is added."""
    total = 0.0
    for i in range(events.count[0]):
        if distribution == WORD:
            total += seat_mixture(pool, events.place[i], events.symbols[i], events.dish[i], rng)
        else:
            total += seat_product(pool, events.place[i], events.symbols[i], events.kind[i], events.dish[i], rng)
    return total


@borrowing
def visit_seated(pool, distribution, events, rng):
    """One Gibbs step for a sentence that is seated.

    RETURNS (tuple[bool, float]): Whether it was seated as it should be, and the sum of its events' log-probabilities in nats:
        of a plain pool whose seating is sampled each given all others, of other pools each given the events before it and
        all other sentences. In these the gradient is added up.
    """
    total = 0.0
    if pool.franchise.one_table[0] or not is_plain(pool):
        if not remove(pool, events, rng):
            return False, total
    if pool.franchise.one_table[0]:
        return True, add(pool, distribution, events, rng)
    if not is_plain(pool):
        for i in range(events.count[0]):
            if distribution == WORD:
                total += learn_mixture(pool, events.place[i], events.symbols[i], events.dish[i])
            else:
                total += learn_product(pool, events.place[i], events.symbols[i], events.kind[i], events.dish[i])
            seat_all_as(pool.franchise, events.place[i], events.dish[i], events.moved[i])
    given_others = 0.0
    for i in range(events.count[0]):
        seated, log_probability = move_all(pool.franchise, events.place[i], events.dish[i], rng)
        if not seated:
            return False, total
        given_others += log_probability
    return True, given_others if is_plain(pool) else total


@compiled
def visit_sentences(pool, distribution, factored, words, offsets, derivations, seated, rng):
    """One Gibbs step of one distribution for each of some sentences, in order.

    distribution (int), factored (bool): See `read_events`.
    words (int32[tokens]), offsets (int64[sentences + 1]): The sentences.
    derivations (Derivations): How they are derived.
    seated (bool[sentences]): Whether a sentence is seated; others are added.
    rng (numpy.random.Generator): The source of randomness.
    RETURNS (tuple[float, int]): The sum of the events' log-probabilities in nats, see `visit_seated` and `add`, and how many
        sentences were visited: fewer than there are if the next one was not seated as it should be.
    """
    total = 0.0
    for number in range(len(seated)):
        start, end = offsets[number], offsets[number + 1]
        events = new_events(pool, end - start)
        tags, actions = derivations.tags[start:end], derivations.actions[2 * start : 2 * end]
        read_events(pool, distribution, factored, words[start:end], tags, actions, events)
        if seated[number]:
            found, log_probability = visit_seated(pool, distribution, events, rng)
            if not found:
                return total, number
            total += log_probability
        else:
            total += add(pool, distribution, events, rng)
    return total, len(seated)


@compiled
def remove_sentences(pool, distribution, factored, words, offsets, derivations, moved, rng):
    """Remove some sentences from one distribution, so that `put_back_sentences` can put them back as they were.

    pool, distribution, factored, words, offsets, derivations, rng: See `visit_sentences`.
    moved (int32[2 * tokens, experts, 2]): Overwritten with what has been changed, see `Events`.
    RETURNS (int): How many sentences were removed: fewer than there are if the next one was not seated as it should be.
    """
    for number in range(len(offsets) - 1):
        start, end = offsets[number], offsets[number + 1]
        events = new_events(pool, end - start)
        tags, actions = derivations.tags[start:end], derivations.actions[2 * start : 2 * end]
        read_events(pool, distribution, factored, words[start:end], tags, actions, events)
        if not remove(pool, events, rng):
            return number
        moved[2 * start : 2 * end] = events.moved
    return len(offsets) - 1


@compiled
def put_back_sentences(pool, distribution, factored, words, offsets, derivations, moved):
    """Put the sentences back that `remove_sentences` has removed, the last one first; see there."""
    for number in range(len(offsets) - 2, -1, -1):
        start, end = offsets[number], offsets[number + 1]
        events = new_events(pool, end - start)
        tags, actions = derivations.tags[start:end], derivations.actions[2 * start : 2 * end]
        read_events(pool, distribution, factored, words[start:end], tags, actions, events)
        events.moved[:] = moved[2 * start : 2 * end]
        put_back(pool, events)
