"""A parser and an n-gram model as one: what a mixture is, where its weights come from, and what becomes of
them on disk.
"""

import json
from itertools import product

import numpy as np
import pytest

from spacy_hpyp.annotation.arrays import Blocks, sentence_blocks
from spacy_hpyp.annotation.extensions import bits
from spacy_hpyp.arc_standard.decoding import decode
from spacy_hpyp.inference.rounding import Search
from spacy_hpyp.language_model.interpolation import (
    LEVELS,
    Interpolation,
    PairedPredictions,
    fit_shares,
    mix,
    predictions_of,
)
from spacy_hpyp.language_model.ngram import NGramVocabulary, collect_vocabulary, train_ngram_model
from spacy_hpyp.language_model.scoring import perplexity_of, score_by_beam, search_for_sums

FEW, MANY = Search(particles=3, lookahead=0.5), search_for_sums(Search(particles=1000, lookahead=0.0))
SHARES = np.round(np.linspace(0.1, 0.9, LEVELS), 6)


@pytest.fixture(scope="module")
def model(toy, trained):
    return toy.parser(trained).joint


@pytest.fixture(scope="module")
def spelled(toy):
    """The same model with letters of rare words."""
    return toy.parser(toy.trained(spelling=True)).joint


@pytest.fixture(scope="module")
def ngrams(toy, model):
    words = NGramVocabulary(model.vocabulary, {"@misc": "spacy-hpyp.UniversalUnknownWords.v1"}, "en")
    return train_ngram_model((each.words for each in toy.sentences()), words, order=3, sweeps=4, samples=2)


@pytest.fixture(scope="module")
def held_out(toy):
    return [*(each.words for each in toy.sentences(30, seed=3)), ["Zenobia", "sleeps"], ["stop"]]


def predict(model, ngrams, numbers, search):
    blocks = sentence_blocks([np.array(each, dtype=np.int32) for each in numbers])
    return predictions_of(ngrams, blocks, decode(model.frozen, blocks, search))


@pytest.mark.parametrize("search", [FEW, MANY, search_for_sums(FEW, predictive=True)])
def test_all_words_and_the_end_have_at_most_one_after_every_prefix(model, ngrams, search):
    vocabulary = model.vocabulary
    for prefix in (["the"], ["Ada", "sees"], ["the", "old", "dog", "Zenobia"]):
        before = vocabulary.numbers(prefix)
        ending = predict(model, ngrams, [before], search)
        found = predict(model, ngrams, [[*before, word] for word in range(len(vocabulary))], search)
        # Each row: the prefix, a word, and the end of both.
        words = PairedPredictions(
            *(part.reshape(len(vocabulary), len(before) + 2)[:, len(before)] for part in found)
        )
        totals = {
            name: np.exp([*getattr(words, name), getattr(ending, name)[-1]]).sum()
            for name in ("parser", "ngram")
        }
        mixed = np.exp([*mix(words, SHARES), mix(ending, SHARES)[-1]]).sum()
        assert totals["ngram"] == pytest.approx(1.0, abs=1e-9)
        assert 0.5 < totals["parser"] <= 1.0 + 1e-9
        assert min(totals.values()) - 1e-9 <= mixed <= 1.0 + 1e-9


def test_what_is_kept_predicts_no_less_than_what_there_was(model, ngrams, held_out):
    numbers = [model.vocabulary.numbers(words) for words in held_out]
    bound, kept = (
        predict(model, ngrams, numbers, FEW._replace(marginals=True, predictive=predictive)).parser
        for predictive in (False, True)
    )
    assert np.all(kept >= bound - 1e-12)
    assert np.any(kept > bound + 1e-3)


def test_with_all_of_the_weight_a_model_is_the_mixture(model, ngrams, held_out):
    found = predict(model, ngrams, [model.vocabulary.numbers(words) for words in held_out], FEW)
    np.testing.assert_array_equal(mix(found, np.ones(LEVELS)), found.parser)
    np.testing.assert_array_equal(mix(found, np.zeros(LEVELS)), found.ngram)
    np.testing.assert_allclose(
        found.ngram, np.concatenate([ngrams.log_probs(words) for words in held_out]), rtol=1e-12
    )
    only_parser, only_ngrams = (Interpolation(model, ngrams, [share] * LEVELS) for share in (1.0, 0.0))
    expected = perplexity_of(score_by_beam(model, held_out, FEW)), ngrams.perplexity(held_out)
    for mixture, one in zip((only_parser, only_ngrams), expected):
        scored = mixture.perplexities(held_out, FEW)
        for part, whole in zip((scored.parser, scored.ngram, scored.mixture), (*expected, one)):
            assert part.to_dict() == pytest.approx(whole.to_dict())


def test_unknown_boundaries_are_summed_over(ngrams):
    words = np.array(ngrams.words.vocabulary.numbers(["the", "dog", "sleeps", ".", "Ada"]), dtype=np.int32)
    may_start = np.array([False, True, False, True, True])
    found, _ = ngrams.score_blocks(Blocks(words, np.full(5, -1, np.int32), may_start, np.array([0, 5])))
    names = [ngrams.words.vocabulary.name(number) for number in words]
    total = 0.0
    for starts in product(*([False, True] if may else [False] for may in may_start)):
        bounds = [0, *np.flatnonzero(starts), 5]
        total += np.exp(sum(ngrams.log_probs(names[a:b]).sum() for a, b in zip(bounds, bounds[1:])))
    assert found.sum() == pytest.approx(np.log(total), rel=1e-9)


