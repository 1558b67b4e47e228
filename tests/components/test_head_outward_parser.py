"""The component head_outward_parser: training, exact probabilities, alternatives, odd documents, latent trees
and storage.
"""

import logging
import random
import warnings
from functools import partial

import damage
import numpy as np
import pytest
import spacy
import srsly
from damage import Victim
from spacy.cli.train import train as train_config
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from thinc.api import Adam, Config
from tree_parsers import TEXT, TreeParserTests, assert_trees, copy_of, stored, tagged, train, with_tags

from spacy_hpyp.components.head_outward_parser import HeadOutwardParser
from spacy_hpyp.components.settings import HeadOutwardSettings
from spacy_hpyp.storage.arrays import pack_integers, unpack_integers

#: Settings of the model, which `pipeline` takes by their names.
MODEL = (
    "tag",
    "word",
    "case",
    "children",
    "distance",
    "label",
    "prior",
    "counts",
    "hyperparameters",
    "min_count",
)
#: Context lists that no chart can use.
GENERATED_CHILDREN = {"children": [["child.tag", "parent.tag"]]}
GRANDPARENT = {"tag": [["direction", "parent.tag", "grandparent.tag"]]}
#: Several experts, whose weights are learned.
POOL = {
    "tag": [["direction+parent.tag", "sibling.tag"], ["direction", "parent.word"]],
    "word": [["child.tag", "parent.tag"], ["child.tag", "parent.word"]],
}


def pipeline(**settings):
    """A blank pipeline with a parser; settings of the model, by their names, go to the model."""
    nlp = spacy.blank("en")
    model = {name: settings.pop(name) for name in MODEL if name in settings}
    nlp.add_pipe("head_outward_parser", config={**settings, "model": model})
    return nlp


def parser_of(nlp) -> HeadOutwardParser:
    parser = nlp.get_pipe("head_outward_parser")
    assert isinstance(parser, HeadOutwardParser)
    return parser


def treeless(toy, nlp, sentences):
    """Examples whose gold documents have tags and no trees."""
    docs = [with_tags(toy.doc(nlp.vocab, sentence)) for sentence in sentences]
    return [Example(nlp.make_doc(doc.text), doc) for doc in docs]


def assert_scored(doc):
    """Assert that every sentence is a tree of its own, in one piece, and has probabilities."""
    assert_trees(doc)
    for sentence in doc.sents:
        assert sentence._.log_prob <= 0.0
        assert np.isfinite(sentence._.log_prob)
    for token in doc:
        assert token.is_space or 0.0 <= token._.head_prob <= 1.0 + 1e-9
    assert doc._.log_prob == pytest.approx(sum(sentence._.log_prob for sentence in doc.sents))


def annotation(doc):
    """All that the parser writes."""
    arcs = [(token.text, token.tag_, token.dep_, token.head.i, token._.head_prob) for token in doc]
    return arcs, [sentence._.log_prob for sentence in doc.sents], doc._.log_prob


@pytest.fixture(scope="module")
def sentences(toy):
    return [*toy.sentences(90), toy.one_word]


@pytest.fixture(scope="module")
def trained_sweep_by_sweep(toy, sentences):
    """A trained pipeline, which tests do not change, and its losses in each sweep."""
    nlp = pipeline()
    return nlp, train(toy, nlp, sentences, rounds=6)


@pytest.fixture(scope="module")
def nlp(trained_sweep_by_sweep):
    return trained_sweep_by_sweep[0]


@pytest.fixture(scope="module")
def short(nlp):
    """Four words with tags, and no tree."""
    return Doc(nlp.vocab, words=["the", "dog", "sees", "Kim"], tags=["DT", "NN", "VBZ", "NNP"])


# Training


def test_a_treebank_is_learned_and_evaluated(toy, trained_sweep_by_sweep, sentences):
    nlp, losses = trained_sweep_by_sweep
    scores = nlp.evaluate(tagged(toy, nlp, sentences))
    assert scores["dep_uas"] > 0.95
    assert scores["dep_las"] > 0.93
    assert {"dep_las_per_type", "sents_f"} <= scores.keys()
    new = [sentence for sentence in toy.sentences(200, seed=5)[100:] if sentence not in sentences]
    assert nlp.evaluate(tagged(toy, nlp, new))["dep_uas"] > 0.9
    assert losses[0]["head_outward_parser"] > losses[-1]["head_outward_parser"] > 0.0
    assert parser_of(nlp).head_outward.progress.sweeps == 6


