"""Steps over latent trees keep the posterior that enumeration finds, in which the events of a sentence see
each other.
"""

import itertools
import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from projective_trees import projective_trees
from small_models import EXPERTS, PAPER, Tree, arrays_of, learning, make_model, random_trees
from test_franchise import DISCOUNT, STRENGTH, enumerate_seatings
from test_head_outward_events import customers_of
from total_variation import total_variation

from spacy_hpyp.annotation.arrays import Sentences
from spacy_hpyp.compiled import NONE
from spacy_hpyp.head_outward.contexts import CASES, DISTRIBUTIONS
from spacy_hpyp.head_outward.distributions import HeadOutwardContexts
from spacy_hpyp.head_outward.events import events_of
from spacy_hpyp.head_outward.parsing import LatentTrees
from spacy_hpyp.head_outward.scoring import tree_log_probabilities
from spacy_hpyp.hpyp.storage import pack
from spacy_hpyp.inference.gibbs import remove_events
from spacy_hpyp.inference.metropolis import draw_again, visit_latent

pytestmark = pytest.mark.slow

STEPS = 6_000
SMALL = HeadOutwardContexts(
    tag=[["parent.tag", "sibling.tag"]],
    word=[["child.tag", "parent.tag"]],
    case=[],
    label=[["child.tag", "direction"]],
)
#: Words and tags.
SENTENCES = [([0, CASES, 0], [0, 1, 0]), ([0, CASES], [0, 1])]


def all_trees(words, tags, labels=2):
    """All trees of a sentence, with all labels."""
    for heads in projective_trees(len(words)):
        for marks in itertools.product(*([NONE] if head == NONE else range(labels) for head in heads)):
            yield Tree(words, tags, heads, marks)


class Marginal:
    """The probability of trees, summed over all ways in which the customers of all of them may sit.

    How many ways there are to seat c customers at t tables are generalised Stirling numbers (Teh 2006,
    equation 22).
    """

    def __init__(self, model):
        self.model = model

    def __call__(self, trees):
        probability = 1.0
        for name in DISTRIBUTIONS:
            if self.model.conditionals[name].experts:
                customers = [
                    (context, dish)
                    for tree in trees
                    for dish, context in customers_of(self.model, name, tree)
                ]
                probability *= self.of_customers(name, tuple(sorted(customers)))
        return probability

    @cache  # noqa: B019
    def of_customers(self, name, customers):
        alphabet = self.model.alphabets.of(name)
        sent = {}
        for context, dishes in itertools.groupby(customers, key=lambda customer: customer[0]):
            counts = Counter(dish for _, dish in dishes)
            sent[context] = {tuple(counts[dish] for dish in range(alphabet)): 1.0}
        franchise = self.model.franchises[name]
        for level in range(franchise.columns.shape[1], -1, -1):
            hyperparameters = float(franchise.discount[level]), float(franchise.strength[level])
            above = {}
            for context, seated in sent.items():
                tables = Counter()
                for customers, weight in seated.items():
                    for opened, factor in self.restaurant(customers, *hyperparameters).items():
                        tables[opened] += weight * factor
                others = above.get(context[:-1], {(0,) * alphabet: 1.0})
                both = Counter()
                for (one, p), (other, q) in itertools.product(others.items(), tables.items()):
                    both[tuple(a + b for a, b in zip(one, other))] += p * q
                above[context[:-1]] = both
            sent = above
        return sum(weight * alphabet ** -sum(tables) for tables, weight in sent[()].items())

    @cache  # noqa: B019
    def restaurant(self, customers, discount, strength):
        """How probable numbers of tables are, by dishes, as factors of the customers' probability."""
        found = {}
        for tables in itertools.product(*(range(count > 0, count + 1) for count in customers)):
            weight = math.prod(stirling(count, t, discount) for count, t in zip(customers, tables))
            weight *= math.prod(strength + i * discount for i in range(1, sum(tables)))
            found[tables] = weight / math.prod(strength + i for i in range(1, sum(customers)))
        return found


@cache
def stirling(customers, tables, discount):
    if customers == 0 or tables == 0:
        return float(customers == tables)
    fewer = customers - 1
    return stirling(fewer, tables - 1, discount) + (fewer - tables * discount) * stirling(
        fewer, tables, discount
    )


