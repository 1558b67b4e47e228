"""Pools in the component: learned, saved and reproduced weights, and odd treebanks."""

import numpy as np
import pytest
import spacy
from spacy.util import minibatch
from thinc.api import Adam

from spacy_hpyp.annotation.encoding import raw_sentences
from spacy_hpyp.annotation.sentences import join, read_gold
from spacy_hpyp.arc_standard.architectures import JOINT_MODEL
from spacy_hpyp.arc_standard.distributions import DISTRIBUTIONS, static_derivations
from spacy_hpyp.hpyp.count_model import add_gradients, weights_from
from spacy_hpyp.hpyp.franchise import N_SERVINGS, OPEN
from spacy_hpyp.hpyp.pool import Weights

TEXTS = ["the dog sees a cat . Zenobia sleeps near Kim .", "a small bird hears the horse", "sings"]


def optimizer(rate=0.05):
    return Adam(rate, L2=0.0, grad_clip=0.0, use_averages=True)


def sweep(toy, nlp, sentences, sgd, size=8):
    """Run one sweep in batches and return the loss."""
    losses = {}
    for batch in minibatch(toy.examples(nlp, sentences), size):
        nlp.update(batch, sgd=sgd, losses=losses)
    return losses["hpyp_parser"]


def learned(toy, sentences, sweeps=4, rate=0.05, **settings):
    """A pipeline of pools with learned weights, and its optimizer."""
    nlp = toy.trained(sentences, sweeps=0, **{**toy.pools, **settings})
    sgd = optimizer(rate)
    for _ in range(sweeps):
        sweep(toy, nlp, sentences, sgd)
    return nlp, sgd


def parameters(toy, nlp):
    model = toy.parser(nlp).model
    return {name: model.get_param(name).copy() for name in model.param_names}


def assert_equal_parameters(one, two):
    for name in {*one, *two}:
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)


@pytest.fixture(scope="module")
def sentences(toy):
    return toy.sentences(40)


@pytest.fixture(scope="module")
def pooled(toy, sentences):
    """A pipeline with learned weights; tests do not change it."""
    return learned(toy, sentences)[0]


# Reproducibility


@pytest.mark.parametrize("seating", ["sampled", "kneser-ney"])
def test_threads_change_nothing_in_training_and_decoding(toy, sentences, annotation, seating):
    one, several = (
        learned(toy, sentences[:25], seating=seating, threads=threads)[0] for threads in (1, 3)
    )
    assert toy.parser(several).model.to_bytes() == toy.parser(one).model.to_bytes()
    texts = [*TEXTS, *(" ".join(sentence.words) for sentence in sentences)]
    found, expected = ([*map(annotation, nlp.pipe(texts))] for nlp in (several, one))
    assert found == expected


# Seating


def several_tables(toy, nlp):
    franchises = toy.parser(nlp).joint.franchises.values()
    return any(np.any(f.servings[: f.used[N_SERVINGS], OPEN:][:, :1] > 1) for f in franchises)


def test_sampling_continues_from_one_table(toy, sentences, pooled, annotation):
    assert not several_tables(toy, pooled)
    nlp = toy.nlp(**{**toy.pools, "seating": "sampled"})
    toy.parser(nlp).from_bytes(toy.parser(pooled).to_bytes())
    assert annotation(nlp(TEXTS[0])) == annotation(pooled(TEXTS[0]))
    sweep(toy, nlp, sentences, optimizer())
    assert several_tables(toy, nlp)
    assert toy.customers(nlp) == toy.customers_of(sentences, factored=True)


# Weights


def test_learned_weights_predict_held_out_sentences_better(toy, sentences):
    losses = []
    for learning in (True, False):
        nlp = toy.trained(sentences, sweeps=0, **toy.pools)
        sgd = optimizer() if learning else False
        losses.append([sweep(toy, nlp, sentences, sgd) for _ in range(6)])
    assert losses[0][0] == losses[1][0]
    assert losses[0][-1] < losses[1][-1] - 0.01


def test_weights_do_not_learn_from_new_sentences(toy, sentences):
    nlp = toy.trained(sentences, sweeps=0, **toy.pools)
    model = toy.parser(nlp).model
    before = parameters(toy, nlp)

    def has_gradients():
        return {name for name in model.param_names if model.has_grad(name)}

    nlp.update(toy.examples(nlp, sentences[:8]), sgd=False)
    # Some sentences are new, some are not.
    nlp.update(toy.examples(nlp, sentences[4:12]), sgd=False)
    assert has_gradients() == set()
    nlp.update(toy.examples(nlp, sentences[:8]), sgd=False)
    assert has_gradients() == set(model.param_names)
    assert all(np.any(model.get_grad(name) != 0) for name in model.param_names)
    assert_equal_parameters(parameters(toy, nlp), before)
    nlp.update(toy.examples(nlp, sentences[:8]), sgd=optimizer())
    assert all(np.any(parameters(toy, nlp)[name] != before[name]) for name in model.param_names)


def encoded(toy, nlp, sentences):
    encoder = toy.parser(nlp).joint.encoder
    raw = raw_sentences(toy.doc(nlp.vocab, *sentences))
    return join([encoder.encode(read_gold(sentence), learned=True) for sentence in raw])


def random_weights(weights, scale, seed):
    rng = np.random.default_rng(seed)
    return {
        name: Weights(*(scale * rng.normal(size=part.shape) for part in ours))
        for name, ours in weights.items()
    }


