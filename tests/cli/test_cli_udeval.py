"""`hpyp udeval` and `hpyp cross-validate`: the official scores of pipelines."""

import json
import re
from pathlib import Path

import pytest
from command_line import run, said

from spacy_hpyp.cli import udeval as module
from spacy_hpyp.cli.udeval import METRICS, _share, bootstrap, text_of
from spacy_hpyp.treebanks.conllu import Block, documents_of, read_blocks

udeval = pytest.importorskip("udtools.udeval")

SAMPLE = Path(__file__).parents[2] / "assets" / "sample" / "en_sample-ud-dev.conllu"
QUICK = ["--training.max_steps", "2", "--training.eval_frequency", "1", "--folds", "2"]
CYCLE = "1\ta\t_\t_\t_\t_\t2\tdep\t_\t_\n2\tb\t_\t_\t_\t_\t1\tdep\t_\t_\n\n"


def official_scores(gold, system):
    """The scores that the script gives two files."""
    return udeval.evaluate(*(udeval.load_conllu_file(str(path)) for path in (gold, system)))


@pytest.fixture(scope="module")
def gold(toy, tmp_path_factory):
    """A treebank with multiword tokens and paragraphs."""
    text = ""
    for number, sentence in enumerate(toy.sentences(12, seed=3)):
        text += "# newpar\n" if number % 4 == 0 else ""
        text += toy.conllu(sentence, [len(sentence.words) - 1])
    path = tmp_path_factory.mktemp("udeval") / "gold.conllu"
    path.write_text(text.replace("\t_\tX\t", "\tlemma\tNOUN\t"), encoding="utf8")
    return path


@pytest.fixture(scope="module")
def scores(saved, gold):
    output = gold.with_name("scores.json")
    shown = run("hpyp", "udeval", saved, gold, "-o", output).output
    return shown, json.loads(output.read_text(encoding="utf8"))


@pytest.mark.parametrize("keep", ["text", "sentences", "words"])
def test_scores_match_the_official_script(saved, gold, scores, keep, tmp_path):
    shown, found = scores
    run("hpyp", "parse", saved, gold, "-o", tmp_path / "parsed.conllu", "--keep", keep)
    expected = official_scores(gold, tmp_path / "parsed.conllu")
    for name in METRICS:
        # The pipeline predicts no lemmas or parts of speech, and kept ones are not its own.
        if keep == "words" and name in ("Lemmas", "UPOS", "MLAS", "BLEX"):
            assert found[keep][name] == 0.0
        elif name != "UFeats":
            assert found[keep][name] == pytest.approx(expected[name].f1)
            assert f"{100 * expected[name].f1:.2f}" in shown


def test_sentences_without_a_tree_are_skipped_and_reported(saved, gold, scores, write, tmp_path):
    path = write(CYCLE + gold.read_text(encoding="utf8") + CYCLE, "gold.conllu")
    arguments = "hpyp", "udeval", saved, path, "-o", tmp_path / "scores.json"
    assert "leave out 2 of 14 sentences" in said(*arguments, exit_code=0)
    assert json.loads((tmp_path / "scores.json").read_text(encoding="utf8")) == scores[1]


def test_few_sentences_get_an_interval_and_empty_columns_no_score(scores):
    shown, found = scores
    low, high = map(float, re.search(r"between ([0-9.]+) and\s+([0-9.]+)", shown).groups())
    assert low <= 100 * found["sentences"]["LAS"] <= high
    assert [found["text"][name] for name in ("UFeats", "Lemmas")] == [None, 0.0]


def test_given_sentences_and_words_score_perfectly(scores):
    _, found = scores
    assert found["sentences"]["Sentences"] == found["words"]["Sentences"] == 1.0
    assert found["words"]["Words"] == found["words"]["Tokens"] == 1.0
    assert found["text"]["Tokens"] < 1.0
    assert found["words"]["LAS"] > 0.5


@pytest.mark.parametrize(
    ("text", "problem"),
    [(CYCLE, "No sentence"), ("1\t\t_\t_\t_\t_\t0\troot\t_\t_\n\n", "official script cannot read")],
)
def test_a_treebank_without_trees_or_with_an_empty_form_is_rejected(saved, write, text, problem):
    assert problem in said("hpyp", "udeval", saved, write(text, "bad.conllu"))


@pytest.fixture(name="folder")
def files(toy, tmp_path):
    """A config that trains quickly, and a treebank without documents."""
    config, reader = toy.nlp(particles=10).config, {"@readers": "spacy-hpyp.ConlluCorpus.v1"}
    for part in ("train", "dev"):
        config["corpora"][part] = {**reader, "path": f"${{paths.{part}}}"}
    config.to_disk(tmp_path / "config.cfg")
    text = "".join(map(toy.conllu, toy.sentences(24)))
    # Sentences without a tree are skipped anywhere in the file.
    text = text.replace("0\troot", "_\t_", 1) + "1\tnothing\t_\tX\tNN\t_\t_\t_\t_\t_\n\n"
    (tmp_path / "gold.conllu").write_text(text, encoding="utf8")
    return tmp_path


def validate(folder, *options, exit_code=0):
    arguments = folder / "config.cfg", folder / "gold.conllu", "-o", folder / "folds"
    return run("hpyp", "cross-validate", *arguments, *QUICK, *options, exit_code=exit_code)


def test_scores_match_the_official_script_on_all_parts(folder, monkeypatch, write):
    parses, parse_gold = [], module.parse_gold

    def listened(nlp, blocks, keep):
        parses.append((text_of(blocks), parse_gold(nlp, blocks, keep)))
        return parses[-1][1]

    monkeypatch.setattr(module, "parse_gold", listened)
    done = validate(folder)
    assert "leave out 2 of 25 sentences" in " ".join(done.stderr.split())
    assert len(parses) == 3
    files = (write("".join(texts), f"{i}.conllu") for i, texts in enumerate(zip(*parses)))
    found = json.loads((folder / "folds" / "scores.json").read_text(encoding="utf8"))
    for name, score in official_scores(*files).items():
        if name in ("UFeats", "Lemmas", "BLEX"):
            assert found[name] == {"score": None, "low": None, "high": None}
        elif name in found:
            assert found[name]["score"] == pytest.approx(score.f1)
            assert found[name]["low"] <= found[name]["score"] <= found[name]["high"]
            assert f"{100 * score.f1:.2f}" in done.stdout


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
    for one, other in zip(parts, parts[1:]):
        assert set(one) < set(other)
        assert other == sorted(other)


def test_the_training_file_cannot_be_overridden(folder):
    done = validate(folder, "--paths.train", folder / "gold.conllu", exit_code=1)
    assert "--paths.train" in done.stderr


def test_the_guiding_parser_gets_its_settings_and_the_pipelines_classes(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(module, "train", lambda *one, overrides: calls.append((one[0], overrides)))
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
    expected = [0.75 - 1.96 * error, 0.75 + 1.96 * error]
    assert [low, high] == pytest.approx(expected, abs=4 * 0.08 * error + 1 / 400)
