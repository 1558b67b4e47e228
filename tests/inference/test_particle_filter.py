"""The search does not lose itself in derivations that cannot win."""

import numpy as np
import pytest
from spacy.tokens import Doc

from spacy_hpyp.annotation.documents import encode_docs
from spacy_hpyp.arc_standard.configuration import FIELDS
from spacy_hpyp.arc_standard.decoder import search
from spacy_hpyp.arc_standard.proposals import new_workspace
from spacy_hpyp.inference.division import Search


def count_records(nlp, words, particles):
    """How many records are made for a block of words."""
    joint = nlp.get_pipe("hpyp_parser").joint
    blocks, _ = encode_docs([Doc(nlp.vocab, words=words)], joint.encoder, given_tags=False)
    room = np.empty((1024, FIELDS), dtype=np.int32)
    found = [np.empty(len(words)) for _ in range(3)]
    _, beam, size = search(
        joint.frozen.parser,
        blocks,
        Search(particles, 0.5),
        new_workspace(joint.frozen.parser, Search(particles, 0.5)),
        room,
        *found,
    )
    # The last record is the last word's or one that was reduced after it.
    return beam.record[:size].max()


@pytest.mark.parametrize("word", ["bird", "sees", "the", "."])
def test_records_grow_with_the_words_where_nothing_can_be_attached(trained, word):
    # Particles that reduce to the bottom of the stack after each word would make 16 times as many.
    assert count_records(trained, [word] * 1200, 100) < 6 * count_records(trained, [word] * 300, 100)
