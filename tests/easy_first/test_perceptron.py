"""The averaged perceptron over hashed features: hashing, averaging and storage."""

import numpy as np
import pytest
from plain_parser import dense

from spacy_hpyp.easy_first.perceptron import (
    Perceptron,
    change_kept,
    check_templates,
    compile_templates,
    find_features,
    place_of,
    read_symbol,
    round_averages,
    shift_for,
    tick,
)

PLACES, OUTCOMES = 64, 3


def test_few_features_collide():
    # Symbols that differ in few bits, like numbers of words and tags.
    lists = [["a"], ["b"], ["a", "b"], ["b", "c"], ["a", "b", "c"]]
    _, templates = compile_templates(lists, range(len(lists)))
    size, found, places = 1 << 22, [], np.empty(5, dtype=np.int64)
    rows = [(a, b, c) for a in range(-2, 18) for b in range(20) for c in range(20)]
    for row in np.array(rows, dtype=np.int32):
        find_features(templates, row, size, places)
        found.append(places.copy())
    assert np.min(found) >= 0
    assert np.max(found) < size
    distinct = [len(np.unique(column)) for column in np.array(found).T]
    kinds = [20, 20, 400, 400, 8000]
    # Of n random features, n² / 2 size collide; for the last template, 8 ± 3.
    assert sum(kinds) - sum(distinct) < 20
    assert len(np.unique(found)) > sum(kinds) - 40


def test_features_are_hashed_by_symbol_and_independent_of_other_templates():
    rng = np.random.default_rng(2)
    several = [["c"], ["a", "b", "c"], ["b"], ["c", "b"], ["a"]]
    found, templates = compile_templates(several, range(len(several)))
    places, shift = np.empty(len(several), dtype=np.int64), np.uint64(shift_for(1 << 20))
    for _ in range(20):
        row = rng.integers(-5, 1000, len(found)).astype(np.int32)
        find_features(templates, row, 1 << 20, places)
        for number, template in enumerate(several):
            code = templates.seeds[number]
            for name in template:
                code = np.uint64(read_symbol(code, row[found.index(name)]))
            assert place_of(code, shift) == places[number]


def random_perceptron(updates, outcomes=OUTCOMES, *, sparse=True):
    """A perceptron after some updates, and its weights after each update."""
    rng = np.random.default_rng(0)
    perceptron, history = Perceptron(PLACES, outcomes, sparse=sparse), []
    weights = perceptron.begin_learning()
    for _ in range(updates):
        tick(weights)
        for amount in (1.0, -1.0):
            places = rng.integers(PLACES // 2, size=4)
            kept, outcome = np.ones(4, dtype=bool), int(rng.integers(outcomes))
            change_kept(weights, places, kept, outcome, np.float32(amount))
        history.append(weights.weights.copy())
    return perceptron, history


@pytest.mark.parametrize("outcomes", [1, 4])
@pytest.mark.parametrize("updates", [1, 50])
def test_average_is_the_mean_of_the_weights_after_each_update(updates, outcomes):
    perceptron, history = random_perceptron(updates, outcomes)
    average = dense(perceptron.averages())
    assert average.dtype == np.float32
    assert np.allclose(average, np.mean(history, axis=0), atol=1e-6)


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 3e4])
def test_rounded_averages_are_within_one_step(scale):
    averages = np.random.default_rng(4).normal(size=(PLACES, 2)).astype(np.float32)
    averages *= np.float32(scale)
    multiples, step = round_averages(averages)
    assert multiples.dtype == np.int16
    assert np.abs(multiples.astype(np.int64)).max() == (32_767 if scale else 0)
    assert np.abs(multiples * step - averages).max() <= 0.51 * step


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("updates", [0, 1, 50])
def test_a_stored_perceptron_predicts_and_learns_as_before(updates, sparse):
    perceptron, _ = random_perceptron(updates, sparse=sparse)
    data = perceptron.to_bytes()
    loaded = Perceptron(PLACES, OUTCOMES, data, sparse=sparse)
    assert loaded.to_bytes() == data
    for part, other in zip(perceptron.averages(), loaded.averages(), strict=True):
        assert np.array_equal(part, other)
    for part, other in zip(perceptron.begin_learning(), loaded.begin_learning(), strict=True):
        assert part.dtype == other.dtype
        assert np.array_equal(part, other)
    assert loaded.to_bytes() == data


def test_a_compact_perceptron_rounds_to_a_32nd_and_cannot_learn():
    perceptron, history = random_perceptron(50)
    perceptron.compact()
    average = dense(perceptron.averages())
    assert np.abs(average - np.mean(history, axis=0)).max() <= 1 / 64 + 1e-6
    assert np.array_equal(average * 32, np.round(average * 32))
    again = Perceptron(PLACES, OUTCOMES, perceptron.to_bytes(), sparse=True)
    assert np.array_equal(dense(again.averages()), average)
    for each in (perceptron, again):
        with pytest.raises(ValueError, match="hpyp compact"):
            each.begin_learning()


@pytest.mark.parametrize(
    ("templates", "problem"),
    [
        ([], "no template"),
        ([["a"], []], "list of names"),
        (["a"], "list of names"),
        ([["a", "b"], ["b", "a"]], "twice"),
        ([["a", "a"]], "twice"),
        ([["z"]], "none of the elements"),
    ],
)
def test_invalid_templates_raise_errors(templates, problem):
    with pytest.raises(ValueError, match=problem):
        check_templates(templates, ["a", "b"], "arc")
