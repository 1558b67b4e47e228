"""Templates: features of different templates or symbols have places of their own, and wrong
templates are refused.
"""

import numpy as np

from spacy_hpyp.easy_first.templates import (
    begin_feature,
    compile_templates,
    find_features,
    place_of,
    read_symbol,
    shift_for,
)

ELEMENTS = ["a", "b", "c"]


def test_features_have_places_in_the_table():
    _, templates = compile_templates([["a"], ["b"], ["a", "b"]], ELEMENTS, "test")
    for size in (2, 8, 1 << 20):
        places = np.empty(3, dtype=np.int64)
        for row in (
            np.random.default_rng(0).integers(-(2**31), 2**31, size=(100, 2)).astype(np.int32)
        ):
            find_features(templates, row, size, places)
            assert np.all((places >= 0) & (places < size))


def test_few_features_share_a_place():
    # Symbols that differ in few bits, as numbers of words and tags do.
    _, templates = compile_templates(
        [["a"], ["b"], ["a", "b"], ["b", "c"], ["a", "b", "c"]], ELEMENTS, "test"
    )
    size, found = 1 << 22, []
    places = np.empty(5, dtype=np.int64)
    rows = np.array(
        [(a, b, c) for a in range(-2, 18) for b in range(20) for c in range(20)], dtype=np.int32
    )
    for row in rows:
        find_features(templates, row, size, places)
        found.append(places.copy())
    distinct = [len(np.unique(column)) for column in np.array(found).T]
    kinds = [20, 20, 400, 400, 8000]
    # Of n features that are thrown at random, n² / 2 size share a place; that is 8 of the last, ±
    # 3.
    assert sum(kinds) - sum(distinct) < 20
    assert len(np.unique(found)) > sum(kinds) - 40


def test_features_can_be_read_a_symbol_at_a_time():
    _, templates = compile_templates([["a"], ["a", "b"]], ELEMENTS, "test")
    places = np.empty(2, dtype=np.int64)
    find_features(templates, np.array([5, -2], dtype=np.int32), 1 << 16, places)
    code = np.uint64(begin_feature(1))
    for symbol in (5, -2):
        code = np.uint64(read_symbol(code, np.int32(symbol)))
    assert place_of(code, np.uint64(shift_for(1 << 16))) == places[1]


def test_features_do_not_depend_on_what_templates_stand_beside():
    rng = np.random.default_rng(2)
    several = [["c"], ["a", "b", "c"], ["b"], ["c", "b"], ["a"]]
    found, templates = compile_templates(several, ELEMENTS, "test")
    for _ in range(20):
        row = rng.integers(-5, 1000, len(found)).astype(np.int32)
        places = np.empty(len(several), dtype=np.int64)
        find_features(templates, row, 1 << 20, places)
        for number, template in enumerate(several):
            code = np.uint64(begin_feature(number))
            for name in template:
                code = np.uint64(read_symbol(code, row[found.index(name)]))
            assert place_of(code, np.uint64(shift_for(1 << 20))) == places[number]
