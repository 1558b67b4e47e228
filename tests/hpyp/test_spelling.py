"""Spelling of rare words: probabilities of strings, learning, drawing and storage."""

import itertools

import numpy as np
import pytest

from spacy_hpyp.hpyp import spelling as module
from spacy_hpyp.hpyp.spelling import CODE_POINTS, Characters, Spelling, spell
from spacy_hpyp.storage import dump, load
from spacy_hpyp.text.unknown_words import universal_unknown_words
from spacy_hpyp.text.vocabulary import Vocabulary, VocabularySettings

#: An unknown character. It stands for all but the two known ones.
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


@pytest.fixture(scope="module")
def english():
    return learned(OTHERS)


def test_unknown_characters_share_one_number():
    characters = Characters("banana-é")
    assert list(map(len, characters.encode([]))) == [0, 1]
    symbols, offsets = characters.encode(["ab", "", "nê☃"])
    assert characters.known == "-abné"
    # Characters are encoded from last to first, followed by an end.
    assert symbols.tolist() == [2, 1, 6, 6, 5, 5, 3, 6]
    assert offsets.tolist() == [0, 3, 4, 8]
    assert (characters.unknown, characters.end, len(characters)) == (5, 6, 7)


def test_decoding_inverts_encoding_of_known_characters():
    characters, words = Characters("banana-é"), ["banana", "é", "--", ""]
    symbols, offsets = characters.encode(words)
    assert [characters.decode(symbols[a : b - 1]) for a, b in zip(offsets, offsets[1:])] == words
    assert characters.decode(np.array([1, characters.unknown])) is None
    assert (CODE_POINTS - 5) * np.exp(characters.log_share) == pytest.approx(1.0)


def parts(spelling):
    return dump(spelling.to_message())


@pytest.mark.parametrize("min_count", [0, 2, 3])
def test_string_probabilities_sum_to_nearly_one(min_count):
    vocabulary, spelling = learned(WORDS, min_count=min_count)
    others = CODE_POINTS - len(spelling.characters.known)
    assert spelling.characters.known == "ab"
    for number in range(len(vocabulary.classes)):
        total, totals = 0.0, []
        for length in range(8):
            strings = ["".join(each) for each in itertools.product("ab" + STRANGE, repeat=length)]
            log_probs = spelling.log_probs(strings, np.full(len(strings), number))
            total += sum(
                np.exp(log_probs) * [float(others) ** each.count(STRANGE) for each in strings]
            )
            totals.append(total)
        assert np.all(np.diff(totals) > 0.0)
        assert 0.85 < total < 1.0


def test_new_words_are_spelled_like_rare_words_of_their_class():
    rule = universal_unknown_words(suffix_length=3)
    stems = [a + b for a in "btklmp" for b in ("alk", "ook")]
    words, tags = zip(
        *((stem + ending, tag) for stem in stems for tag, ending in enumerate(("ing", "ed")))
    )
    seen = [([word], [tag]) for word, tag in zip(words, tags) for _ in range(1 + ("ook" in word))]
    settings = VocabularySettings(rule, min_count=3, min_class_count=2)
    vocabulary = Vocabulary.collect(seen, ["VBG", "VBD"], settings)
    spelling = Spelling.learn(vocabulary, words, np.random.default_rng(0))
    new = ["joking", "faked"]
    own = np.array(vocabulary.numbers(new)) - len(vocabulary.words)
    assert own[0] != own[1]
    assert np.all(spelling.log_probs(new, own) > spelling.log_probs(new, own[::-1]) + 1.0)


def test_word_probabilities_with_spelling_sum_to_at_most_one():
    """Probabilities of known words and classes are arbitrary; here they are uniform."""
    vocabulary, spelling = learned(WORDS)
    strings = [
        "".join(each) for length in range(10) for each in itertools.product("ab", repeat=length)
    ]
    numbers = np.array(vocabulary.numbers(strings), dtype=np.int32)
    probability = np.exp(spell(spelling, len(vocabulary.words), strings, numbers)) / len(vocabulary)
    # Words of other classes, known words and unknown characters lose less than half.
    assert 0.5 < probability.sum() < 1.0


def test_known_words_are_not_spelled():
    vocabulary, spelling = learned([*WORDS, *WORDS])
    words = ["ab", "bb", "ba"]
    numbers = np.array(vocabulary.numbers(words), dtype=np.int32)
    letters = spell(spelling, len(vocabulary.words), words, numbers)
    assert letters[[0, 2]].tolist() == [0.0, 0.0]
    assert letters[1] < 0.0
    assert spell(None, len(vocabulary.words), words, numbers).tolist() == [0.0] * 3


def test_spelling_variants_have_equal_probability(english):
    variants = ["l'é-", "l’é-", "l'e\u0301-", "l'\xadé–"]
    assert len(set(english[1].log_probs(variants, np.zeros(4)).tolist())) == 1


def test_words_are_scored_independently(english):
    spelling = english[1]
    words, classes = ["walking", "", "x", "Änn"], np.array([1, 0, 1, 2])
    one_by_one = [spelling.log_probs([word], classes[i : i + 1])[0] for i, word in enumerate(words)]
    assert spelling.log_probs(words, classes).tolist() == one_by_one
    assert len(spelling.log_probs([], np.empty(0))) == 0


def test_learning_is_reproducible_and_ignores_word_order(english):
    assert parts(learned(OTHERS[::-1])[1]) == parts(english[1])


def test_drawn_words_belong_to_their_class(english, monkeypatch):
    vocabulary, spelling = english
    number = vocabulary.number("walking")
    rng = np.random.default_rng(3)

    drawn = [spelling.draw(vocabulary, number - len(vocabulary.words), rng) for _ in range(30)]
    assert all(word is not None and word.endswith("ing") for word in drawn)
    assert len(set(drawn)) > 3
    # Drawing gives up on a class whose words are never drawn.
    monkeypatch.setattr(module, "ATTEMPTS", 0)
    assert spelling.draw(vocabulary, 0, rng) is None


def test_a_loaded_spelling_predicts_identically(english):
    spelling = english[1]
    loaded = Spelling.from_message(load(parts(spelling)))
    words, classes = ["balking", "Zenobia", "☃"], np.array([0, 1, 2])
    assert loaded.log_probs(words, classes).tolist() == spelling.log_probs(words, classes).tolist()
    assert parts(loaded) == parts(spelling)
