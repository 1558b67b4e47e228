"""Elements of words: documented names, and symbols that match them."""

import numpy as np
import pytest

from spacy_hpyp.annotation.arrays import no_guides
from spacy_hpyp.compiled import NONE
from spacy_hpyp.easy_first import words as words_module
from spacy_hpyp.easy_first.word_model import WordClassifier
from spacy_hpyp.easy_first.words import (
    MORPHOLOGY,
    STARTS,
    TAGS,
    compile_reading,
    guide_symbols,
    possible_outcomes,
    spelling,
)
from spacy_hpyp.text.candidates import WordOutcomes
from spacy_hpyp.text.unknown_words import universal_unknown_words
from spacy_hpyp.text.vocabulary import Vocabulary, VocabularySettings


@pytest.fixture
def vocabulary():
    words = ["the", "dog", "The", "the", "a", "Kim", "Kim", "a"]
    sentences = [*[(words, [0, 1, 0, 0, 0, 2, 2, 1])] * 3, (["axolotl"], [1])]
    settings = VocabularySettings(universal_unknown_words(), open_class_below=0)
    return Vocabulary.collect(sentences, ["D", "N", "P"], settings)


def classifier(vocabulary, attributes, task=TAGS):
    settings = VocabularySettings(universal_unknown_words())
    found = WordClassifier(task, [[name] for name in attributes], settings, places=2)
    found.initialize(vocabulary)
    assert found.attributes == sorted(attributes)
    return found


def rows(vocabulary, forms, attributes, task=TAGS):
    model = classifier(vocabulary, attributes, task)
    symbols, kind = model.encode(forms, np.arange(len(forms)), {})
    return symbols.T.tolist(), kind.tolist()


def test_elements_are_attributes_of_a_word_and_its_neighbours():
    assert TAGS.elements["suffix3"] == (0, "suffix3")
    assert TAGS.elements["prev2.guide.tag"] == (-2, "guide.tag")
    assert STARTS.elements["next3.start"] == (3, "start")
    # A word's own outcome and elements of the other task cannot be read.
    assert not {"tag", "start", "space", "next.start"} & TAGS.elements.keys()
    assert not {"start", "prev.tag", "guide.tag"} & STARTS.elements.keys()


def test_a_reading_lists_the_features_that_read_an_outcome():
    templates = [
        ["prev.tag", "word"],
        ["suffix2", "next2.word"],
        ["next2.tag", "prev.tag"],
        ["lower"],
    ]
    attributes, reading = compile_reading(templates, TAGS)
    assert attributes == ["lower", "suffix2", "word"]
    assert reading.reach == 2
    assert reading.fixed.tolist() == [2, 1, 1, 0]
    readers = np.split(reading.readers, reading.reader_offsets[1:-1])
    assert [each.tolist() for each in readers] == [[], [2, 3], [], [], [3]]
    columns = reading.templates.columns[reading.templates.offsets[2] :]
    assert reading.attribute[columns].tolist() == [2, NONE, NONE, NONE]
    assert reading.distance[columns].tolist() == [0, -1, 2, -1]


def test_affixes_and_shapes_are_read_from_the_form():
    def read(name, *forms):
        return [spelling(form)[name] for form in forms]

    for name, first, same, other in (
        ("suffix3", "Running", "SINGING", "runner"),
        ("prefix2", "Unable", "under", "able"),
        ("shape", "McDonald's", "McAllister's", "Mcdonald's"),
        ("shape", "1999", "42", "4"),
    ):
        one, two, three = read(name, first, same, other)
        assert one == two != three
    assert read("suffix5", "sing") == read("prefix5", "dog") == [0]
    assert len(set(read("case", "...", "USA", "I", "Kim", "iPod", "dog"))) == 6
    assert read("digits", "dog", "x2", "42") == [0, 1, 2]
    assert read("hyphen", "dog", "part-time") == [0, 1]
    assert read("length", "dog", "a" * 8, "a" * 9) == [3, 8, 8]


def test_rare_words_are_read_as_their_class(vocabulary):
    (usual, word), kind = rows(vocabulary, ["the", "axolotl", "quetzal", "a"], ["word", "usual"])
    assert word == kind == vocabulary.numbers(["the", "axolotl", "quetzal", "a"])
    assert word[1] >= len(vocabulary.words)
    assert [vocabulary.tags[tag] for tag in usual] == ["D", "N", "N", "D"]


def test_capitalized_words_are_looked_up_in_lower_case(vocabulary):
    (known,), _ = rows(vocabulary, ["the", "Kim", "The", "THE", "Quetzal", "..."], ["lower.known"])
    assert known == [0, 1, 3, 3, 1, 0]


def test_the_caller_passes_symbols_of_the_context(vocabulary):
    more = {"space": np.array([4, 2], dtype=np.int32)}
    model = classifier(vocabulary, ["space", "word"], STARTS)
    symbols, kind = model.encode(["the"], np.array([0, 0]), more)
    assert symbols[:, 0].tolist() == [4, 2]
    assert kind.tolist() == [0, 0]


def test_possible_outcomes_come_from_the_vocabulary_or_are_unrestricted(vocabulary):
    possible = possible_outcomes(vocabulary, TAGS, None)
    kind = vocabulary.number("a")
    assert possible.outcomes[possible.offsets[kind] : possible.offsets[kind + 1]].tolist() == [0, 1]
    assert possible_outcomes(vocabulary, STARTS, None).outcomes.tolist() == [0, 1, 2]


def test_parts_are_numbered_after_the_outcomes():
    names = ["Case=Nom|POS=NOUN", "POS=VERB", "Case=Nom|POS=VERB"]
    vocabulary = Vocabulary.collect(
        [(["a", "b"], [0, 1])], names, VocabularySettings(universal_unknown_words())
    )
    candidates = WordOutcomes.collect([("a", 0), ("b", 1)], MORPHOLOGY.frequent)
    possible = possible_outcomes(vocabulary, MORPHOLOGY, candidates)
    parts = [part.tolist() for part in np.split(possible.parts, possible.part_offsets[1:-1])]
    # The noun, the case, the case of a noun; the verb; the verb, the case, the case of a verb.
    assert parts == [[0, 3, 4, 5], [1, 6], [2, 6, 4, 7]]
    assert possible.outcomes is candidates.outcomes


def test_guide_probabilities_are_read_in_steps():
    guides = no_guides(3)
    guides.tags[:2, :2] = [[1, 0], [2, NONE]]
    guides.tag_probability[:2, :2] = [[0.6, 0.4], [1.0, 0.0]]
    guides.heads[:2, 0], guides.head_labels[0, 0] = [1, NONE], 5
    symbols = guide_symbols(guides, np.array([0, 3]))
    assert symbols.keys() == set(words_module.GUIDE_ATTRIBUTES)
    assert symbols["guide.tag"].tolist() == [1, 2, NONE]
    assert symbols["guide.tag2"].tolist() == [0, NONE, NONE]
    assert symbols["guide.label"].tolist() == [5, NONE, NONE]
    assert symbols["guide.head.tag"].tolist() == [2, NONE, NONE]
    steps = symbols["guide.prob"].tolist()
    assert steps[2] < steps[0] < steps[1]
    assert all(column.dtype == np.int32 for column in symbols.values())
