"""Learning from raw text: the best parse of each sentence is taken for its tree (B&B section 5.4).

Text is read once, a batch at a time. A batch is parsed with a frozen view of the model, then its
events are added, to the word distribution alone or to all of them. Added events stay:
memory grows with the model, not with the text.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..annotation.arrays import Sentences, sentence_blocks
from ..arc_standard.decoding import decode
from ..arc_standard.distributions import DISTRIBUTIONS, static_derivations
from ..arc_standard.model import JointModel
from ..arc_standard.search import Search
from ..interrupts import interrupts_deferred

#: Distributions that learn, by the name of the setting.
LEARNING = {"words": ("word",), "all": DISTRIBUTIONS}
# The number of words to parse before their parses are added, and between two samples of discounts
# and strengths.
_BATCH, _BETWEEN = 50_000, 1_000_000


class RawTextProgress(NamedTuple):
    """The progress of learning from raw text.

    sentences, words (int): Those that have been learned from.
    log_prob (float): The sum of their log-probabilities in nats, each batch before it was added.
    """

    sentences: int
    words: int
    log_prob: float


def learn_from_text(
    model: JointModel,
    text: Iterable[Sequence[str]],
    *,
    search: Search,
    seed: int,
    threads: int,
    learning: str = "words",
    batch_words: int = _BATCH,
) -> Iterator[RawTextProgress]:
    """Learn from raw text. Discounts and strengths are resampled after each million words, and in
    the end.

    text (Iterable[Sequence[str]]): The words of each sentence, at least one.
    learning (str): "words" or "all", see `LEARNING`.
    batch_words (int): About how many words are parsed with the same view of the model.
    YIELDS (RawTextProgress): After each batch, what has been learned since the beginning.
    RAISES (ValueError): At the first step, if the parser is untrained, generates no words or lacks
        its word classes; at the end, if there were no words.
    """
    if not model.is_initialized or not model.is_lexicalised:
        raise ValueError(
            "Unlexicalised or untrained models cannot learn from raw text. Train a lexicalised one."
        )
    search = search._replace(marginals=False, consensus=False)
    sentences, words, resampled, log_prob = 0, 0, 0, 0.0
    for batch in _batches(text, batch_words):
        total, found = _parse(model, batch, search, threads)
        _add(model, found, learning, seed=seed, threads=threads)
        sentences += len(found.offsets) - 1
        words += len(found.words)
        log_prob += total
        if words - resampled >= _BETWEEN:
            _resample(model, seed)
            resampled = words
        yield RawTextProgress(sentences, words, log_prob)
    if words == 0:
        raise ValueError("There are no words in the text: nothing can be learned from it.")
    _resample(model, seed)


def _batches(text: Iterable[Sequence[str]], size: int) -> Iterator[list[Sequence[str]]]:
    """Group sentences into batches of about so many words."""
    batch, words = [], 0
    for sentence in text:
        batch.append(sentence)
        words += len(sentence)
        if words >= size:
            yield batch
            batch, words = [], 0
    if batch:
        yield batch


def _parse(
    model: JointModel, batch: list[Sequence[str]], search: Search, threads: int
) -> tuple[float, Sentences]:
    """Parse some sentences: their log-probability, and their trees."""
    numbers = [
        np.array(model.vocabulary.numbers_observed(words), dtype=np.int32) for words in batch
    ]
    blocks = sentence_blocks(numbers)
    parses = decode(model.frozen, blocks, search, threads)
    # The model learns the words that it generates.
    words = model.vocabulary.outcomes[blocks.words]
    found = Sentences(words, parses.tags, parses.heads, parses.labels, blocks.offsets)
    return float(parses.log_probability.sum()), found


def _add(
    model: JointModel, sentences: Sentences, learning: str, *, seed: int, threads: int
) -> None:
    """Add the events of trees to the model."""
    unseated = np.zeros(len(sentences.offsets) - 1, dtype=bool)
    derivations = static_derivations(sentences)

    rng = np.random.default_rng([seed, model.progress.steps])
    with interrupts_deferred():
        model.progress.steps += 1
        model.gibbs_step(sentences, derivations, unseated, rng, threads, LEARNING[learning])
        model.progress.tokens += len(sentences.words)


def _resample(model: JointModel, seed: int) -> None:
    rng = np.random.default_rng([seed, model.progress.steps, 1])
    with interrupts_deferred():
        model.resample(rng)
