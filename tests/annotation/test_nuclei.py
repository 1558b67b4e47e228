"""Arcs of trees in which function words head their phrases, in trees of Universal Dependencies."""

import pytest
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_hpyp.annotation.nuclei import counterpart

WORDS = "she is a doctor in the house of Kim because of it .".split()
HEADS = [3, 3, 3, 3, 6, 6, 3, 8, 6, 11, 9, 3, 3]
DEPS = "nsubj cop det ROOT case det nmod case nmod:poss case fixed obl punct".split()


@pytest.fixture(name="doc", scope="module")
def universal_tree():
    return Doc(Vocab(), words=WORDS, heads=HEADS, deps=DEPS)


def said(doc, token, head):
    """The word whose arc says the same as an arc of another tree, by its place."""
    found = counterpart(doc[token], doc[head])
    return None if found is None else found.i


def test_an_arc_says_what_it_says(doc):
    assert [said(doc, token, head) for token, head in enumerate(HEADS)] == list(range(len(doc)))


@pytest.mark.parametrize(
    ("token", "head", "saying"),
    [
        # She, the root and "doctor" hang on the copula, which is the root.
        (0, 1, 0),
        (1, 1, 3),
        (3, 1, 1),
        # "in" hangs on the clause, and "house" on it.
        (4, 1, 6),
        (4, 3, 6),
        (6, 4, 4),
        (7, 6, 8),
        (8, 7, 7),
        # Another clause, phrase or root than there is.
        (4, 6, 4),
        (4, 0, None),
        (0, 4, None),
        (2, 1, 2),
        (2, 2, None),
        (6, 6, None),
        (7, 3, None),
    ],
)
def test_function_words_may_head_their_phrases(doc, token, head, saying):
    assert said(doc, token, head) == saying
