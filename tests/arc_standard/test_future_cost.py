"""Future costs of tags compared with sums over all tag sequences. They only guide the search."""

from itertools import product

import numpy as np
import pytest
from seating import PRECISION
from test_enumeration import EVERYTHING, POOLS, blocks_of, make_model, random_model

from spacy_hpyp.arc_standard import decoding, future_cost
from spacy_hpyp.arc_standard.configuration import FIRST_SYMBOL, ROOT_SYMBOL
from spacy_hpyp.arc_standard.distributions import ContextLists, Distributions
from spacy_hpyp.arc_standard.future_cost import tag_chain
from spacy_hpyp.arc_standard.search import Search
from spacy_hpyp.compiled import NONE
from spacy_hpyp.hpyp.franchise import child, restaurant_distribution

TAGS, FORMS = 3, 4
SENTENCES = [list(words) for n in (1, 3, 5) for words in product(range(2), repeat=n)][::3]
# Rounding of sums of the same numbers in another order.
ROUNDING = 1e-9


class Chain:
    """A random chain of tags, and words with some possible tags."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.chain = rng.dirichlet(np.full(TAGS, 0.5), TAGS + 1)
        counts = rng.integers(1, TAGS + 1, FORMS)
        self.candidates = [rng.permutation(TAGS)[:count].tolist() for count in counts]
        self.usual = [rng.random(count) for count in counts]

    def heuristic(self, block, share=1.0, chain=None):
        offsets = np.cumsum([0, *map(len, self.candidates)])
        candidates = np.concatenate(self.candidates).astype(np.int32)
        chain = self.chain if chain is None else chain
        model = Distributions(
            *[0] * 4, offsets, candidates, p_word_given_tag=np.concatenate(self.usual), chain=chain
        )
        return future_cost.future_costs(model, block, Search(1, 0.0, future_cost=share))

    def step(self, before, tag, may_start):
        """p(tag | previous tag), where another sentence may begin or not."""
        begins = future_cost._BEGINS if may_start else 0.0
        return (1.0 - begins) * self.chain[before, tag] + begins * self.chain[TAGS, tag]

    def enumerated(self, block, i, tag):
        """The log-probability of the words after word i given its tag, summed over all sequences of
        their tags.
        """
        choices = []
        for word, given in zip(block.words[i + 1 :], block.tags[i + 1 :]):
            pairs = zip(self.candidates[word], self.usual[word])
            choices.append([pair for pair in pairs if given in (NONE, pair[0])])
        total = 0.0
        for sequence in product(*choices):
            probability, before = 1.0, tag
            for (after, usual), may_start in zip(sequence, block.may_start[i + 1 :]):
                probability *= self.step(before, after, may_start) * usual
                before = after
            total += probability
        return np.log(total)

    def block(self, n, *, given=0.0, may_start=0.0):
        """Words, some with a given tag, and some that may begin a sentence."""
        words = self.rng.integers(FORMS, size=n).tolist()
        tags = [
            self.rng.choice(self.candidates[word]) if self.rng.random() < given else NONE
            for word in words
        ]
        return blocks_of(words, tags=tags, may_start=self.rng.random(n) < may_start)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("may_start", [0.0, 0.5])
@pytest.mark.parametrize("given", [0.0, 0.5])
def test_future_cost_is_the_log_sum_over_all_tag_sequences(seed, given, may_start):
    chain = Chain(seed)
    for n in (1, 2, 5):
        block = chain.block(n, given=given, may_start=may_start)
        expected = [[chain.enumerated(block, i, tag) for tag in range(TAGS)] for i in range(n)]
        np.testing.assert_allclose(chain.heuristic(block), expected, rtol=ROUNDING, atol=ROUNDING)


def test_future_cost_is_zero_with_weight_zero_or_without_a_chain():
    chain = Chain(0)
    block = chain.block(5)
    for found in (chain.heuristic(block, 0.0), chain.heuristic(block, chain=chain.chain[:0])):
        np.testing.assert_array_equal(found, np.zeros((5, TAGS)))
    assert np.ptp(chain.heuristic(block)[:-1], axis=1).min() > 0.05


@pytest.fixture(scope="module", params=POOLS)
def model(request):
    return random_model(request.param)


def decode(model, blocks, particles=EVERYTHING, share=1.0):
    # When only the best derivation counts, selection soon gives all particles to a few derivations,
    # however many particles there are.
    search = Search(particles, 0.0, future_cost=share, marginals=particles == EVERYTHING)
    return decoding.decode(model.frozen, blocks, search)


def test_the_chain_matches_the_predictions_from_the_last_tag(model):
    conditional, franchise = model.conditionals["tag"], model.franchises["tag"]
    chain, expected = tag_chain(model.frozen.tag), np.empty(2)
    # In all these pools, the first element of the first expert is the last tag.
    assert (conditional.columns[:, 0] >= 0).all()
    for row, symbol in zip(chain, [FIRST_SYMBOL, FIRST_SYMBOL + 1, ROOT_SYMBOL], strict=True):
        restaurant = child(franchise, 0, symbol)
        restaurant_distribution(franchise, 0 if restaurant == NONE else restaurant, expected)
        np.testing.assert_allclose(row, expected, rtol=PRECISION)


def test_a_chain_needs_an_expert_that_begins_with_the_last_tag():
    contexts = ContextLists(
        transition=[["s1.tag"]],
        label=[],
        tag=[["s1.word"], ["s2.tag", "s1.tag"]],
        word=[["next.tag"]],
    )
    model = make_model(contexts)
    assert model.frozen.chain.shape == (0, 2)
    blocks = blocks_of([0, 1, 0])
    for one, other in zip(decode(model, blocks, 3)[:-1], decode(model, blocks, 3, share=0.0)[:-1]):
        np.testing.assert_array_equal(one, other)


def test_future_cost_changes_nothing_with_enough_particles(model):
    for words in SENTENCES:
        with_it, without = (decode(model, blocks_of(words), share=share) for share in (1.0, 0.0))
        np.testing.assert_array_equal(with_it.heads, without.heads)
        np.testing.assert_array_equal(with_it.tags, without.tags)
        np.testing.assert_allclose(with_it.log_probability, without.log_probability, atol=ROUNDING)
        np.testing.assert_allclose(with_it.syntactic, without.syntactic, atol=ROUNDING)
