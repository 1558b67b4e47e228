"""The component head_outward_states: states of documents, reproducibility, and storage."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hpyp.head_outward.states import KINDS
from spacy_hpyp.hpyp.storage import pack
from spacy_hpyp.pipeline.head_outward_states import HeadOutwardStates
from spacy_hpyp.storage import dump


def pipeline(kind="semantic", states=3, **settings):
    nlp = spacy.blank("en")
    model = {"kind": kind, "states": 1 if kind == "dependencies" else states, "min_count": 1}
    nlp.add_pipe("head_outward_states", config={**settings, "model": model})
    return nlp


def states_of(nlp) -> HeadOutwardStates:
    component = nlp.get_pipe("head_outward_states")
    assert isinstance(component, HeadOutwardStates)
    return component


def examples_of(toy, nlp, sentences=48):
    found = toy.sentences(sentences)
    docs = [toy.doc(nlp.vocab, *found[i : i + 4]) for i in range(0, len(found), 4)]
    return [Example(Doc(nlp.vocab, words=[token.text for token in doc]), doc) for doc in docs]


def with_tree(nlp, words, heads):
    return Doc(nlp.vocab, words=words, heads=heads, deps=["dep"] * len(words))


def train(toy, nlp, sweeps=4):
    examples = examples_of(toy, nlp)
    nlp.initialize(lambda: examples)
    return [nlp.update(examples, losses={})["head_outward_states"] for _ in range(sweeps)]


@pytest.mark.parametrize("kind", KINDS)
def test_words_get_states_and_white_space_none(toy, kind):
    nlp = pipeline(kind)
    losses = train(toy, nlp)
    assert losses[-1] < losses[0]
    found, again = (
        [token._.latent_state for token in nlp(with_tree(nlp, words, [1, 3, 1, 3, 3]))]
        for words in (
            ["The", "DOG", "\n", "sleeps", "unseen"],
            ["the", "dog", "\n", "sleeps", "Unseen"],
        )
    )
    assert found[2] is None
    states = [state for state in found if state is not None]
    assert len(states) == 4
    assert set(states) <= set(range(1 if kind == "dependencies" else 3))
    assert again == found


def test_documents_without_trees_get_states_only_from_models_without_trees(toy):
    lda, syntactic = pipeline("lda"), pipeline("syntactic")
    for nlp in (lda, syntactic):
        train(toy, nlp, 1)
    assert None not in [token._.latent_state for token in lda("the dog sleeps .")]
    with pytest.raises(ValueError, match="reads heads"):
        syntactic("the dog sleeps .")


def test_sentences_without_complete_trees_are_left_out(toy):
    nlp = pipeline("syntactic")
    words, deps = ["a", "b", "c", "d"], ["det", "ROOT", "", "ROOT"]
    doc = Doc(nlp.vocab, words, heads=[1, 1, 3, 3], deps=deps, sent_starts=[1, 0, 1, 0])
    nlp.initialize(lambda: [Example(Doc(nlp.vocab, words=words), doc)])
    model = states_of(nlp).latent_states
    assert model.training.size == 2
    assert {word for state in model.top_words(5) for word, _ in state} == set()
    nlp.update([Example(Doc(nlp.vocab, words=words), doc)])
    assert {word for state in model.top_words(5) for word, _ in state} == {"a", "b"}


def test_documents_with_the_same_content_are_learned_once(toy):
    nlp = pipeline()
    examples = examples_of(toy, nlp)
    nlp.initialize(lambda: examples)
    for _ in range(3):
        nlp.update([*examples, *examples_of(toy, nlp)])
    training = states_of(nlp).latent_states.training
    assert len(training.documents) == len(examples)
    assert sum(map(len, training.states)) == training.size


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_determines_training(toy, kind):
    packed = []
    for seed in (0, 0, 1):
        nlp = pipeline(kind, seed=seed)
        train(toy, nlp)
        packed.append(dump(pack(states_of(nlp).latent_states.seating.words)))
    assert packed[0] == packed[1] != packed[2]


def test_documents_get_probable_states_given_the_rest(toy):
    # Two kinds of documents without common words.
    nlp = pipeline("lda", states=2)
    rng = np.random.default_rng(0)
    examples = []
    for number in range(20):
        words = [f"w{int(rng.integers(5)) + 5 * (number % 2)}" for _ in range(30)]
        examples.append(Example(Doc(nlp.vocab, words=words), with_tree(nlp, words, [0] * 30)))
    nlp.initialize(lambda: examples)
    for _ in range(20):
        nlp.update(examples)
    docs = [nlp(example.reference.copy()) for example in examples]
    states = [{token._.latent_state for doc in docs[i::2] for token in doc} for i in range(2)]
    assert [len(of_kind) for of_kind in states] == [1, 1]
    assert states[0] != states[1]
