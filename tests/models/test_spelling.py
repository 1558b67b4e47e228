"""Rare words in letters: the probabilities of strings, what is learned, drawn and stored."""

import itertools

import numpy as np
import pytest

from spacy_hpyp.models import spelling as module
from spacy_hpyp.models.spelling import CODE_POINTS, Spelling, spell, write_out
from spacy_hpyp.storage.format import dump, load
from spacy_hpyp.text.unknown_words import universal_unknown_words
from spacy_hpyp.text.vocabulary import Vocabulary, VocabularySettings
from spacy_hpyp.text.word_classes import ClassedRule, WordClass, in_raw_text

#: Two characters are known, and a third stands for all others.
STRANGE = "☃"
WORDS = ["ab", "ba", "aab", "ab", "b", "bab"]
OTHERS = "walking talking sulking looked cooked Ann".split()


def learned(words, **settings):
    """A vocabulary of words and their spelling."""
    settings = VocabularySettings(
        universal_unknown_words(suffix_length=3), **{"min_class_count": 2, **settings}
    )
    vocabulary = Vocabulary.collect([(words, [0] * len(words))], [""], settings)
    return vocabulary, Spelling.learn(vocabulary, words, np.random.default_rng(0))


#: Raw text has "aa" and "bb", which the treebank has not, and "ab" and "b", each with a class of its own
#: kind.
RAW = {
    word: WordClass(path, word, count)
    for path, word, count in (
        ("00", "ab", 6),
        ("00", "aa", 2),
        ("01", "b", 5),
        ("10", "bb", 4),
        ("11", "<LOW>", 90),
    )
}


def learned_with_raw_text(words, **settings):
    """The same with words of raw text."""
    rule = ClassedRule(universal_unknown_words(suffix_length=3), RAW)
    settings = VocabularySettings(rule, **{"min_class_count": 1, **settings})
    vocabulary = Vocabulary.collect([(words, [0] * len(words))], [""], settings)
    return vocabulary, Spelling.learn(vocabulary, words, np.random.default_rng(0), RAW)


@pytest.fixture(scope="module")
def english():
    return learned(OTHERS)


def parts(spelling):
    return dump(spelling.to_message())


@pytest.mark.parametrize("min_count", [0, 2, 3])
def test_all_strings_up_to_a_length_have_one_at_most_and_come_near_to_it(min_count):
    vocabulary, spelling = learned(WORDS, min_count=min_count)
    others = CODE_POINTS - len(spelling.characters.known)
    assert spelling.characters.known == "ab"
    for number in range(len(vocabulary.classes)):
        total, totals = 0.0, []
        for length in range(8):
            strings = ["".join(each) for each in itertools.product("ab" + STRANGE, repeat=length)]
            log_probs = spelling.log_probs(strings, np.full(len(strings), number))
            total += sum(np.exp(log_probs) * [float(others) ** each.count(STRANGE) for each in strings])
            totals.append(total)
        assert np.all(np.diff(totals) > 0.0)
        assert 0.85 < total < 1.0


def test_new_words_are_spelled_like_rare_ones_of_their_class():
    rule = universal_unknown_words(suffix_length=3)
    stems = [a + b for a in "btklmp" for b in ("alk", "ook")]
    words, tags = zip(*((stem + ending, tag) for stem in stems for tag, ending in enumerate(("ing", "ed"))))
    seen = [([word], [tag]) for word, tag in zip(words, tags) for _ in range(1 + ("ook" in word))]
    settings = VocabularySettings(rule, min_count=3, min_class_count=2)
    vocabulary = Vocabulary.collect(seen, ["VBG", "VBD"], settings)
    spelling = Spelling.learn(vocabulary, words, np.random.default_rng(0))
    new = ["joking", "faked"]
    own = np.array(vocabulary.numbers(new)) - len(vocabulary.words)
    assert own[0] != own[1]
    assert np.all(spelling.log_probs(new, own) > spelling.log_probs(new, own[::-1]) + 1.0)


def test_words_and_classes_together_have_one_at_most():
    """Whatever the probabilities of known words and classes are: here all are as probable as the others."""
    vocabulary, spelling = learned(WORDS)
    strings = ["".join(each) for length in range(10) for each in itertools.product("ab", repeat=length)]
    numbers = np.array(vocabulary.numbers(strings), dtype=np.int32)
    probability = np.exp(spell(spelling, len(vocabulary.words), strings, numbers)) / len(vocabulary)
    # Of words of other classes, known ones and those with other characters less is lost than this.
    assert 0.5 < probability.sum() < 1.0


