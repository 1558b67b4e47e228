"""Noun chunks of English."""

import pickle
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training.converters import conllu_to_docs

from spacy_hpyp.annotation.noun_chunks import noun_chunks

EWT = Path(__file__).parents[3] / "shared" / "treebanks" / "UD_English-EWT" / "en_ewt-ud-dev.conllu"
NOUNS = ("NOUN", "PROPN", "PRON")


@pytest.fixture
def nlp(toy):
    """An English pipeline with a component of this package."""
    return toy.nlp()


def chunks(nlp, *words):
    """Of words as "big/ADJ/5/amod", with the head's number from 1."""
    forms, tags, heads, labels = zip(*(word.split("/") for word in words))
    numbers = [int(head) - 1 for head in heads]
    doc = Doc(nlp.vocab, forms, pos=tags, heads=numbers, deps=labels)
    return [chunk.text for chunk in doc.noun_chunks]


def test_a_chunk_is_a_noun_with_what_belongs_to_it_before_and_a_name_whole(nlp):
    assert chunks(
        nlp,
        *("And/CCONJ/6/cc", "in/ADP/6/case", "the/DET/6/det", "big/ADJ/6/amod", "oil/NOUN/6/compound", "port/NOUN/10/obl"),
        *("'s/PART/8/case", "Ann/PROPN/10/nsubj", "Lee/PROPN/8/flat", "saw/VERB/10/ROOT", "the/DET/12/det"),
        *("man/NOUN/14/nmod:poss", "'s/PART/12/case", "dog/NOUN/10/obj", "and/CCONJ/16/cc", "cats/NOUN/14/conj"),
    ) == ["the big oil port", "Ann Lee", "the man 's dog", "cats"]  # fmt: skip


def test_a_noun_that_is_the_predicate_is_a_chunk_without_its_subject(nlp):
    assert chunks(nlp, "He/PRON/4/nsubj", "is/AUX/4/cop", "a/DET/4/det", "doctor/NOUN/4/ROOT") == [
        "He",
        "a doctor",
    ]


def test_trees_with_spacys_labels_have_spacys_chunks(nlp):
    words = "She/PRON/2/nsubj", "saw/VERB/2/ROOT", "the/DET/5/det", "old/ADJ/5/amod", "man/NOUN/2/dobj"
    assert chunks(nlp, *words) == chunks(spacy.blank("en"), *words) == ["She", "the old man"]


def test_pipelines_that_are_loaded_and_vocabularies_that_are_pickled_have_them(trained, tmp_path):
    trained.to_disk(tmp_path)
    assert spacy.load(tmp_path).vocab.get_noun_chunks is noun_chunks
    assert pickle.loads(pickle.dumps(trained.vocab)).get_noun_chunks is noun_chunks
    assert spacy.blank("en").vocab.get_noun_chunks is not noun_chunks


def test_pipelines_that_take_a_component_over_have_them_from_the_first_document_on(trained):
    other = spacy.blank("en")
    other.add_pipe("hpyp_parser", source=trained)
    assert other("the dog sleeps").noun_chunks_iterator is noun_chunks
    assert other.vocab.get_noun_chunks is noun_chunks


@pytest.mark.skipif(not EWT.exists(), reason="needs UD English EWT")
def test_chunks_of_gold_trees_do_not_overlap_and_have_all_nouns_but_those_of_few_labels(nlp):
    nouns = left_out = 0
    for gold in conllu_to_docs(EWT.read_text(encoding="utf8"), n_sents=10, no_print=True):
        doc = Doc(nlp.vocab).from_bytes(gold.to_bytes())
        taken = [token.i for chunk in doc.noun_chunks for token in chunk]
        assert taken == sorted(set(taken))
        others = [
            token
            for token in doc
            if token.pos_ in NOUNS and token.dep_ != "expl" and token.i not in set(taken)
        ]
        left_out += len(others)
        nouns += sum(token.pos_ in NOUNS for token in doc)
    assert left_out < 0.01 * nouns
