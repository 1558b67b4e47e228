"""Selection of experts: left-out predictions, the weights fitted to them, the search, and the command."""

import json

import numpy as np
import pytest
import spacy
from seating import predictive_distribution
from spacy.tokens import Doc, DocBin
from thinc.api import Config
from typer.testing import CliRunner

from spacy_hpyp.annotation.documents import join, raw_sentences, read_gold
from spacy_hpyp.arc_standard.configuration import POSSIBLE
from spacy_hpyp.arc_standard.contexts import ELEMENTS, compile_contexts
from spacy_hpyp.arc_standard.distributions import DISTRIBUTIONS
from spacy_hpyp.arc_standard.events import observe, static_derivations
from spacy_hpyp.cli import hpyp
from spacy_hpyp.cli.select_contexts import _Journal, read_task
from spacy_hpyp.hpyp.franchise import TIER, deepest, reserve
from spacy_hpyp.hpyp.leave_one_out import leave_one_out, seat_observations
from spacy_hpyp.pools.fitting import ExpertPredictions, added_gains, fit_weights
from spacy_hpyp.text.elements import reads_classes
from spacy_hpyp.training import selection
from spacy_hpyp.training.selection import (
    CORE,
    LONGEST,
    Selection,
    extensions,
    first_candidates,
    select_experts,
)

#: What candidates are made of where it is not the search that is tested, but what goes on round it.
FEW = ("s1.tag", "s1.word", "w1.tag", "w2.tag")


def treebank(toy, sentences, **settings):
    """An initialised model and the encoded sentences."""
    nlp = toy.nlp(**{**toy.pools, **settings})
    parser = toy.parser(nlp)
    parser.initialize(lambda: toy.examples(nlp, sentences), nlp=nlp)
    encoder = parser.joint.encoder
    raw = [raw for sentence in sentences for raw in raw_sentences(toy.doc(nlp.vocab, sentence))]
    return parser.joint, join([encoder.encode(read_gold(sentence)) for sentence in raw])


@pytest.fixture(scope="module", name="bank")
def toy_treebank(toy):
    return treebank(toy, toy.sentences(30))


def observed(bank, distribution, names):
    model, sentences = bank
    elements, _, _ = compile_contexts([names], distribution)
    size = model.sizes[distribution]
    possible = POSSIBLE if distribution == "transition" else np.ones((1, size), dtype=bool)
    return observe(
        model.generated(distribution, sentences, static_derivations(sentences)), elements, possible
    )


def random_predictions(alphabet, experts=4, events=300, depths=3, seed=0, mixed=False):
    """What made-up experts say about events that one of them, the last, often knows."""
    rng = np.random.default_rng(seed)
    dish = rng.integers(alphabet, size=events).astype(np.int32)
    logits = rng.normal(size=(experts, events, alphabet))
    logits[-1, np.arange(events), dish] += 2.0
    logs = logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))
    if mixed:
        logs = np.take_along_axis(logs, dish[None, :, None].astype(np.int64), axis=2)
    possible = np.ones((2, alphabet), dtype=bool)
    possible[1, -1] = False
    kind = (rng.random(events) < 0.5).astype(np.int32) * (dish < alphabet - 1)
    depth = rng.integers(depths, size=(experts, events)).astype(np.int8)
    return ExpertPredictions(logs.astype(np.float32), depth, dish, kind.astype(np.int32), possible)


def pool_log_likelihood(predictions, experts, weights, mixed):
    """In plain NumPy."""
    total = 0.0
    for event, dish in enumerate(predictions.dish):
        weight = np.array([weights[m, predictions.depth[expert, event]] for m, expert in enumerate(experts)])
        logs = predictions.log_probability[experts, event].astype(np.float64)
        if mixed:
            total += np.log(np.exp(weight) @ np.exp(logs[:, 0]) / np.exp(weight).sum())
        else:
            energies = np.where(predictions.possible[predictions.kind[event]], weight @ logs, -np.inf)
            total += energies[dish] - np.log(np.exp(energies).sum())
    return total / len(predictions.dish)


