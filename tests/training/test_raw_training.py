"""Learning from raw text."""

import errno
import shutil
from itertools import islice

import numpy as np
import pytest
import srsly
from typer.testing import CliRunner

from spacy_hpyp.annotation.arrays import Blocks, Parses
from spacy_hpyp.cli import hpyp
from spacy_hpyp.training.raw_training import (
    last_checkpoint,
    learn_from_trees,
    parse_texts,
    parsed_sentences,
    save_checkpoint,
)


def learn(toy, nlp, texts, output, **options):
    """Let the parser of a pipeline learn, as it is set to parse."""
    parser = toy.parser(nlp)
    how = {name: options.pop(name) for name in ("segmented", "batch_words") if name in options}
    remaining = islice(texts, last_checkpoint(output)[1].texts, None)
    parsed = parse_texts(parser.joint, remaining, search=parser.search, threads=parser.threads, **how)
    settings = {"seed": parser.seed, "threads": parser.threads}
    return learn_from_trees(parser.joint, parsed, output, save=nlp.to_disk, **settings, **options)


@pytest.fixture(scope="module")
def pipeline(toy, tmp_path_factory):
    path = tmp_path_factory.mktemp("pipeline") / "model"
    toy.trained(**toy.pools).to_disk(path)
    return path


@pytest.fixture(scope="module")
def text(toy, tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(" ".join(s.words) for s in toy.sentences(60, seed=3)) + "\n", encoding="utf8")
    return path


def words_of(text):
    return [line.split() for line in text.read_text(encoding="utf8").splitlines()]


def run(*arguments):
    return CliRunner().invoke(hpyp, ["learn-text", *map(str, arguments)])


def said(*arguments):
    """What a command says is wrong, whatever the width of the terminal."""
    return " ".join(run(*arguments).stderr.split())


def load(toy, path):
    return toy.nlp(**toy.pools).from_disk(path)


def test_found_sentences_begin_where_another_tree_begins():
    none = np.full(5, np.nan)
    blocks = Blocks(
        words=np.arange(5, dtype=np.int32),
        tags=np.full(5, -1, dtype=np.int32),
        may_start=np.ones(5, dtype=bool),
        offsets=np.array([0, 4, 5]),
    )
    heads, labels = np.array([1, -1, -1, 2, -1], dtype=np.int32), np.array([0, -1, -1, 1, -1], dtype=np.int32)
    parses = Parses(heads, labels, np.arange(5, dtype=np.int32), none, none, none, none, none)
    sentences = parsed_sentences(blocks, parses)
    assert sentences.offsets.tolist() == [0, 2, 4, 5]
    assert sentences.words.tolist() == [0, 1, 2, 3, 4]
    assert sentences.heads.tolist() == [1, -1, -1, 0, -1]
    assert sentences.labels.tolist() == labels.tolist()


@pytest.mark.parametrize(
    ("learning", "learned"), [("words", ["word"]), ("all", ["transition", "label", "tag", "word"])]
)
def test_only_the_chosen_distributions_learn(toy, pipeline, text, tmp_path, learning, learned):
    before = toy.customers(load(toy, pipeline))
    assert run(pipeline, text, tmp_path, "--tokenized", "--learning", learning).exit_code == 0
    after = toy.customers(load(toy, tmp_path / "model-last"))
    assert sorted(name for name in after if after[name] > before[name]) == sorted(learned)
    assert after["word"] - before["word"] == sum(map(len, words_of(text)))


def test_text_that_was_read_becomes_more_probable(toy, pipeline, text, tmp_path):
    before = load(toy, pipeline)
    assert run(pipeline, text, tmp_path, "--tokenized").exit_code == 0
    after = load(toy, tmp_path / "model-last")
    found = [sum(nlp(" ".join(words))._.log_prob for words in words_of(text)) for nlp in (before, after)]
    assert found[1] > found[0]


def test_settings_of_learning_are_not_those_of_the_pipeline_that_is_saved(toy, pipeline, text, tmp_path):
    assert run(pipeline, text, tmp_path, "--tokenized", "-K", "3", "--threads", "2").exit_code == 0
    before, after = (toy.parser(load(toy, path)).settings for path in (pipeline, tmp_path / "model-last"))
    assert after == before


def test_running_text_is_segmented_by_the_parser(toy, pipeline, text, tmp_path):
    running = tmp_path / "running.txt"
    running.write_text(text.read_text(encoding="utf8").replace("\n", " "), encoding="utf8")
    result = run(pipeline, running, tmp_path / "out", "--running")
    assert result.exit_code == 0
    sentences = int(result.stdout.split(" words in ")[1].split()[0].replace(",", ""))
    assert 40 < sentences < 90