@pytest.mark.parametrize(
    "settings",
    [
        {"prior": "eisner"},
        {"prior": "dirichlet"},
        {"counts": "minimal"},
        {"hyperparameters": "fixed"},
        {"decoding": "mbr"},
        {"case": [], "label": []},
        POOL,
    ],
    ids=["eisner", "dirichlet", "minimal", "fixed", "mbr", "no labels", "pool"],
)
def test_a_treebank_is_learned_in_every_way(toy, sentences, settings):
    nlp = pipeline(**settings)
    train(toy, nlp, sentences, rounds=3)
    scores = nlp.evaluate(tagged(toy, nlp, sentences))
    assert scores["dep_uas"] > 0.9
    assert (scores["dep_las"] > 0.9) == (settings.get("label") != [])


def test_spacy_trains_it_by_a_config(toy, sentences, tmp_path):
    nlp = pipeline(**POOL)
    for name, part in (("train", sentences), ("dev", sentences[:30])):
        docs = [toy.doc(nlp.vocab, *part[i : i + 3]) for i in range(0, len(part), 3)]
        DocBin(docs=docs).to_disk(tmp_path / f"{name}.spacy")
    config = Config(
        {
            "corpora": {
                "train": {"@readers": "spacy.Corpus.v1", "path": str(tmp_path / "train.spacy")},
                "dev": {
                    "@readers": "spacy-hpyp.GoldCorpus.v1",
                    "path": str(tmp_path / "dev.spacy"),
                    "gold_tags": True,
                },
            },
            "training": {
                "train_corpus": "corpora.train",
                "dev_corpus": "corpora.dev",
                "max_steps": 12,
                "eval_frequency": 4,
                "batcher": {"@batchers": "spacy-hpyp.batch_by_parts.v1", "parts": 4},
                "optimizer": {"@optimizers": "Adam.v1", "learn_rate": 0.02},
            },
        }
    )
    nlp.config.merge(config, remove_extra=False).to_disk(tmp_path / "config.cfg")
    train_config(tmp_path / "config.cfg", tmp_path)
    for name in ("model-best", "model-last"):
        loaded = spacy.load(tmp_path / name)
        assert loaded.meta["performance"]["dep_uas"] > 0.9
    parser = parser_of(loaded)
    assert parser.head_outward.progress.sweeps >= 2
    first = parser.head_outward.first_weights()
    for name in ("tag", "word"):
        assert not np.array_equal(parser.head_outward.weights[name].bucket, first[name].bucket)
    assert_scored(parser(with_tags(toy.doc(loaded.vocab, *sentences[2:5]))))


def test_losses_are_nats_for_each_token_since_the_name_was_missing(toy, sentences):
    nlp = pipeline()
    nlp.initialize(lambda: toy.examples(nlp, sentences))
    examples = toy.examples(nlp, sentences)
    losses = nlp.update(examples[:40])
    before = dict(losses)
    nlp.update(examples[40:], losses=losses)
    assert 0.0 < losses["head_outward_parser"] < before["head_outward_parser"]
    assert parser_of(nlp).update([], losses={}) == {"head_outward_parser": 0.0}


def test_training_is_fixed_by_the_seed_whatever_the_number_of_threads(toy, sentences):
    found = []
    for seed, threads in ((1, 1), (1, 3), (2, 1)):
        nlp = pipeline(seed=seed, threads=threads, latent="all", latent_after=1)
        np.random.seed(len(found))
        train(toy, nlp, sentences[:40], rounds=3)
        found.append(stored(nlp))
    assert found[0] == found[1] != found[2]


def test_sentences_with_tags_and_labels_that_the_model_does_not_have_are_not_learned_from(toy, nlp):
    nlp = copy_of(nlp)
    before = dict(parser_of(nlp).head_outward.progress.seated)
    odd = [toy.sentence(["so", "what"], ["UH", "WP"], [1, 1], ["discourse", "ROOT"])]
    nlp.update(toy.examples(nlp, odd))
    assert parser_of(nlp).head_outward.progress.seated == before


# Probabilities


def test_the_log_probability_of_a_sentence_is_the_sum_over_all_of_its_trees(nlp, short):
    parser = parser_of(nlp)
    parsed = parser(short.copy())
    found = parser.k_best(short, 1000)
    # Of four words there are 30 projective trees with one root.
    assert len(found) == 30
    assert parsed._.log_prob == pytest.approx(
        np.logaddexp.reduce([each.log_prob for each in found]), rel=1e-9
    )
    (sentence,) = parsed.sents
    assert sentence._.log_prob == parsed._.log_prob
    assert [parsed[a:b]._.log_prob for a, b in ((0, 3), (1, 4), (1, 3))] == [None] * 3
    assert [token._.log_prob for token in parsed] == [None] * 4
    assert parsed._.surprisal is None