NAMES = {
    "transition": ["s1.tag", "s2.tag", "s1.word"],
    "label": ["next.direction", "s1.tag", "s2.word"],
    "tag": ["w1.tag", "s1.word", "s2.tag"],
    "word": ["next.tag", "w1.word", "s1.tag"],
}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_leave_one_out_predicts_as_if_the_sentence_had_never_been_seen(bank, distribution):
    observations = observed(bank, distribution, NAMES[distribution])
    columns = [0, 1, 2]
    seated = seat_observations(observations, columns, np.random.default_rng(0), one_table=True)
    discount, strength = seated.discount.copy(), seated.strength.copy()
    groups = np.array([0, 3, 17])
    found, depth = leave_one_out(seated, observations, groups, np.random.default_rng(1), whole=True)
    again = seat_observations(observations, columns, np.random.default_rng(0), one_table=True)
    of_dish, same_depth = leave_one_out(again, observations, groups, np.random.default_rng(1), whole=False)
    np.testing.assert_array_equal(depth, same_depth)
    i = 0
    for group in groups:
        events = np.arange(observations.offsets[group], observations.offsets[group + 1])
        others = np.setdiff1d(np.arange(len(observations.dish)), events)
        rest = observations._replace(row=observations.row[others], dish=observations.dish[others])
        franchise = seat_observations(rest, columns, np.random.default_rng(2), one_table=True)
        franchise.discount[:], franchise.strength[:] = discount, strength
        expected = np.empty(observations.possible.shape[1])
        for event in events:
            row, dish = observations.row[event], observations.dish[event]
            predictive_distribution(franchise, 0, row, expected)
            np.testing.assert_allclose(found[i], np.log(expected), rtol=1e-5, atol=1e-6)
            assert of_dish[i, 0] == pytest.approx(np.log(expected[dish]), rel=1e-5, abs=1e-6)
            assert depth[i] == franchise.restaurants[deepest(franchise, 0, row), TIER]
            i += 1
    assert i == len(found)


