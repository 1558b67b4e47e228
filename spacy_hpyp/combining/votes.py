"""Votes of several parsers on the heads, labels and tags of words (Sagae & Lavie 2006).

Voters that agree on a word form a group. The odds that a group is right, against no group being
right, are log-linear in features of its members: who they are, how sure they are, and who agrees
with whom. The weights are learned by penalised maximum likelihood.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from spacy.attrs import IS_SPACE
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model

from ..annotation.arrays import block_starts, is_projective
from ..annotation.confidence import log_odds, logistic
from ..annotation.encoding import Layout, layout_of
from ..annotation.guides import read_guide
from ..annotation.sentences import ROOT_LABEL
from ..annotation.user_data import KeptParse, current_parse, kept_parses
from ..compiled import NONE
from ..head_outward.chart import minimum_bayes_risk_tree
from ..stored import Message, StoredModel, model_holding
from .log_linear import Groups, fit, fit_confidence, log_likelihood, shares

#: The attribute of a thinc Model that holds `Votes`.
VOTES = "votes"
#: The choice of a voter that abstains; `NONE` is the head of a root.
ABSENT = -2

# The gold head of a word is in another sentence of the ballots: no voter can be right.
_OUTSIDE = -3
# The inverse variance of the weights' prior.
_PRIOR = 16.0
# Weights that leave the probabilities of elected arcs as they are.
_UNCALIBRATED = np.array([0.0, 1.0])
# Longer sentences keep the tree of the first voter: time grows with the cube of the length.
_LONGEST = 300


class Ballots(NamedTuple):
    """The choices of voters for the words of some sentences, `ABSENT` without a choice, and their
    own probabilities, or NaN.
    """

    heads: np.ndarray  # int32[words, voters]: positions in the sentence, `NONE` for roots
    labels: np.ndarray  # int32[words, voters]: numbers
    tags: np.ndarray  # int32[words, voters]: numbers
    head_probability: np.ndarray  # float64[words, voters]
    tag_probability: np.ndarray  # float64[words, voters]
    offsets: np.ndarray  # int64[sentences + 1]: where each sentence begins


class Names(NamedTuple):
    """Numbers of tags and labels by name; `cast` adds unknown ones."""

    tags: dict[str, int]
    labels: dict[str, int]


def parses_of(doc: Doc, voters: Sequence[str], *, reader: str) -> list[KeptParse]:
    """Return the parses of voters, by their names in `doc._.hpyp_parses`; if the last one is
    missing there, it is the current parse. A guide gives probabilities to voters that have none.

    reader (str): The name of the component, for errors.
    RAISES (ValueError): If a Doc with tokens lacks a parse, or its guide has another length.
    """
    parses, guide = kept_parses(doc), read_guide(doc)
    if voters and voters[-1] not in parses and doc.has_annotation("DEP"):
        parses[voters[-1]] = current_parse(doc)
    missing = [voter for voter in voters if voter not in parses]
    if missing and len(doc):
        raise ValueError(
            f"The component '{reader}' needs the parse of '{missing[0]}', but a document has only "
            f"{sorted(parses) or 'none'}. Put that parser, with a 'keep_parse' after it, before "
            f"'{reader}', and enable both."
        )
    found = [parses[voter] for voter in voters if voter in parses]
    for i, parse in enumerate(found if guide is not None else []):
        same = guide.heads == (np.arange(len(doc)) + parse.heads)[:, None]
        guided = np.where(same, guide.head_probs, 0.0).sum(axis=1)
        unknown = np.isnan(parse.head_prob)
        found[i] = parse._replace(head_prob=np.where(unknown, guided, parse.head_prob))
    return found


def cast(
    docs: Sequence[Doc], parses: Sequence[Sequence[KeptParse]], names: Names
) -> tuple[Ballots, Layout]:
    """Return the choices of voters for the words of Docs, without white space.

    parses (Sequence[Sequence[KeptParse]]): Of each Doc with tokens, those of all voters. Sentences
        are those of the first voter; heads in other sentences or without a label are `ABSENT`.
    """
    voters = max(map(len, parses), default=0)
    columns = [[np.empty((0, voters), dtype=kind) for kind in [np.int32] * 3 + [np.float64] * 2]]
    places: list[list[np.ndarray]] = [[] for _ in docs]
    for i, (doc, of_doc) in enumerate(zip(docs, parses)):
        token = np.flatnonzero(doc.to_array(IS_SPACE) == 0)
        if len(token):
            sentence = np.cumsum(of_doc[0].starts)[token]
            places[i] = np.split(token, np.flatnonzero(np.diff(sentence)) + 1)
            ballots = zip(*(_ballot(parse, token, sentence, names) for parse in of_doc))
            columns.append([np.column_stack(part) for part in ballots])
    layout = layout_of(places)
    return Ballots(*map(np.concatenate, zip(*columns)), layout.offsets), layout


def _ballot(
    parse: KeptParse, token: np.ndarray, sentence: np.ndarray, names: Names
) -> list[np.ndarray]:
    """Return the choices of a voter for the words at given tokens, in order of `Ballots`."""
    head = token + parse.heads[token]
    place = np.minimum(np.searchsorted(token, head), len(token) - 1)
    is_inside = (token[place] == head) & (sentence[place] == sentence)
    position = place - np.searchsorted(sentence, sentence)
    labels = _numbers(parse.labels, token, names.labels)
    heads = np.where(parse.heads[token] == 0, NONE, position)
    heads = np.where(is_inside & (labels != ABSENT), heads, ABSENT).astype(np.int32)
    tags = _numbers(parse.tags, token, names.tags)
    return [heads, labels, tags, parse.head_prob[token], parse.tag_prob[token]]


def _numbers(column: list[str], token: np.ndarray, known: dict[str, int]) -> np.ndarray:
    """Number the names at given tokens (int32[words]), `ABSENT` for ""; add new ones to `known`."""
    found = [column[i] for i in token.tolist()]
    return np.array(
        [known.setdefault(name, len(known)) if name else ABSENT for name in found], dtype=np.int32
    )


def group_voters(
    choice: np.ndarray, numbers: np.ndarray, categories: Sequence[tuple[np.ndarray, int]]
) -> Groups:
    """Group voters that agree. There are features of each voter with each number and category, and
    of each pair of voters.

    choice (int32[words, voters]), numbers (float64[words, voters, k]): Choices, or `ABSENT`, and
        their numeric features.
    categories (Sequence[tuple[int64[words, voters], int]]): A category of each choice, and the
        number of categories; values out of range have no feature.
    """
    words, voters = choice.shape
    present = choice != ABSENT
    first = (choice[:, :, None] == choice[:, None, :]).argmax(axis=2)
    begins = present & (first == np.arange(voters))
    row = np.take_along_axis((np.cumsum(begins.ravel()) - 1).reshape(words, voters), first, axis=1)
    size = voters * (numbers.shape[2] + sum(n for _, n in categories)) + voters * (voters - 1) // 2
    features = np.zeros((int(begins.sum()), size))
    column = 0
    for v in range(voters):
        voted = np.flatnonzero(present[:, v])
        features[row[voted, v], column : column + numbers.shape[2]] = numbers[voted, v]
        column += numbers.shape[2]
        for category, n in categories:
            known = voted[(category[voted, v] >= 0) & (category[voted, v] < n)]
            features[row[known, v], column + category[known, v]] = 1.0
            column += n
        for u in range(v):
            agree = voted[choice[voted, u] == choice[voted, v]]
            features[row[agree, v], column] = 1.0
            column += 1
    return Groups(np.nonzero(begins)[0], features, choice[begins])


class Votes(StoredModel):
    """Learned weights of voters, given by the names of their parses."""

    def __init__(self, voters: Sequence[str]) -> None:
        self.voters = list(voters)
        super().__init__()

    def _forget(self) -> None:
        self.use([], [])

    @property
    def is_initialized(self) -> bool:
        """Whether it has labels."""
        return bool(self.labels)

    def use(self, tags: Sequence[str], labels: Sequence[str], examples: int = 0) -> None:
        """Forget all weights, and take tags, labels (others will have no features), and the number
        of examples in a pass over the training data.
        """
        self.tags, self.labels, self.examples = list(tags), list(labels), examples
        self.weights = {"elected": _UNCALIBRATED}

    def _write(self) -> Message:
        names = "voters", "tags", "labels", "examples", "weights"
        return {name: getattr(self, name) for name in names}

    def _read(self, message: Message) -> None:
        self.voters = message["voters"]
        self.use(message["tags"], message["labels"], message["examples"])
        self.weights = message["weights"]

    def names(self) -> Names:
        """Number the tags and labels, "ROOT" among the latter."""
        labels = dict.fromkeys([*self.labels, ROOT_LABEL])
        return Names(*({name: i for i, name in enumerate(each)} for each in (self.tags, labels)))

    def learn(self, ballots: Ballots, *, rates: bool = False) -> None:
        """Learn from words, see `elect`. The last voter is the gold annotation."""
        self.elect(*_with_gold(ballots), rates=rates)

    def elect(
        self, ballots: Ballots, gold: Ballots | None = None, *, rates: bool = False
    ) -> Ballots:
        """Find the projective trees with the most votes, their labels, and tags.

        gold (Ballots | None): The gold annotation. With one, weights of tags, then heads, then
            labels are learned first.
        rates (bool): Whether to keep the heads of the first voter, and only rate them.
        RETURNS (Ballots): One choice for each word (int32[words], float64[words]).
        """
        words, known = len(ballots.heads), {} if gold is None else gold._asdict()
        tags, tag_probability = self._elect_tags(ballots, known)
        groups = self._head_groups(ballots, tags)
        votes = self._shares("heads", groups, known)
        heads, voted = self._elect_heads(groups, votes, ballots, rates=rates)
        odds = _log_odds(voted)[:, :2]
        if gold is not None:
            # An elected arc fits into a tree; its own votes do not reflect that.
            counted, right = gold.heads != ABSENT, heads == gold.heads
            self.weights["elected"] = fit_confidence(odds[counted], right[counted], _UNCALIBRATED)
            # The right label says nothing about an arc with a wrong head.
            known["labels"] = np.where(right & (heads != NONE), gold.labels, ABSENT)
        groups = self._label_groups(ballots, tags, heads)
        labels, _ = _best(groups, self._shares("labels", groups, known), words)
        labels[heads == NONE] = self.names().labels[ROOT_LABEL]
        calibrated = logistic(odds, self.weights["elected"])
        return Ballots(heads, labels, tags, calibrated, tag_probability, ballots.offsets)

    def loss(self, ballots: Ballots) -> tuple[float, int]:
        """Return minus the log-probability of gold heads in nats, and the number of voted words."""
        voters, gold = _with_gold(ballots)
        tags, _ = self._elect_tags(voters, {})
        groups, right = _known(self._head_groups(voters, tags), gold.heads)
        likelihood = log_likelihood(groups, right, self._weights_of("heads", groups))
        return -likelihood, len(np.unique(groups.word))

    def _shares(self, decision: str, groups: Groups, gold: dict[str, np.ndarray]) -> np.ndarray:
        """Return the shares of groups, by weights that are learned first from gold choices."""
        if decision in gold:
            self.weights[decision] = fit(*_known(groups, gold[decision]), _PRIOR)
        return shares(groups, self._weights_of(decision, groups))

    def _weights_of(self, decision: str, groups: Groups) -> np.ndarray:
        return self.weights.get(decision, np.zeros(groups.features.shape[1]))

    def _elect_tags(
        self, ballots: Ballots, gold: dict[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the tag of each word, and its probability."""
        odds = _log_odds(ballots.tag_probability)
        groups = group_voters(ballots.tags, odds, [(ballots.tags, len(self.tags))])
        return _best(groups, self._shares("tags", groups, gold), len(ballots.tags))

    def _elect_heads(
        self, groups: Groups, share: np.ndarray, ballots: Ballots, *, rates: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the head of each word in the projective tree with the greatest sum of votes, and
        the votes for it.
        """
        heads = np.where(ballots.heads[:, 0] == ABSENT, NONE, ballots.heads[:, 0])
        votes, backing = np.zeros(len(heads)), groups.choice == heads[groups.word]
        votes[groups.word[backing]] = share[backing]
        bounds = np.searchsorted(groups.word, ballots.offsets)
        sentences = zip(ballots.offsets, ballots.offsets[1:], bounds, bounds[1:])
        for start, end, first, last in () if rates else sentences:
            if end - start > _LONGEST:
                continue
            places, word = np.arange(end - start), groups.word[first:last] - start
            matrix = vote_matrix(word, groups.choice[first:last], share[first:last], len(places))
            best = matrix.argmax(axis=0)
            tree = np.where(best == places, NONE, best)
            # The best heads of all words mostly form a tree.
            if not is_projective(tree):
                tree, _ = minimum_bayes_risk_tree(matrix)
            heads[start:end] = tree
            votes[start:end] = matrix[np.where(tree == NONE, places, tree), places]
        return heads, votes

    def _head_groups(self, ballots: Ballots, tags: np.ndarray) -> Groups:
        heads, starts = ballots.heads, block_starts(ballots.offsets)[:, None]
        own_tags = np.broadcast_to(tags[:, None], heads.shape)
        head_tags = np.where(heads >= 0, tags[np.where(heads >= 0, heads + starts, 0)], ABSENT)
        is_root = heads == NONE
        length = np.where(is_root, 0, heads - np.arange(len(heads))[:, None] + starts)
        arcs = [np.log1p(np.abs(length)), length < 0, is_root, np.abs(length) == 1]
        numbers = np.concatenate([_log_odds(ballots.head_probability), np.stack(arcs, 2)], axis=2)
        t, n = len(self.tags), len(self.labels)
        return group_voters(heads, numbers, [(own_tags, t), (head_tags, t), (ballots.labels, n)])

    def _label_groups(self, ballots: Ballots, tags: np.ndarray, heads: np.ndarray) -> Groups:
        """Group labels by voters for the elected heads; where there are none, by all voters."""
        agrees = ballots.heads == heads[:, None]
        counted = agrees | ~agrees.any(axis=1, keepdims=True)
        is_label = (heads[:, None] != NONE) & (ballots.labels != self.names().labels[ROOT_LABEL])
        choice = np.where(counted & is_label, ballots.labels, ABSENT)
        own_tags = np.broadcast_to(tags[:, None], choice.shape)
        categories = [(choice, len(self.labels)), (own_tags, len(self.tags))]
        return group_voters(choice, _log_odds(ballots.head_probability), categories)


def _with_gold(ballots: Ballots) -> tuple[Ballots, Ballots]:
    """Divide ballots into those of the voters, and the gold annotation, the last of them."""
    voters = Ballots(*(column[:, :-1] for column in ballots[:-1]), ballots.offsets)
    gold = Ballots(*(column[:, -1] for column in ballots[:-1]), ballots.offsets)
    is_outside = (gold.heads == ABSENT) & (gold.labels != ABSENT)
    return voters, gold._replace(heads=np.where(is_outside, _OUTSIDE, gold.heads))


def _known(groups: Groups, gold: np.ndarray) -> tuple[Groups, np.ndarray]:
    """Return the groups of words with a gold choice (int32[words], `ABSENT` for none), and which
    are right.
    """
    known = Groups(*(column[gold[groups.word] != ABSENT] for column in groups))
    return known, known.choice == gold[known.word]


def vote_matrix(word: np.ndarray, head: np.ndarray, share: np.ndarray, n: int) -> np.ndarray:
    """Spread votes over all arcs of a sentence of n words.

    The probability that no group is right is shared by the other heads, near ones more than distant
    ones.

    word, head (int[groups]), share (float64[groups]): The arcs with votes, and their probabilities;
        the head is `NONE` for roots.
    RETURNS (float64[n, n]): At h, d: the vote for h as the head of d; at d, d: for d as the root.
        Each column sums to 1, if there is an arc without votes.
    """
    places = np.arange(n)
    distance = np.abs(places[:, None] - places)
    np.fill_diagonal(distance, n)
    matrix = 1.0 / (1.0 + distance)
    row = np.where(head == NONE, word, head)
    matrix[row, word] = 0.0
    total = matrix.sum(axis=0)
    left = np.clip(1.0 - np.bincount(word, share, minlength=n), 0.0, 1.0)
    matrix *= left / np.where(total > 0.0, total, 1.0)
    matrix[row, word] = share
    return matrix


def _best(groups: Groups, share: np.ndarray, words: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each word's most probable choice and its probability; `ABSENT` and 0 without any."""
    # The last write wins, which is the first of equally probable groups.
    order = np.lexsort((-np.arange(len(share)), share))
    choice, probability = np.full(words, ABSENT, dtype=np.int32), np.zeros(words)
    choice[groups.word[order]] = groups.choice[order]
    probability[groups.word[order]] = share[order]
    return choice, probability


def _log_odds(probability: np.ndarray) -> np.ndarray:
    """Return 1, the log-odds (0 if unknown), and if they are known (float64[words, ..., 3])."""
    known = ~np.isnan(probability)
    odds = log_odds(np.where(known, probability, 0.5))
    return np.stack([np.ones(known.shape), odds, known], axis=-1)


@registry.architectures("spacy-hpyp.ParseVotes.v1")
def ParseVotes(voters: Sequence[str]) -> Model[list[Doc], Ballots]:
    """Build a model of votes (multinomial logistic regression).

    Its attribute `votes` holds names and weights; it has no parameters.

    voters (Sequence[str]): The names of their parses in `doc._.hpyp_parses`; the first decides on
        sentence boundaries. If empty, initialization takes the parses that the pipeline keeps
        before the component, and the current one.
    RETURNS (Model): Takes Docs with kept parses and returns the elected trees.
    RAISES (ValueError): If a voter is named twice.
    """
    if len(set(voters)) < len(voters):
        raise ValueError(f"A voter is named twice: {list(voters)}.")
    model = model_holding(Votes(voters), "parse_votes", VOTES, _elect)
    model.attrs["voters"] = list(voters)
    return model


def _elect(votes: Votes, docs: list[Doc]) -> Ballots:
    parses = [parses_of(doc, votes.voters, reader="parse_votes") for doc in docs]
    return votes.elect(cast(docs, parses, votes.names())[0])
