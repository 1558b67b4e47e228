"""A memo may forget, but what it gives back is right."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from searching import only, search_block

from spacy_hpyp.annotation.documents import encode_docs
from spacy_hpyp.arc_standard.configuration import FIELDS
from spacy_hpyp.arc_standard.posterior import read_posterior
from spacy_hpyp.arc_standard.proposals import new_workspace
from spacy_hpyp.compiled import NONE
from spacy_hpyp.inference.memo import keep_best, new_memo, recall
from spacy_hpyp.inference.rounding import Search

# Few keys, many of which share a slot, among them symbols as large as they get.
PARTS = st.sampled_from([-1, 0, 1, 2, 3, 2**31 - 1])
KEYS = st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[PARTS] * width), max_size=60))


@settings(deadline=None, derandomize=True, max_examples=200)
@given(KEYS, st.sampled_from([1, 2, 4, 64]))
def test_what_is_recalled_was_found_for_the_same_key(keys, size):
    memo = new_memo(size, 1)
    values = {key: number for number, key in enumerate(sorted(set(keys)))}
    for key in keys:
        slot, known = recall(memo.fingerprint, np.array(key, dtype=np.int32))
        if known:
            assert memo.outcome[slot, 0] == values[key]
        memo.outcome[slot, 0] = values[key]
        assert recall(memo.fingerprint, np.array(key, dtype=np.int32)) == (slot, True)


def test_contexts_of_few_symbols_have_fingerprints_of_their_own():
    # Neighbours that are nothing, or a word at the edge, differ in all bits.
    fingerprint, symbols = np.zeros(1, dtype=np.uint64), [*range(-1, 12), 2**31 - 1]
    found = set()
    for key in itertools.product(symbols, repeat=4):
        recall(fingerprint, np.array(key, dtype=np.int32))
        found.add(int(fingerprint[0]))
    assert len(found) == len(symbols) ** 4


def decode(joint, blocks, work, particles=40):
    """Every block on the same workspace, or each on a new one; everything that was found."""
    found = []
    for block, n in enumerate(np.diff(blocks.offsets)):
        syntactic, lexical, log_probability = np.empty(n), np.empty(n), np.empty(n)
        records, beam, size = search_block(
            joint.frozen,
            only(blocks, block),
            Search(particles, 0.5),
            work() if callable(work) else work,
            np.empty((1024, FIELDS), dtype=np.int32),
            syntactic,
            lexical,
            log_probability,
        )
        parses = read_posterior(records, beam, size, n, 1.0)
        found.append([part.tolist() for part in (*parses, syntactic, lexical, log_probability)])
    return found


@pytest.mark.parametrize(
    "kind",
    [
        "pools",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("pools, actions whole", "the paper's")),
    ],
)
def test_parses_do_not_depend_on_what_is_remembered(toy, kind):
    settings = {"pools": toy.pools, "pools, actions whole": {**toy.pools, "label": []}, "the paper's": {}}[
        kind
    ]
    nlp = toy.trained(**settings)
    joint = toy.parser(nlp).joint
    texts = [
        " ".join(" ".join(s.words) for s in toy.sentences(40, seed=1)[i : i + 2]) for i in range(0, 40, 2)
    ]
    blocks, _ = encode_docs([nlp.make_doc(text) for text in texts], joint.encoder, given_tags=False)
    shared = new_workspace(joint.frozen, Search(40, 0.5))
    smallest = shared._replace(
        **{
            name: query._replace(memo=new_memo(1, query.memo.outcome.shape[1]))
            for name, query in shared._asdict().items()
            if name in ("transition", "label", "tag")
        }
    )
    expected = decode(joint, blocks, lambda: new_workspace(joint.frozen, Search(40, 0.5)))
    assert decode(joint, blocks, shared) == expected
    assert decode(joint, blocks, smallest) == expected
    # With fewer particles, fewer tags are found for the same context.
    few = decode(joint, blocks, lambda: new_workspace(joint.frozen, Search(40, 0.5)), particles=3)
    assert decode(joint, blocks, shared, particles=3) == few != expected


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.5]), max_size=8), st.integers(1, 5), st.randoms())
def test_best_are_kept_in_descending_order_and_equals_by_number(values, best, random):
    dish, probability = np.full(best, NONE, dtype=np.int32), np.zeros(best)
    order = list(enumerate(values))
    random.shuffle(order)
    for found, value in order:
        keep_best(dish, probability, found, value)
    expected = sorted(order, key=lambda pair: (-pair[1], pair[0]))[:best]
    assert [(found, value) for found, value in zip(dish.tolist(), probability) if found != NONE] == expected
