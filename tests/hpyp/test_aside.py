"""Seatings in files, while what is made of them takes as much memory."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from errno import ENOSPC
from io import BytesIO

import numpy as np
import pytest
from seating import seated_franchise

from spacy_hpyp import hpyp
from spacy_hpyp.hpyp.aside import Aside
from spacy_hpyp.hpyp.franchise import N_CELLS, N_RESTAURANTS, N_SERVINGS

ROWS = {"restaurants": N_RESTAURANTS, "servings": N_SERVINGS, "cells": N_CELLS}
INDICES = "restaurant_index", "serving_index"


@pytest.fixture(params=["in a file", "in memory", "on Windows"])
def aside(request, monkeypatch, tmp_path):
    if request.param == "on Windows":
        monkeypatch.delattr(os, "preadv")
    if request.param == "in memory":
        (tmp_path / "file").touch()
        monkeypatch.setenv("SPACY_HPYP_CACHE", str(tmp_path / "file"))
    return Aside


@pytest.fixture(params=[False, True])
def franchise(request):
    rng = np.random.default_rng(0)
    events = [(tuple(rng.integers(6, size=2).tolist()), int(rng.integers(3))) for _ in range(300)]
    columns = np.array([[0, 1], [1, 0]], dtype=np.int32)
    return seated_franchise(events, events[:40], columns=columns, alphabet=3, one_table=request.param)


def assert_same(found, wanted, but=()):
    for name, one, other in zip(wanted._fields, found, wanted):
        if name not in but:
            used = slice(wanted.used[ROWS[name]]) if name in ROWS else slice(None)
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            np.testing.assert_array_equal(one[used], other[used])


def test_a_seating_is_read_as_it_was_whatever_becomes_of_it_or_of_a_copy(aside, franchise):
    kept, before = (
        aside(franchise),
        franchise._replace(**{name: each.copy() for name, each in franchise._asdict().items()}),
    )
    for _ in range(2):
        found = kept.read()
        assert_same(found, before)
        for array in (*franchise, *found):
            array[...] = 0


def test_a_seating_has_nothing_but_rows_where_nothing_is_to_be_found_in_it(aside, franchise):
    found = aside(franchise).read(indexed=False)
    assert_same(found, franchise, but=INDICES)
    assert all(len(getattr(found, name)) == 1 for name in INDICES)


def test_who_read_at_once_find_the_same(aside, franchise):
    kept = aside(franchise)
    with ThreadPoolExecutor(8) as executor:
        for found in executor.map(lambda _: kept.read(), range(200)):
            assert_same(found, franchise)


def test_a_seating_that_was_set_aside_is_sent_to_other_processes(aside, franchise):
    assert_same(pickle.loads(pickle.dumps(aside(franchise))).read(), franchise)


def test_a_file_that_the_disk_has_no_room_for_is_given_up(franchise, monkeypatch):
    class Full(BytesIO):
        def write(self, table):
            if self.tell():
                raise OSError(ENOSPC, "full")
            return super().write(table)

    file = Full()
    monkeypatch.setattr(hpyp.aside, "TemporaryFile", lambda dir: file)
    assert_same(Aside(franchise).read(), franchise)
    assert file.closed


@pytest.mark.parametrize("used", [0, 1])
def test_a_file_that_was_cut_off_is_an_error(franchise, used):
    kept = Aside(franchise)
    kept._file.truncate(used)
    with pytest.raises(EOFError, match="cut off"):
        kept.read()
