"""A component whose model has ROOT at the end of a sentence does all that another one does."""

import numpy as np
import pytest
import spacy

TEXT = "the dog sees a cat . Zenobia sleeps near Kim ."


@pytest.fixture(scope="module", params=["paper", "pools"])
def nlp(request, toy):
    more = toy.pools if request.param == "pools" else {}
    return toy.trained(toy.sentences(30), root="end", particles=20, **more)


def test_it_parses_generates_and_rates_trees(toy, nlp, assert_forest):
    doc = nlp(TEXT)
    assert_forest(doc)
    parser = toy.parser(nlp)
    drawn = list(parser.generate(5, begin_with="the", max_length=30))
    for each in drawn:
        assert_forest(each)
        assert np.isfinite(each._.log_prob)
    short = toy.doc(nlp.vocab, toy.sentences(1)[0])
    # The words have the sum over all their trees; the beam leaves little out of it.
    assert parser.tree_log_prob(short) < nlp(short.copy())._.log_prob + 0.1
    assert all(0.0 <= token._.surprisal < 50.0 for token in doc)


def test_it_is_saved_with_where_its_root_stands(toy, nlp, annotation, tmp_path):
    nlp.to_disk(tmp_path)
    assert annotation(spacy.load(tmp_path)(TEXT)) == annotation(nlp(TEXT))
    other = {"components": {"hpyp_parser": {"model": {"root": "front"}}}}
    with pytest.raises(ValueError, match="its 'root' is not that of the config"):
        spacy.load(tmp_path, config=other)


def test_a_model_is_none_for_a_config_in_which_the_root_stands_elsewhere(toy, trained):
    with pytest.raises(ValueError, match="its 'root' is not that of the config"):
        toy.parser(toy.nlp(root="end")).from_bytes(toy.parser(trained).to_bytes())


@pytest.mark.parametrize("latent", ["derivations", "parses"])
def test_it_learns_from_what_is_latent(toy, assert_forest, latent):
    nlp = toy.trained(toy.sentences(12), root="end", latent=latent, latent_after=1, latent_particles=5)
    assert_forest(nlp(TEXT))


def test_sentences_are_taken_out_and_put_back(toy, nlp):
    before = toy.customers(nlp)
    docs, learned = toy.parser(nlp).leave_out(toy.examples(nlp, toy.sentences(30)), folds=3)
    assert learned == 30
    assert len(docs) == 30
    assert toy.customers(nlp) == before
