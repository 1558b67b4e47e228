"""Training sentences, recognised by their content.

So a model knows which sentences are seated, how they are derived, and when a sweep over the corpus
is complete.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from ..annotation.sentences import GoldDocument, GoldSentence, RawSentence, join, read_gold
from ..arc_standard.distributions import static_derivations
from ..compiled import NONE
from ..hpyp.pool import Weights
from ..text.tag_classes import TagClasses
from ..text.vocabulary import Vocabulary, VocabularySettings

Made = TypeVar("Made")

# The number of consecutive sentences to leave out together, or fewer in a small treebank. On EWT,
# 84.6 % of the heads are right then, and 84.2 % on dev. Leaving out every tenth document of ten
# sentences, while others of the same text stay, gives 85.8 %.
_STRETCH = 200
# The number of particles to draw a latent derivation with, as in the paper.
_PARTICLES = 100


class Seen(Generic[Made]):
    """Training data seen so far, by content, and what was made of them."""

    def __init__(self) -> None:
        # Or the reason why the content cannot be learned.
        self.made: dict[bytes, Made | str] = {}
        # One, unless a corpus was read.
        self.copies: Counter[bytes] = Counter()

    def take(self, key: bytes, make: Callable[[], Made | str]) -> Made | None:
        """Return what was made of some content, None if it cannot be learned; make it when it is
        new.
        """
        if key not in self.made:
            made = make()
            self.copies[key], self.made[key] = 1, made
        made = self.made[key]
        return None if isinstance(made, str) else made

    @property
    def usable(self) -> dict[bytes, Made]:
        """The sentences that can be learned, in order."""
        return {key: made for key, made in self.made.items() if not isinstance(made, str)}

    @property
    def skipped(self) -> Counter[str]:
        """The number of skipped items, by reason."""
        found: Counter[str] = Counter()
        for key, made in self.made.items():
            if isinstance(made, str):
                found[made] += self.copies[key]
        return found


class GoldCorpus(Seen[GoldSentence]):
    """The sentences of a corpus for a new model.

    If there are more than `max_tags` tags (0: never), and all words have a part of speech, classes
    replace the tags.
    """

    def __init__(self, documents: Iterable[GoldDocument], max_tags: int = 0) -> None:
        super().__init__()
        for raw in chain.from_iterable(documents):
            key = raw.key
            self.copies[key] += key in self.made
            self.take(key, partial(read_gold, raw))
        self.tag_classes: TagClasses | None = None
        sentences = self.usable
        tags = {tag for each in sentences.values() for tag in each.tags}
        if 0 < max_tags < len(tags) and all(all(each.classes) for each in sentences.values()):
            self.tag_classes = TagClasses.learn(
                token
                for key, each in sentences.items()
                for token in self.copies[key] * [*zip(each.words, each.tags, each.classes)]
            )
            for key, each in sentences.items():
                self.made[key] = replace(each, tags=[*each.classes])

    def label_data(self) -> dict[str, list[str]]:
        """Return the sorted tags and labels of usable sentences, without the root's label."""
        sentences = self.usable.values()
        tags = {tag for each in sentences for tag in each.tags}
        arcs = ((label, head) for each in sentences for label, head in zip(each.labels, each.heads))
        labels = {label for label, head in arcs if head != NONE}
        return {"tags": sorted(tags), "labels": sorted(labels)}

    def vocabulary(
        self, tags: Sequence[str], settings: VocabularySettings, *, uncased: bool = False
    ) -> Vocabulary:
        """Return the vocabulary of the sentences that have no other tags."""
        numbers, words = {tag: number for number, tag in enumerate(tags)}, []
        for key, sentence in self.with_tags(tags).items():
            forms = [word.lower() for word in sentence.words] if uncased else sentence.words
            words += [(forms, [numbers[tag] for tag in sentence.tags])] * self.copies[key]
        vocabulary = Vocabulary.collect(words, tags, settings)
        vocabulary.tag_classes = self.tag_classes
        return vocabulary

    def with_tags(self, tags: Sequence[str]) -> dict[bytes, GoldSentence]:
        """Return the usable sentences that have no other tags."""
        known = set(tags)
        return {
            key: sentence for key, sentence in self.usable.items() if known >= set(sentence.tags)
        }


