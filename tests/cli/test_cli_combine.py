"""Parts of a corpus that are held out, what several pipelines say of them, and a pipeline of several."""

import re

import numpy as np
import pytest
import spacy
from command_line import interrupt_after_one_training, run
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus, Example

from spacy_hpyp.annotation.syntactic_words import Analysis, write_back, write_words
from spacy_hpyp.annotation.written import kept_parses
from spacy_hpyp.cli import trainings
from spacy_hpyp.cli.combine import _with
from spacy_hpyp.components.parse_combiner import ParseCombiner
from spacy_hpyp.components.scorer import score


@Language.factory("h_chain_parser", assigns=["token.dep"], default_config={"distance": 1})
def make_chain_parser(nlp, name, distance):
    """Hangs every token on the one so many places before it, the first ones on the first."""

    def parse(doc):
        for token in doc:
            token.head, token.dep_, token.tag_ = (
                doc[max(0, token.i - distance)],
                "dep" if token.i else "ROOT",
                "X",
            )
        return doc

    return parse


@pytest.fixture(scope="module")
def folder(toy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("held")
    nlp = spacy.blank("en")
    sentences = toy.sentences(60)
    docs = [toy.doc(nlp.vocab, *sentences[i : i + 3]) for i in range(0, 60, 3)]
    DocBin(docs=docs).to_disk(folder / "train.spacy")
    for distance in (1, 2):
        nlp = spacy.blank("en")
        nlp.add_pipe("h_chain_parser", config={"distance": distance})
        nlp.to_disk(folder / f"chain{distance}")
    spacy.blank("en").to_disk(folder / "none")
    return folder


def texts(path):
    return [example.reference.text for example in Corpus(path)(spacy.blank("en"))]


def test_each_part_is_held_out_once_and_the_rest_is_for_training(folder):
    run("hpyp", "combine", "hold-out", folder / "train.spacy", folder / "parts", "--parts", 3, "--first", 3)
    every, held = texts(folder / "train.spacy"), []
    for part in (1, 2, 3):
        out, rest = (texts(folder / "parts" / f"{part}-{name}.spacy") for name in ("held-out", "train"))
        assert sorted(out + rest) == sorted(every)
        assert len(out) in (6, 7)
        held += out
    assert sorted(held) == sorted(every)
    # Every third document: parts are alike.
    assert texts(folder / "parts" / "2-held-out.spacy") == every[1::3]


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--parts", 21], "has 20 documents"), (["--parts", 2, "--first", 3], "'first' must be a whole number")],
)
def test_what_cannot_be_held_out_is_an_error(folder, options, message):
    found = run("hpyp", "combine", "hold-out", folder / "train.spacy", folder / "no", *options, exit_code=1)
    assert message in " ".join(found.stderr.split())


def test_a_combiner_learns_from_what_pipelines_say(toy, folder):
    output = folder / "votes" / "1.spacy"
    run(
        "hpyp",
        "combine",
        "keep",
        folder / "train.spacy",
        output,
        f"one={folder / 'chain1'}",
        f"two={folder / 'chain2'}",
    )
    nlp = spacy.blank("en")
    references = [example.reference for example in Corpus(output.parent)(nlp)]
    assert len(references) == 60
    for doc in references:
        parses = kept_parses(doc)
        assert parses["one"].heads.tolist() == [0] + [-1] * (len(doc) - 1)
        assert parses["two"].heads.tolist() == [0, -1] + [-2] * (len(doc) - 2)
        # The annotation is the gold one.
        assert any(token.dep_ == "nsubj" for token in doc)
    combiner = nlp.add_pipe("parse_combiner", config={"model": {"voters": ["one", "two"]}})
    assert isinstance(combiner, ParseCombiner)
    examples = [Example(Doc(doc.vocab, words=[token.text for token in doc]), doc) for doc in references]
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    assert combiner.votes.weights["heads"].any()