def test_the_probability_of_a_head_is_the_part_of_the_trees_that_have_it(nlp, short):
    parser = parser_of(nlp)
    found = parser.k_best(short, 1000)
    total = np.logaddexp.reduce([each.log_prob for each in found])
    expected = np.zeros((4, 4))
    for each in found:
        for token in each.doc:
            expected[token.i, token.head.i] += np.exp(each.log_prob - total)
    marginals = parser.head_marginals(short)
    assert np.allclose(marginals, expected, atol=1e-9)
    assert np.allclose(marginals.sum(axis=1), 1.0)
    parsed = parser(short.copy())
    assert [token._.head_prob for token in parsed] == pytest.approx(
        [marginals[t.i, t.head.i] for t in parsed]
    )


def test_the_log_probability_of_a_tree_is_that_of_the_alternative_and_of_its_labels(toy, sentences):
    # Without labels there is nothing more to a tree than its arcs.
    nlp = pipeline(label=[])
    train(toy, nlp, sentences, rounds=2)
    parser = parser_of(nlp)
    doc = with_tags(toy.doc(nlp.vocab, *sentences[3:5]))
    for each in parser.k_best(doc, 5):
        for token in each.doc:
            token.dep_ = token.dep_ if token.dep_ == "ROOT" else "nsubj"
        assert parser.tree_log_prob(each.doc) == pytest.approx(each.log_prob)


def test_probabilities_are_those_of_the_words_under_tokens(toy, nlp):
    parser = parser_of(nlp)
    doc = toy.doc(nlp.vocab, *toy.sentences(6, seed=11)[2:4])
    tokens = toy.merged(doc, 1)
    assert parser.tree_log_prob(tokens) == parser.tree_log_prob(doc)
    assert np.array_equal(parser.head_marginals(tokens), parser.head_marginals(doc))


def test_the_log_probability_of_a_tree_without_tags_or_with_strange_ones_says_what_is_wrong(
    toy, nlp, sentences
):
    parser = parser_of(nlp)
    gold = toy.doc(nlp.vocab, *sentences[2:4])
    whole = parser.tree_log_prob(gold)
    parts = [parser.tree_log_prob(toy.doc(nlp.vocab, sentence)) for sentence in sentences[2:4]]
    assert whole == pytest.approx(sum(parts))
    assert whole < parser(with_tags(gold))._.log_prob < 0.0
    assert parser.tree_log_prob(nlp.make_doc("")) == parser.tree_log_prob(nlp.make_doc(" \n")) == 0.0
    crossing = toy.doc(nlp.vocab, toy.non_projective)
    assert parser.tree_log_prob(crossing) < 0.0
    for change, message in (
        (
            lambda doc: doc.from_array(["TAG"], np.zeros((len(doc), 1), dtype=np.uint64)),
            "sentence 1 is without tags",
        ),
        (lambda doc: setattr(doc[-1], "tag_", "UH"), "sentence 2 is with tags that the model does not have"),
        (
            lambda doc: setattr(doc[-1], "dep_", "vocative"),
            "sentence 2 is with labels that the model does not have",
        ),
    ):
        doc = gold.copy()
        change(doc)
        with pytest.raises(ValueError, match=f"'head_outward_parser' cannot say how probable.*{message}"):
            parser.tree_log_prob(doc)
    with pytest.raises(ValueError, match="sentence 1 is without heads"):
        parser.tree_log_prob(with_tags(gold))
    with pytest.raises(TypeError, match=r"call 'tree_log_prob\(doc\)'"):
        parser.score(gold)


def test_its_values_take_the_place_of_those_of_the_other_generative_parser_and_the_other_way_round(
    toy, nlp, trained, sentences
):
    gold = toy.doc(nlp.vocab, *sentences[2:4])
    parser, other = parser_of(nlp), toy.parser(trained)
    alone = annotation(parser(with_tags(gold)))
    doc = other(with_tags(gold))
    theirs = doc._.log_prob, [token._.log_prob for token in doc]
    assert None not in theirs[1]
    for token, tag in zip(doc, gold):
        token.tag_ = tag.tag_
    doc = parser(doc)
    assert annotation(doc) == alone
    assert [token._.log_prob for token in doc] == [None] * len(doc)
    assert doc._.surprisal is None
    doc = other(doc)
    assert (doc._.log_prob, [token._.log_prob for token in doc]) == theirs
    assert doc[:2]._.log_prob == pytest.approx(sum(theirs[1][:2]))


