"""Alternatives: the k best parses, and the probabilities of heads, labels and tags."""

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

    doc (Doc): A copy of the document with the parse, without probabilities of tokens.
    log_prob (float): The log-probability of words, tags and trees in nats, summed over the final
        beam: a lower bound.
    """

    doc: Doc
    log_prob: float


@dataclass(frozen=True)
class ScoredParse:
    """A copy of a document with a parse, and a score that is comparable between parses of one
    document only.
    """

    doc: Doc
    score: float


@dataclass(frozen=True)
class Marginals:
    """Posterior probabilities of the words of a document, in rows. White space has rows of 0.

    heads (float64[words, words]): The probability of each head (column); the diagonal is the root.
    labels (float64[words, labels + 1]): By `label_data["labels"]`; the last column is the root's.
    tags (float64[words, tags]): By `label_data["tags"]`.

    A lifted arc (Nivre & Nilsson 2005) has the head that it was lifted to, and its decorated label.
    """

    heads: np.ndarray
    labels: np.ndarray
    tags: np.ndarray


def distinct_parses(posterior: Posterior) -> list[tuple[float, int]]:
    """Return the distinct parses of a final beam, the best first: log-probabilities and a
    derivation of each.
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
    """Combine the candidates of sentences to the k best parses of a document.

    with_tags (bool): Whether to write the tags of candidates.
    RETURNS (list[tuple[Doc, float]]): Copies of the document with the sums of the scores, the best
    first.
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
    """Return the k best choices of one from each list: sums of scores, and places in the lists."""
    best: list[tuple[float, list[int]]] = [(0.0, [])]
    for each in scores:
        longer = [
            (total + score, [*chosen, i]) for total, chosen in best for i, score in enumerate(each)
        ]
        best = sorted(longer, key=lambda pair: -pair[0])[:k]
    return best


def marginals(words: Doc, layout: Layout, shares: Sequence[Share], encoder: Encoder) -> Marginals:
    """Return the posterior probabilities of a Doc whose tokens are words."""
    n = len(words)
    found = Marginals(
        np.zeros((n, n)), np.zeros((n, len(encoder.labels) + 1)), np.zeros((n, len(encoder.tags)))
    )
    for block, posterior, weight in shares:
        token = layout.token[block]
        columns = posterior.heads, posterior.labels, posterior.tags, posterior.probability
        for heads, labels, tags, probability in zip(*columns):
            np.add.at(
                found.heads,
                (token, np.where(heads == NONE, token, token[heads])),
                probability * weight,
            )
            np.add.at(found.labels, (token, labels), probability * weight)
            np.add.at(found.tags, (token, tags), probability * weight)
    return found
