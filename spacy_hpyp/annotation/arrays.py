"""Inputs and outputs of parsers as integer arrays, without Docs."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..compiled import NONE
from ..spacy_internals import nonproj

Stretches = TypeVar("Stretches", bound=Any)

#: The numbers of heads and tags per word in guides. Four heads nearly always cover more than 0.99
#: of the probability.
HEADS, TAGS = 4, 3


class Sentences(NamedTuple):
    """Annotated sentences, as numbers."""

    words: np.ndarray  # int32[tokens]
    tags: np.ndarray  # int32[tokens]
    heads: np.ndarray  # int32[tokens]: positions in the sentence, `NONE` for the root
    labels: np.ndarray  # int32[tokens]: `NONE` for the root
    offsets: np.ndarray  # int64[sentences + 1]: the first token of each sentence


class Blocks(NamedTuple):
    """Stretches of words that are decoded independently."""

    words: np.ndarray  # int32[tokens]: the numbers of the words
    tags: np.ndarray  # int32[tokens]: given tags, `NONE` where the tag is to be found
    may_start: np.ndarray  # bool[tokens]: may a sentence begin here? The first word of a block does
    offsets: np.ndarray  # int64[blocks + 1]: the first token of each block


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
    above = np.where(heads == NONE, np.arange(len(heads)), heads)
    return is_tree(heads) and not nonproj.is_nonproj_tree(above.tolist())


class Guides(NamedTuple):
    """Beliefs of a parser about words, the most probable first; see `annotation.guides`. Heads
    without probability have no meaning.
    """

    heads: np.ndarray  # int32[words, k]: positions in the block, `NONE` for ROOT
    head_probability: np.ndarray  # float32[words, k]
    head_labels: np.ndarray  # int32[words, k]: of the arc from each head; `NONE` if unknown or ROOT
    tags: np.ndarray  # int32[words, m]: `NONE` for unknown ones
    tag_probability: np.ndarray  # float32[words, m]


def no_guides(words: int) -> Guides:
    """Return guides without information about a number of words."""
    heads, labels = np.full((2, words, HEADS), NONE, dtype=np.int32)
    tags = np.full((words, TAGS), NONE, dtype=np.int32)
    head_probability, tag_probability = (np.zeros((words, n), np.float32) for n in (HEADS, TAGS))
    return Guides(heads, head_probability, labels, tags, tag_probability)


class Parses(NamedTuple):
    """The chosen parses of all blocks, with results of the beam."""

    heads: np.ndarray  # int32[tokens]: positions in the block, `NONE` for words attached to ROOT
    labels: np.ndarray  # int32[tokens]: `NONE` for words attached to ROOT
    tags: np.ndarray  # int32[tokens]
    # Contribution of each word to the log-probability of its block, in nats, which is summed over
    # the final beam. The last word has the end, too.
    log_probability: np.ndarray  # float64[tokens]
    # The log of the ratio of two prefix probabilities, in nats (Roark et al. 2009): of the tag,
    # summed over all tags, and of the word given its tag. They add up to `log_probability` without
    # the end.
    syntactic: np.ndarray  # float64[tokens]
    lexical: np.ndarray  # float64[tokens]
    # Posterior probabilities of the chosen arc without its label and of the chosen tag; NaN unless
    # asked for.
    head_probability: np.ndarray  # float64[tokens]
    tag_probability: np.ndarray  # float64[tokens]
    # Further possibilities in the final beam; without rows unless asked for.
    guides: Guides = no_guides(0)


def with_letters(parses: Parses, letters: np.ndarray) -> Parses:
    """Add the log-probabilities of the letters of each word (float64[tokens], in nats)."""
    return parses._replace(
        log_probability=parses.log_probability + letters, lexical=parses.lexical + letters
    )


class Posterior(NamedTuple):
    """The derivations of a final beam as parses of n words."""

    heads: np.ndarray  # int32[m, n]: positions, `NONE` for words attached to ROOT
    labels: np.ndarray  # int32[m, n]: `NONE` for words attached to ROOT
    tags: np.ndarray  # int32[m, n]
    log_weight: np.ndarray  # float64[m]: log p(derivation, words) in nats
    probability: np.ndarray  # float64[m]: weights to the power of 1 / temperature, normalised


class Share(NamedTuple):
    """A part of the posterior of some words."""

    words: np.ndarray  # int64[n]: their places among the tokens of all blocks
    posterior: Posterior
    weight: np.ndarray  # float64[n]: the probability of these parses, for each word