def test_probabilities_are_kept_by_what_documents_are_stored_in(toy, nlp, sentences):
    doc = parser_of(nlp)(with_tags(toy.doc(nlp.vocab, *sentences[2:5])))
    data = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    (again,) = DocBin().from_bytes(data).get_docs(nlp.vocab)
    assert annotation(again) == annotation(doc)
    first, second, _ = doc.sents
    assert second.as_doc(copy_user_data=True)._.log_prob == second._.log_prob
    assert doc[first.start : second.end]._.log_prob == pytest.approx(first._.log_prob + second._.log_prob)
    assert doc[first.start : second.end - 1]._.log_prob is None


@pytest.mark.parametrize("decoding", ["best", "mbr"])
def test_the_tree_is_the_one_that_is_asked_for(toy, nlp, sentences, decoding):
    parser = parser_of(copy_of(nlp, decoding=decoding))
    for sentence in sentences[:10]:
        doc = with_tags(toy.doc(parser.vocab, sentence))
        marginals = parser.head_marginals(doc)
        found = [each.doc for each in parser.k_best(doc, 100)]
        expected = {
            "best": [token.head.i for token in found[0]],
            "mbr": max(
                ([token.head.i for token in each] for each in found),
                key=lambda h: sum(marginals[range(len(h)), h]),
            ),
        }
        heads = [token.head.i for token in parser(doc)]
        assert sum(marginals[range(len(doc)), heads]) == pytest.approx(
            sum(marginals[range(len(doc)), expected[decoding]])
        )
        assert decoding == "mbr" or heads == expected["best"]


# Alternatives


# Documents


def test_non_projective_trees_are_learned_and_come_back(toy, nlp):
    expected = toy.non_projective
    doc = parser_of(nlp)(with_tags(toy.doc(nlp.vocab, expected)))
    assert_scored(doc)
    nlp = pipeline()
    train(toy, nlp, [expected] * 5, rounds=2)
    doc = parser_of(nlp)(with_tags(toy.doc(nlp.vocab, expected)))
    assert [token.head.i for token in doc] == expected.heads
    assert [token.dep_ for token in doc] == expected.deps


@pytest.mark.parametrize("starts", [[0, 4], [0, 5], [0, 3, 4], [0, 4, 5], [0, 1, 4], [0, 2]])
def test_sentences_that_begin_with_white_space_or_have_nothing_else_have_probabilities(nlp, starts):
    words = [" ", "the", "dog", "sleeps", "\n", "Kim", "waits", " "]
    tags = ["_SP", "DT", "NN", "VBZ", "_SP", "NNP", "VBZ", "_SP"]
    doc = Doc(
        nlp.vocab, words=words, tags=tags, spaces=[False] * 8, sent_starts=[i in starts for i in range(8)]
    )
    doc = parser_of(nlp)(doc)
    assert_scored(doc)
    for sentence in doc.sents:
        assert (sentence._.log_prob == 0.0) == all(token.is_space for token in sentence)
    plain = [i for i, word in enumerate(words) if word.strip()]
    for sentence in doc.sents:
        kept = [i for i in range(sentence.start, sentence.end) if i in plain]
        if kept:
            alone = Doc(nlp.vocab, words=[words[i] for i in kept], tags=[tags[i] for i in kept])
            assert parser_of(nlp)(alone)._.log_prob == sentence._.log_prob


@pytest.mark.parametrize("longest", [1, 3, 8])
def test_longer_sentences_are_parsed_in_parts_that_make_one_tree(toy, nlp, sentences, longest):
    parser = parser_of(copy_of(nlp, longest=longest))
    doc = with_tags(toy.doc(parser.vocab, *sentences[:6]))
    parsed = parser(doc.copy())
    assert [token.is_sent_start for token in parsed] == [token.is_sent_start for token in doc]
    assert_scored(parsed)
    # The parts' log-probabilities make up that of the sentence.
    first = next(parsed.sents)
    parts = [
        Doc(parser.vocab, words=[t.text for t in part], tags=[t.tag_ for t in part])
        for part in (first[i : i + longest] for i in range(0, len(first), longest))
    ]
    assert first._.log_prob == pytest.approx(sum(each._.log_prob for each in parser.pipe(parts)))
    for each in parser.k_best(doc, 3):
        assert len(list(each.doc.sents)) == 6


def test_three_thousand_words_without_boundaries_are_one_tree(toy, nlp):
    words, tags = [], []
    for sentence in toy.sentences(600, seed=7):
        words += sentence.words
        tags += sentence.tags
    parser = parser_of(copy_of(nlp, longest=50))
    doc = Doc(parser.vocab, words=words[:3000], tags=tags[:3000])
    assert len(doc) == 3000
    assert_scored(parser(doc))
    assert len(list(doc.sents)) == 1


