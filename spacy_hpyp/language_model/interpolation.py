"""A parser and an n-gram model as one language model, mixed word by word (Jelinek & Mercer 1980):

    p(w | before) = s_k p_parser(w | before) + (1 - s_k) p_ngram(w | before)

A parser knows what an n-gram model has lost sight of, and an n-gram model has seen more of the words that are
near, so that each predicts what surprises the other; B&B section 5.2 leaves this out. k says how much the
n-gram model has seen of the words before: how often what they leave to its uniform distribution would have to
be doubled to be all. The shares s_k are those that make held-out sentences most probable, found by the EM
algorithm. What one of the models has learned from it knows better than other text, so that no sentence of
either must be among them.

What the parser says of a word is its probability given the derivations that its beam has kept
(`Search.predictive`), or else the ratio of two successive sums over the beam. In either case the beam knows
nothing of the words that follow, and leaves derivations
out: all words and the end of the sentence together have at most 1 after every prefix, and so they have in the
mixture. It is a language model of its own, which gives what is left out to nothing: its perplexity is at
least what it would be with the rest shared out. Products of the ratios are lower bounds of the parser's exact
probabilities; those of the mixture are not, since a single ratio may be higher than it were with all
derivations.

What is mixed are the probabilities of known words and of classes. Where the parser spells rare words out,
both models have the same classes spelled, so that the probability of the letters given the class is a factor
of both sides: its log is added once, after mixing.
"""

import hashlib
from collections.abc import Iterable, Sequence
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import srsly

from ..annotation.arrays import Blocks, Parses
from ..annotation.extensions import bits
from ..inference.rounding import Search
from ..models.joint_model import JointModel
from ..storage.checksum import DAMAGE
from ..storage.files import replace_file
from ..text.vocabulary import Vocabulary
from .ngram import NGramModel
from .scoring import Perplexity, check_lexicalised, decoded, perplexity_of, score_of

KIND = "spacy-hpyp weights of an interpolation"
FORMAT = 1
#: How many k there are; the last one is for all that are higher.
LEVELS = 12
# EM ends when a step adds less than this for each prediction, in nats, and at the latest after so many steps.
_TOLERANCE = 1e-7
_STEPS = 1000
# Of the shares: so many are the same after they have been saved.
_DIGITS = 6
# As many predictions, shared by the mean over all k, are seen at each k besides those of the held-out
# sentences.
_PRIOR = 5.0


class PairedPredictions(NamedTuple):
    """What both models say of the words and the ends of some blocks; behind the words of each block stands
    its end.

    parser, ngram (float64[words + blocks]): Log-probabilities in nats, given the words before in the block.
    level (int64[words + blocks]): How much the n-gram model has seen of these words, k, from 0 to `LEVELS` -
        1.
    """

    parser: np.ndarray
    ngram: np.ndarray
    level: np.ndarray


class Perplexities(NamedTuple):
    """The perplexities of a text by the two models and by both together."""

    parser: Perplexity
    ngram: Perplexity
    mixture: Perplexity


def check_vocabularies(model: JointModel, ngrams: NGramModel) -> None:
    """See that two models can be mixed.

    RAISES (ValueError): If the first one gives no probability to words, or their words or classes are not the
        same.
    """
    check_lexicalised(model)
    if _names(model.vocabulary) != _names(ngrams.vocabulary):
        raise ValueError(
            "The parser and the n-gram model have not the same words and classes of rare words, and cannot "
            "be mixed. Train an "
            "n-gram model with the parser's: 'python -m spacy hpyp ngram TRAIN OUTPUT --vocab-from PIPELINE'."
        )


def predictions_of(ngrams: NGramModel, blocks: Blocks, parses: Parses) -> PairedPredictions:
    """What both models say of the words of some blocks: at least a block, and none without words."""
    prefixes = parses.syntactic + parses.lexical
    ends = (parses.log_probability - prefixes)[blocks.offsets[1:] - 1]
    return PairedPredictions(np.insert(prefixes, blocks.offsets[1:], ends), *_score(ngrams, blocks))


