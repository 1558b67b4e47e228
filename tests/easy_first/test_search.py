"""Beam search: incremental scores are exact, and the best sequence is found."""

from functools import reduce

import numpy as np
import pytest
from compiled_search import advance, state_of, steps_of
from compiling import compiled
from plain_parser import (
    Hypothesis,
    PlainParser,
    actions_of,
    arc_scorer,
    derivations,
    first_state,
    head_and_child,
    join,
    random_sentence,
    random_weights,
    trees_of,
)

from spacy_hpyp.easy_first import parsing
from spacy_hpyp.easy_first.parsing import MARGIN, new_states, search
from spacy_hpyp.easy_first.perceptron import round_averages

PLACES = 1 << 12

#: Elements of every kind, from every tree of the window.
TEMPLATES = [
    ["l.word", "r.word"],
    ["l.tag", "r.tag", "distance"],
    ["l2.tag", "l1.tag"],
    ["r1.tag", "r2.tag"],
    ["l.left.tag", "l.right.word"],
    ["r.left2.lower", "r.right2.suffix"],
    ["l1.right.usual", "l.tag"],
    ["r1.left.tag", "r.tag"],
    ["l2.right.count", "r2.left.count"],
    ["l.left.tags", "r.right.tags"],
    ["l.after.tag", "r.before.tag"],
    ["l2.before.word", "r2.after.word"],
    ["l1.size", "r1.size"],
    ["l2.size", "r2.size", "edge"],
    ["between", "l.tag"],
]
GUIDED = [
    *TEMPLATES,
    ["guide.l", "guide.r"],
    ["guide.l.other", "guide.r.other"],
    ["guide.l.label", "guide.r.label"],
    ["l.missing.left", "l.missing.right"],
    ["r.missing.left", "r2.missing.right", "l2.missing.left"],
    ["l.guide.head", "r.guide.label", "r1.guide.tag"],
]


def random_parser(n, seed, *, steps=1024, templates=TEMPLATES, symbols=3, rounded=False):
    """A random sentence with random weights, optionally rounded like those for prediction."""
    rng = np.random.default_rng(seed)
    guide = 3 if templates is GUIDED else 0
    sentence = random_sentence(n, rng, symbols=symbols, guide=guide)
    weights = random_weights(PLACES, rng, steps=steps)
    weights = round_averages(weights) if rounded else weights
    return PlainParser(arc_scorer(templates, PLACES, weights), sentence)


def compiled_beams(plain, width, *, heads=None, margin=0.0):
    """The beams before the first action and after each action: the states, the first of the beam,
    and the size of the beam.
    """
    n = plain.n
    states = new_states(plain.scorer, n, width)
    heads = np.array([0] * n if heads is None else heads, dtype=np.int32)
    compiled(parsing.begin)(states, n)
    compiled(parsing.append_words)(plain.scorer, plain.sentence, states, 0, 0, 0, n)
    half, size = 0, 1
    yield states, 0, size
    for length in range(n, 1, -1):
        size = advance(plain.scorer, plain.sentence, states, half, size, length, heads, margin)
        half = 1 - half
        yield states, half * width, size


@pytest.mark.parametrize("width", [1, 8, 64])
@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize(
    ("n", "templates"), [(1, TEMPLATES), (2, TEMPLATES), (7, TEMPLATES), (14, GUIDED)]
)
def test_incremental_scores_equal_scores_from_scratch(n, width, templates, rounded):
    for seed in range(3):
        plain = random_parser(n, seed, templates=templates, rounded=rounded)
        for taken, (states, first, size) in enumerate(compiled_beams(plain, width)):
            for number in range(first, first + size):
                state = state_of(states, number, n - taken)
                for place, action in actions_of(state):
                    score = states.scores[number, MARGIN + place, action]
                    assert score == plain.score(state, (place, action))


@pytest.mark.parametrize("rounded", [False, True])
def test_cached_windows_are_not_confused(rounded):
    # More windows than the cache holds.
    plain = random_parser(24, 5, rounded=rounded)
    windows = set()
    for taken, (states, first, size) in enumerate(compiled_beams(plain, 256)):
        for number in range(first, first + size):
            state = state_of(states, number, 24 - taken)
            windows.update(plain.window(state, place) for place in range(len(state) - 1))
            # Check a part of each state: there are many states.
            for place, action in actions_of(state)[number % 4 :: 4]:
                score = states.scores[number, MARGIN + place, action]
                assert score == plain.score(state, (place, action))
    assert len(windows) > len(states.windows)


@pytest.mark.parametrize("steps", [1024, 1])
@pytest.mark.parametrize("width", [1, 2, 3, 8])
def test_every_beam_matches_the_plain_parser_including_ties(width, steps):
    for seed in range(6):
        plain = random_parser(9, seed, steps=steps)
        for expected, (states, first, size) in zip(
            plain.beams(width), compiled_beams(plain, width), strict=True
        ):
            length = len(expected[0].state)
            found = [
                Hypothesis(
                    steps_of(states, states.last[number]),
                    state_of(states, number, length),
                    states.total[number],
                )
                for number in range(first, first + size)
            ]
            assert found == expected


def test_penalties_are_added_to_the_scores_of_wrong_arcs():
    for seed in range(4):
        plain = random_parser(6, seed)
        trees = trees_of(5)
        heads = [*trees[seed * 7 % len(trees)], 0]
        beam = plain.beams(4)[0]
        for states, first, size in compiled_beams(plain, 4, heads=heads, margin=0.75):
            assert states.total[first : first + size].tolist() == [each.total for each in beam]
            beam = plain.best(beam, 4, heads=heads, margin=0.75)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_a_beam_of_all_states_finds_the_best_sequence_of_actions(n):
    for seed in range(8 if n < 5 else 3):
        plain = random_parser(n, seed)
        complete = derivations(first_state(n))
        scores = {steps: (plain.score_of(steps), last) for steps, last in complete}
        highest = max(score for score, _ in scores.values())
        width = len(scores)
        states = new_states(plain.scorer, n, width)
        first, size = search(plain.scorer, plain.sentence, states)
        assert states.total[first] == highest
        assert scores[steps_of(states, states.last[first])] == (highest, state_of(states, first, 1))
        # Merging keeps the best sequence of every tree.
        best = {}
        for score, last in scores.values():
            best[last] = max(score, best.get(last, -np.inf))
        assert states.total[first : first + size].tolist() == sorted(best.values(), reverse=True)


@pytest.mark.parametrize("steps", [1024, 1])
@pytest.mark.parametrize("width", [2, 8, 40])
def test_the_final_beam_has_distinct_trees(width, steps):
    for seed in range(6):
        plain = random_parser(8, seed, steps=steps)
        states = new_states(plain.scorer, 8, width)
        first, size = search(plain.scorer, plain.sentence, states)
        assert len({state_of(states, first + number, 1) for number in range(size)}) == size == width
        assert np.all(np.diff(states.total[first : first + size]) <= 0.0)


@pytest.mark.parametrize("width", [1, 4])
def test_margin_is_the_lead_over_other_actions_with_the_child(width):
    plain = random_parser(8, 4)
    states = new_states(plain.scorer, 8, width)
    search(plain.scorer, plain.sentence, states)
    for number in range(1, states.size[0]):
        *before, step = steps_of(states, number)
        state = reduce(join, before, first_state(8))
        _, child = head_and_child(state, step)
        others = [each for each in actions_of(state) if child in head_and_child(state, each)]
        others.remove(step)
        highest = max(plain.score(state, other) for other in others)
        assert states.margin[number] == plain.score(state, step) - highest