def empty_model(prior):
    """A model in which the events of a sentence have much to say to each other."""
    model = make_model(SMALL, prior=prior, uniform_roots=False)
    for franchise in model.franchises.values():
        franchise.strength[:] = 1.5
    return model


@cache
def posterior(prior):
    """The probability of all trees of all sentences given the words, in the order of the sentences."""
    marginal = Marginal(empty_model(prior))
    trees = [[*all_trees(*sentence)] for sentence in SENTENCES]
    exact = {
        tuple((tree.heads, tree.labels) for tree in both): marginal(both)
        for both in itertools.product(*trees)
    }
    total = sum(exact.values())
    return {state: probability / total for state, probability in exact.items()}


def state_of(sentences):
    return tuple(
        (tuple(sentences.heads[start:end].tolist()), tuple(sentences.labels[start:end].tolist()))
        for start, end in itertools.pairwise(sentences.offsets.tolist())
    )


def start(model, sentences=SENTENCES):
    """The sentences with a tree each, seated."""
    rows = arrays_of([next(all_trees(*sentence)) for sentence in sentences])
    model.visit(rows, None, np.zeros(len(sentences), dtype=bool), np.random.default_rng(3))
    return rows


def run(model, rows, steps=STEPS):
    """The trees after each step, and how many were proposed and accepted in each."""
    learner, seated = learning(model), np.ones(len(rows.offsets) - 1, dtype=bool)
    rng, totals, visited, draws = (
        np.random.default_rng(5),
        np.zeros(6),
        [],
        np.zeros((steps, 2), dtype=np.int64),
    )
    for i in range(steps):
        assert visit_latent(LatentTrees(learner, rows), seated, rng, totals, draws[i]) == len(seated)
        visited.append(state_of(rows))
    return visited, draws


def run_without_correction(model, rows, steps=STEPS):
    """As `run`, but that everything is accepted: a sentence that has been removed is added with the tree that
    is drawn.
    """
    learner = learning(model)
    rng, totals, visited = np.random.default_rng(5), np.zeros(6), []
    for _ in range(steps):
        for first, last in itertools.pairwise(rows.offsets):
            own = Sentences(*(part[first:last] for part in rows[:4]), np.array([0, last - first]))
            for number, name in enumerate(DISTRIBUTIONS):
                pool = getattr(learner, name)
                assert remove_events(pool, events_of(pool, number, *own[:4], learner.sizes), rng)
            visit_latent(
                LatentTrees(learner, own), np.array([False]), rng, totals, np.zeros(2, dtype=np.int64)
            )
        visited.append(state_of(rows))
    return visited


@pytest.mark.parametrize("prior", ["pitman-yor", "dirichlet"])
def test_trees_are_visited_as_often_as_they_are_probable(prior):
    # Nothing but these sentences is seated, so that their own events are most of what they see.
    model, exact = empty_model(prior), posterior(prior)
    visited, draws = run(model, start(model))
    distance, limit = total_variation(visited, exact)
    assert len(exact) == 112
    assert distance < limit < 0.1
    # Each accepted tree is another one than before.
    changes = [
        one != other for before, after in itertools.pairwise(visited) for one, other in zip(before, after)
    ]
    assert sum(changes) == draws[1:, 1].sum()
    assert np.all(draws[:, 1] <= draws[:, 0])
    assert 0 < draws[:, 1].sum() < draws[:, 0].sum() <= 2 * STEPS


