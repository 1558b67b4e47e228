"""The beam after each word: analyses of the prefix, and the distribution of the next word."""

import numpy as np
import pytest
from test_enumeration import EVERYTHING, POOLS, blocks_of, random_model

from spacy_hpyp.arc_standard import increments
from spacy_hpyp.arc_standard.decoding import decode
from spacy_hpyp.arc_standard.increments import OPEN
from spacy_hpyp.arc_standard.search import Search

# The search is compiled once more with a callback, which takes a minute.
pytestmark = pytest.mark.slow

# Exhaustive search.
SEARCH = Search(EVERYTHING, 0.0, marginals=True, tags_per_word=2, tag_threshold=0.0)


@pytest.fixture(scope="module", params=POOLS)
def model(request):
    return random_model(request.param)


def prefix_probability(model, words):
    """The probabilities of a prefix and of the complete sentence."""
    if not words:
        return 1.0, 0.0
    parses = decode(model.frozen, blocks_of(words), SEARCH)
    prefixes = parses.syntactic + parses.lexical
    return np.exp(prefixes.sum()), np.exp(parses.log_probability.sum())


def follow(model, words, particles=1000):
    search = SEARCH._replace(particles=particles)
    (found,) = increments.follow(model.frozen, blocks_of(words), search)
    return found


def test_next_word_probabilities_are_proportional_to_prefix_probabilities(model):
    outcomes, words = len(model.vocabulary), [0, 1, 0, 0]
    found = follow(model, words, particles=10**6)
    for length in range(len(words) + 1):
        prefix = words[:length]
        expected = [prefix_probability(model, [*prefix, word])[0] for word in range(outcomes)]
        expected.append(prefix_probability(model, prefix)[1])
        # Tolerance for negligible terms of each configuration and for the 32 bits of views.
        np.testing.assert_allclose(
            found.expected[length], np.array(expected) / sum(expected), atol=1e-4
        )


def test_analyses_are_distinct_and_sum_to_the_prefix_probability(model):
    words = [1, 0, 1]
    found = follow(model, words)
    for word in range(len(words)):
        size = found.size[word]
        assert size <= 1000
        total = np.exp(found.log_weight[word, :size]).sum()
        assert total == pytest.approx(prefix_probability(model, words[: word + 1])[0], rel=1e-2)
        heads, labels, tags = (
            part[word, :size, : word + 1] for part in (found.heads, found.labels, found.tags)
        )
        assert np.all(heads[:, -1] == OPEN)
        assert np.all((heads == OPEN) == (labels < 0))
        assert np.all((heads >= OPEN) & (heads <= word) & (heads != -1))
        assert np.all((tags >= 0) & (tags < len(model.tags)))
        # Up to the second word, only one attachment is possible.
        if word < 2:
            assert (
                len({tuple(row) for row in tags.tolist()}) == size == len(model.tags) ** (word + 1)
            )
        weight = np.exp(found.log_weight[word, :size]) / total
        is_open, distance = heads == OPEN, np.abs(heads - np.arange(word + 1))
        # No arc can have been attached before the second word.
        structure = [is_open.sum(1), (~is_open).sum(1), np.where(is_open, 0, distance).sum(1)]
        np.testing.assert_allclose(found.structure[word], np.dot(structure, weight))
    assert np.any(heads != OPEN)


def test_analysis_numbers_are_equal_if_and_only_if_analyses_are(model):
    found = follow(model, [1, 0, 1, 1, 0])
    for word, size in enumerate(found.size):
        parts = (part[word, :size, : word + 1] for part in (found.heads, found.labels, found.tags))
        rows = [tuple(row) for row in np.concatenate(list(parts), axis=1).tolist()]
        numbers = found.analysis[word, :size].tolist()
        assert len(set(rows)) == len(set(numbers)) == len(set(zip(rows, numbers)))
    assert len(set(numbers)) < len(numbers)
