"""Leave-out annotation: what a parser would believe about its training sentences if it had not seen them.

What reads guides (`annotation.guides`) has to learn from guides that are as good as those that it will read, and of a sentence that
a parser was trained on it believes what it was told. A count model need not be trained again for that: a part of the sentences is
taken out of a copy of the seating, and parsed by what is left.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..annotation.arrays import Guides, no_guides, sentence_blocks
from ..annotation.documents import GoldDocument, RawSentence, join, read_gold
from ..inference.division import Search
from ..models.joint_model import JointModel

# So many consecutive sentences are left out together, or fewer where a treebank is small. On EWT 84.6 % of the heads are right then, and
# 84.2 % on dev; where every tenth document of ten sentences is left out, and others of the same text stay, 85.8 %.
_STRETCH = 200


class _Sentence(NamedTuple):
    """A sentence to be annotated.

    words (int32[n]): The numbers of its words.
    gold (int32[4, n] | None): Its words, tags, heads and labels, unless it cannot be learned from.
    copies (int): How often it is seated.
    """

    words: np.ndarray
    gold: np.ndarray | None
    copies: int


def leave_out(
    model: JointModel,
    documents: Sequence[GoldDocument],
    search: Search,
    rng: np.random.Generator,
    *,
    folds: int,
    threads: int,
    given_tags: bool,
    progress: Callable[[int], None],
) -> tuple[Guides, int]:
    """Annotate training sentences by the model without them.

    The sentences are left out in stretches, as new text is not from among what was learned either, and all copies of a sentence with
    the first of them. A sentence that the model has not learned from is parsed along with those around it.

    model (JointModel): A trained model; it stays as it is.
    documents (Sequence[GoldDocument]): What it was trained on.
    search (Search): How they are parsed, with `guides`; each sentence by itself.
    rng (numpy.random.Generator): The source of randomness; seatings of one table at most for each dish need none.
    folds (int): How many parts of the sentences are left out, one after the other; at least 2.
    threads (int): How many threads share the work; the result does not depend on it.
    given_tags (bool): Whether sentences are parsed with the gold tags. Those that cannot be learned from have no guides then.
    progress (Callable[[int], None]): Called with the number of words whenever some have been annotated.
    RETURNS (tuple[Guides, int]): Of all words of all sentences, with heads as positions in the sentence; and how many of the
        sentences the model has learned from.
    RAISES (ValueError): If the model has learned from less than half of those sentences that can be learned from, or has latent
        derivations.
    """
    _check_derivations(model)
    order, sentences = _read(model, documents)
    _check_seated(sentences.values())
    fold_of = deal_out(order, folds)
    starts = dict(zip(sentences, np.cumsum([0, *(len(sentence.words) for sentence in sentences.values())]).tolist()))
    found = no_guides(sum(len(sentence.words) for sentence in sentences.values()))
    for fold in range(folds):
        keys = [key for key, own in fold_of.items() if own == fold and not (given_tags and sentences[key].gold is None)]
        if not keys:
            continue
        chosen = [sentences[key] for key in keys]
        blocks = sentence_blocks([sentence.words for sentence in chosen])
        if given_tags:
            blocks = blocks._replace(tags=np.concatenate([sentence.gold[1] for sentence in chosen]))
        seated = [sentence.gold for sentence in chosen for _ in range(sentence.copies)]
        others = model.without(join(seated), rng, threads) if seated else model
        guides = others.frozen.decode(blocks, search, threads).guides
        place = _places(keys, sentences, starts)
        for part, values in zip(found, guides):
            part[place] = values
        progress(len(place))
    place = _places(order, sentences, starts)
    return Guides(*(part[place] for part in found)), sum(sentences[key].copies > 0 for key in order)


def without(
    model: JointModel, documents: Sequence[GoldDocument], rng: np.random.Generator, *, threads: int
) -> JointModel:
    """A model as if it had not learned from some sentences, see `JointModel.without`.

    model, rng, threads: As for `leave_out`.
    documents (Sequence[GoldDocument]): The sentences, with all their copies; the model need not have learned from them.
    RAISES (ValueError): If the model has latent derivations.
    """
    _check_derivations(model)
    _, sentences = _read(model, documents)
    seated = [each.gold for each in sentences.values() if each.gold is not None for _ in range(each.copies)]
    return model.without(join(seated), rng, threads) if seated else model


def _check_derivations(model: JointModel) -> None:
    if model.progress.derivations:
        raise ValueError(
            "Sentences cannot be left out of a model that has latent derivations: it has not learned them from the trees that "
            'the documents have. Train one with latent = "nothing".'
        )


def _read(model: JointModel, documents: Sequence[GoldDocument]) -> tuple[list[bytes], dict[bytes, _Sentence]]:
    """What identifies each sentence, in order, and the sentences."""
    encoder, seated = model.encoder, model.progress.seated
    order: list[bytes] = []
    sentences: dict[bytes, _Sentence] = {}
    for document in documents:
        for raw in document.sentences:
            key = raw.key
            order.append(key)
            if key not in sentences:
                gold = read_gold(raw, document.vocab)
                encoded = gold if isinstance(gold, str) else encoder.encode(gold, learned=True)
                if isinstance(encoded, str):
                    sentences[key] = _Sentence(_words(model, raw, document), None, 0)
                else:
                    sentences[key] = _Sentence(encoded[0], encoded, seated.get(key, 0))
    return order, sentences


def _words(model: JointModel, raw: RawSentence, document: GoldDocument) -> np.ndarray:
    forms = [document.vocab.strings[orth] for orth in raw.rows[:, 0].view(np.uint64).tolist()]
    return np.array(model.vocabulary.numbers_observed(forms), dtype=np.int32)


def _check_seated(sentences: Iterable[_Sentence]) -> None:
    copies = [sentence.copies for sentence in sentences if sentence.gold is not None]
    seated = sum(count > 0 for count in copies)
    if 2 * seated < len(copies) or not seated:
        raise ValueError(
            f"Of {len(copies)} different sentences with complete trees, the model has learned from {seated}. Sentences are left "
            "out of a model that was trained on them, with the same tokens: is this the training part of its treebank?"
        )


def deal_out(order: Sequence[bytes], folds: int) -> dict[bytes, int]:
    """With which fold each sentence is left out: stretches of them are dealt out in turn.

    order (Sequence[bytes]): What identifies the sentences, in their order in the treebank.
    folds (int): How many there are.
    """
    stretches = folds * -(-len(order) // (folds * _STRETCH))
    fold_of: dict[bytes, int] = {}
    for number, key in enumerate(order):
        fold_of.setdefault(key, number * stretches // len(order) % folds)
    return fold_of


def _places(keys: Sequence[bytes], sentences: dict[bytes, _Sentence], starts: dict[bytes, int]) -> np.ndarray:
    """Where the words of some sentences stand among the words of all (int64[*])."""
    places = [np.arange(starts[key], starts[key] + len(sentences[key].words)) for key in keys]
    return np.concatenate([np.empty(0, dtype=np.int64), *places])