# Models without a chart


@pytest.mark.parametrize(
    ("lists", "problem"),
    [(GENERATED_CHILDREN, "'children' are generated"), (GRANDPARENT, "'tag' reads the grandparent")],
    ids=["children", "grandparent"],
)
def test_a_model_that_the_chart_cannot_use_scores_trees_and_says_that_it_finds_none(
    toy, sentences, lists, problem
):
    nlp = pipeline(**lists)
    train(toy, nlp, sentences[:40], rounds=2)
    parser, doc = parser_of(nlp), with_tags(toy.doc(nlp.vocab, sentences[3]))
    for call in (
        lambda: parser(doc),
        lambda: list(nlp.pipe([doc.text])),
        lambda: parser.k_best(doc, 2),
        lambda: parser.head_marginals(doc),
    ):
        with pytest.raises(
            ValueError, match=f"'head_outward_parser' cannot look for trees: {problem}.*tree_log_prob"
        ):
            call()
    right, wrong = (
        toy.sentence(
            "a dog sleeps .".split(), "DT NN VBZ .".split(), [head, 2, 2, 2], "det nsubj ROOT punct".split()
        )
        for head in (1, 2)
    )
    found = [parser.tree_log_prob(toy.doc(nlp.vocab, each)) for each in (wrong, right)]
    assert found[0] < found[1] < 0.0
    with pytest.raises(ValueError, match=f"trees cannot be drawn where {problem}"):
        parser.latent = "all"
    with pytest.raises(ValueError, match="'head_outward_parser': trees cannot be drawn"):
        pipeline(latent="missing", **lists)


# Latent trees


def test_trees_that_are_missing_are_drawn_stored_and_kept_over_saving(toy, sentences, caplog):
    nlp = pipeline(latent="missing", latent_after=2)
    some, others = sentences[:50], sentences[50:]

    def examples():
        return [*toy.examples(nlp, some), *treeless(toy, nlp, others)]

    with warnings.catch_warnings(), caplog.at_level(logging.INFO, logger="spacy"):
        warnings.simplefilter("error")
        train(toy, nlp, None, rounds=2, examples=examples)
        progress = parser_of(nlp).head_outward.progress
        # So far they have not been seated. A sentence of one word has but one tree.
        assert sum(progress.seated.values()) == len(some) + 1
        assert not progress.derivations
        for _ in range(3):
            nlp.update(examples())
    assert sum(progress.seated.values()) == len(sentences)
    assert progress.tokens == sum(len(sentence.words) for sentence in sentences)
    assert len(progress.derivations) == len(others) - 1
    assert all(len(trees) == progress.seated[key] == 1 for key, trees in progress.derivations.items())
    messages = [
        record.getMessage() for record in caplog.records if "new trees accepted" in record.getMessage()
    ]
    assert messages
    assert all(message.startswith("head_outward_parser: ") for message in messages)
    loaded = copy_of(nlp)
    again = parser_of(loaded).head_outward.progress.derivations
    assert again.keys() == progress.derivations.keys()
    assert all(np.array_equal(trees[0], again[key][0]) for key, trees in progress.derivations.items())
    for pipe in (nlp, loaded):
        pipe.update([*toy.examples(pipe, some), *treeless(toy, pipe, others)])
    assert stored(loaded) == stored(nlp)
    assert nlp.evaluate(tagged(toy, nlp, sentences))["dep_uas"] > 0.85


def test_every_sentence_without_a_tree_is_skipped_unless_trees_are_drawn(toy, sentences):
    nlp = pipeline()
    with pytest.warns(UserWarning, match=r"skips 40 of 50 training sentences \(40 without heads\)"):
        nlp.initialize(lambda: [*toy.examples(nlp, sentences[:10]), *treeless(toy, nlp, sentences[10:50])])
    nlp = pipeline(latent="missing", longest=6)
    with pytest.warns(UserWarning, match="of more than 6 words without a tree"):
        nlp.initialize(lambda: [*toy.examples(nlp, sentences[:10]), *treeless(toy, nlp, sentences[10:50])])


def test_sentences_alone_without_any_tree_can_be_learned_from(toy, sentences):
    nlp = pipeline(latent="missing", latent_after=0)
    train(toy, nlp, None, rounds=3, examples=lambda: treeless(toy, nlp, sentences[:30]))
    assert sum(parser_of(nlp).head_outward.progress.seated.values()) == 30
    assert_scored(parser_of(nlp)(with_tags(toy.doc(nlp.vocab, sentences[0]))))
    later = pipeline(latent="missing", latent_after=2)
    train(toy, later, None, rounds=3, examples=lambda: treeless(toy, later, sentences[:30]))
    assert sum(parser_of(later).head_outward.progress.seated.values()) == 30


