"""The vocabulary: known words, classes of unknown words, and candidate tags."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hpyp.storage import dump, load
from spacy_hpyp.text.unknown_words import english_unknown_words, universal_unknown_words
from spacy_hpyp.text.vocabulary import UNKNOWN, Vocabulary, VocabularySettings
from spacy_hpyp.text.word_classes import ClassedRule, WordClass

TAGS = ["DT", "NN", "VB", "NNP", "."]
DT, NN, VB, NNP, STOP = range(5)


def by_shape(form, lower_tag):
    """Classes that are easy to see in the test: the first two characters, the first one, any
    lower-case word.
    """
    general = ["lower"] if form.islower() else []
    return [f"{form[:2]}*", f"{form[:1]}*", *general]


def with_lower_tag(form, lower_tag):
    return [f"lower:{lower_tag}"]


def collect(*sentences, rule=by_shape, **options):
    """A vocabulary of sentences as lists of words with tags. By default, only repeated words are
    known.
    """
    options = {"min_count": 2, "min_class_count": 1, "open_class_below": 0, **options}
    columns = [tuple(zip(*sentence)) for sentence in sentences]
    return Vocabulary.collect(columns, TAGS, VocabularySettings(rule, **options))


def times(count, word, tag):
    return [[("the", DT), (word, tag)]] * count


def candidates(vocabulary, number):
    start, end = vocabulary.tag_offsets[number : number + 2]
    return vocabulary.candidate_tags[start:end].tolist()


def class_of(vocabulary, word):
    return vocabulary.name(vocabulary.number(word))


def content(vocabulary):
    names = "tag_offsets", "candidate_tags", "outcomes", "observed", "observed_form"
    arrays = [getattr(vocabulary, name).tolist() for name in names]
    return vocabulary.words, vocabulary.classes, vocabulary.tags, vocabulary.rare, arrays


@pytest.mark.parametrize("min_count", [1, 2, 3, 4])
def test_words_with_the_minimum_count_are_known(min_count):
    sentences = [*times(3, "dog", NN), *times(2, "cat", NN), *times(1, "bird", NN)]
    vocabulary = collect(*sentences, min_count=min_count)
    counts = {"the": 6, "dog": 3, "cat": 2, "bird": 1}
    assert vocabulary.words == [word for word, count in counts.items() if count >= min_count]
    for word, count in counts.items():
        assert (class_of(vocabulary, word) == word) == (count >= min_count)


def test_small_classes_are_replaced_by_more_general_ones():
    rare = [[(word, NN)] for word in ["aab", "aac", "abd", "bxy", "czz"]]
    names = ["aab", "abq", "bxy", "czz", "Qzz"]
    expected = {
        1: ["aa*", "ab*", "bx*", "cz*", UNKNOWN],
        2: ["aa*", "a*", "lower", "lower", UNKNOWN],
        3: ["a*", "a*", "lower", "lower", UNKNOWN],
        4: ["lower"] * 4 + [UNKNOWN],
        5: ["lower"] * 4 + [UNKNOWN],
        6: [UNKNOWN] * 5,
    }
    for size, classes in expected.items():
        vocabulary = collect(*rare, min_class_count=size)
        assert [class_of(vocabulary, name) for name in names] == [f"<{each}>" for each in classes]


def test_the_rule_receives_the_usual_tag_of_the_lower_case_form():
    rare = [("Run", VB), ("Zenobia", NNP), ("qualm", NN)]
    vocabulary = collect([("run", NN), ("run", VB), ("run", VB)], rare, rule=with_lower_tag)
    assert set(vocabulary.classes) == {UNKNOWN, "lower:VB", "lower:"}
    assert class_of(vocabulary, "RUN") == "<lower:VB>"
    assert class_of(vocabulary, "Qualm") == "<lower:>"


@pytest.mark.parametrize("open_class_below", [0, 3, 4, 100])
def test_open_classes_are_added_only_to_rare_words(open_class_below):
    rare = [("rare", NN), ("Zenobia", NNP), ("seldom", NN)]
    vocabulary = collect([("walk", VB)] * 3, rare, open_class_below=open_class_below)
    expected = [VB, NN, NNP] if open_class_below > 3 else [VB]
    assert candidates(vocabulary, vocabulary.number("walk")) == expected


def test_classes_list_their_own_tags_before_all_open_classes():
    sentences = [[("noun", NN)], [("nouns", NN)], [("nod", VB)], [("verb", VB)]]
    vocabulary = collect(*sentences, min_class_count=2)
    assert candidates(vocabulary, vocabulary.number("nothing")) == [NN, VB]
    assert candidates(vocabulary, vocabulary.number("violin")) == [VB, NN]
    assert candidates(vocabulary, vocabulary.number("?")) == [NN, VB]


def test_tags_with_hardly_any_rare_words_are_not_open_classes():
    rare = [[(f"noun{i}", NN)] for i in range(998)]
    for tag, open_class in [(NN, {NN}), (DT, {NN, DT})]:
        vocabulary = collect(*rare, [("word", DT)], [("words", tag)])
        assert {*candidates(vocabulary, vocabulary.number("?"))} == open_class


def observing(*sentences, **options):
    options = {"observed": True, "min_class_count": 2, **options}
    return collect(*times(5, "dog", NN), *sentences, **options)


def test_forms_of_words_generated_by_class_are_observed():
    classes = {word: WordClass("01", word, 1) for word in "cat cow run rot car rat".split()}
    words = [(word, NN) for word in ("cat", "cow")]
    words += [(word, VB) for word in ("run", "rot", "dip", "dot", "rap")]
    vocabulary = observing(words, rule=ClassedRule(by_shape, classes), min_class_count=2)
    found = vocabulary.numbers_observed(["dog", "cat", "car", "rat", "dim", "zoo"])
    names = ["dog", "<@01~c*~SEEN~NN>", "<@01~c*>", "<@01~r*>", "<d*>", f"<{UNKNOWN}>"]
    assert [vocabulary.name(number) for number in found] == names
    assert len(set(vocabulary.outcomes[found[1:4]].tolist())) == 1
    assert [candidates(vocabulary, number) for number in found[1:4]] == 3 * [[NN, VB]]
    told = vocabulary.forms.given(len(TAGS))
    assert told.sum(axis=0) == pytest.approx(1.0)
    c, r = vocabulary.observed_form[found[2:4]]
    assert told[c, NN] > told[r, NN]
    assert told[c, VB] < told[r, VB]
    again = Vocabulary.from_dict(load(dump(vocabulary.to_dict())), vocabulary.rule)
    assert again.numbers_observed(["rat", "dim"]) == found[3:5]
    assert content(again) == content(vocabulary)
    np.testing.assert_array_equal(again.forms.given(len(TAGS)), told)


def test_rare_words_are_generated_by_class_and_their_tag_is_observed():
    sentences = [[("cat", NN), ("cow", NN), ("call", VB), ("run", VB)]]
    vocabulary, plain = observing(*sentences), observing(*sentences, observed=False)
    assert (vocabulary.words, vocabulary.classes) == (plain.words, plain.classes)
    for number in plain.numbers(["dog", "cat", "call", "cab", "run", "Zoe"]):
        assert candidates(vocabulary, number) == candidates(plain, number)
    words = ["dog", "cat", "cow", "call", "cab", "run"]
    assert vocabulary.numbers([*words, "Zoe"]) == plain.numbers([*words, "Zoe"])
    found = vocabulary.numbers_observed(words)
    names = ["dog", "<ca*~SEEN~NN>", "<c*~SEEN~NN>", "<ca*~SEEN~VB>", "<ca*>", "<lower~SEEN~VB>"]
    assert [vocabulary.name(number) for number in found] == names
    assert vocabulary.outcomes[found].tolist() == vocabulary.numbers(words)
    assert vocabulary.observed[found].tolist() == [-1, NN, NN, VB, -1, VB]
    assert not vocabulary.is_known(np.array(found[1:])).any()


def test_words_rare_in_remaining_data_are_observed_with_their_tag_there():
    vocabulary = observing([("dock", NN), ("cat", NN)], min_class_count=1)
    dog = np.array([vocabulary.number("dog")])
    left = np.zeros(len(vocabulary), dtype=np.int64)
    assert vocabulary.numbers_by_counts(dog, left, 2).tolist() == vocabulary.numbers(["dove"])
    left[dog] = 1
    found = vocabulary.numbers_by_counts(dog, left, 2)
    assert found.tolist() == vocabulary.numbers_observed(["dock"])
    assert vocabulary.name(found[0]) == "<do*~SEEN~NN>"
    left[dog] = 2
    assert vocabulary.numbers_by_counts(dog, left, 2) == dog
    # Applying it again changes nothing.
    assert vocabulary.numbers_by_counts(found, left, 2) == found


def test_tag_history_is_learned_from_rare_words_leaving_out_each_token():
    seldom = [("cat", NN), ("cat", VB), ("cow", NN), ("cow", NN), ("call", VB)]
    counted = {(NN, VB): 1, (VB, NN): 1, (NN, NN): 2}
    assert pairs_of(observing(seldom)) == counted
    # One token of "cod" has an unusual tag.
    more = [("cod", VB), ("cod", VB), ("cod", NN)]
    assert pairs_of(observing([*seldom, *more])) == counted
    counted |= {(VB, NN): 3, (NN, VB): 2}
    assert pairs_of(observing([*seldom, *more], min_count=3)) == counted


def pairs_of(vocabulary):
    return {(tag, elsewhere): count for tag, elsewhere, count in vocabulary.seen.pairs.tolist()}


WORDS = st.text(alphabet="aAbB1-", min_size=1, max_size=3)
TOKENS = st.tuples(WORDS, st.integers(0, len(TAGS) - 1))
SENTENCES = st.lists(st.lists(TOKENS, min_size=1, max_size=5), min_size=1, max_size=12)
OPTIONS = st.fixed_dictionaries(
    {
        "rule": st.sampled_from([by_shape, english_unknown_words(), universal_unknown_words()]),
        "min_count": st.integers(1, 3),
        "min_class_count": st.integers(1, 4),
        "open_class_below": st.integers(0, 4),
        "observed": st.booleans(),
    }
)


@settings(deadline=None, derandomize=True)
@given(SENTENCES, OPTIONS)
def test_numbers_are_dense_and_names_distinct(sentences, options):
    vocabulary = collect(*sentences, **options)
    names = [vocabulary.name(number) for number in range(len(vocabulary))]
    assert len(vocabulary) == len(vocabulary.words) + len(vocabulary.classes)
    assert names == [*vocabulary.words, *(f"<{name}>" for name in vocabulary.classes)]
    assert len(set(names)) == len(names)
    assert vocabulary.numbers(vocabulary.words) == list(range(len(vocabulary.words)))
    assert vocabulary.classes[0] == UNKNOWN


@settings(deadline=None, derandomize=True)
@given(SENTENCES, OPTIONS)
def test_a_stored_vocabulary_gives_the_same_numbers(sentences, options):
    vocabulary = collect(*sentences, **options)
    again = Vocabulary.from_dict(load(dump(vocabulary.to_dict())), options["rule"])
    assert content(again) == content(vocabulary)
    words = [word for sentence in sentences for word, _ in sentence]
    assert again.numbers_observed(words) == vocabulary.numbers_observed(words)
    if vocabulary.seen:
        assert np.array_equal(again.seen.given(len(TAGS)), vocabulary.seen.given(len(TAGS)))


@settings(deadline=None, derandomize=True)
@given(SENTENCES, OPTIONS)
def test_candidate_tags_include_all_learned_tags_without_duplicates(sentences, options):
    vocabulary = collect(*sentences, **options)
    for sentence in sentences:
        words, tags = zip(*sentence)
        for number, tag in zip(vocabulary.numbers(words), tags):
            assert tag in candidates(vocabulary, number)
    for number in range(len(vocabulary.outcomes)):
        found = candidates(vocabulary, number)
        assert found
        assert len(set(found)) == len(found)
        assert set(found) <= set(range(len(TAGS)))
    assert vocabulary.tag_offsets[0] == 0
    assert vocabulary.tag_offsets[-1] == len(vocabulary.candidate_tags)


@settings(deadline=None, derandomize=True)
@given(SENTENCES, OPTIONS, WORDS)
def test_unknown_words_get_the_first_existing_class(sentences, options, word):
    vocabulary = collect(*sentences, **{**options, "observed": False})
    number = vocabulary.number(word)
    if word in vocabulary.words:
        assert vocabulary.name(number) == word
        return
    lower_tag = ""
    if word.lower() in vocabulary.words:
        lower_tag = TAGS[candidates(vocabulary, vocabulary.words.index(word.lower()))[0]]
    names = [name for name in options["rule"](word, lower_tag) if name in vocabulary.classes]
    assert vocabulary.name(number) == f"<{[*names, UNKNOWN][0]}>"
