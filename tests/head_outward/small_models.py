"""Models of two tags and two words, and their definition in plain Python: the events of a tree and
their contexts.
"""

from collections.abc import Iterator, Sequence
from math import exp, log
from typing import NamedTuple

import numpy as np
from compiling import compiled
from projective_trees import children_of, projective_trees
from seating import predictive_probability

from spacy_hpyp.annotation.arrays import Sentences
from spacy_hpyp.annotation.sentences import join
from spacy_hpyp.compiled import NONE
from spacy_hpyp.head_outward.contexts import (
    CASES,
    DISTANCES,
    DISTRIBUTIONS,
    HeadOutwardContexts,
    HeadOutwardDistributions,
    make_distributions,
)
from spacy_hpyp.head_outward.model import EstimatorSettings, HeadOutwardModel
from spacy_hpyp.hpyp.count_model import no_gradient
from spacy_hpyp.hpyp.franchise import CUSTOMERS, TIER, deepest
from spacy_hpyp.hpyp.pool import Weights, bucket_of
from spacy_hpyp.text.unknown_words import universal_unknown_words
from spacy_hpyp.text.vocabulary import UNKNOWN, Vocabulary, VocabularySettings

deepest = compiled(deepest)

#: Positions without a word.
ROOT, NULL = "ROOT", "NULL"
#: Outcome in place of a child's tag.
STOP = "STOP"

#: The context lists of each kind of model.
MODELS = {
    "paper": HeadOutwardContexts(
        tag=[["direction+parent.tag", "sibling.tag", "parent.word+parent.case"]],
        word=[["child.tag", "direction+parent.tag", "parent.word+parent.case"]],
        case=[["child.tag", "child.word"]],
    ),
    "without siblings": HeadOutwardContexts(
        tag=[["parent.tag", "direction", "parent.word"]],
        word=[["child.tag", "parent.word"]],
        case=[],
        label=[["child.tag", "parent.tag", "child.left.word"]],
    ),
    "experts": HeadOutwardContexts(
        tag=[["parent.tag", "direction", "sibling.distance"], ["parent.word", "sibling.word"], []],
        word=[["child.tag", "parent.word"], ["sibling.tag", "sibling.case"]],
        case=[["child.word", "child.tag"], ["parent.case+direction"]],
        distance=[["child.tag", "parent.tag", "direction"], ["sibling.distance", "child.case"]],
        label=[["child.tag", "parent.tag"], ["distance", "child.children"]],
    ),
    # A distribution after the tag's is the first to read the sibling.
    "late siblings": HeadOutwardContexts(
        tag=[["parent.tag", "direction"]],
        word=[["child.tag", "sibling.word"]],
        case=[["child.word", "parent.case"]],
        distance=[["direction", "child.case", "sibling.tag"]],
    ),
    # These rule out dynamic programming.
    "grandparents": HeadOutwardContexts(
        tag=[["parent.tag", "direction", "grandparent.tag+grandparent.direction", "sibling.tag"]],
        word=[["child.tag", "parent.word", "grandparent.word"]],
        case=[["child.word"], ["grandparent.case"]],
        children=[["child.tag", "child.word", "grandparent.direction"]],
        distance=[["child.children", "child.tag", "direction"]],
        label=[["child.tag", "child.left.tag+child.right.tag", "child.right.case"]],
    ),
}


class Tree(NamedTuple):
    """A tree of a sentence."""

    words: Sequence[int]  # The number of the uncased word times `CASES`, plus the case
    tags: Sequence[int]
    heads: Sequence[int]  # `NONE` for the root's child
    labels: Sequence[int]  # `NONE` for the root's child


class Event(NamedTuple):
    """An event and its context."""

    distribution: str
    outcome: int | str  # A number, or `STOP`
    # Positions, `ROOT` or `NULL`.
    parent: int | str
    sibling: int | str
    child: int | str
    direction: int  # 0 on the left, 1 on the right


