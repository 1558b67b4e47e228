"""The probability of a known event in a configuration, and the workspace of predictions.

Many configurations look the same to a distribution, so results are remembered.
"""

from typing import Any, NamedTuple

import numpy as np

from ..compiled import NONE, jitable, struct
from ..hpyp.pool import alphabet_of, predict, predict_one, workspace
from ..memo import Memo, new_memo, recall
from .configuration import DIRECTIONS, SHIFT, action_count
from .contexts import read_context
from .distributions import LABEL, TAG, TRANSITION, WORD, Distributions, event_of, pools_of


@struct
class Query(NamedTuple):
    """Workspace for predictions of one pool."""

    key: np.ndarray  # int32[2 + elements]: two numbers, and a context row; more may follow
    distribution: np.ndarray  # float64[alphabet]: all probabilities of a context
    scratch: Any
    memo: Memo  # Recent results, by the key


@struct
class Options(NamedTuple):
    """Continuations of a derivation: arcs, or tags of the next word."""

    outcome: np.ndarray  # int32[*]
    probability: np.ndarray  # float64[*]
    particles: np.ndarray  # int64[*]: how many particles take each
    priority: np.ndarray  # float64[*]: the probability, times a tag's promise relative to the best


@struct
class Workspace(NamedTuple):
    """Workspace of one thread. When the seating changes, clear the fingerprints of its memos."""

    transition: Query
    label: Query
    tag: Query
    word: Query
    actions: np.ndarray  # float64[actions]: the probabilities of all actions of a configuration
    best_action: np.ndarray  # int32[4, labels]: the best actions of each class
    best_probability: np.ndarray  # float64[4, labels]
    promise: np.ndarray  # float64[tags]: promises for the words to come, relative to the best one
    options: Options


def new_workspace(
    model: Distributions, labels: int = 1, tags: int = 1, *, remembered: int
) -> Workspace:
    """Make a workspace that fits a model.

    labels, tags (int): How many best labels of an arc and tags of a word are found.
    remembered (int): How many results are remembered for each distribution, a power of two.
    """
    actions, count = action_count(alphabet_of(model.label)), alphabet_of(model.tag)
    size = max(actions, count)
    return Workspace(
        transition=_new_query(model.transition, remembered, DIRECTIONS * labels),
        label=_new_query(model.label, remembered, labels),
        tag=_new_query(model.tag, remembered, tags + 1, len(model.word.elements)),
        word=_new_query(model.word, remembered, 1),
        actions=np.empty(actions),
        best_action=np.empty((DIRECTIONS, labels), np.int32),
        best_probability=np.empty((DIRECTIONS, labels)),
        promise=np.empty(count),
        options=Options(
            np.empty(size, np.int32), np.empty(size), np.empty(size, np.int64), np.empty(size)
        ),
    )


def _new_query(pool: Any, remembered: int, outcomes: int, more: int = 0) -> Query:
    key = np.zeros(2 + len(pool.elements) + more, np.int32)
    return Query(key, np.empty(alphabet_of(pool)), workspace(pool), new_memo(remembered, outcomes))


@jitable
def queries_of(work):
    """Return the four queries of a workspace, in the order of `DISTRIBUTIONS`."""
    return work.transition, work.label, work.tag, work.word


@jitable
def is_factored(model):
    """Whether an action is a direction and a label, each with a distribution of its own."""
    return len(model.transition.possible) > 0


@jitable
def ask_all(pool, records, top, known, kind, query):
    """Find all probabilities in a configuration, `query.distribution`; see `read_context`."""
    read_context(pool.elements, records, top, known, query.key[2:])
    predict(pool, query.key[2:], kind, query.scratch, query.distribution)


@jitable
def look_up(pool, records, top, known, kind, query):
    """Find the slot of the memo for a configuration, and whether it is filled; see `recall`."""
    query.key[1] = kind
    read_context(pool.elements, records, top, known, query.key[2:])
    return recall(query.memo.fingerprint, query.key)


@jitable
def action_probability(model, records, top, action, work):
    """Return p(action | configuration): if factored, of a direction and of the label given it."""
    nothing = np.int64(0)
    probability = _probability(model, TRANSITION, records, top, action, nothing, nothing, work)
    return probability * _probability(model, LABEL, records, top, action, nothing, nothing, work)


@jitable
def token_probability(model, records, top, tag, word, work):
    """Return p(tag | configuration) p(word | tag, configuration), the former if unlexicalised."""
    shift = np.int64(SHIFT)
    probability = _probability(model, TAG, records, top, shift, tag, word, work)
    return probability * _probability(model, WORD, records, top, shift, tag, word, work)


@jitable
def _probability(model, distribution, records, top, action, tag, word, work):
    """Return the probability of the event of one distribution; 1 without an event."""
    pool, query = pools_of(model)[distribution], queries_of(work)[distribution]
    known, kind, outcome = event_of(
        distribution, is_factored(model), records, top, action, tag, word
    )
    if outcome == NONE:
        return 1.0
    query.key[0] = outcome
    slot, is_known = look_up(pool, records, top, known, kind, query)
    found = query.memo.probability[slot]
    if not is_known:
        found[0] = predict_outcome(pool, kind, outcome, query)
    return found[0]


@jitable
def predict_outcome(pool, kind, outcome, query):
    """Return p(outcome | context in `query.key`). Multiplied experts fill `query.distribution`."""
    if pool.mixed:
        return predict_one(pool, query.key[2:], outcome, query.scratch)
    predict(pool, query.key[2:], kind, query.scratch, query.distribution)
    return query.distribution[outcome]
