"""Models while they learn: an interrupt leaves one that can be saved, loaded and learned on from; other
threads see it between steps.
"""

import itertools
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import spacy
from spacy.attrs import DEP, HEAD, SENT_START, TAG
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import SGD

from spacy_hpyp.annotation.written import keep
from spacy_hpyp.components.keep_parse import current_parse

#: Where a thread is when it reads what is to be learned, or waits until it has been.
WHERE = ("spacy_hpyp", os.path.join("concurrent", "futures"), os.path.basename(threading.__file__))
#: What waits there. Other functions of these modules hold locks of the whole process, and as Python runs the
#: last line of a `with` once
#: more when it is left, an interrupt that is raised at just this line would leave them locked for good.
WAITING = ("wait", "result")
#: About how many of these lines are tried in each update; the slow test tries all.
POINTS = 4
#: A step is tried for sentences that are added, for some of which that are seated, and at the end of a sweep.
STEPS = (0, 2, 3)
RERANKED = {
    "tag": [["direction+parent.tag", "parent.word"]],
    "children": [["child.tag", "direction+parent.tag"]],
}


def pipeline(*components):
    nlp = spacy.blank("en")
    for name, config in components:
        nlp.add_pipe(name, config=config)
    return nlp


def small(toy, **settings):
    return toy.nlp(particles=3, latent_particles=3, threads=2, **settings)


def reranker(toy):
    nlp = pipeline(
        ("head_outward_parser", {}),
        ("parse_reranker", {"k": 3, "threads": 2, "model": RERANKED}),
    )
    parser = nlp.get_pipe("head_outward_parser")
    parser.initialize(lambda: toy.examples(nlp, toy.sentences(12)))
    parser.update(toy.examples(nlp, toy.sentences(12)))
    return nlp


PIPELINES = {
    "paper": lambda toy: small(toy, marginals=True),
    "pools": lambda toy: small(toy, marginals=True, **toy.pools),
    "derivations": lambda toy: small(toy, latent="derivations", latent_after=0),
    "parses": lambda toy: small(toy, latent="parses", latent_after=0, **toy.pools),
    "head_outward_parser": lambda _: pipeline(("head_outward_parser", {"threads": 2})),
    "trees": lambda _: pipeline(("head_outward_parser", {})),
    "parse_reranker": reranker,
    "head_outward_states": lambda _: pipeline(
        ("head_outward_states", {"model": {"states": 3, "min_count": 1}})
    ),
    "sampled": lambda _: pipeline(
        (
            "head_outward_states",
            {"trees": "sampled", "model": {"kind": "syntactic", "states": 2, "min_count": 1}},
        )
    ),
    "easy_first_tagger": lambda _: pipeline(("easy_first_tagger", {"model": {"places": 2**10}})),
    "easy_first_senter": lambda _: pipeline(("easy_first_senter", {"model": {"places": 2**10}})),
    "easy_first_parser": lambda _: pipeline(
        ("easy_first_parser", {"folds": 0, "model": {"arc_places": 2**10, "label_places": 2**9}})
    ),
    "parse_combiner": lambda _: pipeline(("parse_combiner", {"model": {"voters": ["one", "other"]}})),
}


def examples_of(toy, nlp):
    """Documents of two sentences, one of which occurs twice, with the parses of two voters."""
    sentences = toy.sentences(31)
    docs = [toy.doc(nlp.vocab, *sentences[i : i + 2]) for i in range(0, 31, 2)]
    docs.append(toy.doc(nlp.vocab, sentences[4]))
    examples = []
    for i, doc in enumerate(docs):
        predicted = Doc(nlp.vocab, [token.text for token in doc], tags=[token.tag_ for token in doc])
        right = current_parse(doc)
        wrong = right._replace(heads=right.heads * 0, labels=["ROOT"] * len(doc))
        keep(predicted, "one", right)
        keep(predicted, "other", right if i % 2 else wrong)
        examples.append(Example(predicted, doc))
    return examples


class Training:
    """A component that is initialized and learns in four steps, two for each of two sweeps."""

    def __init__(self, toy, name):
        self.nlp = PIPELINES[name](toy)
        self.component = self.nlp.get_pipe(self.nlp.pipe_names[-1])
        examples = examples_of(toy, self.nlp)
        self.component.initialize(lambda: examples, nlp=self.nlp)
        self._batches = [examples[:9], examples[9:]]

    def update(self, number):
        self.component.update(self._batches[number % 2])

    def step(self, number):
        self.update(number)
        self.component.finish_update(SGD(0.1, L2=0.0, grad_clip=0.0))

    def predict(self):
        """What the component makes of documents that are annotated already, if it reads that."""
        doc = self.component(self._batches[0][0].reference.copy())
        return doc.to_array([TAG, HEAD, DEP, SENT_START]).tobytes(), [token._.state for token in doc]

    def save(self):
        return self.component.to_bytes(exclude=["vocab"])

    def load(self, data):
        self.component.from_bytes(data, exclude=["vocab"])


