"""Rules for parts of speech and features, learned from a treebank."""

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from spacy_hpyp.components.attribute_rules import attribute_rules, create_attribute_rules

NOUN, VERB = ("NOUN", "Number=Sing"), ("VERB", "Number=Sing|Person=3")
AUX, PROPN = ("AUX", "Number=Sing|Person=3"), ("PROPN", "")


@pytest.fixture
def vocab():
    return spacy.blank("en").vocab


def doc_of(vocab, *tokens):
    """A document of (word, tag, (part of speech, features))."""
    words, tags, values = zip(*tokens)
    return Doc(
        vocab,
        words=words,
        tags=tags,
        pos=[pos for pos, _ in values],
        morphs=[morph for _, morph in values],
    )


@pytest.fixture
def treebank(vocab):
    barks, dog, bark = ("barks", "VBZ", VERB), ("dog", "NN", NOUN), ("bark", "NN", VERB)
    small, large = ("is", "VBZ", AUX), ("Is", "VBZ", AUX)
    return [doc_of(vocab, *[barks] * 20, *[small] * 8, *[large] * 4, *[dog] * 5, bark, ("has", "VBZ", AUX))]


@pytest.mark.parametrize("factory", ["attribute_ruler", "attribute_rules"])
def test_a_tag_has_what_is_most_frequent_with_it_and_frequent_words_what_they_have_themselves(
    treebank, factory
):
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe(factory)
    ruler.initialize(None, patterns=attribute_rules(treebank))
    found = ruler(
        Doc(nlp.vocab, words=["barks", "IS", "has", "sits", "dog", "bark"], tags=["VBZ"] * 4 + ["NN"] * 2)
    )
    # "has" is in the rule of "is"; "bark" alone would be right too seldom for a rule.
    assert [(token.pos_, str(token.morph)) for token in found] == [VERB, AUX, AUX, VERB, NOUN, NOUN]


def test_the_component_says_what_that_of_spacy_says(treebank):
    dog = [[{"TAG": "NN"}], [{"TAG": "NN", "LOWER": {"IN": ["dog"]}}]]
    patterns = [
        *attribute_rules(treebank),
        {"patterns": [[{"TAG": "UH"}]], "attrs": {"POS": "INTJ"}},
        {"patterns": [[{"TAG": "WP"}]], "attrs": {"POS": "", "MORPH": "Number=Sing|Case=Nom"}, "index": -1},
        {"patterns": dog, "attrs": {"POS": "PROPN"}},
        {"patterns": dog[:1], "attrs": {}},
    ]
    words, tags = (
        ["barks", "IS", "dog", "\n", "oh", "what", "is"],
        ["VBZ", "VBZ", "NN", "_SP", "UH", "WP", ""],
    )
    found = []
    for factory in ("attribute_ruler", "attribute_rules"):
        nlp = spacy.blank("en")
        nlp.add_pipe(factory).initialize(None, patterns=patterns)
        ruler = nlp.get_pipe(factory)
        doc = Doc(nlp.vocab, words=words, tags=tags, pos=[*["X"] * 6, ""], morphs=[*["Number=Plur"] * 6, ""])
        found.append(ruler.from_bytes(ruler.to_bytes())(doc).to_array(["POS", "MORPH"]).tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("pattern", "said", "index"),
    [
        ([{"ORTH": "is"}], {"POS": "AUX"}, 0),
        ([{"TAG": {"IN": ["VBZ"]}}], {"POS": "AUX"}, 0),
        ([{"TAG": "VBZ", "LOWER": "is"}], {"POS": "AUX"}, 0),
        ([{"TAG": "VBZ", "LOWER": {"IN": ["is"]}, "OP": "?"}], {"POS": "AUX"}, 0),
        ([{"TAG": "VBZ", "LOWER": {"IN": ["is"], "NOT_IN": ["is"]}}], {"POS": "AUX"}, 0),
        ([{"TAG": "VBZ"}, {"TAG": "NN"}], {"POS": "AUX"}, 0),
        ([{"TAG": "VBZ"}], {"LEMMA": "be"}, 0),
        ([{"TAG": "VBZ"}], {"POS": "AUX"}, 1),
    ],
)
def test_the_component_takes_no_rules_that_read_or_say_anything_else(pattern, said, index):
    ruler = spacy.blank("en").add_pipe("attribute_rules")
    with pytest.raises(ValueError, match="use spaCy's 'attribute_ruler' for it"):
        ruler.add([pattern], said, index)
    assert ruler.patterns == []


def test_the_rules_for_words_that_are_right_most_often_come_first(treebank):
    words = [rule for rule in attribute_rules(treebank) if "LOWER" in rule["patterns"][0][0]]
    assert [rule["patterns"] for rule in words] == [[[{"TAG": "VBZ", "LOWER": {"IN": ["has", "is"]}}]]]


def test_what_has_no_features_is_known_to_have_none_and_white_space_is_space(vocab):
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("attribute_ruler")
    ruler.initialize(None, patterns=attribute_rules([doc_of(vocab, ("Ada", "NNP", PROPN))]))
    doc = ruler(Doc(nlp.vocab, words=["Kim", "\n"], tags=["NNP", "_SP"]))
    assert [token.pos_ for token in doc] == ["PROPN", "SPACE"]
    assert doc[0].has_morph()
    assert str(doc[0].morph) == ""


def test_a_treebank_without_parts_of_speech_gives_no_rules(toy, vocab, tmp_path):
    DocBin(docs=[toy.doc(vocab, *toy.sentences(3))]).to_disk(tmp_path / "train.spacy")
    assert create_attribute_rules(tmp_path / "train.spacy") == []


def test_a_directory_of_files_is_one_treebank(treebank, tmp_path):
    for name in ("a", "b"):
        DocBin(docs=treebank).to_disk(tmp_path / f"{name}.spacy")
    assert create_attribute_rules(tmp_path) == attribute_rules(treebank * 2)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (None, "E913"),
        ("text.txt", "is not a .spacy file"),
        ("damaged.spacy", "is not a .spacy file, or it is damaged"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_says_so(path, problem, write):
    with pytest.raises(ValueError, match=problem):
        create_attribute_rules(path and write("nothing", path))


def test_noun_chunks_are_found_in_a_language_whose_rules_know_the_labels_of_the_treebank():
    nlp = spacy.blank("it")
    words, tags = "Il cane vede un gatto".split(), "DET NOUN VERB DET NOUN".split()
    tree = {"heads": [1, 2, 2, 4, 2], "deps": ["det", "nsubj", "ROOT", "det", "obj"]}
    gold = Doc(nlp.vocab, words=words, tags=tags, pos=tags, **tree)
    parsed = Doc(nlp.vocab, words=words, tags=tags, **tree)
    assert list(parsed.noun_chunks) == []
    ruler = nlp.add_pipe("attribute_ruler")
    ruler.initialize(None, patterns=attribute_rules([gold]))
    assert [chunk.text for chunk in ruler(parsed).noun_chunks] == ["Il cane", "un gatto"]
