"""The component easy_first_parser: training, parsing, alternatives, odd documents and guides."""

import random
import warnings
from dataclasses import replace
from functools import partial

import command_line
import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from tree_parsers import TreeParserTests, assert_trees, copy_of, tagged, train, with_tags

from spacy_hpyp.annotation.guides import Guide, write_guide
from spacy_hpyp.cli.analysis import calibrations
from spacy_hpyp.pipeline.easy_first_parser import EasyFirstParser
from spacy_hpyp.pipeline.word_classifiers import EasyFirstTagger
from spacy_hpyp.training import confidence

#: Weight tables small enough to be made for every test.
SMALL = {"arc_places": 2**13, "label_places": 2**11}
TAGGER = {"model": {"places": 2**13}}


def pipeline(*, tagger=True, **settings):
    """A blank pipeline with a tagger and a parser; settings of the model, by their names, go to the
    model.
    """
    nlp = spacy.blank("en")
    if tagger:
        nlp.add_pipe("easy_first_tagger", config=TAGGER)
    model = {name: settings.pop(name) for name in ("arcs", "labels", "guided") if name in settings}
    config = {"beam": 4, "folds": 3, **settings, "model": {**SMALL, **model}}
    nlp.add_pipe("easy_first_parser", config=config)
    return nlp


def parser_of(nlp) -> EasyFirstParser:
    parser = nlp.get_pipe("easy_first_parser")
    assert isinstance(parser, EasyFirstParser)
    return parser


def annotation(doc):
    return [(token.text, token.tag_, token.dep_, token.head.i, token._.head_prob) for token in doc]


def non_projective(toy):
    """Sentences with crossing arcs."""
    nouns = ("hearing", "vote", "debate", "meeting", "talk", "plan")
    return [
        replace(toy.non_projective, words=[*map({"hearing": noun}.get, words, words)])
        for words in [toy.non_projective.words]
        for noun in nouns
    ]


@pytest.fixture(scope="module")
def sentences(toy):
    return [*toy.sentences(90), *non_projective(toy), toy.one_word]


@pytest.fixture(scope="module")
def trained_pass_by_pass(toy, sentences):
    """A trained pipeline, which tests do not change, and its losses in each pass."""
    nlp = pipeline()
    return nlp, train(toy, nlp, sentences, rounds=10)


@pytest.fixture(scope="module")
def nlp(trained_pass_by_pass):
    return trained_pass_by_pass[0]


@pytest.fixture
def holding_out(monkeypatch):
    """Hold out sentences as for a large treebank: confidence is learned from them, not
    beforehand.
    """
    monkeypatch.setattr(confidence, "_CROSS_FITTED_BELOW", 0)


# Training


def test_a_treebank_is_learned_and_evaluated(toy, trained_pass_by_pass, sentences):
    nlp, losses = trained_pass_by_pass
    scores = nlp.evaluate(toy.examples(nlp, sentences))
    assert scores["dep_uas"] > 0.97
    assert scores["dep_las"] > 0.97
    assert scores["sents_f"] > 0.97
    assert {"dep_las_per_type", "tag_acc"} <= scores.keys()
    new = [sentence for sentence in toy.sentences(200, seed=5)[100:] if sentence not in sentences]
    assert nlp.evaluate(toy.examples(nlp, new))["dep_las"] > 0.9
    assert losses[0]["easy_first_parser"] > 5 * losses[-1]["easy_first_parser"] >= 0.0


@pytest.mark.usefixtures("holding_out")
def test_tags_come_from_taggers_that_have_not_seen_the_sentence(toy, sentences, monkeypatch):
    asked, given = [], []
    jackknife = EasyFirstTagger.jackknife

    def record(self, examples, **settings):
        found = jackknife(self, examples, **settings)
        asked.append((self.name, len(list(examples)), settings))
        # Tags that cannot be mistaken for gold tags.
        given.append({key: ["VBZ"] * len(tags) for key, tags in found.items()})
        return given[-1]

    monkeypatch.setattr(EasyFirstTagger, "jackknife", record)
    nlp = pipeline(folds=4)
    nlp.initialize(lambda: toy.examples(nlp, sentences))
    assert asked == [("easy_first_tagger", len(sentences), {"folds": 4, "tokens": "tokenizer"})]
    parser = parser_of(nlp).parser
    verb = parser.tags.index("VBZ")
    assert parser.progress.tags.keys() == given[0].keys()
    assert all(np.all(tags == verb) for tags in parser.progress.tags.values())
    # The given tags are learned.
    train_again = parser_of(nlp)._seen.made.values()
    assert all(np.all(lesson.symbols[:, 1] == verb + 1) for lesson in train_again)


