"""Seating, hyperparameters and trees together: the whole sampler against its own prior (Geweke 2004)."""

import math
from functools import cache

import numpy as np
import pytest
from small_models import learning, make_model
from test_hyperparameters import batch_error

from spacy_hpyp.annotation.documents import join
from spacy_hpyp.compiled import NONE, borrowing, compiled, inner
from spacy_hpyp.head_outward.contexts import CASES, LABEL, TAG, WORD
from spacy_hpyp.head_outward.distributions import HeadOutwardContexts
from spacy_hpyp.head_outward.events import events_of
from spacy_hpyp.head_outward.parsing import LatentTrees
from spacy_hpyp.hpyp.franchise import N_RESTAURANTS, TABLES, TIER, restaurant_distribution
from spacy_hpyp.hpyp.hyperparameters import resample
from spacy_hpyp.hpyp.seating import open_restaurant, seat_noting, unseat_as
from spacy_hpyp.inference.drawing import draw
from spacy_hpyp.inference.gibbs import put_back, remove_events
from spacy_hpyp.inference.metropolis import visit_latent

pytestmark = pytest.mark.slow

#: What the sampler is tested with.
GENERATED = HeadOutwardContexts(
    tag=[["parent.tag", "direction", "sibling.tag"]], word=[["child.tag"]], case=[], label=[["child.tag"]]
)
PARTS = ("tag", "word", "label")
NUMBERS = np.array([TAG, WORD, LABEL])
#: How many words the sentence has, since others are not taken: few enough to be drawn, enough for several
#: trees. And more events than
#: it can have.
LEAST, MOST, EVENTS = 2, 3, 40
ROOT_TAG, NO_TAG = 2, 3
# How often it is drawn until it has so many words.
TRIES = 30


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
                found[0, size] = CASES * generate_event(
                    franchises, 1, tag, NONE, NONE, room, rng, notes, count
                )
                if parent >= 0:
                    found[2, size] = parent
                    found[3, size] = generate_event(franchises, 2, tag, NONE, NONE, room, rng, notes, count)
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
def draw_from_prior(franchises, rng, notes, count, sentence):
    """Draw hyperparameters, and then a sentence with its seating, anew until it has the right length.

    notes, count: What was seated when it was called before; see `generate`.
    RETURNS (int): Its length.
    """
    while True:
        take_back(franchises, notes, count)
        for part in range(3):
            franchise = franchises[part]
            for tier in range(len(franchise.discount)):
                franchise.discount[tier] = rng.random()
                franchise.strength[tier] = rng.exponential() - franchise.discount[tier]
        length = generate(franchises, rng, notes, count, sentence)
        if length > 0:
            return length


@compiled
def draw_given_hyperparameters(pools, sizes, rng, notes, count, sentence, length):
    """Draw the sentence anew; it stays if none has the right length. Returns its length."""
    words, tags, heads, labels = (
        sentence[0, :length],
        sentence[1, :length],
        sentence[2, :length],
        sentence[3, :length],
    )
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
    *(
        "label leaf log strength",
        "tag root tables",
        "tag leaf tables",
        "word leaf tables",
        "label leaf tables",
    ),
    *("length", "known tags", "known words", "labels", "labels agree", "tags agree with heads'"),
    *("roots at an end", "children on the left", "grandchildren", "siblings on one side"),
    *("tag leaf discount * tables", "children on the left * tag leaf log strength"),
)


def tables_of(franchise, level):
    restaurants = franchise.restaurants[: franchise.used[N_RESTAURANTS]]
    return int(restaurants[restaurants[:, TIER] == level, TABLES].sum())


