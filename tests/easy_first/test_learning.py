"""Learning: every update is valid and leads from a predicted to a correct sequence of actions."""

from functools import cache, reduce

import numpy as np
import pytest
from plain_parser import (
    PlainParser,
    actions_of,
    arc_scorer,
    arcs_of,
    cost_of,
    dense,
    derivations,
    early_update,
    first_state,
    head_and_child,
    heads_of,
    is_correct,
    join,
    label_scorer,
    learn_greedily,
    max_violation_update,
    random_heads,
    random_sentence,
    states_of,
    trees_of,
)

from spacy_hpyp.annotation.arrays import joined
from spacy_hpyp.compiled import NONE
from spacy_hpyp.easy_first import learning as compiled_learning
from spacy_hpyp.easy_first.arcs import SYMBOLS, TAG
from spacy_hpyp.easy_first.learning import EARLY, FULL, LABELS, Learning, Lessons, learn_parsing
from spacy_hpyp.easy_first.perceptron import Perceptron

PLACES = 1 << 14
TEMPLATES = [
    ["l.word", "r.word"],
    ["l.tag", "r.tag", "distance"],
    ["l1.tag", "l.tag", "r.tag"],
    ["l.tag", "r.tag", "r1.tag"],
    ["l.tag", "l.left.tag", "l.right.tag", "r.tag"],
    ["l.tag", "r.left.tag", "r.right.tag", "r.tag"],
    ["l.left.count", "r.right.tags"],
]
LABEL_TEMPLATES = [
    ["child.tag", "head.tag", "direction"],
    ["child.word", "head.tag"],
    ["child.word", "head.word"],
    ["prev.label", "child.tag", "head.tag"],
    ["head.label", "child.tag"],
]
WAYS = {
    "greedy": Learning(1, margin=0.0, label_margin=0.0),
    "exploring": Learning(1, explore=True, margin=0.0, label_margin=0.0),
    "beam": Learning(4, margin=0.0, label_margin=0.0),
}


class Pupil:
    """Perceptrons that learn from one sentence after another."""

    def __init__(self, labels=3, templates=TEMPLATES):
        self.perceptron = Perceptron(PLACES, 2, sparse=True)
        self.arcs = self.perceptron.begin_learning()
        self.labels = Perceptron(PLACES, labels).begin_learning()
        self.arc_scorer = arc_scorer(templates, PLACES, self.arcs.weights)
        self.label_scorer = label_scorer(LABEL_TEMPLATES, self.labels.weights)
        self.counts = None

    def learn(self, lessons, learning, rng=None):
        """Learn from sentences and return the changes to the weights of actions."""
        before = self.arcs.weights.copy()
        rng = np.random.default_rng(0) if rng is None else rng
        on_arcs, on_labels = (self.arcs, self.arc_scorer), (self.labels, self.label_scorer)
        self.counts = learn_parsing(on_arcs, on_labels, lessons, learning, rng)
        return self.arcs.weights.astype(np.float64) - before

    @property
    def updates(self):
        return int(self.counts[EARLY] + self.counts[FULL])


def lesson(sentence, heads, labels=None, rarity=0.0):
    """A sentence with its tree."""
    n = len(heads)
    if labels is None:
        labels = [NONE if head == NONE else child % 3 for child, head in enumerate(heads)]
    return Lessons(
        *sentence,
        np.array(heads, dtype=np.int32),
        np.array(labels, dtype=np.int32),
        np.full(n, rarity, dtype=np.float32),
        np.array([0, n]),
    )


