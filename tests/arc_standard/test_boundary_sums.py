"""Probabilities of words in running text are sums over all segmentations into sentences."""

import numpy as np
import pytest
from test_enumeration import EVERYTHING, blocks_of, random_model

from spacy_hpyp.annotation.arrays import sentence_blocks
from spacy_hpyp.arc_standard.decoding import decode
from spacy_hpyp.arc_standard.search import Search

# Exhaustive search.
SEARCH = Search(EVERYTHING, 0.0, marginals=True, tags_per_word=2, tag_threshold=0.0)
TEXT = np.array([0, 1, 1, 0, 1], dtype=np.int32)


@pytest.fixture(scope="module")
def model():
    return random_model("the paper's")


def sums(model):
    """The conditional log-probability of each word, and the log-probability of the text with its
    end, from sentences parsed alone.
    """
    ends, words, before = [1.0], [], 1.0
    for t in range(1, len(TEXT) + 1):
        alone = [decode(model.frozen, sentence_blocks([TEXT[s:t]]), SEARCH) for s in range(t)]
        prefix = sum(
            end * np.exp((one.syntactic + one.lexical).sum()) for end, one in zip(ends, alone)
        )
        ends.append(sum(end * np.exp(one.log_probability.sum()) for end, one in zip(ends, alone)))
        words.append(np.log(prefix / before))
        before = prefix
    return np.array(words), np.log(ends[-1])


def read(model, search=SEARCH):
    return decode(model.frozen, blocks_of(TEXT, may_start=True), search._replace(apart=True))


def test_word_probabilities_sum_over_all_segmentations(model):
    words, whole = sums(model)
    found = read(model)
    assert found.syntactic + found.lexical == pytest.approx(words, abs=1e-9)
    assert found.log_probability.sum() == pytest.approx(whole, abs=1e-9)


def test_more_particles_approximate_the_sum_more_closely(model):
    words, _ = sums(model)
    off = [
        np.abs(found.syntactic + found.lexical - words).max()
        for found in (
            read(model, SEARCH._replace(particles=particles)) for particles in (10, 100, 10_000)
        )
    ]
    assert off == sorted(off, reverse=True)
    assert off[-1] < 0.01


def test_texts_with_given_boundaries_score_like_their_sentences(model):
    few = SEARCH._replace(particles=20)
    for sentences in ([TEXT], [TEXT[:2], TEXT[2:]]):
        alone = decode(model.frozen, sentence_blocks(sentences), few).log_probability
        blocks = sentence_blocks(sentences)
        found = decode(model.frozen, blocks, few._replace(apart=True))
        assert found.log_probability == pytest.approx(alone)
