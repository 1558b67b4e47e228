"""A model so small that everything it can generate can be counted."""

import itertools
from functools import cache
from math import log

import numpy as np
import pytest
from compiling import compiled
from seating import PRECISION, predictive_probability

from spacy_hpyp.annotation.arrays import Blocks
from spacy_hpyp.annotation.sentences import join
from spacy_hpyp.arc_standard import decoding
from spacy_hpyp.arc_standard.configuration import (
    DEPTH,
    END,
    ENDS,
    FIELDS,
    FIRST_ARC,
    LEFT_ARCS,
    RIGHT_ARCS,
    ROOT,
    SHIFT,
    SHIFTS,
    action_count,
    begin,
    class_of,
    derivation,
    label_of,
    reduce,
    tree_of,
)
from spacy_hpyp.arc_standard.configuration import shift as push
from spacy_hpyp.arc_standard.contexts import read_context
from spacy_hpyp.arc_standard.distributions import ContextLists, static_derivations
from spacy_hpyp.arc_standard.model import JointModel
from spacy_hpyp.arc_standard.search import Search
from spacy_hpyp.compiled import NONE
from spacy_hpyp.hpyp.franchise import CUSTOMERS, TIER, deepest
from spacy_hpyp.hpyp.pool import Weights, bucket_of
from spacy_hpyp.text.unknown_words import universal_unknown_words
from spacy_hpyp.text.vocabulary import Vocabulary, VocabularySettings

deepest = compiled(deepest)

EVERYTHING = 10**18

#: Words, tags and heads; a, b are words and the numbers tags.
TREES = [
    ([0], [0], [NONE]),
    ([0, 1], [0, 1], [1, NONE]),
    ([0, 1], [1, 0], [NONE, 0]),
    ([1, 0, 1], [1, 0, 1], [1, NONE, 1]),
    ([0, 0, 1], [0, 1, 1], [2, 2, NONE]),
    ([1, 1, 0, 0], [0, 1, 0, 0], [1, NONE, 3, 1]),
]

POOLS = {
    "the paper's": ContextLists(
        transition=[["s1.tag", "s2.tag", "s1.right.tag", "s1.word"]],
        label=[],
        tag=[["s1.tag", "s2.tag", "s1.left.tag"]],
        word=[["next.tag", "s1.word"]],
    ),
    "several experts": ContextLists(
        transition=[["s1.tag", "s2.tag"], ["s1.word"], []],
        label=[],
        tag=[["s1.tag", "s2.tag"], ["s1.word"]],
        word=[["next.tag", "s1.tag"], ["s1.word"]],
    ),
    "directions and labels": ContextLists(
        transition=[["s1.tag", "s2.tag"], ["s1.word", "depth"], ["action"]],
        label=[["next.direction", "s1.tag"], ["s2.word", "s1.left.label"]],
        tag=[["w1.tag", "w2.tag"], ["s1.word", "s1.right.count"]],
        word=[["next.tag", "w1.word"], ["s1.word", "s2.distance"]],
    ),
}


def make_model(contexts, labels=1, sweeps=3, one_table=False):
    settings = VocabularySettings(universal_unknown_words(), min_count=1)
    named = [([f"word{w}" for w in words], tags) for words, tags, _ in TREES]
    model = JointModel(contexts, settings, one_table=one_table)
    model.initialize(
        [f"label{i}" for i in range(labels)], Vocabulary.collect(named, ["A", "B"], settings)
    )
    rng = np.random.default_rng(1)
    rows = [
        np.array(
            [
                [model.vocabulary.number(f"word{w}") for w in words],
                tags,
                heads,
                [NONE if h == NONE else (i + h) % labels for i, h in enumerate(heads)],
            ],
            dtype=np.int32,
        )
        for words, tags, heads in TREES
    ]
    for sweep in range(sweeps):
        sentences = join(rows)
        model.gibbs_step(
            sentences, static_derivations(sentences), np.full(len(rows), sweep > 0), rng
        )
        model.resample(rng)
    return model


@pytest.fixture(
    scope="module",
    params=[(name, one_table) for name in POOLS for one_table in (False, True)],
    ids=str,
)
def model(request):
    name, one_table = request.param
    return with_random_weights(make_model(POOLS[name], one_table=one_table))


def with_random_weights(model):
    rng = np.random.default_rng(2)
    model.weights = {
        name: Weights(*(part + rng.normal(0, 0.2, part.shape) for part in weights))
        for name, weights in model.weights.items()
    }
    return model


