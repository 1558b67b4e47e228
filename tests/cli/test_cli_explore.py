"""`hpyp explore`: the page as Streamlit runs it, without a browser."""

import runpy
import sys

import command_line
import pytest
import spacy

from spacy_hpyp.cli import explore


@pytest.fixture(scope="module", name="folder")
def files(trained, tmp_path_factory):
    pytest.importorskip("streamlit")
    folder = tmp_path_factory.mktemp("explore")
    trained.to_disk(folder / "pipeline")
    spacy.blank("en").to_disk(folder / "blank")
    return folder


def opened(folder, pipeline, monkeypatch, text="The dog sees Kim. Mona sleeps."):
    from streamlit.testing.v1 import AppTest

    monkeypatch.setattr(sys, "argv", ["page", str(folder / pipeline)])
    page = AppTest.from_file(explore.__file__, default_timeout=120).run()
    if page.text_area:
        page.text_area[0].set_value(text).run()
    assert not page.exception
    return page


def texts(elements):
    return " ".join(str(each.value) for each in elements)


def test_streamlit_can_run_the_file_alone():
    assert "show_page" in runpy.run_path(explore.__file__)


def test_the_page_shows_all_results_of_a_generative_parser(folder, monkeypatch):
    page = opened(folder, "pipeline", monkeypatch)
    titles = "Trees,Other trees,Surprisal,What comes next,Tokens".split(",")
    assert [each.value for each in page.subheader] == titles
    trees = [each.proto.body for each in page.get("html")]
    assert ">dog</tspan>" in trees[0]
    assert ">Mona</tspan>" in trees[1]
    assert "%" in trees[0]
    assert len(page.dataframe) == 2


def test_the_page_explains_missing_results(folder, monkeypatch):
    said = texts(opened(folder, "blank", monkeypatch).info)
    assert "has found a tree" in said
    assert "need an hpyp_parser" in said
    assert "Type a text" in texts(opened(folder, "pipeline", monkeypatch, " \n").info)
    (folder / "damaged").mkdir()
    (folder / "damaged" / "config.cfg").write_text("[nlp")
    assert "cannot be loaded" in texts(opened(folder, "damaged", monkeypatch).error)


def test_streamlit_runs_locally_with_its_own_settings(folder, monkeypatch):
    lines = []
    monkeypatch.setattr(runpy, "run_module", lambda name, run_name: lines.append([name, *sys.argv]))
    monkeypatch.setattr(sys, "argv", [])
    command_line.run("hpyp", "explore", folder / "pipeline", "--server.port", 8600)
    (line,) = lines
    assert line[:3] == ["streamlit", "streamlit", "run"]
    assert "--server.address=localhost" in line
    assert line[-4:] == ["--server.port", "8600", "--", str(folder / "pipeline")]
    assert "no pipeline" in command_line.said("hpyp", "explore", folder / "nowhere")
    monkeypatch.setitem(sys.modules, "streamlit", None)
    said = command_line.said("hpyp", "explore", folder / "pipeline")
    assert "spacy-hpyp[explore]" in said
