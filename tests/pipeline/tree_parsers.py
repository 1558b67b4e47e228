"""Tests of every parser that learns and predicts trees of tagged sentences."""

import random

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from spacy_hpyp.annotation.guides import Guide, write_guide

TEXT = "the dog sees a cat near Kim . Zenobia sleeps ."
ODD = {
    "empty": "",
    "space": " ",
    "spaces": "\n\n \t",
    "one": "sleeps",
    "space and one": " sleeps",
    "one and space": "sleeps \n",
    "spaces between": "the  dog \n sees\n\na cat .  ",
    "unseen": "Qwxyz blorgs ζφψ 😀 ... 12345 !!!",
    "long": "the " * 300,
}


def with_tags(doc):
    """The same words with only their tags and sentence boundaries."""
    return Doc(
        doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
        tags=[token.tag_ for token in doc],
        sent_starts=[token.is_sent_start for token in doc],
    )


def tagged(toy, nlp, sentences):
    """Examples whose predicted documents have the gold tags and sentence boundaries."""
    docs = [toy.doc(nlp.vocab, sentence) for sentence in sentences]
    return [Example(with_tags(doc), doc) for doc in docs]


def train(toy, nlp, sentences, rounds, seed=0, examples=None, **update):
    """Initialize a pipeline, train it in a random order, and return the losses of each round."""
    examples = (lambda: toy.examples(nlp, sentences)) if examples is None else examples
    nlp.initialize(examples)
    rng = random.Random(seed)
    found = []
    for _ in range(rounds):
        shuffled, losses = examples(), {}
        rng.shuffle(shuffled)
        for batch in minibatch(shuffled, 16):
            nlp.update(batch, losses=losses, **update)
        found.append(losses)
    return found


def copy_of(nlp, **settings):
    """An independent copy of a pipeline, optionally with other settings of the parser, its last
    component.
    """
    config = nlp.config.copy()
    config["components"][nlp.pipe_names[-1]].update(settings)
    return spacy.util.load_model_from_config(config).from_bytes(nlp.to_bytes())


def stored(nlp):
    """The model of the parser and its training progress."""
    return nlp.get_pipe(nlp.pipe_names[-1]).to_bytes(exclude=["vocab", "cfg"])


def with_guide(doc, tags, probs):
    """Write a guide to the tags of each word, with their probabilities, into a document."""
    n, names = len(doc), sorted({tag for of_word in tags for tag in of_word})
    heads, labels = np.zeros((n, 1), dtype=np.int32), np.full((n, 1), -1, dtype=np.int32)
    numbers = np.array([[names.index(tag) for tag in of_word] for of_word in tags], dtype=np.int32)
    tag_probs, sure = np.array([probs] * n, dtype=np.float32), np.ones((n, 1), dtype=np.float32)
    write_guide(doc, Guide(heads, sure, labels, [], numbers, tag_probs, names))
    return doc


def assert_trees(doc):
    """Assert that every sentence is a contiguous tree."""
    for sentence in doc.sents:
        (root,) = [token for token in sentence if token.head.i == token.i]
        assert {token.i for token in root.subtree} == set(range(sentence.start, sentence.end))
    for token in doc:
        assert token.dep_
        assert (token.dep_ == "ROOT") == (token.head.i == token.i)


def broken(toy, nlp):
    """Documents with usable annotation and one unusable sentence each."""
    words, tags, deps = (
        columns.split() for columns in ("dogs see big cats", "NN VBZ JJ NN", "nsubj ROOT amod obj")
    )
    whole = toy.doc(nlp.vocab, toy.sentences(4)[3])
    for heads, own_deps, own_tags in (
        ([1, 1, 3, 2], deps, tags),
        ([1, 2, 1, 1], deps, tags),
        ([1, 1, 2, 1], ["nsubj", "ROOT", "ROOT", "obj"], tags),
        ([1, 1, 3, 1], deps, ["NN", "", "JJ", "NN"]),
    ):
        doc = Doc(nlp.vocab, words=words, tags=own_tags)
        rows = np.zeros((4, 2), dtype=np.uint64)
        rows[:, 0] = [np.int64(head - i).astype(np.uint64) for i, head in enumerate(heads)]
        rows[:, 1] = [nlp.vocab.strings.add(dep) for dep in own_deps]
        doc.from_array(["HEAD", "DEP"], rows)
        # One sentence, regardless of the heads.
        doc.from_array(["SENT_START"], np.array([[1], [0], [0], [0]], dtype=np.uint64))
        yield Example(nlp.make_doc(doc.text), doc)
    yield Example(nlp.make_doc(whole.text), whole)


