"""The scripts that make the papers' tables."""

import json
import subprocess
from collections import Counter
from pathlib import Path

import head_outward_estimators
import latent_states
import numpy as np
import papers_runs
import pytest
import rerank_table
import spacy
import typer
from papers_tables import TABLES, page, runs_of
from spacy.tokens import DocBin

from spacy_hpyp.annotation.syntactic_words import to_word_doc
from spacy_hpyp.annotation.uncased_words import read_uncased, uncased_key
from spacy_hpyp.cli.commands import commands
from spacy_hpyp.head_outward.latent_states import LatentStates
from spacy_hpyp.pipeline.corpus import read_treebank
from spacy_hpyp.text.unknown_words import unknown_words
from spacy_hpyp.text.vocabulary import VocabularySettings

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"
TRAIN, DEV = (SAMPLE / f"en_sample-ud-{part}.conllu" for part in ("train", "dev"))


def save(toy, path, sentences):
    vocab = spacy.blank("en").vocab
    docs = [toy.doc(vocab, *sentences[i : i + 3]) for i in range(0, len(sentences), 3)]
    DocBin(docs=docs).to_disk(path)
    return path


def read(path):
    return json.loads(path.read_text(encoding="utf8"))


def test_runs_are_repeated_only_when_their_input_changes(tmp_path, monkeypatch):
    commands = []

    def command(arguments, **_):
        commands.append(arguments[arguments.index("-m") + 2 :])
        output = Path(arguments[arguments.index("--output") + 1])
        if arguments[3] == "train":
            (output / "model-last").mkdir(parents=True)
        else:
            output.write_text('{"dep_uas": 0.5}')
        return subprocess.CompletedProcess(arguments, 0)

    monkeypatch.setattr(papers_runs.subprocess, "run", command)
    for ending in papers_runs.FILES.values():
        (tmp_path / f"corpus{ending}").touch()
    for expected in (2, 2):
        runner = papers_runs.Runner(str(tmp_path / "corpus"), tmp_path / "out", "en")
        assert papers_runs.read_output(runner.make("context_1_dev")) == {"dep_uas": 0.5}
        assert len(commands) == expected
    assert f"{tmp_path}/out/context_1/model-last" in commands[1]
    later = (tmp_path / "out" / "context_1_dev.json").stat().st_mtime + 10
    papers_runs.os.utime(tmp_path / "corpus-train.spacy", (later, later))
    runner.make("context_1_dev")
    assert len(commands) == 4


def test_every_run_of_a_table_and_its_inputs_exist():
    runs = {name for table in TABLES.values() for name in runs_of(table)}
    assert runs <= papers_runs.RUNS.keys()
    named = Counter(
        name
        for run in papers_runs.RUNS.values()
        for argument in run.arguments
        for name in papers_runs._NAME.findall(argument)
    )
    assert named.keys() <= papers_runs.RUNS.keys() | papers_runs.FILES.keys() | {"output", "lang"}
    assert papers_runs.RUNS.keys() - runs - named.keys() == {"lm_part_sum"}


def test_options_of_runs_exist_in_their_commands():
    group = typer.main.get_group(commands)
    for run in papers_runs.RUNS.values():
        if run.arguments[0] == "hpyp":
            parameters = group.commands[run.arguments[1]].params
            options = {name for parameter in parameters for name in parameter.opts}
            given = {argument for argument in run.arguments[2:] if argument.startswith("-")}
            # Options with dots are config settings.
            assert {argument for argument in given if "." not in argument} <= options, run


