"""Selection of experts for a treebank, by forward selection on the leave-one-out likelihood.

What a language's tags, labels and words depend on differs from language to language. For one distribution at
a time, the candidates are the experts of a config, every list of two elements of `CORE`, and every list that
is one element of `TAIL` longer than a selected one. Each seats the whole treebank by itself, and predicts the
sentences of a sample while they are removed. From then on a pool of candidates is a matter of weights: in
each round the candidate joins the pool, or takes the place of the shorter list that it extends, that makes
the sample most likely once all weights are fitted.
"""

import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from ..annotation.arrays import Sentences
from ..arc_standard.contexts import NEXT_OF, compile_contexts
from ..arc_standard.distributions import DISTRIBUTIONS
from ..arc_standard.events import observe, static_derivations
from ..hpyp.leave_one_out import leave_one_out, seat_observations
from ..models.joint_model import JointModel
from ..pools.fitting import ExpertPredictions, added_gains, fit_weights

Expert = tuple[str, ...]

#: What the lists of two elements are made of.
CORE = (
    *("s1.tag", "s1.word", "s2.tag", "s2.word", "s3.tag", "w1.tag", "w1.word", "w2.tag"),
    *("s1.left.label", "s1.right.label", "s2.left.label", "s2.right.label"),
)
#: What a selected list is extended by.
TAIL = (
    *CORE,
    *(
        "s1.left.tag",
        "s1.left.word",
        "s1.right.tag",
        "s1.right.word",
        "s2.left.tag",
        "s2.right.tag",
        "s2.right.word",
    ),
    *("s1.left.count", "s1.right.count", "s2.right.count", "s1.distance", "s2.distance", "depth", "action"),
    *("s3.word", "s4.tag", "w2.word", "w3.tag"),
)
#: What they are extended by besides where there are classes of words.
CLASSES = tuple(
    f"{word}.{attribute}" for word in ("s1", "s2", "w1", "w2") for attribute in ("class:8", "class")
)
#: The most elements that a list is extended to; a config's own lists may be longer.
LONGEST = 5

# How many candidates are kept from round to round, and how many of these are tried with all weights fitted.
_KEPT = 60
_TRIED = 5
# The weight of a candidate, relative to the others', before its weights in a mixture are fitted.
_FIRST_IN_MIXTURE = -2.0


def _given(distribution: str) -> Expert:
    """What every list of a distribution begins with."""
    return (NEXT_OF[distribution],) if distribution in NEXT_OF else ()


def first_candidates(distribution: str, experts: Iterable[Sequence[str]]) -> list[Expert]:
    """The candidates of the first round.

    experts (Iterable[Sequence[str]]): Context lists to consider besides those of two elements of `CORE`.
    """
    given = _given(distribution)
    pairs = [(*given, *pair) for pair in permutations(CORE, 2)]
    return list(dict.fromkeys([*map(tuple, experts), *pairs]))


def extensions(expert: Expert, tail: Sequence[str] = TAIL) -> list[Expert]:
    """The candidates that a selected expert adds: one element longer, of `TAIL` if nothing else is said."""
    if len(expert) >= LONGEST:
        return []
    return [(*expert, element) for element in tail if element not in expert]


@dataclass(frozen=True)
class Step:
    """What one round of the selection did.

    expert (Expert): Who joined the pool.
    instead_of (Expert | None): The shorter list whose place it took, if it did.
    log_likelihood (float): Of the pool from then on: leave-one-out, in nats for each event.
    """

    expert: Expert
    instead_of: Expert | None
    log_likelihood: float


@dataclass
class Selection:
    """The experts selected for one distribution.

    own_log_likelihood (float): Of the model's own pool: leave-one-out, in nats for each event, as that of
        each step.
    events (int): How many events were predicted.
    experts (list[Expert]): The pool, in the order in which the experts or what they extend were selected.
    weights (float64[experts, depths]): Of the pool.
    candidates (list[Expert]): Those that are still in the running, the pool's own among them.
    """

    distribution: str
    own_log_likelihood: float
    events: int
    experts: list[Expert] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    considered: int = 0
    weights: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)), compare=False)
    candidates: list[Expert] = field(default_factory=list)

    @property
    def log_likelihood(self) -> float:
        """Of the pool: leave-one-out, in nats for each event; minus infinity if it has no expert yet."""
        return self.steps[-1].log_likelihood if self.steps else -np.inf

    def to_dict(self) -> dict[str, Any]:
        """What `from_dict` takes, in types that JSON has."""
        return {**asdict(self), "weights": self.weights.tolist()}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "Selection":
        """A selection as it was.

        RAISES (KeyError | TypeError | ValueError): If that is none.
        """
        steps = [
            Step(
                tuple(step["expert"]),
                step["instead_of"] and tuple(step["instead_of"]),
                float(step["log_likelihood"]),
            )
            for step in stored["steps"]
        ]
        experts, candidates = (
            [tuple(map(str, each)) for each in stored[name]] for name in ("experts", "candidates")
        )
        weights = np.array(stored["weights"], dtype=np.float64).reshape(len(experts), -1 if experts else 0)
        found = cls(
            **{**stored, "steps": steps, "experts": experts, "candidates": candidates, "weights": weights}
        )
        if not set(experts) <= set(candidates) or bool(steps) != bool(experts):
            raise ValueError("The pool of a selection is not one of its candidates.")
        return found


