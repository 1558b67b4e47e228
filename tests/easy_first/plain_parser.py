"""A slow easy-first parser in plain Python, written from the paper as a reference for the compiled
one.

States and partial trees are those of the paper: a state is a tuple of partial trees, and a partial
tree is a word with partial trees as children. Scores use the compiled templates and weights,
computed from scratch for each window.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from compiling import compiled

from spacy_hpyp.compiled import NONE
from spacy_hpyp.easy_first import arcs, labels
from spacy_hpyp.easy_first.arcs import Scorer, SentenceToParse, new_scorer, with_weights
from spacy_hpyp.easy_first.partial_trees import (
    LEFT_ARC,
    RIGHT_ARC,
    attach,
    begin_forest,
    new_forest,
)

find_weights = compiled(arcs.find_weights)

ACTIONS = (LEFT_ARC, RIGHT_ARC)


@dataclass(frozen=True)
class Tree:
    """A partial tree: the position of its head, and its children from left to right."""

    head: int
    left: tuple["Tree", ...] = ()
    right: tuple["Tree", ...] = ()

    @property
    def children(self) -> tuple["Tree", ...]:
        return self.left + self.right

    @property
    def words(self) -> list[int]:
        return sorted([self.head, *(word for child in self.children for word in child.words)])

    @property
    def arcs(self) -> frozenset[tuple[int, int]]:
        """Pairs of a head and its child."""
        own = {(self.head, child.head) for child in self.children}
        return frozenset(own.union(*(child.arcs for child in self.children)))


State = tuple[Tree, ...]
#: A place in the list of trees, and the action there.
Action = tuple[int, int]
#: The head of each word, `NONE` for the root.
Heads = Sequence[int]


def dense(averages):
    """Expand sparse averages to a table."""
    table = np.zeros((len(averages.offsets) - 1, averages.size), dtype=np.float32)
    place = np.repeat(np.arange(len(table)), np.diff(averages.offsets))
    table[place, averages.outcomes] = averages.weights[:, 0]
    return table


def first_state(n: int) -> State:
    return tuple(Tree(word) for word in range(n))


def arcs_of(state: State) -> frozenset[tuple[int, int]]:
    return frozenset().union(*(tree.arcs for tree in state))


def actions_of(state: State) -> list[Action]:
    """All actions, in tie-breaking order."""
    return [(place, action) for place in range(len(state) - 1) for action in ACTIONS]


def head_and_child(state: State, step: Action) -> tuple[Tree, Tree]:
    place, action = step
    left, right = state[place : place + 2]
    return (right, left) if action == LEFT_ARC else (left, right)


def join(state: State, step: Action) -> State:
    place, action = step
    head, child = head_and_child(state, step)
    if action == LEFT_ARC:
        joined = Tree(head.head, (child, *head.left), head.right)
    else:
        joined = Tree(head.head, head.left, (*head.right, child))
    return (*state[:place], joined, *state[place + 2 :])


def heads_of(tree: Tree) -> list[int]:
    """The head of each word of a complete tree, `NONE` for the root."""
    heads = dict.fromkeys(tree.words, NONE) | {child: head for head, child in tree.arcs}
    return [heads[word] for word in sorted(heads)]


def derivations(state: State) -> Iterator[tuple[tuple[Action, ...], State]]:
    """All sequences of actions that complete a state, each with the resulting tree."""
    if len(state) == 1:
        yield (), state
    for step in actions_of(state):
        for rest, last in derivations(join(state, step)):
            yield (step, *rest), last


@cache
def trees_of(n: int) -> list[tuple[int, ...]]:
    """The heads of all derivable trees of n words."""
    return sorted({tuple(heads_of(last[0])) for _, last in derivations(first_state(n))})


@cache
def states_of(n: int) -> list[State]:
    """All reachable states of n words."""
    found = {first_state(n)}
    pending = list(found)
    while pending:
        state = pending.pop()
        new = {join(state, step) for step in actions_of(state)} - found
        found |= new
        pending.extend(new)
    return sorted(found, key=lambda state: (-len(state), repr(state)))


def random_derivation(n: int, rng: np.random.Generator) -> list[tuple[Action, State]]:
    """Random actions, each with the state after it."""
    state, found = first_state(n), []
    while len(state) > 1:
        steps = actions_of(state)
        step = steps[rng.integers(len(steps))]
        state = join(state, step)
        found.append((step, state))
    return found


# Queries of the compiled parser


def random_heads(n: int, rng: np.random.Generator) -> list[int]:
    """The heads of a random derivation."""
    states = [first_state(n), *(state for _, state in random_derivation(n, rng))]
    return heads_of(states[-1][0])


def random_sentence(
    n: int, rng: np.random.Generator, *, symbols: int = 3, guide: int = 0
) -> SentenceToParse:
    """A sentence of random symbols, optionally with a guide of several heads for each word."""
    names = (*arcs.SYMBOLS, *((*arcs.GUIDE_SYMBOLS, *arcs.CLASS_SYMBOLS) if guide else ()))
    heads = np.full((n, guide), -2, dtype=np.int32)
    probability = np.zeros((n, guide), dtype=np.float32)
    expected = np.zeros((n, 2), dtype=np.float32)
    for word in range(n if guide else 0):
        others = [NONE, *(head for head in range(n) if head != word)]
        chosen = rng.permutation(others)[:guide]
        shares = np.sort(rng.dirichlet(np.ones(guide)))[::-1][: len(chosen)]
        heads[word, : len(chosen)], probability[word, : len(chosen)] = chosen, shares
        for head, share in zip(chosen, probability[word]):
            if head != NONE:
                expected[head, int(word > head)] += share
    labels = rng.integers(-1, 3, (n, guide)).astype(np.int32)
    rows = rng.integers(0, symbols, (n, len(names))).astype(np.int32)
    return SentenceToParse(rows, heads, probability, labels, expected)


def arc_scorer(
    templates: list[list[str]], places: int, weights: np.ndarray | None = None
) -> Scorer:
    """A scorer of actions. Its weights are zero by default."""
    weights = np.zeros((places, 2), dtype=np.float32) if weights is None else weights
    return with_weights(new_scorer(templates, arcs.ELEMENTS, "arcs"), weights)


def label_scorer(templates: list[list[str]], weights: np.ndarray) -> Scorer:
    """A scorer of arc labels."""
    return with_weights(new_scorer(templates, labels.ELEMENTS, "labels"), weights)


def random_weights(places: int, rng: np.random.Generator, *, steps: int = 1024) -> np.ndarray:
    """Weights between -1 and 1 with exact sums in any order. Fewer steps make more sums equal."""
    return (rng.integers(-steps, steps + 1, (places, 2)) / steps).astype(np.float32)


class PlainParser:
    """Algorithm 1 in plain Python, for one sentence.

    scorer (Scorer): The weights, read anew for each score.
    sentence (SentenceToParse): The sentence to parse.
    """

    def __init__(self, scorer: Scorer, sentence: SentenceToParse) -> None:
        self.scorer = scorer
        self.sentence = sentence
        self.n = len(sentence.symbols)
        # Scores need the records of the trees in a window. Build them here, for each tree from its
        # words up.
        self._forest = new_forest(20_000)
        begin_forest(self._forest, self.n)
        self._records: dict[Tree, int] = {}
        self._features: dict[tuple[Tree | None, ...], list[int]] = {}

    def record(self, tree: Tree | None) -> int:
        """The record of a partial tree."""
        if tree is None:
            return 0
        if tree not in self._records:
            record = tree.head + 1
            for side, action in ((tree.left[::-1], LEFT_ARC), (tree.right, RIGHT_ARC)):
                for child in side:
                    share = self.share(child.head, tree.head)
                    tag = self.sentence.symbols[child.head, arcs.TAG]
                    record = attach(self._forest, record, self.record(child), action, tag, share)
            self._records[tree] = record
        return self._records[tree]

    def share(self, child: int, head: int) -> np.float32:
        """The guide's probability of a head."""
        said = zip(self.sentence.heads[child], self.sentence.probability[child])
        return next((share for other, share in said if other == head), np.float32(0.0))

    def window(self, state: State, place: int) -> tuple[Tree | None, ...]:
        """The trees that a pair's features read: the pair, and two on each side."""
        return tuple(state[i] if 0 <= i < len(state) else None for i in range(place - 2, place + 4))

    def features(self, state: State, place: int) -> list[int]:
        """The places of a pair's features in the table of weights."""
        trees = self.window(state, place)
        if trees not in self._features:
            window = np.array([self.record(tree) for tree in trees], dtype=np.int32)
            row = np.empty(len(self.scorer.whole.elements), dtype=np.int32)
            places = np.empty(len(self.scorer.whole.templates.numbers), dtype=np.int64)
            read = self._forest.records, self.sentence, window, row
            find_weights(self.scorer.whole, self.scorer.weights, *read, places)
            # With rounded weights, all templates count.
            kept = self.scorer.kept if len(self.scorer.kept) else slice(None)
            self._features[trees] = places[kept].tolist()
        return self._features[trees]

    def score(self, state: State, step: Action) -> float:
        place, action = step
        found = self.scorer.weights[self.features(state, place), action].sum(dtype=np.float64)
        return float(np.float32(self.scorer.step * found))

    def score_of(self, steps: tuple[Action, ...]) -> float:
        """The score of a sequence of actions from the start."""
        state, total = first_state(self.n), 0.0
        for step in steps:
            total += self.score(state, step)
            state = join(state, step)
        return total

    def counts(self, steps: tuple[Action, ...]) -> np.ndarray:
        """The count of each weight in the score of a sequence of actions, as the table of weights
        (float64).
        """
        found = np.zeros(self.scorer.weights.shape)
        state = first_state(self.n)
        for step in steps:
            np.add.at(found, (self.features(state, step[0]), step[1]), 1.0)
            state = join(state, step)
        return found

    def best(
        self,
        beam: "list[Hypothesis]",
        width: int,
        *,
        heads: Heads = (),
        margin: float = 0.0,
        correct: bool = False,
    ) -> "list[Hypothesis]":
        """The best extensions of the states of a beam, the best first. Ties keep the order of the
        states and actions.

        heads (Heads), margin (float): The gold heads, and an addition to the scores of wrong arcs.
        correct (bool): Whether only correct states may be in the beam.
        """
        found = []
        for hypothesis in beam:
            for step in actions_of(hypothesis.state):
                state = join(hypothesis.state, step)
                if correct and not is_correct(state, heads):
                    continue
                head, child = head_and_child(hypothesis.state, step)
                total = hypothesis.total + self.score(hypothesis.state, step)
                if margin and heads[child.head] != head.head:
                    total += margin
                found.append(Hypothesis((*hypothesis.steps, step), state, total))
        found.sort(key=lambda hypothesis: -hypothesis.total)
        first: dict[frozenset[tuple[int, int]], Hypothesis] = {}
        for hypothesis in found:
            first.setdefault(arcs_of(hypothesis.state), hypothesis)
        return list(first.values())[:width]

    def beams(self, width: int) -> "list[list[Hypothesis]]":
        """The beams before the first action and after each action."""
        found = [[Hypothesis((), first_state(self.n), 0.0)]]
        while len(found) < self.n:
            found.append(self.best(found[-1], width))
        return found


