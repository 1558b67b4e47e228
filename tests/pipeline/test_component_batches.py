"""Batches, threads and processes do not change the results."""

import pytest


@pytest.fixture(scope="module")
def texts(toy):
    sentences = [" ".join(s.words) for s in toy.sentences(60)]
    mixed = ["", "  ", "Zenobia", " ".join(sentences[:7]), "the \n dog"]
    return [*sentences[:20], *mixed, *(" ".join(sentences[i : i + 2]) for i in range(20, 40))]


@pytest.fixture(scope="module")
def expected(trained, texts, annotation):
    return [annotation(trained(text)) for text in texts]


@pytest.mark.parametrize(("threads", "batch_size"), [(1, 7), (2, 1000), (16, 1000)])
def test_threads_and_batches_give_identical_results(
    toy, trained, texts, expected, annotation, threads, batch_size
):
    nlp = toy.copy(trained, threads=threads)
    assert [annotation(doc) for doc in nlp.pipe(texts, batch_size=batch_size)] == expected


def test_processes_give_identical_results(trained, texts, expected, annotation):
    assert [annotation(doc) for doc in trained.pipe(texts, n_process=2, batch_size=5)] == expected


def test_an_error_in_one_document_reaches_the_error_handler(toy):
    nlp = toy.trained(toy.sentences(10), sweeps=1, predict_tags=False)
    handled = []
    nlp.set_error_handler(lambda name, component, docs, error: handled.append((name, type(error))))
    assert list(nlp.pipe(["the dog sleeps ."])) == []
    assert handled == [("hpyp_parser", ValueError)]
