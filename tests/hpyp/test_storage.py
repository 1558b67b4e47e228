"""A franchise comes back from its bytes as it was; damaged bytes give an error or another sound franchise."""

import itertools
import os
import subprocess
import sys
import tracemalloc
import zlib
from functools import partial

import numpy as np
import pytest
import seating
from hypothesis import given, settings
from hypothesis import strategies as st
from seating import predictive_distribution

from spacy_hpyp.compiled import NONE
from spacy_hpyp.hpyp.franchise import (
    CUSTOMERS,
    DISH,
    N_RESTAURANTS,
    N_SERVINGS,
    OPEN,
    RESTAURANT,
    SERVED,
    TABLES,
    new_franchise,
    reserve,
)
from spacy_hpyp.hpyp.hyperparameters import histograms, resample
from spacy_hpyp.hpyp.seating import add, remove
from spacy_hpyp.hpyp.storage import pack, unpack
from spacy_hpyp.storage.arrays import pack_integers, unpack_integers

ALPHABET = 5
COLUMNS = np.array([[0, 1], [1, NONE], [NONE, NONE]])
seated_franchise = partial(seating.seated_franchise, columns=COLUMNS, alphabet=ALPHABET)
FIELDS = "children symbol dishes dish customers tables kinds size count".split()


def distributions(franchise):
    """The predictive distributions of all experts in seen and unseen contexts."""
    contexts = list(itertools.product(range(4), repeat=2))
    out = np.empty((len(franchise.columns), len(contexts), franchise.alphabet[0]))
    for expert, values in enumerate(out):
        for context, row in zip(contexts, values):
            predictive_distribution(franchise, expert, np.array(context, dtype=np.int32), row)
    return out


def assert_sound(franchise):
    """A franchise adds up, predicts, goes on seating and can be written again."""
    restaurants = franchise.restaurants[: franchise.used[N_RESTAURANTS]]
    servings = franchise.servings[: franchise.used[N_SERVINGS]]
    for column, total in [(SERVED, CUSTOMERS), (OPEN, TABLES)]:
        sums = np.bincount(servings[:, RESTAURANT], servings[:, column], len(restaurants))
        np.testing.assert_array_equal(sums, restaurants[:, total])
    before = distributions(franchise)
    np.testing.assert_allclose(before.sum(axis=2), 1.0, rtol=1e-6)
    assert before.min() >= 0.0
    packed = pack(franchise)
    again = unpack(packed, franchise.columns, ALPHABET)
    assert pack(again) == packed
    np.testing.assert_allclose(distributions(again), before, rtol=1e-12)
    rng = np.random.default_rng(0)
    again = reserve(again, 20)
    for i in range(20):
        for expert in range(len(franchise.columns)):
            row = np.array([i % 3, i % 2], dtype=np.int32)
            remove(again, expert, row, i % ALPHABET, rng)
            add(again, expert, row, i % ALPHABET, rng)
    assert np.all(np.isfinite(distributions(again)))


@pytest.fixture(scope="module")
def packed():
    rng = np.random.default_rng(1)
    customers = [(tuple(rng.integers(3, size=2)), int(rng.integers(ALPHABET))) for _ in range(120)]
    return pack(seated_franchise(customers))


symbols = st.integers(0, 2)
events = st.lists(st.tuples(st.tuples(symbols, symbols), st.integers(0, ALPHABET - 1)), max_size=60)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(events, st.integers(0, 60), st.integers(0, 2**32))
def test_what_is_packed_comes_back(customers, stay, seed):
    franchise = seated_franchise(customers, customers[stay:], seed)
    packed = pack(franchise)
    again = unpack(packed, COLUMNS, ALPHABET)
    np.testing.assert_allclose(distributions(again), distributions(franchise), rtol=1e-12)
    for found, expected in zip(histograms(again), histograms(franchise)):
        np.testing.assert_array_equal(found, expected)
    assert pack(again) == packed
    assert_sound(again)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(events, st.integers(0, 2**32))
def test_everybody_can_leave_a_franchise_that_came_back(customers, seed):
    rng = np.random.default_rng(seed)
    again = unpack(pack(seated_franchise(customers, (), seed)), COLUMNS, ALPHABET)
    again = reserve(again, len(customers))
    for context, dish in customers:
        for expert in range(len(COLUMNS)):
            assert remove(again, expert, np.array(context, dtype=np.int32), dish, rng)
    empty = pack(new_franchise(COLUMNS, ALPHABET))
    assert {name: pack(again)[name] for name in FIELDS} == {name: empty[name] for name in FIELDS}


