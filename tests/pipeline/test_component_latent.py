"""Training with latent derivations and latent parses."""

import numpy as np
import pytest

from spacy_hpyp.annotation.sentences import join
from spacy_hpyp.arc_standard import derivations
from spacy_hpyp.arc_standard.configuration import END, POSSIBLE, SHIFT, class_of, kind_of, tree_of
from spacy_hpyp.arc_standard.distributions import static_derivations

LATENT = ["derivations", "parses"]


def trained(toy, latent, sweeps=4, sentences=None, **settings):
    return toy.trained(sentences, sweeps, latent=latent, latent_after=0, **settings)


def tree(path):
    n = len(path) // 3
    heads, labels = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    tree_of(path[: 2 * n], heads, labels)
    return heads.tolist(), labels.tolist(), path[2 * n :].tolist()


def is_derivation(actions, n):
    """Tell whether actions derive a sentence of n words."""
    depth = 1
    for action in actions:
        if not POSSIBLE[kind_of(depth), class_of(action)]:
            return False
        depth += 1 if action == SHIFT else -1
    return depth == 1 and (actions == SHIFT).sum() == n and (actions == END).sum() == 1


@pytest.mark.parametrize("latent", LATENT)
@pytest.mark.parametrize("pooled", [False, True])
def test_every_sentence_stays_seated_once_with_any_derivation(toy, latent, pooled):
    nlp = trained(toy, latent, **(toy.pools if pooled else {}))
    seated = toy.customers(nlp)
    assert seated["tag"] == seated["word"] == toy.customers_of(toy.sentences())["word"]
    joint = toy.parser(nlp).joint
    derivations = joint.progress.derivations
    assert {key: len(paths) for key, paths in derivations.items()} == joint.progress.seated
    for paths in derivations.values():
        for path in paths:
            assert is_derivation(path[: 2 * len(path) // 3], len(path) // 3)


def test_latent_derivations_keep_the_trees(toy):
    # With few sentences, the model is unsure which order is right.
    few = toy.sentences(4)
    static = toy.parser(toy.trained(few))
    latent = toy.parser(trained(toy, "derivations", sweeps=12, sentences=few))
    orders = 0
    for key, paths in latent.joint.progress.derivations.items():
        words, tags, heads, labels = static._treebank.made[key]
        for path in paths:
            assert tree(path) == (heads.tolist(), labels.tolist(), tags.tolist())
            sentence = static_derivations(join([static._treebank.made[key]]))
            orders += sentence.actions.tolist() != path[: 2 * len(words)].tolist()
    assert orders > 0


def test_copies_of_a_sentence_are_redrawn_in_turn(toy):
    """Copies come in separate batches. No copy is redrawn while another waits."""
    few = toy.sentences(4)
    nlp = toy.nlp(latent="derivations", latent_after=0)
    nlp.initialize(lambda: toy.examples(nlp, [*few, *few]))
    for _ in range(2):
        for _ in "ab":
            nlp.update(toy.examples(nlp, few))
    progress = toy.parser(nlp).joint.progress
    assert set(progress.seated.values()) == {2}
    # The first sweep has seated them, and the second has drawn a derivation for each.
    assert {key: len(paths) for key, paths in progress.derivations.items()} == progress.seated
    before = {key: list(paths) for key, paths in progress.derivations.items()}
    nlp.update(toy.examples(nlp, few))
    assert all(paths[0] is before[key][1] for key, paths in progress.derivations.items())


@pytest.mark.parametrize("latent", LATENT)
def test_static_sweeps_come_first(toy, latent):
    nlp = toy.trained(latent=latent, latent_after=2, sweeps=3)
    assert not toy.parser(nlp).joint.progress.derivations
    nlp.update(toy.examples(nlp, toy.sentences()))
    assert toy.parser(nlp).joint.progress.derivations


def test_tree_log_prob_sums_over_derivations(toy):
    nlp = toy.trained(particles=10_000)
    parser = toy.parser(nlp)
    one, two = toy.sentences()[:3:2]
    docs = [toy.doc(nlp.vocab, one), toy.doc(nlp.vocab, two), toy.doc(nlp.vocab, one, two)]
    first, second, both = (parser.tree_log_prob(doc) for doc in docs)
    assert both == pytest.approx(first + second, abs=1e-9)
    # A tree's exact sum is at least the part of it that the beam finds.
    best = parser.k_best(nlp.make_doc(" ".join(one.words)), 1)[0]
    assert parser.tree_log_prob(best.doc) >= best.log_prob - 1e-9
    with pytest.raises(ValueError, match="without tags"):
        parser.tree_log_prob(nlp.make_doc("no tags"))


def test_estimates_among_exact_sums_are_marked(toy, trained, monkeypatch):
    parser = toy.parser(trained)
    # The first sentence has one derivation.
    one = toy.sentence(["sleeps"], ["VBZ"], [0], ["ROOT"])
    doc = toy.doc(trained.vocab, one, toy.sentences()[0])
    exact = parser.sentence_log_probs(doc)
    assert exact.exact.all()
    assert parser.tree_log_prob(doc) == pytest.approx(exact.log_prob.sum())
    monkeypatch.setattr(derivations, "_AFFORDABLE", 1)
    found = parser.sentence_log_probs(doc)
    assert found.exact.tolist() == [True, False]
    assert found.log_prob == pytest.approx(exact.log_prob, abs=0.5)
    assert parser.tree_log_prob(doc) == pytest.approx(found.log_prob.sum())


def test_unlabelled_arcs_share_one_label(toy, assert_forest):
    nlp = toy.trained(labelled=False)
    assert toy.parser(nlp).label_data["labels"] == ["dep"]
    doc = nlp(" ".join(toy.sentences()[3].words))
    assert_forest(doc)
    assert {token.dep_ for token in doc} == {"ROOT", "dep"}
    again = toy.copy(nlp)(doc.text)
    assert [token.head.i for token in again] == [token.head.i for token in doc]
