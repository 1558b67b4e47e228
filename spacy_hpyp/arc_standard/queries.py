"""What is asked of the distributions in a configuration.

Many configurations look the same to a distribution: what was found for one is looked up for the others.
"""

from typing import Any, NamedTuple

import numpy as np

from ..compiled import by_reference, inner, maker
from ..inference.memo import Memo, new_memo
from ..pools.prediction import alphabet_of, predict, workspace
from .contexts import read_context


@by_reference
class Query(NamedTuple):
    """What predictions of one pool are written on.

    key (int32[2 + elements]): Two numbers besides, and a context row; what else was found depends on may stand behind it.
    distribution (float64[alphabet]): All probabilities of a context.
    scratch: Workspace of the pool.
    memo (Memo): What was found lately, by the key.
    """

    key: np.ndarray
    distribution: np.ndarray
    scratch: Any
    memo: Memo


@maker
def new_query(pool, remembered, outcomes, more):
    """A query that fits a pool.

    remembered (int): How much is remembered, a power of two.
    outcomes (int): How many numbers there are of each.
    more (int): How many stand behind the context row.
    """
    width = 2 + len(pool.elements) + more
    key = np.zeros(width, dtype=np.int32)
    return Query(key, np.empty(alphabet_of(pool)), workspace(pool), new_memo(remembered, width, outcomes))


@inner
def is_factored(parser):
    """Whether an action is a direction and a label, each with a distribution of its own."""
    return len(parser.transition.possible) > 0


@inner
def ask_all(pool, records, top, known, kind, query):
    """All probabilities of a pool in a configuration, into `query.distribution`.

    known (int): See `read_context`.
    kind (int): Of the context: the row of `FrozenPool.possible`.
    """
    read_context(pool.elements, records, top, known, query.key[2:])
    predict(pool, query.key[2:], kind, query.scratch, query.distribution)
