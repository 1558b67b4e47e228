"""Sentences drawn from a frozen model, action by action, tag by tag and word by word (B&B section 5.5).

If labels are part of the actions, some probability falls on actions that a configuration does not have. A
derivation that draws one is given up and begun again, and so is one that becomes too long: what is drawn is
the model's distribution given that the derivation is valid and its sentence not too long.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import compiled, inner
from ..inference.drawing import draw
from ..pools.pool import is_plain
from ..pools.prediction import alphabet_of, find_shares
from ..pools.view import view_distribution
from .configuration import END, FIELDS, FIRST_RECORD, ROOT, SHIFT, begin, reduce, shift
from .contexts import read_context
from .likelihood import ask_all, is_factored
from .sampling import weigh_directions, weigh_labels


class Derivation(NamedTuple):
    """A drawn sentence: actions (int32[2n]), tags (int32[n]) and words (int32[n])."""

    actions: np.ndarray
    tags: np.ndarray
    words: np.ndarray


@inner
def draw_word(pool, row, scratch, out, rng):
    """Draw a word from a frozen pool that mixes its experts: first the expert, then one of its words."""
    expert = 0
    if not is_plain(pool):
        mass = find_shares(pool, row, 0, scratch)
        expert = draw(scratch.cache.weight, mass, rng)
    view_distribution(pool.finished, expert, row, out)
    return draw(out, out.sum(), rng)


@compiled
def draw_derivation(model, queries, rng, drawn):
    """Draw a derivation.

    RETURNS (int): The length of the sentence, or 0 if an action was drawn that does not exist, or one word
        too many.
    """
    query, p_tag = queries.word, queries.tag.distribution
    out = np.empty(alphabet_of(model.word))
    records = np.empty((FIRST_RECORD + len(drawn.actions), FIELDS), dtype=np.int32)
    top, used = ROOT, begin(records)
    step, word = 0, 0
    while True:
        weigh_directions(model, records, top, queries)
        weigh_labels(model, records, top, queries)
        mass = queries.action.sum()
        if not is_factored(model) and rng.random() >= mass:
            return 0
        action = draw(queries.action, mass, rng)
        if action == SHIFT and word == len(drawn.words):
            return 0
        drawn.actions[step] = action
        step += 1
        if action == SHIFT:
            ask_all(model.tag, records, top, 0, 0, queries.tag)
            tag = draw(p_tag, 1.0, rng)
            read_context(model.word.elements, records, top, tag, query.key[2:])
            form = draw_word(model.word, query.key[2:], query.scratch, out, rng)
            drawn.tags[word], drawn.words[word] = tag, form
            word += 1
            shift(records, used, top, tag, form)
        else:
            reduce(records, used, top, action)
        top = used
        used += 1
        if action == END:
            return word


@compiled
def draw_sentence(model, queries, attempts, rng, drawn):
    """Draw a sentence with its derivation.

    model (Distributions), queries (Queries): A frozen, lexicalised model, and its workspace.
    attempts (int): How often to begin a derivation.
    drawn (Derivation): Overwritten; its arrays have room for the longest sentence that is wanted.
    RETURNS (int): The length of the sentence, or 0 if none of the attempts led to one.
    """
    for _ in range(attempts):
        length = draw_derivation(model, queries, rng, drawn)
        if length > 0:
            return length
    return 0
