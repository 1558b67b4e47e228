"""Saving and loading: nothing is lost, damaged files are refused, and a failure leaves what was there before."""

import errno
import json
import os
import pickle
import random
import sys
from dataclasses import asdict
from functools import partial

import damage
import numpy as np
import pytest
import spacy
import srsly
from damage import Victim, files_below, interrupt, no_space
from numba.core.errors import NumbaError, TypingError
from thinc.api import Config

from spacy_hpyp.annotation.confidence import Passage
from spacy_hpyp.components.settings import ParserSettings
from spacy_hpyp.language_model.ngram import train_ngram_model
from spacy_hpyp.storage.arrays import pack_integers, unpack_integers

TEXT = "the dog sees a cat . Zenobia sleeps near Kim ."
ARRAYS = ("children", "symbol", "dishes", "dish", "customers", "tables", "kinds", "size", "count")
DISTRIBUTIONS = ("transition", "tag", "word")
# What is stored of the others is read by the same code.
FIRST_OF_ALL = ("transition", *(pytest.param(name, marks=pytest.mark.slow) for name in ("tag", "word")))


@pytest.fixture(scope="module")
def small(toy):
    """A small trained pipeline; tests do not change it."""
    return toy.trained(toy.sentences(15))


@pytest.fixture(scope="module")
def others(toy):
    """A pipeline trained on other sentences; tests do not change it."""
    return toy.trained(toy.sentences(6, seed=9))


@pytest.fixture(scope="module")
def model_file(toy, small):
    """The content of its model file as it was before files had checksums: what is wrong with it has to be
    seen by itself.
    """
    return toy.parser(small).model.to_bytes()


def victim_of(toy, nlp, annotation, assert_forest, **settings):
    """A copy of a pipeline into which damaged models are loaded."""
    copy = toy.copy(nlp, **settings)

    def work():
        assert_forest(copy(TEXT))
        try:
            copy.update(toy.examples(copy, toy.sentences(15)))
        except ValueError:
            return
        assert_forest(copy(TEXT))

    return Victim(copy, toy.parser(copy), lambda: annotation(copy(TEXT)), work)


@pytest.fixture(scope="module")
def only_victim(toy, small, annotation, assert_forest):
    return victim_of(toy, small, annotation, assert_forest)


edited = partial(damage.edited, name="joint_model")


# Round trips


def test_bytes_give_the_same_pipeline(toy, small, annotation):
    loaded = toy.copy(small)
    assert annotation(loaded(TEXT)) == annotation(small(TEXT))
    assert loaded.to_bytes() == small.to_bytes()
    assert toy.parser(loaded).label_data == toy.parser(small).label_data


