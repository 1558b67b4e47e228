"""Generation: sentences drawn from a frozen model, action by action, tag by tag and word by word (B&B section
5.5).

In a model whose labels are part of the actions, some probability falls on actions that a configuration does
not have. A derivation that draws one is given up and
begun again, and so is one that becomes too long: what is drawn is exactly the model's distribution given that
the derivation is a valid one of a sentence that is not too long.

Where the first words are given, a derivation of them is drawn from its posterior by the particle filter of
`sampling`, again for each attempt, and continued. The more particles, the closer is what the filter draws to
the posterior.
"""

from math import inf, log
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, compiled, inner
from ..inference.drawing import draw
from ..pools.pool import is_plain
from ..pools.prediction import alphabet_of, find_shares, predict_one
from ..pools.view import view_distribution
from .configuration import END, FIELDS, FIRST_RECORD, ROOT, SHIFT, begin, reduce, shift
from .contexts import read_context
from .likelihood import ask_all, is_factored
from .sampling import sample_parse, weigh_directions, weigh_labels


class Derivation(NamedTuple):
    """A sentence that has been drawn.

    actions (int32[2n]), tags, words (int32[n]): Its derivation.
    log_probability (float64[1]): Of actions, tags and words together, in nats.
    """

    actions: np.ndarray
    tags: np.ndarray
    words: np.ndarray
    log_probability: np.ndarray


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
def continue_derivation(model, actions, tags, words, queries, rng, drawn):
    """Draw the rest of a derivation that begins with some actions, tags and words.

    drawn (Derivation): Overwritten; its arrays have room for the longest sentence that is wanted.
    RETURNS (int): The length of the sentence, or 0 if an action was drawn that does not exist, or one word
        too many.
    """
    limit, query, p_tag = len(drawn.words), queries.word, queries.tag.distribution
    out = np.empty(alphabet_of(model.word))
    records = np.empty((FIRST_RECORD + 2 * limit, FIELDS), dtype=np.int32)
    top, used = ROOT, begin(records)
    step, word = 0, 0
    log_probability = 0.0
    while True:
        weigh_directions(model, records, top, queries)
        weigh_labels(model, records, top, queries)
        mass = queries.action.sum()
        if step < len(actions):
            action = np.int64(actions[step])
        elif not is_factored(model) and rng.random() >= mass:
            return 0
        else:
            action = draw(queries.action, mass, rng)
        if action == SHIFT and word == limit:
            return 0
        log_probability += log(queries.action[action])
        drawn.actions[step] = action
        step += 1
        if action == SHIFT:
            ask_all(model.tag, records, top, 0, 0, queries.tag)
            tag = np.int64(tags[word]) if word < len(tags) else draw(p_tag, 1.0, rng)
            read_context(model.word.elements, records, top, tag, query.key[2:])
            if word < len(words):
                drawn.words[word] = words[word]
            else:
                drawn.words[word] = draw_word(model.word, query.key[2:], query.scratch, out, rng)
            form = np.int64(drawn.words[word])
            p_word = predict_one(model.word, query.key[2:], form, query.scratch)
            log_probability += log(p_tag[tag]) + log(p_word)
            drawn.tags[word] = tag
            word += 1
            shift(records, used, top, tag, form)
        else:
            reduce(records, used, top, action)
        top = used
        used += 1
        if action == END:
            drawn.log_probability[0] = log_probability
            return word


@compiled
def draw_sentence(model, queries, beginning, particles, attempts, rng, drawn):
    """Draw a sentence with its derivation.

    model (Distributions), queries (Queries): A frozen, lexicalised model, and its workspace.
    beginning (int32[m]): The words it begins with; may be empty.
    particles (int): How many particles the derivation of these is drawn with.
    attempts (int): How often to begin a derivation.
    drawn (Derivation): Overwritten; its arrays have room for the longest sentence that is wanted.
    RETURNS (int): The length of the sentence, or 0 if none of the attempts led to one.
    """
    m = len(beginning)
    nothing = np.empty(0, dtype=np.int32)
    unknown = np.full(m, NONE, dtype=np.int32)
    actions, tags = np.empty(2 * m, dtype=np.int32), np.empty(m, dtype=np.int32)
    whole, every_tag = np.bool_(False), np.bool_(True)
    for _ in range(attempts):
        steps = 0
        if m > 0:
            estimate = sample_parse(
                model,
                queries,
                beginning,
                unknown,
                whole,
                particles,
                nothing,
                nothing,
                every_tag,
                rng,
                actions,
                tags,
            )
            if estimate == -inf:
                continue
            while steps < len(actions) and actions[steps] != NONE:
                steps += 1
        length = continue_derivation(model, actions[:steps], tags, beginning, queries, rng, drawn)
        if length > 0:
            return length
    return 0