def random_trees(
    count: int, seed: int = 0, lengths: Sequence[int] = (1, 2, 3, 4), labels: int = 2
) -> list[Tree]:
    """Trees of two tags, two words in all cases, and some labels."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        n = int(rng.choice(lengths))
        trees = projective_trees(n)
        heads = trees[rng.integers(len(trees))]
        marks = [NONE if head == NONE else int(rng.integers(labels)) for head in heads]
        words = rng.integers(2 * CASES, size=n).tolist()
        found.append(Tree(words, rng.integers(2, size=n).tolist(), heads, marks))
    return found


def arrays_of(trees: Sequence[Tree]) -> Sentences:
    """Convert trees to the package's arrays."""
    return join([np.array(tree, dtype=np.int32) for tree in trees])


def make_model(
    contexts: HeadOutwardContexts,
    trees: Sequence[Tree] = (),
    *,
    sweeps: int = 3,
    **settings: object,
) -> HeadOutwardModel:
    """A model of two tags and two words that has seen some trees, with random weights.

    sweeps (int): The number of visits. Sampled hyperparameters are resampled after each sweep.
    settings: Arguments of `EstimatorSettings`.
    """
    rule = VocabularySettings(universal_unknown_words(), 1, 1)
    model = HeadOutwardModel(contexts, rule, EstimatorSettings(**settings))
    # The second tag and the second word stand for unknown ones.
    vocabulary = Vocabulary(
        ["a"], [UNKNOWN], ["A"], np.zeros(3, np.int64), np.empty(0, np.int32), rule.rule
    )
    model.initialize(["label0", "label1"], vocabulary)
    rng = np.random.default_rng(1)
    model.weights = {
        name: Weights(*(part + rng.normal(0.0, 0.2, part.shape) for part in weights))
        for name, weights in model.weights.items()
    }
    for sweep in range(sweeps if trees else 0):
        model.gibbs_step(arrays_of(trees), None, np.full(len(trees), sweep > 0), rng)
        model.resample(rng)
    return model


def learning(model: HeadOutwardModel) -> HeadOutwardDistributions:
    """Return the model in its learning state, with room for the events of 1,000 tokens."""
    weights, gradient = model.weights, no_gradient(model.weights)
    pools = {name: model.pool(name, weights[name], gradient[name], 1000) for name in weights}
    return make_distributions(model.conditionals, pools, model.symbols)


