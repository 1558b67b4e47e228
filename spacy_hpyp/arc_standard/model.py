"""The joint model of transitions, tags and words."""

from collections.abc import Mapping, Sequence
from copy import copy

import numpy as np

from ..annotation.arrays import Sentences, chunks
from ..annotation.confidence import Confidence
from ..annotation.sentences import Encoder, GoldSentence, join
from ..hpyp.count_model import CHUNK, NOT_SEATED, CountModel
from ..hpyp.franchise import Franchise, new_franchise
from ..hpyp.pool import Pool, Weights
from ..hpyp.spelling import Spelling, spell
from ..stored import Message
from ..text.vocabulary import VocabularySettings
from .configuration import DIRECTIONS, FIRST_SYMBOL, action_count
from .contexts import with_classes
from .derivations import TreeLogProbs, tree_log_probs
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

# The number of a sentence's probabilities to cache while its derivation is drawn.
_REMEMBERED = 256


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
        """Whether transitions are factored, and pools of experts predict all distributions."""
        is_plain = [each.is_plain for each in self.conditionals.values()]
        return self.is_factored and not any(is_plain)

    @property
    def sizes(self) -> dict[str, int]:
        """See `CountModel`."""
        labels = len(self.labels)
        transitions = DIRECTIONS if self.is_factored else action_count(labels)
        sizes = transitions, max(1, labels), max(1, len(self.tags)), len(self.vocabulary)
        return dict(zip(DISTRIBUTIONS, sizes))

    def _new_franchise(self, name: str) -> Franchise:
        columns = self.conditionals[name].columns
        return new_franchise(columns, self.sizes[name], one_table=self.one_table)

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
        other = copy(self)
        other._seat({})
        other._tables = self._tables_without(sentences, static_derivations(sentences), rng)
        return other

    # Derivations

    def generated(self, name: str, sentences: Sentences, derivations: Derivations) -> Generated:
        """See `CountModel` and `check_classes`; of sentences only words and offsets are read."""
        self.check_classes()
        number, words = DISTRIBUTIONS.index(name), sentences.words
        return Generated(number, self.is_factored, words, derivations, sentences.offsets)

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
            learner = Distributions(*pools, *candidates)
            work = new_workspace(learner, remembered=_REMEMBERED)
            for is_seated, start, end in zip(seated[some], chunk.offsets, chunk.offsets[1:]):
                words, _, heads, labels = (column[start:end] for column in chunk[:4])
                tags = derivations.tags[start:end]
                found = Derivations(derivations.actions[2 * start : 2 * end], tags)
                tree = (tags, heads, labels) if given_trees else None
                task = sampling_task(learner, work, words, particles, tree)
                if not visit_latent(task, found, is_seated, rng, totals, self.draws):
                    raise ValueError(NOT_SEATED)
        return dict(zip(self.conditionals, totals.tolist())), gradient

    def predicting(self, pools: Mapping[str, Pool]) -> Distributions:
        """See `CountModel`."""
        self.check_classes()
        vocabulary = self.vocabulary
        # Forms that are not generated are not observed, either.
        count = len(vocabulary.tags)
        nothing_observed = p_observed = forms = np.ones((1, count))
        if vocabulary.seen and self.is_lexicalised:
            p_observed = np.concatenate([nothing_observed, vocabulary.seen.given(count)])
            if vocabulary.forms:
                forms = np.concatenate([nothing_observed, vocabulary.forms.given(count)])
        rows = len(forms) * np.minimum(vocabulary.observed + 1, len(p_observed) - 1)
        rows += np.minimum(vocabulary.observed_form + 1, len(forms) - 1)
        p_observed = (p_observed[:, None] * forms).reshape(-1, count)
        of_candidates = np.repeat(rows, np.diff(vocabulary.tag_offsets)), vocabulary.candidate_tags
        return Distributions(
            **pools,
            tag_offsets=vocabulary.tag_offsets,
            candidate_tags=vocabulary.candidate_tags,
            outcomes=vocabulary.outcomes,
            p_word_given_tag=word_probabilities(pools["word"], vocabulary)
            * p_observed[of_candidates],
            chain=tag_chain(pools["tag"]),
            observed=rows,
            p_observed=p_observed,
        )

    def tree_log_probs(
        self, sentences: Sequence[tuple[GoldSentence, np.ndarray]], *, seed: int
    ) -> TreeLogProbs:
        """Return how probable sentences are with their tags, their trees and, if the model spells
        them, the letters of rare words.

        sentences (Sequence[tuple[GoldSentence, int32[4, *]]]): Projective trees, and what the
            encoder has made of them.
        seed (int): See `arc_standard.derivations.tree_log_probs`.
        """
        if not sentences:
            return TreeLogProbs(np.empty(0), np.empty(0, dtype=bool))
        letters = [self.spell(sentence.words, rows[0]).sum() for sentence, rows in sentences]
        found = tree_log_probs(self.frozen, join([rows for _, rows in sentences]), seed=seed)
        return found._replace(log_prob=found.log_prob + np.array(letters))

    # Spelling

    def spell(self, words: Sequence[str], numbers: np.ndarray) -> np.ndarray:
        """Return `hpyp.spelling.spell` of words, given their numbers (int32[n]), in nats."""
        vocabulary = self.vocabulary
        return spell(self.spelling, len(vocabulary.words), words, vocabulary.outcomes[numbers])

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
