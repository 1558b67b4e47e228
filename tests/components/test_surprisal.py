"""Surprisal of texts beside other work, and of running text with few particles."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import spacy_hpyp


def parsed(doc):
    return doc.text, [(token.head.i, token.dep_, token.tag_, token._.log_prob) for token in doc]


def test_what_runs_beside_surprisal_is_as_it_is_alone(toy, trained, monkeypatch):
    nlp = toy.copy(trained, outlook=1.0)
    parser = toy.parser(nlp)
    # Words that only this Doc has: what makes the pipeline forget those of others would take them away.
    text = "Zenobia Quux waits near the old blorp . the dog sees a frobnitz ."
    predict, beside = type(parser).predict, []

    def predict_and_look_around(self, docs, **settings):
        if not beside:
            beside.append(self.outlook)
            with ThreadPoolExecutor(1) as pool:
                beside.append(pool.submit(nlp, text).result())
        return predict(self, docs, **settings)

    monkeypatch.setattr(type(parser), "predict", predict_and_look_around)
    rows = spacy_hpyp.surprisal(nlp, ["the zyzzyva sees a cat ."])
    outlook, doc = beside
    assert outlook == parser.outlook == 1.0
    assert parsed(doc) == parsed(nlp(text))
    assert rows == spacy_hpyp.surprisal(nlp, ["the zyzzyva sees a cat ."])


@pytest.mark.slow
def test_threads_that_parse_and_find_surprisals_do_not_disturb_each_other(toy, trained):
    nlp = toy.copy(trained, outlook=1.0)
    texts = [f"the dog{i} sees a cat{i} . Ada{i} sleeps near Kim{i} ." for i in range(100)]
    with ThreadPoolExecutor(2) as pool:
        rows = [pool.submit(spacy_hpyp.surprisal, nlp, [text], running=True) for text in texts]
        docs = [parsed(nlp(text)) for text in texts]
    assert docs == [parsed(nlp(text)) for text in texts]
    assert [each.result() for each in rows] == [spacy_hpyp.surprisal(nlp, [text], running=True) for text in texts]
    assert toy.parser(nlp).outlook == 1.0


@pytest.mark.slow
def test_running_text_has_surprisals_that_more_particles_do_not_change(toy, trained_on_documents):
    text = " ".join(word for sentence in toy.sentences(60, seed=1) for word in sentence.words)
    few, many = (
        np.array(
            [row["surprisal"] for row in spacy_hpyp.surprisal(trained_on_documents, [text], running=True, **given)]
        )
        for given in ({}, {"particles": 20_000})
    )
    off = np.abs(few - many)
    assert np.mean(off > 0.3) <= 0.01
    assert off.max() <= 1.0


def test_how_many_particles_read_is_an_argument(trained):
    one, many = (
        sum(row["log_prob"] for row in spacy_hpyp.surprisal(trained, ["the dog near a cat sees Ada ."], particles=k))
        for k in (1, 1000)
    )
    assert one < many
    with pytest.raises(ValueError, match="'particles' must be"):
        spacy_hpyp.surprisal(trained, ["the dog"], particles=0)
