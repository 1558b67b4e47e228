"""Final beams compared with enumeration and with sums over the parses."""

from itertools import product
from math import exp, log

import numpy as np
import pytest
from test_enumeration import EVERYTHING, POOLS, Counter, blocks_of, decode, random_model
from transitions import integers

from spacy_hpyp.annotation.arrays import Posterior, no_guides
from spacy_hpyp.arc_standard import decoding
from spacy_hpyp.arc_standard.configuration import FIRST_RECORD, ROOT
from spacy_hpyp.arc_standard.posterior import choose, find_guides
from spacy_hpyp.arc_standard.search import Search
from spacy_hpyp.compiled import NONE

SENTENCES = [[1], [0, 1], [1, 0, 1], [0, 0, 1, 0]]


# Predictions come from 32-bit tables.
ROUNDING = 1e-4


@pytest.fixture(
    scope="module", params=[(name, labels) for name in POOLS for labels in (1, 2)], ids=str
)
def model(request):
    name, labels = request.param
    return random_model(name, labels=labels)


def posterior_of(model, words, temperature=1.0, particles=EVERYTHING, may_start=False):
    search = Search(particles, 0.0, marginals=True, temperature=temperature)
    return decoding.decode_all(model.frozen, blocks_of(words, may_start=may_start), search)[0]


def parses_of(posterior):
    columns = posterior.tags.tolist(), posterior.heads.tolist(), posterior.labels.tolist()
    return [tuple(map(tuple, parse)) for parse in zip(*columns)]


def enumerated(model, words):
    counter = Counter(model, best_labels=True)
    n = len(words)
    return [
        (p, tuple(map(tuple, counter.tree(last, n)))) for p, last in counter.derivations(n, words)
    ]


def sums(pairs):
    total = {}
    for p, parse in pairs:
        total[parse] = total.get(parse, 0.0) + p
    return total


def test_with_enough_particles_the_beam_holds_all_derivations(model):
    for words in SENTENCES:
        expected, found = enumerated(model, words), posterior_of(model, words)
        assert sorted(found.log_weight) == pytest.approx(
            sorted(log(p) for p, _ in expected), abs=ROUNDING
        )
        assert sums(zip(np.exp(found.log_weight), parses_of(found))) == pytest.approx(
            sums(expected), rel=ROUNDING
        )


def test_posterior_probabilities_sum_to_one(model):
    for words, particles, temperature, may_start in product(
        SENTENCES, (1, 10, 1000), (0.5, 3.0), (False, True)
    ):
        found = posterior_of(model, words, temperature, particles, may_start)
        assert found.probability.sum() == pytest.approx(1.0, abs=1e-12)
        assert np.all(found.probability >= 0.0)


def test_selection_for_marginals_keeps_more_of_the_sum(model):
    blocks, sums = blocks_of([0, 1, 0, 0, 1]), []
    for search in (Search(50, 0.0), Search(50, 0.0, marginals=True), Search(EVERYTHING, 0.0)):
        sums.append(decoding.decode(model.frozen, blocks, search).log_probability.sum())
    assert sums[0] <= sums[1] <= sums[2] + 1e-9


@pytest.mark.parametrize("consensus", [False, True])
def test_marginals_match_enumeration(model, consensus):
    for words in SENTENCES:
        expected = enumerated(model, words)
        total = sum(p for p, _ in expected)
        parses = decoding.decode(
            model.frozen,
            blocks_of(words),
            Search(EVERYTHING, 0.0, marginals=True, consensus=consensus),
        )
        for word in range(len(words)):
            heads = sum(p for p, (_, heads, _) in expected if heads[word] == parses.heads[word])
            tags = sum(p for p, (tags, _, _) in expected if tags[word] == parses.tags[word])
            assert parses.head_probability[word] == pytest.approx(heads / total, rel=ROUNDING)
            assert parses.tag_probability[word] == pytest.approx(tags / total, rel=ROUNDING)


def random_posterior(rng):
    m, n = int(rng.integers(1, 12)), int(rng.integers(1, 6))
    heads = integers(rng.integers(-1, 3, (m, n)))
    labels = integers(np.where(heads < 0, -1, rng.integers(0, 2, (m, n))))
    tags = integers(rng.integers(0, 3, (m, n)))
    weight = rng.random(m) + 1e-3
    return Posterior(heads, labels, tags, np.log(weight), weight / weight.sum())


def expected_right(posterior, heads, labels):
    right = (posterior.heads == heads) & (posterior.labels == labels)
    return float(posterior.probability @ right.sum(axis=1))


