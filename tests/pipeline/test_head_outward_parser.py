"""The component head_outward_parser: training, exact probabilities, alternatives and odd
documents.
"""

from dataclasses import fields

import numpy as np
import pytest
import spacy
from compiling import compiled
from spacy.tokens import Doc
from tree_parsers import TreeParserTests, assert_trees, copy_of, tagged, train, with_tags

from spacy_hpyp.head_outward.chart import inside, marginals
from spacy_hpyp.head_outward.model import read_docs
from spacy_hpyp.head_outward.parsing import chart_scores
from spacy_hpyp.pipeline.head_outward_parser import HeadOutwardParser
from spacy_hpyp.pipeline.settings import HeadOutwardSettings

chart_scores = compiled(chart_scores)

#: Context lists that no chart can use, and why.
NO_CHART = [
    ({"children": [["child.tag", "parent.tag"]]}, "'children' are generated"),
    ({"tag": [["direction", "parent.tag", "grandparent.tag"]]}, "'tag' reads the grandparent"),
]
#: Several experts with learned weights.
POOL = {
    "tag": [["direction+parent.tag", "sibling.tag"], ["direction", "parent.word"]],
    "word": [["child.tag", "parent.tag"], ["child.tag", "parent.word"]],
}


def pipeline(**settings):
    """A blank pipeline with a parser; settings of the model, by their names, go to the model."""
    nlp = spacy.blank("en")
    own = [each.name for each in fields(HeadOutwardSettings)]
    config = {name: settings.pop(name) for name in own if name in settings}
    nlp.add_pipe("head_outward_parser", config={**config, "model": settings})
    return nlp


def parser_of(nlp) -> HeadOutwardParser:
    parser = nlp.get_pipe("head_outward_parser")
    assert isinstance(parser, HeadOutwardParser)
    return parser


def assert_scored(doc):
    """Assert that every sentence is a contiguous tree with probabilities."""
    assert_trees(doc)
    for sentence in doc.sents:
        assert sentence._.log_prob <= 0.0
        assert np.isfinite(sentence._.log_prob)
    for token in doc:
        assert token.is_space or 0.0 <= token._.head_prob <= 1.0 + 1e-9
    assert doc._.log_prob == pytest.approx(sum(sentence._.log_prob for sentence in doc.sents))


def annotation(doc):
    """All annotation of the parser."""
    arcs = [(token.text, token.tag_, token.dep_, token.head.i, token._.head_prob) for token in doc]
    return arcs, [sentence._.log_prob for sentence in doc.sents], doc._.log_prob


@pytest.fixture(scope="module")
def sentences(toy):
    return [*toy.sentences(90), toy.one_word]


@pytest.fixture(scope="module")
def trained_sweep_by_sweep(toy, sentences):
    """A trained pipeline, which tests do not change, and its losses in each sweep."""
    nlp = pipeline()
    return nlp, train(toy, nlp, sentences, rounds=6)


@pytest.fixture(scope="module")
def nlp(trained_sweep_by_sweep):
    return trained_sweep_by_sweep[0]


@pytest.fixture(scope="module")
def short(nlp):
    """Four words with tags, and no tree."""
    return Doc(nlp.vocab, words=["the", "dog", "sees", "Kim"], tags=["DT", "NN", "VBZ", "NNP"])


# Training


def test_a_treebank_is_learned_and_evaluated(toy, trained_sweep_by_sweep, sentences):
    nlp, losses = trained_sweep_by_sweep
    scores = nlp.evaluate(tagged(toy, nlp, sentences))
    assert scores["dep_uas"] > 0.95
    assert scores["dep_las"] > 0.93
    assert {"dep_las_per_type", "sents_f"} <= scores.keys()
    new = [sentence for sentence in toy.sentences(200, seed=5)[100:] if sentence not in sentences]
    assert nlp.evaluate(tagged(toy, nlp, new))["dep_uas"] > 0.9
    assert losses[0]["head_outward_parser"] > losses[-1]["head_outward_parser"] > 0.0
    assert parser_of(nlp).head_outward.progress.sweeps == 6


