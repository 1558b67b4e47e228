"""Inputs and outputs of parsers as integer arrays, without Docs."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..compiled import NONE

Stretches = TypeVar("Stretches", bound=Any)

#: The numbers of heads and tags per word in guides. Four heads nearly always cover more than 0.99
#: of the probability.
HEADS, TAGS = 4, 3


class Sentences(NamedTuple):
    """Annotated sentences.

    words, tags, heads, labels (int32[tokens]): Numbers; heads are positions in the sentence. The
        root's head and label are `NONE`.
    offsets (int64[sentences + 1]): The first token of each sentence.
    """

    words: np.ndarray
    tags: np.ndarray
    heads: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray


class Blocks(NamedTuple):
    """Stretches of words that are decoded independently.

    words (int32[tokens]): The numbers of the words.
    tags (int32[tokens]): Given tags, `NONE` where the tag is to be found.
    may_start (bool[tokens]): Whether a sentence may begin here; the first word of a block does.
    offsets (int64[blocks + 1]): The first token of each block.
    """

    words: np.ndarray
    tags: np.ndarray
    may_start: np.ndarray
    offsets: np.ndarray


def sentence_blocks(sentences: Sequence[np.ndarray]) -> Blocks:
    """Return untagged sentences, given the numbers of their words (int32[*]), as blocks."""
    words = np.concatenate(sentences)
    tags, may_start = np.full(len(words), NONE, dtype=np.int32), np.zeros(len(words), dtype=bool)
    return Blocks(words, tags, may_start, offsets_of([len(sentence) for sentence in sentences]))


def offsets_of(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the offsets of consecutive stretches of given lengths (int64[stretches + 1])."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def joined(parts: Sequence[Stretches]) -> Stretches:
    """Concatenate NamedTuples of arrays, each with `offsets` as the last array."""
    columns = zip(*(each[:-1] for each in parts))
    lengths = np.concatenate([np.diff(each.offsets) for each in parts])
    return type(parts[0])(*map(np.concatenate, columns), offsets_of(lengths))


def chunks(sentences: Sentences, words: int) -> Iterator[tuple[slice, Sentences]]:
    """Yield slices of fewer than `words` words, or of one sentence; only `offsets` is cut."""
    start, offsets = 0, sentences.offsets
    while start < len(offsets) - 1:
        end = max(start + 1, int(np.searchsorted(offsets, offsets[start] + words)) - 1)
        yield slice(start, end), sentences._replace(offsets=offsets[start : end + 1])
        start = end


def block_starts(offsets: np.ndarray) -> np.ndarray:
    """Return the offset of the block of each token (int64[tokens])."""
    return np.repeat(offsets[:-1], np.diff(offsets))


def is_tree(heads: np.ndarray) -> bool:
    """Whether heads (int32[n], `NONE` for the root) form a tree with one root."""
    n = len(heads)
    if np.any(heads >= n) or np.sum(heads == NONE) != 1:
        return False
    above = np.where(heads == NONE, np.arange(n), heads)
    for _ in range(n.bit_length()):
        above = above[above]
    return bool(np.all(heads[above] == NONE))


def is_projective(heads: np.ndarray) -> bool:
    """Whether heads (int32[n], `NONE` for the root) form a projective tree with one root."""
    if not is_tree(heads):
        return False
    word = np.flatnonzero(heads != NONE)
    left, right = np.minimum(word, heads[word]), np.maximum(word, heads[word])
    begins_inside = (left[:, None] < left) & (left < right[:, None])
    root = np.flatnonzero(heads == NONE)[0]
    is_crossed = np.any(begins_inside & (right[:, None] < right))
    return not (is_crossed or np.any((left < root) & (root < right)))


class Guides(NamedTuple):
    """Beliefs of a parser about words, the most probable first; see `annotation.guides`.

    heads (int32[words, k]): Positions in the block, `NONE` for ROOT; without meaning where the
        probability is 0.
    head_probability (float32[words, k]): The probability of each head.
    head_labels (int32[words, k]): The best label of the arc from each head; `NONE` if unknown, and
        for ROOT.
    tags (int32[words, m]): Tags, `NONE` for unknown ones.
    tag_probability (float32[words, m]): The probability of each tag.
    """

    heads: np.ndarray
    head_probability: np.ndarray
    head_labels: np.ndarray
    tags: np.ndarray
    tag_probability: np.ndarray


def no_guides(words: int) -> Guides:
    """Return guides without information about a number of words."""
    return Guides(
        heads=np.full((words, HEADS), NONE, dtype=np.int32),
        head_probability=np.zeros((words, HEADS), dtype=np.float32),
        head_labels=np.full((words, HEADS), NONE, dtype=np.int32),
        tags=np.full((words, TAGS), NONE, dtype=np.int32),
        tag_probability=np.zeros((words, TAGS), dtype=np.float32),
    )


class Parses(NamedTuple):
    """The chosen parses of all blocks, with results of the beam.

    heads, labels (int32[tokens]): Positions in the block, and labels; `NONE` for words attached to
        ROOT.
    tags (int32[tokens]): The tags.
    log_probability (float64[tokens]): Contribution of each word to the log-probability of its
        block, in nats, which is summed over the final beam. The last word has the end, too.
    syntactic, lexical (float64[tokens]): The log of the ratio of two prefix probabilities, in nats
        (Roark et al. 2009): of the tag, summed over all tags, and of the word given its tag. They
        add up to `log_probability` without the end.
    head_probability, tag_probability (float64[tokens]): Posterior probabilities of the chosen arc
        without its label and of the chosen tag; NaN unless asked for.
    guides (Guides): Further possibilities in the final beam; without rows unless asked for.
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
    """Add the log-probabilities of the letters of each word (float64[tokens], in nats)."""
    return parses._replace(
        log_probability=parses.log_probability + letters, lexical=parses.lexical + letters
    )


class Posterior(NamedTuple):
    """The derivations of a final beam as parses of n words.

    heads, labels (int32[m, n]): Positions, and labels; `NONE` for words attached to ROOT.
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
    """A part of the posterior of some words.

    words (int64[n]): Their places among the tokens of all blocks.
    posterior (Posterior): Their parses.
    weight (float64[n]): The probability of these parses, for each word.
    """

    words: np.ndarray
    posterior: Posterior
    weight: np.ndarray
