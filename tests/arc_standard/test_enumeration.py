"""A model small enough to enumerate everything it can generate."""

import itertools
from functools import cache
from math import log, prod

import numpy as np
import pytest
from compiling import compiled
from seating import PRECISION, predictive_probability
from transitions import integers, replay

from spacy_hpyp.annotation.arrays import sentence_blocks
from spacy_hpyp.annotation.sentences import join
from spacy_hpyp.arc_standard import configuration as system
from spacy_hpyp.arc_standard import decoding
from spacy_hpyp.arc_standard.configuration import END, ENDS, FIRST_RECORD, ROOT, SHIFT
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
TAGS_ALONE = ContextLists(transition=[["s1.tag"]], label=[], tag=[["s1.tag"]], word=[])


def make_model(contexts, labels=1, sweeps=3, one_table=False):
    settings = VocabularySettings(universal_unknown_words(), min_count=1)
    named = [([f"word{w}" for w in words], tags) for words, tags, _ in TREES]
    model = JointModel(contexts, settings, one_table=one_table)
    model.initialize(
        [f"label{i}" for i in range(labels)], Vocabulary.collect(named, ["A", "B"], settings)
    )
    rng, number = np.random.default_rng(1), model.vocabulary.number
    rows = sentences_of(
        *(([number(f"word{w}") for w in words], *tree) for words, *tree in TREES), labels=labels
    )
    for sweep in range(sweeps):
        seated = np.full(len(TREES), sweep > 0)
        model.gibbs_step(rows, static_derivations(rows), seated, rng)
        model.resample(rng)
    return model


def sentences_of(*trees, labels=1):
    """Sentences of words, tags and heads, with labels."""

    def label(word, head):
        return NONE if head == NONE else (word + head) % labels

    return join([integers([*tree, [*map(label, range(9), tree[2])]]) for tree in trees])


def with_random_weights(model):
    rng = np.random.default_rng(2)
    model.weights = {
        name: Weights(*(part + rng.normal(0, 0.2, part.shape) for part in weights))
        for name, weights in model.weights.items()
    }
    return model


def random_model(name, **options):
    """A model of `POOLS` with random weights."""
    return with_random_weights(make_model(POOLS[name], **options))


class Counter:
    """Enumerate all derivations, with probabilities from the live seating, expert by expert."""

    def __init__(self, model, best_labels=False):
        self.model = model
        self.best_labels = best_labels
        self.records = system.new_records()
        self.sizes = model.sizes

    def probability(self, name, top, dish, known=0):
        elements = self.model.conditionals[name].elements
        row = np.zeros(len(elements), dtype=np.int32)
        read_context(elements, self.records, top, known, row)
        depth = int(self.records[top, system.DEPTH])
        possible = (
            self.possible_directions(depth) if name == "transition" else range(self.sizes[name])
        )
        return self._probability(name, dish, tuple(row.tolist()), tuple(possible))

    def possible_directions(self, depth):
        if not self.model.is_factored:
            return range(self.sizes["transition"])
        return {1: [system.SHIFTS], 2: [system.SHIFTS, ENDS]}.get(
            depth, [system.SHIFTS, system.LEFT_ARCS, system.RIGHT_ARCS]
        )

    @cache  # noqa: B019
    def _probability(self, name, dish, row, possible):
        franchise, weights = self.model.franchises[name], self.model.weights[name]
        row = np.array(row, dtype=np.int32)
        experts = len(franchise.columns)
        if not experts:
            return 1.0
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
        direction = system.class_of(action)
        p = self.probability("transition", top, direction)
        return (
            p
            if action < system.FIRST_ARC
            else p * self.probability("label", top, system.label_of(action), direction)
        )

    def derivations(self, n, words=None):
        """Yield (probability, last record) of all derivations of sentences of n words, or of the
        given words.
        """
        yield from self._grow(1.0, ROOT, FIRST_RECORD, n, words, 0)

    def actions(self, top):
        """The actions to try: all of them, or those with the most probable labels."""
        actions = range(system.action_count(len(self.model.labels)))
        if not self.best_labels or self.records[top, system.DEPTH] < 3:
            return actions
        arcs = [
            max(actions[start::2], key=lambda action: self.action_probability(top, action))
            for start in (2, 3)
        ]
        return [SHIFT, END, *arcs]

    def steps(self, top, used, n, words, shifted):
        """Write the record of each possible action at `used`, and of each token after a shift.
        Yield the record, the probabilities of the action, the tag and the word, and the number of
        shifted words.
        """
        depth = int(self.records[top, system.DEPTH])
        for action in self.actions(top):
            direction = system.class_of(action)
            if self.model.is_factored and direction not in self.possible_directions(depth):
                continue
            if action == SHIFT and shifted < n:
                p = self.action_probability(top, action)
                choices = range(self.sizes["word"] if self.model.is_lexicalised else 1)
                for tag, word in itertools.product(
                    range(len(self.model.tags)), choices if words is None else [words[shifted]]
                ):
                    record = self.place(used)
                    system.execute(self.records, record, top, action, tag, word)
                    p_tag = self.probability("tag", top, tag)
                    yield record, p, p_tag, self.probability("word", top, word, tag), shifted + 1
            elif (action == END and depth == 2 and shifted == n) or (
                direction > ENDS and depth > 2
            ):
                record = self.place(used)
                system.execute(self.records, record, top, action, 0, 0)
                yield record, self.action_probability(top, action), 1.0, 1.0, shifted

    def place(self, used):
        """The place of a new record. Each derivation overwrites the previous one."""
        return used

    def _grow(self, probability, top, used, n, words, shifted):
        if shifted == n and self.records[top, system.DEPTH] == 1:
            yield probability, top
            return
        for record, *factors, after in self.steps(top, used, n, words, shifted):
            yield from self._grow(probability * prod(factors), record, used + 1, n, words, after)

    def path(self, last, n):
        """The actions and tags of a derivation."""
        actions, tags = np.empty(2 * n, dtype=np.int32), np.empty(n, dtype=np.int32)
        system.derivation(self.records, last, actions, tags)
        return tuple(actions.tolist()), tuple(tags.tolist())

    def tree(self, last, n):
        actions, tags = self.path(last, n)
        return list(tags), *replay(actions)


