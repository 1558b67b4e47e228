"""The static oracle: from a projective tree to the derivation that adds each arc as soon as it is valid (B&B section 2)."""

import numpy as np

from ..compiled import compiled
from .configuration import END, SHIFT, left_arc, right_arc


@compiled
def static_oracle(heads, labels, out):
    """The derivation that attaches greedily.

    heads (int32[n]): A projective tree with one root, the head of each word by position, -1 for the root.
    labels (int32[n]): The labels; the root's is not read.
    out (int32[2n]): Overwritten with the actions.
    RETURNS (bool): Whether there is such a derivation, that is, whether the heads are a projective tree with one root.
    """
    n = len(heads)
    waiting = np.zeros(n, dtype=np.int32)
    for word in range(n):
        if heads[word] >= 0:
            waiting[heads[word]] += 1
    stack = np.empty(n, dtype=np.int32)
    depth = 0
    word = 0
    for step in range(2 * n):
        if depth >= 2:
            first, second = stack[depth - 1], stack[depth - 2]
            if heads[second] == first and waiting[second] == 0:
                out[step] = left_arc(labels[second])
                waiting[first] -= 1
                stack[depth - 2] = first
                depth -= 1
                continue
            if heads[first] == second and waiting[first] == 0:
                out[step] = right_arc(labels[first])
                waiting[second] -= 1
                depth -= 1
                continue
        if word < n:
            out[step] = SHIFT
            stack[depth] = word
            depth += 1
            word += 1
        elif depth == 1 and heads[stack[0]] == -1 and waiting[stack[0]] == 0:
            out[step] = END
            depth = 0
        else:
            return False
    return True
