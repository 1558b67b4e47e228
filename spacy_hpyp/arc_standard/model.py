"""The joint model of transitions, tags and words."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from ..annotation.arrays import Sentences, chunks
from ..annotation.confidence import Confidence
from ..annotation.sentences import Encoder, GoldSentence, join
from ..hpyp.count_model import CHUNK, NOT_SEATED, CountModel
from ..hpyp.franchise import Franchise, new_franchise
from ..hpyp.pool import Pool, Weights
from ..hpyp.spelling import Spelling, spell
from ..stored import Message
from ..text.vocabulary import Vocabulary, VocabularySettings
from .configuration import DIRECTIONS, FIRST_SYMBOL, action_count
from .contexts import with_classes
from .derivations import tree_log_probability
from .distributions import (
    DISTRIBUTIONS,
    ContextLists,
    Derivations,
    Distributions,
    Generated,
    conditionals,
    static_derivations,
)
from .future_cost import tag_chain, word_probabilities
from .latent import visit_latent
from .likelihood import new_workspace
from .proposals import sampling_task
from .sampling import sample_derivation

# The largest number of configurations in the exact sum over a tree's derivations, the number of
# probabilities to cache for it, and the number of particles for an estimate.
_AFFORDABLE, _REMEMBERED, _PARTICLES = 10_000, 8192, 1000


class TreeLogProbs(NamedTuple):
    """How probable some sentences are together with their tags and trees, each summed over the
    derivations of its tree.

    log_prob (float64[n]): In nats.
    exact (bool[n]): Whether it is the sum itself and not an estimate. Where a word has very many
        dependents on both sides there are too many derivations to sum up, and a particle filter
        estimates the sum.
    """

    log_prob: np.ndarray
    exact: np.ndarray


class JointModel(CountModel):
    """A distribution over sentences with their tags, trees and derivations.

    contexts (ContextLists): The context lists of each distribution.
    labelled (bool): Whether it tells the labels of arcs apart; else all arcs have the same one.
    spelled (bool): Whether rare words are spelled out, see `spacy_hpyp.hpyp.spelling`.
    RAISES (ValueError): If a context list is invalid, see `conditionals`.

    spelling (Spelling | None): How rare words are spelled, if they are. No derivation reads it.
    confidence (Confidence | None): How posterior probabilities are to be taken, once learned.
    """

    define, with_classes = staticmethod(conditionals), staticmethod(with_classes)
    other_symbols = FIRST_SYMBOL

    def __init__(
        self,
        contexts: ContextLists,
        vocabulary_settings: VocabularySettings,
        *,
        one_table: bool = False,
        labelled: bool = True,
        spelled: bool = False,
    ) -> None:
        self.labelled = labelled
        self.spelled = spelled
        super().__init__(contexts, vocabulary_settings, one_table=one_table)

    def _forget(self) -> None:
        super()._forget()
        self.confidence: Confidence | None = None
        self.spelling: Spelling | None = None

    @property
    def is_lexicalised(self) -> bool:
        """Whether the model generates words."""
        return len(self.conditionals["word"].experts) > 0

    @property
    def is_factored(self) -> bool:
        """Whether a transition is a direction and a label."""
        return len(self.conditionals["label"].experts) > 0

    @property
    def has_pools(self) -> bool:
        """Whether all that leads to a tree is predicted by pools of experts, in factored
        transitions.
        """
        return self.is_factored and not any(
            self.conditionals[name].is_plain for name in DISTRIBUTIONS
        )

    @property
    def sizes(self) -> dict[str, int]:
        """See `CountModel`."""
        labels = len(self.labels)
        transitions = DIRECTIONS if self.is_factored else action_count(labels)
        sizes = transitions, max(1, labels), max(1, len(self.tags)), len(self.vocabulary)
        return dict(zip(DISTRIBUTIONS, sizes))

    def _new_franchise(self, name: str) -> Franchise:
        return new_franchise(
            self.conditionals[name].columns, self.sizes[name], one_table=self.one_table
        )

    @property
    def encoder(self) -> Encoder:
        """See `CountModel`."""
        return Encoder(self.vocabulary, self.labels, labelled=self.labelled)

    def held_out_copy(self, sentences: Sentences, rng: np.random.Generator) -> "JointModel":
        """The model as if it had not learned from some sentences, to predict with: it cannot learn.
        This one stays as it is.

        sentences (Sentences): Projective trees, seated with the static oracle's derivations.
        rng (numpy.random.Generator): The source of randomness.
        RAISES (ValueError): If one is not, or the model is untrained or lacks its classes.
        """
        derivations = static_derivations(sentences)
        other = copy(self)
        other._seat({})
        other._tables = self._tables_without(sentences, derivations, rng)
        return other

    # Derivations

    def generated(self, name: str, sentences: Sentences, derivations: Derivations) -> Generated:
        """See `CountModel` and `check_classes`; of sentences only words and offsets are read."""
        self.check_classes()
        return Generated(
            distribution=DISTRIBUTIONS.index(name),
            factored=self.is_factored,
            words=sentences.words,
            derivations=derivations,
            offsets=sentences.offsets,
        )

    def latent_step(
        self,
        sentences: Sentences,
        derivations: Derivations,
        seated: np.ndarray,
        rng: np.random.Generator,
        *,
        given_trees: bool,
        particles: int,
    ) -> tuple[dict[str, float], dict[str, Weights]]:
        """Take a step for the derivation of each of some sentences, and for its events.

        derivations (Derivations): Overwritten with the new derivations. Other arguments, returns
            and errors as of `gibbs_step`.
        given_trees (bool): Whether tags and trees are given; else only the words are.
        particles (int): The number of particles that draw a derivation.
        """
        weights, gradient = self._learnable()
        totals = np.zeros(len(self.conditionals))
        candidates = self.vocabulary.tag_offsets, self.vocabulary.candidate_tags
        for some, chunk in chunks(sentences, CHUNK):
            # Each sentence has a proposal besides its present derivation.
            tokens = 2 * (chunk.offsets[-1] - chunk.offsets[0])
            pools = [self.pool(name, weights[name], gradient[name], tokens) for name in weights]
            visited = visit_latent(
                Distributions(*pools, *candidates),
                chunk,
                derivations,
                seated[some],
                rng,
                totals,
                self.draws,
                given_trees=given_trees,
                particles=particles,
            )
            if visited < len(seated[some]):
                raise ValueError(NOT_SEATED)
        return dict(zip(self.conditionals, totals.tolist())), gradient

    def predicting(self, pools: Mapping[str, Pool]) -> Distributions:
        """See `CountModel`."""
        self.check_classes()
        return search_model([*pools.values()], self.vocabulary)

    def tree_log_probs(
        self, sentences: Sequence[tuple[GoldSentence, np.ndarray]], *, seed: int
    ) -> TreeLogProbs:
        """Return how probable sentences are with their tags, their trees and, if the model spells
        them, the letters of rare words.

        sentences (Sequence[tuple[GoldSentence, int32[4, *]]]): Projective trees, and what the
            encoder has made of them.
        seed (int): See `arc_standard.model.tree_log_probs`.
        """
        if not sentences:
            return TreeLogProbs(np.empty(0), np.empty(0, dtype=bool))
        letters = [self.spell(sentence.words, rows[0]).sum() for sentence, rows in sentences]
        found = tree_log_probs(self.frozen, join([rows for _, rows in sentences]), seed=seed)
        return found._replace(log_prob=found.log_prob + np.array(letters))

    # Spelling

    def spell(self, words: Sequence[str], numbers: np.ndarray) -> np.ndarray:
        """Return the log-probabilities of words given their numbers (int32[n]) in the vocabulary
        (float64[n], nats), see `hpyp.spelling.spell`.
        """
        return spell(
            self.spelling, len(self.vocabulary.words), words, self.vocabulary.outcomes[numbers]
        )

    def spell_words(
        self, forms: Sequence[str], place: np.ndarray, numbers: np.ndarray
    ) -> np.ndarray:
        """Return `spell` of words (float64[words], nats), given by their distinct forms.

        place (int64[words]), numbers (int32[words]): Their forms, and numbers in the vocabulary.
        """
        found = np.zeros(len(numbers))
        if self.spelling is None:
            return found
        rare = np.flatnonzero(numbers >= len(self.vocabulary.words))
        found[rare] = self.spell([forms[i] for i in place[rare].tolist()], numbers[rare])
        return found

    # Storage

    def _write(self) -> Message:
        return {
            **super()._write(),
            "confidence": self.confidence and [*self.confidence],
            "spelling": self.spelling and self.spelling.to_message(),
        }

    def _read(self, message: Message) -> None:
        super()._read(message)
        self.confidence = message["confidence"] and Confidence(*message["confidence"])
        # A model trained without spelling stays without it.
        if self.spelled and message["spelling"]:
            self.spelling = Spelling.from_message(message["spelling"])


def search_model(pools: Sequence[Pool], vocabulary: Vocabulary) -> Distributions:
    """Return the distributions of a search, given the pools of transitions, labels, tags and
    words.
    """
    transition, label, tag, word = pools
    tags = vocabulary.tag_offsets, vocabulary.candidate_tags
    # Forms that are not generated are not observed, either.
    count = len(vocabulary.tags)
    nothing_observed = p_observed = forms = np.ones((1, count))
    if vocabulary.seen and len(word.experts.columns):
        p_observed = np.concatenate([nothing_observed, vocabulary.seen.given(count)])
        if vocabulary.forms:
            forms = np.concatenate([nothing_observed, vocabulary.forms.given(count)])
    rows = len(forms) * np.minimum(vocabulary.observed + 1, len(p_observed) - 1)
    rows += np.minimum(vocabulary.observed_form + 1, len(forms) - 1)
    p_observed = (p_observed[:, None] * forms).reshape(-1, count)
    of_candidates = np.repeat(rows, np.diff(vocabulary.tag_offsets)), vocabulary.candidate_tags
    return Distributions(
        transition=transition,
        label=label,
        tag=tag,
        word=word,
        tag_offsets=vocabulary.tag_offsets,
        candidate_tags=vocabulary.candidate_tags,
        p_word_given_tag=word_probabilities(word, *tags, vocabulary.outcomes)
        * p_observed[of_candidates],
        chain=tag_chain(tag),
        outcomes=vocabulary.outcomes,
        observed=rows,
        p_observed=p_observed,
    )


def tree_log_probs(parser: Distributions, sentences: Sentences, *, seed: int = 0) -> TreeLogProbs:
    """The log-probability of each sentence with its tags and its tree, in nats, summed over the
    tree's derivations.

    The sum is exact where dynamic programming can afford it, and estimated by a particle filter
    elsewhere (for very few sentences, those whose words have very many dependents on both sides).

    sentences (Sentences): Trees, words as numbers of the vocabulary; -inf if not projective.
    seed (int): Fixes the estimates.
    """
    work = new_workspace(parser, remembered=_REMEMBERED)
    rng = np.random.default_rng(seed)
    count = len(sentences.offsets) - 1
    found = TreeLogProbs(np.empty(count), np.empty(count, dtype=bool))
    for i, (start, end) in enumerate(zip(sentences.offsets[:-1], sentences.offsets[1:])):
        words, *rows = (part[start:end] for part in sentences[:4])
        rows.insert(0, parser.outcomes[words])
        found.log_prob[i], found.exact[i] = tree_log_probability(parser, *rows, _AFFORDABLE, work)
        if not found.exact[i]:
            task = sampling_task(parser, work, rows[0], _PARTICLES, rows[1:])
            actions, tags = np.empty(2 * (end - start), np.int32), np.empty(end - start, np.int32)
            found.log_prob[i] = sample_derivation(task, rng, actions, tags)
        found.log_prob[i] += np.log(parser.p_observed[parser.observed[words], rows[1]]).sum()
    return found
