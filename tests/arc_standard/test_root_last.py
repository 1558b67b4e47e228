"""ROOT at the end of a sentence, generated as a tag: everything that sums, draws and learns, against the
enumeration.
"""

from math import exp, log

import numpy as np
import pytest
from seating import precision_of
from test_ancestral_sampling import Generator
from test_derivations import HEADS, enumerate_derivations, sentence
from test_enumeration import POOLS, Counter, decode, make_model, with_random_weights
from test_latent import HEADS as HEADS_OF_THREE
from test_latent import TAGS, WORDS, all_derivations, rows_of, run
from test_posterior import blocks_of, rounding
from test_sampling import Tiny, assert_drawn_from, assert_mean_is_one, integers
from total_variation import total_variation

from spacy_hpyp.arc_standard import decoding
from spacy_hpyp.arc_standard.configuration import DEPTH, END, ROOT, SHIFT
from spacy_hpyp.arc_standard.configuration import shift as push
from spacy_hpyp.arc_standard.derivations import sample_derivation, tree_log_probability
from spacy_hpyp.arc_standard.distributions import DISTRIBUTIONS
from spacy_hpyp.arc_standard.events import Derivations, events_of, static_derivations
from spacy_hpyp.arc_standard.likelihood import action_probability, new_queries
from spacy_hpyp.arc_standard.sampling import estimate_log_probabilities
from spacy_hpyp.compiled import NONE
from spacy_hpyp.inference.pruning import BeamSearch
from spacy_hpyp.inference.rounding import Search
from spacy_hpyp.models.parameters import no_gradient

NAMES = ("the paper's", "directions and labels")
ROOT_TAG = 2


def model_of(name, **settings):
    return with_random_weights(make_model(POOLS[name], root_last=True, **settings))


@pytest.fixture(scope="module", params=NAMES)
def model(request):
    return model_of(request.param, labels=2)


def test_probability_of_all_sentences_grows_with_their_length_and_stays_below_one(model):
    counter = Counter(model)
    totals = np.cumsum([sum(p for p, _ in counter.derivations(n)) for n in (1, 2, 3)])
    assert 0.1 < totals[0] < totals[1] < totals[2] < 1.0


def test_after_one_tree_there_is_nothing_but_words_and_the_end(model):
    counter, queries = Counter(model), new_queries(model.frozen, 64)
    push(counter.records, 2, ROOT, 0, 1)
    tags = [counter.probability("tag", 2, tag) for tag in range(3)]
    found = [action_probability(model.frozen, counter.records, 2, action, queries) for action in (SHIFT, END)]
    assert found == pytest.approx([1.0, tags[ROOT_TAG]], rel=rounding(model))
    assert sum(tags) == pytest.approx(1.0)
    assert counter.records[2, DEPTH] == 2


@pytest.mark.parametrize("name", NAMES)
def test_the_end_is_an_event_of_the_tags_and_no_action(name):
    model, (words, tags, heads, _) = model_of(name, labels=2), sentence(HEADS[3])
    actions = static_derivations(rows_of((words, tags, heads))).actions
    gradient, factored = no_gradient(model.weights), model.is_factored
    model.reserve(100, DISTRIBUTIONS)
    dishes = {}
    for number, distribution in enumerate(DISTRIBUTIONS):
        pool = model.pool(distribution, model.weights, gradient)
        events = events_of(pool, number, factored, words, tags, actions, ROOT_TAG)
        dishes[distribution] = events.dish[: events.count[0]].tolist()
    assert dishes["tag"] == [*tags, ROOT_TAG]
    assert dishes["word"] == words.tolist()
    # The first two words are shifted upon fewer than two trees, and one tree is left in the end.
    assert len(dishes["transition"]) < 2 * len(words) - 2
    assert END not in dishes["transition"] or factored


@pytest.mark.parametrize(
    "search",
    [Search(10**18, 0.0), pytest.param(BeamSearch(10**5, 0.0, tag_threshold=0.0), marks=pytest.mark.slow)],
    ids=["particles", "beam"],
)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_search_that_leaves_nothing_out_finds_the_sum_and_the_best(model, search, n):
    search = search._replace(labels_per_arc=9)
    counter = Counter(model)
    for words in ([1, 0, 0, 1][:n], [0, 0, 1, 0][:n]):
        found = [(p, counter.tree(last, n)) for p, last in counter.derivations(n, words)]
        parses = decoding.decode(model.frozen, blocks_of(words), search)
        assert parses.log_probability.sum() == pytest.approx(
            log(sum(p for p, _ in found)), abs=rounding(model)
        )
        assert (parses.tags.tolist(), parses.heads.tolist(), parses.labels.tolist()) == max(found)[1]


