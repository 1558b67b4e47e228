"""Seating, hyperparameters and trees together: the whole sampler against its own prior (Geweke 2004)."""

import math

import numpy as np
from small_models import learning, make_model
from test_hyperparameters import batch_error

from spacy_hpyp.annotation.documents import join
from spacy_hpyp.compiled import NONE, borrowing, compiled, inner
from spacy_hpyp.head_outward.contexts import CASES, LABEL, TAG, WORD
from spacy_hpyp.head_outward.distributions import ContextLists
from spacy_hpyp.head_outward.events import events_of
from spacy_hpyp.head_outward.latent import visit_latent
from spacy_hpyp.hpyp.franchise import (
    N_RESTAURANTS,
    TABLES,
    TIER,
    open_restaurant,
    restaurant_distribution,
    seat_noting,
    unseat_as,
)
from spacy_hpyp.hpyp.hyperparameters import resample
from spacy_hpyp.inference.drawing import draw
from spacy_hpyp.inference.gibbs import put_back, remove_events

#: What the sampler is tested with.
GENERATED = ContextLists(
    tag=[["parent.tag", "direction", "sibling.tag"]], word=[["child.tag"]], case=[], label=[["child.tag", "direction"]]
)
PARTS = ("tag", "word", "label")
NUMBERS = np.array([TAG, WORD, LABEL])
#: How many words sentences have, since others are drawn anew: few enough to draw them, enough for several trees. And more events than
#: they can have.
LEAST, MOST, EVENTS = 2, 3, 40
ROOT_TAG, NO_TAG = 2, 3
# How often a sentence is drawn anew until it has so many words.
TRIES = 10


@inner
def generate_event(franchises, part, first, second, third, room, rng, notes, count):
    """Draw an outcome given some symbols and seat it, noting how it is taken back."""
    franchise, (row, probability) = franchises[part], room
    row[0], row[1], row[2] = first, second, third
    out = probability[: franchise.alphabet[0]]
    restaurant = open_restaurant(franchise, 0, row)
    restaurant_distribution(franchise, restaurant, out)
    dish = draw(out, out.sum(), rng)
    _, tables, size = seat_noting(franchise, restaurant, dish, rng)
    noted = notes[count[0]]
    noted[0], noted[1], noted[2], noted[3], noted[4] = part, restaurant, dish, tables, size
    count[0] += 1
    return dish


@borrowing
def take_back(franchises, notes, count):
    """Remove what has been noted."""
    for i in range(count[0] - 1, -1, -1):
        unseat_as(franchises[notes[i, 0]], notes[i, 1], notes[i, 2], notes[i, 3], notes[i, 4])
    count[0] = 0


@compiled
def generate(franchises, rng, notes, count, sentence):
    """Draw a sentence from its head outwards, each event given all before it.

    franchises (tuple[Franchise, ...]): Those of `PARTS`.
    notes (int64[*, 5]), count (int64[1]): What has been seated is added.
    sentence (int32[4, MOST]): Overwritten with cased words, tags, heads and labels.
    RETURNS (int): Its length, or 0 if it is too short or too long.
    """
    stop = franchises[0].alphabet[0] - 1
    room = np.empty(3, dtype=np.int32), np.empty(stop + 1)
    found = np.full((4, MOST), NONE, dtype=np.int32)
    # The words in the order in which they are generated; `order` has them in that of the sentence.
    order = np.zeros(MOST, dtype=np.int64)
    size, parent = 0, -1
    while parent < size:
        # ROOT comes before all parents, with one child and no STOP.
        for side in range(1 if parent < 0 else 0, 2):
            sibling, outermost = NO_TAG, parent
            while parent >= 0 or size == 0:
                parent_tag = ROOT_TAG if parent < 0 else found[1, parent]
                tag = generate_event(franchises, 0, parent_tag, side, sibling, room, rng, notes, count)
                if tag == stop:
                    break
                if size == MOST:
                    return 0
                found[1, size] = tag
                found[0, size] = CASES * generate_event(franchises, 1, tag, NONE, NONE, room, rng, notes, count)
                if parent >= 0:
                    found[2, size] = parent
                    found[3, size] = generate_event(franchises, 2, tag, side, NONE, room, rng, notes, count)
                    # Its siblings have no children yet: it stands next to the last of them.
                    place = np.argmax(order[:size] == outermost) + side
                    order[place + 1 : size + 1] = order[place:size].copy()
                    order[place] = size
                sibling, outermost = tag, size
                size += 1
        parent += 1
    for place in range(size):
        sentence[:, place] = found[:, order[place]]
        if sentence[2, place] != NONE:
            sentence[2, place] = np.argmax(order[:size] == sentence[2, place])
    return size if size >= LEAST else 0


@compiled
def draw_from_prior(franchises, rng, notes, count, sentences, lengths):
    """Draw hyperparameters, and then sentences with their seating, anew until all sentences have the right length.

    notes, count: What was seated when it was called before; see `generate`.
    """
    while True:
        take_back(franchises, notes, count)
        for part in range(3):
            franchise = franchises[part]
            for tier in range(len(franchise.discount)):
                franchise.discount[tier] = rng.random()
                franchise.strength[tier] = rng.exponential() - franchise.discount[tier]
        for i in range(len(sentences)):
            lengths[i] = generate(franchises, rng, notes, count, sentences[i])
            if lengths[i] == 0:
                break
        else:
            return


