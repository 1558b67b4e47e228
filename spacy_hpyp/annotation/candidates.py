"""Candidates: several trees of a sentence, as the method `candidates` of a parser finds them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from spacy.attrs import TAG
from spacy.pipeline._parser_internals import nonproj
from spacy.tokens import Doc

from ..compiled import NONE
from .documents import ROOT_LABEL, GoldSentence, projective_tree, write_trees
from .words import layout_of, write_tags


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

    def sentences(self, doc: Doc) -> list[GoldSentence]:
        """Return the candidates as projective sentences with decorated labels (Nivre & Nilsson
        2005).
        """
        words = [doc[i].text for i in self.token.tolist()]
        heads = np.where(self.heads == NONE, np.arange(len(words)), self.heads).tolist()
        trees = map(projective_tree, heads, self.labels)
        return [GoldSentence(words, tags, *tree) for tags, tree in zip(self.tags, trees)]


def lowered(
    heads: np.ndarray, labels: Sequence[str], doc: Doc, token: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """Undo the lifting of arcs that decorated labels tell (Nivre & Nilsson 2005). `token` are the
    words.
    """
    labels = [ROOT_LABEL if head == NONE else label for head, label in zip(heads.tolist(), labels)]
    if not any(nonproj.is_decorated(label) for label in labels):
        return heads, labels
    own = np.where(heads == NONE, np.arange(len(heads)), heads).tolist()
    copy = Doc(doc.vocab, words=[doc[i].text for i in token.tolist()], heads=own, deps=labels)
    nonproj.deprojectivize(copy)
    places = np.array(
        [NONE if word.head.i == word.i else word.head.i for word in copy], dtype=np.int32
    )
    return places, [
        ROOT_LABEL if head == NONE else word.dep_ for head, word in zip(places.tolist(), copy)
    ]


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
    best first. names (Sequence[str]): The labels, decorated for lifted arcs.
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
    heads = np.concatenate(
        [np.empty(0, dtype=np.int32), *(candidates.heads[i] for candidates, i in chosen)]
    )
    sure = np.full(len(heads), np.nan) if head_probability is None else head_probability
    write_trees([doc], layout, heads, labels, names.tolist(), sure)
