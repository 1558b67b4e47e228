"""The k best parses, posterior probabilities, and consensus parses."""

from math import exp, log

import numpy as np
import pytest

from spacy_hpyp import Alternative, Marginals
from spacy_hpyp.annotation.encoding import encode_docs
from spacy_hpyp.arc_standard.decoding import decode_all

TEXTS = [
    "the dog sees a cat .",
    "Ada waits near the old parser . Kim sleeps .",
    "the cat near the bird near Ada sees the horse near a fish .",
    "dog the near sees Kim old waits",
    "Zenobia \n sleeps  ",
    "stop",
]


@pytest.fixture(scope="module", params=["the paper's", "pools"])
def nlp(request, toy):
    return toy.trained(
        **({} if request.param == "the paper's" else toy.pools), particles=1000, temperature=4.0
    )


@pytest.fixture(scope="module")
def with_marginals(toy, nlp):
    return toy.copy(nlp, decoding="mbr")


def parse_of(doc):
    return tuple((t.tag_, t.dep_, t.head.i) for t in doc)


def one_sentence(nlp, text):
    """Make a Doc of a single sentence."""
    doc = nlp.make_doc(text)
    for token in doc:
        token.is_sent_start = token.i == 0
    return doc


def posterior_of_block(toy, nlp, text):
    """The derivations of a single-sentence text."""
    parser = toy.parser(nlp)
    blocks, _ = encode_docs([one_sentence(nlp, text)], parser.joint.encoder, given_tags=False)
    search = parser.search._replace(marginals=True)
    return decode_all(parser.joint.frozen, blocks, search)[0]


@pytest.mark.parametrize("text", TEXTS)
def test_alternatives_are_distinct_sorted_parses(toy, nlp, text, assert_forest):
    doc = nlp.make_doc(text)
    found = toy.parser(nlp).k_best(doc, 50)
    assert all(isinstance(one, Alternative) for one in found)
    assert len({parse_of(one.doc) for one in found}) == len(found) > 1
    assert [one.log_prob for one in found] == sorted((one.log_prob for one in found), reverse=True)
    assert all(one.doc.text == text for one in found)
    assert not doc.has_annotation("DEP")
    for one in found:
        for token in one.doc:
            token._.log_prob = -1.0
        assert_forest(one.doc)


@pytest.mark.parametrize("text", TEXTS)
def test_parse_probabilities_sum_over_derivations_and_to_that_of_the_text(
    toy, nlp, with_marginals, text
):
    posterior = posterior_of_block(toy, nlp, text)
    sums = {}
    rows = np.concatenate([posterior.heads, posterior.labels, posterior.tags], axis=1)
    for parse, weight in zip(map(tuple, rows.tolist()), posterior.log_weight):
        sums[parse] = sums.get(parse, 0.0) + exp(weight)
    found = [one.log_prob for one in toy.parser(nlp).k_best(one_sentence(nlp, text), 10**6)]
    assert found == pytest.approx(sorted(map(log, sums.values()), reverse=True), rel=1e-9)
    whole = with_marginals(one_sentence(nlp, text))._.log_prob
    assert np.logaddexp.reduce(found) == pytest.approx(whole, rel=1e-9)


def test_alternatives_combine_those_of_each_sentence(toy, nlp):
    parser = toy.parser(nlp)
    docs = [one_sentence(nlp, text) for text in TEXTS[2:4]]
    both = one_sentence(nlp, " ".join(TEXTS[2:4]))
    both[len(docs[0])].is_sent_start = True
    first, second = (parser.k_best(doc, 5) for doc in docs)
    expected = sorted((a.log_prob + b.log_prob for a in first for b in second), reverse=True)[:5]
    found = parser.k_best(both, 5)
    assert [one.log_prob for one in found] == pytest.approx(expected, rel=1e-12)
    assert len({parse_of(one.doc) for one in found}) == 5
    assert [t.tag_ for t in found[0].doc] == [
        t.tag_ for one in (first[0], second[0]) for t in one.doc
    ]


