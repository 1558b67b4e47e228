"""The averaged perceptron: averages are those of the weights after each update, and what is stored is what
was learned.
"""

import tracemalloc
import zlib

import numpy as np
import pytest

from spacy_hpyp.easy_first import storage
from spacy_hpyp.easy_first.perceptron import (
    averages_alone,
    change_kept,
    change_weight,
    check_can_learn,
    find_averages,
    is_compact,
    new_perceptron,
    read_sums,
    round_averages,
    set_average,
    table_of_averages,
    tick,
)
from spacy_hpyp.easy_first.storage import (
    StoredPerceptron,
    Unpacked,
    averages_in,
    pack_table,
    perceptron_from_message,
    perceptron_to_message,
    unpack_table,
)
from spacy_hpyp.storage.arrays import pack_integers, unpack_integers
from spacy_hpyp.storage.mapped import write_arrays

PLACES, OUTCOMES = 64, 3


def random_perceptron(updates, seed=0, outcomes=OUTCOMES):
    """A perceptron after some updates, and its weights after each of them."""
    rng = np.random.default_rng(seed)
    perceptron, history = new_perceptron(PLACES, outcomes), []
    for _ in range(updates):
        tick(perceptron)
        for amount in (1.0, -1.0):
            places = rng.integers(PLACES // 2, size=4)
            change_kept(perceptron, places, np.ones(4, dtype=bool), int(rng.integers(outcomes)), amount)
        history.append(perceptron.weights.copy())
    return perceptron, history


def sums_of(perceptron):
    """The sums of all changes as one table."""
    table = np.empty(perceptron.weights.shape)
    read_sums(perceptron, np.arange(0, table.size, table.shape[1]), table)
    return table


@pytest.mark.parametrize("outcomes", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("updates", [1, 2, 50])
def test_average_is_the_mean_of_the_weights_after_each_update(updates, outcomes):
    perceptron, history = random_perceptron(updates, outcomes=outcomes)
    average = np.empty((PLACES, outcomes), dtype=np.float32)
    set_average(perceptron, average)
    assert np.allclose(average, np.mean(history, axis=0), atol=1e-6)
    assert average.any()


@pytest.mark.parametrize("outcomes", [1, 3, 9])
@pytest.mark.parametrize("updates", [0, 1, 50])
def test_averages_without_zeros_are_those_of_the_whole_table(updates, outcomes):
    perceptron, _ = random_perceptron(updates, outcomes=outcomes)
    average = np.empty((PLACES, outcomes), dtype=np.float32)
    set_average(perceptron, average)
    found = find_averages(perceptron)
    assert found.outcomes == outcomes
    assert found.weight.all()
    table = np.zeros_like(average)
    table[np.repeat(np.arange(PLACES), np.diff(found.first)), found.outcome] = found.weight
    assert np.array_equal(table, average)


@pytest.mark.parametrize("outcomes", [1, 4, 9])
def test_sums_are_those_of_the_changes_times_the_time_before_them(outcomes):
    rng = np.random.default_rng(1)
    perceptron, expected = new_perceptron(PLACES, outcomes), np.zeros((PLACES, outcomes))
    for time in range(200):
        tick(perceptron)
        place, outcome, amount = (
            int(rng.integers(PLACES)),
            int(rng.integers(outcomes)),
            float(rng.integers(-2, 3)),
        )
        change_weight(perceptron, place, outcome, amount)
        expected[place, outcome] += time * amount
    assert np.array_equal(sums_of(perceptron), expected)


def test_there_are_sums_only_for_what_has_changed():
    perceptron = new_perceptron(PLACES, 9)
    for outcome in (0, 1, 3, 8, 8):
        tick(perceptron)
        change_weight(perceptron, 5, outcome, 1.0)
    assert perceptron.used[0] == 2
    assert not perceptron.sums[3:].any()


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 3e4])
def test_rounded_averages_are_less_than_a_step_away_and_the_largest_is_told(scale):
    averages = np.random.default_rng(4).normal(size=(PLACES, 2)).astype(np.float32) * np.float32(scale)
    multiples, step = round_averages(averages)
    assert multiples.dtype == np.int16
    assert np.abs(multiples.astype(np.int64)).max() == (32_767 if scale else 0)
    assert np.abs(multiples * step - averages).max() <= 0.51 * step


def test_nothing_learned_is_an_average_of_zero():
    average = np.ones((PLACES, OUTCOMES), dtype=np.float32)
    set_average(new_perceptron(PLACES, OUTCOMES), average)
    assert not average.any()