def test_trees_of_the_treebank_are_drawn_where_all_are_latent_but_for_the_long_ones(toy, sentences):
    nlp = pipeline(latent="all", latent_after=1, longest=8)
    train(toy, nlp, sentences, rounds=4)
    short = [sentence for sentence in sentences if len(sentence.words) <= 8]
    progress = parser_of(nlp).head_outward.progress
    assert sum(map(len, progress.derivations.values())) == len(short) < len(sentences)
    assert all(len(tree) <= 16 for trees in progress.derivations.values() for tree in trees)
    # Nothing is drawn any more, but what has been drawn is what is seated.
    parser_of(nlp).latent = "nothing"
    nlp.update(toy.examples(nlp, sentences))
    assert progress.tokens == sum(len(sentence.words) for sentence in sentences)


@pytest.mark.parametrize("latent", ["missing", "all"])
def test_copies_of_a_sentence_have_trees_of_their_own_each_of_which_is_drawn(toy, sentences, latent):
    nlp = pipeline(latent=latent, latent_after=1, seed=3)
    make = treeless if latent == "missing" else toy.examples.__func__
    some, copied = sentences[:20], sentences[20]

    def copies(count):
        return make(toy, nlp, [copied] * count)

    nlp.initialize(lambda: [*toy.examples(nlp, some), *copies(3)])
    progress = parser_of(nlp).head_outward.progress
    nlp.update([*toy.examples(nlp, some), *copies(3)])
    (key,) = [key for key, count in progress.sweep.copies.items() if count == 3]
    nlp.update([*toy.examples(nlp, some), *copies(3)])
    assert (progress.seated[key], len(progress.derivations[key])) == (3, 3)
    for _ in range(3):
        # One in each batch: they take turns.
        before = progress.derivations[key][1:]
        nlp.update(copies(1))
        assert len(progress.derivations[key]) == 3
        assert all(np.array_equal(a, b) for a, b in zip(progress.derivations[key], before))
    # Twice in a batch, where it was known once only.
    new = make(toy, nlp, [sentences[21]] * 2)
    for _ in range(3):
        nlp.update(new)
    assert sum(progress.seated.values()) == 25


@pytest.mark.parametrize(
    "settings",
    [{"prior": "eisner"}, {"prior": "dirichlet"}, {"counts": "minimal"}, {"case": [], "label": []}, POOL],
    ids=["eisner", "dirichlet", "minimal", "no labels", "pool"],
)
def test_trees_are_drawn_and_found_again_with_every_estimator(toy, sentences, settings):
    nlp = pipeline(latent="all", latent_after=0, **settings)
    train(toy, nlp, sentences[:30], rounds=4)
    progress = parser_of(nlp).head_outward.progress
    assert sum(map(len, progress.derivations.values())) == 30
    # Where a sentence was not seated with the tree that is kept for it, it could not be visited.
    parser_of(nlp).latent = "nothing"
    nlp.update(toy.examples(nlp, sentences[:30]))
    assert sum(progress.seated.values()) == 30


