"""Spelling of rare words: parses stay the same, and probabilities include the letters."""

from math import log
from operator import attrgetter

import numpy as np
import pytest
import spacy

from spacy_hpyp import surprisal
from spacy_hpyp.pipeline.alignment import unannotated
from spacy_hpyp.pipeline.corpus import mark_sentence
from spacy_hpyp.storage import dump, load

#: "Zenobia" and "waiting" are unknown.
TEXT = "the dog sees Zenobia . Kim sleeps near a waiting cat ."


@pytest.fixture(scope="module")
def spelled(toy):
    """A pipeline that spells out rare words, otherwise like `trained`; tests do not change it."""
    return toy.trained(spelling=True)


def closed(nlp):
    """The same pipeline with a closed vocabulary."""
    return with_spelling(nlp, False)


def with_spelling(nlp, spelling):
    """A copy of a pipeline whose config has another value of `spelling`."""
    config = nlp.config.copy()
    config["components"]["hpyp_parser"]["model"]["spelling"] = spelling
    return spacy.util.load_model_from_config(config).from_bytes(nlp.to_bytes())


def letters_of(toy, nlp, doc):
    """The log-probability of the letters of each token."""
    joint = toy.parser(nlp).joint
    known = len(joint.vocabulary.words)
    numbers = np.array(joint.vocabulary.numbers([token.text for token in doc]))
    found = joint.spelling.log_probs([token.text for token in doc], np.maximum(numbers - known, 0))
    return np.where(numbers < known, 0.0, found)


def parts(nlp):
    names = "text", "tag_", "dep_", "head.i", "is_sent_start", "_.head_prob", "_.tag_prob"
    return [attrgetter(*names)(token) for token in nlp]


def test_spelling_is_learned_without_changing_the_rest_of_training(toy, trained, spelled):
    without, with_spelling = (
        load(toy.parser(nlp).joint.to_bytes())["learned"] for nlp in (trained, spelled)
    )
    assert without.pop("spelling") is None
    assert with_spelling.pop("spelling")["characters"]
    assert dump(with_spelling) == dump(without)


def test_parses_stay_the_same_and_rare_words_include_letters(toy, spelled):
    nlp = toy.copy(spelled, decoding="mbr")
    doc, plain = nlp(TEXT), closed(nlp)(TEXT)
    assert parts(doc) == parts(plain)
    letters = letters_of(toy, nlp, doc)
    rare = [token.text in ("Zenobia", "waiting") for token in doc]
    assert np.all((letters < 0.0) == rare)
    for token, other, own in zip(doc, plain, letters):
        assert token._.log_prob == other._.log_prob + own
        assert token._.surprisal_lexical == pytest.approx(
            other._.surprisal_lexical - own / log(2.0), abs=1e-12
        )
        assert token._.surprisal_syntactic == other._.surprisal_syntactic
        assert token._.surprisal == token._.surprisal_lexical + token._.surprisal_syntactic
    assert doc._.log_prob == pytest.approx(plain._.log_prob + letters.sum(), abs=1e-9)
    for sentence, other in zip(doc.sents, plain.sents):
        own = letters[sentence.start : sentence.end].sum()
        assert sentence._.log_prob == pytest.approx(other._.log_prob + own, abs=1e-9)


def test_letters_are_a_separate_part_of_surprisal(toy, spelled):
    rows = surprisal(spelled, [TEXT])
    letters = letters_of(toy, spelled, spelled.make_doc(TEXT)) / -log(2.0)
    assert [row["surprisal_letters"] for row in rows] == pytest.approx(letters.tolist(), abs=1e-9)
    others = [row["surprisal_lexical"] - row["surprisal_letters"] for row in rows]
    plain = [row["surprisal_lexical"] for row in surprisal(closed(spelled), [TEXT])]
    assert others == pytest.approx(plain, abs=1e-9)


def test_given_and_candidate_trees_include_the_same_letters(toy, spelled):
    doc = spelled(TEXT)
    letters = letters_of(toy, spelled, doc)
    total = letters.sum()
    ours, theirs = toy.parser(spelled), toy.parser(closed(spelled))
    assert ours.tree_log_prob(doc) == pytest.approx(theirs.tree_log_prob(doc) + total, abs=1e-9)
    for one, other in zip(ours.k_best(doc, 5), theirs.k_best(doc, 5), strict=True):
        assert parts(one.doc) == parts(other.doc)
        assert one.log_prob == pytest.approx(other.log_prob + total, abs=1e-9)
    for one, other in zip(ours.candidates(doc, 5), theirs.candidates(doc, 5), strict=True):
        assert one.heads.tolist() == other.heads.tolist()
        own = letters[one.token].sum()
        assert one.score == pytest.approx(other.score + own, abs=1e-9)


def test_a_model_trained_without_spelling_stays_closed(toy, trained, annotation):
    nlp = with_spelling(trained, True)
    assert toy.parser(nlp).joint.spelling is None
    assert annotation(nlp(TEXT)) == annotation(trained(TEXT))


def test_generated_words_are_spelled_out(toy, trained, spelled):
    parser = toy.parser(spelled)
    known = set(parser.joint.vocabulary.words)
    docs, again, plain = (
        list(each.generate(80, seed=2)) for each in (parser, parser, toy.parser(trained))
    )
    assert [doc.to_json() for doc in docs] == [doc.to_json() for doc in again]
    # A word of the class replaces its name in angle brackets.
    pairs = (pair for both in zip(docs, plain) for pair in zip(*both, strict=True))
    spelled_out = {one.text: other.text for one, other in pairs if one.text != other.text}
    assert len(spelled_out) > 3
    for word, name in spelled_out.items():
        assert word not in known
        assert parser.joint.vocabulary.name(parser.joint.vocabulary.number(word)) == name
    for doc in docs:
        if any(token.text in spelled_out for token in doc):
            parsed = parser(mark_sentence(unannotated(doc)))
            assert doc._.log_prob == pytest.approx(parsed._.log_prob, rel=1e-12)