def select_experts(
    model: JointModel,
    sentences: Sentences,
    distribution: str,
    *,
    max_experts: int,
    min_gain: float = 0.0005,
    sample: int = 1000,
    seed: int = 0,
    threads: int = 1,
    begun: Selection | None = None,
    report: Callable[[Selection], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Selection:
    """Select the experts of one distribution for a treebank.

    model (JointModel): Initialised for the treebank; its own experts are the first candidates. It is not
        changed.
    sentences (Sentences): The treebank: projective trees.
    max_experts (int): The most experts that a pool may have, at least 1.
    min_gain (float): What a round has to add to the log-likelihood, in nats for each word of the sample,
        above 0.
    sample (int): How many sentences, drawn at random, are left out in turn to be predicted; all if there are
        fewer.
    begun (Selection | None): A selection with the same settings that `report` was called with, to go on from:
        what comes out is the same.
    report (Callable | None): Called with the selection so far, at the beginning and after each step.
    progress (Callable | None): Called with how many of the new candidates have been seated, and how many
        there are.
    RAISES (ValueError): If a setting is out of range, the model does not generate the distribution, or
        nothing happens in it.
    """
    if max_experts < 1 or sample < 1 or not 0.0 < min_gain < np.inf:
        raise ValueError("'max_experts' and 'sample' must be at least 1 and 'min_gain' a number above 0.")
    own = list(model.conditionals[distribution].experts)
    if not own:
        raise ValueError(f"The model has no context lists for the {distribution} distribution.")
    first, tail = first_candidates(distribution, own), TAIL + CLASSES if model.is_classed else TAIL
    bank = _Bank(
        model,
        sentences,
        distribution,
        max(len(first), max_experts + _KEPT) + len(tail),
        tail,
        sample,
        seed,
        threads,
    )
    if begun is None:
        bank.add(first, progress)
        selection = Selection(
            distribution, bank.fit(own)[1], bank.events, weights=bank.no_weights, candidates=first
        )
        selection.considered = bank.considered
    else:
        selection = replace(begun, weights=begun.weights if begun.experts else bank.no_weights)
        bank.add(begun.candidates, progress)
        bank.considered = begun.considered
    if report is not None:
        report(selection)
    gain = min_gain * bank.words / bank.events
    while True:
        pool, weights, enough = selection.experts, selection.weights, selection.log_likelihood + gain
        full = len(pool) >= max_experts
        candidates = [
            expert for expert in bank.slots if expert not in pool and (not full or expert[:-1] in pool)
        ]
        gains = bank.gains(pool, weights, candidates)
        order = np.argsort(-gains, kind="stable")
        tried = [candidates[number] for number in order[:_TRIED]]
        joined = bank.each(partial(_join, bank, pool, weights, enough=enough, full=full), tried)
        # Of equals, the first.
        best = max(range(len(tried)), key=lambda number: joined[number][0], default=None)
        if best is None or joined[best][0] < enough:
            return selection
        expert, (value, experts, weights) = tried[best], joined[best]
        instead_of = next((other for other in pool if other not in experts), None)
        bank.keep({*experts, *(candidates[number] for number in order[:_KEPT])})
        new = [other for other in extensions(expert, tail) if other not in bank.slots]
        selection = replace(
            selection,
            experts=experts,
            steps=[*selection.steps, Step(expert, instead_of, value)],
            considered=bank.considered + len(new),
            weights=weights,
            candidates=[*bank.slots, *new],
        )
        if report is not None:
            report(selection)
        bank.add(new, progress)


def _join(
    bank: "_Bank", pool: list[Expert], weights: np.ndarray, expert: Expert, *, enough: float, full: bool
) -> tuple[float, list[Expert], np.ndarray]:
    """A pool with one more expert, in the place of the list that it extends where that is good enough or the
    pool is full; with its likelihood.
    """
    if expert[:-1] in pool:
        replaced = [expert if other == expert[:-1] else other for other in pool]
        fitted, value = bank.fit(replaced, weights)
        if value >= enough or full:
            return value, replaced, fitted
    fitted, value = bank.fit([*pool, expert], np.vstack([weights, bank.first_weights]))
    return value, [*pool, expert], fitted


class _Bank:
    """The leave-one-out predictions of all candidates that are still in the running."""

    def __init__(
        self,
        model: JointModel,
        sentences: Sentences,
        distribution: str,
        capacity: int,
        tail: Sequence[str],
        sample: int,
        seed: int,
        threads: int,
    ) -> None:
        conditional = model.conditionals[distribution]
        own = list(conditional.experts)
        names = dict.fromkeys([*_given(distribution), *tail, *(name for expert in own for name in expert)])
        self._column = {name: number for number, name in enumerate(names)}
        elements = model.reading(compile_contexts([list(names)], distribution)[0])
        alphabet = model.sizes[distribution]
        possible = conditional.possible
        if len(possible) == 0:
            possible = np.ones((1, alphabet), dtype=np.bool_)
        number = DISTRIBUTIONS.index(distribution)
        generated = model.generated(distribution, sentences, static_derivations(sentences))
        self._observations = observe(generated, elements, possible)
        groups = len(sentences.offsets) - 1
        rng = np.random.default_rng([seed, number])
        self._groups = np.sort(rng.choice(groups, min(sample, groups), replace=False))
        offsets = self._observations.offsets
        self._sampled = np.concatenate([np.arange(offsets[g], offsets[g + 1]) for g in self._groups])
        self.events = len(self._sampled)
        self.words = int(np.diff(sentences.offsets)[self._groups].sum())
        if self.events == 0:
            raise ValueError(f"There is no event of the {distribution} distribution in the training data.")
        self._mixed = conditional.mixed
        self._one_table, self._seed, self._threads = model.one_table, seed, threads
        self._depths = max(LONGEST, *map(len, own)) + 1
        #: The weights of a pool without experts, and those of an expert that joins a pool, to be fitted.
        self.no_weights = np.zeros((0, self._depths))
        self.first_weights = np.full((1, self._depths), _FIRST_IN_MIXTURE if self._mixed else 0.0)
        width = 1 if self._mixed else alphabet
        self._predictions = ExpertPredictions(
            np.empty((capacity, self.events, width), dtype=np.float32),
            np.zeros((capacity, self.events), dtype=np.int8),
            self._observations.dish[self._sampled],
            self._observations.kind[self._sampled],
            possible,
        )
        self._free = list(range(capacity))[::-1]
        #: Where the predictions of each candidate are.
        self.slots: dict[Expert, int] = {}
        self.considered = 0

    def add(self, experts: list[Expert], progress: Callable[[int, int], None] | None = None) -> None:
        """Predict with more candidates."""
        new = [expert for expert in experts if expert not in self.slots]
        for expert in new:
            self.slots[expert] = self._free.pop()
        self.considered += len(new)
        self.each(self._predict, new, progress)

    def each(
        self, call: Callable, arguments: list[Any], progress: Callable[[int, int], None] | None = None
    ) -> list[Any]:
        """What a function gives for each of several arguments, in several threads; after an interruption no
        other begins.
        """
        found = []
        with ThreadPoolExecutor(self._threads) as threads:
            for result in threads.map(call, arguments):
                found.append(result)
                if progress is not None:
                    progress(len(found), len(arguments))
        return found

    def _predict(self, expert: Expert) -> None:
        # The random numbers of a candidate do not depend on what else is considered.
        rng = np.random.default_rng([self._seed, zlib.crc32(" ".join(expert).encode())])
        columns = [self._column[name] for name in expert]
        franchise = seat_observations(self._observations, columns, rng, one_table=self._one_table)
        found, depth = leave_one_out(franchise, self._observations, self._groups, rng, whole=not self._mixed)
        self._predictions.log_probability[self.slots[expert]] = found
        self._predictions.depth[self.slots[expert]] = depth

    def keep(self, experts: set[Expert]) -> None:
        """Forget all candidates but some."""
        for expert in [expert for expert in self.slots if expert not in experts]:
            self._free.append(self.slots.pop(expert))

    def fit(self, pool: list[Expert], weights: np.ndarray | None = None) -> tuple[np.ndarray, float]:
        """The weights of a pool and its log-likelihood, see `fit_weights`."""
        if weights is None:
            weights = np.full((len(pool), self._depths), 0.0 if self._mixed else 1.0 / len(pool))
        return fit_weights(self._predictions, self._places(pool), weights, mixed=self._mixed)

    def gains(self, pool: list[Expert], weights: np.ndarray, candidates: list[Expert]) -> np.ndarray:
        """What each candidate would add, see `added_gains`."""
        return added_gains(
            self._predictions, self._places(pool), weights, self._places(candidates), mixed=self._mixed
        )

    def _places(self, experts: list[Expert]) -> np.ndarray:
        return np.array([self.slots[expert] for expert in experts], dtype=np.int64)