def blocks_of(*sentences, tags=None, may_start=False):
    blocks = sentence_blocks(list(map(integers, sentences)))
    return blocks._replace(
        tags=blocks.tags if tags is None else integers(tags),
        may_start=np.full(len(blocks.words), may_start, dtype=bool),
    )


def decode(model, words, particles=EVERYTHING, tags=None, labels_per_arc=1):
    search = Search(particles, 0.0, labels_per_arc=labels_per_arc)
    return decoding.decode(model.frozen, blocks_of(words, tags=tags), search)


MODELS = [
    *((name, labels, one_table) for name in POOLS for labels, one_table in ((1, True), (2, False))),
    ("directions and labels", 3, True),
    ("tags alone", 2, False),
]


@pytest.fixture(scope="module", params=MODELS, ids=str)
def model(request):
    name, labels, one_table = request.param
    contexts = {**POOLS, "tags alone": TAGS_ALONE}[name]
    return with_random_weights(make_model(contexts, labels, one_table=one_table))


@pytest.fixture(scope="module")
def counter(model):
    """A counter shared by all tests of the model, because it caches probabilities."""
    return Counter(model)


def test_total_probability_grows_with_sentence_length_but_stays_below_one(counter):
    totals = np.cumsum([sum(p for p, _ in counter.derivations(n)) for n in (1, 2, 3)])
    assert 0.1 < totals[0] < totals[1] < totals[2] < 1.0


def assert_exhaustive(parses, counter, words):
    """Assert that a beam has the sum over all derivations and a best one. Return them all."""
    n = len(words)
    found = [(p, counter.tree(last, n)) for p, last in counter.derivations(n, words)]
    assert parses.log_probability.sum() == pytest.approx(
        log(sum(p for p, _ in found)), abs=1e-4 + 4 * n * PRECISION
    )
    highest = max(p for p, _ in found)
    best = [tree for p, tree in found if p > highest * (1 - 1e-9)]
    assert (parses.tags.tolist(), parses.heads.tolist(), parses.labels.tolist()) in best
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_beam_with_enough_particles_searches_the_best_labels_exhaustively(model, n):
    counter, labels = Counter(model, best_labels=True), set()
    for words in itertools.product(range(2), repeat=n):
        found = assert_exhaustive(decode(model, words), counter, words)
        labels.update(*(tree[2] for _, tree in found))
    assert n < 3 or not model.is_factored or len(model.labels) == 1 or len(labels - {NONE}) > 1


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_beam_with_all_labels_searches_exhaustively(model, counter, n):
    for words in itertools.product(range(2), repeat=n):
        # The model has fewer labels.
        assert_exhaustive(decode(model, words, labels_per_arc=9), counter, words)


def test_given_tags_restrict_the_derivations(model):
    words, tags, counter = [0, 1, 0], [1, 1, 0], Counter(model, best_labels=True)
    # Rounding of twelve factors: six actions, three tags and three words.
    sums = sum(p for p, last in counter.derivations(3, words) if counter.tree(last, 3)[0] == tags)
    assert decode(model, words, tags=tags).log_probability.sum() == pytest.approx(
        log(sums), abs=12 * PRECISION
    )


def test_beam_sums_are_lower_bounds(model):
    for words in itertools.product(range(2), repeat=4):
        all_of_it = decode(model, words).log_probability.sum()
        for particles in (1, 3, 10, 100):
            assert decode(model, words, particles).log_probability.sum() <= all_of_it + 1e-9


def test_the_first_visit_predicts_from_the_sentence_alone():
    model = make_model(POOLS["the paper's"], sweeps=0)
    actions, tags, words = (model.sizes[name] for name in ("transition", "tag", "word"))
    sentence = sentences_of(([0], [1], [NONE]))
    found, _ = model.gibbs_step(
        sentence, static_derivations(sentence), np.array([False]), np.random.default_rng(0)
    )
    # The shift and the end share only the root, where the one customer leaves (0.5 + 0.5) / (0.5
    # + 1) to the base.
    assert sum(found.values()) == pytest.approx(
        log(1 / actions) + log(1 / 1.5 / actions) - log(tags) - log(words), abs=1e-12
    )
