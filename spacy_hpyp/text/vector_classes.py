"""Hierarchical classes of words by their vectors: bisecting k-means on directions (Steinbach, Karypis & Kumar
2000).
"""

from heapq import heappop, heappush

import numpy as np
from spacy.vocab import Vocab

from .word_classes import WordClass

# How often words are put to the nearer of two means.
_ROUNDS = 15
# How often a class is cut from other beginnings; the best cut counts.
_BEGINNINGS = 4


def vector_classes(vocab: Vocab, classes: int, *, seed: int = 0) -> list[WordClass]:
    """Classes of the words that have vectors. The class whose directions differ most is cut in two, until
    there are enough.

    vocab (Vocab): Its vectors are read: static ones; of floret's, those of the words in its strings.
    classes (int): How many there are to be.
    seed (int): Fixes what comes out.
    RETURNS (list[WordClass]): Counts are not known: they are 1.
    RAISES (ValueError): If there are no vectors, or fewer words with one than classes.
    """
    vectors = vocab.vectors
    keys = (
        list(vectors.keys()) if vectors.mode == "default" else [vocab.strings[word] for word in vocab.strings]
    )
    words = [vocab.strings[key] for key in keys if key in vocab.strings]
    words = sorted({word for word in words if word.strip() and "\t" not in word})
    table = np.array([vocab.get_vector(word) for word in words], dtype=np.float32).reshape(len(words), -1)
    length = np.linalg.norm(table, axis=1)
    words = [word for word, own in zip(words, length) if own > 0]
    if len(words) < classes:
        raise ValueError(f"There cannot be {classes} classes of {len(words)} words that have vectors.")
    directions = table[length > 0] / length[length > 0, None]
    rng = np.random.default_rng(seed)
    waiting = [(-_spread(directions), "", np.arange(len(words)))]
    done = []
    while len(waiting) + len(done) < classes:
        _, path, members = heappop(waiting)
        cuts = [_cut(directions[members], rng) for _ in range(_BEGINNINGS)]
        second = min(cuts, key=lambda cut, own=directions[members]: _spread(own[cut]) + _spread(own[~cut]))
        if second.all() or not second.any():
            # All of them are the same: there is nothing to be cut.
            second[: len(second) // 2] = ~second[: len(second) // 2]
        for bit, part in (("0", members[~second]), ("1", members[second])):
            if len(part) > 1:
                heappush(waiting, (-_spread(directions[part]), path + bit, part))
            else:
                done.append((0.0, path + bit, part))
    return [WordClass(path, words[i], 1) for _, path, members in [*done, *waiting] for i in members.tolist()]


def _spread(directions: np.ndarray) -> float:
    """How far directions are from their mean, in all."""
    return float(len(directions) - np.linalg.norm(directions.sum(axis=0)))


def _cut(directions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Which of two parts each direction belongs to (bool[*])."""
    first = directions[rng.integers(len(directions))]
    means = np.stack([first, directions[np.argmin(directions @ first)]])
    for _ in range(_ROUNDS):
        second = directions @ means[1] > directions @ means[0]
        if second.all() or not second.any():
            break
        for number, part in enumerate((directions[~second], directions[second])):
            total = part.sum(axis=0)
            means[number] = total / max(float(np.linalg.norm(total)), 1e-12)
    return second
