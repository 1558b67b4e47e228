"""Probabilities of single events, against the live seating."""

import numpy as np
import pytest
from compiling import compiled
from seating import PRECISION
from test_enumeration import POOLS, Counter, make_model

from spacy_hpyp.arc_standard.configuration import DEPTH, ROOT, SHIFT, action_count, class_of, reduce
from spacy_hpyp.arc_standard.configuration import shift as push
from spacy_hpyp.arc_standard.distributions import ContextLists
from spacy_hpyp.arc_standard.likelihood import action_probability, new_workspace, token_probability

action_probability, token_probability = map(compiled, (action_probability, token_probability))


@pytest.mark.parametrize("name", POOLS)
def test_events_of_random_derivations_have_the_probabilities_of_the_seating(name):
    model = make_model(POOLS[name], labels=2)
    parser, counter, rng = model.frozen, Counter(model), np.random.default_rng(0)
    queries = new_workspace(parser, remembered=64)
    for _ in range(10):
        top, used = ROOT, counter.first
        while used < 20:
            depth = counter.records[top, DEPTH]
            possible = range(action_count(2))
            if model.is_factored:
                possible = [
                    a for a in possible if class_of(a) in counter.possible_directions(depth)
                ]
            for action in possible:
                found = action_probability(parser, counter.records, top, action, queries)
                assert found == pytest.approx(
                    counter.action_probability(top, action), rel=3 * PRECISION
                )
            for tag in range(2):
                expected = counter.probability("tag", top, tag) * counter.probability(
                    "word", top, 1, tag
                )
                found = token_probability(parser, counter.records, top, tag, 1, queries)
                assert found == pytest.approx(expected, rel=3 * PRECISION)
            action = int(
                rng.choice([a for a in possible if a == SHIFT or (class_of(a) > 1 and depth > 2)])
            )
            if action == SHIFT:
                push(counter.records, used, top, int(rng.integers(2)), int(rng.integers(2)))
            else:
                reduce(counter.records, used, top, action)
            top, used = used, used + 1


def test_actions_of_a_configuration_sum_to_one():
    model = make_model(POOLS["directions and labels"], labels=2)
    counter, queries = Counter(model), new_workspace(model.frozen, remembered=64)
    push(counter.records, 2, ROOT, 0, 1)
    push(counter.records, 3, 2, 1, 0)
    for top, possible in [(ROOT, [0]), (2, [0, 1]), (3, [0, 2, 3, 4, 5])]:
        found = [
            action_probability(model.frozen, counter.records, top, action, queries)
            for action in possible
        ]
        assert sum(found) == pytest.approx(1.0)


def test_an_unlexicalised_model_generates_tags_only():
    model = make_model(ContextLists(transition=[["s1.tag"]], label=[], tag=[["s1.tag"]], word=[]))
    counter, queries = Counter(model), new_workspace(model.frozen, remembered=64)
    found = [
        token_probability(model.frozen, counter.records, ROOT, tag, 1, queries) for tag in range(2)
    ]
    assert sum(found) == pytest.approx(1.0)