@dataclass(frozen=True)
class Hypothesis:
    """A state of a beam with its actions and their score."""

    steps: tuple[Action, ...]
    state: State
    total: float


# Learning


def is_correct(state: State, heads: Heads) -> bool:
    """Tell whether a state can become the tree with these heads: all of its arcs are right, and
    every attached child has all of its own children.
    """
    arcs = arcs_of(state)
    gold = {(head, child) for child, head in enumerate(heads) if head != NONE}
    attached = {child for _, child in arcs}
    return arcs <= gold and {arc for arc in gold if arc[0] in attached} <= arcs


def cost_of(state: State, step: Action, heads: Heads) -> int:
    """The number of right arcs that an action makes impossible. A right root counts as an arc."""
    head, child = (tree.head for tree in head_and_child(state, step))
    words = {tree.head for tree in state}
    lost = sum(heads[word] == child for word in words)
    return lost + (heads[child] != head and (heads[child] == NONE or heads[child] in words))


@dataclass(frozen=True)
class Update:
    """A step from a wrong sequence of actions to a right one.

    violation (float): The lead of the wrong score, with its penalties, over the right one.
    full (bool): Whether the update is made at the end of the sentence, because the best complete
    sequence is wrong.
    """

    right: tuple[Action, ...]
    wrong: tuple[Action, ...]
    violation: float
    full: bool


