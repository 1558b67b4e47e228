"""`hpyp compact`, the spaCy package of its result, and `hpyp precompile`."""

import pytest
import spacy
import srsly
from command_line import run, said

from spacy_hpyp.arc_standard.particle_filter import particle_filter


def test_compact_pipelines_predict_the_same_and_their_packages_require_the_plugin(saved, tmp_path):
    scores = {
        "LAS": {"score": 0.5, "low": 0.4, "high": 0.75},
        "Lemmas": {"score": None, "low": None, "high": None},
    }
    srsly.write_json(tmp_path / "scores.json", scores)
    run("hpyp", "compact", saved, tmp_path / "compact", "--scores", tmp_path / "scores.json")
    text = "The dog sees Kim."
    found, expected = (spacy.load(path)(text) for path in (tmp_path / "compact", saved))
    assert found.to_json() == expected.to_json()
    (tmp_path / "packages").mkdir()
    options = "--name", "toy", "--version", "0.1.0", "--build", "none"
    run("package", tmp_path / "compact", tmp_path / "packages", *options)
    meta = srsly.read_json(tmp_path / "packages" / "en_toy-0.1.0" / "meta.json")
    assert meta["performance"] == {"ud_las": 0.5, "ud_las_low": 0.4, "ud_las_high": 0.75}
    assert any(each.startswith("spacy-hpyp") for each in meta["requirements"])


def test_a_pipeline_is_not_overwritten(saved):
    assert "is the pipeline itself" in said("hpyp", "compact", saved, saved)


def test_precompile_compiles_the_code_of_a_pipeline(saved):
    done = run("hpyp", "precompile", saved)
    assert "hpyp_parser: " in done.output
    assert "Ready after " in done.output
    assert particle_filter.signatures


@pytest.mark.slow
def test_precompile_without_a_pipeline_trains_components_briefly():
    done = run("hpyp", "precompile")
    for component in ("hpyp_parser", "easy_first_tagger", "easy_first_parser"):
        assert f"{component}: " in done.output
