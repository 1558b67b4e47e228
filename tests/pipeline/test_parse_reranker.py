"""The component that reranks the trees of a parser."""

import numpy as np
import pytest
import spacy
from spacy.training import Example

from spacy_hpyp.combining.reranker import UNLEARNED
from spacy_hpyp.compiled import NONE
from spacy_hpyp.pipeline.parse_reranker import ParseReranker, _marginals

LISTS = {
    "tag": [["direction+parent.tag", "sibling.tag", "grandparent.tag", "parent.word"]],
    "children": [["child.tag", "direction+parent.tag"]],
}


def misattach(toy, sentence):
    """The sentence with the dependents of the verb attached to its object, if any."""
    if "obj" not in sentence.deps or "obl" not in sentence.deps:
        return sentence
    heads = list(sentence.heads)
    heads[sentence.deps.index("obl")] = sentence.deps.index("obj")
    return toy.sentence(sentence.words, sentence.tags, heads, sentence.deps)


@pytest.fixture(scope="module")
def nlp(toy):
    """A parser that misattaches some words, and a reranker that corrects them."""
    nlp = spacy.blank("en")
    nlp.add_pipe("easy_first_tagger", config={"model": {"places": 2**13}})
    nlp.add_pipe("head_outward_parser", name="source")
    nlp.add_pipe("parse_reranker", config={"k": 6, "model": LISTS})
    sentences = toy.sentences(100)
    wrong = [misattach(toy, sentence) for sentence in sentences]
    tagger, source, reranker = (nlp.get_pipe(name) for name in nlp.pipe_names)
    tagger.initialize(lambda: toy.examples(nlp, sentences), nlp=nlp)
    source.initialize(lambda: toy.examples(nlp, wrong), nlp=nlp)
    reranker.initialize(lambda: toy.examples(nlp, sentences), nlp=nlp)
    for _ in range(2):
        tagger.update(toy.examples(nlp, sentences))
        source.update(toy.examples(nlp, wrong))
    for _ in range(2):
        reranker.update(toy.examples(nlp, sentences))
    return nlp


def reranker_of(nlp):
    component = nlp.get_pipe("parse_reranker")
    assert isinstance(component, ParseReranker)
    return component


def unseen(toy, nlp):
    """New sentences in which a word can be misattached."""
    sentences = [each for each in toy.sentences(300)[100:] if {"obj", "obl"} <= set(each.deps)]
    return [
        Example(nlp.make_doc(" ".join(each.words)), toy.doc(nlp.vocab, each)) for each in sentences
    ]


def test_reranked_trees_are_better_than_those_of_the_source(toy, nlp, assert_forest):
    examples = unseen(toy, nlp)
    scores = nlp.evaluate(examples)
    for doc in nlp.pipe(example.text for example in examples):
        assert_forest(doc, generative=False)
        assert all(0.0 < token._.head_prob <= 1.0 for token in doc)
    with nlp.select_pipes(disable="parse_reranker"):
        before = nlp.evaluate(unseen(toy, nlp))
    assert before["dep_uas"] < 0.95
    assert scores["dep_uas"] > 0.98


def test_a_single_candidate_is_the_tree_of_the_document(toy, nlp):
    reranker = reranker_of(nlp)
    doc = nlp.make_doc("the dog sees a cat near Kim .")
    with nlp.select_pipes(disable="parse_reranker"):
        doc = nlp.get_pipe("source")(nlp.get_pipe("easy_first_tagger")(doc))
    before = [(token.head.i, token.dep_) for token in doc]
    ((found,),) = reranker.predict([doc], k=1)
    assert len(found.candidates) == 1
    reranker.set_annotations([doc], [[found]])
    assert [(token.head.i, token.dep_) for token in doc] == before


def test_sentences_held_out_for_weights_do_not_train_the_model(toy, nlp):
    reranker = reranker_of(nlp)
    assert len(reranker.ranking.held_out) == 20
    assert not reranker.ranking.held_out & reranker.head_outward.progress.seated.keys()
    assert len(reranker.head_outward.progress.seated) == 80
    assert not np.array_equal(reranker.ranking.weights, UNLEARNED)
    assert reranker.weights["tree"] > 0.0


def test_white_space_and_empty_documents_are_left_alone(nlp):
    assert len(nlp("")) == 0
    assert nlp(" \n ")[0].dep_ == nlp.get_pipe("source")(nlp.make_doc(" \n "))[0].dep_
    doc = nlp("the  dog sleeps \n .")
    assert all(token.dep_ for token in doc)
    assert [token._.head_prob is None for token in doc] == [token.is_space for token in doc]


def test_missing_components_are_reported(nlp, toy):
    reranker = reranker_of(nlp)
    doc = nlp("the dog sleeps .")
    reranker.source = "parser"
    try:
        with pytest.raises(KeyError, match="parser"):
            reranker(doc)
    finally:
        reranker.source = ""
    alone = spacy.blank("en")
    alone.add_pipe("parse_reranker", config={"model": LISTS})
    with pytest.raises(ValueError, match="there is none before it"):
        alone.initialize(lambda: toy.examples(alone, toy.sentences(10)))
    with pytest.raises(ValueError, match="has not been trained"):
        alone("the dog sleeps .")


def test_arc_marginals_sum_over_the_candidates_with_the_arc():
    rng = np.random.default_rng(0)
    n = 300
    heads = rng.integers(NONE, n, size=(4, n), dtype=np.int32)
    heads[1:] = np.where(rng.random((3, n)) < 0.7, heads[0], heads[1:])
    probability = np.array([0.4, 0.3, 0.2, 0.1])
    expected = np.einsum("ikn,k->in", heads[:, None] == heads, probability)
    np.testing.assert_allclose(_marginals(heads, probability), expected)
