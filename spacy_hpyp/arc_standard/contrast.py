"""The gradient of the conditional log-likelihood of the right derivation.

    log p(derivation | words) = log p(derivation, words) - log of the sum over the final beam

The gradient of the last term is the mean of the gradients of the beam's derivations, weighted by
their probabilities; an event that all of them share with the right one cancels out.
"""

from math import exp

import numpy as np

from ..compiled import NONE, jit, jitable, overwrite
from ..hpyp.pool import add_gradient
from . import configuration as column
from .configuration import FIRST_RECORD, FIRST_SYMBOL, ROOT, SHIFT, execute, new_records
from .contexts import read_context
from .decoding import UNUSED
from .distributions import Derivations, event_of, pools_of
from .likelihood import is_factored, predict_outcome, queries_of
from .particle_filter import log_sum, search_block, unused_record
from .proposals import Task

_NEGLIGIBLE = 1e-3  # Smaller shares are passed over


def add_contrasts(task: Task, chosen: np.ndarray, derivations: Derivations, joint: float) -> float:
    """Add the gradients of the conditional log-likelihoods of some sentences to those of the pools.

    task (Task): The sentences, words as outcomes, with factored transitions.
    chosen (int64[*]): The numbers of the sentences to add.
    derivations (Derivations): The right derivations of all sentences of the task.
    joint (float): The factor of the gradient of the joint log-likelihood, which is added, too.
    RETURNS (float): The sum of the log-likelihoods, in nats; -10 for each right derivation that the
        final beam does not hold.
    """
    records, total = new_records(), 0.0
    for block in chosen.tolist():
        records, beam = search_block(task, block, records, UNUSED)
        total += _add_contrast(task, block, records, beam, derivations, joint)
    return total


@jit
def _add_contrast(task, block, records, beam, derivations, joint):
    """Add the gradients of one sentence, given its final beam. Returns its log-likelihood."""
    parser, work, blocks = task.model, task.work, task.blocks
    start, end = blocks.offsets[block], blocks.offsets[block + 1]
    n, used = end - start, unused_record(beam)
    path = new_records(used + 2 * n)
    for record in range(used):
        overwrite(path[record], records[record])
    share = np.zeros(len(path))
    evidence = log_sum(beam["theta"])
    for d in beam:
        share[d.record] -= exp(d.theta - evidence)
    for record in range(used - 1, FIRST_RECORD - 1, -1):
        share[path[record, column.PREVIOUS]] += share[record]
    top, word = ROOT, 0
    for action in derivations.actions[2 * start : 2 * end]:
        place = start + min(word, n - 1)
        tag, form = derivations.tags[place], blocks.words[place]
        execute(path, used, top, action, tag, form)
        same = FIRST_RECORD  # The record of the beam that is the same, or the new one
        while (
            path[same, column.PREVIOUS] != top
            or path[same, column.ACTION] != action
            or path[same, column.TAG] != path[used, column.TAG]
        ):
            same += 1
        used += same == used
        word += action == SHIFT
        share[same] += 1.0 + joint
        top = same
    log_share = -10.0  # Of a derivation that is not in the beam
    for d in beam:
        if d.record == top:
            log_share = d.theta - evidence
    for record in range(FIRST_RECORD, used):
        if abs(share[record]) > _NEGLIGIBLE:
            _add_events(parser, path, record, share[record], work)
    return log_share


@jitable
def _add_events(parser, records, record, share, work):
    """Add the gradients of the events of one transition."""
    top, action = records[record, column.PREVIOUS], records[record, column.ACTION]
    tag = records[record, column.TAG] - FIRST_SYMBOL
    word = records[record, column.WORD] - FIRST_SYMBOL
    pools, queries = pools_of(parser), queries_of(work)
    for i in range(len(pools)):
        pool, query = pools[i], queries[i]
        known, kind, outcome = event_of(i, is_factored(parser), records, top, action, tag, word)
        if outcome == NONE:
            continue
        read_context(pool.elements, records, top, known, query.key[2:])
        probability = predict_outcome(pool, kind, outcome, query)
        add_gradient(pool, outcome, probability, share, query.scratch, query.distribution)
