"""Probabilities that the distributions have in a configuration: all of one, or that of a known event.

Many configurations look the same to a distribution: results are looked up.
"""

from typing import Any, NamedTuple

import numpy as np

from ..compiled import NONE, jit, jitable, struct
from ..inference.memo import Memo, new_memo, recall
from ..pools.pool import is_plain
from ..pools.prediction import alphabet_of, predict, predict_one, workspace
from . import configuration as column
from .configuration import SHIFT, action_count
from .contexts import read_context
from .distributions import LABEL, TAG, TRANSITION, WORD, event_of
from .particle_filter import Options, new_options


@struct
class Query(NamedTuple):
    """Workspace for predictions of one pool."""

    key: np.ndarray  # int32[2 + elements]: two numbers, and a context row; more may follow
    distribution: np.ndarray  # float64[alphabet]: all probabilities of a context
    scratch: Any
    memo: Memo  # Recent results, by the key


@jitable
def new_query(pool, remembered, outcomes, more):
    """A query that fits a pool.

    remembered (int): How much is remembered, a power of two.
    outcomes (int), more (int): The size of a result, and of what follows the context row.
    """
    width = 2 + len(pool.elements) + more
    key = np.zeros(width, dtype=np.int32)
    return Query(key, np.empty(alphabet_of(pool)), workspace(pool), new_memo(remembered, outcomes))


@jitable
def is_factored(parser):
    """Whether an action is a direction and a label, each with a distribution of its own."""
    return len(parser.transition.possible) > 0


@jitable
def ask_all(pool, records, top, known, kind, query):
    """Find all probabilities of a pool in a configuration, into `query.distribution`, see `read_context`."""
    read_context(pool.elements, records, top, known, query.key[2:])
    predict(pool, query.key[2:], kind, query.scratch, query.distribution)


@jitable
def look_up(pool, records, top, known, kind, query):
    """Find the slot of a query's memo for a configuration, and whether it is filled already; see `recall`."""
    query.key[1] = kind
    read_context(pool.elements, records, top, known, query.key[2:])
    return recall(query.memo.fingerprint, query.key)


@struct
class Queries(NamedTuple):
    """Workspace of one thread."""

    transition: Query
    label: Query
    tag: Query
    word: Query
    action: np.ndarray  # float64[actions]: the probabilities of all actions of a configuration
    options: Options


@jitable
def new_queries(parser, remembered):
    """Workspace that fits a model and remembers some probabilities, to be forgotten when the seating
    changes.
    """
    actions = action_count(alphabet_of(parser.label))
    return Queries(
        _new_query(parser.transition, remembered),
        _new_query(parser.label, remembered),
        _new_query(parser.tag, remembered),
        _new_query(parser.word, remembered),
        np.empty(actions),
        new_options(max(actions, alphabet_of(parser.tag))),
    )


@jitable
def forget_all(queries):
    """Forget all results: the seating has changed."""
    queries.transition.memo.fingerprint[:] = 0
    queries.label.memo.fingerprint[:] = 0
    queries.tag.memo.fingerprint[:] = 0
    queries.word.memo.fingerprint[:] = 0


@jitable
def _new_query(pool, remembered):
    return new_query(pool, 1 if is_plain(pool) else remembered, 1, 0)


@jit
def action_probability(parser, records, top, action, queries):
    """Return p(action | configuration): in a factored model, of a direction and of the label given it."""
    nothing = np.int64(0)
    probability = _probability(
        parser, TRANSITION, parser.transition, records, top, action, nothing, nothing, queries.transition
    )
    return probability * _probability(
        parser, LABEL, parser.label, records, top, action, nothing, nothing, queries.label
    )


@jit
def token_probability(parser, records, top, tag, word, queries):
    """Return p(tag | configuration) p(word | tag, configuration) of a shift, or the former if
    unlexicalised.
    """
    shift = np.int64(SHIFT)
    probability = _probability(parser, TAG, parser.tag, records, top, shift, tag, word, queries.tag)
    return probability * _probability(parser, WORD, parser.word, records, top, shift, tag, word, queries.word)


@jitable
def _probability(parser, distribution, pool, records, top, action, tag, word, query):
    """The probability of what one of the distributions generates; 1 where that is nothing."""
    known, kind, outcome = event_of(
        distribution, is_factored(parser), records[top, column.DEPTH], action, tag, word
    )
    if outcome == NONE:
        return 1.0
    row = query.key[2:]
    # A pool of one expert multiplies and mixes alike, and with less effort than it takes to look the answer
    # up.
    if is_plain(pool):
        read_context(pool.elements, records, top, known, row)
        return predict_one(pool, row, outcome, query.scratch)
    query.key[0] = outcome
    slot, is_known = look_up(pool, records, top, known, kind, query)
    if not is_known:
        if pool.mixed:
            query.memo.probability[slot, 0] = predict_one(pool, row, outcome, query.scratch)
        else:
            predict(pool, row, kind, query.scratch, query.distribution)
            query.memo.probability[slot, 0] = query.distribution[outcome]
    return query.memo.probability[slot, 0]
