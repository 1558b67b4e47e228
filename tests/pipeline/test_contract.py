"""The contract of all trainable components: storage, resumed training, pipes, threads and
interrupts.
"""

import pickle
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
import spacy
from spacy.attrs import DEP, HEAD, LEMMA, MORPH, SENT_START, TAG
from spacy.training import Example

from spacy_hpyp.annotation.user_data import current_parse, keep
from spacy_hpyp.interrupts import interrupts_deferred

POOLS = {
    "seating": "kneser-ney",
    "transition": [["s1.tag", "s2.tag"], ["s1.word", "s2.word"]],
    "label": [["next.direction", "s1.tag", "s2.tag"], ["next.direction", "s1.word"]],
    "tag": [["s1.tag", "s2.tag"], ["w1.tag", "w2.tag"]],
    "word": [["next.tag", "s1.word"], ["next.tag", "w1.word"]],
}
PAPER = {name: lists[:1] for name, lists in POOLS.items() if name not in ("seating", "label")}
RANKING = {
    "tag": [["direction+parent.tag", "parent.word"]],
    "children": [["child.tag", "direction+parent.tag"]],
}
#: Pipelines with small settings. The last component is tested.
PIPELINES = {
    "hpyp_parser": [("hpyp_parser", {"particles": 3, "model": PAPER})],
    "pool": [("hpyp_parser", {"particles": 3, "guides": True, "model": POOLS})],
    "derivations": [("hpyp_parser", {"latent": "derivations", "latent_after": 0, "model": PAPER})],
    "head_outward_parser": [("head_outward_parser", {})],
    "parse_reranker": [("head_outward_parser", {}), ("parse_reranker", {"k": 3, "model": RANKING})],
    "head_outward_states": [("head_outward_states", {"model": {"states": 3, "min_count": 1}})],
    "easy_first_senter": [("easy_first_senter", {})],
    "easy_first_tagger": [("easy_first_tagger", {})],
    "easy_first_morphologizer": [("easy_first_morphologizer", {})],
    "easy_first_lemmatizer": [("easy_first_lemmatizer", {})],
    "easy_first_parser": [("easy_first_parser", {})],
    "parse_combiner": [("parse_combiner", {"model": {"voters": ["one", "other"]}})],
}


def examples_of(toy, nlp):
    """Documents of two sentences with the parses of two voters."""
    sentences = toy.sentences(30)
    examples = []
    for i in range(0, 30, 2):
        doc = toy.doc(nlp.vocab, *sentences[i : i + 2])
        for token in doc:
            token.lemma_, token.pos_ = token.text.lower(), "NOUN"
            token.set_morph("Number=Sing" if token.text[-1] == "s" else "")
        right = current_parse(doc)
        wrong = right._replace(heads=right.heads * 0, labels=["ROOT"] * len(doc))
        predicted = doc.copy()
        predicted.user_data.clear()
        for each in (doc, predicted):
            keep(each, "one", right)
            keep(each, "other", right if i % 4 else wrong)
        examples.append(Example(predicted, doc))
    return examples


def annotation(doc):
    values = {key: value for key, value in doc.user_data.items() if key[0] == "._."}
    return doc.to_array([TAG, DEP, HEAD, SENT_START, LEMMA, MORPH]).tolist(), repr(values)


class Training:
    """An initialized component, with the batches that it learns from."""

    def __init__(self, toy, name):
        self.nlp = spacy.blank("en")
        for factory, config in PIPELINES[name]:
            self.nlp.add_pipe(factory, config=config)
        self.examples = examples_of(toy, self.nlp)
        *others, self.name = self.nlp.pipe_names
        for other in others:
            self.nlp.get_pipe(other).initialize(lambda: self.examples, nlp=self.nlp)
            self.nlp.get_pipe(other).update(self.examples)
        self.component.initialize(lambda: self.examples, nlp=self.nlp)

    @property
    def component(self):
        return self.nlp.get_pipe(self.name)

    def update(self, step):
        self.component.update(self.examples[:8] if step % 2 == 0 else self.examples[8:])

    def docs(self, nlp=None):
        """Documents annotated by the components before it."""
        docs = [example.predicted.copy() for example in self.examples[:4]]
        for name, component in (nlp or self.nlp).pipeline:
            docs = docs if name == self.name else list(component.pipe(docs))
        return docs

    def annotations(self, nlp=None):
        component = (nlp or self.nlp).get_pipe(self.name)
        return [annotation(doc) for doc in component.pipe(self.docs(nlp), batch_size=2)]