def mix(predictions: PairedPredictions, shares: np.ndarray) -> np.ndarray:
    """The log-probabilities of the mixture.

    shares (float64[levels]): The parser's share at each k, from 0 to 1.
    RETURNS (float64[*]): In nats, of the same words and ends.
    """
    share = shares[predictions.level]
    with np.errstate(divide="ignore"):
        return np.logaddexp(np.log(share) + predictions.parser, np.log1p(-share) + predictions.ngram)


def fit_shares(predictions: PairedPredictions, *, steps: int = _STEPS) -> np.ndarray:
    """The shares that make predictions most probable, by the EM algorithm: first one for all k, then one for
    each k, where some predictions that say what the one share says keep it in bounds.

    predictions (PairedPredictions): At least one, of words that no model has learned from.
    steps (int): How many steps of EM there are at the most, each time.
    RETURNS (float64[levels]): The parser's share at each k.
    """
    one = _ascend(predictions._replace(level=np.zeros_like(predictions.level)), np.full(1, 0.5), steps)
    return _ascend(predictions, np.repeat(one, LEVELS), steps)


def _ascend(predictions: PairedPredictions, shares: np.ndarray, steps: int) -> np.ndarray:
    mean = shares
    counts = np.bincount(predictions.level, minlength=len(shares)) + _PRIOR
    before = -np.inf
    for _ in range(steps):
        mixed = mix(predictions, shares)
        # What EM never lowers, with the prior: the log-likelihood with these few predictions added.
        value = mixed.sum() + _PRIOR * np.sum(mean * np.log(shares) + (1.0 - mean) * np.log1p(-shares))
        if value - before < _TOLERANCE * len(mixed):
            break
        before = value
        posterior = shares[predictions.level] * np.exp(predictions.parser - mixed)
        found = np.bincount(predictions.level, weights=posterior, minlength=len(shares))
        shares = (found + _PRIOR * mean) / counts
    return shares


