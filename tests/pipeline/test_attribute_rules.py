"""Rules for parts of speech and features, learned from a treebank."""

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hpyp.annotation.syntactic_words import Analysis, words_of_token, write_words

NOUN, VERB = ("NOUN", "Number=Sing"), ("VERB", "Number=Sing|Person=3")
AUX, PROPN = ("AUX", "Number=Sing|Person=3"), ("PROPN", "")


def doc_of(vocab, *tokens):
    """A document of (word, tag, (part of speech, features))."""
    words, tags, values = zip(*tokens)
    pos, morphs = zip(*values)
    return Doc(vocab, words=words, tags=tags, pos=pos, morphs=morphs)


@pytest.fixture
def nlp():
    nlp = spacy.blank("en")
    nlp.add_pipe("attribute_rules")
    barks, dog, bark = ("barks", "VBZ", VERB), ("dog", "NN", NOUN), ("bark", "NN", VERB)
    small, large, ada = ("is", "VBZ", AUX), ("Is", "VBZ", AUX), ("Ada", "NNP", PROPN)
    doc = doc_of(nlp.vocab, *[barks] * 20, *[small] * 8, *[large] * 4, *[dog] * 5, bark, ada)
    nlp.initialize(lambda: [Example(nlp.make_doc(doc.text), doc)])
    return nlp


def attributes(doc):
    return [(token.pos_, str(token.morph)) for token in doc]


def test_tags_have_their_most_frequent_attributes_and_words_their_own(nlp):
    words, tags = ["barks", "IS", "sits", "dog", "bark"], ["VBZ"] * 3 + ["NN"] * 2
    assert attributes(nlp(Doc(nlp.vocab, words=words, tags=tags))) == [VERB, AUX, VERB, NOUN, VERB]


def test_empty_features_white_space_and_unknown_tags_are_handled(nlp):
    doc = Doc(nlp.vocab, words=["Kim", "\n", "oh"], tags=["NNP", "_SP", "UH"], pos=["X"] * 3)
    assert attributes(nlp(doc)) == [PROPN, ("SPACE", ""), ("X", "")]
    assert doc[0].has_morph()
    assert len(nlp("")) == 0


def test_words_of_multiword_tokens_have_their_own_attributes(nlp):
    doc = Doc(nlp.vocab, words=["dogis", "dog"], tags=["NN", "NN"])
    write_words(doc, 0, [Analysis("dog", tag="NN"), Analysis("is", tag="VBZ")])
    words = [word for token in nlp(doc) for word in words_of_token(token)]
    assert [(word.pos_, word.morph) for word in words] == [NOUN, AUX, NOUN]


def test_rules_are_saved(nlp, tmp_path):
    nlp.to_disk(tmp_path)
    for other in (spacy.load(tmp_path), spacy.load(tmp_path).from_bytes(nlp.to_bytes())):
        assert attributes(other(Doc(other.vocab, words=["is"], tags=["VBZ"]))) == [AUX]


def test_a_treebank_without_parts_of_speech_gives_no_rules(toy):
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("attribute_rules")
    nlp.initialize(lambda: toy.examples(nlp, toy.sentences(3)))
    assert ruler.rules == []
    assert attributes(nlp("the dog")) == [("", ""), ("", "")]