def test_a_drawn_tree_that_differs_from_the_treebank_in_labels_alone_is_kept_over_saving(toy, sentences):
    # Labels that nothing is known about are drawn from among all of them.
    nlp = pipeline(latent="all", latent_after=0, label=[[]])
    train(toy, nlp, sentences, rounds=4)
    treebank, drawn = parser_of(nlp)._treebank.made, parser_of(nlp).head_outward.progress.derivations
    relabelled = [
        key
        for key, (tree,) in drawn.items()
        if np.array_equal(tree[: len(tree) // 2], treebank[key][2])
        and not np.array_equal(tree[len(tree) // 2 :], treebank[key][3])
    ]
    assert relabelled
    loaded = copy_of(nlp)
    again = parser_of(loaded).head_outward.progress.derivations
    assert all(np.array_equal(drawn[key][0], again[key][0]) for key in relabelled)
    # Where a sentence was not seated with the tree that is kept for it, it could not be visited.
    for pipe in (nlp, loaded):
        parser_of(pipe).latent = "nothing"
        pipe.update(toy.examples(pipe, sentences))
    assert stored(loaded) == stored(nlp)


def test_settings_of_latent_trees_can_be_changed_between_updates(toy, sentences):
    nlp = pipeline()
    train(toy, nlp, sentences[:30], rounds=2)
    parser_of(nlp).change(latent="missing", latent_after=0)
    nlp.update(treeless(toy, nlp, sentences[30:40]))
    assert sum(parser_of(nlp).head_outward.progress.seated.values()) == 40


# Settings


#: A value of each setting that is not the one of the tests' pipelines.
CHANGED = {
    "decoding": "mbr",
    "longest": 99,
    "tokens": "gold",
    "threads": 3,
    "latent": "all",
    "latent_after": 7,
    "seed": 2**70,
}


class TestAsEveryParser(TreeParserTests):
    name = "head_outward_parser"
    pipeline = staticmethod(pipeline)
    annotation = staticmethod(annotation)
    check = staticmethod(assert_scored)
    score = "log_prob"
    settings = HeadOutwardSettings
    changed = CHANGED
    override = ("longest", 20)
    impossible = (
        *(
            ("decoding", "worst"),
            ("longest", 0),
            ("longest", 1001),
            ("longest", 2.5),
            ("tokens", "mine"),
            ("threads", 0),
        ),
        *(("latent", "some"), ("latent_after", -1), ("seed", -1)),
    )
    refused = (
        ({"tag": [["parent.tga"]]}, "'parent.tga' in 'tag' is not a context element"),
        ({"word": [["child.case"]]}, "'child.case' in 'word' is not known yet"),
        ({"tag": []}, "'tag' needs at least one context list"),
        ({"tag": [["parent.tag", "parent.tag"]]}, "names an element twice"),
        ({"prior": "gamma"}, "'prior' must be"),
        ({"counts": "many"}, "'counts' must be"),
        ({"hyperparameters": "free"}, "'hyperparameters' must be"),
    )
    asked = ("head_marginals", "tree_log_prob")
    before_initializing = ({"latent": "nothing"}, {"latent": "missing"})

    @staticmethod
    def learned(parser):
        progress = parser.head_outward.progress
        return sum(progress.seated.values()), progress.tokens, progress.sweeps


def test_heads_of_odd_documents_have_probabilities_that_sum_to_one(nlp):
    for text in ("", " ", " sleeps", "the  dog \n sees\n\na cat .  ", "Qwxyz blorgs ζφψ 😀 ... 12345 !!!"):
        doc = nlp(text)
        assert np.allclose(
            parser_of(nlp).head_marginals(doc).sum(axis=1), [not token.is_space for token in doc]
        )


def test_the_best_parse_is_less_probable_than_all(toy, nlp):
    doc = with_tags(toy.doc(nlp.vocab, *toy.sentences(6, seed=11)[2:4]))
    assert parser_of(nlp).k_best(doc, 1)[0].log_prob < parser_of(nlp)(doc.copy())._.log_prob


# Storage


@pytest.fixture(scope="module")
def small(toy):
    """A small trained pipeline in the middle of a sweep, with trees that were drawn; tests do not change it."""
    nlp = pipeline(latent="missing", latent_after=1)
    sentences = toy.sentences(60)
    train(
        toy,
        nlp,
        None,
        rounds=3,
        examples=lambda: [*toy.examples(nlp, sentences[:30]), *treeless(toy, nlp, sentences[30:])],
    )
    nlp.update(toy.examples(nlp, sentences[:20]))
    progress = parser_of(nlp).head_outward.progress
    assert progress.sweep.visited
    assert progress.derivations
    return nlp


def test_bytes_and_directories_give_the_same_pipeline(small, tmp_path):
    small.to_disk(tmp_path / "first")
    expected = annotation(small(TEXT))
    for loaded in (copy_of(small), spacy.load(tmp_path / "first")):
        assert annotation(loaded(TEXT)) == expected
        assert loaded.to_bytes() == small.to_bytes()
        assert parser_of(loaded).label_data == parser_of(small).label_data


@pytest.mark.parametrize("settings", [{}, {"prior": "eisner"}, {"counts": "minimal"}, POOL])
def test_training_goes_on_bit_for_bit_after_loading(toy, tmp_path, settings):
    nlp = pipeline(**settings)
    sentences = toy.sentences(60)
    train(toy, nlp, sentences, rounds=2)
    nlp.update(toy.examples(nlp, sentences[:20]))
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    for pipe in (nlp, loaded):
        # Over the end of a sweep, where hyperparameters are sampled. What an optimizer remembers is not part
        # of a pipeline.
        optimizer = Adam(0.02)
        pipe.update(toy.examples(pipe, sentences[20:]), sgd=optimizer)
        pipe.update(toy.examples(pipe, sentences[:30]), sgd=optimizer)
    assert stored(loaded) == stored(nlp)
    assert annotation(loaded(TEXT)) == annotation(nlp(TEXT))


def test_an_untrained_component_can_be_stored(tmp_path):
    pipeline().to_disk(tmp_path)
    with pytest.raises(ValueError, match="'head_outward_parser' has not been trained"):
        spacy.load(tmp_path)(TEXT)


@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_model_file_is_named_in_the_error(small, tmp_path, part):
    small.to_disk(tmp_path)
    file = tmp_path / "head_outward_parser" / "model"
    data = file.read_bytes()
    file.write_bytes(data[: int(part * len(data))])
    with pytest.raises(
        ValueError, match=r"'head_outward_parser'.*head_outward_parser.model: .* The file is damaged"
    ):
        spacy.load(tmp_path)


@pytest.fixture(scope="module")
def only_victim(toy, small):
    nlp = copy_of(small)
    sentences = toy.sentences(60)

    def work():
        known = "is not seated there as it should be", "tree of another sentence", "cannot learn any more"
        problem = None
        assert_scored(nlp(TEXT))
        try:
            # Over the end of a sweep.
            nlp.update([*toy.examples(nlp, sentences[:30]), *treeless(toy, nlp, sentences[30:])])
        except ValueError as error:
            problem = str(error)
        assert problem is None or any(message in problem for message in known), problem

    return Victim(nlp, parser_of(nlp), lambda: annotation(nlp(TEXT)), work)


@pytest.fixture(scope="module")
def model_file(small):
    """Its model without a checksum: what is wrong with it has to be seen by itself."""
    return parser_of(small).model.to_bytes()


edited = partial(damage.edited, name="head_outward")


def test_flipped_bits_of_a_model_file_are_seen(small, victim, tmp_path):
    parser_of(small).to_disk(tmp_path, exclude=["vocab"])
    data = (tmp_path / "model").read_bytes()
    for bit in random.Random(3).sample(range(8 * len(data)), 100):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match="model of the component 'head_outward_parser' cannot be read"):
            victim.component.from_bytes(srsly.msgpack_dumps({"model": bytes(damaged)}))
    assert victim.see() == victim.expected


def test_files_that_are_not_whole_or_of_something_else_are_refused(victim, model_file):
    for part in (0.0, 0.001, 0.1, 0.5, 0.9, 0.999):
        assert victim.refuses(model_file[: int(part * len(model_file))])
    assert victim.refuses(srsly.msgpack_dumps([1, 2, 3]))
    for value in (None, -1, 2, 1.0, "1", []):
        assert victim.refuses(edited(model_file, edit=lambda inner, value=value: inner.update(format=value)))


@pytest.mark.parametrize(
    "path",
    [
        *(
            ["tags"],
            ["words"],
            ["classes"],
            ["labels"],
            ["contexts"],
            ["estimators"],
            ["distributions"],
            ["trees"],
        ),
        *(["seated"], ["copies"], ["missing_copies"], ["visited"], ["steps"], ["tokens"], ["sweeps"]),
        *(["distributions", name] for name in ("tag", "label")),
        *(["trees", name] for name in ("keys", "words", "trees")),
    ],
    ids=".".join,
)
def test_parts_that_are_missing_or_of_the_wrong_kind_are_refused(victim, model_file, path):
    *above, last = path

    def holder(inner):
        for name in above:
            inner = inner[name]
        return inner

    # A model without distributions has not been trained.
    without = edited(model_file, edit=lambda inner: holder(inner).pop(last))
    if path != ["distributions"]:
        assert victim.refuses(without)
    for value in (-1, 1.5, "text", b"x", {}, {"width": 1, "length": 10**15, "data": b""}):
        assert victim.refuses(
            edited(model_file, edit=lambda inner, value=value: holder(inner).update({last: value}))
        ), value


@pytest.mark.parametrize("name", ["words", "trees"])
def test_edited_trees_are_refused_or_harmless(victim, model_file, name):
    rng = random.Random(name)
    refused = 0
    for value in (0, 1, 2, 5, 100, 2**31 - 2) * 3:

        def edit(inner, value=value):
            numbers = unpack_integers(inner["trees"][name])
            numbers[rng.randrange(len(numbers))] = value
            inner["trees"][name] = pack_integers(numbers)

        refused += victim.refuses(edited(model_file, edit=edit))
    assert refused > 6


@pytest.mark.parametrize("change", [{"tag": [["parent.tag"]]}, {"prior": "dirichlet"}, {"counts": "minimal"}])
def test_a_model_that_counts_otherwise_is_refused_and_says_so(small, change):
    with pytest.raises(
        ValueError, match="are not those of the config: a trained model cannot change how it counts"
    ):
        parser_of(pipeline(**change)).from_bytes(parser_of(small).to_bytes())
