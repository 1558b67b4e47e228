"""Log-probabilities of documents, sentences and tokens, also when stored or copied."""

import pickle
import subprocess
import sys
from math import log

import pytest
from spacy.tokens import Doc, DocBin
from spacy.tokens.underscore import Underscore

from spacy_hpyp.annotation.user_data import WRITTEN

TEXTS = [
    "the dog sees a cat .",
    "Ada waits near the old parser . Kim sleeps .",
    "a hearing is scheduled on the issue today .",
    "Zenobia \n sleeps  ",
    "stop",
]


def log_probs(doc):
    return [token._.log_prob for token in doc]


@pytest.mark.parametrize("text", TEXTS)
def test_document_log_prob_is_the_sum_over_sentences_and_over_tokens(trained, text):
    doc = trained(text)
    for parts in (doc.sents, doc):
        assert doc._.log_prob == pytest.approx(sum(part._.log_prob for part in parts), rel=1e-9)
    assert doc._.log_prob < 0.0


def test_span_log_prob_is_the_sum_over_tokens(trained):
    doc = trained(TEXTS[1])
    assert doc[2:5]._.log_prob == pytest.approx(sum(log_probs(doc)[2:5]), rel=1e-9)
    assert doc[2:2]._.log_prob == 0.0


def test_probabilities_survive_a_doc_bin_with_user_data_and_json(trained):
    docs = list(trained.pipe([*TEXTS, " ".join(TEXTS * 20)]))
    stored = DocBin(docs=docs, store_user_data=True).to_bytes()
    loaded = list(DocBin().from_bytes(stored).get_docs(trained.vocab))
    assert [log_probs(doc) for doc in loaded] == [log_probs(doc) for doc in docs]
    assert [doc._.log_prob for doc in loaded] == [doc._.log_prob for doc in docs]
    for doc in docs:
        again = Doc(trained.vocab).from_json(doc.to_json(underscore=["log_prob"]))
        assert log_probs(again) == log_probs(doc)


@pytest.mark.parametrize("text", TEXTS)
def test_as_doc_keeps_the_probabilities_of_a_sentence(toy, trained, text):
    for sentence in toy.copy(trained, decoding="mbr")(text).sents:
        doc = sentence.as_doc(copy_user_data=True)
        for name in ("log_prob", "surprisal", "surprisal_lexical", "surprisal_syntactic"):
            assert doc._.get(name) == sentence._.get(name) is not None
        for name in WRITTEN:
            assert [token._.get(name) for token in doc] == [token._.get(name) for token in sentence]


@pytest.mark.parametrize("text", TEXTS)
def test_surprisal_is_the_sum_of_its_parts_and_over_tokens(trained, text):
    doc = trained(text)
    for token in doc:
        assert token._.surprisal == token._.surprisal_lexical + token._.surprisal_syntactic
        assert token._.surprisal_lexical >= 0.0
        assert token._.surprisal_syntactic >= 0.0
    for name in ("surprisal", "surprisal_lexical", "surprisal_syntactic"):
        for part in (doc, doc[1:3]):
            assert part._.get(name) == pytest.approx(sum(token._.get(name) for token in part))


@pytest.mark.parametrize("text", TEXTS)
def test_surprisal_is_log_probability_in_bits_without_the_sentence_end(trained, text):
    doc = trained(text)
    words = [token for token in doc if not token.is_space]
    for token in words[:-1]:
        assert token._.surprisal == pytest.approx(-token._.log_prob / log(2))
    assert 0.0 < words[-1]._.surprisal < -words[-1]._.log_prob / log(2)


def test_surprisal_is_zero_without_alternatives(toy):
    nlp = toy.trained([toy.one_word] * 5, predict_tags=False, **{**toy.pools, "word": []})
    doc = nlp.make_doc("stop")
    doc[0].tag_ = "VB"
    assert nlp(doc)[0]._.surprisal == 0.0
    assert doc[0]._.log_prob <= 0.0


def test_surprisal_is_purely_syntactic_without_a_word_distribution(toy):
    nlp = toy.trained(predict_tags=False, word=[])
    doc = toy.doc(nlp.vocab, toy.sentences()[0])
    for token in nlp(doc):
        assert token._.surprisal_lexical == 0.0
        assert token._.surprisal == token._.surprisal_syntactic > 0.0


def test_extensions_can_be_sent_to_spawned_processes():
    pickle.loads(pickle.dumps(Underscore.get_state()))


def test_extensions_of_other_packages_are_kept_with_a_warning():
    code = """
from spacy.tokens import Doc, Token
Token.set_extension("latent_state", default=0)
Doc.set_extension("guide", getter=lambda doc: "theirs")
Doc.set_extension("surprisal", default=1.0)
import spacy_hpyp
assert Doc.get_extension("surprisal")[0] == 1.0
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.count("Warning: Another package has registered") == 1
    assert "token._.latent_state, doc._.guide, doc._.surprisal already" in done.stderr
