"""The training sentences of a head-outward model, with trees and without.

One without a tree is a row of words and tags whose heads are all `NONE`; what has been drawn for it is kept
with the model (`Progress.derivations`).
"""

from collections import Counter

import numpy as np

from ..annotation.documents import GoldSentence, RawSentence, join, read_gold, read_tagged
from ..compiled import NONE
from ..head_outward.contexts import DISTRIBUTIONS
from ..models.head_outward import HeadOutwardModel
from ..pools.pool import Weights

#: Which trees are drawn: none, those that are missing, or all.
LATENT = ("nothing", "missing", "all")


def read_tree(sentence: RawSentence, *, latent: str, longest: int) -> GoldSentence | str:
    """A raw sentence as what can be learned from, with a tree or without, or what keeps it from being used.

    latent (str): One of `LATENT`.
    longest (int): Trees of longer sentences are not drawn.
    """
    found = read_gold(sentence)
    if isinstance(found, str) and latent != "nothing":
        found = read_tagged(sentence)
        if not isinstance(found, str) and len(found.words) > longest:
            return f"of more than {longest} words without a tree"
    return found


def visit(
    model: HeadOutwardModel,
    batch: list[tuple[bytes, np.ndarray]],
    rng: np.random.Generator,
    *,
    drawn: str = "nothing",
    longest: int = 1,
    threads: int,
) -> tuple[dict[str, float], dict[str, Weights], int, bool]:
    """One step for each sentence of a batch; those that are not seated are added.

    batch (list[tuple[bytes, int32[4, *]]]): See `Treebank.rows`.
    drawn (str): Which trees are drawn now, one of `LATENT`. Sentences without trees are left for later if it
        is "nothing".
    RETURNS (tuple): The log-probabilities and gradients, see `HeadOutwardModel.visit`; how many tokens were
        visited; and whether all of them had been seated before.
    """
    progress = model.progress
    for key, count in Counter(key for key, _ in batch).items():
        progress.sweep.copies[key] = max(progress.sweep.copies[key], count)
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
        is_drawn = not has_tree or (drawn == "all" and seated and rows.shape[1] <= longest)
        groups[is_drawn].append((key, rows, seated))
    totals = dict.fromkeys(DISTRIBUTIONS, 0.0)
    gradients: list[dict[str, Weights]] = []
    for is_drawn, group in enumerate(groups):
        if not group:
            continue
        sentences = join([rows for _, rows, _ in group])
        seated = np.array([was for _, _, was in group])
        bounds = zip(sentences.offsets, sentences.offsets[1:])
        places = [(sentences.heads[start:end], sentences.labels[start:end]) for start, end in bounds]
        copies = np.flatnonzero(seated)
        taken = progress.take_drawn([group[i][0] for i in copies], [places[i] for i in copies], model.drawn)
        if is_drawn:
            found, gradient = model.visit_latent(sentences, None, seated, rng)
        else:
            found, gradient = model.visit(sentences, None, seated, rng, threads)
        # One that is the treebank's again, too: by what is kept, copies of a sentence know whose turn it is.
        for i in range(len(group)) if is_drawn else copies[taken]:
            progress.keep_drawn(group[i][0], places[i])
        gradients.append(gradient)
        totals = {name: totals[name] + found[name] for name in DISTRIBUTIONS}
    every = [*groups[0], *groups[1]]
    gradient = {
        name: Weights(*(sum(parts) for parts in zip(*(each[name] for each in gradients))))
        for name in (DISTRIBUTIONS if gradients else ())
    }
    return totals, gradient, sum(rows.shape[1] for _, rows, _ in every), all(was for _, _, was in every)
