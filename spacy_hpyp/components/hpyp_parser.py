"""The trainable spaCy component `hpyp_parser`."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import asdict

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation.alternatives import Alternative, Marginals, distinct_parses, k_best, marginals
from ..annotation.arrays import Parses, with_letters
from ..annotation.candidates import Candidates, trees_of
from ..annotation.documents import GoldDocument, Layout, encode_docs, join, with_words, write_parses
from ..annotation.extensions import mark_uncalibrated, register_extensions
from ..annotation.guides import write_guides
from ..annotation.syntactic_words import has_multiword_tokens, words_as_tokens, write_back
from ..annotation.words import layout_of
from ..compiled import NONE
from ..inference.rounding import Search
from ..language_model.generation import LONGEST, generate_docs
from ..language_model.increments import Increment, find_increments
from ..models.architectures import thinc_model
from ..models.frozen import TreeLogProbs
from ..settings import whole
from ..training.leave_out import leave_out, without
from .alignment import annotated_document
from .factories import TAG_AND_TREE_SCORES, TREES, register
from .hpyp_training import HPYPTraining
from .scorer import score
from .settings import ParserSettings

register_extensions()

_PROBABILITIES = ("token._.log_prob", "token._.surprisal", "span._.log_prob", "doc._.log_prob")


class HPYPParser(HPYPTraining):
    """A joint tagger and parser with a generative model (Buys & Blunsom 2015).

    It sets `token.tag_`, `token.head`, `token.dep_` and sentence boundaries, and `_.log_prob` of tokens, sentences and
    documents (see `spacy_hpyp.annotation.extensions`).

    The loss is the negative log-likelihood for each token in nats. What is predicted is predicted from other sentences and what comes
    before it in its own; with sampled seatings of single experts from all the rest, see `JointModel.visit`.

    Its model is made by `spacy-hpyp.HPYPModel.v1`. Every setting is an attribute; how it is saved and overridden, `TrainableComponent` says.
    """

    factory = "hpyp_parser"
    settings_type = ParserSettings
    default_scorer = staticmethod(score)
    instead_of_score = " For the log-probability of its words with its tags and trees, call 'tree_log_prob(doc)'."

    # Settings

    def _check_settings(self, settings: ParserSettings) -> None:
        if settings.tags == "joint" and not self.joint.is_lexicalised:
            raise ValueError(
                "The model has no context list for words, and such an unlexicalised one cannot find tags. "
                'Set tags = "given" and put a tagger before it.'
            )

    @property
    def search(self) -> Search:
        """How documents are parsed."""
        return self.settings.search

    # Prediction

    def predict(self, docs: Iterable[Doc], *, search: Search | None = None) -> tuple[Layout, Parses]:
        """Parse documents without changing them.

        docs (Iterable[Doc]): Where sentence boundaries are set they are kept; elsewhere the model finds them.
        search (Search | None): How to search, instead of as the settings say.
        RETURNS (tuple[Layout, Parses]): The best trees, and where their words stand.
        RAISES (ValueError): If the component has not been trained, or should use tags that are not there.
        """
        self._check_trained()
        model, docs, settings = self.learned, list(docs), self.settings
        blocks, layout = encode_docs(docs, model.encoder, given_tags=settings.tags == "given")
        parses = self.model.predict((blocks, settings.search if search is None else search, settings.threads))
        if model.confidence is not None:
            parses = model.confidence.of(parses, blocks.offsets, model.vocabulary.is_known(blocks.words))
        return layout, with_letters(parses, model.spell_docs(docs, layout, blocks.words))

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Layout, Parses]) -> None:
        """Write parses into documents.

        docs (Iterable[Doc]): The documents that were parsed.
        scores (tuple[Layout, Parses]): What `predict` returned for them.
        """
        docs, (layout, parses) = list(docs), scores
        model = self.learned
        write_parses(docs, layout, parses, model.encoder)
        if model.confidence is None and not np.isnan(parses.head_probability).all():
            mark_uncalibrated(docs, self.name)
        if len(parses.guides.heads) == len(layout.token) and self.settings.guides:
            write_guides(docs, layout, parses.guides, model.encoder)

    def k_best(self, doc: Doc, k: int, *, labels_per_arc: int | None = None) -> list[Alternative]:
        """The best parses of a document, without changing it.

        The probability of a parse is summed over its derivations, so with several of them the first parse can be another one
        than that of the most probable derivation, which `decoding = "best"` gives.

        doc (Doc): Where sentence boundaries are set they are kept: in a parsed document, all of them.
        k (int): How many, at least 1; fewer are returned if the final beam has no more.
        labels_per_arc (int | None): How many labels of an arc are tried, instead of the setting.
        RETURNS (list[Alternative]): Copies of the document with their log-probabilities, the best parse first.
        RAISES (ValueError): If k or `labels_per_arc` is not a whole number of at least 1.
        """
        found = self.candidates(doc, k, labels_per_arc=labels_per_arc)
        return [Alternative(*each) for each in k_best(doc, found, k, with_tags=True)]

    def increments(self, doc: Doc, k: int = 5) -> list[Increment]:
        """What the beam holds after each word: parses of the words so far, and what is expected next, without changing the document.

        The search knows nothing of the words to come, whatever `outlook` is. Each sentence is read by itself.

        doc (Doc): Where sentence boundaries are set they are kept: in a parsed document, all of them. Without any it is one sentence.
        k (int): How many parses and next words, at least 1; there are fewer parses if the beam has no more.
        RETURNS (list[Increment]): Of each word, under a token or one; white space has none. Positions are those among all words and white
            space.
        RAISES (ValueError): If k is not a whole number of at least 1, or the model generates no words.
        """
        k, model = whole("k", k, least=1), self._initialized()
        given = self.tags == "given"
        return find_increments(model, [words_as_tokens(doc)], self.search, k, threads=self.threads, given_tags=given)[0]

    def candidates(self, doc: Doc, k: int, *, labels_per_arc: int | None = None) -> list[Candidates]:
        """The best parses of each sentence of a document, without changing it, see `k_best`.

        doc (Doc): Where sentence boundaries are set they are kept: in a parsed document, all of them.
        k (int): How many, at least 1; there are fewer if the final beam has no more.
        labels_per_arc (int | None): How many labels of an arc are tried, instead of the setting.
        RETURNS (list[Candidates]): Of each sentence, with log-probabilities in nats.
        RAISES (ValueError): If k or `labels_per_arc` is not a whole number of at least 1.
        """
        k = whole("k", k, least=1)
        model, doc = self._initialized(), words_as_tokens(doc)
        blocks, layout = encode_docs([doc], model.encoder, given_tags=self.tags == "given")
        sentences, posteriors = model.frozen.posteriors(blocks, self._search_of_all(labels_per_arc), self.threads)
        letters = model.spell_docs([doc], layout, blocks.words)
        found = []
        for start, end, posterior in zip(sentences.offsets, sentences.offsets[1:], posteriors):
            best = distinct_parses(posterior)[:k]
            rows = [i for _, i in best]
            tags = [[model.tags[tag] for tag in own] for own in posterior.tags[rows].tolist()]
            score = np.array([score for score, _ in best]) + letters[start:end].sum()
            trees = posterior.heads[rows], posterior.labels[rows], score
            found.append(trees_of(doc, layout.token[start:end], *trees, model.labels, self.name, tags))
        return found

    def candidate_log_probs(self, doc: Doc, candidates: Candidates) -> TreeLogProbs:
        """How probable trees of a sentence are together with their words and tags, see `tree_log_prob`.

        doc (Doc), candidates (Candidates): A sentence of it; the trees may be another parser's.
        RETURNS (TreeLogProbs): In nats; not a number where a candidate is no tree, or has tags or labels that the model does not have.
        """
        model, doc = self._initialized(), words_as_tokens(doc)
        found = TreeLogProbs(np.full(len(candidates), np.nan), np.ones(len(candidates), dtype=bool))
        encoder = model.encoder
        encoded = [
            encoder.encode(sentence) if sentence.heads.count(NONE) == 1 else ""
            for sentence in candidates.sentences(doc)
        ]
        rows = [(i, each) for i, each in enumerate(encoded) if not isinstance(each, str)]
        if rows:
            places = [i for i, _ in rows]
            own = model.frozen.tree_log_probs(join([each for _, each in rows]), seed=self.seed)
            words = [doc[i].text for i in candidates.token.tolist()]
            found.log_prob[places] = own.log_prob + model.spell(words, rows[0][1][0]).sum()
            found.exact[places] = own.exact
        return found

    def without(self, documents: Sequence[GoldDocument]) -> "HPYPParser":
        """A component like this one as if it had not been trained on some sentences, to predict with. This one stays as it is.

        documents (Sequence[GoldDocument]): Gold sentences; it need not have learned from them.
        RAISES (ValueError): If the component has not been trained, or has latent derivations.
        """
        model = self._initialized()
        rng = np.random.default_rng([self.seed, model.progress.steps, 3])
        others = copy(without(model, documents, rng, threads=self.threads))
        return HPYPParser(self.vocab, thinc_model(others), self.name, scorer=self.scorer, **asdict(self.settings))

    def posterior(self, doc: Doc, *, labels_per_arc: int | None = None) -> Marginals:
        """How probable each head, label and tag is, given the words, without changing the document.

        doc (Doc): Where sentence boundaries are set they are kept.
        labels_per_arc (int | None): How many labels of an arc are tried, instead of the setting; the others have the
            probability 0.
        RETURNS (Marginals): Probabilities of the words' heads, labels and tags.
        RAISES (ValueError): If `labels_per_arc` is not a whole number of at least 1.
        """
        model, doc = self._initialized(), words_as_tokens(doc)
        blocks, layout = encode_docs([doc], model.encoder, given_tags=self.tags == "given")
        shares = model.frozen.mixture(blocks, self._search_of_all(labels_per_arc), self.threads)
        return marginals(doc, layout, shares, model.encoder)

    def _search_of_all(self, labels_per_arc: int | None) -> Search:
        settings = self.settings if labels_per_arc is None else self._changed({"labels_per_arc": labels_per_arc})
        return settings.search._replace(marginals=True)

    def leave_out(
        self, examples: Iterable[Example], *, folds: int = 10, progress: Callable[[int], None] = lambda words: None
    ) -> tuple[list[Doc], int]:
        """Gold documents with guides (`doc._.guide`) as if the component had not been trained on their sentences.

        The sentences are taken out of a copy of the model, a part of them after the other, and parsed by what is left, each by
        itself. See `spacy_hpyp.training.leave_out`.

        examples (Iterable[Example]): What the component was trained on.
        folds (int): How many parts there are, at least 2.
        progress (Callable[[int], None]): Called with the number of words whenever some have been annotated.
        RETURNS (tuple[list[Doc], int]): New documents with the gold annotation on the tokens that `tokens` says, and how many of
            their sentences the component has learned from; the others are parsed by it as it is.
        RAISES (ValueError): If the component has not been trained, or not on these examples, or with latent derivations.
        """
        folds = whole("folds", folds, least=2)
        model = self._initialized()
        examples = list(examples)
        docs, gold, places = [], [], []
        for example in self._examples(examples, "leave_out"):
            doc, sentences, tokens = annotated_document(example, self.tokens)
            docs.append(doc)
            gold.append(GoldDocument(doc.vocab, sentences))
            places.append(tokens)
        guides, learned = leave_out(
            model,
            gold,
            self._changed({"guides": True}).search,
            np.random.default_rng([self.seed, model.progress.steps, 2]),
            folds=folds,
            threads=self.threads,
            given_tags=self.tags == "given",
            progress=progress,
        )
        write_guides(docs, layout_of(places), guides, model.encoder)
        # Guides are about words; a document has the tokens over them again.
        found = [
            with_words(each.reference) if has_multiword_tokens(each.reference) else doc
            for doc, each in zip(docs, examples)
        ]
        for doc, own in zip(docs, found):
            write_back(doc, own)
        return found, learned

    def generate(
        self, count: int, *, begin_with: Sequence[str] | str = (), max_length: int = 60, seed: int = 0
    ) -> Iterator[Doc]:
        """Draw sentences from the model, with their tags and trees.

        Rare words are known to the model by their class. With `spelling`, such a word is spelled out: letters are drawn given
        the class until they are those of a word of this class (`spacy_hpyp.models.spelling`). Without it, or where they never
        are, it is written as the name of the class in angle brackets. A sentence is drawn from the model's distribution given
        that it is not too long, and in a model whose labels are part of the actions, given that all actions are ones that
        exist. Spaces follow common rules of punctuation. `_.log_prob` and surprisals are those of the words, as after parsing:
        they do not depend on which of their derivations was drawn.

        count (int): How many sentences.
        begin_with (Sequence[str] | str): Words that all of them begin with; a string is divided at white space. What a
            word is attached to and tagged as is drawn by a particle filter with the component's number of particles.
        max_length (int): The most words of a sentence.
        seed (int): Fixes the sentences. The first ones are the same for every count.
        RETURNS (Iterator[Doc]): One sentence in each.
        RAISES (ValueError): If the component has not been trained or generates no words, if a setting is out of its range,
            or if no sentence that is short enough is found.
        """
        model = self._initialized()
        if not model.is_lexicalised:
            raise ValueError(
                f"The component '{self.name}' has no context list for words: an unlexicalised model generates tags only."
            )
        count, max_length = whole("count", count), whole("max_length", max_length, highest=LONGEST)
        words = begin_with.split() if isinstance(begin_with, str) else list(begin_with)
        if any(not word or word.isspace() for word in words):
            raise ValueError("'begin_with' has a word that is empty or white space, which no sentence begins with.")
        if len(words) > max_length:
            raise ValueError(
                f"'begin_with' has {len(words)} words, but sentences are to have {max_length} at the most."
            )
        return generate_docs(
            model,
            self.vocab,
            count,
            begin_with=words,
            max_length=max_length,
            seed=whole("seed", seed, least=0),
            search=self.search,
            threads=self.threads,
        )

    def tree_log_prob(self, doc: Doc) -> float:
        """How probable the words of a document are together with its tags and trees, which anybody may have given it.

        doc (Doc): With a tag for every word, and complete trees.
        RETURNS (float): The log-probability in nats, summed over the derivations of the trees (B&B section 2). There is a warning if that
            is an estimate; which sentences it is of `sentence_log_probs` says.
        RAISES (ValueError): If a sentence has not all tags and a tree, or some that the model does not have.
        """
        found = self.sentence_log_probs(doc)
        if estimated := int(np.sum(~found.exact)):
            warnings.warn(
                f"The log-probability is an estimate: {estimated} of {len(found.exact)} sentences have more derivations than can be summed "
                f"up. Which ones, 'sentence_log_probs' of the component '{self.name}' says.",
                stacklevel=2,
            )
        return float(found.log_prob.sum())

    def sentence_log_probs(self, doc: Doc) -> TreeLogProbs:
        """How probable the words of each sentence are together with its tags and its tree, see `tree_log_prob`.

        doc (Doc): With a tag for every word, and complete trees.
        RETURNS (TreeLogProbs): In nats, and for which sentences it is an exact sum.
        RAISES (ValueError): If a sentence has not all tags and a tree, or some that the model does not have.
        """
        sentences, model = self._encoded(doc), self.joint
        if not sentences:
            return TreeLogProbs(np.empty(0), np.empty(0, dtype=bool))
        letters = [float(model.spell(sentence.words, rows[0]).sum()) for sentence, rows in sentences]
        found = model.frozen.tree_log_probs(join([rows for _, rows in sentences]), seed=self.seed)
        return found._replace(log_prob=found.log_prob + np.array(letters))


make_hpyp_parser = register(
    HPYPParser,
    assigns=["token.tag", *TREES, "token._.tag_prob", *_PROBABILITIES, "doc._.guide"],
    scores=TAG_AND_TREE_SCORES,
)
