"""Treebanks with very many tags: parsers learn classes of them."""

import warnings

import pytest
import spacy
from spacy.tokens import Doc

POS = {"NN": "NOUN", "NNP": "PROPN", "DT": "DET", "JJ": "ADJ", "IN": "ADP", ".": "PUNCT"}
POS |= {"VBZ": "VERB", "VBN": "VERB"}
CLASSES = sorted(set(POS.values()))
#: Fewer than there are tags, and more than there are classes.
MANY = 10


def examples_of(toy, nlp, *, with_pos=True):
    """Sentences whose tags tell the lengths of words, too."""
    examples = toy.examples(nlp, toy.sentences())
    for example in examples:
        for token in example.reference:
            token.pos_ = POS[token.tag_] if with_pos else ""
            token.tag_ += f"-{len(token.text)}"
    return examples


def trained(toy, nlp, **settings):
    nlp.initialize(lambda: examples_of(toy, nlp, **settings))
    for _ in range(3):
        nlp.update(examples_of(toy, nlp, **settings))
    return nlp


@pytest.fixture(scope="module")
def classed(toy):
    return trained(toy, toy.nlp(max_tags=MANY))


def tags_of(docs):
    return [[token.tag_ for token in doc] for doc in docs]


def test_a_parser_learns_classes_and_writes_the_treebanks_tags(toy, classed):
    examples = examples_of(toy, classed)
    assert toy.parser(classed).joint.tags == CLASSES
    docs = [classed(example.predicted) for example in examples]
    pairs = [pair for doc, each in zip(docs, examples) for pair in zip(doc, each.reference)]
    assert sum(token.tag_ == gold.tag_ for token, gold in pairs) > 0.95 * len(pairs)
    (candidates,) = toy.parser(classed).candidates(docs[0], 1)
    assert candidates.tags == tags_of([docs[0]])


def test_generated_words_have_the_treebanks_tags(toy, classed):
    gold = {token.tag_ for each in examples_of(toy, classed) for token in each.reference}
    assert {tag for tags in tags_of(toy.parser(classed).generate(20)) for tag in tags} <= gold


def test_classes_are_saved(toy, classed):
    texts = [example.reference.text for example in examples_of(toy, classed)]
    loaded = spacy.util.load_model_from_config(classed.config).from_bytes(classed.to_bytes())
    assert toy.parser(loaded).joint.tags == CLASSES
    assert tags_of(loaded.pipe(texts)) == tags_of(classed.pipe(texts))


@pytest.mark.parametrize(
    ("settings", "with_pos"),
    [({"max_tags": 100}, True), ({"max_tags": 0}, True), ({"max_tags": MANY}, False)],
    ids=["few tags", "no limit", "no parts of speech"],
)
def test_other_treebanks_keep_their_tags(toy, settings, with_pos):
    nlp = toy.nlp(**settings)
    examples = examples_of(toy, nlp, with_pos=with_pos)
    nlp.initialize(lambda: examples)
    gold = {token.tag_ for example in examples for token in example.reference}
    assert len(gold) > MANY
    assert toy.parser(nlp).joint.tags == sorted(gold)


def test_a_parser_of_given_tags_keeps_them(toy):
    nlp = toy.nlp(max_tags=MANY, predict_tags=False)
    nlp.initialize(lambda: examples_of(toy, nlp))
    assert len(toy.parser(nlp).joint.tags) > MANY


def test_given_tags_count_as_their_usual_classes_and_are_kept(toy, classed):
    parser = toy.parser(toy.copy(classed, predict_tags=False))
    # Some of these tags are not the usual ones of the words.
    words, tags = ["the", "dog", "sees", "Kim", "."], ["DT-1", "NN-4", "VBZ-6", "NNP-3", ".-1"]
    doc = Doc(classed.vocab, words, tags=tags)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parser(doc)
    assert tags_of([doc, parser.k_best(doc, 1)[0].doc]) == [tags, tags]
    doc[1].tag_ = "unknown"
    with pytest.warns(UserWarning, match="unknown"):
        parser(doc)
    assert tags_of([doc]) == [["DT-1", "NN-3", *tags[2:]]]


def test_sentences_are_left_out_and_keep_their_tags(toy, classed):
    examples = examples_of(toy, classed)
    docs, learned = toy.parser(classed).leave_out(examples, folds=2)
    assert learned == len(examples)
    assert tags_of(docs) == tags_of(example.reference for example in examples)
    assert docs[0]._.guide["tag_names"] == CLASSES


def test_sentences_are_scored_by_their_own_classes(toy, classed):
    doc = examples_of(toy, classed)[0].reference
    unknown = doc.copy()
    for token in unknown:
        token.pos_ = ""
    parser = toy.parser(classed)
    assert parser.tree_log_prob(doc) == parser.tree_log_prob(unknown) > -100.0


def test_an_easy_first_parser_reads_classes(toy):
    nlp = spacy.blank("en")
    nlp.add_pipe("easy_first_tagger")
    nlp.add_pipe("easy_first_parser", config={"model": {"max_tags": MANY}, "folds": 2})
    trained(toy, nlp)
    assert nlp.get_pipe("easy_first_parser").parser.tags == CLASSES
    assert len(nlp.get_pipe("easy_first_tagger").labels) > MANY
    scores = nlp.evaluate(examples_of(toy, nlp))
    assert scores["dep_las"] > 0.9
