"""The steps of an arc-standard derivation, for the particle filter."""

from typing import NamedTuple

import numpy as np

from ..compiled import compiled, implements, inner
from ..inference.particle_filter import attach, begin, compact, depth_of, generate
from .configuration import DEPTH, ROOT, reduce, shift
from .configuration import begin as begin_records
from .configuration import compact as compact_records


class ArcStandard(NamedTuple):
    """The transition system that derives some words: an attachment is an action, and a word is generated with a tag.

    words (int32[n]): Their numbers.
    """

    words: np.ndarray


@implements(begin, ArcStandard)
@inner
def _begin(system, records):
    return begin_records(records), ROOT


@implements(compact, ArcStandard)
@compiled
def _compact(system, records, used, tops):
    return compact_records(records, used, tops)


@implements(depth_of, ArcStandard)
@inner
def _depth_of(system, records, top):
    return records[top, DEPTH]


@implements(attach, ArcStandard)
@inner
def _attach(system, records, used, top, outcome):
    reduce(records, used, top, outcome)


@implements(generate, ArcStandard)
@inner
def _generate(system, records, used, top, word, outcome):
    shift(records, used, top, outcome, system.words[word])
