"""The parser as a language model: probabilities of sentences, by the beam and by particle
filters.
"""

import numpy as np
import pytest

from spacy_hpyp.annotation.arrays import sentence_blocks
from spacy_hpyp.arc_standard.decoding import decode
from spacy_hpyp.arc_standard.search import Search
from spacy_hpyp.language_model import scoring
from spacy_hpyp.language_model.scoring import (
    perplexity_of,
    score_by_beam,
    score_by_particles,
    search_for_sums,
)

EVERYTHING = Search(particles=100_000, stack_penalty=0.0)


@pytest.fixture(scope="module")
def model(toy, trained):
    return toy.parser(trained).joint


@pytest.fixture(scope="module")
def sentences(toy):
    return [
        *(sentence.words for sentence in toy.sentences(12, seed=5)),
        ["Zenobia", "sleeps"],
        ["stop"],
    ]


def test_beam_gives_what_the_parser_writes(toy, trained, model, sentences):
    parser = toy.parser(trained)
    scores = score_by_beam(model, iter(sentences), parser.search)
    for words, score in zip(sentences, scores, strict=True):
        doc = toy.doc(
            trained.vocab,
            toy.sentence(words, ["X"] * len(words), [0] * len(words), ["dep"] * len(words)),
        )
        assert score.log_prob == pytest.approx(parser(doc)._.log_prob, rel=1e-12)
        assert (score.words, score.variance) == (len(words), 0.0)
        assert score.unknown == sum(word not in model.vocabulary.words for word in words)


@pytest.mark.parametrize("method", ["beam", "particles"])
def test_letters_of_rare_words_are_added(toy, model, sentences, method):
    def scores(model):
        if method == "beam":
            return list(score_by_beam(model, sentences, Search(50, 0.5)))
        return list(score_by_particles(model, sentences, particles=10, replicates=2))

    spelled = toy.parser(toy.trained(spelling=True)).joint
    for words, closed, scored in zip(sentences, scores(model), scores(spelled), strict=True):
        assert closed.spelling is None
        assert (scored.spelling < 0.0) == (scored.unknown > 0)
        assert scored == closed._replace(
            log_prob=closed.log_prob + scored.spelling, spelling=scored.spelling
        )
        assert scored.characters == sum(map(len, words))


@pytest.mark.parametrize("method", ["beam", "particles"])
def test_neither_threads_nor_batches_change_a_score(model, sentences, monkeypatch, method):
    def scores(threads):
        if method == "beam":
            return list(score_by_beam(model, sentences, Search(50, 0.5), threads=threads))
        return list(
            score_by_particles(
                model, sentences, particles=10, replicates=3, seed=1, threads=threads
            )
        )

    expected = scores(1)
    monkeypatch.setattr(scoring, "_BATCH", 5)
    assert scores(3) == expected


def test_a_seed_fixes_the_estimates(model, sentences):
    one, other, third = (
        list(score_by_particles(model, sentences, particles=5, replicates=2, seed=seed))
        for seed in (1, 1, 2)
    )
    assert one == other != third


def test_estimates_are_no_less_than_the_sum_over_the_beam(model, sentences):
    beam = perplexity_of(score_by_beam(model, sentences, EVERYTHING))
    estimate = perplexity_of(score_by_particles(model, sentences, particles=300, replicates=20))
    error = estimate.to_dict()["standard_error"] * estimate.predictions
    assert error > 0.0
    assert estimate.log_prob > beam.log_prob - 4 * error


def test_standard_error_is_the_spread_of_independent_estimates(model, sentences):
    found = [
        perplexity_of(score_by_particles(model, sentences, particles=20, replicates=10, seed=seed))
        for seed in range(12)
    ]
    spread = np.std([one.to_dict()["log_prob_per_prediction"] for one in found], ddof=1)
    stated = np.mean([one.to_dict()["standard_error"] for one in found])
    # The standard deviation of forty values has a standard error of about 1 / sqrt(78) of itself.
    assert 1 - 4 / 78**0.5 < stated / spread < 1 + 4 / 78**0.5


def test_without_its_bias_an_estimate_is_right_on_average(model, monkeypatch):
    """With estimates of known mean and variance in place of a particle filter's: the true
    log-probability is zero.
    """

    def estimate(task, rng, actions, tags):
        return np.log(rng.gamma(5.0, 0.2))

    monkeypatch.setattr(scoring, "sample_derivation", estimate)
    found = [
        perplexity_of(
            score_by_particles(model, [["stop"]] * 500, particles=1, replicates=20, seed=seed)
        )
        for seed in range(12)
    ]
    log_probs = np.array([one.to_dict()["log_prob_per_prediction"] for one in found])
    error = log_probs.std(ddof=1) / 12**0.5
    assert log_probs.mean() < -4 * error
    assert abs(log_probs.mean() - np.mean([one.to_dict()["bias"] for one in found])) < 4 * error


def test_an_unlexicalised_model_scores_nothing(toy):
    silent = toy.parser(toy.trained(predict_tags=False, word=[], sweeps=1)).joint
    with pytest.raises(ValueError, match="no probability to words"):
        list(score_by_beam(silent, [["stop"]], EVERYTHING))


def test_no_sum_depends_on_the_words_to_come(model):
    words = np.array(
        model.vocabulary.numbers("Zenobia Quux waits near the old blorp frobs a cat .".split()),
        np.int32,
    )
    prefixes = [words[:length] for length in range(1, len(words) + 1)]
    search = search_for_sums(Search(particles=2, stack_penalty=0.5, future_cost=1.0))
    found = decode(model.frozen, sentence_blocks(prefixes), search)
    whole = found.syntactic + found.lexical
    start = 0
    for prefix in prefixes:
        np.testing.assert_array_equal(
            whole[start : start + len(prefix)], whole[-len(words) :][: len(prefix)]
        )
        start += len(prefix)


def test_sums_over_a_beam_are_lower_bounds_however_it_is_searched(model, sentences):
    few = Search(particles=3, stack_penalty=0.5)
    found, more, everything = (
        np.array([score.log_prob for score in score_by_beam(model, sentences, search)])
        for search in (
            few,
            search_for_sums(few),
            search_for_sums(EVERYTHING._replace(labels_per_arc=100, tags_per_word=100)),
        )
    )
    assert np.all(found <= everything + 1e-9)
    assert np.all(more <= everything + 1e-9)
    assert np.any(more != found)