@pytest.mark.usefixtures("holding_out")
@pytest.mark.parametrize("tagger", [True, False])
def test_gold_tags_are_used_without_folds(toy, sentences, monkeypatch, tagger):
    monkeypatch.delattr(EasyFirstTagger, "jackknife")
    nlp = pipeline(folds=0, tagger=tagger)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.initialize(lambda: toy.examples(nlp, sentences))
    parser = parser_of(nlp)
    assert not parser.parser.progress.tags
    found = {tuple(lesson.symbols[:, 1] - 1) for lesson in parser._seen.made.values()}
    numbers = {tag: number for number, tag in enumerate(parser.parser.tags)}
    assert found == {tuple(numbers[tag] for tag in sentence.tags) for sentence in sentences}


# Parsing


def test_non_projective_trees_are_restored(toy, nlp):
    expected = toy.non_projective
    doc = parser_of(nlp)(with_tags(toy.doc(nlp.vocab, expected)))
    assert [token.head.i for token in doc] == expected.heads
    assert [token.dep_ for token in doc] == expected.deps


# Confidence


@pytest.mark.parametrize("guided", [False, True])
def test_confidence_is_learned_from_all_sentences_of_a_small_treebank(toy, guided):
    sentences = random_sentences(toy, 30, seed=0)
    nlp = pipeline(tagger=False, folds=0, **(GUIDED if guided else {}))
    examples = guided_examples if guided else tagged
    nlp.initialize(lambda: examples(toy, nlp, sentences))
    found = parser_of(nlp).parser.confidence
    for _ in range(5):
        nlp.update(examples(toy, nlp, sentences))
    assert np.array_equal(parser_of(nlp).parser.confidence, found)
    assert not parser_of(nlp).held_out
    fresh = examples(toy, nlp, random_sentences(toy, 60, seed=1))
    for example in fresh:
        example.predicted = parser_of(nlp)(example.reference if guided else example.predicted)
    assert calibrations(fresh)["heads"]["expected_calibration_error"] < 0.15


@pytest.mark.usefixtures("holding_out")
def test_there_are_no_probabilities_before_the_end_of_the_first_pass(toy, sentences):
    nlp = pipeline(tagger=False, folds=0)
    nlp.initialize(lambda: toy.examples(nlp, sentences))
    nlp.update(toy.examples(nlp, sentences[:50]))
    doc = parser_of(nlp)(with_tags(toy.doc(nlp.vocab, sentences[0])))
    assert_trees(doc)
    assert all(token._.head_prob is None for token in doc)


@pytest.mark.usefixtures("holding_out")
def test_sentences_held_out_for_confidence_do_not_train_the_parser(toy, sentences):
    nlp = pipeline(beam=1)
    train(toy, nlp, sentences, rounds=1)
    parser = parser_of(nlp)
    keys = list(parser.parser.progress.held_out)
    assert 0 < len(keys) <= len(sentences) / 10
    # A parser that is given only held-out sentences keeps its weights.
    other = copy_of(nlp)
    before = parser_of(other).parser.arcs.begin_learning().clock[0]
    examples = toy.examples(other, sentences)
    chosen = [each for each in examples if parser_of(other)._remember([each])[0] in keys]
    assert len(chosen) == len(keys)
    other.update(chosen, exclude=["easy_first_tagger"])
    assert parser_of(other).parser.arcs.begin_learning().clock[0] == before


class TestAsEveryParser(TreeParserTests):
    name = "easy_first_parser"
    pipeline = staticmethod(partial(pipeline, tagger=False, folds=0))
    annotation = staticmethod(annotation)
    check = staticmethod(assert_trees)
    score = "score"

    @staticmethod
    def learned(parser):
        progress = parser.parser.progress
        words = sum(len(lesson.gold_heads) for lesson in parser._seen.usable.values())
        return progress.sentences, words, progress.passes


# Guides

ARCS = "l.tag r.tag, guide.l, guide.r, guide.l guide.r, l.missing.left"
GUIDED = {
    "arcs": [template.split() for template in ARCS.split(", ")],
    "labels": [["child.tag", "head.tag"], ["guide.label"]],
    "guided": True,
}


def guide_of(doc, gold, names):
    """A guide with the right answer and a less probable wrong one."""
    n, tags = len(gold), sorted({token.tag_ for token in gold})
    rows = [
        (t.head.i, (t.i + 1) % n, names.index(t.dep_) if t.head.i != t.i else -1, -1) for t in gold
    ]
    heads, labels = np.split(np.array(rows, dtype=np.int32).reshape(n, 4), 2, axis=1)
    probs = np.tile(np.array([0.8, 0.2], dtype=np.float32), (n, 1))
    numbers = np.array([tags.index(t.tag_) for t in gold], dtype=np.int32).reshape(n, 1)
    sure = np.ones((n, 1), dtype=np.float32)
    write_guide(doc, Guide(heads, probs, labels, names, numbers, sure, tags))


def guided_examples(toy, nlp, sentences):
    """Examples with guides in both documents."""
    examples = tagged(toy, nlp, sentences)
    names = sorted({token.dep_ for example in examples for token in example.reference})
    for example in examples:
        for doc in (example.reference, example.predicted):
            guide_of(doc, example.reference, names)
    return examples


