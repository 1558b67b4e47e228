"""The exchange algorithm and the hierarchy of its classes, compared with plain implementations."""

from collections import Counter
from math import log

import numpy as np
import pytest

from spacy_hpyp.text import exchange as module
from spacy_hpyp.text.exchange import BORDER, count_bigrams, exchange, hierarchy


def text(seed, words=10, length=300):
    """A random text in which some words occur in similar contexts. It ends as it begins."""
    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.full(3, 0.3), 3)
    state, found = 0, [BORDER]
    for _ in range(length):
        state = rng.choice(3, p=transitions[state])
        word = 1 + state + 3 * rng.integers((words - state - 1) // 3)
        found.append(int(word) if rng.random() > 0.1 else BORDER)
    return [*found, BORDER]


def bigrams_of(found, words=10):
    pairs, counts = np.unique([found[:-1], found[1:]], axis=1, return_counts=True)
    return count_bigrams(*pairs, counts, words)


def plain_likelihood(found, of_word):
    """The log-likelihood from the probabilities themselves."""
    classes = [of_word[word] for word in found]
    before, after, counts = map(Counter, (classes[:-1], classes[1:], found[1:]))
    pairs = Counter(zip(classes, classes[1:]))
    return sum(
        log(pairs[c, d] / before[c]) + log(counts[word] / after[d])
        for c, d, word in zip(classes, classes[1:], found[1:])
    )


@pytest.mark.parametrize("seed", range(4))
def test_gains_add_up_to_a_local_optimum(seed):
    found = text(seed)
    bigrams = bigrams_of(found)
    results = [exchange(bigrams, 3, range(passes)) for passes in range(20)]
    likelihoods = [plain_likelihood(found, of_word) for of_word in results]
    rises = [module._sweep(bigrams, module._clustering(bigrams, own.copy())) for own in results]
    np.testing.assert_allclose(np.diff(likelihoods), rises[:-1], atol=1e-6)
    assert likelihoods == sorted(likelihoods)
    of_word = results[-1]
    sizes = Counter(of_word[1:].tolist())
    for word in range(1, 10):
        for other in range(1, 4):
            if sizes[of_word[word]] > 1:
                moved = of_word.copy()
                moved[word] = other
                assert plain_likelihood(found, moved) <= plain_likelihood(found, of_word) + 1e-6


def plain_exchange(found, classes, seed):
    """Move words one by one if the likelihood of the text rises, from a random start."""
    words, moved = max(found) + 1, True
    of_word = np.append(0, 1 + np.random.default_rng(seed).permutation(words - 1) % classes)
    while moved:
        moved = False
        for word in range(1, words):
            likelihoods = np.full(classes + 1, -np.inf)
            for own in range(1, classes + 1):
                changed = of_word.copy()
                changed[word] = own
                likelihoods[own] = plain_likelihood(found, changed)
            is_better = likelihoods.max() > likelihoods[of_word[word]] + 1e-9
            if is_better and (of_word == of_word[word]).sum() > 1:
                of_word[word], moved = likelihoods.argmax(), True
    return plain_likelihood(found, of_word)


@pytest.mark.parametrize("seed", range(3))
def test_classes_are_as_good_as_those_of_a_plain_implementation(seed):
    found = text(seed, words=13, length=400)
    bigrams = bigrams_of(found, 13)
    ours = plain_likelihood(found, exchange(bigrams, 3))
    assert ours >= np.mean([plain_exchange(found, 3, begin) for begin in range(3)]) - 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_the_cheapest_pair_of_classes_is_merged(seed):
    found = text(seed, words=13)
    bigrams = bigrams_of(found, 13)
    of_word = exchange(bigrams, 5, range(2))
    paths = hierarchy(bigrams, of_word)
    assert paths[0] == ""
    assert len(set(paths)) == 6
    # The deepest merger comes first. Each is the best by the likelihood of the text itself.
    groups = [{number} for number in range(1, 6)]
    current = of_word.copy()
    while len(groups) > 1:

        def merged(pair, current=current):
            a, b = sorted(min(group) for group in pair)
            return np.where(current == b, a, current)

        options = [(first, second) for i, first in enumerate(groups) for second in groups[i + 1 :]]
        best = max(options, key=lambda pair: plain_likelihood(found, merged(pair)))
        together = best[0] | best[1]
        path = paths[min(together)]
        assert together in [
            {number for number in range(1, 6) if paths[number].startswith(path[:steps])}
            for steps in range(len(path))
        ]
        current = merged(best)
        groups = [group for group in groups if group not in best] + [together]
