"""Trees of a sentence by whoever has found them."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.util import fix_random_seed
from spacy.vocab import Vocab

from spacy_hpyp.annotation.candidates import Candidates, candidates_of, lowered, parsed_candidates
from spacy_hpyp.compiled import NONE


@pytest.fixture(scope="module")
def spacys(toy):
    """SpaCy's own parser with the weights that it begins with, behind a tok2vec that it shares."""
    # Its weights are drawn from the generators of NumPy and thinc, which other tests draw from, too.
    fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec")
    tok2vec = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "*"}
    nlp.add_pipe("parser", config={"model": {"tok2vec": tok2vec}})
    sentences = toy.sentences(20)
    nlp.initialize(lambda: toy.examples(nlp, sentences))
    for _ in range(10):
        nlp.update(toy.examples(nlp, sentences))
    return nlp


def two_sentences(vocab):
    words = ["the", "dog", " ", "sleeps", ".", "\n", "Kim", "waits"]
    heads = [1, 3, 1, 3, 3, 4, 7, 7]
    deps = ["det", "nsubj", "dep", "ROOT", "punct", "dep", "nsubj", "ROOT"]
    return Doc(vocab, words=words, heads=heads, deps=deps, tags=["T"] * 8)


def test_trees_of_a_parsed_document_are_read_without_white_space():
    first, second = parsed_candidates(two_sentences(spacy.blank("en").vocab), "somebody")
    assert first.token.tolist() == [0, 1, 3, 4]
    assert first.heads.tolist() == [[1, 2, NONE, 2]]
    assert first.labels == [["det", "nsubj", "ROOT", "punct"]]
    assert second.token.tolist() == [6, 7]
    assert second.heads.tolist() == [[1, NONE]]
    assert (first.source, len(second), second.tags) == ("somebody", 1, [["T", "T"]])
    assert parsed_candidates(Doc(Vocab()), "somebody") == []


def candidates(*heads, score=(3.0, 2.0, 1.0)):
    rows = np.array(heads, dtype=np.int32)
    labels = [["ROOT" if head == NONE else "dep" for head in own] for own in heads]
    tags = [["T"] * rows.shape[1] for _ in heads]
    return Candidates(np.arange(rows.shape[1]), rows, labels, tags, np.array(score[: len(heads)]), "somebody")


def test_a_tree_that_is_put_first_is_there_once_and_keeps_its_score():
    found = candidates([NONE, 0, 1], [NONE, 0, 0], [1, NONE, 1])
    changed = found.chosen_first(found.first(2).chosen_first(candidates([NONE, 0, 0])))
    assert changed.heads.tolist() == [[NONE, 0, 0], [NONE, 0, 1], [1, NONE, 1]]
    assert changed.score.tolist() == [2.0, 3.0, 1.0]
    new = found.chosen_first(candidates([2, 2, NONE]))
    assert new.heads[0].tolist() == [2, 2, NONE]
    assert new.score.tolist() == [1.0, 3.0, 2.0, 1.0]


def test_trees_that_are_not_projective_are_made_so_and_back(toy):
    doc = toy.doc(Vocab(), toy.non_projective)
    (found,) = parsed_candidates(doc, "gold")
    (sentence,) = found.sentences(doc)
    assert any("||" in label for label in sentence.labels)
    heads, labels = lowered(np.array(sentence.heads, dtype=np.int32), sentence.labels, doc, found.token)
    assert heads.tolist() == found.heads[0].tolist()
    assert labels == found.labels[0]


def test_the_beam_of_spacys_parser_is_one_of_trees_of_the_sentences_that_are_given(toy, spacys):
    doc = spacys(toy.doc(spacys.vocab, *toy.sentences(4)))
    parser = spacys.get_pipe("parser")
    own = parsed_candidates(doc, "parser")
    before = doc.to_bytes()
    found = candidates_of(parser, doc, 5)
    assert doc.to_bytes() == before
    assert [each.token.tolist() for each in found] == [each.token.tolist() for each in own]
    for each in found:
        assert 1 < len(each) <= 5
        assert each.source == "parser"
        assert np.all(np.diff(each.score) <= 0.0)
        assert np.exp(each.score).sum() <= 1.0 + 1e-6
        assert len(
            {(tuple(heads), tuple(labels)) for heads, labels in zip(each.heads.tolist(), each.labels)}
        ) == len(each)
        for heads, labels in zip(each.heads.tolist(), each.labels):
            assert all(NONE <= head < len(heads) for head in heads)
            assert [label == "ROOT" for label in labels] == [head == NONE for head in heads]


