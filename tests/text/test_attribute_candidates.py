"""Candidates: what a word was, and what words with its ending were."""

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


def test_frequent_words_are_what_they_were():
    assert candidates_of("king") == candidates_of("king", frequent=24) == [0]
    assert candidates_of("king", frequent=25) == [0, 1, 2]


def test_rare_words_may_be_what_their_ending_says_besides():
    assert candidates_of("meaning") == [2, 1]


def test_words_never_seen_are_what_words_with_the_longest_ending_were_most_frequent_first():
    assert candidates_of("cooking") == [1, 2]
    assert candidates_of("frogs") == [3]


def test_endings_of_words_with_a_capital_are_others():
    assert candidates_of("Joes") == [4]


def test_a_word_whose_capital_alone_is_new_may_be_what_it_was():
    assert 0 in candidates_of("King")


def test_every_word_may_be_something():
    for form in ("", "q", "Q", "1", " "):
        assert candidates_of(form)
    assert candidates_of("anything", [("a", 3)]) == [3]