def test_leave_one_out_leaves_everyone_seated(bank):
    observations = observed(bank, "tag", NAMES["tag"])
    for one_table in (True, False):
        rng = np.random.default_rng(0)
        every = np.arange(len(observations.offsets) - 1)
        # Where there is room already, none is made, and the franchise is the one to go on with.
        franchise = reserve(
            seat_observations(observations, [0, 1], rng, one_table=one_table), 2 * len(observations.dish)
        )
        twice = [leave_one_out(franchise, observations, every, rng, whole=True)[0] for _ in range(2)]
        if one_table:
            np.testing.assert_array_equal(*twice)
        assert np.isfinite(twice[1]).all()
        np.testing.assert_allclose(np.exp(twice[1].astype(np.float64)).sum(axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("mixed", [False, True])
def test_fitted_weights_are_where_the_likelihood_cannot_be_raised(mixed):
    predictions = random_predictions(6, mixed=mixed)
    experts = np.array([1, 3])
    weights, value = fit_weights(predictions, experts, np.zeros((2, 3)), mixed=mixed)
    assert value == pytest.approx(pool_log_likelihood(predictions, experts, weights, mixed), abs=1e-6)
    prior = np.sum(weights**2) / 2 / len(predictions.dish)
    rng = np.random.default_rng(1)
    for _ in range(30):
        other = weights + 0.3 * rng.normal(size=weights.shape)
        there = pool_log_likelihood(predictions, experts, other, mixed) - np.sum(other**2) / 2 / len(
            predictions.dish
        )
        assert there <= value - prior + 1e-4


@pytest.mark.parametrize("mixed", [False, True])
def test_added_gains_find_the_expert_that_knows(mixed):
    predictions = random_predictions(6, mixed=mixed)
    weights, _ = fit_weights(predictions, np.array([0]), np.zeros((1, 3)), mixed=mixed)
    gains = added_gains(predictions, np.array([0]), weights, np.array([1, 2, 3]), mixed=mixed)
    assert np.argmax(gains) == 2
    assert gains[2] > 0.1


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_candidates_are_distinct_lists_of_known_elements(distribution):
    own = [["s1.tag", "s2.tag", "s4.word"]] if distribution in ("transition", "tag") else []
    first = first_candidates(distribution, own)
    assert len(set(first)) == len(first) == len(own) + len(CORE) * (len(CORE) - 1)
    longer = extensions(first[-1])
    assert all(expert[:-1] == first[-1] and len(set(expert)) == len(expert) for expert in longer)
    assert not extensions(tuple(ELEMENTS)[:LONGEST])
    compile_contexts([*first, *longer], distribution)


def echoes(toy, count=60, seed=3):
    """Sentences in which a tag is that of the word before the last, nearly always; nothing else depends on
    anything.
    """
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(count):
        n, root = int(rng.integers(6, 13)), int(rng.integers(2, 6))
        tags = [int(rng.integers(4)) for _ in range(2)]
        while len(tags) < n:
            tags.append(tags[-2] if rng.random() < 0.9 else int(rng.integers(4)))
        heads = [root if i == root else i + 1 if i < root else i - 1 for i in range(n)]
        deps = ["ROOT" if i == root else str(rng.choice(["a", "b"])) for i in range(n)]
        words = [f"{'xyz'[rng.integers(3)]}" for _ in range(n)]
        sentences.append(toy.sentence(words, [f"T{tag}" for tag in tags], heads, deps))
    return sentences


@pytest.fixture(scope="module", name="echo_bank")
def echo_treebank(toy):
    return treebank(toy, echoes(toy), tag=[["s1.tag", "s1.word"]])


def select(bank, distribution="tag", core=FEW, **settings):
    settings = {"max_experts": 2, "min_gain": 0.004, "sample": 20, **settings}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "CORE", core)
        return select_experts(*bank, distribution, **settings)


def test_the_first_expert_begins_with_the_element_that_decides(echo_bank):
    found = select(echo_bank, core=CORE, sample=40)
    assert found.experts[0][0] == "w2.tag"
    assert found.steps[-1].log_likelihood > found.own_log_likelihood + 0.3


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_the_log_likelihood_rises_with_every_step(bank, distribution):
    found = select(bank, distribution)
    values = [step.log_likelihood for step in found.steps]
    # A word is two transitions at most, so that 0.004 nats for each word are no less than 0.002 for each
    # event.
    assert all(after >= before + 0.002 for before, after in zip(values, values[1:]))
    assert 1 <= len(set(found.experts)) == len(found.experts) <= 2
    for step in found.steps:
        assert step.instead_of in (None, step.expert[:-1])


def test_the_selection_does_not_depend_on_threads_or_on_when_it_is_made(echo_bank):
    first = select(echo_bank, seed=4)
    assert select(echo_bank, seed=4, threads=2) == first


def test_a_selection_goes_on_from_where_it_was(bank):
    noted = []
    expected = select(bank, "word", report=lambda found: noted.append(json.dumps(found.to_dict())))
    assert len(noted) == len(expected.steps) + 1 > 2
    for stored in (noted[0], noted[len(noted) // 2]):
        found = select(bank, "word", begun=Selection.from_dict(json.loads(stored)))
        assert found == expected
        np.testing.assert_array_equal(found.weights, expected.weights)


def test_candidates_are_counted_while_they_are_seated(echo_bank):
    seen = []
    found = select(echo_bank, progress=lambda done, candidates: seen.append((done, candidates)))
    assert seen[0] == (1, seen[0][1])
    assert sum(done == candidates for done, candidates in seen) == len(found.steps) + 1
    assert sum(candidates for done, candidates in seen if done == candidates) == found.considered


def test_sampled_seating_and_labels_within_transitions_can_be_selected_for(toy):
    paper = {
        "seating": "sampled",
        "transition": [["s1.tag"]],
        "label": [],
        "tag": [["s1.tag"]],
        "word": [["next.tag"]],
    }
    bank = treebank(toy, toy.sentences(20), **paper)
    for distribution in ("transition", "word"):
        found = select(bank, distribution, max_experts=1)
        assert found.steps[-1].log_likelihood >= found.own_log_likelihood - 0.05
    with pytest.raises(ValueError, match="no context lists for the label"):
        select(bank, "label")


@pytest.mark.parametrize(
    "setting",
    [
        {"max_experts": 0},
        {"min_gain": 0.0},
        {"sample": 0},
        {"min_gain": float("nan")},
        {"min_gain": float("inf")},
    ],
)
def test_settings_out_of_range_are_refused(bank, setting):
    with pytest.raises(ValueError, match="must be at least 1"):
        select(bank, **setting)


def write_data(toy, path, sentences):
    vocab = spacy.blank("en").vocab
    DocBin(docs=[toy.doc(vocab, sentence) for sentence in sentences], store_user_data=True).to_disk(path)
    return path


@pytest.fixture(name="files")
def config_and_data(toy, tmp_path):
    config = toy.nlp(**toy.pools).config
    config.to_disk(tmp_path / "config.cfg")
    return tmp_path / "config.cfg", write_data(toy, tmp_path / "train.spacy", toy.sentences(20))


def run(*arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "CORE", FEW)
        return CliRunner().invoke(hpyp, ["select-contexts", *map(str, arguments)])


def test_the_written_config_differs_in_its_context_lists_only(files, tmp_path):
    output = tmp_path / "new" / "selected.cfg"
    options = [
        "--max-experts",
        "2",
        "--max-experts",
        "tag=1",
        "--sentences",
        "5",
        "--components.hpyp_parser.seed",
        "7",
    ]
    result = run(*files, output, *options)
    assert result.exit_code == 0, result.output
    before, after = (Config().from_disk(path) for path in (files[0], output))
    assert after["components"]["hpyp_parser"].pop("seed") == 7
    before["components"]["hpyp_parser"].pop("seed")
    models = [config["components"]["hpyp_parser"]["model"] for config in (before, after)]
    lists = [{name: model.pop(name) for name in DISTRIBUTIONS} for model in models]
    assert before == after
    assert lists[0] != lists[1]
    assert len(lists[1]["tag"]) == 1
    for name, experts in lists[1].items():
        assert 1 <= len(experts) <= 2
        assert f"{', '.join(experts[0])}" in result.output
        assert name in result.output
    nlp = spacy.util.load_model_from_config(Config().from_disk(output))
    assert nlp.pipe_names == ["hpyp_parser"]


QUICK = ["--max-experts", "1", "--sentences", "5"]


def interrupt(monkeypatch, distribution):
    """Have the command be interrupted when it has noted how far a distribution has come."""

    def note(journal, selection, note=_Journal.note, **ended):
        note(journal, selection, **ended)
        if selection.distribution == distribution:
            raise KeyboardInterrupt

    monkeypatch.setattr(_Journal, "note", note)


def interrupted(files, output, monkeypatch, distribution):
    """The output of a command that is interrupted, and the model of the config that it writes."""
    with monkeypatch.context() as patched:
        interrupt(patched, distribution)
        result = run(*files, output, *QUICK)
    assert result.exit_code == 130
    assert "Interrupted" in result.output
    config = Config().from_disk(output)
    assert spacy.util.load_model_from_config(config).pipe_names == ["hpyp_parser"]
    return result.output, config["components"]["hpyp_parser"]["model"]


def test_elements_that_read_classes_are_candidates_where_the_config_reads_some(files, tmp_path):
    (tmp_path / "classes.txt").write_text("0\tdog\t3\n1\tsees\t4\n", encoding="utf8")
    config = Config().from_disk(files[0])
    reader = {"@callbacks": "spacy-hpyp.WordClasses.v1", "path": str(tmp_path / "classes.txt")}
    config["initialize"]["before_init"] = reader
    config.to_disk(files[0])
    task = read_task(*files, {})
    found = select_experts(task.parser.joint, task.sentences, "tag", max_experts=2, sample=5)
    assert reads_classes(name for expert in found.candidates for name in expert)


def test_an_interrupted_selection_is_written_and_goes_on(files, tmp_path, monkeypatch):
    whole, output = tmp_path / "whole.cfg", tmp_path / "out.cfg"
    assert run(*files, whole, *QUICK).exit_code == 0
    own, selected = (
        Config().from_disk(path)["components"]["hpyp_parser"]["model"] for path in (files[0], whole)
    )
    _, model = interrupted(files, output, monkeypatch, "transition")
    assert model == own
    shown, model = interrupted(files, output, monkeypatch, "tag")
    assert "Goes on from" in shown
    assert model["transition"] == selected["transition"] != own["transition"]
    assert model["word"] == own["word"] != selected["word"]
    result = run(*files, output, *QUICK)
    assert result.exit_code == 0
    assert output.read_text() == whole.read_text()
    assert sorted(tmp_path.glob("*.json")) == []


@pytest.mark.parametrize(
    ("noted", "problem"),
    [('{"task": "x"}', "another selection"), ('{"task": ', "damaged"), ("[]", "damaged")],
)
def test_what_was_noted_of_another_selection_is_not_used(files, tmp_path, monkeypatch, noted, problem):
    output = tmp_path / "out.cfg"
    (tmp_path / "out.cfg.progress.json").write_text(noted)
    shown, _ = interrupted(files, output, monkeypatch, "transition")
    assert f"it is {'of ' if problem[0] == 'a' else ''}{problem}" in " ".join(shown.split())


def test_a_config_without_a_parser_is_refused(files, tmp_path):
    spacy.blank("en").config.to_disk(files[0])
    result = run(*files, tmp_path / "out.cfg")
    assert result.exit_code == 1
    assert "one component with factory" in result.output
    assert not (tmp_path / "out.cfg").exists()


def test_data_without_trees_are_refused(files, tmp_path):
    vocab = spacy.blank("en").vocab
    DocBin(docs=[Doc(vocab, words=["bare", "words"])]).to_disk(files[1])
    result = run(*files, tmp_path / "out.cfg")
    assert result.exit_code == 1
    assert "complete tree" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-experts", "tags=3"], "transition=3, label=2, tag=2, word=2"),
        (["--max-experts", "0"], "--max-experts is a number"),
        (["--min-gain", "0"], "must be a number above 0"),
        (
            ["--components.hpyp_parser.model.tag", '[["s9.tag"]]'],
            "'s9.tag' in 'tag' is not a context element",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(files, tmp_path, arguments, message):
    result = run(*files, tmp_path / "out.cfg", *arguments)
    assert result.exit_code == 1
    assert message in " ".join(result.output.split())