class Interpolation:
    """A parser and an n-gram model, and the shares that they have in their mixture.

    shares (Sequence[float]): The parser's share at each k, `LEVELS` of them.
    RAISES (ValueError): If the models cannot be mixed, or the shares are not so many numbers from 0 to 1.
    """

    def __init__(self, model: JointModel, ngrams: NGramModel, shares: Sequence[float]) -> None:
        check_vocabularies(model, ngrams)
        self.model = model
        self.ngrams = ngrams
        self.shares = np.round(np.array(shares, dtype=np.float64), _DIGITS)
        if self.shares.shape != (LEVELS,) or not np.all((self.shares >= 0.0) & (self.shares <= 1.0)):
            raise ValueError(
                f"the weights of a mixture are {LEVELS} numbers from 0 to 1, but these are {shares}."
            )

    @classmethod
    def learn(
        cls,
        model: JointModel,
        ngrams: NGramModel,
        sentences: Iterable[Sequence[str]],
        search: Search,
        *,
        threads: int = 1,
    ) -> "Interpolation":
        """Find the shares that make sentences most probable.

        sentences (Iterable[Sequence[str]]): Sentences that neither model has learned from, each with a word
            at least.
        search (Search), threads (int): How the parser searches, and in how many threads, on which the result
            does not depend.
        RAISES (ValueError): If the models cannot be mixed, or there are no sentences.
        """
        check_vocabularies(model, ngrams)
        found = [predictions_of(ngrams, *made) for _, *made in decoded(model, sentences, search, threads)]
        if not found:
            raise ValueError("There is no sentence to learn the weights of the mixture from.")
        return cls(model, ngrams, fit_shares(PairedPredictions(*map(np.concatenate, zip(*found)))).tolist())

    def perplexities(
        self, sentences: Iterable[Sequence[str]], search: Search, *, threads: int = 1
    ) -> Perplexities:
        """The perplexities of a text, all with the parser's letters if it spells rare words out.

        sentences (Iterable[Sequence[str]]): Its sentences, each with a word at least; the weights must not be
            learned from them.
        search (Search), threads (int): As for `learn`.
        RAISES (ValueError): If there are no sentences.
        """
        scored: list[list[Perplexity]] = [[], [], []]
        for batch, blocks, parses in decoded(self.model, sentences, search, threads):
            found, starts = predictions_of(self.ngrams, blocks, parses), blocks.offsets[:-1]
            numbers = np.split(blocks.words, starts[1:])
            letters = [score_of(self.model, words, own, 0.0) for words, own in zip(batch, numbers)]
            for scores, values in zip(scored, (found.parser, found.ngram, mix(found, self.shares))):
                totals = np.add.reduceat(values, starts + np.arange(len(starts))).tolist()
                scores.extend(
                    one._replace(log_prob=one.log_prob + total) for one, total in zip(letters, totals)
                )
        return Perplexities(*map(perplexity_of, scored))

    def surprisals(
        self, blocks: Blocks, parser: np.ndarray, letters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The surprisals of words, without the ends of the blocks.

        blocks (Blocks): Where sentences may begin inside of a block the n-gram model, too, sums over where
            they do, and the end of a sentence is counted with the word after it.
        parser (float64[words]): The parser's surprisals of the same words, in bits, with those of letters in
            them.
        letters (float64[words]): The log-probabilities of the letters of rare words in nats, see
            `JointModel.spell`; 0 for others.
        RETURNS (float64[words], float64[words]): Those of the n-gram model and of the mixture, in bits, with
            letters, too.
        """
        ends = blocks.offsets[1:] + np.arange(len(blocks.offsets) - 1)
        ngram, level = (np.delete(values, ends) for values in _score(self.ngrams, blocks))
        mixed = mix(PairedPredictions(-log(2.0) * parser - letters, ngram, level), self.shares)
        return bits(ngram + letters), bits(mixed + letters)

    def to_disk(self, path: str | Path) -> None:
        """Save the shares as JSON, without the models."""
        vocabulary = _digest(self.ngrams.vocabulary)
        content = {"kind": KIND, "format": FORMAT, "vocabulary": vocabulary, "parser": self.shares.tolist()}
        replace_file(Path(path), (srsly.json_dumps(content, indent=2) + "\n").encode("utf8"))

    @classmethod
    def from_disk(cls, path: str | Path, model: JointModel, ngrams: NGramModel) -> "Interpolation":
        """Read what `to_disk` wrote.

        RAISES (ValueError): If the models cannot be mixed, or the file is damaged or does not belong to them.
        """
        check_vocabularies(model, ngrams)
        try:
            try:
                content: Any = srsly.json_loads(Path(path).read_text(encoding="utf8"))
                if content["kind"] != KIND or content["format"] != FORMAT:
                    raise ValueError("another kind or format")
                shares, digest = [float(share) for share in content["parser"]], content["vocabulary"]
            except DAMAGE as error:
                raise ValueError("they are no weights of this version of spacy-hpyp.") from error
            if digest != _digest(ngrams.vocabulary):
                raise ValueError("they were learned for models with other words.")
            return cls(model, ngrams, shares)
        except ValueError as error:
            raise ValueError(f"The weights '{path}' cannot be used: {error} Learn them again.") from error


def _score(ngrams: NGramModel, blocks: Blocks) -> tuple[np.ndarray, np.ndarray]:
    """What the n-gram model says, and how much it has seen, see `PairedPredictions`."""
    log_probability, passed_on = ngrams.score_blocks(blocks)
    return log_probability, np.minimum(-np.log2(passed_on), LEVELS - 1).astype(np.int64)


def _names(vocabulary: Vocabulary) -> tuple[list[str], list[str]]:
    return vocabulary.words, vocabulary.classes


def _digest(vocabulary: Vocabulary) -> str:
    return hashlib.blake2b(srsly.msgpack_dumps(_names(vocabulary)), digest_size=16).hexdigest()
