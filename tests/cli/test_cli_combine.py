"""Pipelines with a parser that votes with others or is rated by them."""

import pytest
import spacy
from command_line import run, said
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training import Example

from spacy_hpyp.pipeline.scorer import score


@Language.factory("h_chain_parser", assigns=["token.dep"], default_config={"label": "dep"})
def make_chain_parser(nlp, name, label):
    """Make a parser that attaches every token to the previous one."""

    def parse(doc):
        for token in doc:
            token.head = doc[max(0, token.i - 1)]
            token.dep_, token.tag_ = label if token.i else "ROOT", "X"
        return doc

    return parse


@pytest.fixture(scope="module")
def folder(toy, trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("combine")
    sentences = toy.sentences(80, seed=5)
    docs = [toy.doc(trained.vocab, *sentences[i : i + 4]) for i in range(0, 80, 4)]
    DocBin(docs=docs).to_disk(folder / "unseen.spacy")
    nlp = spacy.blank("en")
    nlp.to_disk(folder / "none")
    nlp.add_pipe("h_chain_parser")
    nlp.to_disk(folder / "chain")
    nlp.replace_pipe("h_chain_parser", "h_chain_parser", config={"label": "pobj"})
    nlp.to_disk(folder / "other_labels")
    trained.to_disk(folder / "pool")
    return folder


def command(folder, model, helper, output):
    paths = folder / model, folder / "unseen.spacy", "--with", folder / helper
    return "hpyp", "combine", *paths, "-o", folder / output


def uas(folder, model):
    nlp = spacy.load(folder / model)
    docs = DocBin().from_disk(folder / "unseen.spacy").get_docs(nlp.vocab)
    return score([Example(nlp(doc.text), doc) for doc in docs])["dep_uas"]


def test_a_parser_votes_with_others(folder):
    shown = run(*command(folder, "chain", "pool", "voting")).output
    assert "weights learned from the others" in shown
    nlp = spacy.load(folder / "voting")
    assert nlp.pipe_names == ["hpyp_parser", "keep_hpyp_parser", "h_chain_parser", "parse_combiner"]
    assert uas(folder, "voting") > uas(folder, "chain") + 0.2


@pytest.mark.parametrize("model", ["chain", "other_labels"])
def test_arcs_are_rated_with_any_label_scheme(folder, model):
    assert "AUROC" in run(*command(folder, model, "pool", "rated"), "--rate").output
    nlp = spacy.load(folder / "rated")
    assert nlp.pipe_names[0] == "h_chain_parser"
    assert nlp.pipe_names[-1] == "arc_confidence"
    doc, alone = (spacy.load(folder / name)("the old dog sees .") for name in ("rated", "chain"))
    assert [token.head.i for token in doc] == [token.head.i for token in alone]
    # "old" does not depend on "the".
    assert doc[1]._.head_prob < 0.5


@pytest.mark.parametrize(
    ("model", "helper", "message"),
    [
        ("none", "pool", "should have a parser"),
        ("chain", "chain", "parsers of this package"),
        ("other_labels", "pool", "does not have: pobj"),
    ],
)
def test_impossible_combinations_are_reported(folder, model, helper, message):
    assert message in said(*command(folder, model, helper, "no"))