@pytest.mark.parametrize(
    ("parsers", "message"),
    [
        (["one={}/chain1"], "two voters at least"),
        (["one={}/chain1", "one={}/chain2"], "a name of its own"),
        (["one={}/chain1", "{}/chain2"], "NAME=PIPELINE"),
        (["one={}/chain1", "none={}/none"], "which is to be 'none', has parsed nothing"),
        (["one={}/chain1", "two={}/nowhere"], "Can't find model"),
    ],
)
def test_wrong_voters_are_errors(folder, parsers, message):
    given = [each.format(folder) for each in parsers]
    found = run("hpyp", "combine", "keep", folder / "train.spacy", folder / "no.spacy", *given, exit_code=1)
    assert message in " ".join(found.stderr.split())
    assert not (folder / "no.spacy").exists()


@pytest.fixture(scope="module")
def pipelines(toy, trained, folder):
    """A pipeline of the toy treebank; the same with a config that is quick to train; and a treebank that is
    new to both.
    """
    trained.to_disk(folder / "pool")
    trained.to_disk(folder / "own")
    config = spacy.util.load_config(folder / "own" / "config.cfg")
    config["training"].update({"max_steps": 2, "eval_frequency": 1})
    config.to_disk(folder / "own" / "config.cfg")
    docs = [toy.doc(trained.vocab, *toy.sentences(80, seed=5)[i : i + 4]) for i in range(0, 80, 4)]
    DocBin(docs=docs).to_disk(folder / "unseen.spacy")
    return folder


def figures(pipelines, model):
    nlp = spacy.load(model)
    docs = DocBin().from_disk(pipelines / "unseen.spacy").get_docs(nlp.vocab)
    return score([Example(nlp(doc.text), doc) for doc in docs])["dep_uas"]


def test_a_parser_votes_with_others(pipelines):
    arguments = pipelines / "chain1", pipelines / "train.spacy", "-o", pipelines / "voting"
    found = run(
        "hpyp", "combine", *arguments, "--with", pipelines / "pool", "--unseen", pipelines / "unseen.spacy"
    )
    assert "votes that have learned from the others" in found.output
    nlp = spacy.load(pipelines / "voting")
    assert nlp.pipe_names == ["hpyp_parser", "keep_hpyp_parser", "h_chain_parser", "parse_combiner"]
    assert figures(pipelines, pipelines / "voting") > figures(pipelines, pipelines / "chain1") + 0.2


def test_arcs_of_a_parser_are_rated(pipelines):
    arguments = pipelines / "chain1", pipelines / "train.spacy", "-o", pipelines / "rating"
    options = "--with", pipelines / "pool", "--unseen", pipelines / "unseen.spacy"
    shown = run("hpyp", "combine", "--rate", *arguments, *options).output
    assert re.search(r"AUROC: (1|0\.9)", shown)
    assert "Precision 99%: from" in shown
    nlp = spacy.load(pipelines / "rating")
    assert (nlp.pipe_names, nlp.disabled) == (["h_chain_parser", "arc_confidence"], ["hpyp_parser"])
    doc, alone = (spacy.load(pipelines / name)("the old dog sees a bird .") for name in ("rating", "chain1"))
    assert [token.head.i for token in doc] == [token.head.i for token in alone]
    # "old" is no modifier of "the".
    assert doc[1]._.head_prob < 0.5 < doc[6]._.head_prob + 0.5
    shown = run("hpyp", "evaluate", "--calibration", pipelines / "rating", pipelines / "unseen.spacy").output
    assert "Precision 99%" in shown


def test_arcs_are_rated_where_gold_tokens_are_several_words(toy, pipelines):
    vocab, docs = spacy.blank("en").vocab, []
    for doc in DocBin().from_disk(pipelines / "unseen.spacy").get_docs(vocab):
        # The full stop is written at the word before it.
        words = [*(token.text for token in doc[:-2]), f"{doc[-2].text}."]
        together = Doc(vocab, words=words, spaces=[True] * len(words))
        write_words(together, len(together) - 1, [Analysis(token.text) for token in doc[-2:]])
        write_back(doc, together)
        docs.append(together)
    DocBin(docs=docs, store_user_data=True).to_disk(pipelines / "several.spacy")
    arguments = pipelines / "chain1", pipelines / "train.spacy", "-o", pipelines / "rated"
    options = "--with", pipelines / "pool", "--unseen", pipelines / "several.spacy"
    assert "AUROC" in run("hpyp", "combine", "--rate", *arguments, *options).output
    # A pipeline is trained again on the tokens of its tokenizer.
    arguments = pipelines / "own", pipelines / "several.spacy", "-o", pipelines / "again"
    assert "AUROC" in run("hpyp", "combine", "--rate", *arguments, *options[:2], "--parts", 2).output
    for part in ("train", "held-out"):
        files = [pipelines / "again-work" / f"1-{part}{kind}.spacy" for kind in ("", "-apart")]
        before, apart = (list(DocBin().from_disk(file).get_docs(vocab)) for file in files)
        assert [doc.text for doc in before] == [doc.text for doc in apart]
        assert [len(doc) + 1 for doc in before] == [len(doc) for doc in apart]


