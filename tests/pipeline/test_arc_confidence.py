"""Probabilities of another parser's arcs."""

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hpyp.annotation.user_data import KeptParse, keep
from spacy_hpyp.cli.analysis import calibrations
from spacy_hpyp.combining.votes import _with_gold
from spacy_hpyp.pipeline.parse_combiner import ArcConfidence, gold_parse


@Language.factory("a_careless_parser")
def make_careless_parser(nlp, name):
    """Make a parser that attaches most words of toy sentences to a neighbour instead of their gold
    head.
    """

    def parse(doc):
        rng = np.random.default_rng([len(doc), *(token.orth % 1000 for token in doc)])
        heads = list(doc.user_data["gold"])
        for i in np.flatnonzero(rng.random(len(doc)) < 0.9).tolist():
            # Avoid cycles.
            if heads[i] != i and i and heads[i] < i - 1:
                heads[i] = i - 1
        for token, head in zip(doc, heads):
            token.head, token.tag_ = doc[head], "T"
            token.dep_ = "ROOT" if head == token.i else "theirs"
        return doc

    return parse


def examples_of(toy, nlp, first, end):
    sentences = [each for each in toy.sentences(90, seed=3) if each is not toy.non_projective]
    docs = [
        Doc(nlp.vocab, words=each.words, user_data={"gold": each.heads})
        for each in sentences[first:end]
    ]
    return [Example(doc, toy.doc(nlp.vocab, each)) for doc, each in zip(docs, sentences[first:])]


@pytest.fixture(scope="module", name="rated")
def rated_pipeline(toy, trained, tmp_path_factory):
    """A careless parser, rated by a parser of the toy treebank, saved and loaded."""
    nlp = spacy.blank("en")
    nlp.add_pipe("a_careless_parser")
    nlp.add_pipe("keep_parse")
    nlp.add_pipe("hpyp_parser", source=toy.copy(trained, guides=True))
    component = nlp.add_pipe("arc_confidence")
    examples = examples_of(toy, nlp, 0, 60)
    with nlp.select_pipes(disable="arc_confidence"):
        for example in examples:
            example.predicted = nlp(example.predicted)
    component.initialize(lambda: examples, nlp=nlp)
    component.update(examples)
    folder = tmp_path_factory.mktemp("rated")
    nlp.to_disk(folder)
    return spacy.load(folder)


def test_right_arcs_get_higher_confidence_and_arcs_are_kept(toy, rated):
    component = rated.get_pipe("arc_confidence")
    assert isinstance(component, ArcConfidence)
    assert component.votes.voters == ["a_careless_parser", "hpyp_parser"]
    examples = examples_of(toy, rated, 60, 90)
    for example in examples:
        alone = rated.get_pipe("a_careless_parser")(example.predicted.copy())
        doc = example.predicted = rated(example.predicted)
        found, expected = ([(t.head.i, t.dep_, t.tag_) for t in each] for each in (doc, alone))
        assert found == expected
    found = calibrations(examples)["heads"]
    assert 0.5 < found["accuracy"] < 0.95
    assert found["auroc"] > 0.9
    assert found["expected_calibration_error"] < 0.1


def test_all_voters_are_wrong_about_gold_heads_in_other_sentences(toy, rated):
    example = examples_of(toy, rated, 0, 1)[0]
    doc = example.predicted
    n, nothing = len(doc), np.full(len(doc), np.nan)
    heads, begins = np.zeros(n, dtype=np.int32), np.ones(n, dtype=bool)
    parse = KeptParse(heads, ["ROOT"] * n, ["T"] * n, nothing, nothing, begins)
    for name in ("a_careless_parser", "hpyp_parser"):
        keep(doc, name, parse)
    component = rated.get_pipe("arc_confidence")
    ballots, *_ = component._ballots([doc], [gold_parse(example)])
    _, gold = _with_gold(ballots)
    roots = np.array([token.head.i == token.i for token in example.reference])
    assert np.array_equal(gold.heads, np.where(roots, -1, -3))