@pytest.fixture(scope="module")
def guided(toy):
    """A parser that knows no words, trained on random trees with guides to the right answer."""
    nlp = pipeline(tagger=False, folds=0, **GUIDED)
    sentences = random_sentences(toy, 120, seed=0)
    nlp.initialize(lambda: guided_examples(toy, nlp, sentences))
    for _ in range(5):
        nlp.update(guided_examples(toy, nlp, sentences))
    return nlp


def random_sentences(toy, count, seed):
    """Sentences of one repeated word with random trees, which only a guide distinguishes."""
    rng = random.Random(seed)
    found = []
    for number in range(count):
        n = rng.randint(2, 9)
        heads = list(range(n))
        left = list(range(n))
        while len(left) > 1:
            place = rng.randrange(len(left) - 1)
            head, child = rng.sample(left[place : place + 2], 2)
            heads[child] = head
            left.remove(child)
        deps = [rng.choice(["one", "two", "three"]) for _ in heads]
        deps[left[0]] = "ROOT"
        found.append(toy.sentence([f"w{number}", *["la"] * (n - 1)], ["X"] * n, heads, deps))
    return found


def test_a_guided_parser_reads_its_guide(toy, guided):
    new = guided_examples(toy, guided, random_sentences(toy, 60, seed=1))
    scores = guided.evaluate(new)
    assert scores["dep_uas"] > 0.95
    assert scores["dep_las"] > 0.95


def test_a_guided_parser_learns_on_the_tokens_of_the_guide(toy, guided):
    nlp = pipeline(tagger=False, folds=0, tokens="tokenizer", **GUIDED)
    sentence = toy.sentence(["cannot", "la"], ["X", "X"], [1, 1], ["one", "ROOT"])
    examples = guided_examples(toy, nlp, [sentence, *random_sentences(toy, 10, seed=0)])
    examples[0] = Example(nlp.make_doc("cannot la"), examples[0].reference)
    assert len(examples[0].predicted) == 3
    nlp.initialize(lambda: examples)
    assert min(len(lesson.gold_heads) for lesson in parser_of(nlp)._seen.made.values()) == 2


def test_guides_follow_their_words_across_sentences_and_white_space(toy):
    nlp = pipeline(tagger=False, folds=0, **GUIDED)
    first, second, third = random_sentences(toy, 3, seed=4)
    alone = guided_examples(toy, nlp, [first, second, third])
    names = sorted({token.dep_ for example in alone for token in example.reference})
    together = toy.doc(nlp.vocab, first, second, third)
    words = [*first.words, "\n", *second.words, " ", *third.words]
    n, m = len(first.words), len(first.words) + len(second.words)
    old = [*range(n), None, *range(n, m), None, *range(m, len(together))]
    new = {place: i for i, place in enumerate(old) if place is not None}
    spaced = Doc(
        nlp.vocab,
        words=words,
        tags=["_SP" if place is None else together[place].tag_ for place in old],
        deps=["dep" if place is None else together[place].dep_ for place in old],
        heads=[
            i - 1 if place is None else new[together[place].head.i] for i, place in enumerate(old)
        ],
    )
    for doc in (together, spaced):
        guide_of(doc, doc, [*names, "dep"])
    nlp.initialize(lambda: alone)
    expected = parser_of(nlp)._seen.made
    for doc in (together, spaced):
        parser_of(nlp)._reset_training()
        keys = parser_of(nlp)._remember([Example(doc, doc)])
        assert keys == list(expected)
        # Alone, the second head in the guide may differ.
        for key in keys:
            own, other = parser_of(nlp)._seen.made[key], expected[key]
            for name in ("heads", "probability", "labels"):
                assert np.array_equal(getattr(own, name)[:, 0], getattr(other, name)[:, 0])
            assert np.array_equal(own.symbols, other.symbols)
            assert np.array_equal(own.gold_heads, other.gold_heads)


def test_a_compact_pipeline_is_smaller_parses_similarly_and_cannot_learn(toy, nlp, tmp_path):
    nlp.to_disk(tmp_path / "whole")
    command_line.run("hpyp", "compact", tmp_path / "whole", tmp_path / "compact")
    whole, compact = (
        (tmp_path / name / "easy_first_parser" / "model").stat() for name in ("whole", "compact")
    )
    assert compact.st_size < 0.7 * whole.st_size
    loaded = spacy.load(tmp_path / "compact")
    texts = [" ".join(sentence.words) for sentence in toy.sentences(30)]
    same = [a.head.i == b.head.i for text in texts for a, b in zip(nlp(text), loaded(text))]
    assert np.mean(same) > 0.95
    with pytest.raises(ValueError, match="hpyp compact"):
        loaded.update(toy.examples(loaded, toy.sentences(20)))