def test_nuclei_are_for_arcs_that_are_rated(pipelines):
    arguments = pipelines / "chain1", pipelines / "train.spacy", "-o", pipelines / "nuclei"
    assert "--nuclei is for --rate" in run("hpyp", "combine", "--nuclei", *arguments, exit_code=1).output
    assert not (pipelines / "nuclei-work").exists()


@pytest.fixture(name="spacys")
def pipeline_with_spacys_parser(toy):
    nlp = spacy.blank("en")
    nlp.add_pipe("parser")
    nlp.initialize(lambda: toy.examples(nlp, toy.sentences(20)))
    return nlp


@pytest.mark.parametrize("rate", [True, False])
def test_spacys_parser_says_how_sure_it_is(spacys, trained, rate):
    nlp, component = _with(spacys, "parser", trained, rate=rate)
    assert nlp.pipe_names[-3:] == ["parser", "sure_parser", component.name]
    with nlp.select_pipes(disable=component.name):
        doc = nlp("the old dog sees a bird .")
    assert all(0.0 < token._.head_prob <= 1.0 for token in doc if token.head != token)


def test_what_is_kept_of_spacys_parser_says_how_sure_it_is(spacys, folder):
    spacys.to_disk(folder / "parser")
    # It may say so already.
    spacys.add_pipe("transition_confidence", name="sure_parser")
    spacys.to_disk(folder / "sure")
    voters = [f"{name}={folder / name}" for name in ("chain1", "parser", "sure")]
    run("hpyp", "combine", "keep", folder / "train.spacy", folder / "sure.spacy", *voters)
    for doc in DocBin().from_disk(folder / "sure.spacy").get_docs(spacys.vocab):
        parses = kept_parses(doc)
        assert np.isnan(parses["chain1"].head_prob).all()
        for name in ("parser", "sure"):
            assert not np.isnan(parses[name].head_prob[parses[name].heads != 0]).any()


def test_parsers_are_trained_without_what_votes_are_learned_from_and_once(pipelines, monkeypatch):
    arguments = (
        pipelines / "own",
        pipelines / "train.spacy",
        "-o",
        pipelines / "folds",
        "--with",
        pipelines / "pool",
    )
    arguments = (*arguments, "--parts", 4, "--first", 2)
    train, interrupted = trainings.train, interrupt_after_one_training(monkeypatch)
    assert "no power" in run("hpyp", "combine", *arguments, exit_code=1).stderr
    assert not (pipelines / "folds").exists()
    monkeypatch.setattr(trainings, "train", train)
    assert "has been trained before" in " ".join(run("hpyp", "combine", *arguments).output.split())
    monkeypatch.setattr(trainings, "train", interrupted)
    run("hpyp", "combine", *arguments)
    assert spacy.load(pipelines / "folds").pipe_names == [
        "voting_hpyp_parser",
        "keep_voting_hpyp_parser",
        "hpyp_parser",
        "parse_combiner",
    ]


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("none", [], "should have a parser"),
        ("chain1", ["--with", "{}/chain2", "--unseen", "{}/unseen.spacy"], "should have an hpyp_parser"),
    ],
)
def test_what_cannot_be_combined_is_said(pipelines, model, options, message):
    given = [each.format(pipelines) for each in options]
    found = run(
        "hpyp",
        "combine",
        pipelines / model,
        pipelines / "train.spacy",
        "-o",
        pipelines / "no",
        *given,
        exit_code=1,
    )
    assert message in " ".join(found.stderr.split())
