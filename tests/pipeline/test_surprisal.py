"""Surprisal of texts beside other work, and of running text with few particles."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import spacy_hpyp
from spacy_hpyp.annotation.syntactic_words import Analysis, write_words


def parsed(doc):
    return doc.text, [(token.head.i, token.dep_, token.tag_, token._.log_prob) for token in doc]


@pytest.mark.slow
def test_threads_that_parse_and_find_surprisals_do_not_disturb_each_other(toy, trained):
    nlp = toy.copy(trained, future_cost=1.0)
    texts = [f"the dog{i} sees a cat{i} . Ada{i} sleeps near Kim{i} ." for i in range(100)]
    with ThreadPoolExecutor(2) as pool:
        rows = [pool.submit(spacy_hpyp.surprisal, nlp, [text], running=True) for text in texts]
        docs = [parsed(nlp(text)) for text in texts]
    assert docs == [parsed(nlp(text)) for text in texts]
    assert [each.result() for each in rows] == [
        spacy_hpyp.surprisal(nlp, [text], running=True) for text in texts
    ]
    assert toy.parser(nlp).future_cost == 1.0


@pytest.mark.slow
def test_running_text_has_surprisals_that_more_particles_do_not_change(toy, trained_on_documents):
    text = " ".join(word for sentence in toy.sentences(60, seed=1) for word in sentence.words)
    few, many = (
        np.array(
            [
                row["surprisal"]
                for row in spacy_hpyp.surprisal(trained_on_documents, [text], running=True, **given)
            ]
        )
        for given in ({}, {"particles": 20_000})
    )
    off = np.abs(few - many)
    assert np.mean(off > 0.3) <= 0.01
    assert off.max() <= 1.0


def test_how_many_particles_read_is_an_argument(trained):
    one, many = (
        sum(
            row["log_prob"]
            for row in spacy_hpyp.surprisal(trained, ["the dog near a cat sees Ada ."], particles=k)
        )
        for k in (1, 1000)
    )
    assert one < many
    with pytest.raises(ValueError, match="'particles' must be"):
        spacy_hpyp.surprisal(trained, ["the dog"], particles=0)


def test_words_under_a_token_have_rows_that_add_up_to_it(toy, trained):
    nlp = toy.copy(trained)
    rules = nlp.tokenizer

    def tokenize(text):
        doc = rules(text)
        for token in doc:
            if token.text == "theold":
                write_words(doc, token.i, [Analysis("the"), Analysis("old")])
        return doc

    nlp.tokenizer = tokenize
    together, apart = "theold dog sees a cat.", "the old dog sees a cat ."
    rows, plain = (spacy_hpyp.surprisal(nlp, [text], entropy=True) for text in (together, apart))
    assert [row["text"] for row in rows] == [row["text"] for row in plain]
    assert [(row["start"], row["end"]) for row in rows[:3]] == [(0, 3), (3, 6), (7, 10)]
    for column in ("surprisal", "log_prob", "entropy_next", "known", "tag"):
        assert [row[column] for row in rows] == [pytest.approx(row[column]) for row in plain]
    (word, *_), by_token = spacy_hpyp.surprisal(nlp, [together], by="word"), nlp(together)[0]
    assert (word["text"], word["tokens"], word["word"]) == ("theold", 2, 1)
    assert word["surprisal"] == pytest.approx(rows[0]["surprisal"] + rows[1]["surprisal"])
    assert by_token._.surprisal == pytest.approx(
        sum(each._.surprisal for each in nlp(apart)[:2]), rel=0.2
    )
    found, expected = (
        nlp.get_pipe("hpyp_parser").increments(nlp.make_doc(text), 2) for text in (together, apart)
    )
    assert [one.next_words for one in found] == [one.next_words for one in expected]