@settings(max_examples=20, deadline=None, derandomize=True)
@given(events, st.integers(0, 60), st.integers(0, 2**32))
def test_one_table_for_each_dish_comes_back_under_either_seating(customers, stay, seed):
    franchise = seated_franchise(customers, customers[stay:], seed, one_table=True)
    packed = pack(franchise)
    for one_table in (True, False):
        again = unpack(packed, COLUMNS, ALPHABET, one_table=one_table)
        assert again.one_table.tolist() == [one_table]
        np.testing.assert_allclose(distributions(again), distributions(franchise), rtol=1e-12)
        assert pack(again) == packed


def test_several_tables_for_a_dish_are_refused_where_there_may_be_one(packed):
    assert unpack_integers(packed["tables"]).max() > 1
    with pytest.raises(ValueError, match="several tables for a dish: its seating was sampled"):
        unpack(packed, COLUMNS, ALPHABET, one_table=True)


@pytest.mark.parametrize("one_table", [False, True])
def test_lists_of_all_restaurants_that_earlier_versions_wrote_are_the_same_seating(one_table):
    rng = np.random.default_rng(2)
    customers = [(tuple(rng.integers(3, size=2)), int(rng.integers(ALPHABET))) for _ in range(120)]
    packed = pack(seated_franchise(customers, one_table=one_table))
    read = partial(unpack, columns=COLUMNS, alphabet=ALPHABET, one_table=one_table)
    franchise = read(packed)
    servings = franchise.servings[: franchise.used[N_SERVINGS]]
    dishes = np.bincount(servings[:, RESTAURANT], minlength=franchise.used[N_RESTAURANTS])
    tables = servings[:, OPEN] if servings.shape[1] > OPEN else np.ones(len(servings), dtype=np.int32)
    columns = {"dish": servings[:, DISH], "customers": servings[:, SERVED], "tables": tables}
    earlier = {name: pack_integers(column) for name, column in (columns | {"dishes": dishes}).items()}
    assert packed["dish"]["length"] < earlier["dish"]["length"]
    again = read({**packed, **earlier})
    assert np.array_equal(again.servings[: again.used[N_SERVINGS]], servings)
    assert np.array_equal(
        again.restaurants[: again.used[N_RESTAURANTS]], franchise.restaurants[: len(dishes)]
    )


def test_the_order_of_founding_does_not_change_the_bytes():
    # A dish that is seen once has one way to be seated.
    customers = [((2, 1), 0), ((0, 1), 3), ((2, 0), 1), ((1, 1), 4)]
    packed = [pack(seated_franchise(order)) for order in itertools.permutations(customers)]
    assert all(one == packed[0] for one in packed)


@pytest.mark.slow
def test_large_tables_come_back():
    customers = [((0, 0), 0)] * 70_000 + [((0, 0), 1)] * 300
    franchise = seated_franchise(customers)
    again = unpack(pack(franchise), COLUMNS, ALPHABET)
    np.testing.assert_allclose(distributions(again), distributions(franchise), rtol=1e-12)


@settings(deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 2**31 - 2) | st.integers(0, 300)))
def test_integers_come_back(values):
    assert unpack_integers(pack_integers(np.array(values, dtype=np.int64))).tolist() == values


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.sampled_from(FIELDS), st.data())
def test_flipped_bits_are_noticed_or_harmless(packed, name, data):
    content = bytearray(packed[name]["data"])
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert_refused_or_sound({**packed, name: {**packed[name], "data": bytes(content)}})


def assert_refused_or_sound(damaged, columns=COLUMNS, alphabet=ALPHABET):
    try:
        franchise = unpack(damaged, columns, alphabet)
    except ValueError:
        return
    assert_sound(franchise)


@pytest.mark.parametrize("name", FIELDS)
def test_missing_bytes_and_wrong_lengths_are_refused(packed, name):
    content = packed[name]["data"]
    for end in range(len(content)):
        with pytest.raises(ValueError, match=r"."):
            unpack({**packed, name: {**packed[name], "data": content[:end]}}, COLUMNS, ALPHABET)
    for change in (
        {"length": packed[name]["length"] + 1},
        {"length": packed[name]["length"] - 1},
        {"length": 2**62},
    ):
        with pytest.raises(ValueError, match=r"."):
            unpack({**packed, name: {**packed[name], **change}}, COLUMNS, ALPHABET)


def pack_anything(values):
    """What `pack_integers` would make of integers that it does not take."""
    width = 4 if values.max(initial=0) < 2**32 else 8
    planes = values.astype(f"<u{width}").view(np.uint8).reshape(-1, width).T
    return {"width": width, "length": len(values), "data": zlib.compress(planes.tobytes())}