def interrupt(step, number, at):
    """Take a step, and raise an interrupt when so many lines have been run in this thread. Returns how many
    were, at most so many.
    """
    remaining = at

    def trace(frame, event, _):
        nonlocal remaining
        if not any(part in frame.f_code.co_filename for part in WHERE):
            return None
        if WHERE[0] not in frame.f_code.co_filename and frame.f_code.co_name not in WAITING:
            return None
        if event == "line":
            remaining -= 1
            if remaining < 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        step(number)
    except KeyboardInterrupt:
        pass
    except RuntimeError as error:
        # Raised between the lines of `threading` that let go of a lock and take it again.
        if not isinstance(error.__context__, KeyboardInterrupt):
            raise
    finally:
        sys.settrace(before)
    return at - max(remaining, 0)


def outcomes(toy, name, points=None):
    """How often there was what there had been before a step, after it, or between two of its parts."""
    training = Training(toy, name)
    found = Counter()
    for number in range(4):
        before = training.save()
        if number in STEPS:
            lines = interrupt(training.step, number, 10**9)
            after = training.save()
            training.load(before)
            training.update(number)
            between = training.save()
            for at in range(0, lines, 1 if points is None else max(1, lines // points)):
                training.load(before)
                interrupt(training.step, number, at)
                state = training.save()
                if state in (before, after):
                    found["before" if state == before else "after"] += 1
                    continue
                found["between"] += 1
                # At the end of a sweep weights and confidence are learned besides.
                assert state == between or number == 3
                training.load(state)
                for following in range(number + 1, number + 3):
                    training.step(following)
            training.load(before)
        training.step(number)
    return found


@pytest.mark.parametrize("name", PIPELINES)
def test_a_step_is_taken_or_not_wherever_it_is_interrupted(toy, name):
    assert outcomes(toy, name, POINTS)["before"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", PIPELINES)
def test_steps_are_taken_or_not_at_each_line_where_they_are_interrupted(toy, name):
    print(name, dict(outcomes(toy, name)))


def interrupt_by_signals(toy, name, seconds):
    """Send this process interrupts while a component learns, each after some time, and let what is left be
    saved, loaded and go on.
    """
    training = Training(toy, name)
    for delay in seconds:
        timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            # Python drops an interrupt that it notices where nothing can be raised, as in a finalizer.
            for number in itertools.count():
                training.step(number)
                if not timer.is_alive():
                    time.sleep(0.1)
                    break
        except KeyboardInterrupt:
            pass
        timer.join()
        training.load(training.save())


@pytest.mark.parametrize(
    ("name", "interrupts"),
    [("pools", 5), *(pytest.param(name, 40, marks=pytest.mark.slow) for name in PIPELINES)],
)
def test_learning_goes_on_after_interrupts_by_signals(toy, name, interrupts):
    seconds = [0.01 * 1.1**i for i in range(interrupts)]
    child = multiprocessing.get_context("spawn").Process(
        target=interrupt_by_signals, args=(toy, name, seconds)
    )
    child.start()
    child.join()
    assert child.exitcode == 0


@pytest.mark.parametrize("name", PIPELINES)
def test_who_predicts_while_another_thread_learns_has_the_model_between_two_steps(toy, name):
    training, steps = Training(toy, name), 6
    data, expected = training.save(), set()
    for number in range(steps):
        training.step(number)
        expected.add(repr(training.predict()))
    training.load(data)
    training.step(0)
    found = []
    with ThreadPoolExecutor(1) as executor:
        learning = executor.submit(lambda: [training.step(number) for number in range(1, steps)])
        while not learning.done():
            found.append(repr(training.predict()))
        learning.result()
    assert set(found) <= expected


def test_a_step_that_fails_on_its_way_leaves_nothing_that_is_taken_for_a_model(monkeypatch, toy):
    training = Training(toy, "paper")
    training.step(0)
    data, predicted = training.save(), training.predict()

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(type(training.component.joint), "reserve", fail)
    with pytest.raises(MemoryError):
        training.step(1)
    monkeypatch.undo()
    for use in (training.save, training.predict, lambda: training.step(1)):
        with pytest.raises(ValueError, match="failed on its way"):
            use()
    training.load(data)
    assert training.predict() == predicted
    training.step(1)
