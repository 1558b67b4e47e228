"""Latent states are drawn from their posterior: comparison with enumeration of all assignments, and
with the prior (Geweke 2004).
"""

import itertools
from functools import cache

import numpy as np
import pytest
import test_franchise
from projective_trees import projective_trees, score
from seating import draw_one, predictive_distribution, predictive_probability
from total_variation import assert_same_means, total_variation

from spacy_hpyp.compiled import NONE, jit
from spacy_hpyp.head_outward.chart import best_tree
from spacy_hpyp.head_outward.states import (
    DEPENDENCIES,
    KINDS,
    LDA,
    OF_DOCUMENTS,
    SEMANTIC,
    SYNTACTIC,
    Dependents,
    enter_context,
    new_model,
    parse_sentences,
    reserve_words,
    score_arcs,
    seat_word,
    state_weights,
    sweep,
    unseat_word,
    visit_words,
)
from spacy_hpyp.hpyp.franchise import TABLES
from spacy_hpyp.hpyp.hyperparameters import resample

VOCABULARY = 3
#: Strengths by context length.
TINY_STRENGTHS = (0.7, 1.3, 0.4)


def dependents_of(*documents):
    """Documents of sentences of pairs (word, head in the sentence)."""
    words, heads, numbers, offsets = [], [], [], [0]
    for number, sentences in enumerate(documents):
        for sentence in sentences:
            heads += [NONE if head is None else offsets[-1] + head for _, head in sentence]
            words += [word for word, _ in sentence]
            numbers += [number] * len(sentence)
            offsets.append(len(words))
    return Dependents(
        *(np.array(column, dtype=np.int32) for column in (words, heads, numbers)),
        np.array(offsets, dtype=np.int64),
    )


#: Five words: two words have the same parent, and one word is a parent in both documents.
TINY = dependents_of([[(0, None), (1, 0)], [(1, None)]], [[(1, 1), (0, None)]])


def fixed(kind):
    """An empty model with fixed, unequal hyperparameters."""
    model = new_model(kind, 2, VOCABULARY)
    for franchise in (model.states, model.words):
        franchise.strength[:] = TINY_STRENGTHS[: len(franchise.strength)]
    return model


def unseated(dependents):
    """The states of unseated words, and room for their probabilities."""
    return np.full(len(dependents.word), NONE, dtype=np.int32), np.empty(len(dependents.word))


def run(model, dependents, steps):
    """The states after each sweep."""
    rng = np.random.default_rng(0)
    state, probability = unseated(dependents)
    visited = []
    for _ in range(steps):
        model = sweep(model, dependents, state, rng, probability)
        visited.append(tuple(state.tolist()))
    return visited


# Words have no parent in LDA, so back-off has no order there.
@pytest.mark.parametrize("kind", [SYNTACTIC, SEMANTIC, LDA])
def test_states_are_visited_as_often_as_the_posterior_predicts(kind, monkeypatch):
    monkeypatch.setattr(test_franchise, "DISCOUNT", (0.0, 0.0, 0.0))
    monkeypatch.setattr(test_franchise, "STRENGTH", TINY_STRENGTHS)

    @cache
    def marginal(events, alphabet):
        return sum(test_franchise.enumerate_seatings(events, alphabet).values())

    def joint(states):
        parents = [VOCABULARY if head == NONE else int(TINY.word[head]) for head in TINY.head]
        conditions = TINY.document.tolist() if kind in OF_DOCUMENTS else parents
        contexts = zip(states) if kind == LDA else zip(states, parents)
        of_states = sorted(zip(zip(conditions), states))
        of_words = sorted(zip(contexts, TINY.word.tolist()))
        return marginal(tuple(of_states), 2) * marginal(tuple(of_words), VOCABULARY)

    exact = {states: joint(states) for states in itertools.product(range(2), repeat=len(TINY.word))}
    exact = {states: probability / sum(exact.values()) for states, probability in exact.items()}
    distance, limit = total_variation(run(fixed(kind), TINY, 5_000), exact)
    assert max(exact.values()) > 2 * min(exact.values())
    assert distance < limit


def random_dependents():
    """Four documents of six sentences of six words."""
    rng = np.random.default_rng(0)

    def sentence():
        heads = (None if i == 0 else int(rng.integers(i)) for i in range(6))
        return [(int(rng.integers(12)), head) for head in heads]

    return dependents_of(*([sentence() for _ in range(6)] for _ in range(4)))


def trained(kind):
    """A model of random words with sampled hyperparameters, its words and their states."""
    dependents = random_dependents()
    model = new_model(kind, 1 if kind == DEPENDENCIES else 3, 12)
    rng = np.random.default_rng(0)
    state, probability = unseated(dependents)
    for _ in range(5):
        model = sweep(model, dependents, state, rng, probability)
        resample(model.states, rng)
        resample(model.words, rng)
    return model, dependents, state


