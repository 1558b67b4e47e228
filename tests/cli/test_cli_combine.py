"""Pipelines whose parser votes with others, or is rated by them."""

import pytest
import spacy
from command_line import interrupt_after_one_training, run
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from spacy_hpyp.annotation.syntactic_words import Analysis, write_back, write_words
from spacy_hpyp.cli import trainings
from spacy_hpyp.cli.combine import _spelled_apart
from spacy_hpyp.components.scorer import score

# Trainings of one or two steps.
QUICK = ["--training.max_steps", 2, "--training.eval_frequency", 1]


@Language.factory("h_chain_parser", assigns=["token.dep"])
def make_chain_parser(nlp, name):
    """Make a parser that hangs every token on the one before it."""

    def parse(doc):
        for token in doc:
            token.head = doc[max(0, token.i - 1)]
            token.dep_, token.tag_ = "dep" if token.i else "ROOT", "X"
        return doc

    return parse


@pytest.fixture(scope="module")
def folder(toy, trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("combine")
    for name, seed in (("train", 0), ("unseen", 5)):
        sentences = toy.sentences(80, seed=seed)
        docs = [toy.doc(trained.vocab, *sentences[i : i + 4]) for i in range(0, 80, 4)]
        DocBin(docs=docs).to_disk(folder / f"{name}.spacy")
    nlp = spacy.blank("en")
    nlp.to_disk(folder / "none")
    nlp.add_pipe("h_chain_parser")
    nlp.to_disk(folder / "chain")
    trained.to_disk(folder / "pool")
    config = trained.config.copy()
    config["training"].update({"max_steps": 2, "eval_frequency": 1})
    trained.to_disk(folder / "own")
    config.to_disk(folder / "own" / "config.cfg")
    return folder


def combine(folder, model, output, *options, exit_code=0):
    arguments = folder / model, folder / "train.spacy", "-o", folder / output
    return run("hpyp", "combine", *arguments, *options, exit_code=exit_code)


def uas(folder, model):
    nlp = spacy.load(folder / model)
    docs = DocBin().from_disk(folder / "unseen.spacy").get_docs(nlp.vocab)
    return score([Example(nlp(doc.text), doc) for doc in docs])["dep_uas"]


def test_a_parser_votes_with_others(folder):
    options = "--with", folder / "pool", "--unseen", folder / "unseen.spacy"
    assert "weights learned from the others" in combine(folder, "chain", "voting", *options).output
    nlp = spacy.load(folder / "voting")
    assert nlp.pipe_names == ["hpyp_parser", "keep_hpyp_parser", "h_chain_parser", "parse_combiner"]
    assert uas(folder, "voting") > uas(folder, "chain") + 0.2


def test_arcs_of_a_parser_are_rated(folder):
    options = "--rate", "--with", folder / "pool", "--unseen", folder / "unseen.spacy"
    shown = combine(folder, "chain", "rated", *options).output
    assert "AUROC: 0.9" in shown or "AUROC: 1" in shown
    nlp = spacy.load(folder / "rated")
    assert nlp.pipe_names[-2:] == ["h_chain_parser", "arc_confidence"]
    doc, alone = (spacy.load(folder / name)("the old dog sees a bird .") for name in ("rated", "chain"))
    assert [token.head.i for token in doc] == [token.head.i for token in alone]
    # "old" is no modifier of "the".
    assert doc[1]._.head_prob < 0.5


def test_without_unseen_documents_parsers_are_trained_without_an_eighth_and_once(folder, monkeypatch):
    train, interrupted = trainings.train, interrupt_after_one_training(monkeypatch)
    assert "no power" in combine(folder, "own", "held", "--rate", *QUICK, exit_code=1).stderr
    assert not (folder / "held").exists()
    monkeypatch.setattr(trainings, "train", train)
    assert "has been trained before" in " ".join(
        combine(folder, "own", "held", "--rate", *QUICK).output.split()
    )
    monkeypatch.setattr(trainings, "train", interrupted)
    combine(folder, "own", "held", "--rate", *QUICK)
    work = folder / "held-work"
    parts = [
        list(DocBin().from_disk(work / f"{name}.spacy").get_docs(spacy.blank("en").vocab))
        for name in ("train", "held-out")
    ]
    assert [len(part) for part in parts] == [17, 3]


def test_documents_for_spacys_tokenizer_have_words_as_tokens(toy, tmp_path):
    vocab, docs = spacy.blank("en").vocab, []
    for doc in (toy.doc(vocab, sentence) for sentence in toy.sentences(3)):
        # The full stop is written at the word before it.
        words = [*(token.text for token in doc[:-2]), f"{doc[-2].text}."]
        together = Doc(vocab, words=words, spaces=[True] * len(words))
        write_words(together, len(together) - 1, [Analysis(token.text) for token in doc[-2:]])
        write_back(doc, together)
        docs.append(together)
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "several.spacy")
    apart = list(DocBin().from_disk(_spelled_apart(tmp_path / "several.spacy")).get_docs(vocab))
    assert [doc.text for doc in docs] == [doc.text for doc in apart]
    assert [len(doc) + 1 for doc in docs] == [len(doc) for doc in apart]


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("none", [], "should have a parser"),
        ("chain", ["--with", "{}/pool"], "give --unseen"),
        ("chain", ["--with", "{}/chain", "--unseen", "{}/unseen.spacy"], "parsers of this package"),
    ],
)
def test_a_combination_that_is_impossible_is_an_error(folder, model, options, message):
    given = [each.format(folder) for each in options]
    assert message in " ".join(combine(folder, model, "no", *given, exit_code=1).stderr.split())