numbers = st.integers(0, 6) | st.sampled_from([255, 2**31 - 2, 2**31 - 1, 2**32 - 1, 2**40, 2**62, 2**63 - 1])


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(FIELDS), st.integers(0, 10**6), numbers), min_size=1, max_size=3))
def test_wrong_numbers_are_noticed_or_harmless(packed, changes):
    damaged = {name: unpack_integers(packed[name]).astype(np.int64) for name, _, _ in changes}
    for name, place, number in changes:
        damaged[name][place % len(damaged[name])] = number
    assert_refused_or_sound({**packed, **{name: pack_anything(values) for name, values in damaged.items()}})


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.sampled_from(FIELDS), st.integers(0, 10**6), st.booleans())
def test_lost_and_doubled_numbers_are_noticed_or_harmless(packed, name, place, doubled):
    values = unpack_integers(packed[name])
    place %= len(values)
    values = np.insert(values, place, values[place]) if doubled else np.delete(values, place)
    assert_refused_or_sound({**packed, name: pack_integers(values)})


@pytest.mark.parametrize("name", [*FIELDS, "discount", "strength", "restaurants"])
def test_parts_that_are_missing_or_of_the_wrong_kind_are_refused(packed, name):
    with pytest.raises(ValueError, match="missing"):
        unpack({key: value for key, value in packed.items() if key != name}, COLUMNS, ALPHABET)
    float_width = {"width": 1.0, "length": 0, "data": b""}
    for value in (None, 3, "text", b"bytes", {}, [], [None], float_width, [[1.0]], [2**70]):
        with pytest.raises(ValueError, match=r"."):
            unpack({**packed, name: value}, COLUMNS, ALPHABET)


@pytest.mark.parametrize("content", [None, 3, [], "text", b"bytes"])
def test_content_that_is_no_dictionary_is_refused(content):
    with pytest.raises(ValueError, match="missing"):
        unpack(content, COLUMNS, ALPHABET)


@pytest.mark.parametrize("width", [0, 3, 16, -1, None, "1", [1]])
def test_impossible_widths_are_refused(width):
    with pytest.raises(ValueError, match=r"."):
        unpack_integers({**pack_integers(np.arange(4)), "width": width})


@pytest.mark.parametrize(
    ("name", "value"), [("width", 1.0), ("length", 0.0), ("length", 2**70), ("data", None)]
)
def test_sizes_that_are_no_small_integers_are_refused(name, value):
    with pytest.raises(ValueError, match=r"."):
        unpack_integers({**pack_integers(np.arange(0)), name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("discount", value) for value in (-0.1, 1.1, np.nan, np.inf)),
        *(("strength", value) for value in (-1.0, -np.inf, np.inf, np.nan)),
    ],
)
@pytest.mark.parametrize("tier", [0, 4])
def test_impossible_hyperparameters_are_refused(packed, name, value, tier):
    values = list(packed[name])
    values[tier] = value
    with pytest.raises(ValueError, match="discount"):
        unpack({**packed, name: values}, COLUMNS, ALPHABET)


@pytest.mark.parametrize(
    "columns",
    [
        COLUMNS[:2],
        COLUMNS[::-1],
        COLUMNS[:, :1],
        np.array([[0, 1], [1, 0], [NONE, NONE]]),
        np.array([[0, NONE], [1, NONE], [NONE, NONE]]),
        np.full((3, 2), NONE),
        np.empty((0, 2)),
    ],
)
def test_other_context_lists_are_refused(packed, columns):
    columns = columns.astype(np.int32)
    with pytest.raises(ValueError, match=r"."):
        unpack(packed, columns, ALPHABET)


@pytest.mark.parametrize("alphabet", [0, 1, ALPHABET - 1])
def test_smaller_alphabets_are_refused(packed, alphabet):
    with pytest.raises(ValueError, match="dish"):
        unpack(packed, COLUMNS, alphabet)


@pytest.mark.parametrize("dishes", [[0, 0], [1, 0]])
def test_dishes_that_are_listed_twice_or_out_of_order_are_refused(dishes):
    columns = np.empty((1, 0), dtype=np.int32)
    packed = pack(seated_franchise([((), 0), ((), 1)], columns=columns))
    with pytest.raises(ValueError, match="twice"):
        unpack({**packed, "dish": pack_integers(np.array(dishes))}, columns, ALPHABET)