@pytest.mark.parametrize("outcomes", [1, 3, 9])
@pytest.mark.parametrize("updates", [0, 1, 50])
def test_what_is_stored_comes_back(updates, outcomes):
    perceptron, _ = random_perceptron(updates, outcomes=outcomes)
    loaded = perceptron_from_message(perceptron_to_message(perceptron), PLACES, outcomes)
    for part, other in zip(perceptron, loaded):
        assert part.dtype == other.dtype
        assert part.shape == other.shape
        assert other.flags.writeable
    assert np.array_equal(loaded.weights, perceptron.weights)
    assert np.array_equal(sums_of(loaded), sums_of(perceptron))
    assert loaded.clock[0] == perceptron.clock[0]


@pytest.mark.parametrize("outcomes", [1, 3, 9])
@pytest.mark.parametrize("updates", [0, 1, 50])
@pytest.mark.parametrize("alone", [False, True])
def test_what_was_stored_predicts_as_what_is_unpacked(updates, outcomes, alone):
    perceptron, _ = random_perceptron(updates, outcomes=outcomes)
    message = perceptron_to_message(averages_alone(perceptron) if alone else perceptron)
    for sparse in (False, True):
        stored = StoredPerceptron(message, PLACES, outcomes, sparse=sparse)
        assert perceptron_to_message(stored) is message
        assert averages_in(stored) is stored.averages
        for found, own in zip(stored.averages, averages_in(stored.unpack(), sparse=sparse), strict=True):
            assert np.array_equal(found, own)


def test_what_was_stored_is_unpacked_once_when_it_is_asked_for():
    class Model:
        perceptron = Unpacked()

    model, message = Model(), perceptron_to_message(random_perceptron(5)[0])
    model.perceptron = StoredPerceptron(message, PLACES, OUTCOMES)
    assert isinstance(model.stored_perceptron, StoredPerceptron)
    assert np.array_equal(model.perceptron.weights, random_perceptron(5)[0].weights)
    assert model.perceptron is model.stored_perceptron
    assert isinstance(Model.perceptron, Unpacked)


def test_averages_alone_predict_the_same_to_a_32nd_and_learn_no_more():
    perceptron, history = random_perceptron(50)
    check_can_learn(perceptron)
    message = perceptron_to_message(averages_alone(perceptron))
    for sparse in (False, True):
        kept = perceptron_from_message(message, PLACES, OUTCOMES, sparse=sparse)
        average = table_of_averages(kept)
        assert np.abs(average - np.mean(history, axis=0)).max() <= 1 / 64 + 1e-6
        assert np.array_equal(average * 32, np.round(average * 32))
        assert perceptron_to_message(kept) == message
        with pytest.raises(ValueError, match="hpyp compact"):
            check_can_learn(kept)


@pytest.mark.parametrize(
    "edit",
    [
        lambda message: message.update(multiples=pack_integers(unpack_integers(message["multiples"])[:-1])),
        lambda message: message.update(
            multiples=pack_integers(np.append(unpack_integers(message["multiples"]), 1))
        ),
        lambda message: message.update(multiples="x"),
        lambda message: message.update(clock=1, compact=False),
        lambda message: message.pop("multiples"),
    ],
)
def test_damaged_averages_are_refused(edit):
    message = perceptron_to_message(averages_alone(random_perceptron(50)[0]))
    edit(message)
    with pytest.raises(ValueError, match=r".+"):
        perceptron_from_message(message, PLACES, OUTCOMES)


def test_what_is_compact_says_so():
    perceptron, _ = random_perceptron(50)
    for each, compact in (
        (perceptron, False),
        (averages_alone(perceptron), True),
        (new_perceptron(PLACES, OUTCOMES), False),
    ):
        message = perceptron_to_message(each)
        assert message["compact"] is compact
        assert is_compact(perceptron_from_message(message, PLACES, OUTCOMES)) is compact
        del message["compact"]
        with pytest.raises(ValueError, match="is missing"):
            perceptron_from_message(message, PLACES, OUTCOMES)


def test_changes_that_cancel_out_are_not_stored():
    perceptron = new_perceptron(PLACES, 1)
    tick(perceptron)
    for amount in (1.0, -1.0):
        change_weight(perceptron, 7, 0, amount)
    assert perceptron_to_message(perceptron) == perceptron_to_message(new_perceptron(PLACES, 1)) | {
        "clock": 1
    }


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (40, 3), (7, 0)])
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32])
def test_a_table_that_is_compressed_in_pieces_is_that_which_is_compressed_at_once(kind, shape, monkeypatch):
    table = np.random.default_rng(0).integers(-300, 300, shape).astype(kind)
    planes = (
        table.astype(table.dtype.newbyteorder("<"))
        .view(np.uint8)
        .reshape(-1, table.dtype.itemsize)
        .T.tobytes()
    )
    for piece in (1, 10, 1 << 20):
        monkeypatch.setattr(storage, "_PIECE", piece)
        packed = pack_table(table)
        assert zlib.decompress(packed) == planes
        loaded = unpack_table(packed, kind, shape)
        assert loaded.dtype == kind
        assert loaded.flags.writeable
        assert np.array_equal(loaded, table)


