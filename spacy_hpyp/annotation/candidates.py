"""Candidates: several trees of a sentence, as the method `candidates` of a parser finds them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from spacy.attrs import DEP, HEAD, TAG
from spacy.pipeline._parser_internals import nonproj
from spacy.tokens import Doc

from ..compiled import NONE
from .documents import ROOT_LABEL, GoldSentence, projective_tree, write_trees
from .words import Layout, layout_of, read_words, write_tags


@dataclass(frozen=True)
class Candidates:
    """Trees of one sentence of n words, the best first. White space is no word.

    token (int64[n]): The positions of the words in the Doc.
    heads (int32[k, n]): Positions in the sentence, `NONE` for roots. They need not be projective.
    labels, tags (list[list[str]]): Of the words of each candidate; "ROOT" for roots, "" for no tag.
    score (float64[k]): The parser's score of each, in nats where it has probabilities.
    """

    token: np.ndarray
    heads: np.ndarray
    labels: list[list[str]]
    tags: list[list[str]]
    score: np.ndarray

    def __len__(self) -> int:
        return len(self.heads)

    def first(self, k: int) -> "Candidates":
        """Return the k best of them."""
        return replace(
            self, heads=self.heads[:k], labels=self.labels[:k], tags=self.tags[:k], score=self.score[:k]
        )

    def chosen_first(self, other: "Candidates") -> "Candidates":
        """Return these with the first candidate of `other`, of the same sentence, in the first place; a new
        one gets the score of the worst.
        """
        heads, labels, tags = other.heads[0], other.labels[0], other.tags[0]
        place = self.place_of(heads, labels, tags)
        kept = [i for i in range(len(self)) if i != place]
        score = self.score.min(initial=np.inf) if place == NONE else self.score[place]
        all_heads = np.concatenate([heads[None], self.heads[kept]])
        all_labels, all_tags = (
            [labels, *(self.labels[i] for i in kept)],
            [tags, *(self.tags[i] for i in kept)],
        )
        scores = np.append(score if np.isfinite(score) else 0.0, self.score[kept])
        return replace(self, heads=all_heads, labels=all_labels, tags=all_tags, score=scores)

    def sentences(self, doc: Doc) -> list[GoldSentence]:
        """Return the candidates as projective sentences with decorated labels (Nivre & Nilsson 2005)."""
        words = [doc[i].text for i in self.token.tolist()]
        heads = np.where(self.heads == NONE, np.arange(len(words)), self.heads).tolist()
        trees = map(projective_tree, heads, self.labels)
        return [GoldSentence(words, tags, *tree) for tags, tree in zip(self.tags, trees)]

    def place_of(self, heads: np.ndarray, labels: Sequence[str], tags: Sequence[str]) -> int:
        """Return the place of a parse among them, or `NONE`."""
        for i in np.flatnonzero((self.heads == heads).all(axis=1)).tolist():
            if self.labels[i] == list(labels) and self.tags[i] == list(tags):
                return i
        return NONE


def parsed_candidates(doc: Doc) -> list[Candidates]:
    """Return the trees of a parsed document, one candidate for each sentence, with the score 0.

    White space is left out, see `past_spaces`; if that leaves several roots, the first one gets the others.
    """
    layout = read_words([doc]).layout
    rows = doc.to_array([HEAD, DEP, TAG])
    all_heads = past_spaces(np.arange(len(doc)) + rows[:, 0].view(np.int64), layout.token)
    strings = doc.vocab.strings
    found = []
    for token in tokens_of(layout):
        heads = positions_of(token, all_heads[token])
        roots = np.flatnonzero(heads == NONE)
        heads[roots[1:]] = roots[:1]
        named = zip(heads.tolist(), rows[token, 1].tolist())
        labels = [ROOT_LABEL if head == NONE else strings[label] for head, label in named]
        tags = [strings[tag] for tag in rows[token, 2].tolist()]
        found.append(Candidates(token, heads[None], [labels], [tags], np.zeros(1)))
    return found


def tokens_of(layout: Layout) -> list[np.ndarray]:
    """Where the words of each sentence stand in their Doc (int64[n] of each sentence that has a word)."""
    return [layout.token[a:b] for a, b in zip(layout.offsets, layout.offsets[1:]) if b > a]


def past_spaces(heads: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Lift heads (int64[tokens]; a root is its own) past white space; `words` (int64[n]) is what is none."""
    is_space = np.ones(len(heads), dtype=bool)
    is_space[words] = False
    # Bounded, in case they are no tree.
    for _ in range(len(heads)):
        lifted = np.where(is_space[heads], heads[heads], heads)
        if np.array_equal(lifted, heads):
            break
        heads = lifted
    return heads


def positions_of(token: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Return heads in the Doc (int64[n]) as positions in a sentence of words at `token` (int64[n]); `NONE`
    for roots and heads outside.
    """
    place = np.clip(np.searchsorted(token, heads), 0, len(token) - 1)
    return np.where((token[place] == heads) & (heads != token), place, NONE).astype(np.int32)


def lowered(
    heads: np.ndarray, labels: Sequence[str], doc: Doc, token: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """Undo the lifting of arcs that decorated labels tell (Nivre & Nilsson 2005). `token` are the words."""
    labels = [ROOT_LABEL if head == NONE else label for head, label in zip(heads.tolist(), labels)]
    if not any(nonproj.is_decorated(label) for label in labels):
        return heads, labels
    own = np.where(heads == NONE, np.arange(len(heads)), heads).tolist()
    copy = Doc(doc.vocab, words=[doc[i].text for i in token.tolist()], heads=own, deps=labels)
    nonproj.deprojectivize(copy)
    places = np.array([NONE if word.head.i == word.i else word.head.i for word in copy], dtype=np.int32)
    return places, [ROOT_LABEL if head == NONE else word.dep_ for head, word in zip(places.tolist(), copy)]


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

    heads, labels (int32[k, n]), score (float64[k]): Projective trees of the words at `token`, the best first.
    names (Sequence[str]): The labels, decorated for lifted arcs.
    tags (list[list[str]] | None): The tags of each candidate; by default those of the document.
    """
    if tags is None:
        tags = [_tags(doc, token)] * len(heads)
    labelled = [*names, ROOT_LABEL]
    trees = [
        lowered(each, [labelled[label] for label in own], doc, token)
        for each, own in zip(heads, labels.tolist())
    ]
    places = np.array([each for each, _ in trees], dtype=np.int32)
    return Candidates(token, places, [own for _, own in trees], tags, score)


def _tags(doc: Doc, token: np.ndarray) -> list[str]:
    return [doc.vocab.strings[tag] for tag in doc.to_array([TAG]).ravel()[token].tolist()]


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
    if with_tags:
        names, tags = np.unique(
            [tag for candidates, i in chosen for tag in candidates.tags[i]], return_inverse=True
        )
        write_tags([doc], layout, tags, names.tolist())
    names, labels = np.unique(
        [each for candidates, i in chosen for each in candidates.labels[i]], return_inverse=True
    )
    heads = np.concatenate([np.empty(0, dtype=np.int32), *(candidates.heads[i] for candidates, i in chosen)])
    sure = np.full(len(heads), np.nan) if head_probability is None else head_probability
    write_trees([doc], layout, heads, labels, names.tolist(), sure)
