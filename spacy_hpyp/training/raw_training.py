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
from ..memory import batches

#: Distributions that learn, by the name of the setting.
LEARNING = {"words": ("word",), "all": DISTRIBUTIONS}
# The number of words to parse before their parses are added, and between two samples of discounts
# and strengths.
_BATCH, _BETWEEN = 50_000, 1_000_000


class RawTextProgress(NamedTuple):
    """The progress of learning from raw text."""

    sentences: int
    words: int
    log_prob: float  # Sum over the sentences, each batch before it was added, in nats


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
    """Learn from raw text, and yield the progress after each batch. Discounts and strengths are
    resampled after each million words, and in the end.

    text (Iterable[Sequence[str]]): The words of each sentence, at least one.
    learning (str): "words" or "all", see `LEARNING`.
    batch_words (int): About how many words are parsed with the same view of the model.
    RAISES (ValueError): At the first step, if the parser is untrained, generates no words or lacks
        its word classes; at the end, if there were no words.
    """
    if not model.is_initialized or not model.is_lexicalised:
        raise ValueError(
            "Unlexicalised or untrained models cannot learn from raw text. Train a lexicalised one."
        )
    search = search._replace(marginals=False, consensus=False)
    vocabulary, progress = model.vocabulary, model.progress
    sentences, words, resampled, log_prob = 0, 0, 0, 0.0
    for batch in batches(text, batch_words):
        blocks = sentence_blocks(
            [np.array(vocabulary.numbers_observed(each), dtype=np.int32) for each in batch]
        )
        parses = decode(model.frozen, blocks, search, threads)
        # The model learns the words that it generates.
        numbers = vocabulary.outcomes[blocks.words]
        trees = Sentences(numbers, parses.tags, parses.heads, parses.labels, blocks.offsets)
        derivations, unseated = static_derivations(trees), np.zeros(len(batch), dtype=bool)
        rng = np.random.default_rng([seed, progress.steps])
        with interrupts_deferred():
            progress.steps += 1
            model.gibbs_step(trees, derivations, unseated, rng, threads, LEARNING[learning])
            progress.tokens += len(numbers)
        sentences += len(batch)
        words += len(numbers)
        log_prob += float(parses.log_probability.sum())
        if words - resampled >= _BETWEEN:
            _resample(model, seed)
            resampled = words
        yield RawTextProgress(sentences, words, log_prob)
    if words == 0:
        raise ValueError("There are no words in the text: nothing can be learned from it.")
    _resample(model, seed)


def _resample(model: JointModel, seed: int) -> None:
    rng = np.random.default_rng([seed, model.progress.steps, 1])
    with interrupts_deferred():
        model.resample(rng)
