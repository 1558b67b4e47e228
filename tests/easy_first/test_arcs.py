"""Elements of a pair of neighbours: values match the names, and missing values are distinct."""

import itertools

import numpy as np
import pytest
from compiling import compiled
from plain_elements import COLUMNS, SIDES, Reader, bits, documented
from plain_parser import PlainParser, arc_scorer, first_state, random_derivation, random_sentence

from spacy_hpyp.compiled import NONE
from spacy_hpyp.easy_first import arcs, labels
from spacy_hpyp.easy_first.arcs import (
    ELEMENTS,
    GUIDE_SYMBOLS,
    NULL,
    PAIR_KEY,
    add_up,
    class_of_distance,
    find_weights,
    read_elements,
    reads_guides,
    write_key,
)
from spacy_hpyp.easy_first.perceptron import round_averages
from spacy_hpyp.easy_first.tree_model import TreeModel
from spacy_hpyp.text.elements import reads_classes
from spacy_hpyp.text.unknown_words import universal_unknown_words
from spacy_hpyp.text.vocabulary import VocabularySettings

add_up, find_weights = map(compiled, (add_up, find_weights))

NAMES = list(ELEMENTS)
TREES = ("l2", "l1", "l", "r", "r1", "r2")


class PairReader(Reader):
    """Read the elements of a pair by the table in the docstring of `arcs`."""

    def __init__(self, plain, state, place):
        super().__init__(plain.sentence)
        self.share = plain.share
        self.trees = dict(zip(TREES, plain.window(state, place), strict=True))
        self.l, self.r = self.trees["l"].head, self.trees["r"].head

    def read(self, name):
        tree, _, rest = name.partition(".")
        if tree in TREES:
            return self.of_tree(self.trees[tree], rest)
        if name == "distance":
            return class_of_distance(self.r - self.l)
        if name == "between":
            return bits(int(self.symbol(word, "tag")) for word in range(self.l + 1, self.r))
        if name == "edge":
            return (self.trees["l1"] is None) + 2 * (self.trees["r1"] is None)
        assert tree == "guide"
        child, _, what = rest.partition(".")
        return self.of_guide(*((self.l, self.r) if child == "l" else (self.r, self.l)), what)

    def of_tree(self, tree, rest):
        first, _, last = rest.partition(".")
        if rest == "size":
            return NULL if tree is None else class_of_distance(len(tree.words))
        if first == "missing":
            return self.missing(tree, last)
        if tree is None:
            return self.of_word(None, ([], []), rest)
        children = [[child.head for child in side] for side in (tree.left, tree.right)]
        return self.of_word(tree.head, children, rest)

    def missing(self, tree, side):
        if tree is None:
            return NONE
        shares = sum(int(1000 * self.share(child.head, tree.head)) for child in getattr(tree, side))
        lacking = self.sentence.expected[tree.head, SIDES.index(side)] - shares / 1000
        return sum(lacking >= limit for limit in (0.1, 0.35, 0.65, 0.9, 1.4))


def windows_of(plain, states):
    """The windows of all pairs in some states, with their states and places."""
    for state in states:
        for place in range(len(state) - 1):
            records = [plain.record(tree) for tree in plain.window(state, place)]
            yield np.array(records, dtype=np.int32), state, place


def random_states(n, rng):
    """The states of a random derivation."""
    return [first_state(n), *(state for _, state in random_derivation(n, rng))]


@pytest.fixture(scope="module")
def pairs():
    """Pairs of neighbours in states of random sentences: the symbols from compiled code, and a
    reference reader.
    """
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 24))
        sentence = random_sentence(n, rng, symbols=70, guide=4)
        plain = PlainParser(arc_scorer([[name] for name in NAMES], 16), sentence)
        for window, state, place in windows_of(plain, random_states(n, rng)):
            row = np.full(len(NAMES), -99, dtype=np.int32)
            elements, records = plain.scorer.whole.elements, plain._forest.records
            read_elements(elements, records, sentence, window, row)
            read = dict(zip(NAMES, row.tolist(), strict=True))
            found.append((read, PairReader(plain, state, place)))
    return found


@pytest.mark.parametrize(("module", "word"), [(arcs, "l"), (labels, "child")])
def test_every_documented_element_exists(module, word):
    names = set(documented(module))
    assert len(names) >= 20
    names |= {f"{word}.{symbol}" for symbol in ("word", "tag", "lower", "suffix", "usual")}
    assert names <= module.ELEMENTS.keys()


