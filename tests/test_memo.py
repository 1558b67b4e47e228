"""Memos may forget entries but never return wrong values."""

import numpy as np
import pytest
from compiling import compiled
from hypothesis import given, settings
from hypothesis import strategies as st
from searching import search_block

from spacy_hpyp.annotation.encoding import encode_docs
from spacy_hpyp.arc_standard.decoding import only
from spacy_hpyp.arc_standard.posterior import read_posterior
from spacy_hpyp.arc_standard.proposals import new_task
from spacy_hpyp.arc_standard.search import Search
from spacy_hpyp.compiled import NONE
from spacy_hpyp.memo import keep_best, new_memo, recall

recall = compiled(recall)

# Few keys, many of which share a slot, including the largest possible symbol.
PARTS = st.sampled_from([-1, 0, 1, 2, 3, 2**31 - 1])
KEYS = st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[PARTS] * width), max_size=60))


@settings(deadline=None, derandomize=True, max_examples=200)
@given(KEYS, st.sampled_from([1, 2, 4, 64]))
def test_recalled_values_belong_to_their_keys(keys, size):
    memo = new_memo(size, 1)
    values = {key: number for number, key in enumerate(sorted(set(keys)))}
    for key in keys:
        slot, known = recall(memo.fingerprint, np.array(key, dtype=np.int32))
        if known:
            assert memo.outcome[slot, 0] == values[key]
        memo.outcome[slot, 0] = values[key]
        assert recall(memo.fingerprint, np.array(key, dtype=np.int32)) == (slot, True)


def decode(task_of, blocks):
    """Decode each block with the task for it."""
    found = []
    for block, n in enumerate(np.diff(blocks.offsets)):
        task, place, start = task_of(block)
        parses = read_posterior(*search_block(task, place), n, 1.0)
        sums = [part[start : start + n] for part in task.sums[:3]]
        found.append([part.tolist() for part in (*parses, *sums)])
    return found


@pytest.mark.parametrize("kind", ["trained_pools", pytest.param("trained", marks=pytest.mark.slow)])
def test_parses_do_not_depend_on_the_memo(toy, request, kind):
    nlp = request.getfixturevalue(kind)
    joint = toy.parser(nlp).joint
    sentences = [" ".join(sentence.words) for sentence in toy.sentences(40, seed=1)]
    texts = map(" ".join, zip(sentences[::2], sentences[1::2]))
    blocks, _ = encode_docs([nlp.make_doc(text) for text in texts], joint.encoder, given_tags=False)

    def alone(block, particles=40):
        return new_task(joint.frozen, only(blocks, block), Search(particles, 0.5)), 0, 0

    def together(particles, size=None):
        task = new_task(joint.frozen, blocks, Search(particles, 0.5))
        if size:
            queries = {name: getattr(task.work, name) for name in ("transition", "label", "tag")}
            smaller = {
                name: query._replace(memo=new_memo(size, query.memo.outcome.shape[1]))
                for name, query in queries.items()
            }
            task = task._replace(work=task.work._replace(**smaller))
        return lambda block: (task, block, blocks.offsets[block])

    expected = decode(alone, blocks)
    assert decode(together(40), blocks) == expected
    assert decode(together(40, size=1), blocks) == expected
    # With fewer particles, fewer tags are found for the same context.
    few = decode(lambda block: alone(block, 3), blocks)
    assert decode(together(3), blocks) == few != expected


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.5]), max_size=8), st.integers(1, 5), st.randoms())
def test_keep_best_sorts_by_descending_probability_then_number(values, best, random):
    dish, probability = np.full(best, NONE, dtype=np.int32), np.zeros(best)
    order = list(enumerate(values))
    random.shuffle(order)
    for found, value in order:
        keep_best(dish, probability, found, value)
    expected = sorted(order, key=lambda pair: (-pair[1], pair[0]))[:best]
    assert [pair for pair in zip(dish.tolist(), probability) if pair[0] != NONE] == expected
