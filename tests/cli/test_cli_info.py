"""`hpyp info`: versions, caches, and what a pipeline is made of."""

import command_line
import numba

from spacy_hpyp import __version__


def test_versions_and_caches_are_shown(monkeypatch, tmp_path):
    monkeypatch.setenv("SPACY_HPYP_CACHE", str(tmp_path / "views"))
    shown = " ".join(command_line.run("hpyp", "info").output.split())
    assert f"spacy-hpyp {__version__} " in shown
    assert f"numba {numba.__version__} " in shown
    assert f"views 0.000 of 8.0 GB in {tmp_path / 'views'}" in shown
    assert "compiled code " in shown


def test_the_components_of_a_pipeline_are_shown_with_their_models_and_threads(trained, tmp_path):
    trained.to_disk(tmp_path)
    lines = command_line.run("hpyp", "info", tmp_path).output.splitlines()
    (component,) = [line.split() for line in lines if line.startswith("hpyp_parser")]
    parser = trained.get_pipe("hpyp_parser")
    assert component[1:3] == ["hpyp_parser", "spacy-hpyp.HPYPModel.v1"]
    assert component[3:5] == [str(len(parser.labels)), str(parser.threads)]
