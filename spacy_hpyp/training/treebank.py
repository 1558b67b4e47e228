"""The training sentences between documents and the Gibbs sampler.

A sentence is recognised again by its content, so that it does not matter who made the document. That is how the sampler knows
which sentences are seated, how they are derived, and when a sweep over the corpus is complete.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from ..annotation.arrays import Sentences
from ..annotation.calibration import PUNCTUATION
from ..annotation.confidence import (
    UNLEARNED_TAGS,
    Confidence,
    Passage,
    features,
    learn,
    running_text,
    tag_features,
)
from ..annotation.documents import UNLABELLED, GoldDocument, GoldSentence, join, read_gold
from ..arc_standard.events import static_derivations
from ..compiled import NONE
from ..inference.division import Search
from ..models.joint_model import JointModel
from ..models.spelling import Spelling
from ..pools.pool import Weights
from ..text.vocabulary import Vocabulary

# Confidence is learned from about so many tokens that are visited: from some of a sweep, or from all of a small treebank after several
# sweeps. Of the treebank no more than one token in so many is taken out at a time, unless a sentence is longer than that.
_PASSAGE_TOKENS = 5000
_FOLDS = 5


@dataclass(frozen=True)
class GoldCorpus:
    """The sentences of a corpus that can be learned from.

    sentences (dict[bytes, GoldSentence]): By what identifies their content.
    copies (Counter[bytes]): How often each occurs.
    skipped (Counter[str]): How many cannot be learned from, by what is wrong with them.
    """

    sentences: dict[bytes, GoldSentence] = field(default_factory=dict)
    copies: Counter[bytes] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)

    @classmethod
    def read(cls, documents: Iterable[GoldDocument]) -> "GoldCorpus":
        """Read the sentences of documents."""
        corpus = cls()
        for document in documents:
            for raw in document.sentences:
                key = raw.key
                if key not in corpus.sentences:
                    sentence = read_gold(raw, document.vocab)
                    if isinstance(sentence, str):
                        corpus.skipped[sentence] += 1
                        continue
                    corpus.sentences[key] = sentence
                corpus.copies[key] += 1
        return corpus

    def label_data(self) -> dict[str, list[str]]:
        """The tags and labels that occur."""
        tags, labels = set(), set()
        for sentence in self.sentences.values():
            tags.update(sentence.tags)
            labels.update(label for label, head in zip(sentence.labels, sentence.heads) if head != NONE)
        return {"tags": sorted(tags), "labels": sorted(labels)}

    def initialize(self, model: JointModel, label_data: dict[str, list[str]], *, seed: int = 0) -> None:
        """Give a model its alphabets: tags and labels, and the vocabulary of the sentences that have no other tags.

        If rare words are to be spelled out, their spelling is learned.

        seed (int): Fixes the spelling.
        """
        tags = {tag: number for number, tag in enumerate(label_data["tags"])}
        usable = {key: sentence for key, sentence in self.sentences.items() if tags.keys() >= set(sentence.tags)}
        words = (
            (sentence.words, [tags[tag] for tag in sentence.tags])
            for key, sentence in usable.items()
            for _ in range(self.copies[key])
        )
        vocabulary = Vocabulary.collect(words, label_data["tags"], model.vocabulary_settings)
        model.initialize(label_data["labels"] if model.labelled else [UNLABELLED], vocabulary)
        if model.spelled and model.is_lexicalised:
            types = {word for sentence in usable.values() for word in sentence.words}
            model.spelling = Spelling.learn(vocabulary, types, np.random.default_rng([seed, 0, 4]))


@dataclass
class Batch:
    """Sentences to be visited.

    keys (list[bytes]): What identifies them.
    rows (list[int32[4, *]]): Their words, tags, heads and labels.
    seated (list[bool]): Whether they are seated.
    passages (list[Passage]): Those of them that confidence is to be learned from.
    met (bool): Whether all of them, and those that are skipped, have been met before.
    """

    keys: list[bytes] = field(default_factory=list)
    rows: list[np.ndarray] = field(default_factory=list)
    seated: list[bool] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    met: bool = True


@dataclass
class NewSentences:
    """Sentences that a model is trained on although it was not initialized with them.

    sentences (int): How many.
    skipped (int): How many of them have tags or labels that the model does not have.
    words (Counter[str]): Their words.
    """

    sentences: int = 0
    skipped: int = 0
    words: Counter[str] = field(default_factory=Counter)

    def add(self, sentence: GoldSentence, *, skipped: bool) -> None:
        """Count a sentence."""
        self.sentences += 1
        self.skipped += skipped
        self.words.update(sentence.words)

    def lost(self, vocabulary: Vocabulary, min_count: int) -> int:
        """How many tokens, at least, are unknown words that would be known in a vocabulary made with these sentences."""
        known = set(vocabulary.words)
        return sum(count for word, count in self.words.items() if count >= min_count and word not in known)


class Treebank:
    """The sentences that a model is trained on, as far as they are known.

    How far a sweep over them is, the model itself knows (`Progress.sweep`): it is saved with it.

    model (JointModel): The model.
    """

    def __init__(self, model: JointModel) -> None:
        self.model = model
        self.skipped: Counter[str] = Counter()
        self.encoded: dict[bytes, np.ndarray | None] = {}
        self.new = NewSentences()

    @classmethod
    def of_corpus(cls, model: JointModel, corpus: GoldCorpus) -> "Treebank":
        """The sentences of a corpus."""
        treebank = cls(model)
        encoder = model.encoder
        for key, sentence in corpus.sentences.items():
            if treebank._remember(key, encoder.encode(sentence, learned=True), corpus.copies[key]) is not None:
                treebank.copies[key] = corpus.copies[key]
        treebank.skipped.update(corpus.skipped)
        return treebank

    @property
    def copies(self) -> Counter[bytes]:
        """How often each sentence occurs, see `Sweep`."""
        return self.model.progress.sweep.copies

    @property
    def size(self) -> int:
        """How many sentences there are, with those that are skipped."""
        return self.copies.total() + self.skipped.total()

    def _remember(self, key: bytes, encoded: np.ndarray | str, count: int) -> np.ndarray | None:
        if isinstance(encoded, str):
            self.skipped[encoded] += count
        self.encoded[key] = None if isinstance(encoded, str) else encoded
        return self.encoded[key]

    def batch(self, documents: Iterable[GoldDocument]) -> Batch:
        """The sentences of documents, to be visited; those that are not seated are then, see `visit`."""
        batch = Batch()
        encoder = self.model.encoder
        seated, added = self.model.progress.seated, Counter[bytes]()
        for document in documents:
            passage = Passage([], [])
            for raw in document.sentences:
                key = raw.key
                if key not in self.encoded:
                    sentence = read_gold(raw, document.vocab)
                    encoded = sentence if isinstance(sentence, str) else encoder.encode(sentence, learned=True)
                    self._remember(key, encoded, 1)
                    batch.met = False
                    if self.copies[key] == 0 and not isinstance(sentence, str):
                        self.new.add(sentence, skipped=self.encoded[key] is None)
                rows = self.encoded[key]
                if rows is None:
                    continue
                batch.seated.append(seated.get(key, 0) + added[key] >= max(1, self.copies[key]))
                added[key] += not batch.seated[-1]
                batch.rows.append(rows)
                batch.keys.append(key)
                if batch.seated[-1]:
                    passage.keys.append(key)
                    passage.rows.append(rows)
            batch.passages += self._sampled(passage)
        return batch

    def _sampled(self, passage: Passage) -> list[Passage]:
        """What confidence is to be learned from of a passage: parts that their content chooses, others in each sweep."""
        model, progress = self.model, self.model.progress
        if not passage.keys:
            return []
        # A file can say anything.
        tokens = max(1, progress.tokens)
        if model.confidence is not None and progress.sweeps % -(-_PASSAGE_TOKENS // tokens):
            return []
        every = -(-tokens // _PASSAGE_TOKENS)
        longest = max(1, min(tokens, _PASSAGE_TOKENS) // _FOLDS)
        own = sum(rows.shape[1] for rows in passage.rows)
        return [
            Passage(passage.keys[run], passage.rows[run])
            for run in _runs([[rows] for rows in passage.rows], own // max(1, own // longest))
            if (int.from_bytes(passage.keys[run.start][:4], "big") + progress.sweeps) % every == 0
        ]

    def passages(self) -> list[Passage]:
        """The passages that have been kept; a sentence that is seated once is in one of them only."""
        taken: Counter[bytes] = Counter()
        found = []
        for passage in self.model.progress.sweep.passages:
            wanted = taken + Counter(passage.keys)
            if all(count <= self.model.progress.seated.get(key, 0) for key, count in wanted.items()):
                taken = wanted
                found.append(passage)
        return found


def learn_confidence(
    model: JointModel,
    passages: list[Passage],
    search: Search,
    rng: np.random.Generator,
    *,
    threads: int,
    given_tags: bool,
) -> None:
    """Learn how sure to be of arcs, from passages as the model without them parses them.

    passages (list[Passage]): Of sentences that are seated; without any, nothing is learned.
    search (Search): How they are parsed, with `marginals`.
    rng (numpy.random.Generator): The source of randomness.
    threads (int): How many threads share the work.
    given_tags (bool): Whether they are parsed with the gold tags.
    """
    if not passages:
        return
    vocabulary = model.vocabulary
    seen = model.seating.word_counts() if model.is_lexicalised else None
    punctuation = [number for number, label in enumerate(model.labels) if label.lower() in PUNCTUATION]
    arcs, tags = [], []
    for run in _runs([passage.rows for passage in passages], model.progress.tokens // _FOLDS):
        fold = passages[run]
        sentences = join([rows for passage in fold for rows in passage.rows])
        blocks, heads = running_text(fold)
        if given_tags:
            blocks = blocks._replace(tags=sentences.tags)
        if seen is not None:
            # What is seen nowhere else is new to what is left.
            elsewhere = seen - np.bincount(blocks.words, minlength=len(seen))
            words = vocabulary.numbers_by_counts(blocks.words, elsewhere, model.vocabulary_settings.min_count)
            blocks = blocks._replace(words=words)
        parses = model.without(sentences, rng, threads).frozen.decode(blocks, search, threads)
        counted = ~np.isin(sentences.labels, punctuation)
        arcs.append((features(parses, blocks.offsets)[counted], (parses.heads == heads)[counted]))
        tags.append((tag_features(parses, vocabulary.is_known(blocks.words)), parses.tags == sentences.tags))
    model.confidence = Confidence(
        learn(*map(np.concatenate, zip(*arcs))),
        UNLEARNED_TAGS if given_tags else learn(*map(np.concatenate, zip(*tags)), UNLEARNED_TAGS),
    )


def _runs(sentences: Sequence[Sequence[np.ndarray]], longest: int) -> Iterator[slice]:
    """Runs of consecutive lists of sentences, of about so many tokens each, of one list at least."""
    ends = np.cumsum([sum(rows.shape[1] for rows in each) for each in sentences])
    for _, run in groupby(range(len(ends)), key=lambda i: (ends[i] - 1) // max(1, longest)):
        places = list(run)
        yield slice(places[0], places[-1] + 1)


def visit(
    model: JointModel,
    batch: Batch,
    rng: np.random.Generator,
    *,
    latent: str = "nothing",
    particles: int = 1,
    threads: int = 1,
) -> tuple[dict[str, float], dict[str, Weights]]:
    """A Gibbs step for each sentence of a batch, and for its derivation if that is latent; those that are not seated are from now on.

    A sentence has the derivation of the static oracle until another one has been drawn.

    latent (str): "nothing"; "derivations", given the trees and tags; or "parses", given the words.
    particles (int): How many particles a derivation is drawn with.
    threads (int): How many threads share the distributions where nothing is latent.
    RETURNS (tuple): See `Seating.visit`.
    RAISES (ValueError): If the model has not seated the sentences as it says.
    """
    sentences = join(batch.rows)
    derivations = static_derivations(sentences)
    seated = np.array(batch.seated)
    drawn = []
    for i, path in _stored_paths(model, batch, sentences):
        start, end = sentences.offsets[i], sentences.offsets[i + 1]
        derivations.actions[2 * start : 2 * end] = path[: 2 * (end - start)]
        derivations.tags[start:end] = path[2 * (end - start) :]
        drawn.append(i)
    if latent == "nothing":
        found = model.seating.visit(sentences, derivations, seated, model.weights, rng, threads)
    else:
        given_trees = latent == "derivations"
        found = model.seating.visit_latent(
            sentences, derivations, seated, model.weights, rng, given_trees=given_trees, particles=particles
        )
        drawn = np.flatnonzero(seated).tolist()
    progress = model.progress
    for key, was_seated in zip(batch.keys, batch.seated):
        if not was_seated:
            progress.seated[key] = progress.seated.get(key, 0) + 1
            progress.sweep.copies[key] = max(progress.sweep.copies[key], progress.seated[key])
    progress.tokens += int(np.diff(sentences.offsets)[~seated].sum())
    progress.sweep.passages += batch.passages
    for i in drawn:
        start, end = sentences.offsets[i], sentences.offsets[i + 1]
        path = np.concatenate([derivations.actions[2 * start : 2 * end], derivations.tags[start:end]])
        progress.derivations.setdefault(batch.keys[i], []).append(path)
    return found


def _stored_paths(model: JointModel, batch: Batch, sentences: Sentences) -> list[tuple[int, np.ndarray]]:
    """Take the derivations that have been drawn for seated sentences out of the model."""
    found = []
    for i, (key, length) in enumerate(zip(batch.keys, np.diff(sentences.offsets))):
        paths = model.progress.derivations.get(key)
        if batch.seated[i] and paths:
            path = paths.pop()
            if len(path) != 3 * length:
                raise ValueError("The model has a derivation of another sentence in place of a training sentence's.")
            found.append((i, path))
    return found