@pytest.mark.parametrize("kind", ["l2", "l1", "l", "r", "r1", "r2", "pair"])
def test_elements_match_the_reference_reader(pairs, kind):
    firsts = {name: name.partition(".")[0] for name in NAMES}
    names = [name for name, tree in firsts.items() if (tree if tree in TREES else "pair") == kind]
    assert names
    for read, reader in pairs:
        for name in names:
            assert read[name] == reader.read(name), name


def test_elements_beyond_the_ends_are_null(pairs):
    beyond = 0
    for read, reader in pairs:
        for tree in TREES:
            if reader.trees[tree] is None:
                beyond += 1
                for name in NAMES:
                    if name.startswith(f"{tree}."):
                        assert read[name] == (NONE if ".missing." in name else NULL), name
    assert beyond > 100


def test_every_template_without_guides_has_a_feature():
    rng = np.random.default_rng(0)
    sentence = random_sentence(4, rng)
    names = [name for name in NAMES if not reads_guides({name}) and not reads_classes([name])]
    plain = PlainParser(arc_scorer([[name] for name in names], 1 << 10), sentence)
    for place in range(3):
        assert len(plain.features(first_state(4), place)) == len(names)


def test_only_guide_elements_read_guides():
    assert reads_guides({"l.word", "guide.l"})
    assert reads_guides({"l.missing.left"})
    assert reads_guides({"r1.guide.head"})
    assert not reads_guides({"l.word", "between", "l.left.tags"})
    settings = VocabularySettings(universal_unknown_words())
    for name, (kind, first, *_) in ELEMENTS.items():
        if reads_classes([name]):
            # A model without classes has no such templates.
            assert not reads_guides({name})
            continue
        model = TreeModel([[[name]], [["child.tag"]]], settings, places=(16, 16))
        guided = kind == arcs._MISSING or (kind == arcs.PAIR and first > arcs.EDGE)
        guided |= kind in (arcs.SYMBOL, arcs.NEAR) and COLUMNS[ELEMENTS[name][3]] in GUIDE_SYMBOLS
        assert model.is_guided == reads_guides({name}) == guided


@pytest.mark.parametrize("rounded", [False, True])
def test_scores_sum_the_weights_of_the_kept_templates(rounded):
    rng = np.random.default_rng(1)
    names = ["l.tag r.tag", "r1.word", "r.word distance", "edge l.tag", "l.word"]
    templates = [template.split() for template in names]
    weights = rng.normal(size=(256, 2)).astype(np.float32)
    scorer = arc_scorer(templates, 256, round_averages(weights) if rounded else weights)
    assert sorted(scorer.beyond.templates.numbers.tolist()) == [1, 3]
    plain = PlainParser(scorer, random_sentence(4, rng))
    window = np.array([0, 0, 1, 2, 3, 4], dtype=np.int32)
    row, places = np.empty(len(scorer.whole.elements), dtype=np.int32), np.empty(5, dtype=np.int64)
    read = plain._forest.records, plain.sentence, window, row, places
    find_weights(scorer.whole, scorer.weights, *read)
    features = places.copy()
    for kept in [(True,) * 5] if rounded else itertools.product([True, False], repeat=5):
        scorer.kept[:] = kept[: len(scorer.kept)]
        sums = np.zeros(2, dtype=np.float32)
        for reading in (scorer.pair, scorer.beyond):
            find_weights(reading, scorer.weights, *read)
            add_up(scorer, reading, places, sums)
        expected = weights[features[list(kept)]].sum(axis=0)
        np.testing.assert_allclose(
            sums * scorer.step, expected, rtol=1e-5, atol=3 * scorer.step if rounded else 1e-6
        )


@pytest.mark.parametrize(
    "templates", [[[name] for name in NAMES], [["l2.tag", "r.tag"], ["r1.left.word"], ["l1.size"]]]
)
def test_windows_with_the_same_key_have_the_same_features(templates):
    rng = np.random.default_rng(3)
    scorer, sentence = arc_scorer(templates, 1 << 20), random_sentence(7, rng, guide=4)
    plain, found = PlainParser(scorer, sentence), {}
    key = np.empty(len(scorer.around) + PAIR_KEY, dtype=np.int32)
    for _ in range(100):
        for window, state, place in windows_of(plain, random_states(7, rng)):
            write_key(scorer.around, plain._forest, window, key)
            features = plain.features(state, place)
            first, windows = found.setdefault(key.tobytes(), (features, set()))
            assert first == features
            windows.add(tuple(window.tolist()))
    assert max(len(windows) for _, windows in found.values()) > 1
