"""The combiner in pipelines, and the reading of ballots."""

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hpyp.annotation.encoding import write_probability
from spacy_hpyp.annotation.guides import Guide, write_guide
from spacy_hpyp.annotation.syntactic_words import to_word_doc, write_back
from spacy_hpyp.annotation.user_data import KeptParse, current_parse, keep
from spacy_hpyp.combining.votes import ABSENT, Names, cast, parses_of
from spacy_hpyp.pipeline.parse_combiner import KeepParse, ParseCombiner


@Language.factory("v_noisy_parser", default_config={"seed": 0, "part": 0.7})
def make_noisy_parser(nlp, name, seed, part):
    """Parse toy sentences by `part` of the tokens' user data, and attach other words to a
    neighbour.
    """

    def parse(doc):
        rng = np.random.default_rng([seed, len(doc), doc[0].orth % 1000])
        gold = doc.user_data["gold"]
        heads, deps = list(gold["heads"]), list(gold["deps"])
        right = rng.random(len(doc)) < part
        for i in np.flatnonzero(~right).tolist():
            if deps[i] != "ROOT":
                heads[i], deps[i] = gold["heads"].index(gold["deps"].index("ROOT")), "dep"
        for token, head, dep, tag in zip(doc, heads, deps, gold["tags"]):
            token.head, token.dep_, token.tag_ = doc[head], dep, tag
        write_probability(doc, np.arange(len(doc)), "head_prob", np.where(right, 0.9, 0.6))
        return doc

    return parse


@pytest.fixture(scope="module")
def folder(toy, tmp_path_factory):
    """A saved pipeline of two parsers and a combiner that learned from them, and documents to
    parse.
    """
    nlp = spacy.blank("en")
    nlp.add_pipe("v_noisy_parser", name="one", config={"seed": 1})
    nlp.add_pipe("keep_parse")
    nlp.add_pipe("v_noisy_parser", name="other", config={"seed": 2})
    nlp.add_pipe("parse_combiner")
    examples = [example_of(toy, nlp, sentence) for sentence in projective(toy)]
    nlp.initialize(lambda: examples[:30])
    combiner, losses = nlp.get_pipe("parse_combiner"), []
    for _ in range(2):
        for part in (examples[:20], examples[20:30]):
            losses += nlp.update(part, annotates=["one", "keep_parse", "other"]).values()
        assert combiner.votes.weights["heads"].any()
    # Weights are fitted at the end of a pass.
    assert losses[1] > 0.5 > losses[2] > 0.0
    folder = tmp_path_factory.mktemp("combiner")
    nlp.to_disk(folder)
    return folder


def projective(toy):
    return [sentence for sentence in toy.sentences(41) if sentence is not toy.non_projective]


def example_of(toy, nlp, sentence):
    predicted = Doc(nlp.vocab, words=sentence.words, user_data={"gold": vars(sentence)})
    return Example(predicted, toy.doc(nlp.vocab, sentence))


def test_the_elected_tree_beats_a_single_voter(toy, folder, assert_forest):
    nlp = spacy.load(folder)
    combiner = nlp.get_pipe("parse_combiner")
    assert isinstance(nlp.get_pipe("keep_parse"), KeepParse)
    assert isinstance(combiner, ParseCombiner)
    assert combiner.votes.voters == ["one", "other"]
    right = total = alone = 0
    for sentence in projective(toy)[30:]:
        doc = nlp(example_of(toy, nlp, sentence).predicted)
        assert_forest(doc, generative=False)
        assert [token.tag_ for token in doc] == sentence.tags
        for token in doc:
            assert 0.0 <= min(token._.head_prob, token._.tag_prob)
            assert max(token._.head_prob, token._.tag_prob) <= 1.0
        kept = doc._.hpyp_parses["one"]
        right += sum(token.head.i == head for token, head in zip(doc, sentence.heads))
        alone += int(np.sum(np.arange(len(doc)) + kept.heads == sentence.heads))
        total += len(doc)
    assert alone < right
    assert right > 0.9 * total


