"""The settings of Algorithm 1."""

from typing import NamedTuple

from ..compiled import struct

#: Resampling schemes: Algorithm 1; systematic resampling, to draw from the posterior; and the
#: paper's baseline, a beam of the K best derivations (B&B section 5.2).
ROUND, SYSTEMATIC, TOP = range(3)


@struct
class Search(NamedTuple):
    """Settings of a search.

    particles (int): K, the number of particles that the derivations of a beam share.
    stack_penalty (float): The expected cost of attaching a stack word, in nats. Algorithm 1: 0.
    marginals (bool): Whether to find posterior probabilities. The selection step then keeps
        derivations that stand for the posterior, and not only those that may become the best one.
    consensus (bool): Whether to choose the parse with the least expected loss; needs `marginals`.
    temperature (float): With `marginals`, log-weights are divided by it before they are normalised.
    labels_per_arc (int): The number of labels of an arc that a derivation is divided between.
    tags_per_word (int): The number of tags of the next word.
    tag_threshold (float): A tag, or a direction of an arc, is tried if it can expect this part of a
        particle beside the best one.
    guides (bool): Whether to find the most probable heads and tags; needs `marginals`.
    future_cost (float): The weight of a tag's promise for the words to come where particles are
        divided. It never counts in a derivation's weight.
    spread (int): The number that particles are multiplied by after the selection step.
    apart (bool): Whether to find only the probabilities of the words of running text: sums over
        the places where sentences end, with a beam for each place (see `particle_filter`).
    scheme (int): `ROUND`, `SYSTEMATIC` or `TOP`.
    """

    particles: int
    stack_penalty: float
    marginals: bool = False
    consensus: bool = False
    temperature: float = 1.0
    labels_per_arc: int = 1
    tags_per_word: int = 3
    tag_threshold: float = 0.5
    guides: bool = False
    future_cost: float = 0.0
    spread: int = 1
    apart: bool = False
    scheme: int = ROUND