class Beam:
    """A parser whose beams are known: arcs (heads, children, labels) with a probability."""

    name = "beam"

    def __init__(self, *parses):
        self.parses, self.moves = list(parses), self

    def beam_parse(self, docs, beam_width):
        return [self.parses[:beam_width] for _ in docs]

    def get_beam_parses(self, beam):
        return beam


def test_what_a_beam_of_spacys_was_cut_at_is_no_candidate():
    doc = Doc(
        Vocab(), words=["a", "b", "c", "d"], heads=[0, 0, 0, 0], deps=["ROOT", "x", "x", "x"], tags=["T"] * 4
    )
    two_roots, one_root = [(0, 1, "x"), (2, 3, "x")], [(0, 1, "x"), (1, 2, "x"), (2, 3, "x")]
    (found,) = candidates_of(Beam((0.6, two_roots), (0.4, one_root)), doc, 3)
    assert found.heads.tolist() == [[NONE, 0, 1, 2]]
    (nothing,) = candidates_of(Beam((1.0, two_roots)), doc, 3)
    assert len(candidates_of(Beam(), doc, 3)[0]) == len(nothing) == 0
    assert nothing.heads.shape == (0, 4)
    (own,) = parsed_candidates(doc, "beam")
    assert nothing.chosen_first(own).heads.tolist() == own.heads.tolist() == [[NONE, 0, 0, 0]]


def test_what_hangs_on_white_space_hangs_on_what_that_hangs_on():
    vocab = spacy.blank("en").vocab
    doc = Doc(vocab, words=["a", " ", "b", "\n", "c"], heads=[2, 0, 2, 1, 3], deps=["x", "", "ROOT", "", "y"])
    (own,) = parsed_candidates(doc, "somebody")
    assert own.heads.tolist() == [[1, NONE, 0]]
    (found,) = candidates_of(Beam((1.0, [(2, 0, "x"), (0, 1, ""), (1, 3, ""), (3, 4, "y")])), doc, 3)
    assert found.heads.tolist() == own.heads.tolist()
    # All that is left of white space that is a root itself.
    doc = Doc(vocab, words=["\n", "a", "b"], heads=[0, 0, 0], deps=["ROOT", "x", "y"])
    (own,) = parsed_candidates(doc, "somebody")
    assert (own.heads.tolist(), own.labels) == ([[NONE, 0]], [["ROOT", "y"]])


def test_trees_of_text_with_white_space_have_one_root_each(toy, spacys):
    parser = spacys.get_pipe("parser")
    trees = 0
    for sentence in toy.sentences(30):
        doc = spacys("\n".join(sentence.words))
        trees += any(token.is_space and token.n_lefts + token.n_rights for token in doc)
        for own, found in zip(parsed_candidates(doc, "parser"), candidates_of(parser, doc, 10), strict=True):
            assert np.all(np.sum(np.concatenate([own.heads, found.heads]) == NONE, axis=1) == 1)
    # In which something hangs on white space.
    assert trees > 10


def test_a_generative_parser_gives_the_same_trees_as_documents_and_as_candidates(toy, trained):
    sentence = toy.sentences(5)[4]
    doc = trained(" ".join(sentence.words))
    parser = toy.parser(trained)
    (found,) = candidates_of(parser, doc, 4, source="ours")
    alternatives = parser.k_best(doc, 4)
    assert found.source == "ours"
    assert found.score.tolist() == [each.log_prob for each in alternatives]
    for i, each in enumerate(alternatives):
        (own,) = parsed_candidates(each.doc, "hpyp_parser")
        assert found.place_of(own.heads[0], own.labels[0], own.tags[0]) == i
    assert parser.candidate_log_probs(doc, found).log_prob[0] == pytest.approx(
        parser.tree_log_prob(alternatives[0].doc)
    )
    strange = Candidates(
        found.token, found.heads[:1], [["strange"] * len(doc)], found.tags[:1], found.score[:1], "x"
    )
    assert np.isnan(parser.candidate_log_probs(doc, strange).log_prob).all()
