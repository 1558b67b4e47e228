"""Components that learn side by side: what they learn is the same, and what is frozen finds nothing twice."""

import gc
from weakref import WeakKeyDictionary

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.loop import train_while_improving
from spacy.util import registry

from spacy_hpyp.components import base, hpyp_parser
from spacy_hpyp.components.side_by_side import Step, create_side_by_side

SMALL = {"model": {"places": 2**12}}
COMPONENTS = {
    "easy_first_tagger": SMALL,
    "easy_first_parser": {"beam": 4, "folds": 2, "model": {"arc_places": 2**12, "label_places": 2**11}},
    "easy_first_morphologizer": SMALL,
}


def learned(toy, before_update, accumulated=1):
    """What components learn in spaCy's training loop, and the losses that it shows after each step."""
    nlp = spacy.blank("en")
    for name, config in COMPONENTS.items():
        nlp.add_pipe(name, config=config)
    examples = toy.examples(nlp, toy.sentences(60))
    for token in (token for example in examples for token in example.reference):
        token.pos_ = "NOUN" if token.tag_.startswith("N") else "X"
    optimizer = nlp.initialize(lambda: examples)
    steps = train_while_improving(
        nlp,
        optimizer,
        ((0, examples[first : first + 20]) for first in (0, 20, 40, 0, 20, 40)),
        lambda: (0.0, nlp.evaluate(examples[:10])),
        dropout=0.1,
        eval_frequency=2,
        accumulate_gradient=accumulated,
        patience=0,
        max_steps=0,
        exclude=[],
        annotating_components=["easy_first_tagger"],
        before_update=before_update,
    )
    losses = [dict(info["losses"]) for _, info, _ in steps]
    return losses, [component.to_bytes(exclude=["vocab"]) for _, component in nlp.pipeline]


@pytest.mark.parametrize("accumulated", [1, 2])
def test_components_learn_the_same_side_by_side_whatever_the_number_of_threads(toy, accumulated):
    expected = learned(toy, None, accumulated)
    assert all(expected[0][0].values())
    for threads in (1, 3):
        assert learned(toy, create_side_by_side(threads), accumulated) == expected


def test_words_under_tokens_are_found_once_for_all_components_of_a_step(toy, monkeypatch):
    asked = []
    make = base.example_of_words
    monkeypatch.setattr(base, "example_of_words", lambda example: asked.append(example) or make(example))
    losses, _ = learned(toy, None)
    several = len(asked)
    asked.clear()
    assert learned(toy, create_side_by_side())[0] == losses
    # All of them are asked for when they are initialized: 60 examples each, and the parser's for the tagger
    # again.
    initial = 60 * (len(COMPONENTS) + 1)
    assert several - initial == len(COMPONENTS) * (len(asked) - initial) > 0


def test_components_read_what_they_are_initialized_with_once(toy):
    nlp, sentences, read = spacy.blank("en"), toy.sentences(20), []
    for name, config in COMPONENTS.items():
        nlp.add_pipe(name, config=config)
    nlp.initialize(lambda: read.append(None) or toy.examples(nlp, sentences))
    assert len(read) == len(COMPONENTS)


def test_words_under_tokens_are_kept_from_pass_to_pass_as_long_as_their_documents_are_there(toy):
    nlp, kept, asked = spacy.blank("en"), WeakKeyDictionary(), []

    def make(examples):
        asked.append(len(examples))
        return [
            Example(each.predicted.copy(), each.reference.copy()) if i else each
            for i, each in enumerate(examples)
        ]

    examples = toy.examples(nlp, toy.sentences(3))
    passes = []
    for _ in range(2):
        # As spaCy does for each update.
        given = [Example(each.predicted.copy(), each.reference) for each in examples]
        passes.append(Step(None, kept).shared(given, make))
        assert passes[-1][0] is given[0]
    # The first one is the same without them.
    assert asked == [3, 1]
    assert passes[0][1:] == passes[1][1:]
    del given, passes, examples
    gc.collect()
    assert not kept


def test_what_is_found_within_a_step_is_found_with_what_has_been_learned_in_it(toy):
    texts, rounds = [" ".join(each.words) for each in toy.sentences(40, seed=2)], []
    for before_update in (lambda nlp, progress: None, create_side_by_side()):
        nlp = spacy.blank("en")
        nlp.add_pipe("easy_first_tagger", config=SMALL)
        examples = toy.examples(nlp, toy.sentences(60))
        nlp.initialize(lambda examples=examples: examples)
        before_update(nlp, {"step": 0})
        nlp.update(examples, sgd=False)
        rounds.append([[token.tag_ for token in doc] for doc in nlp.pipe(texts)])
    assert rounds[0] == rounds[1]


