"""Generated sentences: frequencies compared with the enumeration of all sentences."""

import numpy as np
import pytest
from test_enumeration import POOLS, Counter, make_model, with_random_weights
from test_sampling import assert_drawn_from

from spacy_hpyp.arc_standard.configuration import FIRST_SYMBOL, PREVIOUS, SHIFT, WORD
from spacy_hpyp.arc_standard.derivations import draw_sentence
from spacy_hpyp.arc_standard.likelihood import new_workspace

LIMIT = 3


class Generator:
    """A tiny model, and all derivations of short sentences."""

    def __init__(self, name):
        joint = with_random_weights(make_model(POOLS[name]))
        self.distributions, counter = joint.frozen, Counter(joint)
        self.queries = new_workspace(self.distributions, remembered=1)
        self.derivations = {}
        for n in range(1, LIMIT + 1):
            for p, last in counter.derivations(n):
                actions, tags = counter.path(last, n)
                words, record = [], last
                for action in actions[::-1]:
                    if action == SHIFT:
                        words.append(int(counter.records[record, WORD]) - FIRST_SYMBOL)
                    record = counter.records[record, PREVIOUS]
                self.derivations[actions, tags, tuple(words[::-1])] = p

    def draw(self, rng, attempts=10_000):
        """Draw a sentence as actions, tags and words, or None if all attempts fail."""
        for _ in range(attempts):
            drawn = draw_sentence(self.distributions, self.queries, rng, LIMIT)
            if len(drawn.words):
                return tuple(tuple(part.tolist()) for part in drawn)
        return None


@pytest.fixture(scope="module", params=POOLS)
def generator(request):
    return Generator(request.param)


def test_sentence_frequencies_match_their_probabilities(generator):
    rng = np.random.default_rng(0)
    found = [generator.draw(rng) for _ in range(1500)]
    assert_drawn_from(found, generator.derivations)


def test_attempts_fail_as_often_as_the_model_predicts(generator):
    rng = np.random.default_rng(7)
    p = sum(generator.derivations.values())
    share = np.mean([generator.draw(rng, attempts=1) is not None for _ in range(1000)])
    assert abs(share - p) < 4 * (p * (1 - p) / 1000) ** 0.5
