"""Scores as sums over sentences, and their bootstrap intervals."""

import numpy as np
import pytest
from spacy.pipeline.dep_parser import parser_score
from spacy.pipeline.tagger import tagger_score
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_hpyp.annotation.intervals import bootstrap, count_by_sentence


@pytest.fixture(name="examples")
def wrong_trees(toy):
    """Gold trees beside trees with some random heads, labels and tags; two gold arcs and a gold tag are
    missing.

    They are missing in the last one: what spaCy's scorer leaves out for it, it leaves out of all sentences
    that come after.
    """
    rng = np.random.default_rng(0)
    vocab = Vocab()
    found = []
    for i, sentence in enumerate(toy.sentences(30)):
        n = len(sentence.words)
        gold = toy.doc(vocab, sentence)
        if i == 29:
            deps = ["" if place < 2 else dep for place, dep in enumerate(sentence.deps)]
            tags = ["", *sentence.tags[1:]]
            heads = [place if place < 2 else head for place, head in enumerate(sentence.heads)]
            gold = Doc(vocab, words=sentence.words, tags=tags, heads=heads, deps=deps)
        root = sentence.deps.index("ROOT")
        heads = [h if rng.random() < 0.7 or place == root else root for place, h in enumerate(sentence.heads)]
        deps = [
            d if rng.random() < 0.7 or place == root else "punct" for place, d in enumerate(sentence.deps)
        ]
        tags = [tag if rng.random() < 0.8 else "NN" for tag in sentence.tags]
        predicted = Doc(
            vocab, words=sentence.words, tags=tags, heads=heads, deps=deps, sent_starts=[1] + [0] * (n - 1)
        )
        found.append(Example(predicted, gold))
    return found


def test_sums_over_sentences_are_spacys_scores(examples):
    scores = {**tagger_score(examples), **parser_score(examples)}
    counts = count_by_sentence(examples)
    for name in ("tag_acc", "dep_uas", "dep_las"):
        assert 0.2 < scores[name] < 1.0
        assert bootstrap(counts[name], resamples=5).score == pytest.approx(scores[name])
    assert "token_log_prob" not in counts
    assert count_by_sentence([]) == {}


def test_an_interval_is_that_of_the_normal_approximation():
    # 300 of 400 sentences of one token are right: the standard error is sqrt(0.75 * 0.25 / 400).
    counts = np.stack([np.arange(400) < 300, np.ones(400)], axis=1)
    found = bootstrap(counts, resamples=4000, seed=1)
    error = (0.75 * 0.25 / 400) ** 0.5
    # A quantile of 4,000 samples has a standard error of about 0.04 of `error`; scores are multiples of 1/400.
    assert found.score == 0.75
    assert found.low == pytest.approx(0.75 - 1.96 * error, abs=4 * 0.04 * error + 1 / 400)
    assert found.high == pytest.approx(0.75 + 1.96 * error, abs=4 * 0.04 * error + 1 / 400)


def test_a_score_lies_in_its_interval_which_depends_on_the_seed_alone(examples):
    counts = count_by_sentence(examples)["dep_las"]
    found = bootstrap(counts, resamples=200, seed=3)
    assert found == bootstrap(counts, resamples=200, seed=3)
    assert found != bootstrap(counts, resamples=200, seed=4)
    one = bootstrap(counts, resamples=1)
    for each in (found, one):
        assert each.low <= each.score <= each.high
