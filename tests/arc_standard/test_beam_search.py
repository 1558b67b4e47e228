"""A beam of fixed size is the one that is found when everything is tried and nothing is given up on the way."""

from math import exp, inf, log

import numpy as np
import pytest
from searching import decode_all, lookahead_heuristic, search_block
from spacy.tokens import Doc
from test_enumeration import POOLS, Counter, make_model, with_random_weights
from test_posterior import ROUNDING, parses_of, sums

from spacy_hpyp.annotation.arrays import Blocks
from spacy_hpyp.annotation.documents import encode_docs
from spacy_hpyp.arc_standard.configuration import DEPTH, END, FIELDS, ROOT, SHIFT, begin, class_of, reduce
from spacy_hpyp.arc_standard.configuration import shift as push
from spacy_hpyp.arc_standard.decoding import decode
from spacy_hpyp.arc_standard.proposals import new_workspace
from spacy_hpyp.compiled import NONE
from spacy_hpyp.inference.pruning import BeamSearch
from spacy_hpyp.inference.rounding import Search

# The search is compiled once more for it, which takes a minute.
pytestmark = pytest.mark.slow

WORDS = [1, 0, 0, 1, 0]
# All labels and tags that there are.
EVERY = {"labels_per_arc": 9, "tags_per_word": 9, "tag_threshold": 0.0}


@pytest.fixture(scope="module", params=[(name, labels) for name in POOLS for labels in (1, 2)], ids=str)
def model(request):
    name, labels = request.param
    return with_random_weights(make_model(POOLS[name], labels=labels))


def blocks_of(words, starts=(), tags=None):
    n = len(words)
    return Blocks(
        words=np.array(words, dtype=np.int32),
        tags=np.full(n, NONE, dtype=np.int32) if tags is None else np.array(tags, dtype=np.int32),
        may_start=np.isin(np.arange(n), [0, *starts]),
        offsets=np.array([0, n]),
    )


class Plain(Counter):
    """Beam search without compiled code that gives nothing up while a word is being generated."""

    def __init__(self, model, blocks, search):
        super().__init__(model, best_labels=search.labels_per_arc == 1)
        self.records = np.zeros((100_000, FIELDS), dtype=np.int32)
        self.used = begin(self.records)
        self.blocks, self.search = blocks, search
        parser = model.frozen
        self.heuristic = lookahead_heuristic(
            parser.chain, parser.tag_offsets, parser.candidate_tags, parser.usual, blocks, search.outlook
        )

    def run(self):
        """The log-weights and last records of the final beam."""
        beam = [(0.0, ROOT, 0.0)]
        for word in range(len(self.blocks.words) + 1):
            found = [
                one for weight, top, heuristic in beam for one in self.after(weight, top, heuristic, word)
            ]
            found.sort(
                key=lambda one: -(one[0] + one[2] - self.search.lookahead * self.records[one[1], DEPTH])
            )
            beam = found[: self.search.particles]
        return beam

    def after(self, weight, top, heuristic, word):
        """Everything that a derivation can become in a pass, whose only limit is the stack."""
        n, depth = len(self.blocks.words), self.records[top, DEPTH]
        if word == n and depth == 1:
            yield weight, top, heuristic
            return
        for action in self.actions(top):
            if class_of(action) not in self.possible_directions(depth) and self.model.is_factored:
                continue
            p = self.action_probability(top, action)
            if action == SHIFT and word < n:
                given = self.blocks.tags[word]
                for tag in range(len(self.model.tags)) if given == NONE else [given]:
                    own = self.probability("tag", top, tag) * self.probability(
                        "word", top, self.blocks.words[word], tag
                    )
                    push(self.records, self.used, top, tag, self.blocks.words[word])
                    self.used += 1
                    yield weight + log(p * own), self.used - 1, self.heuristic[word, tag]
            elif (action == END and depth == 2 and (word == n or self.blocks.may_start[word])) or (
                class_of(action) > 1 and depth > 2
            ):
                reduce(self.records, self.used, top, action)
                self.used += 1
                yield from self.after(weight + log(p), self.used - 1, heuristic, word)


