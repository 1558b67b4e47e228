"""The probability of what is given: of one action, or of one tag with its word, in a configuration.

Where `proposals` looks for the best actions and tags, this module evaluates those of a known derivation. Many
configurations look the same to a pool, so what a pool of several experts has predicted lately is remembered.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, by_reference, inner, maker
from ..inference.memo import forget, recall
from ..inference.particle_filter import Options, new_options
from ..pools.prediction import alphabet_of, predict, predict_one
from .configuration import DEPTH, END, FIRST_ARC, SHIFT, action_count, class_of, kind_of, label_of
from .contexts import read_context
from .queries import Query, is_factored, new_query


@by_reference
class Queries(NamedTuple):
    """What one thread writes on, for one parser.

    transition, label, tag, word (Query): For each distribution; in the keys stand an outcome and the kind of its context.
    action (float64[actions]): The probabilities of all actions of a configuration; 0 for those that do not exist.
    options (Options): What the next thing can be.
    """

    transition: Query
    label: Query
    tag: Query
    word: Query
    action: np.ndarray
    options: Options


@maker
def new_queries(parser, remembered):
    """Workspace that fits a model, to be forgotten when the seating changes.

    parser (SearchModel | Distributions): The model, frozen or while it learns.
    remembered (int): How many probabilities to remember of each distribution, a power of two.
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


@inner
def forget_all(queries):
    """Let what was found be unknown: the seating has changed."""
    forget(queries.transition.memo)
    forget(queries.label.memo)
    forget(queries.tag.memo)
    forget(queries.word.memo)


@maker
def _new_query(pool, remembered):
    return new_query(pool, 1 if len(pool.weights.bucket) == 0 else remembered, 1, 0)


@borrowing
def action_probability(parser, records, top, action, queries):
    """p(action | configuration).

    parser (SearchModel): The model. If it has a distribution of labels, an action is a direction and, of an arc, a label
        given the direction; an action that does not exist at the depth of the stack must not be asked for then.
    records (int32[*, FIELDS]), top (int): The configuration.
    action (int): The action.
    queries (Queries): Written on.
    """
    if parser.root_tag != NONE and records[top, DEPTH] < 3:
        # There is only the shift; that of ROOT is the end.
        if action != END or records[top, DEPTH] == 1:
            return 1.0 if action == SHIFT else 0.0
        _ask(parser.tag, records, top, 0, 0, parser.root_tag, queries.tag)
        return _probability(parser.tag, queries.tag)
    if not is_factored(parser):
        _ask(parser.transition, records, top, 0, 0, action, queries.transition)
        return _probability(parser.transition, queries.transition)
    direction = class_of(action)
    probability = 1.0
    # At depth 1 there is only the shift.
    if records[top, DEPTH] > 1:
        kind = kind_of(records[top, DEPTH])
        _ask(parser.transition, records, top, 0, kind, direction, queries.transition)
        probability = _probability(parser.transition, queries.transition)
    if action >= FIRST_ARC:
        _ask(parser.label, records, top, direction, 0, label_of(action), queries.label)
        probability *= _probability(parser.label, queries.label)
    return probability


@borrowing
def token_probability(parser, records, top, tag, word, queries):
    """p(tag | configuration) p(word | tag, configuration) of what a shift generates.

    parser, records, top, queries: See `action_probability`. In an unlexicalised model there are no words to generate.
    tag, word (int): Their numbers.
    """
    _ask(parser.tag, records, top, 0, 0, tag, queries.tag)
    _ask(parser.word, records, top, tag, 0, word, queries.word)
    return _probability(parser.tag, queries.tag) * _probability(parser.word, queries.word)


@inner
def _ask(pool, records, top, known, kind, outcome, query):
    """Enter what is asked of a pool, see `read_context` and `FrozenPool.possible`, into the key of a query."""
    query.key[0] = outcome
    query.key[1] = kind
    read_context(pool.elements, records, top, known, query.key[2:])


@inner
def _probability(pool, query):
    """The answer of a pool."""
    outcome, kind, row = query.key[0], query.key[1], query.key[2:]
    # A pool of one expert multiplies and mixes alike, and with less effort than it takes to look the answer up.
    if len(pool.weights.bucket) == 0:
        return predict_one(pool, row, outcome, query.scratch)
    slot, is_known = recall(query.memo, query.key)
    if not is_known:
        if pool.mixed:
            query.memo.probability[slot, 0] = predict_one(pool, row, outcome, query.scratch)
        else:
            predict(pool, row, kind, query.scratch, query.distribution)
            query.memo.probability[slot, 0] = query.distribution[outcome]
    return query.memo.probability[slot, 0]
