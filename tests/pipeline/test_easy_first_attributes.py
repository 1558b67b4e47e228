"""The components easy_first_morphologizer and easy_first_lemmatizer: learning, writing, saving."""

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from tree_parsers import with_guide

from spacy_hpyp.annotation.syntactic_words import Analysis, write_words
from spacy_hpyp.pipeline.corpus import mark_sentence

NAMES = ("easy_first_morphologizer", "easy_first_lemmatizer")
#: Words with parts of speech, features and lemmas. "runs" is a verb after "she", and a noun after
#: "the".
TEXTS = [
    "She PRON Number=Sing she, runs VERB Number=Sing|Person=3 run, . PUNCT _ .",
    "The DET _ the, runs NOUN Number=Plur runs, end VERB Number=Plur end",
    "the DET _ the, dogs NOUN Number=Plur dog, talk VERB Number=Plur talk",
    "the DET _ the, cats NOUN Number=Plur cat, walk VERB Number=Plur walk",
    "the DET _ the, birds NOUN Number=Plur bird, walk VERB Number=Plur walk",
    "she PRON Number=Sing she, talks VERB Number=Sing|Person=3 talk, . PUNCT _ .",
]
#: The same in columns.
SENTENCES = [
    [*map(list, zip(*(word.replace("_", "").split(" ") for word in text.split(", "))))]
    for text in TEXTS
]
MORPHOLOGY = "word, lower, suffix1, prev.lower, prev.lower suffix1, prev.morph"
LEMMAS = "word, suffix1, written.pos, written.pos lower, written.morph suffix1"


def add(nlp, name, templates):
    templates = [each.split() for each in templates.split(", ")]
    nlp.add_pipe(name, config={"model": {"templates": templates, "places": 2**12, "guided": True}})


def examples_of(nlp, sentences=SENTENCES):
    examples = []
    for words, pos, morphs, lemmas in sentences:
        gold = Doc(nlp.vocab, words=words, pos=pos, morphs=morphs, lemmas=lemmas)
        examples.append(Example(Doc(nlp.vocab, words=words), mark_sentence(gold)))
    return examples


def trained(sentences=SENTENCES, passes=10):
    nlp = spacy.blank("en")
    for name, templates in zip(NAMES, (MORPHOLOGY, LEMMAS)):
        add(nlp, name, templates)
    examples = examples_of(nlp, sentences)
    nlp.initialize(lambda: examples)
    for _ in range(passes):
        nlp.update(examples)
    return nlp


@pytest.fixture(scope="module")
def nlp():
    """A trained pipeline; tests do not change it."""
    return trained()


def analysed(nlp, *words):
    doc = nlp(Doc(nlp.vocab, words=words))
    return [(token.pos_, str(token.morph), token.lemma_) for token in doc]


def test_training_sentences_are_analysed_correctly(nlp):
    for words, pos, morphs, lemmas in SENTENCES:
        assert analysed(nlp, *words) == list(zip(pos, morphs, lemmas))


def test_unknown_words_are_analysed_like_words_with_their_ending(nlp):
    assert analysed(nlp, "the", "frogs", "walk")[1] == ("NOUN", "Number=Plur", "frog")
    assert analysed(nlp, "she", "barks", ".")[1] == ("VERB", "Number=Sing|Person=3", "bark")


def test_labels_have_the_same_names_as_in_spacy(nlp):
    morphologizer, lemmatizer = map(nlp.get_pipe, NAMES)
    assert "Number=Plur|POS=NOUN" in morphologizer.labels
    assert "POS=DET" in morphologizer.label_data
    # All plurals have one rule.
    labels = lemmatizer.labels
    assert sum(label.endswith("s\t" + label.split("\t")[0][:-1]) for label in labels) == 1


def test_white_space_gets_the_part_of_speech_space(nlp):
    doc = nlp("she  talks")
    assert [token.pos_ for token in doc] == ["PRON", "SPACE", "VERB"]
    assert nlp("  ")[0].pos_ == "SPACE"
    assert len(nlp("")) == 0


def test_nothing_is_written_without_training_annotation(caplog):
    bare = [(words, *([""] * len(words) for _ in range(3))) for words, *_ in SENTENCES]
    nlp = trained(bare, passes=1)
    assert "nothing to learn from" in caplog.text
    assert analysed(nlp, "the", "dogs") == [("", "", ""), ("", "", "")]


def test_words_without_annotation_are_not_learned():
    words, pos, morphs, lemmas = SENTENCES[0]
    odd = (["odd", *words[1:]], *(["", *column[1:]] for column in (pos, morphs, lemmas)))
    nlp = trained([*SENTENCES, odd])
    assert not any("odd" in label for label in nlp.get_pipe("easy_first_lemmatizer").labels)
    # Model cards list no edit trees, either.
    assert "easy_first_lemmatizer" not in nlp.meta["labels"]
    assert analysed(nlp, *words) == list(zip(pos, morphs, lemmas))


def test_syntactic_words_are_analysed_separately(nlp):
    doc = Doc(nlp.vocab, words=["thedogs", "talk"])
    write_words(doc, 0, [Analysis("the"), Analysis("dogs")])
    doc = nlp(doc)
    words = doc[0]._.ud_words
    assert [(word.pos_, str(word.morph), word.lemma_) for word in words] == [
        ("DET", "", "the"),
        ("NOUN", "Number=Plur", "dog"),
    ]
    assert doc[1].pos_ == "VERB"


def test_guides_are_read_by_the_names_of_their_tags():
    nlp = spacy.blank("en")
    add(nlp, "easy_first_morphologizer", "guide.tag")
    examples = []
    for pos, tag in (("NOUN", "NNS"), ("VERB", "VBZ")):
        gold = with_guide(Doc(nlp.vocab, words=["runs"], pos=[pos]), [[tag]], [1.0])
        examples.append(Example(Doc(nlp.vocab, words=["runs"]), gold))
    nlp.initialize(lambda: examples)
    for _ in range(5):
        nlp.update(examples)
    # The tags are in another order, after another one.
    for tag, pos in (("VBZ", "VERB"), ("NNS", "NOUN")):
        assert nlp(with_guide(Doc(nlp.vocab, words=["runs"]), [[tag]], [1.0]))[0].pos_ == pos
    with pytest.raises(ValueError, match="reads guides"):
        nlp("runs")