def test_directory_gives_the_same_pipeline(toy, small, annotation, tmp_path):
    small.to_disk(tmp_path / "first")
    loaded = spacy.load(tmp_path / "first")
    assert annotation(loaded(TEXT)) == annotation(small(TEXT))
    loaded.to_disk(tmp_path / "second")
    first, second = (tmp_path / name / "hpyp_parser" / "model" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    assert loaded.to_bytes() == small.to_bytes()


def test_saving_again_replaces_the_model(toy, small, annotation, tmp_path):
    toy.trained(toy.sentences(4)).to_disk(tmp_path)
    small.to_disk(tmp_path)
    assert annotation(spacy.load(tmp_path)(TEXT)) == annotation(small(TEXT))
    assert sorted(file.name for file in (tmp_path / "hpyp_parser").iterdir()) == ["cfg", "model"]


def test_component_can_be_stored_by_itself(toy, small, annotation, tmp_path):
    parser = toy.parser(small)
    by_bytes, by_disk = toy.nlp(), toy.nlp()
    toy.parser(by_bytes).from_bytes(parser.to_bytes())
    parser.to_disk(tmp_path)
    toy.parser(by_disk).from_disk(tmp_path)
    assert annotation(by_bytes(TEXT)) == annotation(by_disk(TEXT)) == annotation(small(TEXT))


def test_parts_can_be_left_out(toy, small, tmp_path):
    parser = toy.parser(small)
    assert set(srsly.msgpack_loads(parser.to_bytes(exclude=["vocab"]))) == {"cfg", "model"}
    parser.to_disk(tmp_path, exclude=["vocab", "cfg"])
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model"]
    empty = toy.parser(toy.nlp()).from_bytes(parser.to_bytes(), exclude=["model"])
    assert not empty.joint.is_initialized


def test_settings_are_those_of_the_config(toy, small, tmp_path):
    toy.copy(small, particles=7, lookahead=0.25, threads=2, seed=5).to_disk(tmp_path)
    parser = toy.parser(spacy.load(tmp_path))
    assert (parser.particles, parser.lookahead, parser.threads, parser.seed) == (7, 0.25, 2, 5)
    config = {"components": {"hpyp_parser": {"particles": 9}}}
    assert toy.parser(spacy.load(tmp_path, config=config)).particles == 9


#: A value of each setting that is not the one of the tests' pipelines.
CHANGED = {
    "algorithm": "beam",
    "particles": 7,
    "outlook": 0.25,
    "contrast": 7,
    "lookahead": 0.1 + 0.2,
    "labels_per_arc": 2,
    "tags_per_word": 4,
    "tag_threshold": 0.1,
    "attachments": 11,
    "decoding": "mbr",
    "marginals": True,
    "guides": True,
    "temperature": 1.7,
    "threads": 3,
    "tags": "given",
    "tokens": "tokenizer",
    "latent": "parses",
    "latent_after": 3,
    "latent_particles": 5,
    "seed": 2**70,
}


def changed(toy, nlp):
    """A copy of a pipeline whose settings were all changed in Python."""
    copy = toy.copy(nlp)
    assert asdict(toy.parser(copy).settings).keys() == CHANGED.keys()
    for name, value in CHANGED.items():
        assert getattr(toy.parser(copy), name) != value
        setattr(toy.parser(copy), name, value)
    return copy


def test_settings_that_were_changed_in_python_are_saved(toy, small, tmp_path):
    nlp = changed(toy, small)
    for path in (tmp_path / "first", tmp_path / "second"):
        nlp.to_disk(path)
        nlp = spacy.load(path)
        assert asdict(toy.parser(nlp).settings) == CHANGED
    assert asdict(toy.parser(toy.copy(nlp)).settings) == CHANGED
    assert asdict(pickle.loads(pickle.dumps(toy.parser(nlp))).settings) == CHANGED


def test_setting_that_is_overridden_on_loading_is_not_the_saved_one(toy, small, tmp_path):
    changed(toy, small).to_disk(tmp_path / "first")
    override = {"components.hpyp_parser.particles": 9, "components.hpyp_parser.marginals": True}
    nlp = spacy.load(tmp_path / "first", config=override)
    assert asdict(toy.parser(nlp).settings) == {**CHANGED, "particles": 9}
    nlp.to_disk(tmp_path / "second")
    assert asdict(toy.parser(spacy.load(tmp_path / "second")).settings) == {**CHANGED, "particles": 9}
    toy.parser(nlp).particles = 11
    assert asdict(toy.parser(toy.copy(nlp, temperature=3.0)).settings) == {
        **CHANGED,
        "particles": 11,
        "temperature": 3.0,
    }


def test_other_processes_parse_with_the_settings_that_were_changed(toy, small):
    nlp = toy.copy(small)
    toy.parser(nlp).marginals = True
    docs = list(nlp.pipe([TEXT, TEXT], n_process=2, batch_size=1))
    assert all(token._.head_prob > 0.0 for doc in docs for token in doc)


def test_pipeline_saved_without_settings_has_those_of_its_config(toy, small, annotation, tmp_path):
    nlp = changed(toy, small)
    nlp.to_disk(tmp_path)
    (tmp_path / "hpyp_parser" / "cfg").unlink()
    assert toy.parser(spacy.load(tmp_path)).settings == toy.parser(small).settings
    old = toy.parser(toy.nlp()).from_bytes(toy.parser(nlp).to_bytes(exclude=["cfg"]))
    assert old.settings == toy.parser(small).settings


#: The settings that components had before the limits of the search were settings.
OLD = set(CHANGED) - {
    "algorithm",
    "labels_per_arc",
    "tags_per_word",
    "tag_threshold",
    "attachments",
    "guides",
}


def test_pipeline_of_a_version_with_fewer_settings_is_loaded_and_has_the_defaults_of_the_others(
    toy, small, tmp_path
):
    changed(toy, small).to_disk(tmp_path)
    config = Config().from_disk(tmp_path / "config.cfg", interpolate=False)
    component = config["components"]["hpyp_parser"]
    for name in CHANGED.keys() - OLD:
        del component[name]
    config.to_disk(tmp_path / "config.cfg")
    file = tmp_path / "hpyp_parser" / "cfg"
    saved = json.loads(file.read_bytes())
    file.write_text(json.dumps({part: {name: saved[part][name] for name in OLD} for part in saved}))
    expected = {
        name: CHANGED[name] if name in OLD else default for name, default in asdict(ParserSettings()).items()
    }
    assert asdict(toy.parser(spacy.load(tmp_path)).settings) == expected


@pytest.mark.parametrize(
    "edit",
    [
        lambda saved: saved[: len(saved) // 2],
        lambda saved: b"",
        lambda saved: b"\xff",
        lambda saved: b"[]",
        lambda saved: b'{"given": {}}',
        lambda saved: b'{"given": [], "set": []}',
        lambda saved: saved.replace(b"temperature", b"temperatura"),
        lambda saved: saved.replace(b"temperature", b"temperatura", 1),
        lambda saved: saved.replace(b'"seed": 1180591620717411303424', b'"seed": -1'),
        lambda saved: saved.replace(b"parses", b"trees"),
    ],
)
def test_damaged_settings_are_refused_and_nothing_is_changed(toy, victim, others, tmp_path, edit):
    other = changed(toy, others)
    other.to_disk(tmp_path)
    file = tmp_path / "hpyp_parser" / "cfg"
    data = edit(file.read_bytes())
    assert data != file.read_bytes()
    file.write_bytes(data)
    before = victim.component.settings
    with pytest.raises(
        ValueError, match=r"'hpyp_parser' cannot be read from .*cfg: its settings are damaged"
    ):
        spacy.load(tmp_path)
    with pytest.raises(ValueError, match=r"cannot be read from .*cfg"):
        victim.component.from_disk(tmp_path / "hpyp_parser")
    message = srsly.msgpack_loads(toy.parser(other).to_bytes())
    with pytest.raises(ValueError, match="component 'hpyp_parser' cannot be read: its settings are damaged"):
        victim.component.from_bytes(srsly.msgpack_dumps({**message, "cfg": data}))
    assert victim.component.settings == before
    assert victim.see() == victim.expected


def test_refused_model_leaves_the_settings_as_they_were(toy, victim, small):
    message = srsly.msgpack_loads(toy.parser(changed(toy, small)).to_bytes())
    before = victim.component.settings
    with pytest.raises(ValueError, match="model"):
        victim.component.from_bytes(srsly.msgpack_dumps({**message, "model": message["model"][:-1]}))
    assert victim.component.settings == before


@pytest.mark.parametrize("part", ["cfg", "model", "vocab"])
def test_where_one_part_is_damaged_none_is_loaded(toy, victim, others, tmp_path, part):
    other = toy.parser(changed(toy, others))
    other.vocab.strings.add("a string that nobody else has")
    other.to_disk(tmp_path)
    message = srsly.msgpack_loads(other.to_bytes())
    file = tmp_path / "vocab" / "strings.json" if part == "vocab" else tmp_path / part
    file.write_bytes(file.read_bytes()[:-1])
    before = victim.component.settings, set(victim.nlp.vocab.strings)
    with pytest.raises(ValueError):  # noqa: PT011
        victim.component.from_disk(tmp_path)
    with pytest.raises(ValueError, match="cannot be read"):
        victim.component.from_bytes(srsly.msgpack_dumps({**message, part: message[part][:-1]}))
    assert (victim.component.settings, set(victim.nlp.vocab.strings)) == before
    assert victim.see() == victim.expected


def test_untrained_component_can_be_stored(toy, tmp_path):
    toy.nlp().to_disk(tmp_path)
    with pytest.raises(ValueError, match="has not been trained"):
        spacy.load(tmp_path)("the dog sleeps .")


def test_loading_an_untrained_model_makes_the_component_untrained(toy, small):
    nlp = toy.copy(small)
    toy.parser(nlp).from_bytes(toy.parser(toy.nlp()).to_bytes())
    with pytest.raises(ValueError, match="has not been trained"):
        nlp("the dog sleeps .")


def test_loading_replaces_what_was_learned(toy, small, others, annotation):
    nlp = toy.copy(others)
    toy.parser(nlp).from_bytes(toy.parser(small).to_bytes())
    assert annotation(nlp(TEXT)) == annotation(small(TEXT))
    nlp.update(toy.examples(nlp, toy.sentences(15)))
    assert toy.customers(nlp) == toy.customers_of(toy.sentences(15))


def test_labels_of_all_scripts_survive(toy, tmp_path):
    sentence = toy.sentence(["நாய்", "😀"], ["பெயர்", "\u0301"], [1, 1], ["đối", "ROOT"])
    nlp = toy.trained([sentence])
    nlp.to_disk(tmp_path)
    assert toy.parser(spacy.load(tmp_path)).label_data == {"tags": ["\u0301", "பெயர்"], "labels": ["đối"]}


def test_files_without_a_checksum_are_read_as_before(toy, small, model_file, annotation, tmp_path):
    small.to_disk(tmp_path)
    (tmp_path / "hpyp_parser" / "model").write_bytes(model_file)
    loaded = spacy.load(tmp_path)
    assert annotation(loaded(TEXT)) == annotation(small(TEXT))
    assert toy.parser(loaded).to_bytes() == toy.parser(small).to_bytes()


def test_classes_that_no_word_has_any_more_do_no_harm(victim, model_file, assert_forest):
    # Earlier versions had such a class for words that begin a sentence.
    def rename(inner):
        assert len(inner["classes"]) > 1
        inner["classes"] = [inner["classes"][0], *(f"FIRST-{name}" for name in inner["classes"][1:])]

    victim.load(edited(model_file, edit=rename))
    assert_forest(victim.nlp(f"Zenobia {TEXT} Zenobia sleeps ."))


# Damage


def test_every_flipped_bit_of_a_model_file_is_seen(toy, small, victim, tmp_path):
    toy.parser(small).to_disk(tmp_path, exclude=["vocab"])
    data = (tmp_path / "model").read_bytes()
    rng = random.Random(3)
    # The first bytes are the mark and the checksum, the last ones the weights.
    bits = [*range(30 * 8), *range(8 * len(data) - 8, 8 * len(data)), *rng.sample(range(8 * len(data)), 500)]
    for bit in bits:
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match="model of the component 'hpyp_parser' cannot be read"):
            victim.load(bytes(damaged))
    (tmp_path / "model").write_bytes(data[:-1])
    with pytest.raises(ValueError, match="checksum"):
        victim.component.from_disk(tmp_path, exclude=["vocab"])
    assert victim.see() == victim.expected


def test_an_n_gram_model_is_no_model_of_a_parser(toy, victim, tmp_path):
    train_ngram_model(
        [sentence.words for sentence in toy.sentences(5)], order=2, sweeps=1, samples=1
    ).to_disk(tmp_path / "model")
    with pytest.raises(ValueError, match="cannot be read"):
        victim.component.from_disk(tmp_path, exclude=["vocab"])
    assert victim.see() == victim.expected


ERRORS = [
    *(
        NumbaError("x"),
        TypingError("x"),
        TypeError("can't unbox array"),
        RuntimeError("no locator available"),
    ),
    *(RecursionError("x"), MemoryError(), KeyboardInterrupt(), OSError(errno.EMFILE, "Too many open files")),
]


@pytest.fixture(scope="module")
def with_derivations(toy):
    """A pipeline whose model has derivations; tests do not change it."""
    return toy.trained(toy.sentences(8), latent="derivations", latent_after=0, latent_particles=5, sweeps=3)


@pytest.mark.parametrize(
    "place", ["hpyp.storage._above", "hpyp.storage._add_up", "models.joint_model.is_derivation"]
)
def test_an_error_that_is_not_the_file_s_comes_through(
    toy, with_derivations, annotation, tmp_path, monkeypatch, place
):
    nlp = toy.copy(with_derivations)
    nlp.to_disk(tmp_path)
    # Where it has its views the seating is not read.
    monkeypatch.setenv("SPACY_HPYP_CACHE", str(tmp_path / "cache"))
    parser, expected = toy.parser(nlp), annotation(nlp(TEXT))
    data = parser.to_bytes()

    for error in ERRORS:

        def fail(*_, error=error):
            raise error

        monkeypatch.setattr(f"spacy_hpyp.{place}", fail)
        for load in (
            lambda: parser.from_bytes(data),
            lambda: parser.from_disk(tmp_path / "hpyp_parser", exclude=["vocab"]),
        ):
            with pytest.raises(type(error)) as found:
                load()
            assert found.value is error
    monkeypatch.undo()
    assert annotation(nlp(TEXT)) == expected


def test_truncated_model_is_refused_wherever_it_ends(victim, model_file):
    rng = random.Random(0)
    lengths = {0, 1, 2, 100, len(model_file) - 1, len(model_file) - 2}
    lengths |= {rng.randrange(len(model_file)) for _ in range(60)}
    for length in sorted(lengths):
        assert victim.refuses(model_file[:length]), length


def test_bytes_behind_the_end_are_refused(victim, model_file):
    assert victim.refuses(model_file + b"x")


def test_flipped_bytes_are_refused_or_harmless(victim, model_file):
    rng = random.Random(1)
    refused = 0
    for _ in range(80):
        data = bytearray(model_file)
        for _ in range(rng.choice([1, 1, 5])):
            data[rng.randrange(len(data))] ^= rng.randrange(1, 256)
        refused += victim.refuses(bytes(data))
    assert refused > 40


def test_flipped_bytes_of_the_names_are_refused_or_harmless(victim, model_file):
    inner = srsly.msgpack_loads(model_file)["attrs"][0]["joint_model"]
    rng = random.Random(2)
    outer = srsly.msgpack_loads(model_file)
    places = [i for i in range(len(inner)) if inner[i : i + 1].isalnum()]
    for _ in range(40):
        data = bytearray(inner)
        data[rng.choice(places)] ^= 1 << rng.randrange(8)
        outer["attrs"][0]["joint_model"] = bytes(data)
        victim.refuses(srsly.msgpack_dumps(outer))


@pytest.mark.parametrize(
    "model",
    [
        b"",
        b"\xc0",
        srsly.msgpack_dumps([]),
        srsly.msgpack_dumps({}),
        srsly.msgpack_dumps({"attrs": [], "params": []}),
        srsly.msgpack_dumps({"attrs": [{}], "params": [{}]}),
        srsly.msgpack_dumps({"attrs": [{"joint_model": None}], "params": [{}]}),
        None,
        7,
        "text",
    ],
)
def test_anything_that_is_no_model_is_refused(victim, model):
    assert victim.refuses(model)


@pytest.mark.parametrize("data", [b"", b"\x00", b"not msgpack at all", srsly.msgpack_dumps([1, 2])])
def test_bytes_that_are_no_component_are_refused(victim, data):
    with pytest.raises(ValueError, match="hpyp_parser"):
        victim.component.from_bytes(data)
    assert victim.see() == victim.expected


def keys_of_the_model(model_file):
    keys = []
    edited(model_file, edit=lambda inner: keys.extend(inner))
    return keys


def test_every_part_is_needed(victim, model_file):
    for key in keys_of_the_model(model_file):
        # A model without distributions is one that has not been trained.
        if key != "distributions":
            assert victim.refuses(edited(model_file, edit=lambda inner, key=key: inner.pop(key) and None)), (
                key
            )


@pytest.mark.parametrize("value", [None, -1, float("inf"), b"bytes", [None], {"width": 1}])
def test_parts_of_the_wrong_kind_are_refused_or_harmless(victim, model_file, value):
    for key in keys_of_the_model(model_file):
        victim.refuses(edited(model_file, edit=lambda inner, key=key: inner.update({key: value})))


@pytest.mark.parametrize("value", [None, 10**12, float("nan"), b"bytes", {}, [2**63]])
def test_parts_of_a_distribution_of_the_wrong_kind_are_refused(victim, model_file, value):
    for key in ("discount", "strength", "restaurants", *ARRAYS):

        def edit(inner, key=key):
            inner["distributions"]["word"][key] = value

        assert victim.refuses(edited(model_file, edit=edit)), key


@pytest.mark.parametrize(
    "value",
    [{"width": 1, "length": 10**15, "data": b""}, {"width": 3, "length": 0, "data": b""}, {"width": 8}],
)
def test_impossible_arrays_are_refused(victim, model_file, value):
    for key in ARRAYS:

        def edit(inner, key=key):
            inner["distributions"]["tag"][key] = value

        assert victim.refuses(edited(model_file, edit=edit)), key


@pytest.mark.parametrize("name", FIRST_OF_ALL)
@pytest.mark.parametrize("key", ARRAYS)
def test_edited_numbers_of_a_distribution_are_refused_or_harmless(victim, model_file, name, key):
    rng = random.Random(f"{name} {key}")

    def change(values):
        place = rng.randrange(len(values)) if len(values) else 0
        kind = rng.randrange(6)
        if kind == 0 or not len(values):
            return np.insert(values, place, rng.randrange(3))
        if kind == 1:
            return np.delete(values, place)
        values = values.copy()
        values[place] = [values[place] + 1, max(0, values[place] - 1), 2**31 - 2, rng.choice(values)][
            kind - 2
        ]
        return values

    for _ in range(12):

        def edit(inner):
            part = inner["distributions"][name]
            part[key] = pack_integers(change(unpack_integers(part[key])))

        victim.refuses(edited(model_file, edit=edit))


@pytest.fixture(scope="module")
def in_a_sweep(toy, small):
    """The model file of a pipeline in the middle of a sweep, with sentences that confidence is to be learned
    from.
    """
    nlp = toy.copy(small)
    nlp.update(toy.examples(nlp, toy.sentences(20)[:12]))
    parser = toy.parser(nlp)
    encoded = list(parser._treebank.usable.items())
    parser.joint.progress.sweep.passages = [
        Passage(*map(list, zip(*encoded[:2]))),
        Passage(*map(list, zip(*encoded[4:7]))),
    ]
    parser.joint.progress.sweep.copies[b"not visited "] = 2
    return parser.model.to_bytes()


@pytest.fixture(scope="module")
def unsure_victim(toy, small, annotation, assert_forest):
    return victim_of(toy, small, annotation, assert_forest, marginals=True)


@pytest.mark.parametrize("key", ["copies", "sentences", "words", "rows"])
def test_edited_numbers_of_a_sweep_are_refused_or_harmless(unsure_victim, in_a_sweep, key):
    rng = random.Random(key)
    assert not unsure_victim.refuses(in_a_sweep)
    for value in [0, 1, 2, 3, 4, 5, 20, 255, 2**31 - 2]:

        def edit(inner, value=value):
            part = inner["sweep"] if key == "copies" else inner["sweep"]["passages"]
            values = unpack_integers(part[key])
            values[rng.randrange(len(values))] = value
            part[key] = pack_integers(values)

        unsure_victim.refuses(edited(in_a_sweep, edit=edit))


@pytest.mark.parametrize("value", [None, -1, 1.5, "text", [], {}, {"width": 1, "length": 1, "data": b""}])
def test_parts_of_a_sweep_of_the_wrong_kind_are_refused(victim, in_a_sweep, value):
    for key in ("visited", "keys", "copies", "passages"):
        assert victim.refuses(
            edited(in_a_sweep, edit=lambda inner, key=key: inner["sweep"].update({key: value}))
        ), key
    for key in ("sentences", "keys", "words", "rows"):
        assert victim.refuses(
            edited(in_a_sweep, edit=lambda inner, key=key: inner["sweep"]["passages"].update({key: value}))
        )


@pytest.mark.parametrize("key", ["candidate_tags", "tag_counts", "copies"])
def test_edited_numbers_of_the_vocabulary_are_refused_or_harmless(victim, model_file, key):
    rng = random.Random(key)
    for value in (0, 1, 3, 255, 2**31 - 2):

        def edit(inner, value=value):
            values = unpack_integers(inner[key])
            values[rng.randrange(len(values))] = value
            inner[key] = pack_integers(values)

        victim.refuses(edited(model_file, edit=edit))


@pytest.mark.parametrize(
    ("key", "edit"),
    [
        pytest.param(key, edit, marks=[pytest.mark.slow] * slow)
        for key, slow in (("tags", False), ("labels", True), ("words", False), ("classes", True))
        for edit in ("shorter", "longer", "empty", "twice", "reversed", "blank", "odd")
    ],
)
def test_edited_alphabets_are_refused_or_harmless(victim, model_file, key, edit):
    changes = {
        "shorter": lambda names: names[:-1],
        "longer": lambda names: [*names, "new"],
        "empty": lambda names: [],
        "twice": lambda names: [*names[:-1], names[0]],
        "reversed": lambda names: names[::-1],
        "blank": lambda names: [*names[:-1], ""],
        "odd": lambda names: [*names[:-1], "a||b||c"],
    }
    model = edited(model_file, edit=lambda inner: inner.update({key: changes[edit](inner[key])}))
    refused = victim.refuses(model)
    if edit == "twice" or (edit in ("shorter", "longer", "empty") and key in ("words", "classes")):
        assert refused
    if edit in ("shorter", "empty") and key in ("tags", "labels"):
        assert refused


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1, 1.0, 1.5, None, "x"])
def test_impossible_hyperparameters_are_refused(victim, model_file, value):
    for name in DISTRIBUTIONS:
        for key in ("discount", "strength"):

            def edit(inner, name=name, key=key):
                inner["distributions"][name][key][1] = value

            refused = victim.refuses(edited(model_file, edit=edit))
            assert refused or (key == "strength" and value is not None), (name, key)