def test_words_of_a_prefix_have_what_all_derivations_that_shift_them_have(model):
    counter = Counter(model)

    def shifted(top, word, used):
        for tag in range(2):
            p = counter.action_probability(top, SHIFT) * counter.probability("tag", top, tag)
            p *= counter.probability("word", top, word, tag)
            push(counter.records, used, top, tag, word)
            yield p

    first = 0.0
    second = 0.0
    for p in shifted(ROOT, 1, 2):
        first += p
        second += sum(p * q for q in shifted(2, 0, 3))
    found = decode(model, [1, 0, 0]).log_probability
    assert found[:2] == pytest.approx([log(first), log(second / first)], abs=6 * precision_of(model))


def test_sentences_in_running_text_end_and_begin(model):
    blocks = blocks_of([1, 0, 1, 0, 1, 1], may_start=True)
    parses = decoding.decode(model.frozen, blocks, Search(10**6, 0.0, tag_threshold=0.0))
    whole = decoding.decode(
        model.frozen, blocks_of([1, 0, 1, 0, 1, 1]), Search(10**6, 0.0, tag_threshold=0.0)
    )
    assert parses.log_probability.sum() > whole.log_probability.sum()
    assert (parses.heads == NONE).sum() >= 1


# Drawing is compiled once more for it.
@pytest.mark.slow
@pytest.mark.parametrize("seated", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_estimates_are_unbiased_and_draws_from_the_posterior(name, seated):
    tiny, words = Tiny(name, seated, root_last=True), [1, 0, 1]
    rng, estimates = np.random.default_rng(1), np.empty(1000)
    estimate_log_probabilities(
        tiny.distributions, new_queries(tiny.distributions, 1), integers(words), 5, rng, estimates
    )
    assert_mean_is_one(np.exp(estimates - log(sum(tiny.derivations(words).values()))))
    assert_drawn_from([tiny.sample(words, rng, 500)[0] for _ in range(400)], tiny.derivations(words))
    beginning = [tiny.sample(words, rng, 20, to_the_end=False)[1] for _ in range(500)]
    exact = sum(tiny.derivations(words, to_the_end=False).values())
    assert_mean_is_one(np.exp(np.array(beginning) - log(exact)))


@pytest.mark.parametrize("name", NAMES)
def test_generated_sentences_are_as_frequent_as_they_are_probable(name):
    generator, rng = Generator(name, root_last=True), np.random.default_rng(0)
    drawn = [generator.draw(rng) for _ in range(3000)]
    assert_drawn_from([found for found, _ in drawn], generator.derivations)
    for found, log_probability in drawn[:100]:
        assert log_probability == pytest.approx(
            log(generator.derivations[found]), abs=rounding(generator.joint)
        )


@pytest.mark.parametrize("heads", HEADS[:4], ids=str)
def test_trees_have_the_sum_of_their_derivations(model, heads):
    rows, queries = sentence(heads), new_queries(model.frozen, 1024)
    found, exact = tree_log_probability(model.frozen, *rows, 10_000, queries)
    expected = enumerate_derivations(model, *rows)
    assert exact
    assert found == pytest.approx(np.logaddexp.reduce([*expected.values()]), abs=rounding(model))
    rng, nothing, actions = np.random.default_rng(0), integers([]), np.empty(2 * len(heads), dtype=np.int32)
    estimates = [
        sample_derivation(model.frozen, *rows, 50, nothing, rng, queries, actions) for _ in range(50)
    ]
    assert np.logaddexp.reduce(estimates) - log(50) == pytest.approx(found, abs=0.2)


@pytest.mark.parametrize(("name", "given_tree"), list(zip(NAMES, (True, False))))
def test_latent_derivations_are_visited_as_often_as_they_are_probable(name, given_tree):
    # With one table at most, the seating of the others is known.
    model, rows = model_of(name, one_table=True), rows_of((WORDS, TAGS, HEADS_OF_THREE))
    exact = {}
    for path in all_derivations(model, WORDS, TAGS, HEADS_OF_THREE, given_tree):
        trial = model_of(name, one_table=True)
        new = Derivations(*(np.array(part, dtype=np.int32) for part in (path[:6], path[6:])))
        found, _ = trial.visit(rows, new, np.array([False]), np.random.default_rng(0))
        exact[(path,)] = exp(sum(found.values()))
    exact = {path: probability / sum(exact.values()) for path, probability in exact.items()}
    model.visit(rows, static_derivations(rows), np.array([False]), np.random.default_rng(3))
    distance, limit = total_variation(run(model, rows, given_tree, steps=3000)[0], exact)
    assert distance < limit


def test_what_is_learned_of_the_first_sentence_is_what_generates_it():
    model = make_model(POOLS["the paper's"], sweeps=0, root_last=True)
    tags, words = (model.sizes[name] for name in ("tag", "word"))
    rows = rows_of(([0], [1], [NONE]))
    found, _ = model.visit(rows, static_derivations(rows), np.array([False]), np.random.default_rng(0))
    # The end meets the tag at the root only, where one customer leaves (0.5 + 0.5) / (0.5 + 1) to the base.
    assert found["transition"] == 0.0
    assert sum(found.values()) == pytest.approx(log(1 / tags) + log(1 / 1.5 / tags) - log(words), abs=1e-12)