@pytest.fixture(scope="module")
def drawn():
    """Words that two models predict, drawn from a mixture with known shares at two levels."""
    rng = np.random.default_rng(0)
    parser, ngram = rng.dirichlet(np.ones(8), 2)
    level = rng.integers(0, 2, 20_000)
    share = np.array([0.3, 0.8])[level]
    source = np.where(rng.random(len(level)) < share, 0, 1)
    words = np.where(source == 0, *(rng.choice(8, len(level), p=p) for p in (parser, ngram)))
    return PairedPredictions(np.log(parser[words]), np.log(ngram[words]), level)


def test_a_step_never_makes_what_is_learned_from_less_probable(drawn):
    likelihoods = [mix(drawn, fit_shares(drawn, steps=steps)).sum() for steps in range(1, 30)]
    # The few predictions of the prior can outweigh what a step adds, but by no more than they are.
    assert np.all(np.diff(likelihoods) > -0.01)
    assert likelihoods[-1] > likelihoods[0]


def test_the_weights_are_the_most_probable_ones(drawn):
    found = fit_shares(drawn)
    grid = np.linspace(0.001, 0.999, 999)
    for level in (0, 1):
        here = PairedPredictions(*(part[drawn.level == level] for part in drawn))
        values = [mix(here, np.full(LEVELS, share)).sum() for share in grid]
        assert found[level] == pytest.approx(grid[np.argmax(values)], abs=0.005)
    # At levels that were not seen there is the mean.
    assert found[0] < found[2] < found[1]
    assert np.all(found[2:] == found[2])


def test_learned_weights_make_the_mixture_better_than_either(toy, model, ngrams, held_out):
    mixture = Interpolation.learn(model, ngrams, held_out, FEW)
    found = mixture.perplexities(held_out, FEW)
    assert found.mixture.perplexity < min(found.parser.perplexity, found.ngram.perplexity)
    threads = Interpolation.learn(model, ngrams, held_out, FEW, threads=3)
    np.testing.assert_array_equal(threads.shares, mixture.shares)


def test_letters_are_added_once_and_change_no_weight(model, spelled, ngrams, held_out):
    plain, open_ = (Interpolation.learn(each, ngrams, held_out, FEW) for each in (model, spelled))
    np.testing.assert_array_equal(open_.shares, plain.shares)
    letters = sum(
        spelled.spell(words, np.array(spelled.vocabulary.numbers(words))).sum() for words in held_out
    )
    assert letters < 0.0
    for closed, found in zip(plain.perplexities(held_out, FEW), open_.perplexities(held_out, FEW)):
        assert closed.spelling is None
        assert found.spelling == pytest.approx(letters)
        assert found.log_prob == pytest.approx(closed.log_prob + letters)
        assert found.closed_perplexity == pytest.approx(closed.perplexity)
        assert found.characters == closed.characters == sum(len(word) for words in held_out for word in words)


def test_letters_of_surprisals_are_not_mixed(model, spelled, ngrams, held_out):
    blocks = sentence_blocks(
        [np.array(model.vocabulary.numbers(words), dtype=np.int32) for words in held_out]
    )
    own = np.random.default_rng(0).uniform(1.0, 9.0, len(blocks.words))
    letters = spelled.spell([word for words in held_out for word in words], blocks.words)
    mixture = Interpolation(spelled, ngrams, SHARES.tolist())
    closed = mixture.surprisals(blocks, own, np.zeros_like(own))
    for one, other in zip(closed, mixture.surprisals(blocks, own + bits(letters), letters)):
        np.testing.assert_allclose(other, one + bits(letters), rtol=1e-12)


def test_saved_weights_load_again(model, ngrams, tmp_path):
    Interpolation(model, ngrams, SHARES.tolist()).to_disk(tmp_path / "weights.json")
    loaded = Interpolation.from_disk(tmp_path / "weights.json", model, ngrams)
    np.testing.assert_array_equal(loaded.shares, SHARES)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"kind": "a recipe"}, "no weights"),
        ({"format": 0}, "no weights"),
        ({"parser": "many"}, "no weights"),
        ({"parser": [0.5] * (LEVELS - 1)}, "numbers from 0 to 1"),
        ({"parser": [0.5] * (LEVELS - 1) + [1.5]}, "numbers from 0 to 1"),
        ({"parser": [0.5] * (LEVELS - 1) + [float("nan")]}, "numbers from 0 to 1|no weights"),
        ({"vocabulary": "0" * 32}, "other words"),
    ],
)
def test_weights_that_do_not_fit_are_explained(model, ngrams, tmp_path, changed, problem):
    path = tmp_path / "weights.json"
    Interpolation(model, ngrams, SHARES.tolist()).to_disk(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    with pytest.raises(ValueError, match=problem):
        Interpolation.from_disk(path, model, ngrams)
    path.write_bytes(b"\xff{")
    with pytest.raises(ValueError, match="no weights"):
        Interpolation.from_disk(path, model, ngrams)


def test_what_cannot_be_mixed_is_explained(toy, model, ngrams, held_out):
    words = collect_vocabulary(held_out)
    other = train_ngram_model(held_out, words, order=2, sweeps=2, samples=1)
    with pytest.raises(ValueError, match="--vocab-from"):
        Interpolation(model, other, SHARES.tolist())
    with pytest.raises(ValueError, match="no probability to words"):
        Interpolation(toy.parser(toy.nlp()).joint, ngrams, SHARES.tolist())
    with pytest.raises(ValueError, match="no sentence to learn"):
        Interpolation.learn(model, ngrams, [], FEW)
    with pytest.raises(ValueError, match="without words"):
        Interpolation.learn(model, ngrams, [["stop"], []], FEW)