def test_votes_are_learned_from_syntactic_words(toy):
    nlp = spacy.blank("en")
    combiner = nlp.add_pipe("parse_combiner", config={"model": {"voters": ["wrong", "right"]}})
    examples = []
    for sentence in projective(toy):
        reference = toy.merged(toy.doc(nlp.vocab, sentence), 1)
        predicted = reference.copy()
        words = to_word_doc(predicted)
        right = current_parse(words)
        wrong = right._replace(heads=right.heads * 0, labels=["ROOT"] * len(words))
        for name, parse in (("wrong", wrong), ("right", right)):
            keep(words, name, parse)
        write_back(words, predicted)
        examples.append(Example(predicted, reference))
    combiner.initialize(lambda: examples, nlp=nlp)
    combiner.update(examples)
    for example in examples:
        gold, found = example.reference._.ud_words, combiner(example.predicted)._.ud_words
        expected = [(word.text, found[gold.index(word.head)]) for word in gold]
        assert [(word.text, word.head) for word in found] == expected


def test_a_missing_voter_is_reported(toy, folder):
    nlp = spacy.load(folder, exclude=["one", "keep_parse"])
    with pytest.raises(ValueError, match=r"needs the parse of 'one'.*has only \['other'\]"):
        nlp(example_of(toy, nlp, toy.sentences(3)[0]).predicted)


def test_sourced_and_renamed_components_keep_the_learned_names_of_voters(toy, folder):
    first, second = spacy.load(folder), spacy.blank("en")
    for name in first.pipe_names:
        second.add_pipe(name, source=first, name=f"my_{name}")
    doc = example_of(toy, first, projective(toy)[35]).predicted
    mine, theirs = second(doc.copy()), first(doc.copy())
    assert list(mine._.hpyp_parses) == ["one"]
    found, expected = ([(t.head.i, t.dep_, t._.head_prob) for t in doc] for doc in (mine, theirs))
    assert found == expected


def test_a_single_voter_raises_an_error(toy):
    nlp = spacy.blank("en")
    nlp.add_pipe("v_noisy_parser", name="one")
    nlp.add_pipe("parse_combiner")
    with pytest.raises(ValueError, match="at least two voters"):
        nlp.initialize(lambda: [example_of(toy, nlp, toy.sentences(3)[0])])
    with pytest.raises(ValueError, match="has not been trained"):
        nlp(example_of(toy, nlp, toy.sentences(3)[0]).predicted)


def kept(heads, *, starts=(0,)):
    n = len(heads)
    begins = np.zeros(n, dtype=bool)
    begins[list(starts)] = True
    nothing = np.full(n, np.nan)
    labels = ["ROOT" if head == 0 else "dep" for head in heads]
    return KeptParse(np.array(heads, dtype=np.int32), labels, ["X"] * n, nothing, nothing, begins)


def test_white_space_and_heads_in_other_sentences_are_ignored():
    nlp = spacy.blank("en")
    doc = Doc(nlp.vocab, words=["a", " ", "b", "c", "d"])
    keep(doc, "one", kept([2, -1, 0, 1, 0], starts=[0, 3]))
    keep(doc, "other", kept([3, -1, 1, 0, -1]))
    names = Names({"X": 0}, {"dep": 0})
    ballots, layout = cast([doc], [parses_of(doc, ["one", "other"], reader="combiner")], names)
    assert layout.token.tolist() == [0, 2, 3, 4]
    assert layout.offsets.tolist() == [0, 2, 4]
    assert ballots.heads.tolist() == [[1, ABSENT], [-1, ABSENT], [1, -1], [-1, 0]]
    assert names.labels == {"dep": 0, "ROOT": 1}
    # The boundaries of the other parser count when it is named first.
    ballots, layout = cast([doc], [parses_of(doc, ["other", "one"], reader="combiner")], names)
    assert layout.offsets.tolist() == [0, 4]


def test_guides_supply_the_missing_confidence_of_voters():
    nlp = spacy.blank("en")
    doc = Doc(nlp.vocab, words=["a", "b", "c"])
    keep(doc, "one", kept([1, 0, -2]))
    keep(doc, "other", kept([1, 0, -1])._replace(head_prob=np.array([0.5, 0.5, 0.5])))
    heads = np.array([[1, 2], [1, 0], [1, -1]], dtype=np.int32)
    probs = np.array([[0.75, 0.25], [0.625, 0.375], [1.0, 0.0]], dtype=np.float32)
    labels, tags = np.full_like(heads, -1), np.full((3, 1), -1, dtype=np.int32)
    write_guide(doc, Guide(heads, probs, labels, [], tags, np.zeros((3, 1), dtype=np.float32), []))
    parses = parses_of(doc, ["one", "other"], reader="combiner")
    assert [parse.head_prob.tolist() for parse in parses] == [[0.75, 0.625, 0.0], [0.5, 0.5, 0.5]]
