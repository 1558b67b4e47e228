"""What the easy-first tagger and senter share: training that can be resumed, storage that is checked, odd
documents.
"""

import logging
import os
import pickle
import random
from dataclasses import asdict
from functools import partial

import damage
import numpy as np
import pytest
import spacy
import srsly
from damage import Victim, interrupt, no_space
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Config

from spacy_hpyp.components.word_classifier import WordClassifyingComponent
from spacy_hpyp.storage.arrays import pack_integers

TEXT = "the dog sees a cat . Zenobia sleeps near Kim ."
NAMES = ("easy_first_tagger", "easy_first_senter")


class Toy:
    """A kind of component, with the toy treebank as it learns it: three sentences in each document."""

    def __init__(self, toy, name):
        self.toy = toy
        self.name = name
        self.sentences = toy.sentences(30)

    def nlp(self, *, templates=None, **settings):
        model = {"places": 2**13, **({"templates": templates} if templates else {})}
        nlp = spacy.blank("en")
        nlp.add_pipe(self.name, config={**settings, "model": model})
        return nlp

    def component(self, nlp) -> WordClassifyingComponent:
        component = nlp.get_pipe(self.name)
        assert isinstance(component, WordClassifyingComponent)
        return component

    def examples(self, nlp, order=range(10)):
        docs = [self.toy.doc(nlp.vocab, *self.sentences[3 * i : 3 * i + 3]) for i in order]
        return [Example(nlp.make_doc(doc.text), doc) for doc in docs]

    def train(self, nlp, passes=12):
        nlp.initialize(lambda: self.examples(nlp))
        self.passes(nlp, range(passes))
        return nlp

    def passes(self, nlp, numbers):
        for number in numbers:
            order = random.Random(number).sample(range(10), 10)
            for start in range(0, 10, 4):
                nlp.update(self.examples(nlp, order[start : start + 4]))

    def copy(self, nlp):
        return spacy.util.load_model_from_config(nlp.config.copy()).from_bytes(nlp.to_bytes())


def annotation(doc):
    return [(token.text, token.tag_, token.is_sent_start) for token in doc]


@pytest.fixture(scope="module", params=NAMES)
def kind(request, toy):
    return Toy(toy, request.param)


@pytest.fixture(scope="module")
def small(kind):
    """A trained pipeline; tests do not change it."""
    return kind.train(kind.nlp())


# Training


def test_training_learns_the_toy_treebank(kind, small):
    scores = small.evaluate(kind.examples(small))
    assert scores["tag_acc" if kind.name == "easy_first_tagger" else "sents_f"] > 0.95


def test_losses_are_updates_for_each_sequence(kind):
    nlp = kind.nlp(margin=0.0)
    nlp.initialize(lambda: kind.examples(nlp))
    training = kind.component(nlp).classifier.training
    losses = nlp.update(kind.examples(nlp, range(5)))
    assert training.early > 0
    assert losses[kind.name] == (training.early + training.full) / training.visited
    for _ in range(20):
        losses = nlp.update(kind.examples(nlp))
    assert losses[kind.name] == 0.0


def test_updates_are_logged_after_each_pass(kind, caplog):
    nlp = kind.nlp(beam=2)
    nlp.initialize(lambda: kind.examples(nlp))
    logger = logging.getLogger("spacy")
    logger.addHandler(caplog.handler)
    level = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        losses = {}
        for start in (0, 4, 7):
            assert not [record for record in caplog.records if "updates" in record.getMessage()]
            nlp.update(kind.examples(nlp, range(start, {0: 4, 4: 7, 7: 10}[start])), losses=losses)
    finally:
        logger.removeHandler(caplog.handler)
        logger.setLevel(level)
    (message,) = {record.getMessage() for record in caplog.records if "updates" in record.getMessage()}
    assert message.startswith(f"{kind.name}: ")
    early, full, sequences = (int(word) for word in message.split() if word.isdigit())
    assert early + full == round(losses[kind.name] * sequences) > 0
    assert sequences == (30 if kind.name == "easy_first_tagger" else 10)


def test_resumed_training_goes_on_as_if_it_had_not_been_interrupted(kind):
    nlp = kind.nlp(beam=2)
    nlp.initialize(lambda: kind.examples(nlp))
    kind.passes(nlp, range(2))
    nlp.update(kind.examples(nlp, range(4)))
    resumed = kind.copy(nlp)
    for each in (nlp, resumed):
        each.update(kind.examples(each, range(4, 10)))
        kind.passes(each, range(2, 4))
    assert model_of(kind, resumed) == model_of(kind, nlp)
    assert kind.component(resumed).classifier.training == kind.component(nlp).classifier.training


def model_of(kind, nlp):
    return kind.component(nlp).to_bytes(exclude=["vocab"])


def test_training_is_the_same_every_time(kind, small):
    assert model_of(kind, kind.train(kind.nlp())) == model_of(kind, small)


def test_initializing_again_forgets_what_was_learned(kind, small):
    assert model_of(kind, kind.train(kind.copy(small))) == model_of(kind, small)


