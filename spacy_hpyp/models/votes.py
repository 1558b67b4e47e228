"""Votes of several parsers on the heads, labels and tags of words, each with the weight that it has earned
(Sagae & Lavie 2006).

Voters who agree make up a group. How probable it is that a group is right, and that none is, is learned by
multinomial logistic
regression: of a group's features, which are those of its members and of who agrees with whom, the exponential
is the odds of its being right against that of none. So the probabilities of a word's groups and of none of
them sum to one. Weights have a normal prior; what is maximised is concave. Its variance is chosen by words
that are left out.

The registered architecture is that of what is learned about voters.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model

from ..annotation.arrays import is_projective
from ..annotation.ballots import ABSENT, Ballots, Gold, Names, read_ballots
from ..annotation.confidence import fit_confidence, log_odds, logistic
from ..annotation.documents import ROOT_LABEL
from ..compiled import NONE
from ..head_outward.chart import minimum_bayes_risk_tree
from ..inference.spanning_tree import maximum_spanning_tree
from ..newton import maximize
from ..storage.schema import Message, different_names, group, part
from .guard import Guard
from .stored import StoredModel, model_holding

#: The attribute of a thinc Model that holds `Votes`.
VOTES = "votes"

# How sure weights may be to be 0, in tokens: what is best for words that are left out, stretches of so many
# in one of so many parts.
_PRIORS = (256.0, 64.0, 16.0, 4.0, 1.0)
_STRETCH, _PARTS = 500, 5
_CLOSE = 1e-5
_HIGHEST = 100.0
# How many rows of features are looked at together.
_ROWS = 20_000
# What is known of an arc besides its tags and its label, see `_arc_numbers`; and of the label of an arc and
# of a tag.
_ARC, _LABEL, _TAG = 7, 4, 3
# The weights that leave the votes of the arcs of a tree as they are.
_AS_VOTED = np.array([0.0, 1.0])
_NAMES = group(**{name: different_names(name) for name in ("voters", "tags", "labels")})


class Result(NamedTuple):
    """What was elected.

    heads (int32[words]): Positions in the sentence, `NONE` for roots.
    labels, tags (int32[words]): Numbers; a label is `ABSENT` if no voter has said one that the arc can have,
        a tag if there is none.
    head_probability, tag_probability (float64[words]): How probable it is that they are right.
    """

    heads: np.ndarray
    labels: np.ndarray
    tags: np.ndarray
    head_probability: np.ndarray
    tag_probability: np.ndarray


class Groups(NamedTuple):
    """Voters who say the same of a word.

    word (int64[groups]): Which word, in order.
    choice (int32[groups]): What they say.
    features (float64[groups, m]): What is known about it.
    """

    word: np.ndarray
    choice: np.ndarray
    features: np.ndarray


def group_voters(
    choice: np.ndarray, numbers: np.ndarray, categories: Sequence[tuple[np.ndarray, int]]
) -> Groups:
    """Groups of voters, with a feature for each voter and number, voter and category, and pair of voters.

    choice (int32[words, voters]): What each says; `ABSENT` is nothing.
    numbers (float64[words, voters, k]): What is known of it.
    categories (Sequence[tuple[int64[words, voters], int]]): Which of so many it is; what is none of them is
        left out.
    """
    words, voters = choice.shape
    present = choice != ABSENT
    first = (choice[:, :, None] == choice[:, None, :]).argmax(axis=2)
    begins = present & (first == np.arange(voters))
    row = np.take_along_axis((np.cumsum(begins.ravel()) - 1).reshape(words, voters), first, axis=1)
    features = np.zeros(
        (int(begins.sum()), number_of_features(voters, numbers.shape[2], [n for _, n in categories]))
    )
    column = 0
    for v in range(voters):
        own = np.flatnonzero(present[:, v])
        features[row[own, v], column : column + numbers.shape[2]] = numbers[own, v]
        column += numbers.shape[2]
        for category, n in categories:
            known = own[(category[own, v] >= 0) & (category[own, v] < n)]
            features[row[known, v], column + category[known, v]] = 1.0
            column += n
        for u in range(v):
            agree = own[choice[own, u] == choice[own, v]]
            features[row[agree, v], column] = 1.0
            column += 1
    return Groups(np.nonzero(begins)[0], choice[begins], features)


def number_of_features(voters: int, numbers: int, categories: Sequence[int]) -> int:
    """How many features groups have, see `group_voters`."""
    return voters * (numbers + sum(categories)) + voters * (voters - 1) // 2


def shares(groups: Groups, weights: np.ndarray, *, or_none: bool = True) -> np.ndarray:
    """How probable it is that each group is right (float64[groups]). What is left of a word's is that none
    is, if that may be.
    """
    return np.exp(_log_shares(groups, weights, or_none=or_none)[1])


def _log_shares(
    groups: Groups, weights: np.ndarray, *, or_none: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which word each group is of, without those that have none; the logs of `shares`; and that none of a
    word's groups is right.
    """
    score = groups.features @ weights
    _, place = np.unique(groups.word, return_inverse=True)
    highest = np.full(int(place.max(initial=-1)) + 1, 0.0 if or_none else -np.inf)
    np.maximum.at(highest, place, score)
    odds = np.bincount(place, np.exp(score - highest[place]), minlength=len(highest))
    total = highest + np.log(odds + (np.exp(-highest) if or_none else 0.0))
    return place, score - total[place], -total