SLOW = pytest.param("derivations", marks=pytest.mark.slow)


@pytest.fixture(scope="module", params=[*sorted({*PIPELINES} - {"derivations"}), SLOW])
def training(request, toy):
    """A component in the middle of its second pass; tests do not change it."""
    made = Training(toy, request.param)
    for step in range(3):
        made.update(step)
    return made


def copies(training, tmp_path):
    """The pipeline after each kind of storage."""
    training.nlp.to_disk(tmp_path / "saved")
    yield spacy.load(tmp_path / "saved")
    yield pickle.loads(pickle.dumps(training.nlp))
    blank = spacy.blank("en")
    for name in training.nlp.pipe_names:
        config = training.nlp.get_pipe_config(name)
        blank.add_pipe(config.pop("factory"), name=name, config=config)
    yield blank.from_bytes(training.nlp.to_bytes())


def test_stored_components_predict_and_serialize_identically(training, tmp_path):
    expected, written = training.annotations(), training.component.to_bytes(exclude=["vocab"])
    for nlp in copies(training, tmp_path):
        assert training.annotations(nlp) == expected
        again = nlp.get_pipe(training.name)
        assert again.to_bytes(exclude=["vocab"]) == written
        assert again.labels == training.component.labels


def test_training_resumes_after_loading_as_if_uninterrupted(training, toy, tmp_path):
    training.nlp.to_disk(tmp_path)
    without, resumed = (Training.__new__(Training) for _ in range(2))
    without.nlp, resumed.nlp = pickle.loads(pickle.dumps(training.nlp)), spacy.load(tmp_path)
    for made in (without, resumed):
        made.name, made.examples = training.name, examples_of(toy, made.nlp)
        for step in (3, 4):
            made.update(step)
    # Confidence is learned from the sentences seen since loading.
    trees = [[found for found, _ in made.annotations()] for made in (resumed, without)]
    assert trees[0] == trees[1]


def test_pipe_and_single_calls_agree_in_any_thread(training):
    expected = training.annotations()
    assert [annotation(training.component(doc)) for doc in training.docs()] == expected
    with ThreadPoolExecutor(4) as executor:
        found = executor.map(training.component, training.docs())
        assert [annotation(doc) for doc in found] == expected


def test_an_untrained_component_can_be_stored_and_reports_being_untrained(toy, training, tmp_path):
    nlp = spacy.blank("en")
    factory = training.nlp.get_pipe_meta(training.name).factory
    nlp.add_pipe(factory)
    nlp.to_disk(tmp_path)
    with pytest.raises(ValueError, match="has not been trained"):
        spacy.load(tmp_path)(toy.doc(nlp.vocab, toy.sentences(1)[0]))


@pytest.mark.parametrize("part", ["model", "cfg"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_errors_name_damaged_files(training, tmp_path, part, damage):
    training.nlp.to_disk(tmp_path)
    file = tmp_path / training.name / part
    data = bytearray(file.read_bytes())
    # In the settings, change the first letter of a name.
    data[len(data) // 2 if part == "model" else data.index(b"{", 1) + 2] ^= damage == "flipped"
    file.write_bytes(data[: {"cut": len(data) // 2, "flipped": None, "empty": 0}[damage]])
    with pytest.raises(ValueError, match=str(file)):
        spacy.load(tmp_path)


def test_an_interrupt_waits_for_the_end_of_the_step(toy):
    training, undisturbed = Training(toy, "hpyp_parser"), Training(toy, "hpyp_parser")
    learn = training.component._learn_from

    def interrupted(*args):
        signal.raise_signal(signal.SIGINT)
        return learn(*args)

    training.component._learn_from = interrupted
    with pytest.raises(KeyboardInterrupt):
        training.update(0)
    del training.component._learn_from
    undisturbed.update(0)
    for made in (training, undisturbed):
        made.update(1)
    assert training.annotations() == undisturbed.annotations()


def test_signal_handlers_are_restored_after_a_step():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interrupts_deferred():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_failed_save_keeps_the_old_files(training, tmp_path, monkeypatch):
    training.nlp.to_disk(tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space"):
        training.component.to_disk(tmp_path / training.name)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
