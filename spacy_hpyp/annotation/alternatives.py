"""What else a text may be: the k best parses, and how probable each head, label and tag is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from spacy.tokens import Doc

from ..compiled import NONE
from .arrays import Posterior, Share
from .candidates import Candidates, write_candidates
from .documents import Encoder, Layout
from .extensions import forget_all
from .syntactic_words import words_as_tokens, write_back


@dataclass(frozen=True)
class Alternative:
    """A parse of a document.

    doc (Doc): A copy of the document with the parse, which is one of words: a token that is several has that
        of the highest. The attributes of its tokens that hold probabilities are None.
    log_prob (float): The log-probability of the words with their tags and trees in nats, summed over the
        derivations in the final beam that give this parse: a lower bound.
    """

    doc: Doc
    log_prob: float


@dataclass(frozen=True)
class ScoredParse:
    """A parse of a document by a model that gives no probabilities.

    doc (Doc): A copy of the document with the parse.
    score (float): Its score; only differences between parses of the same document mean anything.
    """

    doc: Doc
    score: float


@dataclass(frozen=True)
class Marginals:
    """Posterior probabilities of a document's words in the final beam. Rows are words, under a token or one,
    and white space, which has
    none: its rows are 0. Where no token is several words, they are tokens.

    heads (float64[words, words]): Of each word (row), the probability of each head (column); on the diagonal,
        of being a root.
    labels (float64[words, labels + 1]): Of each word, the probability of the label of its arc, whatever the
        head, in the order of `HPYPParser.label_data["labels"]`; the last column is the root's.
    tags (float64[words, tags]): Of each word, the probability of each tag, in the order of
        `label_data["tags"]`.

    Trees are those of the model: where an arc was lifted to make one projective (Nivre & Nilsson 2005), the
    head is the one that it was lifted to, and the label says so.
    """

    heads: np.ndarray
    labels: np.ndarray
    tags: np.ndarray


def distinct_parses(posterior: Posterior) -> list[tuple[float, int]]:
    """The parses of a final beam with their log-probabilities, the best first.

    RETURNS (list[tuple[float, int]]): For each distinct parse, the log of the sum over its derivations, and
        one of them.
    """
    rows = np.concatenate([posterior.heads, posterior.labels, posterior.tags], axis=1)
    _, first, parse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    sums = np.full(len(first), -np.inf)
    np.logaddexp.at(sums, parse.ravel(), posterior.log_weight)
    order = np.lexsort((first, -sums))
    return [(float(sums[i]), int(first[i])) for i in order]


def k_best(
    doc: Doc, candidates: Sequence[Candidates], k: int, *, with_tags: bool = False
) -> list[tuple[Doc, float]]:
    """The k best parses of a document whose sentences have been parsed one by one.

    candidates (Sequence[Candidates]): Of each sentence, trees of its words.
    k (int): How many.
    with_tags (bool): Whether their tags are written, too; else those of the document stay.
    RETURNS (list[tuple[Doc, float]]): Copies of the document with the sums of the scores, the best first.
    """
    found = []
    for score, chosen in best_combinations([each.score[:k].tolist() for each in candidates], k):
        copy = doc.copy()
        words = words_as_tokens(copy)
        if with_tags:
            forget_all(words)
        write_candidates(words, list(zip(candidates, chosen)), with_tags=with_tags)
        write_back(words, copy)
        found.append((copy, score))
    return found


def best_combinations(scores: Sequence[Sequence[float]], k: int) -> list[tuple[float, list[int]]]:
    """The k best ways to choose one from each of several lists: the sums of their scores, the best first, and
    places in the lists.
    """
    best: list[tuple[float, list[int]]] = [(0.0, [])]
    for each in scores:
        longer = [(total + score, [*chosen, i]) for total, chosen in best for i, score in enumerate(each)]
        best = sorted(longer, key=lambda pair: -pair[0])[:k]
    return best


def marginals(words: Doc, layout: Layout, shares: Sequence[Share], encoder: Encoder) -> Marginals:
    """The posterior probabilities of heads, labels and tags of a Doc whose tokens are words, see `Marginals`."""
    n = len(words)
    found = Marginals(
        np.zeros((n, n)), np.zeros((n, len(encoder.labels) + 1)), np.zeros((n, len(encoder.tags)))
    )
    for block, posterior, weight in shares:
        token = layout.token[block]
        columns = posterior.heads, posterior.labels, posterior.tags, posterior.probability
        for heads, labels, tags, probability in zip(*columns):
            np.add.at(
                found.heads, (token, np.where(heads == NONE, token, token[heads])), probability * weight
            )
            np.add.at(found.labels, (token, labels), probability * weight)
            np.add.at(found.tags, (token, tags), probability * weight)
    return found