def events_of_tree(tree: Tree) -> Iterator[Event]:
    """All events of a tree by their definition."""
    for child, head in enumerate(tree.heads):
        parent = ROOT if head == NONE else head
        direction = 0 if head > child else 1
        siblings = [NULL, *children_of(tree.heads, head, direction)]
        sibling = NULL if parent == ROOT else siblings[siblings.index(child) - 1]
        where = (parent, sibling, child, direction)
        yield Event("tag", tree.tags[child], *where)
        yield Event("word", tree.words[child] // CASES, *where)
        yield Event("case", tree.words[child] % CASES, *where)
        yield Event("children", int(child in tree.heads), *where)
        if parent != ROOT:
            yield Event("distance", _distance(child, head), *where)
            yield Event("label", tree.labels[child], *where)
    for parent in range(len(tree.heads)):
        for direction in range(2):
            children = children_of(tree.heads, parent, direction)
            yield Event("tag", STOP, parent, children[-1] if children else NULL, NULL, direction)


def _distance(one: int, other: int) -> int:
    return [0, 1, 2, 2, 2, 2, 3][min(abs(one - other), 7) - 1]


def _head(tree: Tree, word: int | str) -> int | str:
    if word in (ROOT, NULL):
        return NULL
    return ROOT if tree.heads[word] == NONE else tree.heads[word]


def read(name: str, tree: Tree, event: Event) -> int | str | tuple:
    """The symbol that a context element reads, by its name."""
    if "+" in name:
        return tuple(read(part, tree, event) for part in name.split("+"))
    if name == "direction":
        return event.direction
    if name == "grandparent.direction":
        parent, grandparent = event.parent, _head(tree, event.parent)
        return NULL if grandparent == NULL else int(grandparent == ROOT or grandparent < parent)
    if name == "sibling.distance":
        return NULL if event.sibling == NULL else _distance(event.sibling, event.parent)
    if name == "distance":
        return _distance(event.child, event.parent)
    if name == "child.children":
        return int(event.child in tree.heads)
    word, what = name.rsplit(".", 1)
    left, right = ((children_of(tree.heads, event.child, side) or [NULL])[-1] for side in range(2))
    position = {
        "parent": event.parent,
        "sibling": event.sibling,
        "grandparent": _head(tree, event.parent),
        "child": event.child,
        "child.left": left,
        "child.right": right,
    }[word]
    if position in (ROOT, NULL):
        return position
    if what == "tag":
        return tree.tags[position]
    return tree.words[position] // CASES if what == "word" else tree.words[position] % CASES


def number(name: str, value: int | str | tuple, model: HeadOutwardModel) -> int:
    """The number of a value that a context element has read."""
    if isinstance(value, tuple):
        found = 0
        for part, own in zip(name.split("+"), value):
            found = found * _size(part, model) + number(part, own, model)
        return found
    if isinstance(value, str):
        return _size(name, model) - (2 if value == ROOT else 1)
    return value


def _size(name: str, model: HeadOutwardModel) -> int:
    fixed = {
        "direction": 2,
        "grandparent.direction": 3,
        "sibling.distance": DISTANCES + 1,
        "distance": DISTANCES,
        "child.children": 2,
    }
    if name in fixed:
        return fixed[name]
    outcomes = {"tag": len(model.tags) + 1, "word": len(model.vocabulary), "case": CASES}
    return outcomes[name.rsplit(".", 1)[1]] + 2


def outcomes_of(model: HeadOutwardModel, name: str) -> int:
    """The number of outcomes of a distribution. STOP follows the tags."""
    sizes = (len(model.tags) + 2, len(model.vocabulary), CASES, 2, DISTANCES, len(model.labels))
    return dict(zip(DISTRIBUTIONS, sizes))[name]


def probability(model: HeadOutwardModel, tree: Tree, event: Event) -> float:
    """The probability of an event by the definition of pools, from each expert's seating."""
    name = event.distribution
    franchise, weights = model.franchises[name], model.weights[name]
    conditional = model.conditionals[name]
    # The symbols read by experts and then gates, without duplicates.
    gates = {"tag": ("parent.tag", "sibling.tag"), "case": ("child.tag",)}.get(
        name, ("child.tag", "parent.tag")
    )
    columns = dict.fromkeys(element for expert in conditional.experts for element in expert)
    several = len(conditional.experts) > 1
    columns |= dict.fromkeys(gates if several else ())
    symbols = {element: number(element, read(element, tree, event), model) for element in columns}
    row = np.array([*symbols.values()], dtype=np.int32)
    outcomes = range(outcomes_of(model, name))
    dish = outcomes[-1] if event.outcome == STOP else event.outcome
    if not several:
        return predictive_probability(franchise, 0, row, dish)
    weight = []
    for m in range(len(conditional.experts)):
        place = franchise.restaurants[deepest(franchise, m, row)]
        gated = sum(weights.gate[g, symbols[gate], m] for g, gate in enumerate(gates))
        weight.append(weights.bucket[place[TIER], bucket_of(place[CUSTOMERS])] + gated)
    if name == "word":
        shares = np.exp(weight) / np.exp(weight).sum()
        return sum(
            share * predictive_probability(franchise, m, row, dish)
            for m, share in enumerate(shares)
        )

    def log_product(y: int) -> float:
        given = (predictive_probability(franchise, m, row, y) for m in range(len(weight)))
        return sum(w * log(p) for w, p in zip(weight, given))

    return exp(log_product(dish)) / sum(exp(log_product(y)) for y in outcomes)


def log_probability(model: HeadOutwardModel, tree: Tree, *, labelled: bool = False) -> float:
    """The log-probability of a tree: the sum over its events."""
    return sum(
        log(probability(model, tree, event))
        for event in events_of_tree(tree)
        if model.conditionals[event.distribution].experts
        and (labelled or event.distribution != "label")
    )
