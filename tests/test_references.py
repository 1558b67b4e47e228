"""NamedTuples that compiled code is handed by pointer."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba import njit

from spacy_hpyp.compat import references
from spacy_hpyp.compiled import by_reference, compiled, inner


class Plain(NamedTuple):
    """A tuple inside of another one."""

    numbers: np.ndarray
    count: int


@by_reference
class Nested(NamedTuple):
    """One that is handed by pointer, too."""

    flag: bool
    plain: Plain


@by_reference
class Whole(NamedTuple):
    """All kinds of fields."""

    rows: np.ndarray
    columns: np.ndarray
    gaps: np.ndarray
    share: float
    small: Any
    nested: Nested
    last: int = -1


def whole(seed=0, **changed):
    rng = np.random.default_rng(seed)
    nested = Nested(True, Plain(rng.integers(0, 9, 4).astype(np.int32), 7))
    rows = rng.random((2, 3, 4))
    made = Whole(
        rows, np.asfortranarray(rng.random((3, 5))), rng.random(9)[1::3], 0.25, np.float32(1.5), nested
    )
    return made._replace(**changed)


@inner
def total(array):
    found = 0.0
    for value in array.flat:
        found += value
    return found


@compiled
def read(whole):
    plain = whole.nested.plain
    shapes = whole.rows.shape + whole.columns.shape + whole.gaps.shape + plain.numbers.shape
    sums = total(whole.rows), total(whole.columns), total(whole.gaps), total(plain.numbers)
    return (
        shapes,
        sums,
        (whole.rows[1, 2, 3], whole.columns[2, 1], whole.gaps[2], plain.numbers[3]),
        (
            whole.share,
            whole.small,
            whole.nested.flag,
            plain.count,
            whole.last,
        ),
    )


def test_fields_are_read():
    for made in (whole(), whole(1), whole(2, last=5, share=-0.5)):
        numbers = made.nested.plain.numbers
        shapes, sums, single, scalars = read(made)
        assert shapes == made.rows.shape + made.columns.shape + made.gaps.shape + numbers.shape
        assert sums == pytest.approx([part.sum() for part in (made.rows, made.columns, made.gaps, numbers)])
        assert single == (made.rows[1, 2, 3], made.columns[2, 1], made.gaps[2], numbers[3])
        assert scalars == (made.share, 1.5, True, 7, made.last)
    assert len(read.signatures) == 1


def test_what_is_kept_for_compiled_code_is_not_copied():
    made = whole()
    read(made)
    again, other = pickle.loads(pickle.dumps(made)), made._replace(rows=made.rows + 1.0)
    assert vars(again) == vars(other) == {}
    assert read(other)[1][0] == pytest.approx(made.rows.sum() + made.rows.size)
    assert isinstance(other, Whole)
    assert (other.share, *other[3:4]) == (0.25, 0.25)


@compiled
def write(whole, value):
    whole.rows[0, 0, 0] = value
    whole.nested.plain.numbers[:] = 3


def test_arrays_are_written_on():
    made = whole()
    write(made, 2.5)
    assert made.rows[0, 0, 0] == 2.5
    assert (made.nested.plain.numbers == 3).all()


@njit
def outside(whole):
    return total(whole.rows) + whole.nested.plain.count


def test_other_compiled_code_reads_them_and_calls_what_they_are_handed_to():
    made = whole()
    assert outside(made) == pytest.approx(made.rows.sum() + 7)


@by_reference
class Named(NamedTuple):
    words: np.ndarray
    address: int


@by_reference
class Naming(NamedTuple):
    inside: Named


@compiled
def read_named(naming):
    return naming.inside.words[1] + naming.inside.address


def test_fields_may_have_any_name():
    assert read_named(Naming(Named(np.arange(3), 5))) == 6


def test_what_cannot_be_handed_by_pointer_says_so():
    with pytest.raises(TypeError, match="'small' of Whole cannot be handed by pointer"):
        read(whole(small="text"))


@inner
def counted(number, step):
    return number + step


def test_constants_and_small_integers_are_compiled_for_once(tmp_path, monkeypatch):
    # An empty cache: nothing of it is compiled yet.
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    @compiled
    def count(number):
        return counted(number, 1) + counted(number, np.int32(2)) + counted(np.int16(3), 4)

    assert count(10) == 11 + 12 + 7
    assert len(counted.signatures) == 1


def test_an_interrupt_while_a_tuple_is_laid_out_is_raised_and_leaves_it_as_it_was():
    expected = read(whole())
    lines = 0
    for at in range(200):
        fresh, remaining = whole(), at

        def trace(frame, event, _):
            nonlocal remaining
            if frame.f_code.co_filename != references.__file__:
                return None
            if event == "line":
                remaining -= 1
                if remaining < 0:
                    raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            read(fresh)
        except KeyboardInterrupt:
            lines += 1
        finally:
            sys.settrace(before)
        assert read(fresh) == expected
    assert 10 < lines < 200


def test_threads_that_hand_a_tuple_over_together_hand_the_same_block(monkeypatch):
    together, lay_out = Barrier(2), references._lay_out

    def lay_out_together(value):
        found = lay_out(value)
        together.wait(10.0)
        return found

    monkeypatch.setattr(references, "_lay_out", lay_out_together)
    value = Nested(True, Plain(np.arange(3), 2))
    with ThreadPoolExecutor(2) as executor:
        first, second = executor.map(lambda _: value._address, range(2))
    assert first == second == value._block.__array_interface__["data"][0]