class TreeParserTests:
    """Tests of one kind of parser. Their file defines the fixtures `nlp`, a trained pipeline, and
    `sentences`, its training data.

    name (str): The name of the component, the last one in the pipelines.
    pipeline (Callable): Makes a blank pipeline of the parser alone, with the given settings.
    annotation (Callable): Returns all annotation of the parser in a Doc.
    check (Callable): Asserts that a Doc has been parsed.
    learned (Callable): Returns how many sentences, words and rounds a parser has learned.
    score (str): The attribute of alternatives with their score.
    """

    def parser(self, nlp):
        return nlp.get_pipe(self.name)

    # Training

    def test_labels_are_the_undecorated_labels_of_the_treebank(self, nlp, sentences):
        parser = self.parser(nlp)
        assert {label for sentence in sentences for label in sentence.deps} <= set(parser.labels)
        assert not any("||" in label for label in parser.labels)
        assert any("||" in label for label in parser.label_data["labels"])
        tags = {tag for sentence in sentences for tag in sentence.tags}
        assert set(parser.label_data["tags"]) == tags

    def test_a_failed_initialization_leaves_the_parser_unchanged(self, toy, nlp, sentences):
        nlp = copy_of(nlp)
        parser, expected, before = self.parser(nlp), self.annotation(nlp(TEXT)), stored(nlp)
        several = [sentence for sentence in sentences if len(sentence.words) > 1]
        message = f"'{self.name}' cannot be initialized.*spacy init labels"
        for tags, deps in ((["X"], ["nsubj"]), ([], []), (["VB"], [])):
            labels = {"tags": tags, "labels": deps}
            with pytest.raises(ValueError, match=message):
                parser.initialize(lambda: toy.examples(nlp, several), nlp=nlp, labels=labels)
        nothing = [Example(nlp.make_doc("a b"), Doc(nlp.vocab, words=["a", "b"]))]
        with pytest.raises(ValueError, match="no training example has a sentence"):
            parser.initialize(lambda: nothing, nlp=nlp)
        assert self.annotation(nlp(TEXT)) == expected
        assert stored(nlp) == before

    def test_trees_with_cycles_or_two_roots_are_skipped_and_counted(self, toy, sentences):
        nlp = self.pipeline()
        good, bad = toy.examples(nlp, sentences), list(broken(toy, nlp))
        message = f"'{self.name}' skips 4 of [0-9]+ training sentences"
        with pytest.warns(UserWarning, match=message) as caught:
            nlp.initialize(lambda: [*good, *bad])
        (warning,) = caught
        reasons = "(2 without exactly one root, 1 with cyclic heads, 1 without tags)."
        assert str(warning.message).endswith(reasons)
        for _ in range(2):
            nlp.update([*good, *bad])
        count, _, rounds = self.learned(self.parser(nlp))
        assert (count, rounds) == (len(sentences) + 1, 2)

    def test_a_treebank_is_learned_on_the_configured_tokens(self, toy, sentences):
        # The tokenizer splits a word of the treebank.
        words, tags = "the dog sees cannot".split(), "DT NN VBZ NN".split()
        other = toy.sentence(words, tags, [1, 2, 2, 2], "det nsubj ROOT obj".split())
        found = {}
        for tokens in ("gold", "tokenizer"):
            nlp = self.pipeline(tokens=tokens)
            train(toy, nlp, [*sentences[:10], other], rounds=1)
            _, found[tokens], _ = self.learned(self.parser(nlp))
        assert found["tokenizer"] == found["gold"] + 1

    def test_training_depends_on_the_seed_but_not_on_threads(self, toy, sentences):
        found = []
        for seed, threads in ((1, 1), (1, 3), (2, 1)):
            nlp = self.pipeline(seed=seed, threads=threads)
            np.random.seed(len(found))
            train(toy, nlp, sentences[:40], rounds=3, drop=0.2)
            found.append(stored(nlp))
        assert found[0] == found[1] != found[2]

    # Documents

    def test_given_boundaries_are_kept_and_documents_without_any_are_one_sentence(
        self, toy, nlp, sentences
    ):
        gold = toy.doc(nlp.vocab, *sentences[:3])
        parsed = self.parser(nlp)(with_tags(gold))
        assert [token.is_sent_start for token in parsed] == [token.is_sent_start for token in gold]
        self.check(parsed)
        words, tags = zip(*((token.text, token.tag_) for token in gold))
        one = Doc(nlp.vocab, words=words, tags=tags)
        assert len(list(self.parser(nlp)(one).sents)) == 1
        self.check(one)

    @pytest.mark.parametrize("text", ODD.values(), ids=ODD)
    def test_odd_documents_are_parsed(self, nlp, text):
        doc = nlp(text)
        assert doc.text == text
        self.check(doc)
        for token in doc:
            assert (token._.head_prob is None) == token.is_space
        docs = list(nlp.pipe(["", text, " ", TEXT, text]))
        assert [self.annotation(each) for each in (docs[1], docs[4])] == [self.annotation(doc)] * 2

    def test_a_parser_that_has_seen_no_arc_still_makes_trees(self, toy, tmp_path):
        nlp = self.pipeline()
        train(toy, nlp, [toy.one_word], rounds=1)
        assert self.parser(nlp).label_data == {"tags": ["VB"], "labels": []}
        nlp.to_disk(tmp_path)
        for pipe in (nlp, spacy.load(tmp_path)):
            doc = Doc(pipe.vocab, words=["stop", "stop", "it"], tags=["VB"] * 3)
            self.check(self.parser(pipe)(doc))
            found = self.parser(pipe).k_best(doc, 10)
            assert len(found) == 7
            for each in found:
                assert_trees(each.doc)

    # Alternatives

    def test_the_best_parses_are_distinct_and_sorted(self, toy, nlp):
        parser = self.parser(nlp)
        doc = with_tags(toy.doc(nlp.vocab, *toy.sentences(6, seed=11)[2:4]))
        parsed = parser(doc.copy())
        found = parser.k_best(doc, 4)
        scores = [getattr(each, self.score) for each in found]
        assert scores == sorted(scores, reverse=True)
        trees = [[(token.head.i, token.dep_) for token in each.doc] for each in found]
        assert trees[0] == [(token.head.i, token.dep_) for token in parsed]
        assert len(set(map(tuple, trees))) == 4
        for each in found:
            assert_trees(each.doc)
            assert each.doc.text == doc.text
            assert [token.tag_ for token in each.doc] == [token.tag_ for token in doc]
            found_starts, starts = ([s.start for s in x.sents] for x in (each.doc, parsed))
            assert found_starts == starts
        assert not doc.has_annotation("DEP")
        assert getattr(parser.k_best(doc, 2)[1], self.score) == scores[1]
        assert len(parser.k_best(doc, 1)) == 1

    def test_the_best_parses_are_trees_over_syntactic_words(self, toy, nlp):
        parser = self.parser(nlp)
        doc = with_tags(toy.doc(nlp.vocab, *toy.sentences(6, seed=11)[2:4]))
        tokens = toy.merged(doc, 1)
        for over, each in zip(parser.k_best(tokens, 4), parser.k_best(doc, 4), strict=True):
            assert getattr(over, self.score) == getattr(each, self.score)
            flat = over.doc._.ud_words
            assert [(flat.index(word.head), word.dep_) for word in flat] == [
                (token.head.i, token.dep_) for token in each.doc
            ]
            assert_trees(over.doc)
        assert not tokens.has_annotation("DEP")

    def test_k_best_returns_no_more_parses_than_trees(self, nlp):
        parser = self.parser(nlp)
        for words, count in ((["sleeps"], 1), (["dogs", "sleep"], 2), (["dogs", "see", "cats"], 7)):
            doc = Doc(nlp.vocab, words=words, tags=["NN"] * len(words))
            assert len(parser.k_best(doc, 50)) == count
        for text in ("", "  "):
            (found,) = parser.k_best(nlp.make_doc(text), 3)
            assert (found.doc.text, getattr(found, self.score)) == (text, 0.0)
