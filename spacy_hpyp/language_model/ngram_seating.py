"""Scoring and drawing of an n-gram model: a word is conditioned on the words before it.

A text is a *stream*: the numbers of its words with the *boundary*, the last dish of the alphabet, after each
sentence. The boundary is predicted like a word. As an element of a context it stands for what is before the
beginning of the sentence. See `spacy_hpyp.hpyp.sequences`.
"""

from math import log

import numpy as np

from ..compiled import compiled
from ..hpyp.franchise import deepest
from ..hpyp.seating import open_restaurant, seat, unseat
from ..hpyp.sequences import BEFORE, read_context
from ..pools.finished import average_probability, draw_dish


@compiled
def visit(franchise, rows, seated, rng):
    """One Gibbs step for each of some n-grams: it is removed, if it is seated, and added.

    franchise (Franchise): With room for them.
    rows (int32[*, order]): A word each, and those before it, the nearest first.
    seated (bool): Whether they are seated.
    rng (numpy.random.Generator): The source of randomness.
    RETURNS (float): The sum of the log-probabilities in nats, each predicted before it is added.
    """
    total = 0.0
    for row in rows:
        # Its contexts stand where `read_context` has them.
        restaurant = open_restaurant(franchise, 0, row)
        if seated:
            unseat(franchise, restaurant, row[0], rng)
        total += log(seat(franchise, restaurant, row[0], rng))
    return total


@compiled
def draw_stream(average, beginning, attempts, rng, stream):
    """Draw a sentence, word by word.

    average (Average): Of seatings that `visit` made.
    beginning (int32[m]): The words it begins with; may be empty.
    attempts (int): How often to begin: a sentence without words, or with one word too many, is given up.
    rng (numpy.random.Generator): The source of randomness.
    stream (int32[*]): Overwritten with the words and the boundary; has room for the longest sentence that is
        wanted.
    RETURNS (int): How many words there are, or 0 if none of the attempts led to a sentence.
    """
    boundary = average.franchise.alphabet[0] - 1
    row = np.empty(BEFORE + average.franchise.columns.shape[1], dtype=np.int32)
    stream[: len(beginning)] = beginning
    for _ in range(attempts):
        for place in range(len(beginning), len(stream)):
            read_context(stream, 0, place, 0, boundary, row)
            stream[place] = draw_dish(average, row, rng)
            if stream[place] == boundary:
                if place > 0:
                    return place
                break
    return 0


@compiled
def next_distributions(average, words, out):
    """The distributions of what follows each prefix of a sentence, averaged over samples.

    average (Average): Of seatings that `visit` made.
    words (int32[n]): The words of the sentence.
    out (float64[n + 1, alphabet]): Overwritten with p(word or boundary | the words before), before the first
        word and after each.
    """
    boundary = average.franchise.alphabet[0] - 1
    row = np.empty(BEFORE + average.franchise.columns.shape[1], dtype=np.int32)
    for place in range(len(words) + 1):
        read_context(words, 0, place, 0, boundary, row)
        for dish in range(boundary + 1):
            out[place, dish] = average_probability(average, row, dish)


@compiled
def score_block(average, words, may_start, log_probability, passed_on):
    """The log-probabilities of a block's words and of its end, each given the words before it, averaged over
    samples and summed over where sentences begin: what is known of that is how probable each beginning of the
    present sentence is.

    average (Average): Of seatings that `visit` made.
    words (int32[n]), may_start (bool[n]): A block, see `Blocks`. Where another sentence may begin, the end of
        the one before is counted with its first word.
    log_probability (float64[n + 1]): Overwritten with log p(word | the words before it in the block) in nats.
    passed_on (float64[n + 1]): Overwritten with how much of each prediction comes from the uniform
        distribution below all counts, where the present sentence begins as is most probable. The less it is,
        the more has been seen of such a context.
    """
    boundary = average.franchise.alphabet[0] - 1
    longest = average.franchise.columns.shape[1]
    row = np.empty(BEFORE + longest, dtype=np.int32)
    # How probable it is that so many words of the sentence precede; the last place is for more of them as
    # well.
    begun, continued = np.zeros(longest + 1), np.empty(longest + 1)
    begun[0] = 1.0
    for place in range(len(words) + 1):
        within = 0 < place < len(words)
        dish = words[place] if place < len(words) else boundary
        likely = np.argmax(begun)
        read_context(words, place - likely, place, 0, boundary, row)
        passed_on[place] = average.passed_on[deepest(average.franchise, 0, row)].mean()
        continued[:] = 0.0
        ended = 0.0
        for before in range(longest + 1):
            if begun[before] == 0.0:
                continue
            read_context(words, place - before, place, 0, boundary, row)
            continued[min(before + 1, longest)] += begun[before] * average_probability(average, row, dish)
            if within and may_start[place]:
                ended += begun[before] * average_probability(average, row, boundary)
        if ended > 0.0:
            read_context(words, place, place, 0, boundary, row)
            continued[min(1, longest)] += ended * average_probability(average, row, dish)
        total = continued.sum()
        log_probability[place] = log(total)
        begun[:] = continued / total