@pytest.fixture(scope="module")
def pooled_victim(toy, annotation, assert_forest):
    """One with pools, whose weights have been learned."""
    return victim_of(toy, toy.trained(toy.sentences(15), sweeps=3, **toy.pools), annotation, assert_forest)


@pytest.mark.parametrize(
    "change",
    [
        lambda values: np.where(values == values.flat[0], np.nan, values),
        lambda values: values + np.inf,
        lambda values: values + 1000,
        lambda values: values - 1000,
        lambda values: values[:-1],
        lambda values: values[None],
        lambda values: np.empty(0),
        lambda values: None,
        lambda values: "text",
    ],
    ids=["nan", "inf", "huge", "negative", "too few", "too deep", "none", "nothing", "text"],
)
@pytest.mark.parametrize("part", ["standing", "gate"])
@pytest.mark.parametrize("name", FIRST_OF_ALL)
def test_impossible_weights_are_refused(pooled_victim, name, part, change):
    outer = srsly.msgpack_loads(pooled_victim.component.model.to_bytes())
    outer["params"][0][f"{name}_{part}"] = change(outer["params"][0][f"{name}_{part}"])
    assert pooled_victim.refuses(srsly.msgpack_dumps(outer))


@pytest.mark.parametrize("value", [0.0, 99.0, -99.0])
def test_odd_weights_are_harmless(pooled_victim, value):
    outer = srsly.msgpack_loads(pooled_victim.component.model.to_bytes())
    for name in DISTRIBUTIONS:
        outer["params"][0][f"{name}_standing"] = np.full_like(outer["params"][0][f"{name}_standing"], value)
    assert not pooled_victim.refuses(srsly.msgpack_dumps(outer))


