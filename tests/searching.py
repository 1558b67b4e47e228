"""The search of one block."""

from spacy_hpyp.arc_standard import particle_filter
from spacy_hpyp.arc_standard.configuration import new_records
from spacy_hpyp.arc_standard.decoding import UNUSED


def search_block(task, block=0, room=1024):
    """The records and the final beam."""
    return particle_filter.search_block(task, block, new_records(room), UNUSED)