def learn_votes(groups: Groups, right: np.ndarray) -> np.ndarray:
    """Fit weights by penalised maximum likelihood; the penalty is the one with which words that are left out
    are most probable.

    groups (Groups): Of words whose right choice is known.
    right (bool[groups]): Whether they are right; one of a word's is, or none.
    RETURNS (float64[m]): The weights.
    """
    weights = np.zeros(groups.features.shape[1])
    out = groups.word // _STRETCH % _PARTS == _PARTS - 1
    prior = _PRIORS[0]
    if out.any() and not out.all():
        inside, outside = _some(groups, ~out), _some(groups, out)
        found = []
        for candidate in _PRIORS:
            weights = fit(inside, right[~out], weights, candidate)
            found.append(log_likelihood(outside, right[out], weights))
        prior = _PRIORS[int(np.argmax(found))]
    return fit(groups, right, weights, prior)


def _some(groups: Groups, chosen: np.ndarray) -> Groups:
    return Groups(groups.word[chosen], groups.choice[chosen], groups.features[chosen])


def fit(
    groups: Groups,
    right: np.ndarray,
    weights: np.ndarray,
    prior: float,
    *,
    or_none: bool = True,
    highest: float = _HIGHEST,
    close: float = _CLOSE,
) -> np.ndarray:
    """Fit weights by penalised maximum likelihood, with Newton's method.

    groups, right: As for `learn_votes`; where several are right, the part that each has of that
    (float64[groups]).
    weights (float64[m]): Where to begin.
    prior (float): How sure they are to be 0: the inverse of a variance.
    or_none (bool): Whether it may be that none of a word's is right.
    highest, close (float): See `maximize`.
    RETURNS (float64[m]): The weights.
    """
    starts = np.flatnonzero(np.diff(groups.word, prepend=-1))
    ends = np.append(starts, len(groups.word))
    bounds = [*range(0, len(starts), _ROWS), len(starts)]

    def objective(weights: np.ndarray) -> float:
        return log_likelihood(groups, right, weights, or_none=or_none) - 0.5 * prior * float(
            weights @ weights
        )

    def derivatives(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        share, information = shares(groups, weights, or_none=or_none), prior * np.eye(len(weights))
        for begin, end in zip(bounds, bounds[1:]):
            rows = slice(ends[begin], ends[end])
            weighted = groups.features[rows] * share[rows, None]
            mean = np.add.reduceat(weighted, starts[begin:end] - starts[begin], axis=0)
            information += weighted.T @ groups.features[rows] - mean.T @ mean
        return groups.features.T @ (right - share) - prior * weights, information

    return maximize(objective, derivatives, weights, highest=highest, close=close)


def log_likelihood(groups: Groups, right: np.ndarray, weights: np.ndarray, *, or_none: bool = True) -> float:
    """The log-probability of what is right, in nats; the arguments are those of `fit`."""
    place, log_share, log_none = _log_shares(groups, weights, or_none=or_none)
    failed = np.bincount(place, right, minlength=len(log_none)) == 0.0
    return float(right @ log_share + (log_none[failed].sum() if or_none else 0.0))


class Votes(StoredModel):
    """What has been learned about some voters.

    tags, labels (Sequence[str]): What it was learned for; others have no features of their own.
    weights (Mapping[str, float64[*]] | None): For heads, labels and tags; 0 without them.
    RAISES (ValueError): If there is a wrong number of weights.
    """

    def __init__(
        self,
        voters: Sequence[str],
        tags: Sequence[str],
        labels: Sequence[str],
        weights: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self.guard = Guard()
        self._use(voters, tags, labels, weights)

    def _use(
        self, voters: Sequence[str], tags: Sequence[str], labels: Sequence[str], weights: Any = None
    ) -> None:
        self.voters, self.tags, self.labels = list(voters), list(tags), list(labels)
        v, t, n = len(self.voters), len(self.tags), len(self.labels)
        sizes = {
            "heads": number_of_features(v, _ARC, [t, t, n]),
            "labels": number_of_features(v, _LABEL, [n, n, t]),
            "tags": number_of_features(v, _TAG, [t]),
        }
        unlearned = {name: np.zeros(size) for name, size in sizes.items()} | {"elected": _AS_VOTED}
        self.weights = unlearned if weights is None else dict(weights)
        for name, each in unlearned.items():
            if self.weights[name].shape != each.shape or not np.all(np.abs(self.weights[name]) <= _HIGHEST):
                raise ValueError("the weights of its votes are damaged")

    def _forget(self) -> None:
        self._use(self.voters, [], [])

    def _write(self) -> Message:
        weights = {name: np.asarray(each, dtype="<f8").tobytes() for name, each in self.weights.items()}
        return {**_NAMES.write(vars(self)), "weights": weights}

    def _read(self, message: Message) -> None:
        stored, weights = part(message, "weights", dict), {}
        for name in self.weights:
            if len(part(stored, name, bytes)) % 8:
                raise ValueError("the weights of its votes are damaged")
            weights[name] = np.frombuffer(stored[name], dtype="<f8").astype(np.float64)
        self._use(**_NAMES.read(message, {}), weights=weights)

    @property
    def are_learned(self) -> bool:
        """Whether what votes are worth has been learned."""
        return not np.array_equal(self.weights["elected"], _AS_VOTED)

    def learn(
        self, ballots: Ballots, gold: Gold, *, longest: int, root: int, kept: int | None = None
    ) -> None:
        """Learn from words whose annotation is known.

        longest (int), kept (int | None): See `elect`.
        """
        tags = self._tag_groups(ballots)
        self.weights["tags"] = _learn_known(tags, gold.tags)
        chosen_tags, _ = _best(tags, self.weights["tags"], len(gold.tags))
        heads = self._head_groups(ballots, chosen_tags)
        self.weights["heads"] = _learn_known(heads, gold.heads)
        elected, voted = self._elect(heads, ballots, longest, kept)
        # That the others make a tree, too, says something about an arc that its own votes do not.
        known = gold.heads != ABSENT
        right = elected[known] == gold.heads[known]
        self.weights["elected"] = fit_confidence(_of_votes(voted[known]), right, _AS_VOTED)
        if kept is not None:
            return
        labels = self._label_groups(ballots, chosen_tags, elected, root)
        # A label counts where the head is right; and where it is not, the right label is another head's.
        counted = (elected == gold.heads) & (elected != NONE)
        right = np.where(counted, gold.labels, ABSENT)
        self.weights["labels"] = _learn_known(labels, right)

    def loss(self, ballots: Ballots, gold: Gold) -> float:
        """Minus the mean log-probability of what is right about heads, in nats.

        ballots, gold (Ballots, Gold): Of words whose annotation is known.
        """
        tags, _ = _best(self._tag_groups(ballots), self.weights["tags"], len(gold.tags))
        groups, right = _known(self._head_groups(ballots, tags), gold.heads)
        return -log_likelihood(groups, right, self.weights["heads"]) / max(1, len(np.unique(groups.word)))

    def elect(self, ballots: Ballots, *, longest: int, root: int, kept: int | None = None) -> Result:
        """Find the best trees, labels and tags.

        longest (int): Of sentences of no more words the projective tree with the most votes is found. Of
            longer ones it is any tree of arcs that have votes, arcs between neighbours and arcs of the root;
            0: of all of them.
        root (int): The label of roots.
        kept (int | None): The voter whose trees and labels are to stay, if one's are: only how probable they
            are is asked.
        """
        words = len(ballots.heads)
        tags, tag_probability = _best(self._tag_groups(ballots), self.weights["tags"], words)
        heads, head_probability = self._elect(self._head_groups(ballots, tags), ballots, longest, kept)
        if kept is None:
            labels, _ = _best(self._label_groups(ballots, tags, heads, root), self.weights["labels"], words)
            labels[heads == NONE] = root
        else:
            labels = ballots.labels[:, kept]
        sure = logistic(_of_votes(head_probability) @ self.weights["elected"])
        return Result(heads, labels, tags, sure, tag_probability)

    def _elect(
        self, groups: Groups, ballots: Ballots, longest: int, kept: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        share, offsets = shares(groups, self.weights["heads"]), ballots.offsets
        if kept is not None:
            heads, probability = ballots.heads[:, kept], np.zeros(len(ballots.heads))
            own = groups.choice == heads[groups.word]
            probability[groups.word[own]] = share[own]
            return heads, probability
        bounds = np.searchsorted(groups.word, offsets)
        heads, probability = np.empty(offsets[-1], dtype=np.int32), np.empty(offsets[-1])
        for i, (start, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist())):
            own, n = slice(bounds[i], bounds[i + 1]), end - start
            voted = groups.word[own] - start, groups.choice[own], share[own]
            if n <= longest:
                matrix = vote_matrix(*voted, n)
                found = _best_projective_tree(matrix)
                heads[start:end] = found
                probability[start:end] = matrix[np.where(found == NONE, np.arange(n), found), np.arange(n)]
            else:
                # Other arcs without votes have less than these.
                word, head, votes = vote_arcs(*voted, n, reach=1)
                chosen = maximum_spanning_tree(head, word, votes)
                heads[start:end], probability[start:end] = head[chosen], votes[chosen]
        return heads, probability

    def _tag_groups(self, ballots: Ballots) -> Groups:
        numbers = _log_odds(ballots.tag_probability)
        return group_voters(ballots.tags, numbers, [(ballots.tags, len(self.tags))])

    def _head_groups(self, ballots: Ballots, tags: np.ndarray) -> Groups:
        heads = ballots.heads
        starts = np.repeat(ballots.offsets[:-1], np.diff(ballots.offsets))[:, None]
        place = np.where(heads >= 0, heads + starts, 0)
        own_tags = np.broadcast_to(tags[:, None], heads.shape)
        head_tags = np.where(heads >= 0, tags[place], ABSENT)
        numbers = _arc_numbers(ballots, starts)
        categories = [
            (own_tags, len(self.tags)),
            (head_tags, len(self.tags)),
            (ballots.labels, len(self.labels)),
        ]
        return group_voters(heads, numbers, categories)

    def _label_groups(self, ballots: Ballots, tags: np.ndarray, heads: np.ndarray, root: int) -> Groups:
        choice = np.where((heads[:, None] == NONE) | (ballots.labels == root), ABSENT, ballots.labels)
        agrees = ballots.heads == heads[:, None]
        numbers = np.concatenate(
            [agrees[:, :, None], _log_odds(ballots.head_probability) * agrees[:, :, None]], axis=2
        )
        own_tags = np.broadcast_to(tags[:, None], choice.shape)
        n = len(self.labels)
        return group_voters(
            choice,
            numbers,
            [(np.where(agrees, choice, n), n), (np.where(agrees, n, choice), n), (own_tags, len(self.tags))],
        )


def _best_projective_tree(matrix: np.ndarray) -> np.ndarray:
    """The heads of the projective tree with the most votes (int32[n])."""
    best = matrix.argmax(axis=0)
    heads = np.where(best == np.arange(len(best)), NONE, best).astype(np.int32)
    # In most sentences, the best head of each word makes a tree, and no tree has more votes.
    return heads if is_projective(heads) else minimum_bayes_risk_tree(matrix)[0]


def vote_matrix(word: np.ndarray, head: np.ndarray, share: np.ndarray, n: int) -> np.ndarray:
    """The votes for all arcs of a sentence, see `vote_arcs`.

    RETURNS (float64[n, n]): At h, d: that h is the head of d; at d, d: that d is the root. Each column sums
        to 1, if there is an arc without votes.
    """
    word, head, votes = vote_arcs(word, head, share, n, reach=n - 1)
    matrix = np.zeros((n, n))
    matrix[np.where(head == NONE, word, head), word] = votes
    return matrix


def vote_arcs(
    word: np.ndarray, head: np.ndarray, share: np.ndarray, n: int, *, reach: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The votes for arcs of a sentence of n words.

    Where none of the groups is right, the other heads share what is left, near ones more than distant ones.

    word, head (int[groups]): The arcs with votes; the head is `NONE` for roots.
    share (float64[groups]): Their probabilities.
    reach (int): How many words away heads may be that have no votes.
    RETURNS (tuple[int64[arcs], int64[arcs], float64[arcs]]): Words, heads and votes: first those with votes,
        then others.
    """
    words = np.arange(n)
    # What an arc over so many words has of what is left; a root's counts for one over all.
    part = 1.0 / (1.0 + np.arange(n + 1))
    both_sides = np.cumsum(part) - part[0]
    with_votes = np.bincount(word, part[np.where(head == NONE, n, np.abs(head - word))], minlength=n)
    total = both_sides[words] + both_sides[::-1][1:] + part[n] - with_votes
    left = np.clip(1.0 - np.bincount(word, share, minlength=n), 0.0, 1.0)
    # A row for each word, and in it a head for each distance; in the middle, in the place of the word itself,
    # the root.
    heads = words[:, None] + np.arange(-reach, reach + 1)
    is_new = (heads >= 0) & (heads < n)
    heads[:, reach] = NONE
    column = np.where(head == NONE, 0, head - word) + reach
    near = (column >= 0) & (column <= 2 * reach)
    is_new[word[near], column[near]] = False
    others, column = np.nonzero(is_new)
    distance = np.where(column == reach, n, np.abs(column - reach))
    votes = (left / np.where(total > 0.0, total, 1.0))[others] * part[distance]
    return (
        np.concatenate([word, others]),
        np.concatenate([head, heads[others, column]]),
        np.concatenate([share, votes]),
    )


def _known(groups: Groups, gold: np.ndarray) -> tuple[Groups, np.ndarray]:
    """The groups of words of which is known what is right, and whether they are."""
    known = gold[groups.word] != ABSENT
    groups = _some(groups, known)
    return groups, groups.choice == gold[groups.word]


def _learn_known(groups: Groups, gold: np.ndarray) -> np.ndarray:
    return learn_votes(*_known(groups, gold))


def _best(groups: Groups, weights: np.ndarray, words: int) -> tuple[np.ndarray, np.ndarray]:
    """The choice of each word's most probable group and its probability; `ABSENT` and 0 where there is none."""
    share = shares(groups, weights)
    # What is written last stays; of equal ones, that is the first group.
    order = np.lexsort((-np.arange(len(share)), share))
    choice, probability = np.full(words, ABSENT, dtype=np.int32), np.zeros(words)
    choice[groups.word[order]] = groups.choice[order]
    probability[groups.word[order]] = share[order]
    return choice, probability


def _of_votes(probability: np.ndarray) -> np.ndarray:
    """What confidence in elected arcs is learned from: 1, and the log-odds of their votes (float64[words,
    2]).
    """
    return _log_odds(probability)[:, :2]


def _log_odds(probability: np.ndarray) -> np.ndarray:
    """1; log-odds, 0 where a voter does not say how sure it is; and whether it does (float64[words, ..., 3])."""
    known = ~np.isnan(probability)
    return np.stack([np.ones(known.shape), log_odds(np.where(known, probability, 0.5)), known], axis=-1)


def _arc_numbers(ballots: Ballots, starts: np.ndarray) -> np.ndarray:
    """`_log_odds`; log(1 + the length of the arc); whether it goes to the left; is a root's; joins
    neighbours.
    """
    position = np.arange(len(ballots.heads))[:, None] - starts
    is_root = ballots.heads == NONE
    length = np.where(is_root, 0, ballots.heads - position)
    more = [np.log1p(np.abs(length)), length < 0, is_root, np.abs(length) == 1]
    return np.concatenate([_log_odds(ballots.head_probability), np.stack(more, axis=2)], axis=2)


@registry.architectures("spacy-hpyp.ParseVotes.v1")
def ParseVotes(voters: Sequence[str]) -> Model[list[Doc], Result]:
    """What is learned about voters (multinomial logistic regression), as a thinc model.

    Its attribute `votes` holds names and weights; it has no parameters.

    voters (Sequence[str]): The names of their parses in `doc._.parses`, in the order of their say about
        sentence boundaries. Without any, they are those whose parses the pipeline keeps before the component,
        when it is initialized.
    RETURNS (Model): Takes Docs with parses and gives what was elected.
    RAISES (ValueError): If one is named twice.
    """
    if len(set(voters)) < len(voters):
        raise ValueError(f"A voter is named twice: {list(voters)}.")
    model = model_holding(Votes(voters, [], []), "parse_votes", VOTES, _elect)
    # In the order of files of earlier versions.
    model.attrs.update({"voters": list(voters), VOTES: model.attrs.pop(VOTES)})
    return model


def _elect(votes: Votes, docs: list[Doc]) -> Result:
    names = Names.known(votes.tags, votes.labels)
    ballots, _ = read_ballots(docs, votes.voters, names, last="", reader="parse_votes")
    return votes.elect(ballots, longest=0, root=names.labels.setdefault(ROOT_LABEL, len(names.labels)))
