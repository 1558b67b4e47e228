"""Generated Docs: trees, probabilities, settings, and spaces between words."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_hpyp.language_model import generation
from spacy_hpyp.language_model.generation import spaces_between


@pytest.fixture(scope="module")
def docs(toy, trained):
    return list(toy.parser(trained).generate(60))


def test_each_doc_is_a_sentence_with_a_tree(docs, assert_forest):
    assert len(docs) == 60
    for doc in docs:
        assert_forest(doc)
        assert len(list(doc.sents)) == 1
        assert len(doc) <= 60
    assert len({doc.text for doc in docs}) > 20


def test_words_come_from_the_vocabulary_or_name_classes(toy, trained, docs):
    vocabulary = toy.parser(trained).joint.vocabulary
    names = {vocabulary.name(number) for number in range(len(vocabulary))}
    assert {token.text for doc in docs for token in doc} <= names
    pairs = (pair for doc in docs for pair in pairwise(doc))
    assert any(last.text == "." and not before.whitespace_ for before, last in pairs)


@pytest.mark.parametrize("pools", [False, True])
def test_probabilities_match_those_of_parsing(toy, trained, pools, assert_forest):
    nlp = toy.trained(**toy.pools) if pools else trained
    parser = toy.parser(nlp)
    known = set(parser.joint.vocabulary.words)
    docs = [doc for doc in parser.generate(60) if all(token.text in known for token in doc)]
    assert len(docs) > 10
    for doc in docs:
        assert_forest(doc)
        parsed = Doc(nlp.vocab, words=[t.text for t in doc], sent_starts=[t.i == 0 for t in doc])
        parser(parsed)
        assert doc._.log_prob == pytest.approx(parsed._.log_prob, rel=1e-12)
        assert doc._.surprisal == pytest.approx(parsed._.surprisal, rel=1e-12)
        assert all(token._.head_prob is None for token in doc)


def test_labels_of_lifted_arcs_lose_their_decoration(toy):
    sentences = [toy.non_projective] * 3
    nlp = toy.trained(sentences, sweeps=3)
    parser = toy.parser(nlp)
    assert any("||" in label for label in parser.label_data["labels"])
    assert not any("||" in token.dep_ for doc in parser.generate(100) for token in doc)


def test_sentences_are_reproducible_and_independent_of_the_count(
    toy, trained, docs, annotation, monkeypatch
):
    def columns(docs):
        return [(doc.text, annotation(doc)) for doc in docs]

    parser = toy.parser(trained)
    assert columns(parser.generate(60)) == columns(docs)
    monkeypatch.setattr(generation, "_BATCH", 7)
    assert columns(parser.generate(20, seed=0)) == columns(docs[:20])
    assert columns(parser.generate(60, seed=1)) != columns(docs)


@pytest.mark.parametrize("max_length", [3, 4, 7])
def test_sentences_respect_the_maximum_length(toy, trained, max_length):
    lengths = [len(doc) for doc in toy.parser(trained).generate(100, max_length=max_length)]
    assert max(lengths) == max_length


def test_failing_to_generate_a_sentence_raises_an_error(toy, trained, monkeypatch):
    monkeypatch.setattr(generation, "ATTEMPTS", 0)
    with pytest.raises(ValueError, match="no sentence of 5 words"):
        list(toy.parser(trained).generate(1, max_length=5))


def joined(words, **settings):
    spaces = spaces_between(words, **settings)
    return "".join(word + " " * space for word, space in zip(words, spaces))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ('He said , " Yes " , and left .', 'He said, "Yes", and left.'),
        ("She did n't ( or would n't ) say it 's .", "She didn't (or wouldn't) say it's."),
        ("`` Yes '' , “ Yes ” , « Yes » .", "``Yes'', “Yes”, «Yes»."),
        ("It costs $ 5.00 , or € 4 ; 20 % less !", "It costs $5.00, or €4; 20% less!"),
        ("L' homme d' État ?", "L'homme d'État?"),
        ("the dogs ' bones", "the dogs' bones"),
        ('" one " two " three "', '"one" two "three"'),
    ],
)
def test_punctuation_is_spaced_conventionally(words, text):
    assert joined(words.split()) == text


def test_other_words_are_separated_by_spaces():
    words = ["-", "and", "<CAP-ed>", "<NUM>", "well", "-", "known", "#", "1"]
    assert joined(words) == " ".join(words)


def test_scripts_without_word_separation_get_no_spaces():
    assert joined(["我", "喜欢", "。"], separated=False) == "我喜欢。"


@settings(deadline=None, derandomize=True)
@given(words=st.lists(st.text(min_size=1)))
def test_each_word_has_a_value_and_the_last_no_space(words):
    spaces = spaces_between(words)
    assert len(spaces) == len(words)
    assert not any(spaces[-1:])
