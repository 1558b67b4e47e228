"""The training sentences of a head-outward model, with trees and without.

A sentence is recognised again by its content, as in `training.treebank`. One without a tree is a row of words and tags whose heads are
all `NONE`; what has been drawn for it is kept with the model (`Progress.derivations`).
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ..annotation.arrays import Sentences
from ..annotation.documents import GoldDocument, GoldSentence, join, read_gold, read_tagged
from ..compiled import NONE
from ..head_outward.contexts import DISTRIBUTIONS
from ..models.head_outward_model import HeadOutwardModel
from ..pools.pool import Weights
from ..text.vocabulary import Vocabulary

#: Which trees are drawn: none, those that are missing, or all.
LATENT = ("nothing", "missing", "all")


@dataclass
class TreeCorpus:
    """Sentences that can be learned from, as far as they are known.

    latent (str): One of `LATENT`.
    longest (int): Trees of longer sentences are not drawn.

    sentences (dict[bytes, GoldSentence]): By what identifies them.
    copies (Counter[bytes]): How often each occurs.
    skipped (Counter[str]): How many cannot be learned from, by what is wrong with them.
    """

    latent: str
    longest: int
    sentences: dict[bytes, GoldSentence] = field(default_factory=dict)
    copies: Counter[bytes] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)

    def read(self, documents: Iterable[GoldDocument]) -> list[bytes]:
        """Read the sentences of documents. Returns what identifies those that can be learned from."""
        found = []
        for document in documents:
            for raw in document.sentences:
                key = raw.key
                if key not in self.sentences:
                    sentence = read_gold(raw, document.vocab)
                    if isinstance(sentence, str) and self.latent != "nothing":
                        sentence = read_tagged(raw, document.vocab)
                        if not isinstance(sentence, str) and len(sentence.words) > self.longest:
                            sentence = f"of more than {self.longest} words without a tree"
                    if isinstance(sentence, str):
                        self.skipped[sentence] += 1
                        continue
                    self.sentences[key] = sentence
                self.copies[key] += 1
                found.append(key)
        return found

    def label_data(self) -> dict[str, list[str]]:
        """The tags and labels that occur."""
        tags, labels = set(), set()
        for sentence in self.sentences.values():
            tags.update(sentence.tags)
            labels.update(label for label, head in zip(sentence.labels, sentence.heads) if head != NONE)
        return {"tags": sorted(tags), "labels": sorted(labels)}

    def initialize(self, model: HeadOutwardModel, label_data: dict[str, list[str]]) -> None:
        """Give a model its alphabets: tags and labels, and the uncased vocabulary of the sentences that have no other tags."""
        tags = {tag: number for number, tag in enumerate(label_data["tags"])}
        words = (
            ([word.lower() for word in sentence.words], [tags[tag] for tag in sentence.tags])
            for key, sentence in self.sentences.items()
            if tags.keys() >= set(sentence.tags)
            for _ in range(self.copies[key])
        )
        vocabulary = Vocabulary.collect(words, label_data["tags"], model.vocabulary_settings)
        model.initialize(label_data["labels"], vocabulary)


class Sampler:
    """Visits the sentences of a corpus, batch by batch, and knows when a sweep is complete.

    model (HeadOutwardModel): What learns.
    corpus (TreeCorpus): The sentences as far as they are known; others join it when they come.
    """

    def __init__(self, model: HeadOutwardModel, corpus: TreeCorpus) -> None:
        self.model, self.corpus = model, corpus
        self._encoded: dict[bytes, np.ndarray | None] = {}
        encoder = model.encoder
        for key, sentence in corpus.sentences.items():
            if self._encode(key, encoder.encode(sentence)) is not None:
                # After loading a model knows of more copies than have come by again.
                model.progress.sweep.copies[key] = max(model.progress.sweep.copies[key], corpus.copies[key])

    def _encode(self, key: bytes, encoded: np.ndarray | str) -> np.ndarray | None:
        if isinstance(encoded, str):
            self.corpus.skipped[encoded] += 1
        self._encoded[key] = None if isinstance(encoded, str) else encoded
        return self._encoded[key]

    def rows(self, documents: Iterable[GoldDocument]) -> list[tuple[bytes, np.ndarray]]:
        """The sentences of documents, by what identifies them (int32[4, *]: words, tags, heads, labels)."""
        copies, encoder, found = self.model.progress.sweep.copies, self.model.encoder, []
        for key in self.corpus.read(documents):
            if key not in self._encoded:
                self._encode(key, encoder.encode(self.corpus.sentences[key]))
            rows = self._encoded[key]
            if rows is not None:
                found.append((key, rows))
        for key, count in Counter(key for key, _ in found).items():
            copies[key] = max(copies[key], count)
        return found

    def visit(
        self, batch: list[tuple[bytes, np.ndarray]], rng: np.random.Generator, *, drawn: str, threads: int
    ) -> tuple[dict[str, float], dict[str, Weights], int, bool]:
        """One step for each sentence of a batch; those that are not seated are added.

        drawn (str): Which trees are drawn now, one of `LATENT`. Sentences without trees are left for later if it is "nothing".
        threads (int): How many threads share the distributions where no tree is drawn.
        RETURNS (tuple): The log-probabilities and gradients, see `HeadOutwardModel.visit`; how many tokens were visited; and whether
            all of them had been seated before.
        """
        progress = self.model.progress
        groups: tuple[list[tuple[bytes, np.ndarray, bool]], ...] = ([], [])
        for key, rows in batch:
            has_tree = np.sum(rows[2] == NONE) == 1
            if not has_tree and drawn == "nothing":
                continue
            present = progress.seated.get(key, 0)
            seated = present >= progress.sweep.copies[key]
            if not seated:
                progress.seated[key] = present + 1
                progress.tokens += rows.shape[1]
            is_drawn = not has_tree or (drawn == "all" and seated and rows.shape[1] <= self.corpus.longest)
            groups[is_drawn].append((key, rows, seated))
        totals = dict.fromkeys(DISTRIBUTIONS, 0.0)
        gradients: list[dict[str, Weights]] = []
        for is_drawn, group in enumerate(groups):
            if not group:
                continue
            sentences = join([rows for _, rows, _ in group])
            seated = np.array([was for _, _, was in group])
            self._take_trees(group, sentences)
            if is_drawn:
                found, gradient = self.model.visit_latent(sentences, seated, rng)
            else:
                found, gradient = self.model.visit(sentences, seated, rng, threads)
            self._keep_trees(group, sentences, drawn=bool(is_drawn))
            gradients.append(gradient)
            totals = {name: totals[name] + found[name] for name in DISTRIBUTIONS}
        every = [*groups[0], *groups[1]]
        gradient = (
            {
                name: Weights(*(sum(parts) for parts in zip(*(each[name] for each in gradients))))
                for name in DISTRIBUTIONS
            }
            if gradients
            else {}
        )
        return totals, gradient, sum(rows.shape[1] for _, rows, _ in every), all(was for _, _, was in every)

    def _take_trees(self, group: list[tuple[bytes, np.ndarray, bool]], sentences: Sentences) -> None:
        """Put the trees that have been drawn for sentences in the place of what the treebank says."""
        taken: Counter[bytes] = Counter()
        for i, (key, rows, seated) in enumerate(group):
            trees = self.model.progress.derivations.get(key, [])
            # Of several copies each has its turn; those without a tree of their own have that of the treebank.
            own = self.model.progress.seated[key] - taken[key] > len(trees)
            taken[key] += 1
            if seated and trees and not own:
                tree, n = trees.pop(0), rows.shape[1]
                if len(tree) != 2 * n:
                    raise ValueError("The model has the tree of another sentence in place of a training sentence's.")
                start = sentences.offsets[i]
                sentences.heads[start : start + n], sentences.labels[start : start + n] = tree[:n], tree[n:]

    def _keep_trees(self, group: list[tuple[bytes, np.ndarray, bool]], sentences: Sentences, *, drawn: bool) -> None:
        """Keep the trees that are not those of the treebank."""
        kept = self.model.progress.derivations
        for i, (key, rows, _) in enumerate(group):
            tree = slice(sentences.offsets[i], sentences.offsets[i + 1])
            heads, labels = sentences.heads[tree], sentences.labels[tree]
            if drawn or not np.array_equal(heads, rows[2]):
                kept.setdefault(key, []).append(np.concatenate([heads, labels]))
