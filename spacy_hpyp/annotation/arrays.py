"""What parsers are given and what they give back, as arrays of integers that know nothing of Docs."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..compiled import NONE

Stretches = TypeVar("Stretches", bound=Any)

#: How many heads and tags of each word guides tell. In the posterior of a trained `hpyp_parser` the first
#: four heads have
#: more than 0.99 of the probability of nearly all words, and a derivation is divided between three tags.
HEADS, TAGS = 4, 3


class Sentences(NamedTuple):
    """Annotated sentences, one after the other.

    words, tags, heads, labels (int32[tokens]): Numbers; a head is a position in its sentence, -1 for the
        root.
    offsets (int64[sentences + 1]): Where each sentence begins.
    """

    words: np.ndarray
    tags: np.ndarray
    heads: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray


class Blocks(NamedTuple):
    """Stretches of words that are decoded independently of each other.

    words (int32[tokens]): The numbers of the words. They are the same wherever sentences begin.
    tags (int32[tokens]): Given tags, `NONE` where the tag is to be found.
    may_start (bool[tokens]): Whether a sentence may begin here; the first word of a block always begins one.
    offsets (int64[blocks + 1]): Where each block begins.
    """

    words: np.ndarray
    tags: np.ndarray
    may_start: np.ndarray
    offsets: np.ndarray


def sentence_blocks(sentences: Sequence[np.ndarray]) -> Blocks:
    """Untagged sentences, each as a block of its own.

    sentences (Sequence[int32[*]]): The numbers of their words.
    """
    words = np.concatenate(sentences)
    tags, may_start = np.full(len(words), NONE, dtype=np.int32), np.zeros(len(words), dtype=bool)
    return Blocks(words, tags, may_start, offsets_of([len(sentence) for sentence in sentences]))


def offsets_of(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """Where each of some stretches of these lengths begins, one after the other, and where the last one ends
    (int64[stretches + 1]).
    """
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def joined(parts: Sequence[Stretches]) -> Stretches:
    """NamedTuples of arrays, one at least, one after the other; the last array of each has its `offsets`."""
    columns = zip(*(each[:-1] for each in parts))
    lengths = np.concatenate([np.diff(each.offsets) for each in parts])
    return type(parts[0])(*map(np.concatenate, columns), offsets_of(lengths))


def chunks(sentences: Sentences, words: int) -> Iterator[tuple[slice, Sentences]]:
    """Some sentences at a time, with their places: one at least, and otherwise no more than so many words.
    They go on telling the words of all.
    """
    start, offsets = 0, sentences.offsets
    while start < len(offsets) - 1:
        end = max(start + 1, int(np.searchsorted(offsets, offsets[start] + words)) - 1)
        yield slice(start, end), sentences._replace(offsets=offsets[start : end + 1])
        start = end


def block_starts(offsets: np.ndarray) -> np.ndarray:
    """Where the block of each token begins (int64[tokens]), given where each block begins (int64[blocks +
    1]).
    """
    return np.repeat(offsets[:-1], np.diff(offsets))


def is_tree(heads: np.ndarray) -> bool:
    """Whether heads are those of a tree with one root.

    heads (int32[n]): Positions, `NONE` for the root.
    """
    n = len(heads)
    if np.any(heads >= n) or np.sum(heads == NONE) != 1:
        return False
    above = np.where(heads == NONE, np.arange(n), heads)
    for _ in range(n.bit_length()):
        above = above[above]
    return bool(np.all(heads[above] == NONE))


def is_projective(heads: np.ndarray) -> bool:
    """Whether heads are those of a projective tree with one root.

    heads (int32[n]): Positions, `NONE` for the root.
    """
    if not is_tree(heads):
        return False
    found = heads.tolist()
    # From the left to the right, the ends of arcs that are open; the root's spans all of the sentence.
    arcs = sorted((min(word, head), -max(word, head)) for word, head in enumerate(found) if head != NONE)
    root = found.index(NONE)
    open_ends: list[int] = []
    for left, right in arcs:
        while open_ends and open_ends[-1] <= left:
            open_ends.pop()
        if (open_ends and -right > open_ends[-1]) or left < root < -right:
            return False
        open_ends.append(-right)
    return True


class Guides(NamedTuple):
    """What a parser believes about words, the most probable first; see `annotation.guides`.

    heads (int32[words, k]): Positions in the block, `NONE` for the words attached to ROOT. What has the
        probability 0 is no head.
    head_probability (float32[words, k]): How probable each head is.
    head_labels (int32[words, k]): The most probable label of the arc from each head; `NONE` if that is none
        that the reader knows, and for ROOT.
    tags (int32[words, m]): Tags, `NONE` for those that the reader does not know. What has the probability 0
        is no tag.
    tag_probability (float32[words, m]): How probable each tag is.
    """

    heads: np.ndarray
    head_probability: np.ndarray
    head_labels: np.ndarray
    tags: np.ndarray
    tag_probability: np.ndarray


def no_guides(words: int) -> Guides:
    """Guides that say nothing of some words."""
    return Guides(
        heads=np.full((words, HEADS), NONE, dtype=np.int32),
        head_probability=np.zeros((words, HEADS), dtype=np.float32),
        head_labels=np.full((words, HEADS), NONE, dtype=np.int32),
        tags=np.full((words, TAGS), NONE, dtype=np.int32),
        tag_probability=np.zeros((words, TAGS), dtype=np.float32),
    )


class Parses(NamedTuple):
    """The parses that were chosen for all blocks, with what the beam says of them.

    heads (int32[tokens]): Positions in the block, -1 for the words attached to ROOT.
    labels (int32[tokens]): -1 for the words attached to ROOT.
    tags (int32[tokens]): The tags.
    log_probability (float64[tokens]): What each word adds to the log-probability of its block, in nats; a
        block's sum is the log of the sum over the final beam. The end of the last sentence is counted with
        the last word.
    syntactic, lexical (float64[tokens]): The log of the ratio of two successive prefix probabilities, in
        nats, in two parts (Roark et al. 2009). Where no end is counted they add up to `log_probability`. The
        syntactic part is that of the words before and a tag that the word may have: the sum, over the
        derivations that shift it, of all of these tags, whether they are tried or not. So it does not depend
        on how many are. The lexical part is the rest: which of the words with such a tag it is.
    head_probability, tag_probability (float64[tokens]): Of the chosen arc without its label and of the chosen
        tag, the posterior probability in the final beam; not a number unless asked for.
    guides (Guides): What else the words may be in the final beam; without rows unless asked for.
    """

    heads: np.ndarray
    labels: np.ndarray
    tags: np.ndarray
    log_probability: np.ndarray
    syntactic: np.ndarray
    lexical: np.ndarray
    head_probability: np.ndarray
    tag_probability: np.ndarray
    guides: Guides = no_guides(0)


def with_letters(parses: Parses, letters: np.ndarray) -> Parses:
    """Parses whose words are spelled out: letters are a part of what a word is given its tag and what stands
    before it.

    letters (float64[tokens]): The log-probability of the letters of each word, in nats.
    """
    return parses._replace(log_probability=parses.log_probability + letters, lexical=parses.lexical + letters)


class Posterior(NamedTuple):
    """The derivations of a final beam as parses of n words.

    heads (int32[m, n]): Positions, -1 for the words attached to ROOT.
    labels (int32[m, n]): -1 for the words attached to ROOT.
    tags (int32[m, n]): The tags.
    log_weight (float64[m]): Log-probabilities of the derivations with the words, in nats.
    probability (float64[m]): The weights, each to the power of 1 / temperature, normalised.
    """

    heads: np.ndarray
    labels: np.ndarray
    tags: np.ndarray
    log_weight: np.ndarray
    probability: np.ndarray


class Share(NamedTuple):
    """What some words may be, as a part of everything that they may be.

    words (int64[n]): Their places among the tokens of all blocks.
    posterior (Posterior): Their parses.
    weight (float64[n]): How probable it is, for each word, that it is one of these parses.
    """

    words: np.ndarray
    posterior: Posterior
    weight: np.ndarray
