"""The tag that a rare word had elsewhere is only a factor of the word's probability."""

import numpy as np
import pytest
from spacy.tokens import Doc

from spacy_hpyp.annotation.arrays import Blocks, Sentences
from spacy_hpyp.annotation.encoding import encode_docs
from spacy_hpyp.arc_standard.decoding import decode
from spacy_hpyp.arc_standard.derivations import tree_log_probs
from spacy_hpyp.compiled import NONE


@pytest.fixture(scope="module")
def nlp(toy):
    """A pipeline that knows words seen once or twice by their class; tests do not change it."""
    return toy.trained(toy.sentences(25), label=[["s1.tag"]], min_count=3)


@pytest.fixture(scope="module")
def model(toy, nlp):
    return toy.parser(nlp).joint


@pytest.fixture(scope="module")
def word(model):
    """A rare word."""
    return sorted(model.vocabulary.rare)[0]


def told(model, number):
    """The probability of a word's observation for each tag (float64[tags])."""
    return model.vocabulary.seen.given(len(model.tags))[model.vocabulary.observed[number]]


def one_word(number, tag=NONE):
    as_array = [np.array([value], dtype=np.int32) for value in (number, tag)]
    return Blocks(*as_array, np.zeros(1, dtype=bool), np.array([0, 1]))


def log_prob(model, search, number, tag=NONE):
    return decode(model.frozen, one_word(number, tag), search).log_probability.sum()


def test_the_observed_tag_is_a_factor_for_each_tag(toy, nlp, model, word):
    search = toy.parser(nlp).search
    number = model.vocabulary.numbers_observed([word])[0]
    plain = model.vocabulary.outcomes[number]
    assert number >= len(model.vocabulary) > plain == model.vocabulary.number(word)
    start, end = model.vocabulary.tag_offsets[plain : plain + 2]
    tags = model.vocabulary.candidate_tags[start:end].tolist()
    assert len(tags) > 1
    for tag in tags:
        more = log_prob(model, search, number, tag) - log_prob(model, search, plain, tag)
        assert more == pytest.approx(np.log(told(model, number)[tag]), abs=1e-9)


@pytest.mark.parametrize("is_observed", [False, True])
def test_trees_and_derivations_have_the_same_factor(toy, nlp, model, word, is_observed):
    vocabulary = model.vocabulary
    number = (vocabulary.numbers_observed if is_observed else vocabulary.numbers)([word])[0]
    start, end = vocabulary.tag_offsets[number : number + 2]
    tags = vocabulary.candidate_tags[start:end]
    n = len(tags)
    numbers, heads, labels = (np.full(n, each, dtype=np.int32) for each in (number, NONE, NONE))
    trees = Sentences(numbers, tags, heads, labels, np.arange(n + 1))
    found = [log_prob(model, toy.parser(nlp).search, number, int(tag)) for tag in tags]
    assert tree_log_probs(model.frozen, trees).log_prob == pytest.approx(found, abs=1e-9)


def test_an_observed_tag_becomes_more_probable(nlp, toy, model, word):
    search = toy.parser(nlp).search._replace(particles=1000, marginals=True)
    number = model.vocabulary.numbers_observed([word])[0]
    observed = model.vocabulary.observed[number]
    assert told(model, number).argmax() == observed
    both = number, model.vocabulary.outcomes[number]
    parses = [decode(model.frozen, one_word(each), search) for each in both]
    found, plain = (dict(zip(each.tags, each.tag_probability)) for each in parses)
    assert found[observed] > plain.get(observed, 0.0)


def test_contexts_read_the_class_of_the_word(toy, nlp, model, word):
    search = toy.parser(nlp).search
    tags = np.zeros(2, dtype=np.int32)

    def second(number):
        words = np.array([number, 0], dtype=np.int32)
        blocks = Blocks(words, tags, np.zeros(2, dtype=bool), np.array([0, 2]))
        both = decode(model.frozen, blocks, search).log_probability.sum()
        return both - log_prob(model, search, number, 0)

    number = model.vocabulary.numbers_observed([word])[0]
    assert second(number) == pytest.approx(second(model.vocabulary.outcomes[number]), abs=1e-9)


def test_observed_tags_are_saved_and_loaded(toy, nlp, word):
    again = toy.copy(nlp)
    assert toy.parser(again).joint.to_bytes() == toy.parser(nlp).joint.to_bytes()
    words = ["the", word, "sees", word, "."]
    doc, other = (pipeline(Doc(pipeline.vocab, words=words)) for pipeline in (nlp, again))
    assert doc._.log_prob == other._.log_prob
    blocks, _ = encode_docs([doc], toy.parser(again).joint.encoder, given_tags=False)
    assert toy.parser(again).joint.vocabulary.observed[blocks.words].max() != NONE
