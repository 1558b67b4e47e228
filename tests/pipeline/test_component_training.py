"""Training: the data that `initialize` collects, the effect of an `update`, and resuming a saved
pipeline.
"""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
import spacy
from spacy.util import minibatch

from spacy_hpyp.arc_standard.configuration import action_count


def test_initialize_collects_vocabulary_tags_and_labels(toy):
    nlp = toy.nlp()
    sentences = toy.sentences()
    nlp.initialize(lambda: toy.examples(nlp, sentences))
    parser = toy.parser(nlp)
    assert set(parser.label_data["tags"]) == {tag for s in sentences for tag in s.tags}
    # The lifted arc keeps its former head's label after its own.
    labels = {dep for s in sentences for dep in s.deps} - {"ROOT"}
    assert {label.split("||")[0] for label in parser.label_data["labels"]} == labels
    assert any("||" in label for label in parser.label_data["labels"])
    assert {"the", "dog", "sees", "."} <= set(parser.joint.vocabulary.words)
    assert "hearing" not in parser.joint.vocabulary.words


def test_labels_are_the_possible_labels_of_tokens_as_in_spacy(toy):
    nlp = toy.nlp()
    assert toy.parser(nlp).labels == ()
    sentences = toy.sentences()
    projective = [sentence for sentence in sentences if sentence is not toy.non_projective]
    nlp.add_pipe("parser", config={"min_action_freq": 1})
    nlp.initialize(lambda: toy.examples(nlp, projective))
    assert toy.parser(nlp).labels == nlp.get_pipe("parser").labels
    nlp = toy.train(toy.nlp(), sentences)
    deps = {dep for sentence in sentences for dep in sentence.deps}
    assert toy.parser(nlp).labels == tuple(sorted({*deps, "dep"}))
    assert {token.dep_ for token in nlp("the dog \n sleeps .")} <= set(toy.parser(nlp).labels)


def test_initialize_keeps_the_order_of_given_labels(toy):
    sentences = toy.sentences()
    collected = toy.nlp()
    collected.initialize(lambda: toy.examples(collected, sentences))
    data = toy.parser(collected).label_data
    tags, deps = ["EXTRA", *data["tags"][::-1]], [*data["labels"][::-1], "extra"]
    labels = {"tags": tags, "labels": deps}
    nlp = toy.nlp()
    toy.parser(nlp).initialize(lambda: toy.examples(nlp, sentences), nlp=nlp, labels=labels)
    assert toy.parser(nlp).label_data == labels
    nlp.update(toy.examples(nlp, sentences))
    assert toy.customers(nlp) == toy.customers_of(sentences)
    assert nlp("the dog sleeps .")[1].head.text == "sleeps"


def test_sentences_with_tags_missing_from_given_labels_are_skipped(toy):
    sentences = toy.sentences()
    nlp = toy.nlp()
    deps = "det amod nsubj obj obl punct".split()
    labels = {"tags": "DT JJ NN VBZ .".split(), "labels": deps}
    with pytest.warns(UserWarning, match="with tags that the model does not have"):
        toy.parser(nlp).initialize(lambda: toy.examples(nlp, sentences), nlp=nlp, labels=labels)
    nlp.update(toy.examples(nlp, sentences))
    usable = [s for s in sentences if set(s.tags) <= set(labels["tags"])]
    assert 0 < len(usable) < len(sentences)
    assert toy.customers(nlp) == toy.customers_of(usable)


@pytest.mark.parametrize("size", [3, 1000])
def test_batches_of_any_size_seat_the_same_customers(toy, size):
    sentences = toy.sentences()
    nlp = toy.trained(sentences, sweeps=0)
    rng = random.Random(size)
    for _ in range(3):
        examples = toy.examples(nlp, sentences)
        rng.shuffle(examples)
        for batch in minibatch(examples, size):
            nlp.update(batch)
    assert toy.customers(nlp) == toy.customers_of(sentences)


