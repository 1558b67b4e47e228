"""The beam after each word, for readers: entropies, and the parses of the words so far with their
probabilities.

The entropy over analyses is that of the parses that the beam goes on with after a word (Roark et
al. 2009; Hale 2006): stacks, arcs and tags. Several derivations of the same analysis are one. The
entropy over next words is that of the distribution of the next word or the end of the sentence, see
`spacy_hpyp.arc_standard.increments`: a rare word counts as its class.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from spacy.pipeline._parser_internals import nonproj
from spacy.tokens import Doc

from ..annotation.arrays import Blocks
from ..annotation.encoding import Layout, encode_docs
from ..arc_standard.increments import OPEN, Increments, follow
from ..arc_standard.model import JointModel
from ..arc_standard.search import Search
from .surprisal import entropy

#: The variables of entropies.
ENTROPIES = ("next", "analyses")
# Sentences that are read together: of each word, there may be a distribution over the whole
# vocabulary.
_BATCH = 16


@dataclass(frozen=True)
class PartialParse:
    """A parse of the words up to one of them, as the beam holds it.

    probability (float): Given the words so far: its share of the beam.
    log_prob (float): Of these words with the parse, in nats, without letters of rare words.
    tags (list[str]): Of each word so far.
    heads (list[int | None]): The token that each word is attached to, None for a word that is on
    the stack. deps (list[str]): The labels of these arcs, "" where there is none yet.
    stack (list[int]): The tokens on the stack; the last one is its top.
    """

    probability: float
    log_prob: float
    tags: list[str]
    heads: list[int | None]
    deps: list[str]
    stack: list[int]


@dataclass(frozen=True)
class Increment:
    """The state after a word.

    token (int): The word's position in the Doc.
    words (list[int]): The positions of the words of its sentence up to it.
    entropy_next, entropy_analyses (float): Of the next word, and of the analyses of the words so
        far, in bits.
    next_words (list[tuple[str, float]]): The most probable next words: words, classes of rare words
        in angle brackets, or "" for the end of the sentence.
    parses (list[PartialParse]): The most probable parses.
    """

    token: int
    words: list[int]
    entropy_next: float
    entropy_analyses: float
    next_words: list[tuple[str, float]]
    parses: list[PartialParse]


def find_increments(
    model: JointModel,
    docs: Sequence[Doc],
    search: Search,
    k: int,
    *,
    threads: int = 1,
    given_tags: bool = False,
) -> list[list[Increment]]:
    """Return what the beam holds after each word of parsed documents; each sentence is read by
    itself.

    k (int): How many parses and next words of each word are wanted.
    """
    blocks, layout = _encode(model, docs, given_tags)
    words: list[Increment] = []
    for one in _follow(model, blocks, search, threads, parses=True):
        token = layout.token[len(words) : len(words) + len(one.size)].tolist()
        words += [_increment(model, one, token, i, k) for i in range(len(token))]
    return [words[own] for own in layout.words]


def find_entropies(
    model: JointModel,
    docs: Sequence[Doc],
    search: Search,
    *,
    threads: int = 1,
    given_tags: bool = False,
) -> list[dict[str, np.ndarray]]:
    """Return the entropies before and after each token (float64[tokens, 2]) of parsed documents, in
    bits, over "next" words and "analyses"; see `Scores.entropies`.
    """
    blocks, layout = _encode(model, docs, given_tags)
    parts = [np.empty((0, 2, len(ENTROPIES)))]
    for one in _follow(model, blocks, search, threads, parses=False):
        analyses = [0.0, *(entropy(_merged(one, i)[0]) for i in range(len(one.size)))]
        each = np.stack([one.entropy_next, analyses], axis=1)
        parts.append(np.stack([each[:-1], each[1:]], axis=1))
    values, result = np.concatenate(parts), []
    for doc, words in zip(docs, layout.words):
        found = np.zeros((len(doc), 2, len(ENTROPIES)))
        found[layout.token[words]] = values[words]
        result.append(dict(zip(ENTROPIES, np.moveaxis(found, 2, 0))))
    return result


def _encode(model: JointModel, docs: Sequence[Doc], given_tags: bool) -> tuple[Blocks, Layout]:
    if not model.is_lexicalised:
        raise ValueError("An unlexicalised model generates no words, and has no entropy over them.")
    return encode_docs(docs, model.encoder, given_tags=given_tags)


def _follow(
    model: JointModel, blocks: Blocks, search: Search, threads: int, *, parses: bool
) -> Iterator[Increments]:
    """Yield the states of the beam in each sentence; those of a few are held in memory."""
    # The beam is to stand for the posterior, and knows nothing of the words to come.
    search = search._replace(marginals=True, consensus=False, guides=False, future_cost=0.0)
    for first in range(0, len(blocks.offsets) - 1, _BATCH):
        offsets = blocks.offsets[first : first + _BATCH + 1]
        own = slice(offsets[0], offsets[-1])
        some = Blocks(
            blocks.words[own], blocks.tags[own], blocks.may_start[own], offsets - offsets[0]
        )
        yield from follow(model.frozen, some, search, threads, parses=parses)


def _merged(found: Increments, word: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the analyses after a word, the most probable first: their probabilities (float64[m])
    and log-weights (float64[m]), and a derivation of each (int64[m]).
    """
    size = found.size[word]
    _, first, place = np.unique(found.analysis[word, :size], return_index=True, return_inverse=True)
    weight = found.log_weight[word, :size]
    highest = weight.max()
    sums = np.bincount(place.ravel(), weights=np.exp(weight - highest))
    order = np.lexsort((first, -sums))
    return sums[order] / sums.sum(), highest + np.log(sums[order]), first[order]


def _increment(
    model: JointModel, found: Increments, token: list[int], word: int, k: int
) -> Increment:
    probability, log_prob, places = _merged(found, word)
    expected = found.expected[word + 1]
    names = np.argsort(-expected, kind="stable")[:k].tolist()
    end = len(expected) - 1
    parses = []
    for share, value, i in zip(
        probability[:k].tolist(), log_prob[:k].tolist(), places[:k].tolist()
    ):
        heads, labels, tags = (
            part[word, i, : word + 1].tolist() for part in (found.heads, found.labels, found.tags)
        )
        names_of_labels = [
            "" if own < 0 else model.labels[own].split(nonproj.DELIMITER)[0] for own in labels
        ]
        parses.append(
            PartialParse(
                share,
                value,
                tags=[model.tags[tag] for tag in tags],
                heads=[None if head == OPEN else token[head] for head in heads],
                deps=names_of_labels,
                stack=[token[j] for j, head in enumerate(heads) if head == OPEN],
            )
        )
    return Increment(
        token=token[word],
        words=token[: word + 1],
        entropy_next=float(found.entropy_next[word + 1]),
        entropy_analyses=float(entropy(probability)),
        next_words=[
            ("" if i == end else model.vocabulary.name(i), float(expected[i])) for i in names
        ],
        parses=parses,
    )
