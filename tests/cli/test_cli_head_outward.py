"""What the commands make of pipelines with a head_outward_parser."""

import pytest
import spacy
import srsly
from command_line import run
from spacy.tokens import DocBin

from spacy_hpyp.cli.papers import head_outward


@pytest.fixture(scope="module")
def folder(toy, tmp_path_factory):
    """Treebanks, and a pipeline whose tagger gives all words the same tag."""
    folder = tmp_path_factory.mktemp("head_outward")
    nlp = spacy.blank("en")
    nlp.add_pipe("easy_first_tagger", config={"model": {"places": 2**13}})
    nlp.add_pipe("head_outward_parser")
    sentences = toy.sentences(90)
    confused = [
        toy.sentence(each.words, ["NN"] * len(each.words), each.heads, each.deps) for each in sentences
    ]
    nlp.get_pipe("easy_first_tagger").initialize(lambda: toy.examples(nlp, confused), nlp=nlp)
    nlp.get_pipe("head_outward_parser").initialize(lambda: toy.examples(nlp, sentences), nlp=nlp)
    for _ in range(3):
        nlp.update(toy.examples(nlp, sentences), exclude=["easy_first_tagger"])
        nlp.update(toy.examples(nlp, confused), exclude=["head_outward_parser"])
    nlp.to_disk(folder / "trained")
    # Few know nothing of the tags of one sentence.
    new = toy.sentences(120)[90:]
    parts = {"train": sentences, "dev": new, "few": sentences[2:20], "hard": [toy.non_projective, *new]}
    for name, part in parts.items():
        DocBin(docs=[toy.doc(nlp.vocab, *part[i : i + 3]) for i in range(0, len(part), 3)]).to_disk(
            folder / f"{name}.spacy"
        )
    return folder


def test_evaluation_with_gold_tags_takes_the_tagger_out(folder, tmp_path):
    found = {}
    for name, options in (
        ("own", []),
        ("gold", ["--gold-tags"]),
        ("mbr", ["--gold-tags", "--decoding", "mbr", "-t", 2]),
    ):
        output = tmp_path / f"{name}.json"
        run("hpyp", "evaluate", folder / "trained", folder / "dev.spacy", "--output", output, *options)
        found[name] = srsly.read_json(output)
    assert found["own"]["tag_acc"] < 0.5
    assert found["own"]["dep_uas"] < found["gold"]["dep_uas"]
    for name in ("gold", "mbr"):
        assert found[name]["dep_uas"] > 0.9
        assert found[name]["dep_las"] > 0.9
        assert found[name]["complete_match"] > 0.7
    done = run("hpyp", "evaluate", folder / "trained", folder / "dev.spacy", "-K", 10, exit_code=1)
    assert "'particles' is a setting of hpyp_parser" in " ".join(done.output.split())


def test_its_probabilities_can_be_calibrated(folder, tmp_path):
    files, output = (folder / "trained", folder / "dev.spacy"), tmp_path / "scores.json"
    table = run("hpyp", "evaluate", "--calibration", *files, "-o", output, "-t", 2).output
    found = srsly.read_json(output)["calibration"]
    assert 0.0 <= found["heads"]["expected_calibration_error"] <= 1.0
    assert found["heads"]["tokens"] > 100
    assert found["tags"]["tokens"] == 0
    assert "head_prob, gold sentences" in table
    assert "tag_prob" not in table
    done = run("hpyp", "evaluate", *files, "-T", 2, exit_code=1)
    assert "'temperature' is a setting of hpyp_parser" in " ".join(done.output.split())


def test_the_figure_of_the_paper_has_a_row_for_each_estimator(folder, tmp_path):
    output = tmp_path / "new" / "figure.json"
    options = ["--sweeps", 2, "--seed", 1, "--threads", 2, "--output", output]
    printed = run(
        "hpyp", "papers", "head-outward", folder / "few.spacy", folder / "hard.spacy", *options
    ).output
    found = srsly.read_json(output)
    assert (found["sweeps"], found["seed"], found["decoding"]) == (2, 1, "best")
    models = found["models"]
    kinds = {(each["prior"], each["counts"], each["hyperparameters"]) for each in models}
    assert len(kinds) == len(models) == 9
    assert (models[0]["prior"], models[0]["errors_fewer"]) == ("eisner", 0.0)
    for each in models:
        assert 0.7 < each["dep_uas"] < 1.0
        assert f"{100 * each['dep_uas']:.2f}" in printed
        wrong = [1.0 - model["dep_uas"] for model in (each, models[0])]
        assert each["errors_fewer"] == pytest.approx(1.0 - wrong[0] / wrong[1])
        assert -10.0 < each["token_log_prob"] < 0.0


def test_the_figure_is_fixed_by_its_seed_whatever_the_number_of_threads(folder):
    # The last of them samples all that there is.
    found = [
        list(head_outward(folder / "train.spacy", folder / "dev.spacy", sweeps=2, seed=seed, threads=threads))
        for seed, threads in ((1, 1), (1, 2), (2, 1))
    ]
    assert found[0] == found[1]
    assert found[0][0] == found[2][0]
    assert found[0][-1].token_log_prob != found[2][-1].token_log_prob