def moved(weights, direction, step):
    return {
        name: Weights(*(part + step * along for part, along in zip(ours, direction[name])))
        for name, ours in weights.items()
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_of_a_visit_matches_its_log_likelihood(toy, sentences, pooled, seed):
    # Kneser-Ney seating does not depend on the weights, so the log-likelihood of a batch is a
    # smooth function of them.
    joint = toy.parser(pooled).joint
    data = joint.to_bytes()
    batch = encoded(toy, pooled, sentences[:10])
    seated = np.ones(10, dtype=bool)
    weights = moved(joint.weights, random_weights(joint.weights, 1.0, 100 + seed), 0.2)

    def visit(weights):
        model = joint.from_bytes(data)
        model.weights = weights
        return model.gibbs_step(batch, static_derivations(batch), seated, np.random.default_rng(0))

    _, gradient = visit(weights)
    step = 1e-4
    for part in range(2):
        direction = random_weights(weights, 1.0, seed)
        for name in DISTRIBUTIONS:
            direction[name][1 - part][:] = 0.0
        above, below = (visit(moved(weights, direction, sign * step))[0] for sign in (1, -1))
        for name in DISTRIBUTIONS:
            slope = (above[name] - below[name]) / (2 * step)
            along = sum(np.sum(g * d) for g, d in zip(gradient[name], direction[name]))
            assert along != 0.0
            assert along == pytest.approx(slope, rel=1e-5, abs=1e-5), (name, part)


def test_parameter_gradients_match_the_loss_and_the_prior(toy, pooled):
    nlp = toy.copy(pooled)
    parser = toy.parser(nlp)
    model, joint = parser.model, parser.joint
    gradient = random_weights(joint.weights, 3.0, 0)
    add_gradients(model, JOINT_MODEL, gradient, 50)
    first = joint.initial_weights()

    def loss(values):
        """A Gaussian prior around the initial weights, worth thirty tokens, plus a linear
        log-likelihood.
        """
        weights = weights_from(model.attrs[JOINT_MODEL], values.__getitem__)
        strength, total = 15.0 / joint.progress.tokens, 0.0
        for name in DISTRIBUTIONS:
            for part, prior, slope in zip(weights[name], first[name], gradient[name]):
                total += strength * np.sum((part - prior) ** 2) - np.sum(slope * part) / 50
        return total

    rng = np.random.default_rng(1)
    values = {name: value.astype(np.float64) for name, value in parameters(toy, nlp).items()}
    for name in model.param_names:
        along = rng.normal(size=values[name].shape)
        step = 0.01 * along
        above, below = (loss({**values, name: values[name] + each}) for each in (step, -step))
        slope = pytest.approx((above - below) / 0.02, rel=1e-3, abs=1e-4)
        assert np.sum(model.get_grad(name) * along) == slope, name


def test_averages_are_used_for_decoding_only_temporarily(toy, sentences, annotation, tmp_path):
    nlp, sgd = learned(toy, sentences, rate=0.3)
    before, outside = parameters(toy, nlp), [annotation(doc) for doc in nlp.pipe(TEXTS)]
    with nlp.use_params(sgd.averages):
        averaged, inside = parameters(toy, nlp), [annotation(doc) for doc in nlp.pipe(TEXTS)]
        nlp.to_disk(tmp_path)
    assert all(np.any(averaged[name] != before[name]) for name in before)
    assert inside != outside
    assert_equal_parameters(parameters(toy, nlp), before)
    assert [annotation(doc) for doc in nlp.pipe(TEXTS)] == outside
    # As in training, the saved pipeline has the averages.
    loaded = spacy.load(tmp_path)
    assert_equal_parameters(parameters(toy, loaded), averaged)
    assert [annotation(doc) for doc in loaded.pipe(TEXTS)] == inside
    # Learning changes the same seating with both.
    sweep(toy, nlp, sentences, sgd)
    assert toy.customers(nlp) == toy.customers_of(sentences, factored=True)


# Odd treebanks

ODD = {
    "one tag": [
        ("the dog sleeps", "X X X", [1, 2, 2], "det nsubj ROOT"),
        ("dogs sleep", "X X", [1, 1], "nsubj ROOT"),
    ],
    "one label": [
        ("the dog sleeps", "D N V", [1, 2, 2], "dep dep ROOT"),
        ("dogs sleep", "N V", [1, 1], "dep ROOT"),
    ],
    "no arcs": [(*each.split(), [0], "ROOT") for each in ("stop VB", "oh UH", "wait VB")],
    "no arcs, one tag, one word": [("stop", "VB", [0], "ROOT")],
}


@pytest.mark.parametrize("treebank", ODD)
def test_a_tiny_treebank_is_learned(toy, annotation, treebank):
    corpus = [
        toy.sentence(words.split(), tags.split(), heads, deps.split())
        for words, tags, heads, deps in ODD[treebank]
    ]
    nlp, _ = learned(toy, corpus, min_count=1)
    assert toy.customers(nlp) == toy.customers_of(corpus, factored=True)
    for sentence in corpus:
        found = [(token.tag_, token.head.i, token.dep_) for token in nlp(" ".join(sentence.words))]
        assert found == list(zip(sentence.tags, sentence.heads, sentence.deps))
    for text in ("Zenobia sees a blue dog .", "go go go", "stop"):
        doc = nlp(text)
        assert all(np.isfinite(token._.log_prob) and token.tag_ and token.dep_ for token in doc)
        # A certain event has probability one except for rounding.
        assert all(token._.log_prob < 1e-12 for token in doc)
    loaded = toy.copy(nlp)
    assert annotation(loaded("go go go")) == annotation(nlp("go go go"))
