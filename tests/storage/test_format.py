"""Everything that is saved comes back as it was."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from spacy_hpyp.storage.format import dump, load

KINDS = st.sampled_from([np.int8, np.int32, np.int64, np.uint16, np.float32, np.float64, np.bool_])


@given(KINDS.flatmap(lambda kind: arrays(kind, array_shapes(min_dims=1, max_dims=3, min_side=0))))
def test_arrays_of_all_kinds_and_shapes_come_back(array):
    found = load(dump(array))
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**62), 2**62)
        | st.text()
        | st.binary()
        | st.floats(allow_nan=False),
        lambda each: st.lists(each) | st.dictionaries(st.text(alphabet="abc"), each),
    )
)
def test_nested_values_come_back(value):
    assert load(dump(value)) == value


@pytest.mark.parametrize(
    "value", [{b"ab": 1, b"cd": 3}, {b"a": [1, 2]}, {b"": 0, b"x": -1}, {b"a": "y"}]
)
def test_dictionaries_by_bytes_come_back(value):
    assert load(dump(value)) == value


def test_lists_of_arrays_come_back():
    value = {b"aa": np.arange(3, dtype=np.int32), b"bb": np.arange(0, dtype=np.int32)}
    found = load(dump(value))
    assert found.keys() == value.keys()
    assert all(
        np.array_equal(found[key], value[key]) and found[key].dtype == np.int32 for key in value
    )
    tables = [np.ones((4, 2), dtype=np.int32), np.zeros((4, 3), dtype=np.int32)]
    assert all(map(np.array_equal, load(dump(tables)), tables))


def test_small_numbers_take_little_room():
    assert len(dump(np.arange(100_000) % 3)) < 1_000