class Counter:
    """All derivations, one after the other, with probabilities from the live seating, expert by
    expert.
    """

    def __init__(self, model, best_labels=False):
        self.model = model
        self.best_labels = best_labels
        self.records = np.zeros((64, FIELDS), dtype=np.int32)
        self.first = begin(self.records)
        self.sizes = model.sizes

    def probability(self, name, top, dish, known=0):
        elements = self.model.conditionals[name].elements
        row = np.zeros(len(elements), dtype=np.int32)
        read_context(elements, self.records, top, known, row)
        depth = int(self.records[top, DEPTH])
        possible = (
            self.possible_directions(depth) if name == "transition" else range(self.sizes[name])
        )
        return self._probability(name, dish, tuple(row.tolist()), tuple(possible))

    def possible_directions(self, depth):
        if not self.model.is_factored:
            return range(self.sizes["transition"])
        return {1: [SHIFTS], 2: [SHIFTS, ENDS]}.get(depth, [SHIFTS, LEFT_ARCS, RIGHT_ARCS])

    @cache  # noqa: B019
    def _probability(self, name, dish, row, possible):
        franchise, weights = self.model.franchises[name], self.model.weights[name]
        row = np.array(row, dtype=np.int32)
        experts = len(franchise.columns)
        places = [franchise.restaurants[deepest(franchise, m, row)] for m in range(experts)]
        gates = self.model.conditionals[name].gates
        weight = [
            weights.bucket[place[TIER], bucket_of(place[CUSTOMERS])]
            + sum(weights.gate[g, row[column], m] for g, column in enumerate(gates))
            if len(weights.bucket)
            else 1.0
            for m, place in enumerate(places)
        ]
        if name == "word":
            shares = np.exp(weight) / np.exp(weight).sum()
            return sum(
                share * predictive_probability(franchise, m, row, dish)
                for m, share in enumerate(shares)
            )
        product = {
            y: np.prod(
                [predictive_probability(franchise, m, row, y) ** w for m, w in enumerate(weight)]
            )
            for y in possible
        }
        return product[dish] / sum(product.values()) if dish in product else 0.0

    def action_probability(self, top, action):
        if not self.model.is_factored:
            return self.probability("transition", top, action)
        direction = class_of(action)
        p = self.probability("transition", top, direction)
        return (
            p
            if action < FIRST_ARC
            else p * self.probability("label", top, label_of(action), direction)
        )

    def derivations(self, n, words=None):
        """Yield (probability, last record) of all derivations of sentences of n words, or of the
        given words.
        """
        yield from self._grow(1.0, ROOT, self.first, n, words, 0)

    def actions(self, top):
        """The actions to try: all of them, or those with the likeliest labels."""
        actions = range(action_count(len(self.model.labels)))
        if not self.best_labels or self.records[top, DEPTH] < 3:
            return actions
        arcs = [
            max(actions[start::2], key=lambda action: self.action_probability(top, action))
            for start in (2, 3)
        ]
        return [SHIFT, END, *arcs]

    def _grow(self, probability, top, used, n, words, shifted):
        if shifted == n and self.records[top, DEPTH] == 1:
            yield probability, top
            return
        depth = self.records[top, DEPTH]
        for action in self.actions(top):
            if class_of(action) not in self.possible_directions(depth) and self.model.is_factored:
                continue
            p = probability * self.action_probability(top, action)
            if action == SHIFT and shifted < n:
                for tag, word in itertools.product(
                    range(len(self.model.tags)),
                    range(self.sizes["word"]) if words is None else [words[shifted]],
                ):
                    q = (
                        p
                        * self.probability("tag", top, tag)
                        * self.probability("word", top, word, tag)
                    )
                    push(self.records, used, top, tag, word)
                    yield from self._grow(q, used, used + 1, n, words, shifted + 1)
            elif (action == END and depth == 2 and shifted == n) or (
                class_of(action) > 1 and depth > 2
            ):
                reduce(self.records, used, top, action)
                yield from self._grow(p, used, used + 1, n, words, shifted)

    def tree(self, last, n):
        actions, tags = np.empty(2 * n, dtype=np.int32), np.empty(n, dtype=np.int32)
        heads, labels = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        derivation(self.records, last, actions, tags)
        tree_of(actions, heads, labels)
        return tags.tolist(), heads.tolist(), labels.tolist()


@pytest.fixture(scope="module")
def counter(model):
    """For all tests of the model, as it remembers probabilities."""
    return Counter(model)


def decode(model, words, particles=EVERYTHING, tags=None, labels_per_arc=1):
    n = len(words)
    blocks = Blocks(
        words=np.array(words, dtype=np.int32),
        tags=np.full(n, NONE, dtype=np.int32) if tags is None else np.array(tags, dtype=np.int32),
        may_start=np.zeros(n, dtype=bool),
        offsets=np.array([0, n]),
    )
    return decoding.decode(
        model.frozen, blocks, Search(particles, 0.0, labels_per_arc=labels_per_arc)
    )