def early_update(parser: PlainParser, heads: Heads, width: int, *, margin: float) -> Update | None:
    """Algorithm 2."""
    beam = [Hypothesis((), first_state(parser.n), 0.0)]
    for _ in range(parser.n - 1):
        correct = [each for each in beam if is_correct(each.state, heads)]
        right = parser.best(correct, 1, heads=heads, correct=True)[0]
        beam = parser.best(beam, width, heads=heads, margin=margin)
        full = any(is_correct(each.state, heads) for each in beam)
        if not full:
            break
    if parser.n == 1 or is_correct(beam[0].state, heads):
        return None
    return Update(right.steps, beam[0].steps, beam[0].total - right.total, full)


def max_violation_update(
    parser: PlainParser, heads: Heads, width: int, *, margin: float
) -> Update | None:
    """The update of Huang et al. (2012), towards the best of a beam of correct states."""
    beam = correct = [Hypothesis((), first_state(parser.n), 0.0)]
    found = None
    for _ in range(parser.n - 1):
        beam = parser.best(beam, width, heads=heads, margin=margin)
        correct = parser.best(correct, width, heads=heads, correct=True)
        if not is_correct(beam[0].state, heads):
            violation = beam[0].total - correct[0].total
            update = Update(correct[0].steps, beam[0].steps, violation, len(beam[0].state) == 1)
            if found is None or update.violation > found.violation:
                found = update
    if is_correct(beam[0].state, heads) or found is None or found.violation < 0.0:
        return None
    return found


def learn_greedily(
    parser: PlainParser, heads: Heads, *, margin: float, explore: bool
) -> list[Update]:
    """Update the parser's weights after every wrong action of greedy search. Return the updates."""
    steps: tuple[Action, ...] = ()
    state, updates = first_state(parser.n), []
    while len(state) > 1:
        costs = {step: cost_of(state, step, heads) for step in actions_of(state)}
        good = [step for step in costs if costs[step] == min(costs.values())]
        scores = {step: parser.score(state, step) + margin * (step not in good) for step in costs}
        right, taken = max(good, key=scores.__getitem__), max(scores, key=scores.__getitem__)
        if taken not in good:
            violation = scores[taken] - scores[right]
            updates.append(Update((*steps, right), (*steps, taken), violation, len(state) == 2))
            for step, amount in ((right, 1.0), (taken, -1.0)):
                np.add.at(parser.scorer.weights, (parser.features(state, step[0]), step[1]), amount)
            if not explore:
                taken = right
        steps, state = (*steps, taken), join(state, taken)
    return updates
