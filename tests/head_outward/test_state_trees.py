"""Trees and states are drawn together from their posterior, in which the events of a sentence see each other."""

import itertools
from functools import cache

import numpy as np
import pytest
import test_franchise
from projective_trees import projective_trees, score
from seating import predictive_probability
from test_states import TINY_STRENGTHS, dependents_of, fixed, trained
from total_variation import total_variation

from spacy_hpyp.annotation.arrays import is_projective
from spacy_hpyp.compiled import NONE
from spacy_hpyp.head_outward.chart import best_tree
from spacy_hpyp.head_outward.state_trees import (
    latent_state_trees,
    parse_sentences,
    score_arcs,
    sweep,
    visit_trees,
)
from spacy_hpyp.head_outward.states import KINDS, OF_DOCUMENTS, SEMANTIC, SYNTACTIC, reserve_words
from spacy_hpyp.hpyp.storage import pack
from spacy_hpyp.inference.metropolis import draw_again

pytestmark = pytest.mark.slow

VOCABULARY = 3
#: Two sentences of two documents, which see each other's words.
DEPENDENTS = dependents_of([[(0, None), (1, 0), (0, 0)]], [[(1, None), (0, 0)]])


def test_trees_of_the_chart_are_the_projective_ones_with_one_root():
    assert [len(projective_trees(n)) for n in (1, 2, 3, 4)] == [1, 2, 7, 30]
    for n in (1, 2, 3, 4):
        known = set(projective_trees(n))
        for heads in itertools.product([NONE, *range(n)], repeat=n):
            assert is_projective(np.array(heads, dtype=np.int32)) == (heads in known)


@pytest.mark.parametrize("kind", KINDS)
def test_arcs_are_scored_by_the_sum_over_states(kind):
    model, dependents, _ = trained(kind)
    word = dependents.word[:6]
    scores = score_arcs(model, word, 1)
    for h, d in [(0, 3), (4, 1), (None, 2)]:
        parent = model.root if h is None else word[h]
        condition = np.array([1 if kind in OF_DOCUMENTS else parent], dtype=np.int32)
        total = 0.0
        for state in range(model.count):
            context = np.array([state, parent], dtype=np.int32)
            total += predictive_probability(model.states, 0, condition, state) * predictive_probability(
                model.words, 0, context, word[d]
            )
        assert np.exp(scores.root[d] if h is None else scores.first[h, d]) == pytest.approx(total)


def test_the_tree_that_is_found_is_the_most_probable_one():
    model, _, _ = trained(SYNTACTIC)
    word = np.array([3, 1, 4, 1], dtype=np.int32)
    scores = score_arcs(model, word, NONE)
    found = {heads: score(scores, heads) for heads in projective_trees(4)}
    heads = np.empty(8, dtype=np.int32)
    parse_sentences(model, np.tile(word, 2), np.array([0, 4, 4, 8]), heads)
    assert (
        found[tuple(heads[:4].tolist())]
        == pytest.approx(max(found.values()))
        == pytest.approx(best_tree(scores)[1])
    )
    assert [h - 4 if h != NONE else NONE for h in heads[4:].tolist()] == heads[:4].tolist()


def joint_of(kind, dependents):
    """The probability of trees and states, as a function of heads in the sentences and states, summed over
    the seatings.
    """

    @cache
    def marginal(events, alphabet):
        return sum(test_franchise.enumerate_seatings(events, alphabet).values())

    def joint(heads, states):
        parents = [VOCABULARY if head == NONE else int(dependents.word[head]) for head in heads]
        conditions = dependents.document.tolist() if kind in OF_DOCUMENTS else parents
        of_states = sorted(zip(((condition,) for condition in conditions), states))
        of_words = sorted(zip(zip(states, parents), dependents.word.tolist()))
        return marginal(tuple(of_states), 2) * marginal(tuple(of_words), VOCABULARY)

    return joint


def all_heads(dependents):
    """Heads of all words, for all combinations of trees."""
    bounds = itertools.pairwise(dependents.offsets.tolist())
    trees = [
        [[h if h == NONE else h + start for h in heads] for heads in projective_trees(end - start)]
        for start, end in bounds
    ]
    return [tuple(itertools.chain(*combination)) for combination in itertools.product(*trees)]


@pytest.mark.parametrize("kind", [SYNTACTIC, SEMANTIC])
def test_trees_and_states_are_visited_as_often_as_they_are_probable(kind, monkeypatch):
    monkeypatch.setattr(test_franchise, "DISCOUNT", (0.0, 0.0, 0.0))
    monkeypatch.setattr(test_franchise, "STRENGTH", TINY_STRENGTHS)
    joint = joint_of(kind, DEPENDENTS)
    exact = {
        (heads, states): joint(heads, states)
        for heads in all_heads(DEPENDENTS)
        for states in itertools.product(range(2), repeat=len(DEPENDENTS.word))
    }
    exact = {key: probability / sum(exact.values()) for key, probability in exact.items()}
    assert len(exact) == 7 * 2 * 2**5
    rng, n = np.random.default_rng(1), len(DEPENDENTS.word)
    dependents = DEPENDENTS._replace(head=DEPENDENTS.head.copy())
    state, probability, draws = np.full(n, NONE, dtype=np.int32), np.empty(n), np.zeros(2, dtype=np.int64)
    model = sweep(fixed(kind, "state"), dependents, state, rng, probability)
    visited = []
    for _ in range(20_000):
        model = sweep(model, dependents, state, rng, probability, draws)
        visited.append((tuple(dependents.head.tolist()), tuple(state.tolist())))
    distance, limit = total_variation(visited, exact)
    assert distance < limit
    # Some of the new derivations are not accepted.
    assert 0 < draws[1] < draws[0] <= 2 * 20_000


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_accepted_leaves_no_trace(kind):
    model, dependents, state = trained(kind)
    dependents = dependents._replace(head=dependents.head.copy())
    refused = 0
    for seed in range(400):
        model = reserve_words(model, 60)
        before = pack(model.states), pack(model.words), dependents.head.copy(), state.copy()
        draws, number = np.zeros(2, dtype=np.int64), seed % (len(dependents.offsets) - 1)
        probability = np.empty(len(state))
        rng = np.random.default_rng(seed)
        only = dependents._replace(offsets=dependents.offsets[number : number + 2])
        start, end = only.offsets
        head = only.head[start:end]
        if not is_projective(np.where(head == NONE, NONE, head - start).astype(np.int32)):
            continue
        latent = latent_state_trees(model, only, state)
        assert draw_again(latent, 0, rng, draws)
        if draws[1] == 0:
            refused += 1
            after = pack(model.states), pack(model.words), dependents.head, state
            assert before[:2] == after[:2]
            assert np.array_equal(before[2], after[2])
            assert np.array_equal(before[3], after[3])
        visit_trees(latent, 0, 1, np.array([True]), rng, probability, draws)
    assert refused > 0


def test_trees_that_the_chart_does_not_have_stay():
    model, dependents, state = trained(SEMANTIC)
    kept = [
        (start, end)
        for start, end in itertools.pairwise(dependents.offsets.tolist())
        if not is_projective(
            np.where(dependents.head[start:end] == NONE, NONE, dependents.head[start:end] - start).astype(
                np.int32
            )
        )
    ]
    before, draws = dependents.head.copy(), np.zeros(2, dtype=np.int64)
    sweep(model, dependents, state, np.random.default_rng(0), np.empty(len(state)), draws)
    assert kept
    assert all(np.array_equal(before[start:end], dependents.head[start:end]) for start, end in kept)
    assert not np.array_equal(before, dependents.head)
