"""Several trees of a sentence, parses of a document, and their probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from spacy.tokens import Doc, Token

from ..compiled import NONE
from ..spacy_internals import nonproj
from .arrays import Posterior, Share
from .encoding import layout_of, write_tags, write_trees
from .sentences import ROOT_LABEL, Encoder, GoldSentence, projective_tree


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
    """A copy of a document with a parse, and a score to compare parses of one document."""

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


@dataclass(frozen=True)
class Candidates:
    """Trees of one sentence of n words, the best first. They need not be projective."""

    token: np.ndarray  # int64[n]: the positions of the words in the Doc
    heads: np.ndarray  # int32[k, n]: positions in the sentence, `NONE` for roots
    labels: list[list[str]]  # Of the words of each candidate; "ROOT" for roots
    tags: list[list[str]]  # Of the words of each candidate; "" for none
    score: np.ndarray  # float64[k]: the parser's, in nats where it has probabilities

    def __len__(self) -> int:
        return len(self.heads)

    def sentences(self, doc: Doc) -> list[GoldSentence]:
        """Return the candidates as projective sentences with decorated labels."""
        words = [doc[i].text for i in self.token.tolist()]
        heads = np.where(self.heads == NONE, np.arange(len(words)), self.heads).tolist()
        trees = map(projective_tree, heads, self.labels)
        return [GoldSentence(words, tags, *tree) for tags, tree in zip(self.tags, trees)]


def lowered(
    heads: np.ndarray, labels: Sequence[str], words: Sequence[Token]
) -> tuple[np.ndarray, list[str]]:
    """Return unlifted heads (int32[n], `NONE` for roots) and labels (Nivre & Nilsson 2005)."""
    if not any(map(nonproj.is_decorated, labels)):
        return heads, list(labels)
    above = np.where(heads == NONE, np.arange(len(heads)), heads).tolist()
    forms = [word.text for word in words]
    copy = Doc(words[0].vocab, words=forms, heads=above, deps=labels)
    nonproj.deprojectivize(copy)
    above = [NONE if word.head == word else word.head.i for word in copy]
    labels = [ROOT_LABEL if word.head == word else word.dep_ for word in copy]
    return np.array(above, dtype=np.int32), labels


def trees_of(
    doc: Doc,
    token: np.ndarray,
    heads: np.ndarray,
    labels: np.ndarray,
    score: np.ndarray,
    names: Sequence[str],
    tags: list[list[str]] | None = None,
) -> Candidates:
    """Make the candidates of a parser.

    heads, labels (int32[k, n]), score (float64[k]): Projective trees of the words at `token`, the
        best first; heads and labels of roots are `NONE`.
    names (Sequence[str]): The labels, decorated for lifted arcs.
    tags (list[list[str]] | None): The tags of each candidate; by default those of the document.
    """
    words = [doc[i] for i in token.tolist()]
    if tags is None:
        tags = [[word.tag_ for word in words]] * len(heads)
    named = np.array([*names, ROOT_LABEL], dtype=object)[labels].tolist()
    places, labelled = zip(*(lowered(*tree, words) for tree in zip(heads, named)))
    return Candidates(token, np.array(places), list(labelled), tags, score)


def write_candidates(
    doc: Doc,
    chosen: Sequence[tuple[Candidates, int]],
    head_probability: np.ndarray | None = None,
    *,
    with_tags: bool,
) -> None:
    """Write the chosen candidate of each sentence into a Doc.

    head_probability (float64[words] | None): The probability that each arc is right, if known.
    with_tags (bool): Whether to write tags, too.
    """
    layout = layout_of([[candidates.token for candidates, _ in chosen]])
    heads = np.concatenate([np.empty(0, np.int32), *(each.heads[i] for each, i in chosen)])
    words = np.arange(len(heads))
    if with_tags:
        write_tags([doc], layout, words, [tag for each, i in chosen for tag in each.tags[i]])
    labels = [label for each, i in chosen for label in each.labels[i]]
    sure = np.full(len(heads), np.nan) if head_probability is None else head_probability
    write_trees([doc], layout, heads, words, labels, sure)


def best_combinations(scores: Sequence[Sequence[float]], k: int) -> list[tuple[float, list[int]]]:
    """Return the k best choices of a score per list, best first: sums, and places in the lists."""
    best: list[tuple[float, list[int]]] = [(0.0, [])]
    for each in scores:
        longer = [
            (total + score, [*chosen, i]) for total, chosen in best for i, score in enumerate(each)
        ]
        best = sorted(longer, key=lambda pair: -pair[0])[:k]
    return best


def distinct_parses(posterior: Posterior) -> list[tuple[float, int]]:
    """Return the log-probability in nats and a row of each distinct parse in a beam, best first."""
    rows = np.concatenate([posterior.heads, posterior.labels, posterior.tags], axis=1)
    _, first, parse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    sums = np.full(len(first), -np.inf)
    np.logaddexp.at(sums, parse.ravel(), posterior.log_weight)
    order = np.lexsort((first, -sums))
    return [(float(sums[i]), int(first[i])) for i in order]


def marginals(doc: Doc, token: np.ndarray, shares: Sequence[Share], encoder: Encoder) -> Marginals:
    """Return the posterior probabilities of a Doc whose words are at `token` (int64[words])."""
    sizes = len(doc), len(encoder.labels) + 1, len(encoder.vocabulary.tags)
    found = Marginals(*(np.zeros((len(doc), size)) for size in sizes))
    for words, posterior, weight in shares:
        place = token[words]
        columns = posterior.heads, posterior.labels, posterior.tags, posterior.probability
        for heads, labels, tags, probability in zip(*columns):
            heads = np.where(heads == NONE, place, place[heads])
            for table, column in zip(vars(found).values(), (heads, labels, tags)):
                np.add.at(table, (place, column), probability * weight)
    return found
