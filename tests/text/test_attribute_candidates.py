"""Candidates: a word's known attributes, and those of words with its ending."""

from spacy_hpyp.text.candidates import WordOutcomes

# Rare words with two endings, and a frequent one.
WORDS = [
    *((f"{stem}ing", 1) for stem in "walk talk sing ring jump read look".split()),
    *((f"{stem}ing", 2) for stem in "build mean feel".split()),
    *((f"{stem}s", 3) for stem in "dog cat bird cow hen pig ant bee owl rat".split()),
    *((f"{stem}s", 4) for stem in "Kim Pat Sue Tom Ann Bob Eve Max Lee Ray".split()),
    *[("king", 0)] * 24,
]


def candidates_of(form, words=WORDS, frequent=20):
    candidates = WordOutcomes.collect(words, frequent)
    kind = candidates.kind(form)
    return candidates.outcomes[candidates.offsets[kind] : candidates.offsets[kind + 1]].tolist()


def test_only_rare_words_gain_the_attributes_of_their_ending():
    assert candidates_of("king") == candidates_of("king", frequent=24) == [0]
    assert candidates_of("king", frequent=25) == [0, 1, 2]
    assert candidates_of("meaning") == [2, 1]


def test_unseen_words_get_attributes_of_their_longest_known_ending_by_frequency():
    assert candidates_of("cooking") == [1, 2]
    assert candidates_of("frogs") == [3]


def test_capitalized_words_have_their_own_endings_and_known_attributes():
    assert candidates_of("Joes") == [4]
    assert 0 in candidates_of("King")


def test_every_word_has_a_candidate():
    for form in ("", "q", "Q", "1", " "):
        assert candidates_of(form)
    assert candidates_of("anything", [("a", 3)]) == [3]