def test_probability_of_all_sentences_grows_with_their_length_and_stays_below_one(counter):
    total, totals = 0.0, []
    for n in (1, 2, 3):
        total += sum(p for p, _ in counter.derivations(n))
        totals.append(total)
    assert totals == sorted(set(totals))
    assert 0.2 < totals[-1] < 1.0


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_beam_with_enough_particles_is_exhaustive_search(model, counter, n):
    for words in itertools.product(range(2), repeat=n):
        found = [(p, counter.tree(last, n)) for p, last in counter.derivations(n, words)]
        parses = decode(model, words)
        assert parses.log_probability.sum() == pytest.approx(
            log(sum(p for p, _ in found)), abs=1e-4 + 4 * n * PRECISION
        )
        highest = max(p for p, _ in found)
        best = [tree for p, tree in found if p > highest * (1 - 1e-9)]
        assert (parses.tags.tolist(), parses.heads.tolist(), parses.labels.tolist()) in best


def test_given_tags_leave_only_their_derivations(model, counter):
    words, tags = [0, 1, 0], [1, 1, 0]
    # Of twelve factors: six actions, three tags and three words.
    sums = sum(p for p, last in counter.derivations(3, words) if counter.tree(last, 3)[0] == tags)
    assert decode(model, words, tags=tags).log_probability.sum() == pytest.approx(
        log(sums), abs=12 * PRECISION
    )


def test_words_of_a_prefix_have_what_all_derivations_that_shift_them_have(model, counter):
    # With shifting as the only thing left out of the sum, p(w1) p(w2 | w1) is what has been
    # generated up to w2.
    first = sum(
        counter.action_probability(ROOT, SHIFT)
        * counter.probability("tag", ROOT, tag)
        * counter.probability("word", ROOT, 1, tag)
        for tag in range(2)
    )
    assert decode(model, [1, 0, 0]).log_probability[0] == pytest.approx(
        log(first), abs=3 * PRECISION
    )


def test_fewer_particles_find_less_of_the_sum(model):
    for words in itertools.product(range(2), repeat=4):
        all_of_it = decode(model, words).log_probability.sum()
        for particles in (1, 3, 10, 100):
            assert decode(model, words, particles).log_probability.sum() <= all_of_it + 1e-9


def test_first_visit_predicts_from_nothing_but_the_sentence_itself():
    model = make_model(POOLS["the paper's"], sweeps=0)
    actions, tags, words = (model.sizes[name] for name in ("transition", "tag", "word"))
    sentence = join([np.array([[0], [1], [NONE], [NONE]], dtype=np.int32)])
    found, _ = model.gibbs_step(
        sentence, static_derivations(sentence), np.array([False]), np.random.default_rng(0)
    )
    # The shift and the end meet at the root only, where the one customer leaves (0.5 + 0.5) / (0.5
    # + 1) to the base.
    assert sum(found.values()) == pytest.approx(
        log(1 / actions) + log(1 / 1.5 / actions) - log(tags) - log(words), abs=1e-12
    )


@pytest.fixture(scope="module", params=zip(POOLS, (2, 2, 3)), ids=str)
def model_with_labels(request):
    name, labels = request.param
    return with_random_weights(make_model(POOLS[name], labels=labels, one_table=labels == 3))


def test_probability_of_all_sentences_with_all_labels_grows_and_stays_below_one(model_with_labels):
    counter = Counter(model_with_labels)
    totals = np.cumsum([sum(p for p, _ in counter.derivations(n)) for n in (1, 2, 3)])
    assert 0.1 < totals[0] < totals[1] < totals[2] < 1.0


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_beam_with_enough_particles_is_exhaustive_search_over_the_best_labels(model_with_labels, n):
    counter = Counter(model_with_labels, best_labels=True)
    labels_found = set()
    for words in itertools.product(range(2), repeat=n):
        found = [(p, counter.tree(last, n)) for p, last in counter.derivations(n, words)]
        parses = decode(model_with_labels, words)
        assert parses.log_probability.sum() == pytest.approx(
            log(sum(p for p, _ in found)), abs=1e-4 + 4 * n * PRECISION
        )
        assert (parses.tags.tolist(), parses.heads.tolist(), parses.labels.tolist()) == max(found)[
            1
        ]
        labels_found.update(label for _, (_, _, labels) in found for label in labels)
    assert n < 3 or not model_with_labels.is_factored or len(labels_found - {NONE}) > 1


@pytest.mark.parametrize("n", [1, 2, 3])
def test_beam_that_tries_all_labels_is_exhaustive_search(model_with_labels, n):
    counter = Counter(model_with_labels)
    for words in itertools.product(range(2), repeat=n):
        found = [(p, counter.tree(last, n)) for p, last in counter.derivations(n, words)]
        # There are fewer labels than that.
        parses = decode(model_with_labels, words, labels_per_arc=9)
        assert parses.log_probability.sum() == pytest.approx(
            log(sum(p for p, _ in found)), abs=1e-4 + 4 * n * PRECISION
        )
        assert (parses.tags.tolist(), parses.heads.tolist(), parses.labels.tolist()) == max(found)[
            1
        ]