def statistics_of(franchises, sentence):
    """The values of `STATISTICS`; strengths as log(theta + d), which is finite."""
    tag, word, label = franchises
    heights = [float(np.log(each.strength[-1] + each.discount[-1])) for each in franchises]
    tables = tables_of(tag, 0), tables_of(tag, 3), tables_of(word, 1), tables_of(label, 1)
    words, tags, heads, labels = sentence.tolist()
    children = [child for child, head in enumerate(heads) if head != NONE]
    left = sum(child < heads[child] for child in children)
    return (
        *(tag.discount[0], tag.discount[-1], heights[0], word.discount[-1], heights[2], *tables),
        *(len(words), tags.count(0), words.count(0), labels.count(0)),
        len(children) == 2 and labels[children[0]] == labels[children[1]],
        sum(tags[child] == tags[heads[child]] for child in children),
        *(NONE in heads[::2], left, sum(heads[heads[child]] != NONE for child in children)),
        len(children) - len({(heads[child], child < heads[child]) for child in children}),
        *(tag.discount[-1] * tables[1], left * heights[0]),
    )


class Sampler:
    """A sentence and its seating, and all that draws them.

    seed (int): Of the source of randomness.
    """

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.model = learning(make_model(GENERATED, uniform_roots=False), 2000)
        self.pools = tuple(getattr(self.model, name) for name in PARTS)
        self.franchises = tuple(pool.franchise for pool in self.pools)
        self.notes = np.empty((EVENTS, 5), dtype=np.int64), np.zeros(1, dtype=np.int64)
        self.sentence, self.length = np.full((4, MOST), NONE, dtype=np.int32), 0

    def forward(self, steps):
        """Statistics of independent draws."""
        found = np.empty((steps, len(STATISTICS)))
        for i in range(steps):
            self.length = draw_from_prior(self.franchises, self.rng, *self.notes, self.sentence)
            found[i] = statistics_of(self.franchises, self.sentence[:, : self.length])
        return found

    def walk(self, steps, *, corrected):
        """Statistics of a chain that draws the sentence given the hyperparameters, and they and its tree
        given its words and tags.

        corrected (bool): Whether a tree that is drawn may not be accepted.
        """
        found, totals, draws = np.empty((steps, len(STATISTICS))), np.zeros(6), np.zeros(2, dtype=np.int64)
        self.length = draw_from_prior(self.franchises, self.rng, *self.notes, self.sentence)
        for i in range(steps):
            # What latent trees do shows if they go on for some time.
            if i % 3 == 0:
                self.length = draw_given_hyperparameters(
                    self.pools, self.model.sizes, self.rng, *self.notes, self.sentence, self.length
                )
            rows = join([self.sentence[:, : self.length]])
            if not corrected:
                for pool, number in zip(self.pools, NUMBERS):
                    remove_events(pool, events_of(pool, number, *rows[:4], self.model.sizes), self.rng)
            latent = LatentTrees(self.model, rows)
            assert visit_latent(latent, np.array([corrected]), self.rng, totals, draws) == 1
            self.sentence[:, : self.length] = rows[:4]
            resample(self.franchises[i % 3], self.rng)
            found[i] = statistics_of(self.franchises, self.sentence[:, : self.length])
        assert (0 < draws[1] < draws[0]) == corrected
        return found


@cache
def draws_from_prior():
    return Sampler(2024).forward(3000)


def standard_errors(walked):
    """How many of them there are between the means of a chain and of independent draws."""
    drawn = draws_from_prior()
    assert all(len(np.unique(values)) > 1 for values in drawn.T)
    error = np.hypot(drawn.std(axis=0) / math.sqrt(len(drawn)), [batch_error(values) for values in walked.T])
    return dict(zip(STATISTICS, np.abs(drawn.mean(axis=0) - walked.mean(axis=0)) / error))


def test_latent_trees_seating_and_hyperparameters_preserve_the_joint_distribution():
    found = standard_errors(Sampler(7).walk(6_000, corrected=True))
    assert max(found.values()) < 4, found


def test_trees_that_are_all_accepted_do_not_preserve_the_joint_distribution():
    found = standard_errors(Sampler(7).walk(6_000, corrected=False))
    assert found["labels agree"] > 4