def test_an_interrupted_run_goes_on_from_its_checkpoint(toy, pipeline, text, tmp_path):
    options = {"segmented": True, "batch_words": 60, "checkpoint_words": 100}

    def steps(output, nlp):
        return learn(toy, nlp, words_of(text), output, **options)

    whole = load(toy, pipeline)
    *_, end = steps(tmp_path / "whole", whole)
    killed = steps(tmp_path / "killed", load(toy, pipeline))
    for _ in range(4):
        next(killed)
    killed.close()
    checkpoint, done = last_checkpoint(tmp_path / "killed")
    assert 0 < done.words < end.words
    resumed = load(toy, checkpoint)
    *_, again = steps(tmp_path / "killed", resumed)
    # What is saved leaves empty restaurants out, so the last digits of predictions may differ.
    assert (again.texts, again.words) == (end.texts, end.words)
    assert again.log_prob == pytest.approx(end.log_prob, rel=1e-4)
    assert toy.customers(resumed) == toy.customers(whole)
    assert last_checkpoint(tmp_path / "killed")[0] is None
    assert sorted(path.name for path in (tmp_path / "killed").iterdir()) == ["model-last"]


def test_a_checkpoint_is_not_written_over_by_mistake(toy, pipeline, text, tmp_path):
    nlp = load(toy, pipeline)
    steps = learn(toy, nlp, words_of(text), tmp_path, segmented=True, batch_words=60, checkpoint_words=60)
    next(steps)
    steps.close()
    assert "--resume" in said(pipeline, text, tmp_path, "--tokenized")
    assert run(pipeline, text, tmp_path, "--tokenized", "--resume").exit_code == 0


def test_a_damaged_checkpoint_is_reported(toy, pipeline, text, tmp_path):
    nlp = load(toy, pipeline)
    save_checkpoint(nlp.to_disk, tmp_path, last_checkpoint(tmp_path)[1])
    (tmp_path / "progress.json").write_text("{", encoding="utf8")
    result = run(pipeline, text, tmp_path, "--resume")
    assert result.exit_code == 1
    assert "cannot be read" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    "state",
    [
        [],
        {},
        {"checkpoint": "checkpoint-0"},
        {"texts": -1},
        {"texts": 1.5},
        {"words": "many"},
        {"log_prob": None},
        {"more": 1},
        {"checkpoint": "elsewhere"},
        {"checkpoint": None},
    ],
)
def test_a_checkpoint_is_checked_before_it_is_gone_on_from(toy, pipeline, tmp_path, state):
    save_checkpoint(load(toy, pipeline).to_disk, tmp_path, last_checkpoint(tmp_path)[1])
    if isinstance(state, dict) and len(state) == 1 and "checkpoint-0" not in state.values():
        state = {**srsly.read_json(tmp_path / "progress.json"), **state}
    srsly.write_json(tmp_path / "progress.json", state)
    if state == {"checkpoint": "checkpoint-0"}:
        assert last_checkpoint(tmp_path)[0] == tmp_path / "checkpoint-0"
        return
    with pytest.raises(ValueError, match="cannot be read"):
        last_checkpoint(tmp_path)


@pytest.mark.parametrize(
    "error", [MemoryError(), RecursionError(), OSError(errno.EACCES, "Permission denied")]
)
def test_an_error_that_is_not_the_checkpoint_s_comes_through(toy, pipeline, tmp_path, monkeypatch, error):
    save_checkpoint(load(toy, pipeline).to_disk, tmp_path, last_checkpoint(tmp_path)[1])

    def fail(*_):
        raise error

    monkeypatch.setattr(srsly, "read_json", fail)
    with pytest.raises(type(error)) as found:
        last_checkpoint(tmp_path)
    assert found.value is error


