"""How sure spaCy's own parser is of its arcs."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed

from spacy_hpyp.annotation.ballots import _guided
from spacy_hpyp.annotation.guides import Guide
from spacy_hpyp.annotation.written import current_parse
from spacy_hpyp.compat.spacy import transition_probabilities
from spacy_hpyp.components.transition_confidence import TransitionConfidence


@pytest.fixture(scope="module")
def nlp(toy):
    fix_random_seed(0)
    nlp = spacy.blank("en")
    parser = nlp.add_pipe(
        "parser",
        config={
            "model": {
                "tok2vec": {
                    "@architectures": "spacy.HashEmbedCNN.v2",
                    "pretrained_vectors": None,
                    "width": 8,
                    "depth": 1,
                    "embed_size": 50,
                    "window_size": 1,
                    "maxout_pieces": 2,
                    "subword_features": True,
                }
            }
        },
    )
    nlp.add_pipe("transition_confidence")
    examples = [
        Example(Doc(nlp.vocab, words=each.words), toy.doc(nlp.vocab, each))
        for each in toy.sentences(60, seed=1)
    ]
    nlp.initialize(lambda: examples)
    for _ in range(30):
        nlp.update(examples, drop=0.0)
    assert parser.labels
    return nlp


def docs_of(toy, nlp, number=20):
    return [Doc(nlp.vocab, words=each.words) for each in toy.sentences(number, seed=2)]


def of_one(parser, doc):
    """The same of one document, transition by transition, each probability by its own sum."""
    step, (state,) = parser.model.predict([doc]), parser.moves.init_batch([doc])
    found = [None] * len(doc)
    while not state.is_final():
        scores = np.array(step.predict([state]), dtype=np.float64)[0]
        valid = [number for number in range(parser.moves.n_moves) if parser.moves.is_valid(state, number)]
        chosen = max(valid, key=lambda number: scores[number])
        name, stack, queue = parser.moves.get_class_name(chosen), state.stack, state.queue
        if name[0] in "LR":
            found[stack[0] if name[0] == "L" else queue[0]] = np.exp(scores[chosen]) / np.exp(scores).sum()
        parser.moves.apply_transition(state, name)
    return [(state.H(i), each) for i, each in enumerate(found)]


def test_each_arc_has_the_probability_of_the_transition_that_made_it(toy, nlp):
    parser = nlp.get_pipe("parser")
    docs = list(nlp.pipe(docs_of(toy, nlp)))
    # It has learned to attach most words.
    assert sum(token.head != token for doc in docs for token in doc) > sum(map(len, docs)) / 2
    for doc, found in zip(docs, transition_probabilities(parser, docs)):
        by_hand = of_one(parser, doc)
        for token, ours, (head, theirs) in zip(doc, found, by_hand):
            assert np.isnan(ours) == (token.head.i != head)
            if token.head.i == head:
                assert ours == pytest.approx(theirs, rel=1e-4)


def test_documents_have_it_whatever_stands_beside_them_and_roots_have_none(toy, nlp):
    docs = [*nlp.pipe([Doc(nlp.vocab), *docs_of(toy, nlp, 6), Doc(nlp.vocab)])]
    for doc in docs:
        alone = nlp(Doc(nlp.vocab, words=[token.text for token in doc]))
        for token, other in zip(doc, alone):
            assert token.head != token or token._.head_prob is None
            assert token._.head_prob is None or token._.head_prob == pytest.approx(
                other._.head_prob, rel=1e-4
            )


def test_what_a_voter_does_not_say_a_guide_says(toy, nlp):
    doc = next(doc for doc in nlp.pipe(docs_of(toy, nlp)) if len(doc) > 2)
    parse, length = current_parse(doc), len(doc)
    own = np.arange(length) + parse.heads
    guide = Guide(
        own[:, None].astype(np.int32), np.full((length, 1), 0.25, np.float32), np.zeros((length, 1), np.int32), ["x"], np.zeros((length, 1), np.int32),
        np.ones((length, 1), np.float32), ["X"],
    )  # fmt: skip
    said = _guided(parse, guide).head_prob
    roots = np.isnan(parse.head_prob)
    assert roots[parse.heads == 0].all()
    assert not roots.all()
    assert said[roots].tolist() == [0.25] * roots.sum()
    assert said[~roots].tolist() == parse.head_prob[~roots].tolist()


def test_another_parser_than_spacys_is_refused(nlp):
    own = spacy.blank("en")
    own.add_pipe("sentencizer", name="parser")
    component = own.add_pipe("transition_confidence")
    assert isinstance(component, TransitionConfidence)
    with pytest.raises(ValueError, match="no parser of spaCy's"):
        component(Doc(own.vocab, words=["a"]))
