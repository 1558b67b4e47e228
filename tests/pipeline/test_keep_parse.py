"""Several parsers in one pipeline: the parse of one is kept, and the next one starts afresh."""

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from spacy_hpyp.annotation.encoding import write_probability
from spacy_hpyp.pipeline.corpus import mark_sentence

WORDS = "the dog sleeps . Kim waits .".split()


@Language.component("v_left_parser")
def left_parser(doc):
    """Attach each word to the previous one, in one sentence or in preset sentences."""
    starts = [token.i == 0 or token.is_sent_start is True for token in doc]
    for token, begins in zip(doc, starts):
        token.head, token.dep_ = (token, "ROOT") if begins else (doc[token.i - 1], "left")
    write_probability(doc, np.arange(len(doc)), "head_prob", np.full(len(doc), 0.5))
    return doc


@pytest.fixture
def nlp():
    nlp = spacy.blank("en")
    nlp.add_pipe("v_left_parser", name="left")
    nlp.add_pipe("keep_parse")
    return nlp


def test_a_parse_is_kept_under_its_parsers_name_and_removed(nlp):
    doc = nlp(Doc(nlp.vocab, words=WORDS, tags=["X"] * len(WORDS)))
    kept = doc._.hpyp_parses["left"]
    assert list(doc._.hpyp_parses) == ["left"]
    assert kept.heads.tolist() == [0] + [-1] * 6
    assert kept.labels == ["ROOT"] + ["left"] * 6
    assert kept.tags == ["X"] * 7
    assert kept.head_prob.tolist() == [0.5] * 7
    assert np.isnan(kept.tag_prob).all()
    assert kept.starts.tolist() == [True] + [False] * 6
    assert not doc.has_annotation("DEP")
    assert all(token._.head_prob is None for token in doc)
    assert [token.tag_ for token in doc] == ["X"] * 7
    assert [token.is_sent_start for token in doc] == [True] + [False] * 6


def test_kept_parses_survive_storage_and_copies(nlp):
    doc = nlp(Doc(nlp.vocab, words=WORDS))
    (stored,) = DocBin(docs=[doc], store_user_data=True).get_docs(nlp.vocab)
    reloaded = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    for copy in (stored, reloaded, doc.copy()):
        for mine, theirs in zip(copy._.hpyp_parses["left"], doc._.hpyp_parses["left"]):
            np.testing.assert_array_equal(mine, theirs)


def test_processes_and_saved_pipelines_keep_parses(nlp, tmp_path):
    nlp.to_disk(tmp_path)
    docs = list(spacy.load(tmp_path).pipe(["the dog sleeps .", "Kim waits ."], n_process=2))
    heads = [doc._.hpyp_parses["left"].heads.tolist() for doc in docs]
    assert heads == [[0, -1, -1, -1], [0, -1, -1]]


def test_spacy_parsers_parse_as_if_alone(toy):
    nlp = spacy.blank("en")
    sentences = toy.sentences(20)
    for name in ("one", "other"):
        nlp.add_pipe("parser", name=name, config={"min_action_freq": 1})
        nlp.add_pipe("keep_parse", name=f"keep_{name}")
    nlp.initialize(lambda: toy.examples(nlp, sentences))
    for _ in range(3):
        nlp.update(toy.examples(nlp, sentences))

    def parsed():
        return nlp(mark_sentence(nlp.make_doc("the dog sees a cat .")))

    together = parsed()._.hpyp_parses
    for name in ("one", "other"):
        with nlp.select_pipes(enable=name):
            doc = parsed()
        assert together[name].heads.tolist() == [token.head.i - token.i for token in doc]
        assert together[name].labels == [token.dep_ for token in doc]
