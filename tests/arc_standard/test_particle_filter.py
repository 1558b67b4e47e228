"""The search keeps only promising derivations and frees unneeded records."""

import random

import numpy as np
import pytest
from searching import search_block
from spacy.tokens import Doc

from spacy_hpyp.annotation.encoding import encode_docs
from spacy_hpyp.arc_standard.posterior import read_posterior
from spacy_hpyp.arc_standard.proposals import new_task
from spacy_hpyp.arc_standard.search import Search

# Enough room to keep all records.
PLENTY = 500_000


def run(nlp, words, settings, room):
    """Run Algorithm 1 on a block of words: the records, the final beam, and the output for each
    word.
    """
    joint = nlp.get_pipe("hpyp_parser").joint
    blocks, _ = encode_docs([Doc(nlp.vocab, words=words)], joint.encoder, given_tags=False)
    task = new_task(joint.frozen, blocks, settings)
    return *search_block(task, room=room), task.sums[:3]


def count_records(nlp, words, settings):
    """The number of records made for a block of words."""
    _, beam, _ = run(nlp, words, settings, PLENTY)
    # The last record is that of the last word or of a reduction after it.
    return beam["record"].max()


def running_text(toy, count):
    return [word for sentence in toy.sentences(count) for word in sentence.words]


@pytest.mark.parametrize("word", ["sees", "the"])
def test_records_grow_linearly_without_attachments(trained, word):
    # Particles that reduce to the bottom of the stack after each word would make 16 times as many.
    settings = Search(100, 0.5)
    assert count_records(trained, [word] * 1200, settings) < 6 * count_records(
        trained, [word] * 300, settings
    )


@pytest.mark.parametrize(("particles", "marginals"), [(1, False), (100, False), (1000, True)])
def test_parses_do_not_depend_on_the_room_for_records(
    toy, trained_on_documents, particles, marginals
):
    words = running_text(toy, 20)
    settings = Search(particles, 0.5, marginals=marginals)
    alike = []
    for room in (0, 64, PLENTY):
        records, beam, found = run(trained_on_documents, words, settings, room)
        alike.append([*read_posterior(records, beam, len(words), 1.0), *found])
    for first, second, third in zip(*alike):
        assert np.array_equal(first, third)
        assert np.array_equal(second, third)


def test_room_for_records_grows_linearly_with_the_text(toy, trained_on_documents):
    rng, settings = random.Random(0), Search(100, 0.5)
    # Shuffle the words, so that there is much to try.
    words = [word for s in toy.sentences(60) * 8 for word in rng.sample(s.words, len(s.words))]
    records, _, _ = run(trained_on_documents, words, settings, 0)
    # Slightly different derivations shift and attach each word, and as much room again is free.
    assert len(records) < 30 * len(words)
    assert count_records(trained_on_documents, words, settings) > 50 * len(words)