def test_examples_without_words_teach_nothing(kind, small):
    nlp = kind.copy(small)
    before = model_of(kind, nlp)
    empty = [Example(doc, doc.copy()) for doc in (nlp.make_doc(""), nlp.make_doc(" \n "))]
    assert nlp.update(empty)[kind.name] == 0.0
    assert model_of(kind, nlp) == before


def test_examples_of_other_sentences_can_be_learned_from(kind, small):
    nlp = kind.copy(small)
    other = kind.toy.sentence(
        "Zenobia waits quietly".split(), "NNP VBZ RB".split(), [1, 1, 1], ["nsubj", "ROOT", "x"]
    )
    doc = kind.toy.doc(nlp.vocab, other, *kind.sentences[:2])
    nlp.update([Example(nlp.make_doc(doc.text), doc)])
    assert len(nlp(doc.text)) == len(doc)


def test_component_that_has_not_been_trained_says_so(kind):
    nlp = kind.nlp()
    for action in (lambda: nlp("a"), lambda: kind.component(nlp).update(kind.examples(nlp))):
        with pytest.raises(ValueError, match=f"'{kind.name}' has not been trained.*--pipeline {kind.name}"):
            action()


def test_corpus_without_annotation_is_refused(kind):
    nlp = kind.nlp()
    with pytest.raises(ValueError, match="cannot be initialized: none of the training examples has"):
        nlp.initialize(lambda: [Example(nlp.make_doc("a b"), nlp.make_doc("a b"))])


# Documents


def test_odd_documents_are_annotated(kind, small):
    words = [["stop"], [], ["\n"], [" ", "a", "\n\n", "b", " "], ["ζξ", "😀"], ["a" * 1000]]
    docs = [Doc(small.vocab, words=each) for each in words]
    for doc, alone in zip(small.pipe(docs), words):
        assert len(doc) == len(alone)
        for token in doc:
            if kind.name == "easy_first_tagger":
                assert (token.tag_ == "_SP") == token.is_space
                assert token.tag_
            else:
                assert token.is_sent_start is (token.i == 0) or not token.is_space


def test_long_document_is_annotated(kind, small):
    doc = small(Doc(small.vocab, words=[token.text for token in small.make_doc(TEXT)] * 1800))
    assert len(doc) > 19_000
    assert all(token.tag_ for token in doc) or all(token.is_sent_start is not None for token in doc)


@pytest.mark.parametrize("settings", [{"threads": 1}, {"threads": 3}, {"threads": 50}])
def test_result_does_not_depend_on_threads_and_batches(kind, small, settings):
    nlp = kind.copy(small)
    kind.component(nlp).change(**settings)
    texts = [" ".join(sentence.words) for sentence in kind.sentences] + ["", " ", "Zenobia"]
    expected = [annotation(small(text)) for text in texts]
    for size in (1, 7, 100):
        assert [annotation(doc) for doc in nlp.pipe(texts, batch_size=size)] == expected


@pytest.mark.parametrize("settings", [{"beam": 4}, {"window": 1}, {"beam": 2, "window": 3}])
def test_search_can_be_set(kind, small, settings):
    nlp = kind.copy(small)
    kind.component(nlp).change(**settings)
    assert kind.component(nlp).search._asdict().items() >= settings.items()
    assert len(nlp(TEXT)) == 11


@pytest.mark.parametrize(
    "settings",
    [{"beam": 0}, {"window": 0}, {"threads": 0}, {"margin": -1.0}, {"tokens": "words"}, {"beam": 1.5}],
)
def test_impossible_settings_are_refused(kind, small, settings):
    component = kind.component(kind.copy(small))
    before = component.settings
    with pytest.raises(ValueError, match=rf"{kind.name}.*{next(iter(settings))}"):
        component.change(**settings)
    assert component.settings == before


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ({"places": 1000}, "'places' must be a power of two, not 1000"),
        ({"places": 1}, "'places' must be a whole number of at least 2"),
        ({"templates": [["wrod"]]}, "'wrod' in 'templates' is not an element"),
        ({"min_count": -1}, "'min_count' must be"),
    ],
)
def test_impossible_models_are_refused(kind, model, problem):
    with pytest.raises(ValueError, match=problem):
        spacy.blank("en").add_pipe(kind.name, config={"model": model})


# Storage


