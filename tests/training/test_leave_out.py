"""Leave-out annotation: guides come from a model without the sentence, and the model is kept."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from spacy_hpyp.annotation.arrays import sentence_blocks
from spacy_hpyp.annotation.encoding import raw_sentences
from spacy_hpyp.annotation.guides import read_guide
from spacy_hpyp.annotation.sentences import join, read_gold
from spacy_hpyp.arc_standard.decoding import decode
from spacy_hpyp.arc_standard.distributions import static_derivations
from spacy_hpyp.compiled import NONE
from spacy_hpyp.training.leave_out import leave_out

# Predictions come from 32-bit tables.
ROUNDING = 1e-4
FOLDS = 3


@pytest.fixture(scope="module")
def sentences(toy):
    """Sentences, one of which occurs three times. The second one is non-projective."""
    found = toy.sentences(24)
    return [*found, found[3], found[3]]


@pytest.fixture(scope="module")
def nlp(toy, sentences):
    """A pool with Kneser-Ney counts, so that its seating is a function of the training data; tests
    do not change it.
    """
    return toy.trained(sentences, **toy.pools, guides=True)


def documents(nlp, toy, sentences):
    return [list(raw_sentences(toy.doc(nlp.vocab, sentence))) for sentence in sentences]


def annotated(parser, given, threads=1):
    settings = {"folds": FOLDS, "threads": threads, "given_tags": False}
    return leave_out(parser.joint, given, parser.search, np.random.default_rng(0), **settings)


def encoded(model, document):
    return [model.encoder.encode(read_gold(raw), learned=True) for raw in document]


def trained_on(model, rows):
    """A model with another model's alphabets, weights and hyperparameters, trained on some
    sentences.
    """
    other = model.untrained()
    other.initialize(model.labels, model.vocabulary)
    other.weights = model.weights
    for name, franchise in other.franchises.items():
        franchise.discount[:] = model.franchises[name].discount
        franchise.strength[:] = model.franchises[name].strength
    several = join(rows)
    seated = np.zeros(len(rows), dtype=bool)
    other.gibbs_step(several, static_derivations(several), seated, np.random.default_rng(0))
    return other


# Large treebanks are held out in stretches, here nine for 26 sentences.
@pytest.mark.parametrize(("stretch", "stretches"), [(None, FOLDS), (4, 9)])
def test_guides_match_a_model_trained_without_the_sentences(
    monkeypatch, toy, nlp, sentences, stretch, stretches
):
    if stretch:
        monkeypatch.setattr("spacy_hpyp.training.treebank._STRETCH", stretch)
    parser = toy.parser(nlp)
    given = documents(nlp, toy, sentences)
    guides, learned = annotated(parser, given)
    assert learned == len(sentences)
    rows = [own for document in given for own in encoded(parser.joint, document)]
    fold_of = {}
    for number, own in enumerate(rows):
        # Copies are held out with their first occurrence.
        fold_of.setdefault(own.tobytes(), number * stretches // len(rows) % FOLDS)
    folds = [fold_of[own.tobytes()] for own in rows]
    others = [
        trained_on(parser.joint, [own for own, its in zip(rows, folds) if its != fold]).frozen
        for fold in range(FOLDS)
    ]
    ends = np.cumsum([own.shape[1] for own in rows])
    parts = zip(*(np.split(column, ends) for column in guides))
    for own, fold, part in zip(rows, folds, parts):
        expected = decode(others[fold], sentence_blocks([own[0]]), parser.search).guides
        for found, wanted in zip(part, expected):
            tolerance = ROUNDING if found.dtype == np.float32 else 0.0
            np.testing.assert_allclose(found, wanted, rtol=0.0, atol=tolerance)


@pytest.mark.parametrize("seating", ["kneser-ney", "sampled"])
def test_annotation_does_not_change_the_model(toy, nlp, sentences, annotation, seating):
    if seating == "sampled":
        nlp = toy.trained(sentences, guides=True, **{**toy.pools, "seating": seating})
    parser = toy.parser(nlp)
    texts = [" ".join(sentence.words) for sentence in sentences]
    before, stored = [annotation(doc) for doc in nlp.pipe(texts)], parser.joint.to_bytes()
    settings = parser.settings
    parser.leave_out(toy.examples(nlp, sentences), folds=FOLDS)
    assert parser.joint.to_bytes() == stored
    assert [annotation(doc) for doc in nlp.pipe(texts)] == before
    assert parser.settings == settings


def test_a_held_out_copy_parses_like_a_model_without_the_sentences(toy, nlp, sentences, annotation):
    parser, text = toy.parser(nlp), " ".join(sentences[3].words)
    stored, expected = parser.joint.to_bytes(), annotation(nlp(text))
    others = parser.held_out_copy(documents(nlp, toy, sentences[3:4]))
    assert others(nlp.make_doc(text))._.log_prob < nlp(text)._.log_prob
    rest = documents(nlp, toy, sentences[:3] + sentences[4:24])
    given = [rows for each in rest for rows in encoded(parser.joint, each)]
    found, expected_found = (
        decode(model.frozen, sentence_blocks([given[0][0]]), parser.search).log_probability
        for model in (others.joint, trained_on(parser.joint, given))
    )
    assert found == pytest.approx(expected_found, abs=ROUNDING)
    unseen = parser.held_out_copy(documents(nlp, toy, toy.sentences(30)[28:]))
    assert annotation(unseen(nlp.make_doc(text))) == annotation(nlp(text)) == expected
    assert parser.joint.to_bytes() == stored


def test_guides_do_not_depend_on_threads(toy, nlp, sentences):
    parser, given = toy.parser(nlp), documents(nlp, toy, sentences)
    (expected, _), (found, _) = (annotated(parser, given, threads=threads) for threads in (1, 2))
    assert all(np.array_equal(one, other) for one, other in zip(found, expected))


def test_stored_documents_keep_text_gold_annotation_and_guides(toy, nlp, sentences):
    examples = toy.examples(nlp, sentences)
    docs, _ = toy.parser(nlp).leave_out(examples, folds=FOLDS)
    stored = DocBin().from_bytes(DocBin(docs=docs, store_user_data=True).to_bytes())
    vocab = spacy.blank("en").vocab
    for doc, sentence, example in zip(stored.get_docs(vocab), sentences, examples, strict=True):
        assert doc.text == example.reference.text
        assert [token.tag_ for token in doc] == sentence.tags
        assert [token.head.i for token in doc] == sentence.heads
        assert [token.dep_ for token in doc] == sentence.deps
        guide = read_guide(doc)
        assert np.all(guide.head_probs[:, 0] > 0.0)
        assert set(guide.tag_names) == set(toy.parser(nlp).label_data["tags"])


def gold_and_tokens(nlp):
    """A document that the tokenizer splits differently: it cuts "cannot" and joins what the
    treebank splits.
    """
    gold = Doc(
        nlp.vocab,
        words=["Kim", "cannot", "see", " ", "the", "d", "og", "."],
        spaces=[True, True, True, False, True, False, False, False],
        tags=["NNP", "MD", "VB", "_SP", "DT", "NN", "XX", "."],
        heads=[2, 2, 2, 2, 5, 2, 5, 2],
        deps=["nsubj", "aux", "ROOT", "dep", "det", "obj", "dep", "punct"],
    )
    return Example(nlp.make_doc(gold.text), gold)


def test_documents_have_the_learned_tokens(toy, sentences):
    nlp = toy.nlp(**toy.pools, tokens="tokenizer")

    def examples():
        return [*toy.examples(nlp, sentences), gold_and_tokens(nlp)]

    nlp.initialize(examples)
    nlp.update(examples())
    docs, learned = toy.parser(nlp).leave_out(examples())
    assert learned == len(sentences) + 1
    doc = docs[-1]
    assert [token.text for token in doc] == [token.text for token in nlp.make_doc(doc.text)]
    assert doc.text == gold_and_tokens(nlp).reference.text
    assert [(t.text, t.tag_, t.head.text, t.dep_) for t in doc if not t.is_space] == [
        ("Kim", "NNP", "see", "nsubj"),
        ("can", "MD", "see", "aux"),
        ("not", "MD", "can", "dep"),
        ("see", "VB", "see", "ROOT"),
        ("the", "DT", "dog", "det"),
        ("dog", "NN", "see", "obj"),
        (".", ".", "see", "punct"),
    ]
    assert len(list(doc.sents)) == 1
    assert_guided(doc)


def assert_guided(doc):
    """Each word has a probable head."""
    first = read_guide(doc).head_probs[:, 0]
    assert (first > 0.0).tolist() == [not token.is_space for token in doc]


def test_unusable_sentences_are_kept_and_parsed(toy, sentences):
    nlp = toy.nlp(**toy.pools)
    words, spaces = ["the", "dog", " ", "sleeps"], [True, True, False, False]
    given = {"tags": ["NNP", "VBZ"], "heads": [1, 1], "deps": ["", "ROOT"]}

    def examples():
        no_tree = Doc(nlp.vocab, words, spaces)
        broken = Doc(nlp.vocab, ["Kim", "sleeps"], **given)
        unusable = [Example(nlp.make_doc(doc.text), doc) for doc in (no_tree, broken)]
        return toy.examples(nlp, sentences) + unusable

    with pytest.warns(UserWarning, match="skips 2 of"):
        nlp.initialize(examples)
    nlp.update(examples())
    docs, learned = toy.parser(nlp).leave_out(examples())
    assert learned == len(sentences)
    assert docs[-2].text == "the dog  sleeps"
    assert not docs[-2].has_annotation("DEP")
    assert [token.tag_ for token in docs[-1]] == ["NNP", "VBZ"]
    for doc in docs[-2:]:
        assert_guided(doc)


def test_given_tags_are_the_gold_tags(toy, sentences):
    nlp = toy.trained(sentences, **toy.pools, predict_tags=False)
    unlearned = toy.sentence(["the", "dog"], ["DT", "XYZ"], [1, 1], ["det", "ROOT"])
    examples = toy.examples(nlp, [*sentences, unlearned])
    docs, _ = toy.parser(nlp).leave_out(examples)
    for doc in docs[:-1]:
        guide = read_guide(doc)
        assert [guide.tag_names[tag] for tag in guide.tags[:, 0]] == [token.tag_ for token in doc]
        assert np.all(guide.tag_probs[:, 0] > 0.99)
    assert np.all(read_guide(docs[-1]).tags == NONE)


def test_a_model_of_another_treebank_is_rejected(toy, nlp):
    with pytest.raises(ValueError, match="treebank"):
        toy.parser(nlp).leave_out(toy.examples(nlp, toy.sentences(60)[40:]))


def test_latent_derivations_are_rejected(toy, nlp, sentences):
    copy = toy.copy(nlp)
    progress = toy.parser(copy).joint.progress
    progress.derivations[next(iter(progress.seated))] = [np.zeros(3, dtype=np.int32)]
    with pytest.raises(ValueError, match="latent"):
        toy.parser(copy).leave_out(toy.examples(copy, sentences))
