"""Leave-out annotation: what a parser would believe about its training sentences if it had not seen them.

What reads guides (`annotation.guides`) has to learn from guides that are as good as those that it will read,
and of a sentence that a parser was trained on it believes what it was told. A count model need not be trained
again for that: a part of the sentences is taken out of a copy of the seating, and parsed by what is left.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

from ..annotation.arrays import Guides, no_guides, sentence_blocks
from ..annotation.documents import GoldDocument, join
from ..arc_standard.decoding import decode
from ..inference.rounding import Search
from ..models.joint_model import JointModel
from .derivations import JointTreebank
from .treebank import deal_out


class LeaveOut:
    """Training sentences in parts, each of which is annotated by the model without it.

    The sentences are left out in stretches, as new text is not from among what was learned either, and all
    copies of a sentence with the first of them. A sentence that the model has not learned from is parsed
    along with those around it.

    model (JointModel): A trained model; it stays as it is.
    documents (Sequence[GoldDocument]): What it was trained on.
    search (Search): How they are parsed, with `guides`; each sentence by itself.
    rng (numpy.random.Generator): The source of randomness, a stream for each part; seatings of one table at
        most for each dish need none.
    folds (int): How many parts of the sentences are left out, one after the other; at least 2.
    threads (int): How many threads share the work; the result does not depend on it.
    given_tags (bool): Whether sentences are parsed with the gold tags. Those that cannot be learned from have
        no guides then.
    RAISES (ValueError): If the model has learned from less than half of those sentences that can be learned
        from, or has latent derivations.
    """

    def __init__(
        self,
        model: JointModel,
        documents: Sequence[GoldDocument],
        search: Search,
        rng: np.random.Generator,
        *,
        folds: int,
        threads: int,
        given_tags: bool,
    ) -> None:
        check_derivations(model)
        self._model, self._search, self._threads, self._given_tags = model, search, threads, given_tags
        treebank = JointTreebank(model)
        self._order: list[bytes] = []
        self._words: dict[bytes, np.ndarray] = {}
        for raw in chain.from_iterable(documents):
            self._order.append(raw.key)
            if raw.key not in self._words:
                rows = treebank.rows_of(raw.key, raw)
                words = model.vocabulary.numbers_observed(raw.strings(0)) if rows is None else rows[0]
                self._words[raw.key] = np.array(words, dtype=np.int32)
        self._gold = gold = treebank.usable
        self._copies = {key: model.progress.seated.get(key, 0) for key in gold}
        seated = sum(count > 0 for count in self._copies.values())
        if 2 * seated < len(gold) or not seated:
            raise ValueError(
                f"Of {len(gold)} different sentences with complete trees, the model has learned from "
                f"{seated}. Sentences are left "
                "out of a model that was trained on them, with the same tokens: is this the training part of "
                "its treebank?"
            )
        #: How many of the sentences the model has learned from.
        self.learned = sum(self._copies.get(key, 0) > 0 for key in self._order)
        self._parts = [
            [key for key in part if key in gold or not given_tags] for part in deal_out(self._order, folds)
        ]
        self._rngs = rng.spawn(folds)

    def annotate(self, part: int) -> Guides:
        """Annotate the words of a part, with heads as positions in the sentence."""
        keys, gold = self._parts[part], self._gold
        if not keys:
            return no_guides(0)
        blocks = sentence_blocks([self._words[key] for key in keys])
        if self._given_tags:
            blocks = blocks._replace(tags=np.concatenate([gold[key][1] for key in keys]))
        left_out = {key: gold[key] for key in keys if key in gold}
        others = without(self._model, left_out, self._rngs[part], threads=self._threads)
        return decode(others.frozen, blocks, self._search, self._threads).guides

    def together(self, parts: Iterable[Guides]) -> Guides:
        """Those of all words of all sentences, of those of each part."""
        found: dict[bytes, tuple[np.ndarray, ...]] = {}
        for keys, guides in zip(self._parts, parts, strict=True):
            ends = np.cumsum([len(self._words[key]) for key in keys])
            found |= zip(keys, zip(*(np.split(values, ends[:-1]) for values in guides)))
        each = [found.get(key) or no_guides(len(self._words[key])) for key in self._order]
        return Guides(*map(np.concatenate, zip(*each)))


def without(
    model: JointModel, sentences: Mapping[bytes, np.ndarray], rng: np.random.Generator, *, threads: int
) -> JointModel:
    """A model as if it had not learned from some sentences, with all their copies, see `JointModel.without`.

    sentences (Mapping[bytes, int32[4, *]]): See `Treebank`, by what identifies them; the model need not have
        learned from them.
    """
    seated = [rows for key, rows in sentences.items() for _ in range(model.progress.seated.get(key, 0))]
    return model.without(join(seated), rng, threads) if seated else model


def check_derivations(model: JointModel) -> None:
    """RAISES (ValueError): If a model has latent derivations."""
    if model.progress.derivations:
        raise ValueError(
            "Sentences cannot be left out of a model that has latent derivations: it has not learned them "
            "from the trees that "
            'the documents have. Train one with latent = "nothing".'
        )
