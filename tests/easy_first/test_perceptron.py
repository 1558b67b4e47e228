"""The averaged perceptron: averages are those of the weights after each update, and storage loses
nothing.
"""

import numpy as np
import pytest

from spacy_hpyp.easy_first.perceptron import (
    StoredPerceptron,
    averages_alone,
    averages_in,
    change_kept,
    check_can_learn,
    is_compact,
    new_perceptron,
    perceptron_from_message,
    perceptron_to_message,
    round_averages,
    table_of_averages,
    tick,
)

PLACES, OUTCOMES = 64, 3


def random_perceptron(updates, seed=0, outcomes=OUTCOMES):
    """A perceptron after some updates, and its weights after each of them."""
    rng = np.random.default_rng(seed)
    perceptron, history = new_perceptron(PLACES, outcomes), []
    for _ in range(updates):
        tick(perceptron)
        for amount in (1.0, -1.0):
            places = rng.integers(PLACES // 2, size=4)
            change_kept(
                perceptron, places, np.ones(4, dtype=bool), int(rng.integers(outcomes)), amount
            )
        history.append(perceptron.weights.copy())
    return perceptron, history


@pytest.mark.parametrize("outcomes", [1, 4, 9])
@pytest.mark.parametrize("updates", [1, 2, 50])
def test_average_is_the_mean_of_the_weights_after_each_update(updates, outcomes):
    perceptron, history = random_perceptron(updates, outcomes=outcomes)
    average = table_of_averages(perceptron)
    assert average.dtype == np.float32
    assert np.allclose(average, np.mean(history, axis=0), atol=1e-6)


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 3e4])
def test_rounded_averages_are_less_than_a_step_away_and_the_largest_is_told(scale):
    averages = np.random.default_rng(4).normal(size=(PLACES, 2)).astype(np.float32) * np.float32(
        scale
    )
    multiples, step = round_averages(averages)
    assert multiples.dtype == np.int16
    assert np.abs(multiples.astype(np.int64)).max() == (32_767 if scale else 0)
    assert np.abs(multiples * step - averages).max() <= 0.51 * step


@pytest.mark.parametrize("outcomes", [1, 3, 9])
@pytest.mark.parametrize("updates", [0, 1, 50])
def test_what_is_stored_comes_back(updates, outcomes):
    perceptron, _ = random_perceptron(updates, outcomes=outcomes)
    loaded = perceptron_from_message(perceptron_to_message(perceptron), PLACES, outcomes)
    for part, other in zip(perceptron, loaded):
        assert part.dtype == other.dtype
        assert np.array_equal(part, other)


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("rounded", [False, True])
def test_what_was_stored_predicts_as_what_is_unpacked(alone, rounded):
    perceptron, _ = random_perceptron(50)
    message = perceptron_to_message(averages_alone(perceptron) if alone else perceptron)
    stored = StoredPerceptron(message, PLACES, OUTCOMES, rounded=rounded)
    for found, expected in zip(
        stored.averages, averages_in(stored.unpack(), rounded=rounded), strict=True
    ):
        assert np.array_equal(found, expected)


def test_averages_alone_predict_the_same_to_a_32nd_and_learn_no_more():
    perceptron, history = random_perceptron(50)
    check_can_learn(perceptron)
    assert not is_compact(new_perceptron(PLACES, OUTCOMES))
    message = perceptron_to_message(averages_alone(perceptron))
    kept = perceptron_from_message(message, PLACES, OUTCOMES)
    average = table_of_averages(kept)
    assert np.abs(average - np.mean(history, axis=0)).max() <= 1 / 64 + 1e-6
    assert np.array_equal(average * 32, np.round(average * 32))
    assert perceptron_to_message(kept) == message
    with pytest.raises(ValueError, match="hpyp compact"):
        check_can_learn(kept)