def test_words_of_raw_text_are_as_frequent_as_there_and_the_rest_is_spelled():
    vocabulary, spelling = learned_with_raw_text(WORDS, min_count=3)
    known = len(vocabulary.words)
    strings = [
        "".join(each) for length in range(10) for each in itertools.product("abAB", repeat=min(length, 5))
    ]
    strings = [*dict.fromkeys(strings), *("".join(each) for each in itertools.product("ab", repeat=7))]
    numbers = np.array(vocabulary.numbers(strings))
    probability = np.exp(spell(spelling, known, strings, numbers))
    is_raw = np.array([in_raw_text(RAW, word) != "" for word in strings])
    assert is_raw.sum() == 4 + 7
    for number in range(len(vocabulary.classes)):
        of_class = numbers == known + number
        share = spelling.raw.share[number]
        # All words of raw text, and no more than all others that are spelled.
        assert probability[of_class & is_raw].sum() == pytest.approx(share, abs=1e-12)
        assert probability[of_class & ~is_raw].sum() < 1.0 - share
    counts = dict(zip(strings, probability))
    assert vocabulary.number("ab") == vocabulary.number("aa")
    assert counts["ab"] == pytest.approx(3.0 * counts["aa"])


def test_drawn_words_are_of_raw_text_as_often_as_they_should_be():
    vocabulary, spelling = learned_with_raw_text(WORDS, min_count=3)
    number, rng = vocabulary.number("ab"), np.random.default_rng(4)
    drawn = [write_out(vocabulary, spelling, number, rng) for _ in range(150)]
    share = spelling.raw.share[number - len(vocabulary.words)]
    expected = np.exp(spell(spelling, len(vocabulary.words), ["ab", "aa"], np.array([number] * 2)))
    assert share == pytest.approx(expected.sum())
    for word, probability in zip(["ab", "aa"], expected):
        assert drawn.count(word) / 150 == pytest.approx(probability, abs=4.0 * (probability / 150) ** 0.5)


def test_words_of_raw_text_are_stored_without_it():
    _, spelling = learned_with_raw_text(WORDS, min_count=3)
    spelling.raw.counts[0] = 2**40
    loaded = Spelling.from_message(load(parts(spelling)))
    assert loaded.raw.classes is None
    assert loaded.raw.share.tolist() == spelling.raw.share.tolist()
    assert loaded.raw.counts.tolist() == spelling.raw.counts.tolist()


def test_known_words_have_no_letters():
    vocabulary, spelling = learned([*WORDS, *WORDS])
    words = ["ab", "bb", "ba"]
    numbers = np.array(vocabulary.numbers(words), dtype=np.int32)
    letters = spell(spelling, len(vocabulary.words), words, numbers)
    assert letters[[0, 2]].tolist() == [0.0, 0.0]
    assert letters[1] < 0.0
    assert spell(None, len(vocabulary.words), words, numbers).tolist() == [0.0] * 3


def test_words_that_look_like_those_of_their_class_are_more_probable(english):
    vocabulary, spelling = english
    number = vocabulary.number("walking") - len(vocabulary.words)
    alike, other, strange = spelling.log_probs(["balking", "gniklab", "ball☃ng"], np.full(3, number))
    assert alike > other > strange


def test_each_word_is_scored_by_itself(english):
    spelling = english[1]
    words, classes = ["walking", "", "x", "Änn"], np.array([1, 0, 1, 2])
    one_by_one = [spelling.log_probs([word], classes[i : i + 1])[0] for i, word in enumerate(words)]
    assert spelling.log_probs(words, classes).tolist() == one_by_one
    assert len(spelling.log_probs([], np.empty(0))) == 0


def test_a_seed_fixes_what_is_learned_and_the_order_of_words_does_not_matter(english):
    assert parts(learned(OTHERS[::-1])[1]) == parts(english[1])


def test_drawn_words_are_of_their_class(english, monkeypatch):
    vocabulary, spelling = english
    number = vocabulary.number("walking")
    rng = np.random.default_rng(3)

    drawn = [spelling.draw(vocabulary, number - len(vocabulary.words), rng) for _ in range(30)]
    assert all(word is not None and word.endswith("ing") for word in drawn)
    assert len(set(drawn)) > 3
    # A class whose words are never drawn is given up.
    monkeypatch.setattr(module, "ATTEMPTS", 0)
    assert spelling.draw(vocabulary, 0, rng) is None


def test_what_is_stored_predicts_the_same_bits(english):
    spelling = english[1]
    loaded = Spelling.from_message(load(parts(spelling)))
    words, classes = ["balking", "Zenobia", "☃"], np.array([0, 1, 2])
    assert loaded.log_probs(words, classes).tolist() == spelling.log_probs(words, classes).tolist()
    assert parts(loaded) == parts(spelling)
