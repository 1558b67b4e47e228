"""The trainable spaCy component `hpyp_parser`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import asdict
from typing import Any

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Optimizer

from ..annotation.arrays import Parses, with_letters
from ..annotation.candidates import Candidates, Marginals, distinct_parses, marginals, trees_of
from ..annotation.encoding import Layout, encode_docs, layout_of, write_parses
from ..annotation.guides import write_guides
from ..annotation.sentences import UNLABELLED, GoldDocument
from ..annotation.syntactic_words import to_word_doc
from ..annotation.user_data import mark_uncalibrated
from ..arc_standard.architectures import JOINT_MODEL, thinc_model
from ..arc_standard.decoding import decode, mixture, posteriors
from ..arc_standard.derivations import TreeLogProbs
from ..arc_standard.model import JointModel
from ..arc_standard.search import ROUND, TOP, Search
from ..hpyp.count_model import weights_from
from ..hpyp.pool import Weights
from ..hpyp.spelling import Spelling
from ..interrupts import interrupts_deferred
from ..language_model.generation import check_drawing, generate_docs
from ..language_model.increments import Increment, find_increments
from ..settings import whole
from ..training.confidence import learn_confidence
from ..training.contrast import learn_contrasts
from ..training.leave_out import check_derivations, held_out_copy, leave_out
from ..training.treebank import BatchSentence, GoldCorpus, JointTreebank
from .alignment import annotated_document, example_of_shared_words, gold_sentences, with_tokens_of
from .base import LabelData
from .parsers import GibbsParser, ParserWithCandidates
from .settings import ParserSettings

# With latent variables, hyperparameters are resampled after this many sweeps (B&B section 5.1).
_LATENT_INTERVAL = 5


class HPYPParser(ParserWithCandidates, GibbsParser):
    """A joint tagger and parser with a generative model (Buys & Blunsom 2015),
    `spacy-hpyp.HPYPModel.v1`.

    It sets `token.tag_`, `token.head`, `token.dep_`, sentence boundaries, `token._.head_prob` and
    `tag_prob` where known, `_.log_prob` and surprisals of tokens, sentences and documents, and with
    `guides` `doc._.guide`. The loss is the negative log-likelihood for each token in nats.
    """

    factory = "hpyp_parser"
    settings_type = ParserSettings
    treebank_type = JointTreebank
    attribute = JOINT_MODEL
    finds_tags = True

    @property
    def joint(self) -> JointModel:
        """The probability model itself."""
        return self.learned

    def _initialized(self) -> JointModel:
        self._check_trained()
        return self.joint

    def _check_settings(self, settings: ParserSettings) -> None:
        if settings.predict_tags and not self.joint.is_lexicalised:
            raise ValueError(
                "The model is unlexicalised (no context list for words) and cannot predict tags. "
                "Set predict_tags = false and put a tagger before it."
            )

    @property
    def search(self) -> Search:
        """How documents are parsed."""
        consensus, is_beam = self.decoding == "mbr", self.decoding == "beam"
        future_cost = 0.0 if is_beam else self.future_cost
        return Search(
            particles=self.particles,
            stack_penalty=self.stack_penalty,
            marginals=consensus or self.guides,
            consensus=consensus,
            temperature=self.temperature,
            # With the paper's settings, every tag is tried.
            tag_threshold=0.0 if self.stack_penalty == future_cost == 0.0 or is_beam else 0.5,
            guides=self.guides,
            future_cost=future_cost,
            scheme=TOP if is_beam else ROUND,
        )

    @property
    def _max_tags(self) -> int:
        # A tagger before the parser gives it the treebank's tags.
        return super()._max_tags if self.predict_tags else 0

    @property
    def _parsing(self) -> dict[str, Any]:
        return {"threads": self.threads, "given_tags": not self.predict_tags}

    # Training

    def _reset_training(self) -> None:
        super()._reset_training()
        self._contrast_is_due = False

    def _begin(self, *data: Any, nlp: Language | None) -> None:
        epochs = 0 if nlp is None else nlp.config.interpolate()["training"]["max_epochs"]
        if 0 < epochs < self.contrast:
            raise ValueError(
                f"training.max_epochs is {epochs}. It must be at least 'contrast', {self.contrast}."
            )
        super()._begin(*data, nlp=nlp)

    def _initialize_model(self, model: JointModel, corpus: GoldCorpus, labels: LabelData) -> None:
        vocabulary = corpus.vocabulary(labels["tags"], model.own_settings)
        model.initialize(labels["labels"] if model.labelled else [UNLABELLED], vocabulary)
        if model.spelled and model.is_lexicalised:
            sentences = corpus.with_tags(labels["tags"]).values()
            types = {word for sentence in sentences for word in sentence.words}
            rng = np.random.default_rng([self.seed, 0, 4])
            model.spelling = Spelling.learn(vocabulary, types, rng)

    def _learn_from(self, examples: list[Example], drop: float, losses: dict[str, float]) -> bool:
        batch = self._treebank.batch(gold_sentences(each, self.tokens) for each in examples)
        if not batch or not self._step(batch, losses):
            return False
        self._warn_of_skipped(self._treebank.skipped, self._treebank.size)
        return True

    def _visit(
        self, batch: list[BatchSentence], rng: np.random.Generator
    ) -> tuple[dict[str, float], dict[str, Weights], int, bool]:
        model, latent = self.joint, self.latent if self._is_latent else None
        found = self._treebank.visit(batch, rng, latent=latent, threads=self.threads)
        # Weights learned from new sentences do not fit the model's later predictions.
        are_seated = all(each.is_seated for each in batch)
        are_learned = are_seated and not 0 < self.contrast <= model.progress.sweeps
        return *found, sum(each.rows.shape[1] for each in batch), are_learned

    @property
    def _is_latent(self) -> bool:
        return self.latent is not None and self.joint.progress.sweeps > self.latent_after

    def _end_sweep(self, rng: np.random.Generator) -> None:
        model, progress, is_latent = self.joint, self.joint.progress, self._is_latent
        if not is_latent or progress.sweeps % _LATENT_INTERVAL == 0:
            model.resample(rng)
        progress.sweeps += 1
        if is_latent:
            util.logger.debug(
                "%s: %d of %d new derivations accepted", self.name, *model.draws[::-1]
            )
            model.draws[:] = 0
        self._contrast_is_due = progress.sweeps == self.contrast

    def finish_update(self, sgd: Optimizer) -> None:
        """Update the weights of pools, from the beam once after `contrast` sweeps."""
        super().finish_update(sgd)
        model = self.joint
        # The seating of latent derivations differs from the static oracle's derivations.
        if not self._contrast_is_due or model.progress.derivations or not model.has_pools:
            return
        keys = {name: (self.model.id, name) for name in self.model.param_names}
        averages = sgd.averages or {}
        found = {name: averages.get(key, self.model.get_param(name)) for name, key in keys.items()}
        weights, sentences = weights_from(model, found.__getitem__), self._treebank.usable
        # Ctrl-C may interrupt this. The model does not change.
        weights = learn_contrasts(
            model, sentences, weights, self.search, self._rng(5), **self._parsing
        )[0]
        with interrupts_deferred():
            model.weights = weights
            model.put_into(self.model, JOINT_MODEL)
            for name, key in keys.items():
                if key in averages:
                    averages[key] = self.model.get_param(name).copy()
            self._contrast_is_due = False
            self._end_pass()

    def _end_pass(self) -> None:
        model = self._initialized()
        # The seating of latent derivations differs from the static oracle's derivations.
        if self.search.marginals and not model.progress.derivations:
            learn_confidence(
                model, self._treebank.usable, self.search, self._rng(1), **self._parsing
            )

    # Prediction

    def predict(
        self, docs: Iterable[Doc], *, search: Search | None = None
    ) -> tuple[Layout, Parses]:
        """Parse documents without changing them.

        docs (Iterable[Doc]): Sentence boundaries that are set are kept; the model finds others.
        search (Search | None): How to read texts, see `language_model.perplexity.reading_search`.
        RETURNS (tuple[Layout, Parses]): The places of the words, and their best trees.
        RAISES (ValueError): If the component is untrained, or a tag is needed and missing.
        """
        model, docs = self._initialized(), list(docs)
        blocks, words = encode_docs(docs, model.encoder, given_tags=not self.predict_tags)
        if search is not None:
            # Reading predicts only words, without other observations of rare words.
            blocks = blocks._replace(words=model.vocabulary.outcomes[blocks.words])
        parses = decode(model.frozen, blocks, search or self.search, self.threads)
        if model.confidence is not None:
            parses = model.confidence.of(
                parses, blocks.offsets, model.vocabulary.is_known(blocks.words)
            )
        letters = model.spell_words(words.forms, words.place, blocks.words)
        return words.layout, with_letters(parses, letters)

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Layout, Parses]) -> None:
        """Write parses into documents."""
        docs, (layout, parses) = list(docs), scores
        model = self.learned
        write_parses(docs, layout, parses, model.encoder, given_tags=not self.predict_tags)
        if model.confidence is None and not np.isnan(parses.head_probability).all():
            mark_uncalibrated(docs, self.name)
        if len(parses.guides.heads) == len(layout.token) and self.settings.guides:
            write_guides(docs, layout, parses.guides, model.encoder)

    def increments(self, doc: Doc, k: int = 5) -> list[Increment]:
        """Return the beam after each word: parses of the words so far, and expectations of the next
        word. The search knows nothing of the words to come, whatever `future_cost` is.

        doc (Doc): Sentence boundaries that are set are kept; without any it is one sentence.
        k (int): How many parses and next words, at least 1; the beam may have fewer parses.
        RETURNS (list[Increment]): Positions in them count words and white space.
        RAISES (ValueError): If the model is untrained or unlexicalised, a sentence is too long for
            the particles, or a tag is needed and missing.
        """
        k, model = whole("k", k, least=1), self._initialized()
        return find_increments(model, to_word_doc(doc), self.search, k, **self._parsing)

    def candidates(self, doc: Doc, k: int) -> list[Candidates]:
        """Return the best parses of each sentence, with log-probabilities in nats, each summed over
        its derivations in the final beam. RAISES (ValueError): As `predict`, or if `k` is below 1.
        """
        k = whole("k", k, least=1)
        model, doc = self._initialized(), to_word_doc(doc)
        encoder, given = model.encoder, {"given_tags": not self.predict_tags}
        blocks, words = encode_docs([doc], encoder, **given)
        search = self.search._replace(marginals=True)
        sentences, of_each = posteriors(model.frozen, blocks, search, self.threads)
        letters = model.spell_words(words.forms, words.place, blocks.words)
        found = []
        for start, end, posterior in zip(sentences.offsets, sentences.offsets[1:], of_each):
            scores, rows = map(list, zip(*distinct_parses(posterior)[:k]))
            score = np.array(scores) + letters[start:end].sum()
            trees = posterior.heads[rows], posterior.labels[rows], score
            token = words.layout.token[start:end]
            own = [doc[i] for i in token.tolist()]
            tags = [encoder.tags_of(own, tags, **given) for tags in posterior.tags[rows].tolist()]
            found.append(trees_of(doc, token, *trees, model.labels, tags))
        return found

    def held_out_copy(self, documents: Sequence[GoldDocument]) -> "HPYPParser":
        """Return a component that has not been trained on some gold sentences, to predict with.
        RAISES (ValueError): If the component is untrained or has latent derivations.
        """
        model = self._initialized()
        check_derivations(model)
        sentences = dict(JointTreebank(model).rows(documents))
        others = copy(held_out_copy(model, sentences, self._rng(3)))
        return HPYPParser(
            self.vocab, thinc_model(others), self.name, scorer=self.scorer, **asdict(self.settings)
        )

    def posterior(self, doc: Doc) -> Marginals:
        """Return how probable each head, label and tag is. Set sentence boundaries are kept."""
        model, doc = self._initialized(), to_word_doc(doc)
        blocks, words = encode_docs([doc], model.encoder, given_tags=not self.predict_tags)
        shares = mixture(model.frozen, blocks, self.search._replace(marginals=True), self.threads)
        return marginals(doc, words.layout.token, shares, model.encoder)

    def leave_out(
        self,
        examples: Iterable[Example],
        *,
        folds: int = 10,
        progress: Callable[[int], None] = lambda words: None,
    ) -> tuple[list[Doc], int]:
        """Return gold documents with guides (`doc._.guide`) as if the component had not been
        trained on their sentences.

        examples (Iterable[Example]): The training data of the component.
        folds (int): The number of parts of the sentences, each left out once; at least 2.
        progress (Callable[[int], None]): Called with the number of words annotated since.
        RETURNS (tuple[list[Doc], int]): New documents with the gold annotation on the tokens of the
            setting `tokens`, and how many of their sentences the component has learned from; the
            others are parsed along with those.
        RAISES (ValueError): If the component has been trained on less than half of the sentences,
            or with latent derivations.
        """
        folds, model = whole("folds", folds, least=2), self._initialized()
        examples = [example_of_shared_words(each, self.tokens) for each in examples]
        annotated = [
            annotated_document(each, self.tokens) for each in self._examples(examples, "leave_out")
        ]
        docs, sentences = map(list, zip(*annotated)) if annotated else ([], [])
        search = self.search._replace(marginals=True, guides=True)
        guides, learned = leave_out(
            model, sentences, search, self._rng(2), folds=folds, progress=progress, **self._parsing
        )
        layout = layout_of([[each.place for each in document] for document in sentences])
        write_guides(docs, layout, guides, model.encoder)
        # Guides are about words. Give each document its tokens back.
        return [with_tokens_of(each.predicted, doc) for each, doc in zip(examples, docs)], learned

    def generate(self, count: int, *, max_length: int = 60, seed: int = 0) -> Iterator[Doc]:
        """Draw `count` sentences with their tags and trees, given that they are not too long.

        max_length (int): The most words of a sentence, from 1 to 10,000.
        seed (int): Fixes the sentences. The first ones are the same for every count.
        RETURNS (Iterator[Doc]): One sentence in each, with `_.log_prob` and surprisals as after
            parsing. With `spelling`, rare words are spelled out; else they are the name of their
            class in angle brackets.
        RAISES (ValueError): If the model has not been trained or generates no words, an argument is
            out of range, or, during iteration, no sentence is found.
        """
        model = self._initialized()
        if not model.is_lexicalised:
            raise ValueError(
                f"The component '{self.name}' is unlexicalised and generates tags only. Give "
                "'word' a context list and train again."
            )
        count, max_length, seed = check_drawing(count, max_length, seed)
        drawing = {"max_length": max_length, "seed": seed, "search": self.search}
        return generate_docs(model, self.vocab, count, threads=self.threads, **drawing)

    def tree_log_prob(self, doc: Doc) -> float:
        """Return the log-probability of the words of a document with its tags and trees, in nats,
        summed over the derivations of the trees (B&B section 2). See `sentence_log_probs` for
        whether the sum is exact.

        RAISES (ValueError): If the model is untrained, or a sentence lacks tags or a complete tree,
            or has tags or labels that the model does not have.
        """
        return float(self.sentence_log_probs(doc).log_prob.sum())

    def sentence_log_probs(self, doc: Doc) -> TreeLogProbs:
        """Return `tree_log_prob` of each sentence, and for which sentences it is an exact sum."""
        return self.joint.tree_log_probs(self._encoded(doc), seed=self.seed)