def test_missing_weights_are_refused(victim, model_file):
    for name in DISTRIBUTIONS:
        for part in ("standing", "gate"):
            outer = srsly.msgpack_loads(model_file)
            del outer["params"][0][f"{name}_{part}"]
            assert victim.refuses(srsly.msgpack_dumps(outer))


def test_model_of_other_context_lists_is_refused_and_says_so(toy, victim, small, tmp_path):
    with pytest.raises(ValueError, match=r"context lists are not those of the config"):
        toy.parser(toy.nlp(tag=[["s1.tag"]])).from_bytes(toy.parser(small).to_bytes())
    small.to_disk(tmp_path)
    config = {"components": {"hpyp_parser": {"model": {"word": [["next.tag"]]}}}}
    with pytest.raises(ValueError, match=r"cannot be read from .*model: its context lists"):
        spacy.load(tmp_path, config=config)


def test_model_of_another_number_of_experts_is_refused(toy, small):
    contexts = toy.parser(small).joint.contexts
    nlp = toy.nlp(word=[*contexts.word, ["next.tag"]])
    with pytest.raises(ValueError, match="cannot be read"):
        toy.parser(nlp).from_bytes(toy.parser(small).to_bytes())


def test_damaged_model_file_is_named_in_the_error(small, tmp_path):
    small.to_disk(tmp_path)
    file = tmp_path / "hpyp_parser" / "model"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"hpyp_parser.model: .* The file is damaged"):
        spacy.load(tmp_path)