def test_what_has_failed_beside_others_fails_where_it_is_waited_for(toy, monkeypatch):
    nlp = spacy.blank("en")
    tagger = nlp.add_pipe("easy_first_tagger", config=SMALL)
    examples = toy.examples(nlp, toy.sentences(5))
    optimizer = nlp.initialize(lambda: examples)
    monkeypatch.setattr(tagger, "_learn_from", lambda *given: [].pop())
    create_side_by_side()(nlp, {"step": 0})
    nlp.update(examples, sgd=False)
    with pytest.raises(IndexError):
        tagger.finish_update(optimizer)
    # Nobody has begun another step.
    with pytest.raises(IndexError):
        tagger.update(examples)


@pytest.fixture
def frozen(toy, trained):
    """A copy of a trained pipeline whose parser is frozen, in a training loop that evaluates it on sentences
    of the toy treebank.
    """

    def read(nlp):
        return [Example(doc, doc) for doc in (Doc(nlp.vocab, each.words) for each in toy.sentences(30))]

    registry.readers("test_side_by_side.v1", func=lambda: read)
    nlp = toy.copy(trained, guides=True)
    nlp.config["training"]["frozen_components"] = ["hpyp_parser"]
    nlp.config["corpora"] = {name: {"@readers": "test_side_by_side.v1"} for name in ("train", "dev")}
    nlp.batch_size = 7
    return nlp


def found(doc):
    return [(token.tag_, token.head.i, token.dep_, token._.log_prob, token._.head_prob) for token in doc]


def test_a_frozen_parser_parses_no_document_twice_and_finds_the_same(toy, trained, frozen, monkeypatch):
    parsed, decode = [], hpyp_parser.decode

    def count(model, blocks, *given):
        parsed.append(len(blocks.words))
        return decode(model, blocks, *given)

    monkeypatch.setattr(hpyp_parser, "decode", count)
    before_update, sentences = create_side_by_side(), toy.sentences(30)
    words = sum(len(sentence.words) for sentence in sentences)
    other = toy.copy(trained, guides=True)
    rounds = []
    for step in range(3):
        before_update(frozen, {"step": step})
        assert sum(parsed) == words
        rounds.append(list(frozen.pipe(Doc(frozen.vocab, each.words) for each in sentences)))
    assert sum(parsed) == words
    expected = [other(Doc(other.vocab, each.words)) for each in sentences]
    for docs in rounds:
        for doc, own in zip(docs, expected, strict=True):
            assert found(doc) == found(own)
            assert np.array_equal(doc._.guide["head_probs"], own._.guide["head_probs"])
    # Where sentences begin is a part of what is read, and how they are searched for.
    parsed.clear()
    doc = Doc(frozen.vocab, sentences[0].words, sent_starts=[True] * len(sentences[0].words))
    frozen(doc)
    frozen.get_pipe("hpyp_parser").particles = 3
    frozen(Doc(frozen.vocab, sentences[0].words))
    assert len(parsed) == 2


def test_a_parser_remembers_nothing_that_it_found_before_it_learned(toy, frozen):
    create_side_by_side()(frozen, {"step": 0})
    parser, words = frozen.get_pipe("hpyp_parser"), toy.sentences(1)[0].words
    before = frozen(Doc(frozen.vocab, words))
    reference = toy.doc(frozen.vocab, *toy.sentences(12, seed=3))
    parser.update([Example(Doc(frozen.vocab, [token.text for token in reference]), reference)])
    assert frozen(Doc(frozen.vocab, words))._.log_prob != before._.log_prob


def test_views_that_are_given_back_are_read_again_from_their_file(toy, trained, tmp_path):
    trained.to_disk(tmp_path)
    nlp, text = spacy.load(tmp_path), " ".join(toy.sentences(1)[0].words)
    expected = found(nlp(text))
    model = nlp.get_pipe("hpyp_parser").joint
    model.let_views_go()
    assert found(nlp(text)) == expected
    # Those that stand in no file stay.
    for each in (trained, trained):
        assert found(each(text)) == expected
        each.get_pipe("hpyp_parser").joint.let_views_go()