def random_lessons(count, seed, longest=8):
    """Sentences with random trees, some of them repeated: a sentence, its heads and its lesson."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        n = int(rng.integers(1, longest + 1))
        sentence = random_sentence(n, rng, symbols=5)
        heads = random_heads(n, rng)
        found.append((sentence, heads, lesson(sentence, heads)))
    return found


# Correct actions and costs


@cache
def trees_from(state):
    """The heads of all trees reachable from a state."""
    if len(state) == 1:
        return frozenset([tuple(heads_of(state[0]))])
    return frozenset().union(*(trees_from(join(state, step)) for step in actions_of(state)))


def chosen_trees(n):
    trees = trees_of(n)
    return trees if n < 5 else trees[::11]


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_correct_actions_keep_the_gold_tree_reachable(n):
    plain = PlainParser(arc_scorer(TEMPLATES, PLACES), random_sentence(n, np.random.default_rng(n)))
    records = plain._forest.records
    correct = wrong = 0
    for heads in chosen_trees(n):
        gold = np.array(heads, dtype=np.int32)
        children = np.array([heads.count(word) for word in range(n)], dtype=np.int32)
        for state in states_of(n):
            if heads not in trees_from(state):
                assert not is_correct(state, heads)
                continue
            assert is_correct(state, heads)
            for step in actions_of(state):
                possible = heads in trees_from(join(state, step))
                pair = map(plain.record, head_and_child(state, step))
                assert compiled_learning.is_correct(records, gold, children, *pair) == possible
                correct += possible
                wrong += not possible
    assert correct
    assert wrong


@pytest.mark.parametrize("n", [2, 3, 4])
def test_correct_sequences_are_all_derivations_of_the_gold_tree(n):
    for heads in trees_of(n):
        trees = {steps: heads_of(last[0]) for steps, last in derivations(first_state(n))}
        every = {steps for steps, tree in trees.items() if tuple(tree) == heads}
        found, pending = set(), [((), first_state(n))]
        while pending:
            steps, state = pending.pop()
            if len(state) == 1:
                found.add(steps)
            for step in actions_of(state):
                if is_correct(join(state, step), heads):
                    pending.append(((*steps, step), join(state, step)))
        assert found == every


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_costs_count_gold_arcs_that_become_unreachable_and_some_action_has_none(n):
    waiting, is_left = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.bool_)
    for heads in chosen_trees(n):
        gold = np.array(heads, dtype=np.int32)

        @cache
        def most(state, heads=heads):
            """The largest number of right arcs in a tree reachable from a state. A right root
            counts as an arc.
            """
            return max(sum(map(int.__eq__, tree, heads)) for tree in trees_from(state))

        for state in states_of(n):
            words = [tree.head for tree in state]
            is_left[:] = np.isin(np.arange(n), words)
            waiting[:] = [sum(heads[word] == head for word in words) for head in range(n)]
            costs = []
            for step in actions_of(state):
                costs.append(most(state) - most(join(state, step)))
                head, child = (tree.head for tree in head_and_child(state, step))
                found = compiled_learning.cost_of(gold, waiting, is_left, head, child)
                assert found == cost_of(state, step, heads) == costs[-1]
            # Greedy learning relies on a correct action in every state.
            assert min(costs, default=0) == 0


# Updates, compared with those of the plain parser


@pytest.mark.parametrize(
    ("early", "margin"), [(True, 0.0), (True, 3.0), (False, 0.0), (False, 3.0)]
)
@pytest.mark.parametrize("width", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_beam_updates_match_the_plain_parser_and_are_valid(width, early, margin):
    learning = Learning(width, margin=margin, label_margin=0.0, early=early)
    find = early_update if early else max_violation_update
    pupil = Pupil()
    kinds = np.zeros(3, dtype=np.int64)
    for sentence, heads, own in random_lessons(80, width) * 2:
        plain = PlainParser(arc_scorer(TEMPLATES, PLACES, pupil.arcs.weights.copy()), sentence)
        expected = find(plain, heads, width, margin=margin)
        changed = pupil.learn(own, learning)
        kinds += pupil.counts
        if expected is None:
            assert pupil.updates == 0
            assert not changed.any()
            continue
        assert pupil.updates == 1
        assert bool(pupil.counts[FULL]) == expected.full
        right, wrong = (plain.score_of(steps) for steps in (expected.right, expected.wrong))
        penalty = margin * wrong_arcs(expected.wrong, heads)
        assert wrong + penalty - right == expected.violation >= 0.0
        assert np.array_equal(changed, plain.counts(expected.right) - plain.counts(expected.wrong))
        # The perceptron converges, because no update agrees with the weights beyond the margin.
        assert (plain.scorer.weights * changed).sum() <= penalty
    assert kinds[EARLY] > 5
    assert kinds[FULL] > 5


def wrong_arcs(steps, heads):
    found = arcs_of(reduce(join, steps, first_state(len(heads))))
    return sum(heads[child] != head for head, child in found)


@pytest.mark.parametrize("margin", [0.0, 3.0])
@pytest.mark.parametrize("explore", [True, False])
def test_greedy_updates_match_the_plain_parser_and_are_valid(explore, margin):
    learning = Learning(1, explore=explore, margin=margin, label_margin=0.0)
    pupil = Pupil()
    most = 0
    for sentence, heads, own in random_lessons(80, 7) * 2:
        plain = PlainParser(arc_scorer(TEMPLATES, PLACES, pupil.arcs.weights.copy()), sentence)
        expected = learn_greedily(plain, heads, margin=margin, explore=explore)
        pupil.learn(own, learning)
        assert np.array_equal(pupil.arcs.weights, plain.scorer.weights)
        assert pupil.updates == len(expected)
        assert pupil.counts[FULL] == sum(update.full for update in expected)
        assert all(update.violation >= 0.0 for update in expected)
        most = max(most, len(expected))
    assert most > 2


@pytest.mark.parametrize("way", WAYS)
def test_averages_cover_the_weights_after_each_update(way):
    pupil = Pupil()
    each = []
    for _, _, own in random_lessons(60, 3):
        pupil.learn(own, WAYS[way])
        each.append((int(pupil.arcs.clock[0]), pupil.arcs.weights.astype(np.float64)))
    average = dense(pupil.perceptron.averages())
    if WAYS[way].width > 1:
        # The clock advances once for each sentence.
        clocks, weights = zip(*each, strict=True)
        assert clocks[-1] == sum(len(heads) > 1 for _, heads, _ in random_lessons(60, 3))
        steps = np.diff(clocks, prepend=0)
        np.testing.assert_allclose(average, np.average(weights, axis=0, weights=steps), atol=1e-6)
    assert np.abs(average).max() <= max(np.abs(weights).max() for _, weights in each)
    assert not np.array_equal(average, pupil.arcs.weights)


# Treebanks


def test_a_batch_is_learned_one_sentence_at_a_time():
    together, apart = Pupil(), Pupil()
    found = [own for _, _, own in random_lessons(30, 9)]
    together.learn(joined(found), WAYS["beam"])
    counts = np.zeros(3, dtype=np.int64)
    for own in found:
        apart.learn(own, WAYS["beam"])
        counts += apart.counts
    assert np.array_equal(together.arcs.weights, apart.arcs.weights)
    assert np.array_equal(together.arcs.sums, apart.arcs.sums)
    assert np.array_equal(together.labels.weights, apart.labels.weights)
    assert np.array_equal(together.counts, counts)


# Chance


@pytest.mark.parametrize(("dropout", "rarity"), [(0.3, 0.0), (0.0, 0.4), (0.3, 0.4)])
@pytest.mark.parametrize("way", WAYS)
def test_weights_are_reproducible_and_depend_on_the_generator(way, dropout, rarity):
    pairs = [each[:2] for each in random_lessons(40, 1)]
    lessons = joined([lesson(*pair, rarity=rarity) for pair in pairs])
    found = []
    for seed, elsewhere in ((4, 1), (4, 2), (5, 1)):
        np.random.seed(elsewhere)
        pupil = Pupil()
        pupil.learn(lessons, WAYS[way]._replace(dropout=dropout), np.random.default_rng(seed))
        found.append([*pupil.arcs, *pupil.labels])
    first, again, other = found
    assert all(map(np.array_equal, first, again))
    assert not np.array_equal(first[0], other[0])
    assert not np.array_equal(first[3], other[3])


#: The two trees of two words.
PAIRS = ([NONE, 0], [1, NONE])


def places_of_pair(pupil, sentence):
    """The features of the only pair of a two-word sentence."""
    return PlainParser(pupil.arc_scorer, sentence).features(first_state(2), 0)


def test_dropped_templates_learn_nothing():
    sentence = random_sentence(2, np.random.default_rng(0), symbols=50)
    pupil = Pupil()
    rng = np.random.default_rng(0)
    left_out = 0
    for heads in PAIRS * 100:
        learning = WAYS["beam"]._replace(dropout=0.5, margin=100.0)
        changed = pupil.learn(lesson(sentence, heads), learning, rng)
        left_out += int(np.sum(~pupil.arc_scorer.kept))
        places = np.flatnonzero(changed.any(axis=1))
        assert places.tolist() == sorted(places_of_pair(pupil, sentence))
    # On average half of the seven templates are dropped, two hundred times. The standard error is
    # the root of a quarter of them.
    assert abs(left_out - 700) < 4 * (1400 / 4) ** 0.5


@pytest.mark.parametrize("rarity", [0.0, 0.25, 1.0])
def test_words_are_treated_as_unknown_at_the_given_rate(rarity):
    pupil = Pupil(templates=[["l.word", "l.lower", "l.tag"]])
    rng = np.random.default_rng(0)
    sentence = random_sentence(2, np.random.default_rng(0), symbols=50)
    unknown = sentence._replace(symbols=sentence.symbols.copy())
    unknown.symbols[0, [SYMBOLS.index("word"), SYMBOLS.index("lower")]] = 0
    as_it_is, as_unknown = (places_of_pair(pupil, each) for each in (sentence, unknown))
    assert as_it_is != as_unknown
    own = lesson(sentence, PAIRS[0], rarity=rarity)
    before = own.symbols.copy()
    count = 0
    for heads in PAIRS * 200:
        learning = WAYS["beam"]._replace(margin=1000.0)
        changed = pupil.learn(lesson(sentence, heads, rarity=rarity), learning, rng)
        (place,) = np.flatnonzero(changed.any(axis=1))
        assert place in (*as_it_is, *as_unknown)
        count += place in as_unknown
    assert abs(count - 400 * rarity) <= 4 * (400 * rarity * (1.0 - rarity)) ** 0.5
    assert np.array_equal(own.symbols, before)


# Labels


@pytest.mark.parametrize("margin", [0.0, 5.0])
def test_labels_are_learned_from_preceding_labels(margin):
    # The second words are identical, the first words differ, and no template reads both.
    lessons = []
    for tag, labels in ((1, [0, 1, NONE]), (2, [2, 0, NONE])):
        sentence = random_sentence(3, np.random.default_rng(0), symbols=1)
        sentence.symbols[0, TAG] = tag
        lessons.append(lesson(sentence, [2, 2, NONE], labels))
    pupil = Pupil()
    for _ in range(20):
        pupil.learn(joined(lessons), WAYS["beam"]._replace(label_margin=margin))
    assert pupil.counts[LABELS] == 0