def test_missing_model_file_is_an_error(small, tmp_path):
    small.to_disk(tmp_path)
    (tmp_path / "hpyp_parser" / "model").unlink()
    with pytest.raises((OSError, ValueError)):
        spacy.load(tmp_path)


def test_damaged_vocabulary_leaves_the_component_as_it_was(toy, victim, others):
    other = srsly.msgpack_loads(toy.parser(others).to_bytes())
    other["vocab"] = other["vocab"][: len(other["vocab"]) // 2]
    with pytest.raises(ValueError, match="hpyp_parser"):
        victim.component.from_bytes(srsly.msgpack_dumps(other))
    assert victim.see() == victim.expected


def test_training_after_a_refused_model_goes_on(toy, victim, model_file):
    assert victim.refuses(model_file[:-1])
    victim.nlp.update(toy.examples(victim.nlp, toy.sentences(15)))
    assert toy.customers(victim.nlp) == toy.customers_of(toy.sentences(15))


def test_model_and_training_data_that_do_not_belong_together_are_an_error(toy, victim, model_file):
    others = toy.sentences(30, seed=5)
    trained_on_others = srsly.msgpack_loads(toy.parser(toy.trained(others)).joint.to_bytes())

    def edit(inner):
        inner.update({name: trained_on_others[name] for name in ("seated", "copies")})

    victim.load(edited(model_file, edit=edit))
    with pytest.raises(ValueError, match="do not belong together"):
        victim.nlp.update(toy.examples(victim.nlp, others))


# Failures while saving


@pytest.mark.parametrize("failure", [no_space, interrupt])
@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_failure_while_saving_leaves_the_previous_model(
    toy, small, others, annotation, tmp_path, monkeypatch, failure, call
):
    small.to_disk(tmp_path)
    before = files_below(tmp_path / "hpyp_parser")
    monkeypatch.setattr(os, call, failure)
    with pytest.raises((OSError, KeyboardInterrupt)):
        toy.parser(others).to_disk(tmp_path / "hpyp_parser", exclude=["vocab"])
    with pytest.raises((OSError, KeyboardInterrupt)):
        others.to_disk(tmp_path)
    monkeypatch.undo()
    assert files_below(tmp_path / "hpyp_parser") == before
    assert annotation(spacy.load(tmp_path)(TEXT)) == annotation(small(TEXT))


@pytest.mark.parametrize("failure", [no_space, interrupt])
def test_failure_while_packing_leaves_the_previous_model(toy, small, tmp_path, monkeypatch, failure):
    small.to_disk(tmp_path)
    before = files_below(tmp_path / "hpyp_parser")
    monkeypatch.setattr("spacy_hpyp.models.joint_model.JointModel.to_bytes", failure)
    with pytest.raises((OSError, KeyboardInterrupt)):
        small.to_disk(tmp_path)
    assert files_below(tmp_path / "hpyp_parser") == before


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_file_that_cannot_be_written_to_its_end_leaves_the_previous_model(toy, small, others, tmp_path):
    import resource

    parser = toy.parser(small)
    parser.to_disk(tmp_path, exclude=["vocab"])
    before = files_below(tmp_path)
    other = toy.parser(others)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            other.to_disk(tmp_path, exclude=["vocab"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert files_below(tmp_path) == before
    other.to_disk(tmp_path, exclude=["vocab"])
    assert files_below(tmp_path) != before


def test_first_save_that_fails_leaves_no_file(toy, small, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", no_space)
    with pytest.raises(OSError, match="No space"):
        toy.parser(small).to_disk(tmp_path, exclude=["vocab"])
    assert files_below(tmp_path) == {}
