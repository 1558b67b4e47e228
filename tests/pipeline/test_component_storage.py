"""Saving and loading `hpyp_parser`: settings, parts, and models of other configs."""

import pickle
from dataclasses import asdict

import pytest
import spacy
import srsly

TEXT = "the dog sees a cat . Zenobia sleeps near Kim ."


@pytest.fixture(scope="module")
def small(toy):
    """A small trained pipeline; tests do not change it."""
    return toy.trained(toy.sentences(15))


def test_parts_can_be_excluded(toy, small, tmp_path):
    parser = toy.parser(small)
    assert set(srsly.msgpack_loads(parser.to_bytes(exclude=["vocab"]))) == {"cfg", "model"}
    parser.to_disk(tmp_path, exclude=["vocab", "cfg"])
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model"]
    empty = toy.parser(toy.nlp()).from_bytes(parser.to_bytes(), exclude=["model"])
    assert not empty.joint.is_initialized


#: A value of each setting that differs from the tests' pipelines.
CHANGED = {
    "particles": 7,
    "future_cost": 0.25,
    "contrast": 7,
    "stack_penalty": 0.1 + 0.2,
    "decoding": "mbr",
    "guides": True,
    "temperature": 1.7,
    "threads": 3,
    "predict_tags": False,
    "tokens": "tokenizer",
    "latent": "parses",
    "latent_after": 3,
    "seed": 2**70,
}


def changed(toy, nlp):
    """A copy of a pipeline with all settings changed in Python."""
    copy = toy.copy(nlp)
    assert asdict(toy.parser(copy).settings).keys() == CHANGED.keys()
    for name, value in CHANGED.items():
        assert getattr(toy.parser(copy), name) != value
        setattr(toy.parser(copy), name, value)
    return copy


def test_settings_changed_in_python_are_saved(toy, small, tmp_path):
    nlp = changed(toy, small)
    for path in (tmp_path / "first", tmp_path / "second"):
        nlp.to_disk(path)
        nlp = spacy.load(path)
        assert asdict(toy.parser(nlp).settings) == CHANGED
    assert asdict(toy.parser(toy.copy(nlp)).settings) == CHANGED
    assert asdict(pickle.loads(pickle.dumps(toy.parser(nlp))).settings) == CHANGED


def test_an_override_on_loading_replaces_the_saved_setting(toy, small, tmp_path):
    changed(toy, small).to_disk(tmp_path / "first")
    override = {"components.hpyp_parser.particles": 9, "components.hpyp_parser.decoding": "mbr"}
    nlp = spacy.load(tmp_path / "first", config=override)
    assert asdict(toy.parser(nlp).settings) == {**CHANGED, "particles": 9}
    nlp.to_disk(tmp_path / "second")
    loaded = toy.parser(spacy.load(tmp_path / "second"))
    assert asdict(loaded.settings) == {**CHANGED, "particles": 9}
    toy.parser(nlp).particles = 11
    copy = toy.parser(toy.copy(nlp, temperature=3.0))
    assert asdict(copy.settings) == {**CHANGED, "particles": 11, "temperature": 3.0}


def test_a_pipeline_saved_without_settings_uses_its_config(toy, small, annotation, tmp_path):
    nlp = changed(toy, small)
    nlp.to_disk(tmp_path)
    (tmp_path / "hpyp_parser" / "cfg").unlink()
    assert toy.parser(spacy.load(tmp_path)).settings == toy.parser(small).settings
    old = toy.parser(toy.nlp()).from_bytes(toy.parser(nlp).to_bytes(exclude=["cfg"]))
    assert old.settings == toy.parser(small).settings


def test_a_model_of_other_context_lists_is_rejected_with_the_reason(toy, small, tmp_path):
    with pytest.raises(ValueError, match="its setting 'contexts'"):
        toy.parser(toy.nlp(tag=[["s1.tag"]])).from_bytes(toy.parser(small).to_bytes())
    small.to_disk(tmp_path)
    config = {"components": {"hpyp_parser": {"model": {"word": [["next.tag"]]}}}}
    with pytest.raises(ValueError, match=r"cannot be read from .*model: its setting"):
        spacy.load(tmp_path, config=config)
