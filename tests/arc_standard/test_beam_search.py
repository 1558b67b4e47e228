"""Beams of fixed size match a plain-Python search without other pruning."""

from math import log, prod

import numpy as np
import pytest
from seating import PRECISION
from test_enumeration import EVERYTHING, Counter, blocks_of, random_model

from spacy_hpyp.arc_standard.configuration import DEPTH, FIRST_RECORD, ROOT, new_records
from spacy_hpyp.arc_standard.decoding import decode, decode_all
from spacy_hpyp.arc_standard.search import TOP, Search

WORDS = [1, 0, 0, 1, 0]
#: All labels and tags.
EVERY = {"labels_per_arc": 9, "tags_per_word": 9, "tag_threshold": 0.0}


@pytest.fixture(scope="module", params=[("the paper's", 2), ("directions and labels", 2)], ids=str)
def model(request):
    name, labels = request.param
    return random_model(name, labels=labels)


class Plain(Counter):
    """Beam search in plain Python."""

    def __init__(self, model, words, kept, stack_penalty):
        super().__init__(model)
        self.records, self.used, self.words = new_records(100_000), FIRST_RECORD, words
        self.kept, self.stack_penalty = kept, stack_penalty

    def run(self):
        """The log-weights of the final beam, in order."""
        beam = [(0.0, ROOT)]
        for word in range(len(self.words) + 1):
            found = [one for weight, top in beam for one in self.after(weight, top, word)]
            found.sort(key=lambda one: self.stack_penalty * self.records[one[1], DEPTH] - one[0])
            beam = found[: self.kept]
        return sorted(weight for weight, _ in beam)

    def after(self, weight, top, word):
        """All extensions of a derivation in a pass, limited only by the stack."""
        if word == len(self.words) and self.records[top, DEPTH] == 1:
            yield weight, top
            return
        n = len(self.words)
        for new, *factors, shifted in self.steps(top, self.used, n, self.words, word):
            if shifted > word:
                yield weight + log(prod(factors)), new
            else:
                yield from self.after(weight + log(prod(factors)), new, word)

    def place(self, used):
        self.used += 1
        return self.used - 1


@pytest.mark.parametrize(("kept", "stack_penalty"), [(1, 0.0), (20, 0.0), (3, 0.7)])
def test_a_beam_holds_the_best_derivations(model, kept, stack_penalty):
    search = Search(kept, stack_penalty, marginals=True, scheme=TOP, **EVERY)
    found = decode_all(model.frozen, blocks_of(WORDS), search)[0].log_weight
    expected = Plain(model, WORDS, kept, stack_penalty).run()
    assert sorted(found) == pytest.approx(expected, abs=20 * PRECISION)
    parses = decode(model.frozen, blocks_of(WORDS), search)
    assert parses.log_probability.sum() == pytest.approx(np.logaddexp.reduce(found), abs=1e-9)


def test_a_beam_with_room_for_all_derivations_is_exhaustive_search(model):
    blocks = blocks_of(WORDS[:4])
    found, expected = (
        decode(model.frozen, blocks, Search(size, 0.0, scheme=scheme, **EVERY))
        for size, scheme in ((20_000, TOP), (EVERYTHING, 0))
    )
    for name in ("log_probability", "syntactic", "lexical"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-6)
    assert np.array_equal(found.heads, expected.heads)