@pytest.mark.parametrize("kept", [1, 3, 20])
@pytest.mark.parametrize(("lookahead", "outlook"), [(0.0, 0.0), (0.7, 1.0)])
@pytest.mark.parametrize("starts", [(), (2, 3)])
def test_beam_is_that_of_a_search_that_gives_nothing_up(model, kept, lookahead, outlook, starts):
    for limits in (EVERY, {**EVERY, "labels_per_arc": 1}):
        search = BeamSearch(kept, lookahead, outlook=outlook, marginals=True, **limits)
        blocks = blocks_of(WORDS, starts)
        plain = Plain(model, blocks, search)
        expected = plain.run()
        found = decode_all(model.frozen, blocks, 0, search)
        assert sorted(found.log_weight) == pytest.approx(
            sorted(weight for weight, _, _ in expected), abs=ROUNDING
        )
        trees = [(exp(weight), tree_of(plain, top)) for weight, top, _ in expected]
        assert sums(zip(np.exp(found.log_weight), parses_of(found))) == pytest.approx(
            sums(trees), rel=ROUNDING
        )


def tree_of(plain, top):
    return tuple(map(tuple, plain.tree(top, len(WORDS))))


def test_given_tags_are_those_of_all_derivations(model):
    search = BeamSearch(20, 0.0, marginals=True, **EVERY)
    tags = [1, 1, 0, 0, 1]
    blocks = blocks_of(WORDS, tags=tags)
    found = decode_all(model.frozen, blocks, 0, search)
    assert (found.tags == tags).all()
    expected = [weight for weight, _, _ in Plain(model, blocks, search).run()]
    assert sorted(found.log_weight) == pytest.approx(sorted(expected), abs=ROUNDING)


def test_a_beam_with_room_for_all_derivations_is_exhaustive_search(model):
    blocks = blocks_of(WORDS[:4])
    beam, particles = (kind(size, 0.0, **EVERY) for kind, size in ((BeamSearch, 10**6), (Search, 10**18)))
    found, expected = (decode(model.frozen, blocks, search) for search in (beam, particles))
    for name in ("log_probability", "syntactic", "lexical"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-6)
    assert np.array_equal(found.heads, expected.heads)


@pytest.mark.parametrize("predictive", [False, True])
def test_sums_over_the_beam_are_those_of_what_it_has(model, predictive):
    blocks = blocks_of(WORDS)
    all_of_it = decode(model.frozen, blocks, Search(10**18, 0.0, **EVERY)).log_probability
    before = -inf
    for kept in (1, 5, 50):
        search = BeamSearch(kept, 0.0, marginals=True, predictive=predictive, **EVERY)
        parses = decode(model.frozen, blocks, search)
        words = parses.syntactic + parses.lexical
        assert parses.log_probability[:-1] == pytest.approx(words[:-1], abs=1e-12)
        if not predictive:
            final = decode_all(model.frozen, blocks, 0, search).log_weight
            assert len(final) == kept
            assert parses.log_probability.sum() == pytest.approx(np.logaddexp.reduce(final), abs=1e-9)
            assert np.all(np.cumsum(parses.log_probability) <= np.cumsum(all_of_it) + 1e-9)
            assert parses.log_probability.sum() > before
            before = parses.log_probability.sum()


@pytest.mark.parametrize("decoding", [{}, {"marginals": True, "consensus": True, "guides": True}])
def test_what_a_beam_finds_does_not_depend_on_the_number_of_threads(model, decoding):
    rng = np.random.default_rng(0)
    blocks = blocks_of(rng.integers(0, 2, 40))._replace(
        offsets=np.arange(0, 41, 8), may_start=np.arange(40) % 4 == 0
    )
    search = BeamSearch(7, 0.5, outlook=1.0, **decoding)
    one, three = (decode(model.frozen, blocks, search, threads) for threads in (1, 3))
    for first, second in zip([*one[:-1], *one.guides], [*three[:-1], *three.guides]):
        assert np.array_equal(first, second, equal_nan=True)


def test_what_cannot_be_among_the_best_is_given_up(toy, trained_on_documents):
    words = [word for sentence in toy.sentences(6) for word in sentence.words]
    joint, search = trained_on_documents.get_pipe("hpyp_parser").joint, BeamSearch(5, 0.0, tag_threshold=0.0)
    blocks, _ = encode_docs([Doc(trained_on_documents.vocab, words=words)], joint.encoder, given_tags=False)
    parser, plenty = joint.frozen, np.empty((1_000_000, FIELDS), dtype=np.int32)
    found = search_block(
        parser, blocks, search, new_workspace(parser, search), plenty, *np.empty((3, len(words)))
    )
    # Everything that five derivations with ten words on their stacks can become is 5 * 2 ** 10 for each word.
    assert found[1].record[: found[2]].max() < 5 * 40 * len(words)