@pytest.mark.parametrize("shape", [(39, 3), (41, 3), (40, 2), (40, 4), (0, 3)])
def test_a_table_of_another_shape_is_refused(shape):
    packed = pack_table(np.arange(120, dtype=np.float32).reshape(40, 3))
    with pytest.raises(ValueError, match="as many numbers as"):
        unpack_table(packed, np.float32, shape)


def test_a_few_bytes_cannot_ask_for_a_large_table():
    packed = zlib.compress(bytes(1 << 20))
    tracemalloc.start()
    with pytest.raises(ValueError, match="as many numbers as"):
        unpack_table(packed, np.float64, (1 << 20, 1))
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_places_that_were_never_used_take_no_room():
    perceptron = new_perceptron(1 << 20, 1)
    tick(perceptron)
    change_kept(perceptron, np.array([0, 5, (1 << 20) - 1]), np.ones(3, dtype=bool), 0, 1.0)
    message = perceptron_to_message(perceptron)
    assert sum(len(message[part]) for part in ("weights", "sums")) < 200
    assert np.array_equal(perceptron_from_message(message, 1 << 20, 1).weights, perceptron.weights)


@pytest.mark.parametrize(
    "edit",
    [
        lambda message: message.pop("clock"),
        lambda message: message.pop("entries"),
        lambda message: message.update(outcomes=OUTCOMES + 1),
        lambda message: message.update(clock=-1),
        lambda message: message.update(clock=1.5),
        lambda message: message.update(clock=2**70),
        lambda message: message.update(clock=0),
        lambda message: message.update(compact=True),
        lambda message: message.update(entries=None),
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
    getattr(perceptron, part)[1, 1] = value
    with pytest.raises(ValueError, match="not a number"):
        perceptron_from_message(perceptron_to_message(perceptron), PLACES, OUTCOMES)


def test_table_of_another_size_is_refused():
    message = perceptron_to_message(random_perceptron(50)[0])
    for places, outcomes in ((PLACES // 4, OUTCOMES), (PLACES, OUTCOMES + 1), (PLACES, 1)):
        with pytest.raises(ValueError, match=r"its weights are not|as many numbers as"):
            perceptron_from_message(message, places, outcomes)


@pytest.mark.parametrize("outcomes", [1, 9])
@pytest.mark.parametrize("alone", [False, True])
def test_averages_in_the_cache_are_those_that_were_stored(outcomes, alone, tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_HPYP_CACHE", str(tmp_path))
    perceptron, _ = random_perceptron(50, outcomes=outcomes)
    message = perceptron_to_message(averages_alone(perceptron) if alone else perceptron)
    for sparse in (False, True):
        how = {"places": PLACES, "outcomes": outcomes, "sparse": sparse}
        expected = StoredPerceptron(message, **how).averages
        for _ in range(2):
            stored = StoredPerceptron(message, **how, key="key")
            found = stored.averages
            assert all(map(np.array_equal, found, expected))
            assert isinstance((found.weight if sparse else found.multiples).base, np.memmap)
            assert perceptron_to_message(stored) is message
            monkeypatch.setattr(storage, "_read", lambda *given: pytest.fail("unpacked again"))
        monkeypatch.undo()
        monkeypatch.setenv("SPACY_HPYP_CACHE", str(tmp_path))


@pytest.mark.parametrize("sparse", [False, True])
def test_averages_in_the_cache_that_lead_nowhere_are_made_again(sparse, tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_HPYP_CACHE", str(tmp_path))
    message = perceptron_to_message(random_perceptron(50)[0])

    def averages():
        found = StoredPerceptron(message, PLACES, OUTCOMES, "key", sparse=sparse).averages
        return [*found[:3]] if sparse else [found.multiples, np.array([found.step])]

    expected = [array.copy() for array in averages()]
    (file,) = tmp_path.glob("*.bin")
    for part in range(len(expected)):
        # All numbers of 16 bits are weights.
        for value in {"l": (-1, 1 << 20), "H": (OUTCOMES, 65_535), "h": ()}.get(
            expected[part].dtype.char, (np.nan, np.inf)
        ):
            wrong = [array.copy() for array in expected]
            wrong[part].reshape(-1)[-1] = value
            write_arrays(
                file, zip(storage._SPARSE if sparse else storage._WHOLE, wrong, strict=True), file.stem
            )
            assert all(map(np.array_equal, averages(), expected))