@jit
def context_at(model, dependents, i, condition, context):
    head = dependents.head[i]
    parent = model.words.alphabet[0] if head == NONE else dependents.word[head]
    enter_context(model, parent, dependents.document[i], condition, context)


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_predicted_from_all_others_and_probabilities_sum_to_one(kind):
    model, dependents, state = trained(kind)
    rng, workspace = (
        np.random.default_rng(1),
        (np.empty(model.count, dtype=np.int64), *np.empty((2, model.count))),
    )
    of_states, of_words = np.empty(model.count), np.empty(12)
    for i in range(0, len(state), 7):
        model = reserve_words(model, 2)
        # Compare a Gibbs step of a copy with its parts before the draw: the same customers leave.
        copied = type(model)(
            *(type(part)(*map(np.copy, part)) for part in model[:2]), model.of_documents
        )
        found = np.empty(len(state))
        visit_words(copied, dependents, i, i + 1, state.copy(), np.random.default_rng(i), found)
        condition, context = np.empty(1, dtype=np.int32), np.empty(2, dtype=np.int32)
        context_at(model, dependents, i, condition, context)
        unseat_word(
            model, dependents.word[i], state[i], condition, context, np.random.default_rng(i)
        )
        probabilities = [
            state_weights(model, word, condition, context, *workspace) for word in range(12)
        ]
        assert sum(probabilities) == pytest.approx(1.0)
        assert found[i] == probabilities[dependents.word[i]]
        predictive_distribution(model.states, 0, condition, of_states)
        expected = np.zeros(12)
        for number in range(model.count):
            context[0] = number
            predictive_distribution(model.words, 0, context, of_words)
            expected += of_states[number] * of_words
        np.testing.assert_allclose(probabilities, expected)
        seat_word(model, dependents.word[i], state[i], condition, context, rng)


# Geweke's test: draw the words, states, seating and hyperparameters of documents jointly in two
# ways.

#: Two documents; their words are redrawn.
SHAPE = dependents_of(
    [[(0, None), (0, 0), (0, 0)], [(0, 1), (0, None)]], [[(0, None), (0, 0)], [(0, None)]]
)


@jit
def unseat_sentence(model, dependents, number, state, rng):
    condition, context = np.empty(1, dtype=np.int32), np.empty(2, dtype=np.int32)
    for i in range(dependents.offsets[number], dependents.offsets[number + 1]):
        context_at(model, dependents, i, condition, context)
        unseat_word(model, dependents.word[i], state[i], condition, context, rng)


@jit
def generate_sentence(model, dependents, order, number, state, rng):
    """Draw the states and words of a sentence, parents first, each from its prediction given all
    earlier draws.
    """
    condition, context = np.empty(1, dtype=np.int32), np.empty(2, dtype=np.int32)
    of_states, of_words = np.empty(model.states.alphabet[0]), np.empty(model.words.alphabet[0])
    for i in order[dependents.offsets[number] : dependents.offsets[number + 1]]:
        context_at(model, dependents, i, condition, context)
        predictive_distribution(model.states, 0, condition, of_states)
        state[i] = draw_one(of_states, rng)
        context[0] = state[i]
        predictive_distribution(model.words, 0, context, of_words)
        dependents.word[i] = draw_one(of_words, rng)
        seat_word(model, dependents.word[i], state[i], condition, context, rng)


STATISTICS = (
    *(f"log strength of {what}" for what in ("states", "states in contexts")),
    *(f"log strength of {what}" for what in ("words", "words in contexts")),
    *("tables of states", "tables of words"),
    *("states alike in a document", "states alike elsewhere"),
    *("words alike", "child like its parent", "states alike where words are"),
)


def statistics_of(model, dependents, state):
    word, document = dependents.word, dependents.document
    same_state, same_word = state[:, None] == state, word[:, None] == word
    same_document = document[:, None] == document
    pairs = ~np.eye(len(word), dtype=bool)
    children = np.flatnonzero(dependents.head != NONE)
    return (
        *np.log(model.states.strength[:2]),
        *np.log(model.words.strength[:2]),
        model.states.restaurants[0, TABLES],
        model.words.restaurants[0, TABLES],
        same_state[same_document & pairs].mean(),
        same_state[~same_document].mean(),
        same_word[pairs].mean(),
        np.mean(word[children] == word[dependents.head[children]]),
        (same_state & same_word)[pairs].mean(),
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", [SYNTACTIC, SEMANTIC])
def test_sampling_preserves_the_joint_distribution_of_states_and_hyperparameters(kind):
    rng = np.random.default_rng(7)
    # Words after their parents.
    order = np.array([0, 1, 2, 4, 3, 5, 6, 7])
    dependents = SHAPE._replace(word=SHAPE.word.copy())
    state, probability = unseated(SHAPE)
    sentences = range(len(SHAPE.offsets) - 1)
    forward = np.empty((3000, len(STATISTICS)))
    for i in range(len(forward)):
        model = reserve_words(new_model(kind, 2, VOCABULARY), len(state))
        for franchise in (model.states, model.words):
            franchise.strength[:] = rng.exponential(size=len(franchise.strength))
        for number in sentences:
            generate_sentence(model, dependents, order, number, state, rng)
        forward[i] = statistics_of(model, dependents, state)
    chain = np.empty((7000, len(STATISTICS)))
    for i in range(len(chain)):
        model = sweep(model, dependents, state, rng, probability)
        resample(model.states, rng)
        resample(model.words, rng)
        model = reserve_words(model, len(state))
        # Redraw one sentence at a time, so that the states of the others are left to the sampler.
        number = i % len(sentences)
        unseat_sentence(model, dependents, number, state, rng)
        generate_sentence(model, dependents, order, number, state, rng)
        chain[i] = statistics_of(model, dependents, state)
    assert_same_means(STATISTICS, forward, chain)


@pytest.mark.parametrize("kind", KINDS)
def test_arc_scores_sum_over_states(kind):
    model, dependents, _ = trained(kind)
    word = dependents.word[:6]
    scores = score_arcs(model, word, 1)
    for h, d in [(0, 3), (4, 1), (None, 2)]:
        parent = model.root if h is None else word[h]
        condition = np.array([1 if kind in OF_DOCUMENTS else parent], dtype=np.int32)
        total = 0.0
        for state in range(model.count):
            context = np.array([state, parent], dtype=np.int32)
            total += predictive_probability(
                model.states, 0, condition, state
            ) * predictive_probability(model.words, 0, context, word[d])
        assert np.exp(scores.root[d] if h is None else scores.first[h, d]) == pytest.approx(total)


def test_a_parse_is_the_most_probable_tree():
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
