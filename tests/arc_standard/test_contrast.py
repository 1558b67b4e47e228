"""The gradient of the conditional likelihood of derivations matches finite differences."""

import numpy as np
import pytest

from spacy_hpyp.annotation.arrays import sentence_blocks
from spacy_hpyp.annotation.encoding import raw_sentences
from spacy_hpyp.annotation.sentences import join, read_gold
from spacy_hpyp.arc_standard.contrast import add_contrasts
from spacy_hpyp.arc_standard.distributions import DISTRIBUTIONS, static_derivations, with_weights
from spacy_hpyp.arc_standard.proposals import new_task
from spacy_hpyp.arc_standard.search import Search
from spacy_hpyp.hpyp.count_model import no_gradient
from spacy_hpyp.hpyp.pool import Weights

# Few enough derivations for the beam to hold all of them, so that it stays the same when weights
# change a little.
SEARCH = Search(500_000, 0.0, marginals=True, labels_per_arc=20, tags_per_word=2, tag_threshold=0.0)


@pytest.fixture(scope="module")
def joint(toy, trained_pools):
    return toy.parser(trained_pools).joint


@pytest.fixture(scope="module")
def task(toy, joint):
    """Blocks of new sentences, and their gold derivations."""
    vocab = toy.nlp().vocab
    document = [*raw_sentences(toy.doc(vocab, *toy.sentences(40, seed=3)))]
    read = [joint.encoder.encode(read_gold(raw)) for raw in document]
    chosen = [rows for rows in read if not isinstance(rows, str) and rows.shape[1] <= 4][:2]
    assert len(chosen) == 2
    return sentence_blocks([rows[0] for rows in chosen]), static_derivations(join(chosen))


def contrasts(parser, task, joint_share):
    blocks, derivations = task
    pools = {name: getattr(parser, name).weights for name in DISTRIBUTIONS}
    gradient = no_gradient(pools)
    every = np.arange(len(blocks.offsets) - 1)
    task = new_task(with_weights(parser, pools, gradient), blocks, SEARCH)
    found = add_contrasts(task, every, derivations, joint_share)
    return found, gradient


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_gradient_matches_finite_differences_of_the_log_likelihood(joint, task, name):
    parser = joint.frozen
    _, gradient = contrasts(parser, task, 0.0)
    weights = {
        name: Weights(*(part.copy() for part in joint.weights[name])) for name in DISTRIBUTIONS
    }
    step = 1e-3
    for part, slopes in zip(weights[name], gradient[name]):
        # The steepest slope of each kind, and a weight without influence.
        for at in (np.unravel_index(np.abs(slopes).argmax(), slopes.shape), (0,) * slopes.ndim):
            values = []
            for sign in (1, -1):
                part[at] += sign * step
                values.append(contrasts(with_weights(parser, weights, weights), task, 0.0)[0])
                part[at] -= sign * step
            slope = (values[0] - values[1]) / (2 * step)
            # Parses below a thousandth of the probability are skipped, and the edges of the beam
            # change with the weights.
            assert slope == pytest.approx(slopes[at], rel=0.03, abs=0.03)


def test_a_share_of_the_joint_gradient_can_be_added(joint, task):
    parser = joint.frozen
    likelihood, alone = contrasts(parser, task, 0.0)
    again, half = contrasts(parser, task, 0.5)
    _, whole = contrasts(parser, task, 1.0)
    assert likelihood == again < 0.0
    for name in DISTRIBUTIONS:
        for first, second, third in zip(alone[name], half[name], whole[name]):
            np.testing.assert_allclose(second - first, third - second, rtol=1e-6, atol=1e-3)
    assert any(
        np.abs(whole[name].bucket - alone[name].bucket).max() > 0.01 for name in DISTRIBUTIONS
    )
