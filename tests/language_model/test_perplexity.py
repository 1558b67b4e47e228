"""The parser as a language model: sums over the beam, and estimates by particle filters."""

from itertools import chain

import numpy as np
import pytest

from spacy_hpyp.annotation.arrays import sentence_blocks
from spacy_hpyp.arc_standard.decoding import decode
from spacy_hpyp.arc_standard.search import Search
from spacy_hpyp.language_model import perplexity
from spacy_hpyp.language_model.perplexity import Perplexity, estimate, reading_search
from spacy_hpyp.pipeline.surprisal import reader_for

EVERYTHING = Search(particles=100_000, stack_penalty=0.0)


@pytest.fixture(scope="module")
def model(toy, trained):
    return toy.parser(trained).joint


@pytest.fixture(scope="module")
def sentences(toy):
    sentences = toy.sentences(12, seed=5)
    return [*(sentence.words for sentence in sentences), ["Zenobia", "sleeps"], ["stop"]]


def sums(model, sentences, search):
    """The log-probability of each sentence, summed over the final beam."""
    numbers = [np.array(model.vocabulary.numbers(words), np.int32) for words in sentences]
    blocks = sentence_blocks(numbers)
    found = decode(model.frozen, blocks, search).log_probability
    return np.add.reduceat(found, blocks.offsets[:-1])


def test_bits_per_character_count_word_ends_and_require_spelling():
    sentences = [Perplexity(-10.0, 2, 1, 1, 7, 0.0, -4.0), Perplexity(-5.0, 1, 0, 1, 3, 0.0, 0.0)]
    total = Perplexity.total(sentences)
    figures = total.to_dict()
    assert (total.sentences, total.words, total.unknown, figures["predictions"]) == (2, 3, 1, 5)
    assert figures["bits_per_character"] == pytest.approx(15.0 / np.log(2.0) / 13)
    assert figures["perplexity"] == pytest.approx(np.exp(15.0 / 5))
    assert figures["closed_perplexity"] == pytest.approx(np.exp(11.0 / 5))
    closed = Perplexity.total(one._replace(spelling=None) for one in sentences).to_dict()
    assert closed["bits_per_character"] is None
    assert closed["closed_perplexity"] == closed["perplexity"]
    known = sentences[1]._replace(spelling=None).to_dict()
    assert known["bits_per_character"] == pytest.approx(5.0 / np.log(2.0) / 4)
    with pytest.raises(ValueError, match="no sentence"):
        Perplexity.total([])


def test_spelling_of_rare_words_is_added(toy, trained, sentences):
    spelled = toy.trained(spelling=True)
    readers = [reader_for(nlp, particles=50) for nlp in (trained, spelled)]
    beam = zip(*(reader.perplexity(sentences) for reader in readers))
    few = {"particles": 10, "replicates": 2}
    estimates = zip(*(estimate(reader.model, sentences, **few) for reader in readers))
    for words, (closed, scored) in zip(sentences * 2, chain(beam, estimates), strict=True):
        assert closed.spelling is None
        assert (scored.spelling < 0.0) == (scored.unknown > 0)
        assert scored.log_prob == pytest.approx(closed.log_prob + scored.spelling)
        assert scored.characters == sum(map(len, words))


def test_estimates_depend_on_the_seed_but_not_on_threads_or_batches(model, sentences, monkeypatch):
    def scores(**settings):
        return list(estimate(model, sentences, particles=10, replicates=3, **settings))

    expected = scores(seed=1)
    monkeypatch.setattr(perplexity, "_BATCH", 5)
    assert scores(seed=1, threads=3) == expected != scores(seed=2)


def test_estimates_are_at_least_the_beam_sum(model, sentences):
    found = Perplexity.total(estimate(model, sentences, particles=300, replicates=20))
    assert found.variance > 0.0
    assert found.log_prob > sums(model, sentences, EVERYTHING).sum() - 4 * found.variance**0.5


def figures_of(model, sentences, **settings):
    found = [estimate(model, sentences, **settings, seed=seed) for seed in range(12)]
    return [Perplexity.total(scores).to_dict() for scores in found]


def test_standard_error_matches_the_spread_of_independent_estimates(model, sentences):
    figures = figures_of(model, sentences, particles=20, replicates=10)
    spread = np.std([one["log_prob_per_prediction"] for one in figures], ddof=1)
    stated = np.mean([one["standard_error"] for one in figures])
    # The standard deviation of forty values has a standard error of about 1 / sqrt(78) of itself.
    assert 1 - 4 / 78**0.5 < stated / spread < 1 + 4 / 78**0.5


def test_estimates_are_right_on_average_after_bias_correction(model, monkeypatch):
    """Use estimates of known mean and variance for a true log-probability of zero."""

    def drawn(task, rng, actions, tags):
        return np.log(rng.gamma(5.0, 0.2))

    monkeypatch.setattr(perplexity, "sample_derivation", drawn)
    figures = figures_of(model, [["stop"]] * 500, particles=1, replicates=20)
    log_probs = np.array([one["log_prob_per_prediction"] for one in figures])
    error = log_probs.std(ddof=1) / 12**0.5
    assert log_probs.mean() < -4 * error
    assert abs(log_probs.mean() - np.mean([one["bias"] for one in figures])) < 4 * error


def test_an_unlexicalised_model_raises_an_error(toy):
    reader = reader_for(toy.trained(predict_tags=False, word=[], sweeps=1))
    estimates = estimate(reader.model, [["stop"]], particles=2, replicates=2)
    for scores in (reader.perplexity([["stop"]]), estimates):
        with pytest.raises(ValueError, match="no probability to words"):
            list(scores)


def test_sums_do_not_depend_on_later_words(model):
    words = "Zenobia Quux waits near the old blorp frobs a cat .".split()
    numbers = np.array(model.vocabulary.numbers(words), np.int32)
    prefixes = [numbers[:length] for length in range(1, len(words) + 1)]
    search = reading_search(Search(particles=2, stack_penalty=0.5, future_cost=1.0), 2)
    found = decode(model.frozen, sentence_blocks(prefixes), search)
    ends = np.cumsum([*map(len, prefixes)])
    *parts, whole = np.split(found.syntactic + found.lexical, ends[:-1])
    for part in parts:
        np.testing.assert_array_equal(part, whole[: len(part)])


def test_beam_sums_are_lower_bounds_for_any_search(model, sentences):
    few = Search(particles=3, stack_penalty=0.5)
    everything = EVERYTHING._replace(labels_per_arc=100, tags_per_word=100, tag_threshold=0.0)
    searches = few, reading_search(few, 3), reading_search(everything, 100_000)
    found, more, most = (sums(model, sentences, search) for search in searches)
    assert np.all(found <= most + 1e-9)
    assert np.all(more <= most + 1e-9)
    assert np.any(more != found)
