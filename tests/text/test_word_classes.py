"""Word classes: files, lookup, and learning from text."""

from itertools import product

import pytest

from spacy_hpyp.text.elements import CLASS_ATTRIBUTES, class_symbols, reads_classes, without_classes
from spacy_hpyp.text.word_classes import (
    ClassedRule,
    WordClass,
    class_lines,
    in_raw_text,
    learn_classes,
    path_in,
    path_of,
    read_classes,
)

NOUNS, VERBS = ("dog", "cat", "cow", "hen"), ("eats", "sleeps", "runs")
SENTENCES = [[*words, "."] for words in product(("The", "A"), NOUNS, VERBS)]
# Sentences that make "the" and "a" more frequent within sentences than "The" and "A".
SENTENCES += [f"{verb} the {noun} or a {noun} .".split() for noun in NOUNS for verb in VERBS]


def test_class_files_round_trip(write):
    classes = [WordClass("01", "b", 3), WordClass("00", "a", 1), WordClass("01", "c", 5)]
    file = write("".join(class_lines(classes)))
    assert file.read_text(encoding="utf8") == "00\ta\t1\n01\tc\t5\n01\tb\t3\n"
    assert sorted(read_classes(file)) == sorted(classes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no words"),
        ("0\ta\t1\n01 b 1\n", "Line 2"),
        ("0\ta\t1\n02\tb\t1\n", "Line 2"),
        ("0\ta\tmany\n", "Line 1"),
        ("0\ta\t1\n1\ta\t1\n", "Line 2"),
    ],
)
def test_errors_name_the_line_of_malformed_class_files(write, text, message):
    with pytest.raises(ValueError, match=message):
        read_classes(write(text))


def test_lookup_tries_the_form_then_digits_case_and_shape():
    paths = {"may": "00", "May": "01", "0000": "10", "<LOW-ing>": "110", "<LOW>": "111"}
    classes = {word: WordClass(path, word, 1) for word, path in paths.items()}
    words = ("may", "May", "MAY", "1984", "zyxing", "zyxed", "Zyx")
    found = [path_of(classes, word) for word in words]
    assert found == ["00", "01", "00", "10", "110", "111", ""]


def test_raw_text_words_include_their_capitalized_forms():
    known = "may May dog iPod 0000 <LOW-ing> a".split()
    classes = {word: WordClass("0", word, 3) for word in known}
    expected = {"may": "may", "May": "May", "MAY": "may", "Dog": "dog", "DOG": "dog"}
    expected |= {"iPod": "iPod", "A": "a"}
    expected |= dict.fromkeys(("mAY", "IPOD", "1984", "0000", "<LOW-ing>", "running", ""), "")
    assert {word: in_raw_text(classes, word) for word in expected} == expected


def test_a_classed_rule_names_classes_first_from_fine_to_coarse():
    def rule(form, lower_tag):
        return [f"{form[-1]}~{lower_tag}", "ANY"]

    classed = ClassedRule(rule, {"dog": WordClass("010110101", "dog", 3)})
    names = classed("dog", "")
    assert [path_in(name) for name in names] == ["010110101", "01011010", "010110", "0101", "", ""]
    assert names[-2:] == rule("dog", "")
    assert len({classed(word, "")[0] for word in ("dog", "Dog", "DOG")}) == 3
    assert [path_in(name) for name in classed("Dog", "")] == [path_in(name) for name in names]
    assert classed("cat", "NN") == rule("cat", "NN")


def test_class_symbols_compare_path_prefixes():
    first, second = class_symbols("010101"), class_symbols("010110")
    same = [steps <= 4 for steps in CLASS_ATTRIBUTES.values()]
    assert [a == b for a, b in zip(first, second)] == same
    assert class_symbols("") == [0] * len(CLASS_ATTRIBUTES)
    assert 0 not in first


def test_templates_that_read_classes_are_recognised():
    lists = [["word"], ["prev.class:8", "word"], ["l.left.class"], ["case"]]
    assert without_classes(lists) == [["word"], ["case"]]
    assert not reads_classes(["word", "l.guide.tag"])


def test_words_in_similar_contexts_share_a_class():
    found = {each.word: each for each in learn_classes(lambda: SENTENCES, 4, min_count=2)}
    assert len({found[noun].path for noun in NOUNS}) == 1
    assert len({each.path for each in found.values()}) == 4
    # A capitalized form at the beginning of a sentence is the same word.
    assert "The" not in found
    assert found["the"].count == 24


def test_rare_words_are_grouped_by_shape():
    sentences = [*SENTENCES, *(["the", f"{stem}ing", "."] for stem in ("zyx", "abl", "qua"))]
    words = {each.word: each.count for each in learn_classes(lambda: sentences, 4, min_count=3)}
    assert words["<LOW-ing>"] == 3


@pytest.mark.parametrize(
    ("sentences", "message"), [([], "0 words"), ([["a"]], "4 classes of 1 words")]
)
def test_too_little_text_raises_an_error(sentences, message):
    with pytest.raises(ValueError, match=message):
        learn_classes(lambda: sentences, 4)
