"""Leave-out annotation: guides for training sentences, by the parser as if it had not seen them.

Components that read guides have to learn from guides as good as those that they will read, and a
parser is too sure of its training sentences. A count model need not be trained again: a part of the
sentences is taken out of a copy of the seating, and parsed by the rest.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import numpy as np

from ..annotation.arrays import Guides, no_guides, sentence_blocks
from ..annotation.sentences import GoldDocument, join
from ..arc_standard.decoding import decode
from ..arc_standard.model import JointModel
from ..arc_standard.search import Search
from .treebank import JointTreebank, assign_folds


def leave_out(
    model: JointModel,
    documents: Sequence[GoldDocument],
    search: Search,
    rng: np.random.Generator,
    *,
    folds: int,
    threads: int,
    given_tags: bool,
    progress: Callable[[int], None] = lambda words: None,
) -> tuple[Guides, int]:
    """Annotate training sentences, one part after the other, by the model without that part.

    Sentences are left out in stretches, with all their copies. A sentence that the model has not
    learned from is parsed along with those around it.

    model, documents: A trained model, which stays as it is, and its training data.
    search, folds: A search with `guides`, for one sentence at a time, and at least 2 parts.
    given_tags: Whether to parse with gold tags; unusable sentences then have no guides.
    progress: Called with the number of words of each part.
    RETURNS (tuple[Guides, int]): The guides of all words, with heads as positions in the sentence;
        and how many of the sentences the model has learned from.
    RAISES (ValueError): If the model has learned from less than half of the usable sentences, or
        has latent derivations.
    """
    check_derivations(model)
    treebank = JointTreebank(model)
    order: list[bytes] = []
    words: dict[bytes, np.ndarray] = {}
    for raw in chain.from_iterable(documents):
        order.append(raw.key)
        if raw.key not in words:
            rows = treebank.rows_of(raw.key, raw)
            numbers = model.vocabulary.numbers_observed(raw.strings(0)) if rows is None else rows[0]
            words[raw.key] = np.array(numbers, dtype=np.int32)
    gold = treebank.usable
    seated = {key for key in gold if model.progress.seated.get(key)}
    if 2 * len(seated) < len(gold) or not seated:
        raise ValueError(
            f"The model has learned from {len(seated)} of {len(gold)} different sentences with "
            "complete trees. Use the training part of its own treebank, with the same tokens."
        )
    found: dict[bytes, tuple[np.ndarray, ...]] = {}
    for part, generator in zip(assign_folds(order, folds), rng.spawn(folds)):
        keys = [key for key in part if key in gold or not given_tags]
        if not keys:
            continue
        blocks = sentence_blocks([words[key] for key in keys])
        if given_tags:
            blocks = blocks._replace(tags=np.concatenate([gold[key][1] for key in keys]))
        others = held_out_copy(model, {key: gold[key] for key in keys if key in gold}, generator)
        guides = decode(others.frozen, blocks, search, threads).guides
        found |= zip(keys, zip(*(np.split(values, blocks.offsets[1:-1]) for values in guides)))
        progress(len(guides.heads))
    each = [found.get(key) or no_guides(len(words[key])) for key in order]
    return Guides(*map(np.concatenate, zip(*each))), sum(key in seated for key in order)


def held_out_copy(
    model: JointModel, sentences: Mapping[bytes, np.ndarray], rng: np.random.Generator
) -> JointModel:
    """Return a model as if it had not learned from some sentences (int32[4, *], by key), with all
    their copies.
    """
    copies = model.progress.seated
    seated = [rows for key, rows in sentences.items() for _ in range(copies.get(key, 0))]
    return model.held_out_copy(join(seated), rng) if seated else model


def check_derivations(model: JointModel) -> None:
    """Check that a model has no latent derivations. RAISES (ValueError): If it has."""
    if model.progress.derivations:
        raise ValueError(
            "Sentences cannot be left out of a model with latent derivations: it has not learned "
            "them from the trees of the documents. Train one with latent = null."
        )
