"""Another parser's arcs, and how sure one may be of them."""

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hpyp.annotation.calibration import calibrate_heads
from spacy_hpyp.annotation.written import kept_parses
from spacy_hpyp.components.arc_confidence import ASKED, ArcConfidence
from spacy_hpyp.components.hpyp_parser import HPYPParser


@Language.factory("a_careless_parser", default_config={"part": 0.9})
def make_careless_parser(nlp, name, part):
    """Hangs words of toy sentences on the verb that its tags say, or, for a part of the words that their
    forms choose, on a neighbour.
    """

    def parse(doc):
        rng = np.random.default_rng([len(doc), *(token.orth % 1000 for token in doc)])
        gold = doc.user_data["gold"]
        heads = list(gold["heads"])
        for i in np.flatnonzero(rng.random(len(doc)) < part).tolist():
            # Never a cycle.
            if heads[i] != i and i and heads[i] < i - 1:
                heads[i] = i - 1
        for token, head in zip(doc, heads):
            token.head, token.dep_, token.tag_ = doc[head], "ROOT" if head == token.i else "theirs", "T"
        return doc

    return parse


def example_of(toy, nlp, sentence, *, turned=False):
    """turned: Whether prepositions are to head their phrases in what the parser is to find."""
    predicted, heads = Doc(nlp.vocab, words=sentence.words), list(sentence.heads)
    for word, (noun, dep) in enumerate(zip(sentence.heads, sentence.deps)):
        if turned and dep == "case":
            heads[word], heads[noun] = heads[noun], word
    predicted.user_data["gold"] = {"heads": heads}
    return Example(predicted, toy.doc(nlp.vocab, sentence))


def sentences_of(toy):
    return [sentence for sentence in toy.sentences(90, seed=3) if sentence is not toy.non_projective]


def pipeline(toy, trained, *, turned=False, **settings):
    """A careless parser, whose arcs a parser of the toy treebank is asked about, which does not parse."""
    nlp = spacy.blank("en")
    nlp.add_pipe("a_careless_parser")
    nlp.add_pipe("hpyp_parser", source=trained)
    nlp.disable_pipe("hpyp_parser")
    settings = {"source": "hpyp_parser", "last": "a_careless_parser", **settings}
    component = nlp.add_pipe("arc_confidence", config=settings)
    assert isinstance(component, ArcConfidence)
    examples = [example_of(toy, nlp, sentence, turned=turned) for sentence in sentences_of(toy)[:60]]
    for example in examples:
        example.predicted = nlp.get_pipe("a_careless_parser")(example.predicted)
    component.initialize(lambda: examples, nlp=nlp)
    component.update(examples)
    return nlp


@pytest.fixture(scope="module")
def folder(toy, trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("confidence")
    trained.to_disk(folder / "pool")
    pipeline(toy, trained).to_disk(folder / "rated")
    return folder


@pytest.fixture(name="rated")
def rated_pipeline(folder):
    return spacy.load(folder / "rated")


def parses(toy, nlp, *, turned=False):
    return [example_of(toy, nlp, sentence, turned=turned) for sentence in sentences_of(toy)[60:]]


def test_right_arcs_are_surer_than_wrong_ones_and_stay_as_they_are(toy, rated):
    assert rated.pipe_names == ["a_careless_parser", "arc_confidence"]
    assert rated.disabled == ["hpyp_parser"]
    assert rated.get_pipe("arc_confidence").votes.voters == ["a_careless_parser", ASKED]
    examples = parses(toy, rated)
    for example in examples:
        doc = rated(example.predicted)
        alone = rated.get_pipe("a_careless_parser")(
            Doc(doc.vocab, words=[t.text for t in doc], user_data=doc.user_data)
        )
        assert [(t.head.i, t.dep_, t.tag_) for t in doc] == [(t.head.i, t.dep_, t.tag_) for t in alone]
        # What the other parser has found is not left behind.
        assert kept_parses(doc) == {}
        example.predicted = doc
    found = calibrate_heads(examples)
    assert 0.5 < found.mean_accuracy < 0.95
    assert found.auroc > 0.9
    assert found.error < 0.1


def test_prepositions_may_head_their_phrases(toy, trained):
    found = {}
    for nuclei in (False, True):
        nlp = pipeline(toy, trained, turned=True, nuclei=nuclei)
        examples = parses(toy, nlp, turned=True)
        for example in examples:
            example.predicted = nlp(example.predicted)
        # Nothing is wrong with them but that they head their phrases.
        near = [
            token
            for example in examples
            for token in example.predicted
            if token.text == "near" and token.head.i == token.doc.user_data["gold"]["heads"][token.i]
        ]
        found[nuclei] = np.mean([token._.head_prob for token in near])
        calibration = calibrate_heads(examples, nuclei=nuclei)
        assert calibration.auroc > 0.8
        assert calibration.error < 0.15
    assert found[False] < 0.2
    assert found[True] > 0.6


def test_batches_do_not_change_what_is_said(toy, rated):
    examples = parses(toy, rated)
    alone = [rated(example.predicted.copy()) for example in examples]
    together = rated.pipe([example.predicted for example in examples], batch_size=7)
    for one, other in zip(alone, together, strict=True):
        assert [t._.head_prob for t in one] == pytest.approx([t._.head_prob for t in other])


def test_a_pipeline_at_a_path_can_be_asked(toy, folder, rated):
    doc = parses(toy, rated)[0].predicted
    expected = [token._.head_prob for token in rated(doc.copy())]
    other = spacy.load(
        folder / "rated", config={"components": {"arc_confidence": {"source": str(folder / "pool")}}}
    )
    other.remove_pipe("hpyp_parser")
    assert isinstance(other.get_pipe("arc_confidence").asked, HPYPParser)
    assert [token._.head_prob for token in other(doc.copy())] == pytest.approx(expected)


def test_what_cannot_be_asked_is_named(toy, rated):
    doc = parses(toy, rated)[0].predicted
    component = rated.get_pipe("arc_confidence")
    with (
        rated.select_pipes(disable="a_careless_parser"),
        pytest.raises(ValueError, match="has not been parsed"),
    ):
        rated(doc.copy())
    component.source = "a_careless_parser"
    with pytest.raises(ValueError, match="that is no hpyp_parser"):
        rated(doc.copy())
    component.source = "nowhere"
    with pytest.raises(ValueError, match="is 'nowhere', but the pipeline has no such component"):
        rated(doc.copy())


def test_gold_heads_in_other_sentences_are_missed_by_all(toy, rated):
    sentence = sentences_of(toy)[0]
    words = sentence.words
    alone = Doc(rated.vocab, words=words, heads=range(len(words)), deps=["ROOT"] * len(words))
    example = Example(alone, toy.doc(rated.vocab, sentence))
    _, gold = rated.get_pipe("arc_confidence")._read(example)
    roots = np.array(sentence.heads) == np.arange(len(sentence.heads))
    assert np.array_equal(gold.heads, np.where(roots, -1, -3))