def test_crowds_that_no_restaurant_can_count_are_refused():
    packed = pack(seated_franchise([((0, 0), 0), ((0, 0), 1)], columns=np.array([[0, 1]])))
    customers = unpack_integers(packed["customers"])
    customers[-2:] = 2**31 - 2
    assert_refused_or_sound({**packed, "customers": pack_integers(customers)}, columns=np.array([[0, 1]]))


def test_extreme_hyperparameters_are_refused_or_can_be_resampled(packed, tmp_path):
    # Compiled here, so that the other process finds it in the cache.
    resample(unpack(packed, COLUMNS, ALPHABET), np.random.default_rng(0))
    extremes = (
        ("discount", 1e-300),
        ("discount", 1 - 1e-16),
        ("strength", 1e308),
        ("strength", -0.05 + 1e-16),
    )
    damaged = [{**packed, name: [value] * len(packed[name])} for name, value in extremes]
    for outcome in outcomes_in_a_process(damaged, tmp_path):
        assert outcome in ("refused", "sound")


def test_counts_that_overflow_their_sum_are_refused(packed, tmp_path):
    damaged = []
    for name, first in (("children", 3), ("dishes", 0), ("kinds", 0)):
        values = unpack_integers(packed[name]).astype(np.int64)
        # Of two that run over, the sum is back where it was.
        values[first + 2] += int(values[first]) + int(values[first + 1]) + 2
        values[first : first + 2] = 2**63 - 1
        assert values.sum() == unpack_integers(packed[name]).sum()
        damaged.append({**packed, name: pack_anything(values)})
    assert outcomes_in_a_process(damaged, tmp_path) == ["refused"] * 3


def outcomes_in_a_process(damaged, path):
    """What unpacking and resampling of each come to in a process of their own, which may crash or never end."""
    (path / "damaged").write_text(repr(damaged))
    program = """
import ast, pathlib, sys
import numpy as np
from spacy_hpyp.hpyp.hyperparameters import resample
from spacy_hpyp.hpyp.storage import unpack
for damaged in ast.literal_eval(pathlib.Path(sys.argv[1]).read_text()):
    try:
        franchise = unpack(damaged, np.array([[0, 1], [1, -1], [-1, -1]]), 5)
    except ValueError:
        print("refused", flush=True)
    else:
        resample(franchise, np.random.default_rng(0))
        print("sound", flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(path / "damaged")],
        capture_output=True,
        text=True,
        env=os.environ,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-500:]
    return done.stdout.split()


def test_tables_of_ones_own_come_back_and_shared_ones_are_refused():
    customers = [((i % 2, i % 3), i % 4) for i in range(50)]
    rng = np.random.default_rng(0)
    franchise = reserve(new_franchise(COLUMNS, ALPHABET, 0.0, 3.0, own_tables=True), len(customers))
    for context, dish in customers:
        for expert in range(len(COLUMNS)):
            add(franchise, expert, np.array(context, dtype=np.int32), dish, rng)
    packed = pack(franchise)
    again = unpack(packed, COLUMNS, ALPHABET, own_tables=True)
    assert pack(again) == packed
    np.testing.assert_allclose(distributions(again), distributions(franchise), rtol=1e-12)
    shared = pack(seated_franchise(customers, (), 0))
    with pytest.raises(ValueError, match="one of his own"):
        unpack(shared, COLUMNS, ALPHABET, own_tables=True)


def highest_memory(function):
    """What a function that refuses what it is given asks for, in bytes."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="longer than what stands in the file"):
            function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_few_bytes_cannot_ask_for_much_memory(packed):
    zeros = {"width": 1, "length": 1 << 26, "data": zlib.compress(bytes(1 << 26))}
    assert highest_memory(lambda: unpack_integers(zeros)) < 1e6
    assert highest_memory(lambda: unpack_integers(zeros, most=1000)) < 1e6
    many = {**packed, **dict.fromkeys(("dish", "customers", "tables"), zeros)}
    assert highest_memory(lambda: unpack(many, COLUMNS, ALPHABET)) < 1e8


@pytest.mark.parametrize("count", [1 << 20, (1 << 20) + 1, 3 << 20])
def test_any_number_of_equal_integers_comes_back(count):
    packed = pack_integers(np.ones(count, dtype=np.int64))
    assert len(packed["data"]) < count / 16
    assert np.array_equal(unpack_integers(packed), np.ones(count))


def test_columns_that_take_no_room_are_read_beside_others():
    """As earlier versions wrote them."""
    ones = {"width": 1, "length": 2 << 20, "data": zlib.compress(bytes(2 << 20))}
    with pytest.raises(ValueError, match="longer"):
        unpack_integers(ones)
    assert len(unpack_integers(ones, most=2 << 20)) == 2 << 20