@pytest.mark.parametrize("prior", ["pitman-yor", "dirichlet"])
def test_trees_are_not_visited_as_often_as_they_are_probable_where_all_are_accepted(prior):
    model = empty_model(prior)
    distance, limit = total_variation(
        run_without_correction(model, start(model), STEPS // 2), posterior(prior)
    )
    assert distance > 1.5 * limit


def test_sums_over_tables_are_those_over_seatings():
    model = empty_model("pitman-yor")
    for franchise in model.franchises.values():
        franchise.discount[:], franchise.strength[:] = (
            part[: len(franchise.discount)] for part in (DISCOUNT, STRENGTH)
        )
    marginal = Marginal(model)
    tree = Tree([0, CASES], [0, 1], (NONE, 0), (NONE, 1))
    expected = 1.0
    for name in ("tag", "word", "label"):
        customers = [(context, dish) for dish, context in customers_of(model, name, tree)]
        expected *= sum(enumerate_seatings(customers, model.alphabets.of(name)).values())
    assert marginal([tree]) == pytest.approx(expected)


#: With one table at most, the seating of other sentences is known.
AMONG = random_trees(8, seed=4)
LATENT = ([0, CASES + 1, 0], [0, 1, 0])


def model_among(contexts):
    return make_model(contexts, AMONG, counts="minimal")


@pytest.mark.parametrize("contexts", [PAPER, EXPERTS], ids=["paper", "experts"])
def test_trees_of_a_sentence_among_others_are_proposed_and_accepted_as_often_as_is_right(contexts):
    held, exact = {}, {}
    for tree in all_trees(*LATENT, labels=2 if contexts is EXPERTS else 1):
        state, rows, model = ((tree.heads, tree.labels),), arrays_of([tree]), model_among(contexts)
        held[state] = math.exp(tree_log_probabilities(learning(model), *rows[:4], True).sum())
        totals, _ = model.visit(rows, None, np.array([False]), np.random.default_rng(0))
        exact[state] = math.exp(sum(totals.values()))
    held, exact = ({state: p / sum(own.values()) for state, p in own.items()} for own in (held, exact))
    model = model_among(contexts)
    visited, draws = run(model, start(model, [LATENT]))
    distance, limit = total_variation(visited, exact)
    assert distance < limit
    # It is only where it is proposed with what the events see of each other that every tree is accepted.
    assert 0.005 < sum(abs(held[state] - exact[state]) for state in exact) / 2
    proposed = sum(p * (1.0 - held[state]) for state, p in exact.items())
    accepted = sum(
        min(exact[one] * held[other], exact[other] * held[one])
        for one, other in itertools.permutations(exact, 2)
    )
    for expected, each in zip((proposed, accepted), draws.T):
        # Four standard errors, from means of batches.
        error = each.reshape(50, -1).mean(axis=1).std(ddof=1) / math.sqrt(50)
        assert abs(each.mean() - expected) < 4 * error


@pytest.mark.parametrize("counts", ["sampled", "minimal"])
def test_what_is_not_accepted_leaves_no_trace(counts):
    model = make_model(EXPERTS, AMONG, counts=counts)
    rows = start(model, [LATENT])
    learner, rng, seen = learning(model), np.random.default_rng(0), Counter()
    for _ in range(150):
        before = [pack(franchise) for franchise in model.franchises.values()], state_of(rows)
        draws = np.zeros(2, dtype=np.int64)
        assert draw_again(LatentTrees(learner, rows), 0, rng, draws)
        proposed, accepted = draws.astype(bool).tolist()
        after = [pack(franchise) for franchise in model.franchises.values()], state_of(rows)
        assert (after == before) == (not accepted)
        assert (after[1] == before[1]) == (not accepted)
        seen[proposed, accepted] += 1
    assert seen.keys() == {(False, False), (True, False), (True, True)}


def test_sentences_that_are_not_seated_are_added_with_a_tree():
    model = empty_model("pitman-yor")
    rows = arrays_of([next(all_trees(*sentence)) for sentence in SENTENCES])
    rows.heads[:], rows.labels[:] = 77, 77
    totals, _ = model.visit_latent(rows, None, np.array([False, False]), np.random.default_rng(1))
    for (words, tags), (heads, labels) in zip(SENTENCES, state_of(rows)):
        assert Tree(words, tags, heads, labels) in [*all_trees(words, tags)]
    assert model.draws.tolist() == [0, 0]
    assert {name for name in DISTRIBUTIONS if totals[name] < 0.0} == {"tag", "word", "label"}
    # Those trees are seated, so that they can be visited.
    model.visit(rows, None, np.array([True, True]), np.random.default_rng(1))
    model.visit_latent(rows, None, np.array([True, True]), np.random.default_rng(1))


def test_a_sentence_that_is_not_seated_as_it_should_be_is_an_error():
    model = empty_model("pitman-yor")
    rows = start(model)
    other = rows._replace(tags=(1 - rows.tags).astype(np.int32))
    for visit in (model.visit_latent, model.visit):
        with pytest.raises(ValueError, match="do not belong together"):
            visit(other, None, np.array([True, True]), np.random.default_rng(0))