def no_space(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupt(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize("failure", [no_space, pytest.param(interrupt, marks=pytest.mark.slow)])
@pytest.mark.parametrize("saved", [True, False], ids=["after a checkpoint", "before the first one"])
@pytest.mark.parametrize("place", ["os.fsync", "spacy_hpyp.models.joint_model.JointModel.to_bytes"])
def test_a_checkpoint_that_cannot_be_saved_leaves_the_one_before(
    toy, pipeline, text, tmp_path, monkeypatch, failure, saved, place
):
    nlp = load(toy, pipeline)
    options = {"segmented": True, "batch_words": 60, "checkpoint_words": 60}
    steps = learn(toy, nlp, words_of(text), tmp_path, **options)
    if saved:
        next(steps)
    before = last_checkpoint(tmp_path)
    with monkeypatch.context() as failing:
        failing.setattr(place, failure)
        with pytest.raises((OSError, KeyboardInterrupt)):
            next(steps)
    assert last_checkpoint(tmp_path) == before
    assert run(pipeline, text, tmp_path, "--tokenized", *["--resume"][:saved]).exit_code == 0
    learned = (
        toy.customers(load(toy, tmp_path / "model-last"))["word"] - toy.customers(load(toy, pipeline))["word"]
    )
    assert learned == sum(map(len, words_of(text)))
    assert [path.name for path in tmp_path.iterdir()] == ["model-last"]


@pytest.mark.parametrize("failure", [no_space, pytest.param(interrupt, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "place",
    [
        "os.fsync",
        "spacy_hpyp.models.joint_model.JointModel.to_bytes",
        "spacy_hpyp.training.raw_training.replace_folder",
    ],
)
def test_a_pipeline_that_cannot_be_saved_leaves_the_one_before_and_the_checkpoint(
    toy, pipeline, text, tmp_path, monkeypatch, failure, place
):
    assert run(pipeline, text, tmp_path, "--tokenized").exit_code == 0
    before = {path: path.read_bytes() for path in (tmp_path / "model-last").rglob("*") if path.is_file()}
    nlp = load(toy, pipeline)
    end = sum(map(len, words_of(text)))
    steps = learn(toy, nlp, words_of(text), tmp_path, segmented=True, batch_words=60, checkpoint_words=200)
    while next(steps).words < end:
        pass
    checkpoint = last_checkpoint(tmp_path)
    assert checkpoint[0] is not None
    with monkeypatch.context() as failing:
        failing.setattr(place, failure)
        with pytest.raises((OSError, KeyboardInterrupt)):
            next(steps)
    assert last_checkpoint(tmp_path) == checkpoint
    assert {
        path: path.read_bytes() for path in (tmp_path / "model-last").rglob("*") if path.is_file()
    } == before
    assert run(pipeline, text, tmp_path, "--tokenized", "--resume").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["model-last"]


def test_a_finished_run_that_is_interrupted_while_it_tidies_up_is_finished(
    toy, pipeline, text, tmp_path, monkeypatch
):
    nlp = load(toy, pipeline)
    steps = learn(toy, nlp, words_of(text), tmp_path, segmented=True, batch_words=60, checkpoint_words=100)
    rmtree = shutil.rmtree

    def fail_at_a_checkpoint(path, **options):
        if path.name[-1].isdigit() and (tmp_path / "model-last").exists():
            interrupt()
        rmtree(path, **options)

    monkeypatch.setattr(shutil, "rmtree", fail_at_a_checkpoint)
    with pytest.raises(KeyboardInterrupt):
        list(steps)
    monkeypatch.undo()
    assert last_checkpoint(tmp_path)[0] is None
    assert toy.customers(load(toy, tmp_path / "model-last")) == toy.customers(nlp)


@pytest.mark.parametrize("setting", ["batch_words", "checkpoint_words"])
@pytest.mark.parametrize("value", [0, -1, 1.5])
def test_numbers_of_words_that_make_no_sense_are_refused(toy, pipeline, text, tmp_path, setting, value):
    nlp = load(toy, pipeline)
    with pytest.raises(ValueError, match=f"'{setting}' must be a whole number"):
        next(learn(toy, nlp, words_of(text), tmp_path / "x", segmented=True, **{setting: value}))
    assert not (tmp_path / "x").exists()


def test_a_text_without_words_leaves_what_was_learned_before(pipeline, text, tmp_path):
    assert run(pipeline, text, tmp_path, "--tokenized").exit_code == 0
    before = (tmp_path / "model-last" / "hpyp_parser" / "model").read_bytes()
    (tmp_path / "empty.txt").write_text("\n", encoding="utf8")
    assert "no words" in said(pipeline, tmp_path / "empty.txt", tmp_path)
    assert (tmp_path / "model-last" / "hpyp_parser" / "model").read_bytes() == before


def test_bad_input_has_a_message(pipeline, tmp_path):
    empty, binary = tmp_path / "empty.txt", tmp_path / "binary.txt"
    empty.write_text("\n \n", encoding="utf8")
    binary.write_bytes(b"\xff\xfe\x00")
    assert "no words" in said(pipeline, empty, tmp_path / "a")
    assert "UTF-8" in said(pipeline, binary, tmp_path / "b")
    assert "no checkpoint" in said(pipeline, empty, tmp_path / "c", "--resume")
