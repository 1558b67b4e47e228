"""The gradient of the conditional log-likelihood of the right derivation.

    log p(derivation | words) = log p(derivation, words) - log of the sum over the final beam

The gradient of the last term is the mean of the gradients of the beam's derivations, weighted by
their probabilities; an event that all of them share with the right one cancels out.
"""

from math import exp

import numpy as np

from ..compiled import NONE, jit, jitable, overwrite
from ..hpyp.pool import add_gradient, predict, predict_one
from . import configuration as column
from .configuration import FIELDS, FIRST_RECORD, FIRST_SYMBOL, ROOT, SHIFT, execute, new_records
from .contexts import read_context
from .decoding import UNUSED
from .distributions import Derivations, event_of
from .likelihood import is_factored
from .particle_filter import log_sum, search_block
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
    n, size, used = end - start, len(beam), 0
    for i in range(size):
        used = max(used, beam[i].record + 1)
    path = np.empty((used + 2 * n, FIELDS), dtype=np.int32)
    for record in range(used):
        overwrite(path[record], records[record])
    share = np.zeros(len(path))
    evidence = log_sum(beam["theta"])
    for i in range(size):
        share[beam[i].record] -= exp(beam[i].theta - evidence)
    for record in range(used - 1, FIRST_RECORD - 1, -1):
        share[path[record, column.PREVIOUS]] += share[record]
    top, word = ROOT, 0
    for action in derivations.actions[2 * start : 2 * end]:
        place = start + min(word, n - 1)
        tag, form = derivations.tags[place], blocks.words[place]
        same = NONE  # The record of the beam that is the same
        for record in range(FIRST_RECORD, used):
            if path[record, column.PREVIOUS] == top and path[record, column.ACTION] == action:
                if action != SHIFT or path[record, column.TAG] == FIRST_SYMBOL + tag:
                    same = record
                    break
        if same == NONE:
            execute(path, used, top, action, tag, form)
            same = used
            used += 1
        word += action == SHIFT
        share[same] += 1.0 + joint
        top = same
    log_share = -10.0  # Of a derivation that is not in the beam
    for i in range(size):
        if beam[i].record == top:
            log_share = beam[i].theta - evidence
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
    pools = parser.transition, parser.label, parser.tag, parser.word
    queries = work.transition, work.label, work.tag, work.word
    for i in range(len(pools)):
        pool, query = pools[i], queries[i]
        known, kind, outcome = event_of(
            i, is_factored(parser), records[top, column.DEPTH], action, tag, word
        )
        if outcome == NONE:
            continue
        row = query.key[2:]
        read_context(pool.elements, records, top, known, row)
        out, scratch, probability = query.distribution, query.scratch, 1.0
        if pool.mixed:
            probability = predict_one(pool, row, outcome, scratch)
        else:
            predict(pool, row, kind, scratch, out)
        add_gradient(pool, outcome, probability, share, scratch, out)