@pytest.fixture(scope="module")
def posteriors():
    rng = np.random.default_rng(0)
    return [random_posterior(rng) for _ in range(50)]


def test_consensus_maximizes_expected_arcs_and_tag_probabilities(posteriors):
    for posterior in posteriors:
        heads, labels, tags = np.full((3, posterior.heads.shape[1]), -7, dtype=np.int32)
        choose(posterior, True, heads, labels, tags)
        trees = [*zip(posterior.heads, posterior.labels)]
        highest = max(expected_right(posterior, *tree) for tree in trees)
        assert expected_right(posterior, heads, labels) == pytest.approx(highest, abs=1e-12)
        assert any(np.array_equal([heads, labels], tree) for tree in trees)
        for word, tag in enumerate(tags):
            masses = [
                posterior.probability[posterior.tags[:, word] == other].sum() for other in range(3)
            ]
            assert masses[tag] == pytest.approx(max(masses), abs=1e-12)


def prefix_sums(model, words):
    """For each word, the sums over derivations up to it, with its probability and with only that of
    its tag.
    """
    counter = Counter(model, best_labels=True)
    with_word, with_tag = np.zeros(len(words)), np.zeros(len(words))

    def grow(probability, top, used, shifted):
        if shifted == len(words):
            return
        for record, p, tag, word, after in counter.steps(top, used, len(words), words, shifted):
            if after > shifted:
                with_tag[shifted] += probability * p * tag
                with_word[shifted] += probability * p * tag * word
            grow(probability * p * tag * word, record, used + 1, after)

    grow(1.0, ROOT, FIRST_RECORD, 0)
    return with_word, with_tag


def test_surprisal_and_its_parts_are_ratios_of_prefix_sums(model):
    for words in SENTENCES:
        with_word, with_tag = prefix_sums(model, words)
        before = np.concatenate([[1.0], with_word[:-1]])
        parses = decode(model, words)
        assert parses.syntactic == pytest.approx(np.log(with_tag / before), abs=ROUNDING)
        assert parses.lexical == pytest.approx(np.log(with_word / with_tag), abs=ROUNDING)
        assert exp((parses.syntactic + parses.lexical).sum()) == pytest.approx(
            with_word[-1], rel=ROUNDING
        )


def test_surprisal_parts_sum_to_the_log_probability_except_the_end(model):
    for words, particles in product(SENTENCES, (1, 5, 100, EVERYTHING)):
        parses = decode(model, words, particles)
        parts = parses.syntactic + parses.lexical
        assert np.array_equal(parts[:-1], parses.log_probability[:-1])
        assert parses.log_probability[-1] < parts[-1]
        assert np.all(parses.syntactic <= 0.0)
        assert np.all(parses.lexical <= 0.0)


def leading(pairs, most):
    """The numbers with the highest summed probabilities. Ties go to the lower number."""
    return sorted(
        ((p, number) for number, p in sums(pairs).items()), key=lambda pair: (-pair[0], pair[1])
    )[:most]


def test_guides_are_the_most_probable_heads_labels_and_tags(posteriors):
    for posterior in posteriors:
        n = posterior.heads.shape[1]
        posterior = posterior._replace(heads=np.minimum(posterior.heads, n - 1))
        guides = no_guides(n)
        find_guides(posterior, guides, 0)
        p = posterior.probability.tolist()
        for word in range(n):
            heads, labels, tags = (part[:, word].tolist() for part in posterior[:3])
            head_row, head_share, label_row, tag_row, tag_share = (part[word] for part in guides)
            for numbers, shares, values in (
                (head_row, head_share, heads),
                (tag_row, tag_share, tags),
            ):
                expected = leading(zip(p, values), len(numbers))
                expected += [(0.0, NONE)] * (len(numbers) - len(expected))
                assert numbers.tolist() == [number for _, number in expected]
                assert shares == pytest.approx([share for share, _ in expected], rel=1e-6)
            for head, share, label in zip(head_row, head_share, label_row):
                of_head = [(q, name) for q, name, its in zip(p, labels, heads) if its == head]
                assert label == (leading(of_head, 1)[0][1] if share > 0.0 else NONE)


@pytest.mark.parametrize("consensus", [False, True])
def test_finding_guides_changes_nothing_else(model, consensus):
    blocks = blocks_of([0, 1, 0, 0, 1], may_start=True)
    search = Search(50, 0.0, marginals=True, consensus=consensus)
    without, found = (
        decoding.decode(model.frozen, blocks, search._replace(guides=guides))
        for guides in (False, True)
    )
    assert all(np.array_equal(one, other) for one, other in zip(without[:-1], found[:-1]))