def test_alternatives_analyse_syntactic_words(toy, nlp, assert_forest):
    parser, doc = toy.parser(nlp), nlp("the dog sees a cat near Ada .")
    words = [token.text for token in doc]
    tokens = toy.merged(doc, 0)
    assert parser.tree_log_prob(tokens) == parser.tree_log_prob(doc)
    for over, each in zip(parser.k_best(tokens, 5), parser.k_best(doc, 5), strict=True):
        assert over.log_prob == each.log_prob
        flat = over.doc._.ud_words
        assert [word.text for word in flat] == words
        parse = tuple((word.tag_, word.dep_, flat.index(word.head)) for word in flat)
        assert parse == parse_of(each.doc)
        assert_forest(over.doc, generative=False)
    found, expected = parser.posterior(tokens), parser.posterior(doc)
    for name in ("heads", "labels", "tags"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("text", ["", " ", " \n "])
def test_a_document_without_words_has_one_certain_parse(toy, nlp, text):
    (only,) = toy.parser(nlp).k_best(nlp.make_doc(text), 3)
    assert only.log_prob == 0.0
    assert only.doc.text == text
    found = toy.parser(nlp).posterior(nlp.make_doc(text))
    assert found.heads.shape == (len(only.doc), len(only.doc))
    assert found.heads.sum() == found.tags.sum() == found.labels.sum() == 0.0


def test_alternatives_keep_the_sentences_of_a_parsed_document_but_not_probabilities(
    toy, with_marginals
):
    doc = with_marginals(TEXTS[1])
    before = parse_of(doc), doc._.log_prob
    for one in toy.parser(with_marginals).k_best(doc, 5):
        assert [s.start for s in one.doc.sents] == [s.start for s in doc.sents]
        for name in ("log_prob", "surprisal", "head_prob", "tag_prob"):
            assert all(token._.get(name) is None for token in one.doc)
    assert (parse_of(doc), doc._.log_prob) == before


def test_token_probabilities_match_the_posterior(toy, nlp):
    nlp = toy.copy(nlp, decoding="mbr", temperature=1.5)
    parser = toy.parser(nlp)
    tags = parser.label_data["tags"]
    parsed = [(nlp(text), parser.posterior(nlp.make_doc(text))) for text in TEXTS]
    for token, posterior in ((token, posterior) for doc, posterior in parsed for token in doc):
        assert isinstance(posterior, Marginals)
        heads, labels, tag = (rows[token.i] for rows in vars(posterior).values())
        if token.is_space:
            assert (token._.head_prob, token._.tag_prob) == (None, None)
            assert heads.sum() == labels.sum() == 0.0
            continue
        assert token._.head_prob == pytest.approx(heads[token.head.i], rel=1e-9)
        assert token._.tag_prob == pytest.approx(tag[tags.index(token.tag_)], rel=1e-9)
        assert 0.0 < token._.head_prob <= 1.0
        assert 0.0 < token._.tag_prob <= 1.0
        assert [row.sum() for row in (heads, labels, tag)] == pytest.approx([1.0] * 3)
        assert heads[token.i] == pytest.approx(labels[-1])


@pytest.mark.parametrize("temperature", [pytest.param(1.0, marks=pytest.mark.slow), 3.0])
def test_consensus_expects_no_fewer_right_arcs_than_the_best_derivation(toy, nlp, temperature):
    by_best, by_consensus = (
        toy.copy(nlp, temperature=temperature, decoding=decoding) for decoding in ("best", "mbr")
    )
    labels = [*toy.parser(nlp).label_data["labels"], "ROOT"]

    def expected(doc, posterior):
        heads = np.array([-1 if t.head.i == t.i else t.head.i for t in doc])
        numbers = np.array([-1 if t.head.i == t.i else labels.index(t.dep_) for t in doc])
        right = (posterior.heads == heads) & (posterior.labels == numbers)
        return posterior.probability @ right.sum(axis=1)

    for text in (text for text in TEXTS if "\n" not in text):
        best, consensus = (each(one_sentence(each, text)) for each in (by_best, by_consensus))
        posterior = posterior_of_block(toy, by_best, text)
        assert expected(consensus, posterior) >= expected(best, posterior) - 1e-12
