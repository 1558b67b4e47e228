"""`hpyp cross-validate`: official scores of a treebank. Each part is parsed by a pipeline that has
learned from the others.
"""

import json
from pathlib import Path

import pytest
from command_line import run

from spacy_hpyp.cli import cross_validate as module
from spacy_hpyp.cli.cross_validate import _share, bootstrap
from spacy_hpyp.cli.udeval import text_of
from spacy_hpyp.treebanks.conllu import Block, documents_of, read_blocks

udeval = pytest.importorskip("udtools.udeval")

SAMPLE = Path(__file__).parents[2] / "assets" / "sample" / "en_sample-ud-dev.conllu"
QUICK = ["--training.max_steps", "2", "--training.eval_frequency", "1", "--folds", "2"]


@pytest.fixture(name="folder")
def files(toy, tmp_path):
    """A config that trains quickly, and a treebank without documents."""
    config = toy.nlp(particles=10).config
    for part in ("train", "dev"):
        config["corpora"][part] = {
            "@readers": "spacy-hpyp.ConlluCorpus.v1",
            "path": f"${{paths.{part}}}",
        }
    config.to_disk(tmp_path / "config.cfg")
    text = "".join(map(toy.conllu, toy.sentences(24)))
    # Sentences without a tree are skipped anywhere in the file.
    text = text.replace("0\troot", "_\t_", 1) + "1\tnothing\t_\tX\tNN\t_\t_\t_\t_\t_\n\n"
    (tmp_path / "gold.conllu").write_text(text, encoding="utf8")
    return tmp_path


def validate(folder, *options, exit_code=0):
    arguments = folder / "config.cfg", folder / "gold.conllu", "-o", folder / "folds"
    return run("hpyp", "cross-validate", *arguments, *QUICK, *options, exit_code=exit_code)


def test_scores_match_the_official_script_on_all_parts(folder, monkeypatch):
    parses = []
    parse_gold = module.parse_gold

    def listened(nlp, blocks, keep):
        parses.append((text_of(blocks), parse_gold(nlp, blocks, keep)))
        return parses[-1][1]

    monkeypatch.setattr(module, "parse_gold", listened)
    done = validate(folder)
    shown = done.stdout
    assert "leave out 2 of 25 sentences" in " ".join(done.stderr.split())
    assert len(parses) == 3
    (folder / "parsed.conllu").write_text("".join(text for _, text in parses), encoding="utf8")
    (folder / "held-out.conllu").write_text("".join(text for text, _ in parses), encoding="utf8")
    gold, system = (
        udeval.load_conllu_file(str(folder / name)) for name in ("held-out.conllu", "parsed.conllu")
    )
    found = json.loads((folder / "folds" / "scores.json").read_text(encoding="utf8"))
    for name, score in udeval.evaluate(gold, system).items():
        if name in ("UFeats", "Lemmas", "BLEX"):
            assert found[name] == {"score": None, "low": None, "high": None}
        elif name in found:
            assert found[name]["score"] == pytest.approx(score.f1)
            assert found[name]["low"] <= found[name]["score"] <= found[name]["high"]
            assert f"{100 * score.f1:.2f}" in shown


@pytest.fixture(name="trainings")
def saves_a_trained_pipeline(trained, monkeypatch):
    """Make training save a trained pipeline at once, and optionally interrupt the second call."""
    calls = []

    def train(config, folder, *_):
        calls.append(folder)
        if len(calls) == 2 and trainings["interrupted"]:
            raise ValueError("no power")
        trained.to_disk(folder / "model-best")

    trainings = {"calls": calls, "interrupted": False}
    monkeypatch.setattr(module, "_train", train)
    return trainings


def test_finished_parts_are_not_repeated(folder, trainings):
    trainings["interrupted"] = True
    assert "no power" in validate(folder, exit_code=1).stderr
    assert "Part 1" not in validate(folder).stdout
    validate(folder)
    assert len(trainings["calls"]) == 3
    files = sorted(path.name for path in (folder / "folds").iterdir())
    assert files == ["folds.json", "scores.json"]
    validate(folder, "--components.hpyp_parser.seed", "5")
    assert len(trainings["calls"]) == 5


@pytest.mark.usefixtures("trainings")
def test_a_learning_curve_ends_with_the_scores_of_the_whole_treebank(folder):
    assert "Learning curve" in validate(folder, "--curve").stdout
    curve, scores = (
        json.loads((folder / "folds" / f"{name}.json").read_text()) for name in ("curve", "scores")
    )
    assert list(curve) == ["1/10", "1/3", "2/3", "1"]
    assert curve["1"] == {name: each["score"] for name, each in scores.items()}


def test_larger_shares_contain_the_smaller_ones():
    documents = [[Block(10 * i + j) for j in range(3)] for i in range(20)]
    parts = [[block.line for block in _share(documents, share)] for share in (0.01, 0.1, 0.5, 1.0)]
    assert [len(part) for part in parts] == [3, 6, 30, 60]
    assert all(
        set(one) < set(other) and other == sorted(other) for one, other in zip(parts, parts[1:])
    )


def test_the_training_file_cannot_be_overridden(folder):
    assert (
        "--paths.train"
        in validate(folder, "--paths.train", folder / "gold.conllu", exit_code=1).stderr
    )


def test_the_guiding_parser_gets_its_settings_and_the_pipelines_classes(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(
        module, "train", lambda config, folder, overrides: calls.append((config, overrides))
    )
    monkeypatch.setattr(module, "guides", lambda *arguments: None)
    overrides = {"nlp.lang": "ta", "paths.classes": "classes.txt", "training.max_steps": 2}
    overrides["components.hpyp_parser.particles"] = 7
    config = Path(__file__).parents[2] / "configs" / "guided.cfg"
    module._train(config, tmp_path, {"train": "a", "dev": "b"}, overrides, "pool")
    (parser, of_parser), (pipeline, of_pipeline) = calls
    assert (parser, pipeline) == ("pool", config)
    assert of_parser["paths.classes"] == of_pipeline["paths.classes"] == "classes.txt"
    assert of_parser["nlp.lang"] == "ta"
    assert "training.max_steps" not in of_parser
    assert of_parser["components.hpyp_parser.particles"] == 7
    assert "components.hpyp_parser.particles" not in of_pipeline
    assert of_pipeline["paths.parser"] == str(tmp_path / "parser" / "model-last")


def test_documents_come_from_the_treebank_or_have_ten_sentences():
    blocks = list(read_blocks(SAMPLE))
    documents = documents_of(blocks, 2)
    assert [block for document in documents for block in document] == blocks
    assert len(documents) == 4
    bare = [Block(1)] * 23
    assert [len(document) for document in documents_of(bare, 2)] == [10, 10, 3]
    assert [len(document) for document in documents_of(bare, 5)] == [4, 4, 4, 4, 4, 3]


def test_bootstrap_intervals_match_the_normal_approximation():
    # 300 of 400 sentences of one token are right: the standard error is sqrt(0.75 * 0.25 / 400).
    counts = [(int(i < 300), 1) for i in range(400)]
    score, low, high = bootstrap(counts)
    error = (0.75 * 0.25 / 400) ** 0.5
    # A quantile of 1,000 samples has a standard error of about 0.08 of `error`; scores are
    # multiples of 1/400.
    assert score == 0.75
    assert low == pytest.approx(0.75 - 1.96 * error, abs=4 * 0.08 * error + 1 / 400)
    assert high == pytest.approx(0.75 + 1.96 * error, abs=4 * 0.08 * error + 1 / 400)
