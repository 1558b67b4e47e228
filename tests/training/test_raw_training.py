"""Learning from raw text."""

import pytest

from spacy_hpyp.training.raw_training import learn_from_text


@pytest.fixture(scope="module")
def data(trained_pools):
    return trained_pools.to_bytes()


@pytest.fixture
def words(toy):
    return [sentence.words for sentence in toy.sentences(60, seed=3)]


def learn(toy, data, words, **settings):
    nlp = toy.nlp(**toy.pools).from_bytes(data)
    parser = toy.parser(nlp)
    settings = {"search": parser.search, "seed": 1, "threads": 1} | settings
    return nlp, list(learn_from_text(parser.joint, words, **settings))


@pytest.mark.parametrize(
    ("learning", "learned"), [("words", {"word"}), ("all", {"transition", "label", "tag", "word"})]
)
def test_only_the_chosen_distributions_learn(toy, data, words, learning, learned):
    before = toy.nlp(**toy.pools).from_bytes(data)
    after, _ = learn(toy, data, words, learning=learning, threads=2)
    counts, more = toy.customers(before), toy.customers(after)
    assert {name for name in more if more[name] > counts[name]} == learned
    assert more["word"] - counts["word"] == sum(map(len, words))
    one, other = (sum(nlp(" ".join(own))._.log_prob for own in words) for nlp in (before, after))
    assert other > one


def test_learning_is_reproducible_and_batches_are_predicted_by_earlier_ones(toy, data, words):
    (one, found), (again, same) = (learn(toy, data, words, batch_words=60) for _ in range(2))
    assert one.to_bytes() == again.to_bytes()
    assert found == same
    (*_, end), (whole,) = found, learn(toy, data, words)[1]
    assert (end.sentences, end.words) == (whole.sentences, whole.words)
    assert (end.sentences, end.words) == (60, sum(map(len, words)))
    assert end.log_prob != whole.log_prob
