"""Running text: segmentation, decoding of the sentences, and confidence from sums over both."""

import numpy as np
import pytest
from test_enumeration import EVERYTHING, POOLS, blocks_of, random_model
from test_posterior import ROUNDING

from spacy_hpyp.arc_standard.decoding import cut, decode, decode_all, mixture, posteriors
from spacy_hpyp.arc_standard.search import Search
from spacy_hpyp.compiled import NONE

WORDS = [1, 0, 1, 0, 0, 1]
RUNNING = blocks_of(WORDS, may_start=True)


@pytest.fixture(scope="module", params=POOLS)
def model(request):
    return random_model(request.param)


@pytest.fixture(scope="module", params=[1.0, 3.0])
def search(request):
    """Exhaustive search at two temperatures."""
    return Search(EVERYTHING, 0.0, marginals=True, temperature=request.param)


@pytest.fixture(scope="module")
def possibilities(model, search):
    """Parses of the words, as one sentence or several."""
    return mixture(model.frozen, RUNNING, search)


def test_blocks_are_cut_between_trees():
    # The first block has two trees, with heads counted from its start, and the second block has
    # one.
    blocks = blocks_of([0, 1, 2, 3], [4, 5, 6], may_start=True)
    found = cut(blocks, np.array([NONE, 0, 3, NONE, 1, NONE, 1], dtype=np.int32))
    assert found.offsets.tolist() == [0, 2, 4, 7]
    assert found.words.tolist() == blocks.words.tolist()


@pytest.mark.parametrize(
    "settings", [{}, {"marginals": True}, {"marginals": True, "consensus": True}]
)
def test_probabilities_without_future_cost_do_not_depend_on_later_words(model, settings):
    search = Search(20, 0.0, future_cost=0.0, **settings)
    whole, beginning = (
        decode(model.frozen, blocks_of(words, may_start=True), search)
        for words in (WORDS, WORDS[:4])
    )
    for name in ("syntactic", "lexical"):
        assert np.array_equal(getattr(whole, name)[:4], getattr(beginning, name))


def test_given_boundaries_leave_one_segmentation(model):
    search = Search(EVERYTHING, 0.0, marginals=True)
    (share,) = mixture(model.frozen, blocks_of(WORDS[:4]), search)
    assert np.array_equal(share.weight, np.ones(4))
    alone = decode_all(model.frozen, blocks_of(WORDS[:4]), search)[0]
    assert np.array_equal(share.posterior.log_weight, alone.log_weight)


def test_probabilities_are_averaged_over_segmentations(model, search, possibilities):
    parses = decode(model.frozen, RUNNING, search)
    total, heads, tags = np.zeros(len(WORDS)), np.zeros(len(WORDS)), np.zeros(len(WORDS))
    for words, posterior, weight in possibilities:
        total[words] += weight
        wanted = parses.heads[words]
        wanted = np.where(wanted == NONE, NONE, wanted - words[0])
        heads[words] += weight * (posterior.probability @ (posterior.heads == wanted))
        tags[words] += weight * (posterior.probability @ (posterior.tags == parses.tags[words]))
    assert total == pytest.approx(1.0)
    assert parses.head_probability == pytest.approx(heads, rel=ROUNDING)
    assert parses.tag_probability == pytest.approx(tags, rel=ROUNDING)


def test_joining_two_sentences_is_weighted_by_the_evidence(model, search, possibilities):
    sentences, found = posteriors(model.frozen, RUNNING, search)
    shares, number = possibilities, len(found)
    evidence = [np.logaddexp.reduce(share.posterior.log_weight) for share in shares]
    starts = sentences.offsets.tolist()
    pairs = list(range(number, len(shares)))
    assert len(pairs) == number - 1
    for pair, left in zip(pairs, range(number)):
        assert shares[pair].words.tolist() == list(range(starts[left], starts[left + 2]))
        odds = np.exp((evidence[pair] - evidence[left] - evidence[left + 1]) / search.temperature)
        ratio = shares[pair].weight / np.concatenate([shares[left].weight, shares[left + 1].weight])
        assert ratio == pytest.approx(odds)


def test_guide_heads_stay_within_their_sentence(model):
    search = Search(50, 0.0, marginals=True, guides=True)
    parts = WORDS[:4], WORDS[4:]
    alone = decode(model.frozen, blocks_of(*parts), search).guides
    for start, part in zip((0, 4), parts):
        own = decode(model.frozen, blocks_of(part), search).guides
        for one, other in zip(own, alone):
            np.testing.assert_array_equal(one, other[start : start + len(part)])