SETTINGS = {
    "eisner": {"prior": "eisner"},
    "dirichlet": {"prior": "dirichlet"},
    "minimal": {"counts": "minimal"},
    "fixed": {"hyperparameters": "fixed"},
    "no labels": {"case": [], "label": []},
    "pool": POOL,
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_treebank_is_learned_with_every_setting(toy, sentences, settings):
    nlp = pipeline(**settings)
    train(toy, nlp, sentences, rounds=3)
    scores = nlp.evaluate(tagged(toy, nlp, sentences))
    assert scores["dep_uas"] > 0.9
    assert (scores["dep_las"] > 0.9) == (settings.get("label") != [])


# Probabilities


def test_the_log_probability_of_a_sentence_sums_over_all_trees(nlp, short):
    parser = parser_of(nlp)
    parsed = parser(short.copy())
    found = parser.k_best(short, 1000)
    # Four words have 30 projective trees with one root.
    assert len(found) == 30
    assert parsed._.log_prob == pytest.approx(
        np.logaddexp.reduce([each.log_prob for each in found]), rel=1e-9
    )
    (sentence,) = parsed.sents
    assert sentence._.log_prob == parsed._.log_prob
    assert [parsed[a:b]._.log_prob for a, b in ((0, 3), (1, 4), (1, 3))] == [None] * 3
    assert [token._.log_prob for token in parsed] == [None] * 4
    assert parsed._.surprisal is None


def test_the_probability_of_a_head_sums_over_trees_with_the_arc(nlp, short):
    parser = parser_of(nlp)
    found = parser.k_best(short, 1000)
    total = np.logaddexp.reduce([each.log_prob for each in found])
    expected = np.zeros((4, 4))
    for each in found:
        for token in each.doc:
            expected[token.i, token.head.i] += np.exp(each.log_prob - total)
    parsed = parser(short.copy())
    assert [token._.head_prob for token in parsed] == pytest.approx(
        [expected[t.i, t.head.i] for t in parsed], abs=1e-9
    )


def test_tree_log_prob_matches_the_scores_of_alternatives(toy, sentences):
    # Without labels, a tree has only arcs.
    nlp = pipeline(label=[])
    train(toy, nlp, sentences, rounds=2)
    parser = parser_of(nlp)
    doc = with_tags(toy.doc(nlp.vocab, *sentences[3:5]))
    for each in parser.k_best(doc, 5):
        for token in each.doc:
            token.dep_ = token.dep_ if token.dep_ == "ROOT" else "nsubj"
        assert parser.tree_log_prob(each.doc) == pytest.approx(each.log_prob)


def test_probabilities_refer_to_syntactic_words(toy, nlp):
    parser = parser_of(nlp)
    doc = toy.doc(nlp.vocab, *toy.sentences(6, seed=11)[2:4])
    tokens = toy.merged(doc, 1)
    assert parser.tree_log_prob(tokens) == parser.tree_log_prob(doc)


def test_tree_log_prob_rejects_missing_trees_and_unknown_tags(toy, nlp, sentences):
    parser = parser_of(nlp)
    gold = toy.doc(nlp.vocab, *sentences[2:4])
    whole = parser.tree_log_prob(gold)
    parts = [parser.tree_log_prob(toy.doc(nlp.vocab, sentence)) for sentence in sentences[2:4]]
    assert whole == pytest.approx(sum(parts))
    assert whole < parser(with_tags(gold))._.log_prob < 0.0
    assert (
        parser.tree_log_prob(nlp.make_doc("")) == parser.tree_log_prob(nlp.make_doc(" \n")) == 0.0
    )
    crossing = toy.doc(nlp.vocab, toy.non_projective)
    assert parser.tree_log_prob(crossing) < 0.0
    strange = gold.copy()
    strange[-1].tag_ = "UH"
    with pytest.raises(ValueError, match="sentence 2 is with tags"):
        parser.tree_log_prob(strange)
    with pytest.raises(ValueError, match="sentence 1 is without a complete tree"):
        parser.tree_log_prob(with_tags(gold))


def test_generative_parsers_replace_the_values_of_each_other(toy, nlp, trained, sentences):
    gold = toy.doc(nlp.vocab, *sentences[2:4])
    parser, other = parser_of(nlp), toy.parser(trained)
    alone = annotation(parser(with_tags(gold)))
    doc = other(with_tags(gold))
    theirs = doc._.log_prob, [token._.log_prob for token in doc]
    assert None not in theirs[1]
    for token, tag in zip(doc, gold):
        token.tag_ = tag.tag_
    doc = parser(doc)
    assert annotation(doc) == alone
    assert [token._.log_prob for token in doc] == [None] * len(doc)
    assert doc._.surprisal is None
    doc = other(doc)
    assert (doc._.log_prob, [token._.log_prob for token in doc]) == theirs
    assert doc[:2]._.log_prob == pytest.approx(sum(theirs[1][:2]))


@pytest.mark.parametrize("decoding", ["best", "mbr"])
def test_decoding_returns_the_requested_tree(toy, nlp, sentences, decoding):
    parser = parser_of(copy_of(nlp, decoding=decoding))
    for sentence in sentences[:10]:
        doc = with_tags(toy.doc(parser.vocab, sentence))
        words, tags, _, _ = read_docs(parser.head_outward, [doc])
        scores = chart_scores(parser.head_outward.frozen, words, tags)
        probability = marginals(scores, inside(scores)).T
        found = [each.doc for each in parser.k_best(doc, 100)]
        expected = {
            "best": [token.head.i for token in found[0]],
            "mbr": max(
                ([token.head.i for token in each] for each in found),
                key=lambda h: sum(probability[range(len(h)), h]),
            ),
        }
        heads = [token.head.i for token in parser(doc)]
        assert sum(probability[range(len(doc)), heads]) == pytest.approx(
            sum(probability[range(len(doc)), expected[decoding]])
        )
        assert decoding == "mbr" or heads == expected["best"]


# Documents


def test_non_projective_trees_are_learned_and_restored(toy, nlp):
    expected = toy.non_projective
    doc = parser_of(nlp)(with_tags(toy.doc(nlp.vocab, expected)))
    assert_scored(doc)
    nlp = pipeline()
    train(toy, nlp, [expected] * 5, rounds=2)
    doc = parser_of(nlp)(with_tags(toy.doc(nlp.vocab, expected)))
    assert [token.head.i for token in doc] == expected.heads
    assert [token.dep_ for token in doc] == expected.deps


@pytest.mark.parametrize("starts", [[0, 4], [0, 5], [0, 3, 4], [0, 4, 5], [0, 1, 4], [0, 2]])
def test_sentences_with_leading_or_only_white_space_have_probabilities(nlp, starts):
    words = [" ", "the", "dog", "sleeps", "\n", "Kim", "waits", " "]
    tags = ["_SP", "DT", "NN", "VBZ", "_SP", "NNP", "VBZ", "_SP"]
    begins = [i in starts for i in range(8)]
    doc = Doc(nlp.vocab, words=words, tags=tags, spaces=[False] * 8, sent_starts=begins)
    doc = parser_of(nlp)(doc)
    assert_scored(doc)
    for sentence in doc.sents:
        assert (sentence._.log_prob == 0.0) == all(token.is_space for token in sentence)
    plain = [i for i, word in enumerate(words) if word.strip()]
    for sentence in doc.sents:
        kept = [i for i in range(sentence.start, sentence.end) if i in plain]
        if kept:
            alone = Doc(nlp.vocab, words=[words[i] for i in kept], tags=[tags[i] for i in kept])
            assert parser_of(nlp)(alone)._.log_prob == sentence._.log_prob


@pytest.mark.parametrize("longest", [1, 3, 8])
def test_longer_sentences_are_parsed_in_parts_that_form_one_tree(
    toy, nlp, sentences, longest, monkeypatch
):
    monkeypatch.setattr("spacy_hpyp.head_outward.model.LONGEST", longest)
    parser = parser_of(nlp)
    doc = with_tags(toy.doc(parser.vocab, *sentences[:6]))
    parsed = parser(doc.copy())
    assert [token.is_sent_start for token in parsed] == [token.is_sent_start for token in doc]
    assert_scored(parsed)
    # The parts' log-probabilities sum to that of the sentence.
    first = next(parsed.sents)
    parts = [
        Doc(parser.vocab, words=[t.text for t in part], tags=[t.tag_ for t in part])
        for part in (first[i : i + longest] for i in range(0, len(first), longest))
    ]
    assert first._.log_prob == pytest.approx(sum(each._.log_prob for each in parser.pipe(parts)))
    for each in parser.k_best(doc, 3):
        assert len(list(each.doc.sents)) == 6


# Models without a chart


@pytest.mark.parametrize(("lists", "problem"), NO_CHART)
def test_a_model_without_a_chart_scores_trees_but_refuses_to_search(toy, sentences, lists, problem):
    nlp = pipeline(**lists)
    train(toy, nlp, sentences[:40], rounds=2)
    parser, doc = parser_of(nlp), with_tags(toy.doc(nlp.vocab, sentences[3]))
    for call in (lambda: parser(doc), lambda: parser.k_best(doc, 2)):
        with pytest.raises(ValueError, match=f"cannot search for trees: {problem}"):
            call()
    words, tags, deps = "a dog sleeps .", "DT NN VBZ .", "det nsubj ROOT punct"
    right, wrong = (
        toy.sentence(words.split(), tags.split(), [head, 2, 2, 2], deps.split()) for head in (1, 2)
    )
    found = [parser.tree_log_prob(toy.doc(nlp.vocab, each)) for each in (wrong, right)]
    assert found[0] < found[1] < 0.0


class TestAsEveryParser(TreeParserTests):
    name = "head_outward_parser"
    pipeline = staticmethod(pipeline)
    annotation = staticmethod(annotation)
    check = staticmethod(assert_scored)
    score = "log_prob"

    @staticmethod
    def learned(parser):
        progress = parser.head_outward.progress
        return sum(progress.seated.values()), progress.tokens, progress.sweeps
