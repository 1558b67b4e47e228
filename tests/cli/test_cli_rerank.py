"""What the command makes of a pipeline with a parse_reranker."""

import pytest
import spacy
import srsly
from command_line import run
from spacy.tokens import DocBin

# A pipeline is loaded by the names of its factories.
from spacy_hpyp.components.parse_reranker import ParseReranker


@pytest.fixture(scope="module")
def folder(toy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rerank")
    nlp = spacy.blank("en")
    nlp.add_pipe("easy_first_tagger", config={"model": {"places": 2**13}})
    nlp.add_pipe("head_outward_parser")
    reranker = nlp.add_pipe(
        "parse_reranker", config={"model": {"tag": [["direction+parent.tag", "grandparent.tag"]]}}
    )
    assert isinstance(reranker, ParseReranker)
    sentences = toy.sentences(60)
    nlp.initialize(lambda: toy.examples(nlp, sentences))
    nlp.update(toy.examples(nlp, sentences))
    nlp.to_disk(folder / "trained")
    new = toy.sentences(90)[60:]
    DocBin(docs=[toy.doc(nlp.vocab, *new[i : i + 3]) for i in range(0, 30, 3)]).to_disk(folder / "dev.spacy")
    return folder


def test_the_table_of_the_paper_has_a_row_for_each_k(folder):
    output = folder / "new" / "table.json"
    options = ["--k", "1,2,5", "--source", "head_outward_parser", "--output", output, "--threads", 2]
    printed = run("hpyp", "papers", "rerank", folder / "trained", folder / "dev.spacy", *options).output
    one, two, five = srsly.read_json(output)
    assert [each["k"] for each in (one, two, five)] == [1, 2, 5]
    assert one["candidates"] == 1.0
    assert one["weights"].keys() == {"own", "source", "tree", "labels", "generative"}
    assert one["oracle_best"] == one["oracle_worst"] == one["generative"] == one["reranked_uas"]
    assert one["oracle_best"] <= two["oracle_best"] <= five["oracle_best"]
    assert one["oracle_worst"] > two["oracle_worst"] > five["oracle_worst"]
    for each in (one, two, five):
        assert each["oracle_worst"] <= each["reranked_uas"] <= each["oracle_best"]
        assert each["reranked_las"] <= each["reranked_uas"]
        assert f"{100 * each['oracle_worst']:.2f}" in printed


def test_gold_tags_take_the_tagger_out(folder):
    run("hpyp", "papers", "rerank", folder / "trained", folder / "dev.spacy", "--k", "2", "--gold-tags")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--k", "1,x"], "whole numbers with commas"),
        (["--k", "0"], "at least 1"),
        (["--source", "parser"], "no such component"),
    ],
)
def test_what_is_wrong_is_said(folder, options, problem):
    done = run("hpyp", "papers", "rerank", folder / "trained", folder / "dev.spacy", *options, exit_code=1)
    assert problem in " ".join(done.output.split())
