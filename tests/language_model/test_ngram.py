"""The n-gram model: what it predicts, how it is trained, and what it is after saving."""

from functools import partial

import numpy as np
import pytest

from spacy_hpyp.language_model.ngram import (
    NGramModel,
    collect_vocabulary,
    resolve_rule,
    train_ngram_model,
)
from spacy_hpyp.language_model.scoring import Perplexity, perplexity_of

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
    return [
        *(sentence.words for sentence in toy.sentences(30, seed=1)),
        [],
        ["Zyzzyva", "zyzzyva"],
        ["Übergrößen", "1999", "x-y", "ﷺ"],
    ]


def log_probs(model, sentences):
    return np.concatenate([model.log_probs(words) for words in sentences])


def test_spelled_words_have_letters_besides_and_nothing_else_changes(model, spelled, unseen):
    known = set(model.words.vocabulary.words)
    for words in unseen:
        letters = spelled.log_probs(words) - model.log_probs(words)
        assert letters[-1] == 0.0
        assert np.all((letters[:-1] < 0.0) == [word not in known for word in words])
    (scored,), (plain,) = (
        list(each.score([["the", "Zyzzyva", "sleeps"]])) for each in (spelled, model)
    )
    assert scored.log_prob == pytest.approx(plain.log_prob + scored.spelling)
    assert (scored.characters, plain.characters, plain.spelling) == (16, 16, None)


def test_next_words_are_distributions_that_hold_the_probabilities_of_words(model, unseen):
    for words in unseen:
        found, numbers = model.next_words(words), model.vocabulary.numbers(words)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
        taken = found[np.arange(len(words) + 1), [*numbers, len(model.vocabulary)]]
        np.testing.assert_allclose(np.log(taken), model.log_probs(words), rtol=1e-12)


def test_scores_and_the_perplexity_are_sums_of_log_probabilities(model, unseen):
    for words, scored in zip(unseen, model.score(iter(unseen)), strict=True):
        assert scored.log_prob == pytest.approx(model.log_probs(words).sum(), rel=1e-12)
        assert scored.unknown == sum(word not in model.words.vocabulary.words for word in words)
    values = log_probs(model, unseen)
    assert perplexity_of(model.score(unseen)).perplexity == pytest.approx(np.exp(-values.mean()))
    with pytest.raises(ValueError, match="no sentence"):
        perplexity_of([])


def test_perplexity_counts_words_and_ends():
    found = perplexity_of([Perplexity(-3.0, 2, 1), Perplexity(-5.0, 4, 0)])
    assert (found.sentences, found.words, found.unknown, found.predictions) == (2, 6, 1, 8)
    assert found.to_dict()["log_prob_per_prediction"] == -1.0
    assert found.perplexity == pytest.approx(np.e)


def test_bits_a_character_count_the_ends_of_words_and_need_letters_of_all_words():
    sentences = [Perplexity(-10.0, 2, 1, 0.0, 7, -4.0), Perplexity(-5.0, 1, 0, 0.0, 3, 0.0)]
    found = perplexity_of(sentences)
    assert found.to_dict()["bits_per_character"] == pytest.approx(15.0 / np.log(2.0) / 13)
    assert found.perplexity == pytest.approx(np.exp(15.0 / 5))
    assert found.to_dict()["closed_perplexity"] == pytest.approx(np.exp(11.0 / 5))
    closed = perplexity_of([each._replace(spelling=None) for each in sentences])
    assert (closed.to_dict()["bits_per_character"], closed.to_dict()["closed_perplexity"]) == (
        None,
        closed.perplexity,
    )
    known = perplexity_of([sentences[1]._replace(spelling=None)])
    assert known.to_dict()["bits_per_character"] == pytest.approx(5.0 / np.log(2.0) / 4)


def test_training_helps(text, model, unseen):
    unigrams = train_ngram_model(text, **{**SETTINGS, "order": 1})
    ours, theirs = (perplexity_of(one.score(unseen[:30])).perplexity for one in (model, unigrams))
    assert ours < 0.8 * theirs


def test_the_seed_fixes_the_model(text, model):
    assert train_ngram_model(iter(text), **SETTINGS).to_bytes() == model.to_bytes()
    assert train_ngram_model(text, **SETTINGS, seed=1).to_bytes() != model.to_bytes()


def test_training_reports_every_sweep(text):
    reports = []
    train_ngram_model(text, **SETTINGS, progress=lambda *report: reports.append(report))
    assert [sweep for sweep, _ in reports] == [1, 2, 3, 4, 5, 6]
    assert reports[-1][1] > reports[0][1]


@pytest.mark.parametrize("setting", [("order", 21), ("sweeps", 0), ("seed", -1)])
def test_settings_out_of_range_are_errors(text, setting):
    with pytest.raises(ValueError, match=setting[0]):
        train_ngram_model(text, **{**SETTINGS, setting[0]: setting[1]})


def test_without_sentences_there_is_nothing_to_train_on():
    with pytest.raises(ValueError, match="no sentence"):
        train_ngram_model([[], []])


def test_a_vocabulary_can_come_from_other_text(text):
    words = collect_vocabulary(text[:20], min_count=3)
    model = train_ngram_model(text, words, **SETTINGS)
    assert model.words.vocabulary.words == words.vocabulary.words


@pytest.mark.parametrize("lang", ["en", "ta"])
def test_a_saved_model_predicts_the_same_bits(text, spelled, unseen, tmp_path, lang):
    words = collect_vocabulary(text, lang=lang)
    for model in (spelled, train_ngram_model(text, words, **SETTINGS)):
        model.to_disk(tmp_path / "model")
        again = NGramModel.from_disk(tmp_path / "model")
        np.testing.assert_array_equal(log_probs(again, unseen), log_probs(model, unseen))
        assert again.to_bytes() == model.to_bytes()
        assert (again.order, again.words.lang) == (3, model.words.lang)


def test_damage_is_seen(model, tmp_path):
    data = bytearray(model.to_bytes())
    data[len(data) // 2] ^= 1
    for damaged in (b"", b"x", bytes(data)):
        (tmp_path / "model").write_bytes(damaged)
        with pytest.raises(ValueError, match="cannot be read"):
            NGramModel.from_disk(tmp_path / "model")


def test_a_file_cannot_have_another_function_called():
    with pytest.raises(ValueError, match="no rule"):
        resolve_rule({"@misc": "spacy.MyCallback.v1", "path": "/secret"})
