"""The n-gram model: predictions, training and storage."""

import itertools
from functools import partial

import numpy as np
import pytest
from test_sampling import assert_drawn_from

from spacy_hpyp.language_model.ngram import NGramModel, collect_vocabulary, train_ngram_model

SETTINGS = {"order": 3, "sweeps": 6}


@pytest.fixture(scope="module")
def text(toy):
    return [sentence.words for sentence in toy.sentences(60)]


@pytest.fixture(scope="module")
def model(text):
    return train_ngram_model(text, **SETTINGS)


@pytest.fixture(scope="module")
def spelled(text):
    return train_ngram_model(text, partial(collect_vocabulary, spelling=True), **SETTINGS)


@pytest.fixture(scope="module")
def unseen(toy):
    unknown = [[], ["Zyzzyva", "zyzzyva"], ["Übergrößen", "1999", "x-y", "ﷺ"]]
    return [sentence.words for sentence in toy.sentences(30, seed=1)] + unknown


def log_probs(model, sentences):
    return np.concatenate([model.log_probs(words) for words in sentences])


def test_spelling_adds_only_the_probability_of_letters(model, spelled, unseen):
    known = set(model.words.vocabulary.words)
    for words in unseen:
        letters = spelled.log_probs(words) - model.log_probs(words)
        assert letters[-1] == 0.0
        np.testing.assert_allclose(letters[:-1], spelled.spell(words), atol=1e-12)
        assert np.all((letters[:-1] < 0.0) == [word not in known for word in words])


def test_next_word_distributions_match_word_probabilities(model, unseen):
    for words in unseen:
        found, numbers = model.next_words(words), model.vocabulary.numbers(words)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
        taken = found[np.arange(len(words) + 1), [*numbers, len(model.vocabulary)]]
        np.testing.assert_allclose(np.log(taken), model.log_probs(words), rtol=1e-12)


def test_longer_contexts_and_more_sweeps_increase_the_likelihood(text, model, unseen):
    reports = []
    settings = {**SETTINGS, "order": 1, "progress": lambda *report: reports.append(report)}
    unigrams = train_ngram_model(text, **settings)
    ours, theirs = (log_probs(each, unseen[:30]).mean() for each in (model, unigrams))
    assert ours > theirs + 0.2
    assert [sweep for sweep, _ in reports] == [1, 2, 3, 4, 5, 6]
    assert reports[-1][1] > reports[0][1]


def test_the_seed_determines_the_model(text, model):
    assert train_ngram_model(iter(text), **SETTINGS).to_bytes() == model.to_bytes()
    assert train_ngram_model(text, **SETTINGS, seed=1).to_bytes() != model.to_bytes()


def test_settings_out_of_range_and_missing_sentences_raise_errors(text):
    for name, value in {"order": 21, "sweeps": 0, "seed": -1}.items():
        with pytest.raises(ValueError, match=name):
            train_ngram_model(text, **{**SETTINGS, name: value})
    with pytest.raises(ValueError, match="no sentence"):
        train_ngram_model([[], []])


def test_a_vocabulary_can_come_from_other_text(text):
    words = collect_vocabulary(text[:20], min_count=3)
    model = train_ngram_model(text, words, **SETTINGS)
    assert model.words.vocabulary.words == words.vocabulary.words


@pytest.mark.parametrize("lang", ["en", "ta"])
def test_a_loaded_model_predicts_identically(text, spelled, unseen, tmp_path, lang):
    words = collect_vocabulary(text, lang=lang)
    for model in (spelled, train_ngram_model(text, words, **SETTINGS)):
        model.to_disk(tmp_path / "model")
        again = NGramModel.from_disk(tmp_path / "model")
        np.testing.assert_array_equal(log_probs(again, unseen), log_probs(model, unseen))
        assert again.to_bytes() == model.to_bytes()
        assert (again.order, again.words.lang) == (3, model.words.lang)


def test_sentences_are_drawn_as_often_as_their_probabilities_predict():
    text = [["a"], ["a", "b"], ["b", "b", "a"], ["a", "b", "a"], ["b"], ["a", "a", "b", "a"]]
    model = train_ngram_model(text, order=3, sweeps=6)
    names = [model.vocabulary.name(number) for number in range(len(model.vocabulary))]
    sentences = (words for n in range(1, 4) for words in itertools.product(names, repeat=n))
    probabilities = {words: np.exp(model.log_probs(words).sum()) for words in sentences}
    drawn = [(tuple(words), p) for words, p in model.generate(4000, max_length=3)]
    assert_drawn_from([words for words, _ in drawn], probabilities)
    for words, log_prob in drawn[:50]:
        assert log_prob == pytest.approx(np.log(probabilities[words]), abs=1e-12)
    few, other = (list(model.generate(5, seed=seed)) for seed in (1, 2))
    assert few == list(model.generate(20, seed=1))[:5] != other


def test_generated_rare_words_include_the_probability_of_their_letters(text):
    collect = partial(collect_vocabulary, spelling=True, min_count=6)
    model = train_ngram_model(text, collect, **SETTINGS)
    known, spelled = set(model.vocabulary.words), 0
    for words, log_prob in model.generate(60):
        spelled += any(word not in known and not word.startswith("<") for word in words)
        assert log_prob == pytest.approx(model.log_probs(words).sum(), abs=1e-9)
    assert spelled > 0
