"""The averaged perceptron: averages are those of the weights after each update, and what is stored is what was learned."""

import numpy as np
import pytest

from spacy_hpyp.easy_first.perceptron import change, new_perceptron, set_average, tick
from spacy_hpyp.easy_first.storage import perceptron_from_message, perceptron_to_message

PLACES, OUTCOMES = 64, 3


def random_perceptron(updates, seed=0):
    """A perceptron after some updates, and its weights after each of them."""
    rng = np.random.default_rng(seed)
    perceptron, history = new_perceptron(PLACES, OUTCOMES), []
    for _ in range(updates):
        tick(perceptron)
        for amount in (1.0, -1.0):
            change(perceptron, rng.integers(PLACES // 2, size=4), int(rng.integers(OUTCOMES)), amount)
        history.append(perceptron.weights.copy())
    return perceptron, history


@pytest.mark.parametrize("updates", [1, 2, 50])
def test_average_is_the_mean_of_the_weights_after_each_update(updates):
    perceptron, history = random_perceptron(updates)
    average = np.empty((PLACES, OUTCOMES), dtype=np.float32)
    set_average(perceptron, average)
    assert np.allclose(average, np.mean(history, axis=0), atol=1e-6)
    assert average.any()


def test_nothing_learned_is_an_average_of_zero():
    average = np.ones((PLACES, OUTCOMES), dtype=np.float32)
    set_average(new_perceptron(PLACES, OUTCOMES), average)
    assert not average.any()


@pytest.mark.parametrize("updates", [0, 1, 50])
def test_what_is_stored_comes_back(updates):
    perceptron, _ = random_perceptron(updates)
    loaded = perceptron_from_message(perceptron_to_message(perceptron), PLACES, OUTCOMES)
    for part, other in zip(perceptron, loaded):
        assert part.dtype == other.dtype
        assert np.array_equal(part, other)
        assert other.flags.writeable


def test_places_that_were_never_used_take_no_room():
    perceptron = new_perceptron(1 << 20, 1)
    tick(perceptron)
    change(perceptron, np.array([0, 5, (1 << 20) - 1]), 0, 1.0)
    message = perceptron_to_message(perceptron)
    assert sum(len(message[part]) for part in ("weights", "sums")) < 200
    assert np.array_equal(perceptron_from_message(message, 1 << 20, 1).weights, perceptron.weights)


@pytest.mark.parametrize(
    "edit",
    [
        lambda message: message.pop("clock"),
        lambda message: message.pop("gaps"),
        lambda message: message.update(clock=-1),
        lambda message: message.update(clock=1.5),
        lambda message: message.update(clock=2**70),
        lambda message: message.update(gaps=None),
        lambda message: message.update(weights=b""),
        lambda message: message.update(weights=message["sums"]),
        lambda message: message.update(sums=message["sums"][:-1]),
        lambda message: message.update(sums="x"),
        lambda message: message.update(perceptron_to_message(random_perceptron(3)[0]), sums=message["sums"]),
    ],
)
def test_damage_is_seen(edit):
    message = perceptron_to_message(random_perceptron(50)[0])
    edit(message)
    with pytest.raises(ValueError, match=r".+"):
        perceptron_from_message(message, PLACES, OUTCOMES)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("part", ["weights", "sums"])
def test_what_is_no_number_is_refused(part, value):
    perceptron, _ = random_perceptron(5)
    getattr(perceptron, part)[3, 1] = value
    with pytest.raises(ValueError, match="not a number"):
        perceptron_from_message(perceptron_to_message(perceptron), PLACES, OUTCOMES)


def test_table_of_another_size_is_refused():
    message = perceptron_to_message(random_perceptron(50)[0])
    for places, outcomes in ((PLACES // 4, OUTCOMES), (PLACES, OUTCOMES + 1), (PLACES, 1)):
        with pytest.raises(ValueError, match=r"its weights are not|as many numbers as"):
            perceptron_from_message(message, places, outcomes)