class Treebank(Seen[np.ndarray]):
    """The known training sentences of a count model as int32[4, *]: words, tags, heads and labels.

    model (Any): With an `encoder`, and the state of the sweep, `hpyp.training_state.Progress`.
    """

    #: Further arguments of `encoder.encode`.
    encoding: ClassVar[dict[str, Any]] = {}

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def begin(self, corpus: GoldCorpus) -> None:
        """Take all sentences of the corpus that fit the model's alphabets."""
        for key, sentence in corpus.made.items():
            if self.take(key, partial(self._encode, sentence)) is not None:
                self.model.progress.copies[key] = corpus.copies[key]
        self.copies = Counter(corpus.copies)

    @property
    def size(self) -> int:
        """The number of sentences, including skipped ones."""
        return self.model.progress.copies.total() + self.skipped.total()

    def rows(self, documents: Iterable[GoldDocument]) -> list[tuple[bytes, np.ndarray]]:
        """Return the keys and rows of the usable sentences of documents."""
        found = ((raw.key, self.rows_of(raw.key, raw)) for raw in chain.from_iterable(documents))
        return [(key, rows) for key, rows in found if rows is not None]

    def rows_of(self, key: bytes, sentence: RawSentence) -> np.ndarray | None:
        """Return the rows of a sentence with its key, None if it cannot be learned."""
        return self.take(key, lambda: self._encode(read_gold(sentence)))

    def _encode(self, sentence: GoldSentence | str) -> np.ndarray | str:
        if isinstance(sentence, str):
            return sentence
        return self.model.encoder.encode(sentence, **self.encoding)


class BatchSentence(NamedTuple):
    """A sentence to be visited."""

    key: bytes
    rows: np.ndarray  # int32[4, *]: words, tags, heads and labels
    is_seated: bool


class JointTreebank(Treebank):
    """The sentences that a joint model is trained on."""

    encoding: ClassVar = {"learned": True}

    def batch(self, documents: Iterable[GoldDocument]) -> list[BatchSentence]:
        """Return the sentences of documents for `visit`, which seats those not yet seated."""
        batch, progress, added = [], self.model.progress, Counter[bytes]()
        for key, rows in self.rows(documents):
            is_seated = progress.seated.get(key, 0) + added[key] >= max(1, progress.copies[key])
            added[key] += not is_seated
            batch.append(BatchSentence(key, rows, is_seated))
        return batch

    def visit(
        self,
        batch: Sequence[BatchSentence],
        rng: np.random.Generator,
        *,
        latent: str | None,
        threads: int,
    ) -> tuple[dict[str, float], dict[str, Weights]]:
        """Take a Gibbs step for each sentence of a batch, and for its derivation if that is latent;
        add those that are not seated. A sentence has the derivation of the static oracle until
        another one has been drawn.

        latent (str | None): None; "derivations", given trees and tags; or "parses", given words.
        threads (int): Read if `latent` is None.
        RETURNS (tuple): See `CountModel.gibbs_step`.
        RAISES (ValueError): If the model has not seated the sentences as it says.
        """
        keys, rows, are_seated = zip(*batch)
        sentences, seated = join(rows), np.array(are_seated)
        derivations = static_derivations(sentences)
        ends = sentences.offsets[1:-1]
        places = [*zip(np.split(derivations.actions, 2 * ends), np.split(derivations.tags, ends))]
        model, progress, visited = self.model, self.model.progress, np.flatnonzero(seated)
        taken = progress.take_drawn([keys[i] for i in visited], [places[i] for i in visited])
        step = sentences, derivations, seated, rng
        if latent is None:
            found = model.gibbs_step(*step, threads)
            visited = visited[taken]
        else:
            given_trees = latent == "derivations"
            found = model.latent_step(*step, given_trees=given_trees, particles=_PARTICLES)
        for key, _, was_seated in batch:
            if not was_seated:
                progress.seated[key] = progress.seated.get(key, 0) + 1
                progress.copies[key] = max(progress.copies[key], progress.seated[key])
        progress.tokens += int(np.diff(sentences.offsets)[~seated].sum())
        for i in visited:
            progress.keep_drawn(keys[i], places[i])
        return found


def assign_folds(order: Sequence[bytes], folds: int) -> list[list[bytes]]:
    """Assign stretches of sentences, given by their keys in the treebank's order, to folds in turn;
    return the distinct keys of each fold.
    """
    stretches = folds * -(-len(order) // (folds * _STRETCH))
    fold_of: dict[bytes, int] = {}
    for number, key in enumerate(order):
        fold_of.setdefault(key, number * stretches // len(order) % folds)
    return [[key for key, own in fold_of.items() if own == fold] for fold in range(folds)]