def test_all_copies_of_a_sentence_are_seated(toy):
    sentences = toy.sentences(6)
    corpus = [*sentences, *sentences[:3], sentences[0]]
    nlp = toy.trained(corpus, sweeps=0)
    for _ in range(3):
        for batch in minibatch(toy.examples(nlp, corpus), 4):
            nlp.update(batch)
        assert toy.customers(nlp) == toy.customers_of(corpus)


def test_hyperparameters_change_only_at_the_end_of_a_sweep(toy):
    sentences = toy.sentences(12)
    nlp = toy.trained(sentences, sweeps=0)
    for sweep in range(3):
        for start in (0, 5, 10):
            before = toy.hyperparameters(nlp)
            nlp.update(toy.examples(nlp, sentences[start : start + 5]))
            changed = not np.array_equal(toy.hyperparameters(nlp), before)
            assert changed == (start == 10), f"sweep {sweep}, batch from sentence {start}"


def test_the_loss_of_one_word_in_an_empty_model_matches_the_formula(toy):
    nlp = toy.nlp(min_count=1)
    labels = {"tags": ["VB", "NN", "UH"], "labels": ["obj", "det"]}
    toy.parser(nlp).initialize(lambda: toy.examples(nlp, [toy.one_word]), nlp=nlp, labels=labels)
    losses = nlp.update(toy.examples(nlp, [toy.one_word]))
    actions, words = action_count(2), len(toy.parser(nlp).joint.vocabulary)
    # A shift from the uniform base; then the end, unseen in a root restaurant with one customer: d
    # = theta = 1/2.
    end = (0.5 + 0.5) / (0.5 + 1) / actions
    expected = -math.log(1 / actions * end * 1 / 3 * 1 / words)
    assert losses["hpyp_parser"] == pytest.approx(expected, rel=1e-12)


def test_loss_is_the_mean_over_tokens(toy):
    pair = toy.sentence(["stop", "now"], ["VB", "RB"], [0, 0], ["ROOT", "advmod"])
    nlp = toy.nlp(min_count=1, transition=[[]], tag=[[]], word=[[]])
    nlp.initialize(lambda: toy.examples(nlp, [pair]))
    loss = nlp.update(toy.examples(nlp, [pair]))["hpyp_parser"]
    actions, words = action_count(1), len(toy.parser(nlp).joint.vocabulary)

    def unseen(customers, tables, alphabet):
        return (0.5 + 0.5 * tables) / (0.5 + customers) / alphabet

    again = 0.5 / 1.5 + unseen(1, 1, actions)
    rest = 1 / 2 * unseen(1, 1, 2) * 1 / words * unseen(1, 1, words)
    # The second shift sits at the first one's table or opens another.
    possible = [
        -math.log(
            1 / actions * again * unseen(2, tables, actions) * unseen(3, tables + 1, actions) * rest
        )
        / 2
        for tables in (1, 2)
    ]
    assert any(loss == pytest.approx(value, rel=1e-12) for value in possible)


def test_a_sourced_component_learns_new_words(toy):
    sentences = toy.sentences(20)
    nlp = spacy.blank("en")
    nlp.add_pipe("hpyp_parser", source=toy.trained(sentences))
    nlp.resume_training()
    words, tags, deps = "Zenobia sleeps .", "NNP VBZ .", "nsubj ROOT punct"
    new = toy.sentence(words.split(), tags.split(), [1, 1, 1], deps.split())
    nlp.update(toy.examples(nlp, [*sentences, new]))
    assert toy.customers(nlp) == toy.customers_of([*sentences, new])
    assert nlp("Zenobia sleeps .")[0].head.i == 1


def test_a_sentence_can_be_learned_with_two_annotations(toy):
    sentence = toy.sentences(1)[0]
    other = replace(sentence, tags=["NN"] * len(sentence.words))
    nlp = toy.trained([sentence, other], sweeps=2)
    assert toy.customers(nlp) == toy.customers_of([sentence, other])