def test_the_page_shows_published_figures_and_ours():
    outputs = {
        "000-table-3": {
            name: {"dep_uas": 0.5, "dep_las": 0.25} for name in runs_of(TABLES["000-table-3"])
        },
        "004-table-2": {
            "reranked": [{"k": k, "oracle_best": k / 2000} for k in (*range(1, 11), 100, 1000)]
        },
        "000-table-7": {name: [{"text": "a <LOW> b"}] for name in runs_of(TABLES["000-table-7"])},
    }
    shown = [line.split("|")[1:-1] for line in page(outputs).splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in row] for row in shown]
    assert ["+ s2.word", "88.93", "50.00", "86.57", "25.00"] in cells
    assert ["k = 1000", "99.34", "50.00", "64.86", "–", "91.47", "–", "–", "–"] in cells
    assert "* a &lt;LOW> b" in page(outputs)


def test_estimators_are_compared_with_eisners(toy, tmp_path):
    sentences = toy.sentences(40)
    train = save(toy, tmp_path / "train.spacy", sentences[:20])
    dev = save(toy, tmp_path / "dev.spacy", sentences[20:])
    head_outward_estimators.compare(train, dev, tmp_path / "figure.json", sweeps=2)
    models = read(tmp_path / "figure.json")["models"]
    assert len(models) == 9
    for model in models:
        wrong = [1.0 - each["dep_uas"] for each in (model, models[0])]
        assert model["errors_fewer"] == pytest.approx(1.0 - wrong[0] / wrong[1])
        assert -10.0 < model["token_log_prob"] < 0.0


def test_latent_states_of_all_kinds_are_compared(tmp_path):
    latent_states.compare(TRAIN, DEV, tmp_path / "out.json", states=3, sweeps=4)
    found = read(tmp_path / "out.json")
    assert [row["kind"] for row in found] == ["lda", "dependencies", "syntactic", "semantic"]
    for row in found:
        assert (row["accuracy"] is None) == (row["kind"] == "lda")
        assert 4.0 < row["bits"] <= row["exact_bits"] < 10.0
        assert len(row["top_words"]) == row["states"]


def test_bits_per_word_come_from_the_second_half_of_the_sweeps():
    documents = map(to_word_doc, read_treebank(TRAIN, spacy.blank("en").vocab, n_sents=10_000))
    texts = [(uncased_key(doc), read_uncased(doc).complete()) for doc in documents]
    settings = VocabularySettings(unknown_words("en"))
    models = [LatentStates("semantic", 3, settings) for _ in range(2)]
    for model in models:
        model.initialize(model.collect([text for _, text in texts]))
    words = [text for _, text in texts]
    found = latent_states.study_states(models[0], texts, words, sweeps=5, seed=3)
    rng, probabilities = np.random.default_rng(3), []
    for _ in range(5):
        probabilities.append(models[1].visit(texts, rng))
        models[1].end_sweep(rng)
    assert found["bits"] == pytest.approx(-np.log2(probabilities[3:]).mean())
    harmonic = np.log2(np.mean(1 / np.array(probabilities[3:]), axis=0)).mean()
    assert found["exact_bits"] == pytest.approx(harmonic)


def test_the_table_of_reranking_has_a_row_for_each_k(toy, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("easy_first_tagger", config={"model": {"places": 2**13}})
    nlp.add_pipe("head_outward_parser")
    tag = [["direction+parent.tag", "grandparent.tag"]]
    nlp.add_pipe("parse_reranker", config={"model": {"tag": tag}})
    toy.train(nlp, toy.sentences(60), sweeps=1).to_disk(tmp_path / "trained")
    dev = save(toy, tmp_path / "dev.spacy", toy.sentences(90)[60:])
    rerank_table.compare(
        str(tmp_path / "trained"), dev, tmp_path / "table.json", k="1,2,5", gold_tags=True
    )
    one, two, five = read(tmp_path / "table.json")
    assert one["oracle_best"] == one["oracle_worst"] == one["generative"] == one["reranked_uas"]
    assert one["oracle_best"] <= two["oracle_best"] <= five["oracle_best"]
    assert one["oracle_worst"] > two["oracle_worst"] > five["oracle_worst"]
    for row in (one, two, five):
        assert row["oracle_worst"] <= row["reranked_uas"] <= row["oracle_best"]
