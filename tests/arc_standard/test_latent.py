"""Gibbs steps over latent derivations keep the posterior distribution that enumeration finds."""

from collections import Counter as Tally

import numpy as np
import pytest
from test_enumeration import POOLS, Counter, make_model

from spacy_hpyp.annotation.documents import join
from spacy_hpyp.arc_standard.configuration import derivation
from spacy_hpyp.arc_standard.latent import remove_sentence
from spacy_hpyp.arc_standard.sampling import Distributions
from spacy_hpyp.compiled import NONE
from spacy_hpyp.inference.gibbs import Derivations
from spacy_hpyp.models.joint_model import DISTRIBUTIONS

#: The second word has a dependent on either side, so that the tree has two derivations.
WORDS, TAGS, HEADS = [0, 1, 0], [0, 1, 0], [1, NONE, 1]
STEPS = 2500


def sentence():
    return join([np.array([WORDS, TAGS, HEADS, [NONE if h == NONE else 0 for h in HEADS]], dtype=np.int32)])


def seated_model(name):
    model = make_model(POOLS[name])
    rows = sentence()
    derivations = model.static_derivations(rows)
    model.visit(rows, derivations, np.array([False]), np.random.default_rng(3))
    return model, rows, derivations


def posterior(model, derivations, given_tree):
    """Of the sentence that is seated, given the others: actions and tags with their probabilities."""
    gradient = model._no_gradient()
    learner = Distributions(
        *(model._seated_pool(name, gradient[name]) for name in DISTRIBUTIONS),
        model.vocabulary.tag_offsets,
        model.vocabulary.candidate_tags,
    )
    rng = np.random.default_rng(0)
    words = np.array(WORDS, dtype=np.int32)
    assert remove_sentence(learner, words, derivations.tags, derivations.actions, rng)
    counter = Counter(model)
    found = Tally()
    for probability, last in counter.derivations(len(WORDS), WORDS):
        tags, heads, _ = counter.tree(last, len(WORDS))
        if given_tree and (tags, heads) != (TAGS, HEADS):
            continue
        actions, read = np.empty(2 * len(WORDS), dtype=np.int32), np.empty(len(WORDS), dtype=np.int32)
        derivation(counter.records, last, actions, read)
        found[(*actions.tolist(), *tags)] += probability
    total = sum(found.values())
    return {path: probability / total for path, probability in found.items()}


@pytest.mark.parametrize("given_tree", [True, False])
@pytest.mark.parametrize("name", ["the paper's", "directions and labels"])
def test_particle_gibbs_visits_derivations_as_often_as_they_are_probable(name, given_tree):
    # All other sentences stay where they are, so the sentence's derivations have one posterior in every step; only how its
    # customers sit is drawn again, and does not matter once they have left.
    model, rows, derivations = seated_model(name)
    exact = posterior(*seated_model(name)[::2], given_tree)
    rng = np.random.default_rng(5)
    visits = Tally()
    for _ in range(STEPS):
        model.visit_latent(rows, derivations, np.array([True]), rng, given_trees=given_tree, particles=3)
        visits[(*derivations.actions.tolist(), *derivations.tags.tolist())] += 1
    assert set(visits) <= set(exact)
    # Successive steps are correlated: four standard errors of a tenth as many independent draws.
    for path, probability in exact.items():
        error = 4 * (probability * (1 - probability) / (STEPS / 10)) ** 0.5
        assert visits[path] / STEPS == pytest.approx(probability, abs=error + 1e-3)


def test_a_sentence_that_is_not_seated_as_it_should_be_is_an_error():
    model, rows, derivations = seated_model("the paper's")
    other = Derivations(derivations.actions, (1 - derivations.tags).astype(np.int32))
    with pytest.raises(ValueError, match="do not belong together"):
        model.visit_latent(rows, other, np.array([True]), np.random.default_rng(0), given_trees=True, particles=3)
