"""The search of one block."""

import numpy as np

from spacy_hpyp.arc_standard import decoding, particle_filter
from spacy_hpyp.arc_standard.configuration import FIELDS
from spacy_hpyp.arc_standard.proposals import new_task


def search_block(task, block=0, room=1024):
    """The records and the final beam."""
    return particle_filter.search_block(
        task, block, np.empty((room, FIELDS), dtype=np.int32), decoding.UNUSED
    )


def decode_all(model, blocks, block, search):
    return decoding.decode_all(new_task(model, decoding.only(blocks, block), search))
