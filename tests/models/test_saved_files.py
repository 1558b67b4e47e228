"""Models that earlier versions saved are read, predict the same, and are written as they were."""

import json
from pathlib import Path

import pytest
import spacy
from thinc.api import Config

from spacy_hpyp.language_model.ngram import NGramModel

SAVED = Path(__file__).parent / "saved"
#: What each component made of this text when it was saved: tags, labels, heads, beginnings of sentences, and
#: states.
TEXT = "the dog sees a cat . Zenobia sleeps near Kim ."
PARSES = json.loads((SAVED / "parses.json").read_text())


@pytest.fixture(scope="module")
def nlp():
    """A pipeline of all components with the saved models."""
    nlp = spacy.util.load_model_from_config(Config().from_disk(SAVED / "config.cfg"))
    for name in PARSES:
        nlp.get_pipe(name)._use(nlp.get_pipe(name)._read_model((SAVED / f"{name}.model").read_bytes()))
    return nlp


@pytest.mark.parametrize("name", PARSES)
def test_models_are_written_as_they_were_read(nlp, name):
    component = nlp.get_pipe(name)
    data = component._write_model()
    # Earlier versions wrote the zeros within rows of weights, and what restaurants serve that follows from
    # others, too.
    component._use(component._read_model(data))
    assert component._write_model() == data


def test_n_gram_models_are_written_as_they_were_read():
    data = (SAVED / "words.ngram").read_bytes()
    assert NGramModel.from_bytes(data).to_bytes() == data


def test_models_predict_as_they_did(nlp):
    doc = nlp.make_doc(TEXT)
    for name, pipe in nlp.pipeline:
        doc = pipe(doc)
        if name in PARSES:
            found = [[t.tag_, t.dep_, t.head.i, bool(t.is_sent_start), t._.state] for t in doc]
            assert found == PARSES[name], name