def test_bytes_and_directory_give_the_same_pipeline(kind, small, tmp_path):
    small.to_disk(tmp_path / "first")
    for loaded in (kind.copy(small), spacy.load(tmp_path / "first")):
        assert annotation(loaded(TEXT)) == annotation(small(TEXT))
        assert loaded.to_bytes() == small.to_bytes()
    loaded.to_disk(tmp_path / "second")
    first, second = (tmp_path / name / kind.name / "model" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()


def test_component_can_be_pickled(kind, small):
    component = pickle.loads(pickle.dumps(kind.component(small)))
    doc = component(small.make_doc(TEXT))
    assert annotation(doc) == annotation(small(TEXT))


def test_component_that_was_not_trained_can_be_stored(kind, tmp_path):
    kind.nlp().to_disk(tmp_path)
    assert not kind.component(spacy.load(tmp_path)).is_trained


def test_settings_that_were_changed_are_saved_and_can_be_overridden(kind, small, tmp_path):
    nlp = kind.copy(small)
    kind.component(nlp).change(beam=3, window=17, threads=1, margin=2.5, tokens="gold")
    nlp.to_disk(tmp_path)
    assert kind.component(spacy.load(tmp_path)).settings == kind.component(nlp).settings
    loaded = spacy.load(tmp_path, config={f"components.{kind.name}.beam": 9})
    assert asdict(kind.component(loaded).settings) == {**asdict(kind.component(nlp).settings), "beam": 9}


def test_places_that_are_not_used_take_no_room(kind, small):
    assert len(kind.component(small).to_bytes(exclude=["vocab"])) < 2**13 * 6


@pytest.fixture(scope="module")
def only_victim(kind, small):
    nlp = kind.copy(small)

    def work():
        if kind.component(nlp).is_trained:
            nlp(TEXT)

    return Victim(nlp, kind.component(nlp), lambda: annotation(nlp(TEXT)), work)


@pytest.fixture(scope="module")
def model(kind, small):
    """The model file."""
    return srsly.msgpack_loads(model_of(kind, small))["model"]


edited = partial(damage.edited, name="decider")


def test_every_flipped_bit_is_seen(victim, model):
    rng = random.Random(3)
    for _ in range(60):
        data = bytearray(model)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        assert victim.refuses(bytes(data))


def test_truncated_models_are_refused(victim, model):
    for end in (0, 1, 10, len(model) // 2, len(model) - 1):
        assert victim.refuses(model[:end])


@pytest.mark.parametrize(
    "edit",
    [
        lambda inner: [],
        lambda inner: inner.update(format=99),
        lambda inner: inner.update(format=None),
        lambda inner: inner.update(templates=[["word"]]),
        lambda inner: inner.update(places=2**14),
        lambda inner: inner.update(outcome="shape"),
        lambda inner: inner.pop("tags") and None,
        lambda inner: inner.pop("words") and None,
        lambda inner: inner.pop("training") and None,
        lambda inner: inner.update(tags=inner["tags"][:-1]),
        lambda inner: inner.update(words=inner["words"][:-1]),
        lambda inner: inner.update(words=[*inner["words"][:-1], inner["words"][0]]),
        lambda inner: inner.update(candidate_tags=pack_integers(np.full(10**5, 1))),
        lambda inner: inner.update(perceptron={}),
        lambda inner: inner.update(perceptron=None),
        lambda inner: inner["perceptron"].update(clock=-5),
        lambda inner: inner["perceptron"].update(entries=pack_integers(np.array([5, 2**13]))),
        lambda inner: inner["perceptron"].update(entries=pack_integers(np.array([5, 0]))),
        lambda inner: inner["perceptron"].update(weights=b"abc"),
        lambda inner: inner["perceptron"].update(sums=inner["perceptron"]["weights"]),
        lambda inner: inner["training"].update(size=-1),
        lambda inner: inner["training"].update(early="many"),
    ],
)
def test_damaged_parts_are_refused(victim, model, edit):
    assert victim.refuses(edited(model, edit=edit))


@pytest.mark.parametrize("value", [None, 0, -1, 1.5, "text", b"bytes", [], [None], {}, {"width": 1}])
def test_parts_of_the_wrong_kind_are_refused_or_harmless(victim, model, value):
    keys = []
    edited(model, edit=lambda inner: keys.extend(inner))
    for key in keys:
        victim.refuses(edited(model, edit=lambda inner, key=key: inner.update({key: value})))


@pytest.mark.parametrize(
    "content", [b"", b"model", srsly.msgpack_dumps({}), srsly.msgpack_dumps({"attrs": 3}), 7, None]
)
def test_what_is_no_model_is_refused(victim, content):
    assert victim.refuses(content)


def test_model_with_other_templates_is_refused(kind, small, tmp_path):
    small.to_disk(tmp_path)
    config = Config().from_disk(tmp_path / "config.cfg")
    config["components"][kind.name]["model"]["templates"] = [["word"], ["next.word"]]
    config.to_disk(tmp_path / "config.cfg")
    with pytest.raises(ValueError, match="its 'templates' are not those of the config"):
        spacy.load(tmp_path)


@pytest.mark.parametrize("failure", [no_space, interrupt])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_failure_while_saving_leaves_the_previous_model(kind, small, tmp_path, monkeypatch, failure, call):
    small.to_disk(tmp_path)
    other = kind.copy(small)
    kind.passes(other, [7])
    monkeypatch.setattr(os, call, failure)
    with pytest.raises((OSError, KeyboardInterrupt)):
        kind.component(other).to_disk(tmp_path / kind.name)
    monkeypatch.undo()
    assert annotation(spacy.load(tmp_path)(TEXT)) == annotation(small(TEXT))
    assert sorted(file.name for file in (tmp_path / kind.name).iterdir()) == ["cfg", "model"]