@compiled
def draw_given_others(pools, sizes, rng, notes, count, sentence, length):
    """Draw a sentence anew, given hyperparameters and the other sentences; it stays if none has the right length.

    RETURNS (int): Its length.
    """
    words, tags, heads, labels = sentence[0, :length], sentence[1, :length], sentence[2, :length], sentence[3, :length]
    franchises = pools[0].franchise, pools[1].franchise, pools[2].franchise
    events = [events_of(pools[i], NUMBERS[i], words, tags, heads, labels, sizes) for i in range(3)]
    for i in range(3):
        remove_events(pools[i], events[i], rng)
    fresh = np.empty_like(sentence)
    for _ in range(TRIES):
        count[0] = 0
        found = generate(franchises, rng, notes, count, fresh)
        if found > 0:
            sentence[:] = fresh
            return found
        take_back(franchises, notes, count)
    for i in range(3):
        put_back(pools[i], events[i])
    return length


STATISTICS = (
    *("tag root discount", "tag leaf discount", "tag leaf log strength", "word leaf discount"),
    *("label leaf log strength", "tag root tables", "tag leaf tables", "word leaf tables", "label leaf tables"),
    *("lengths", "equal lengths", "known tags", "known words", "tags agree with heads'", "labels", "labels agree"),
    *("children on the left", "roots in the middle", "grandchildren", "siblings on one side"),
    *("tag leaf discount * tables", "children on the left * tag leaf log strength"),
)


def tables_of(franchise, level):
    restaurants = franchise.restaurants[: franchise.used[N_RESTAURANTS]]
    return int(restaurants[restaurants[:, TIER] == level, TABLES].sum())


def statistics_of(model, sentences, lengths):
    """The values of `STATISTICS`; strengths as log(theta + d), which is finite."""
    tag, word, label = model.tag.franchise, model.word.franchise, model.label.franchise
    heights = [float(np.log(each.strength[-1] + each.discount[-1])) for each in (tag, word, label)]
    tables = tables_of(tag, 0), tables_of(tag, 3), tables_of(word, 1), tables_of(label, 2)
    left = middle = grand = siblings = agreeing = known_tags = known_words = 0
    labels = []
    for sentence, n in zip(sentences.tolist(), lengths.tolist()):
        words, tags, heads, marks = (part[:n] for part in sentence)
        known_tags += tags.count(0)
        known_words += words.count(0)
        middle += n == 3 and heads[1] == NONE
        sides = []
        for child, head in enumerate(heads):
            if head != NONE:
                left += child < head
                grand += heads[head] != NONE
                agreeing += tags[child] == tags[head]
                labels.append(marks[child])
                sides.append((head, child < head))
        siblings += len(sides) - len(set(sides))
    return (
        *(tag.discount[0], tag.discount[-1], heights[0], word.discount[-1], heights[2], *tables),
        *(lengths.sum(), lengths[0] == lengths[1], known_tags, known_words, agreeing, sum(labels)),
        *(len(labels) > 1 and labels[0] == labels[-1], left, middle, grand, siblings),
        *(tag.discount[-1] * tables[1], left * heights[0]),
    )


def test_latent_trees_seating_and_hyperparameters_preserve_the_joint_distribution():
    rng = np.random.default_rng(2024)
    model = learning(make_model(GENERATED, uniform_roots=False), 2000)
    pools = tuple(getattr(model, name) for name in PARTS)
    franchises = tuple(pool.franchise for pool in pools)
    notes, count = np.empty((2 * EVENTS, 5), dtype=np.int64), np.zeros(1, dtype=np.int64)
    sentences, lengths = np.full((2, 4, MOST), NONE, dtype=np.int32), np.zeros(2, dtype=np.int64)
    forward = np.empty((2500, len(STATISTICS)))
    for i in range(len(forward)):
        draw_from_prior(franchises, rng, notes, count, sentences, lengths)
        forward[i] = statistics_of(model, sentences, lengths)
    chain = np.empty((6000, len(STATISTICS)))
    draws, totals, seated = np.zeros(2, dtype=np.int64), np.zeros(6), np.array([True, True])
    for i in range(len(chain)):
        for sentence in range(2):
            lengths[sentence] = draw_given_others(
                pools, model.sizes, rng, notes, count, sentences[sentence], lengths[sentence]
            )
        rows = join([sentence[:, :length] for sentence, length in zip(sentences, lengths)])
        assert visit_latent(model, rows, seated, rng, totals, draws) == 2
        for sentence, start, end in zip(sentences, rows.offsets, rows.offsets[1:]):
            sentence[:, : end - start] = [part[start:end] for part in rows[:4]]
        resample(franchises[i % 3], rng)
        chain[i] = statistics_of(model, sentences, lengths)
    assert 0 < draws[1] < draws[0]
    for name, drawn, walked in zip(STATISTICS, forward.T, chain.T):
        error = math.hypot(drawn.std() / math.sqrt(len(drawn)), batch_error(walked))
        assert len(np.unique(drawn)) > 1, name
        assert abs(drawn.mean() - walked.mean()) < 4 * error, name
