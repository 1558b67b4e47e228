"""`hpyp explore`: the page as Streamlit runs it, without a browser."""

import runpy
import sys

import command_line
import pytest
import spacy

from spacy_hpyp.cli import explore


@pytest.fixture(scope="module", name="folder")
def files(trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("explore")
    trained.to_disk(folder / "pipeline")
    spacy.blank("en").to_disk(folder / "blank")
    return folder


@pytest.fixture(name="page")
def opened(folder, monkeypatch):
    """Opens the page about a pipeline with a text, which may be typed longer than the browser lets anybody
    type.
    """
    testing = pytest.importorskip("streamlit.testing.v1")
    pytest.importorskip("spacy_streamlit")

    def open_page(pipeline, text):
        monkeypatch.setattr(sys, "argv", ["page", str(folder / pipeline)])
        page = testing.AppTest.from_file(str(explore._PAGE), default_timeout=120)
        page.query_params["text"] = text
        page.run()
        assert not page.exception
        return page

    return open_page


def texts(elements):
    return " ".join(str(each.value) for each in elements)


def trees(page):
    return [each.proto.body for each in page.get("html") if 'class="tree"' in each.proto.body]


def test_a_page_shows_all_that_a_generative_parser_finds(page):
    shown = page("pipeline", "The dog sees Kim. Mona sleeps.")
    assert [
        each.value for each in shown.subheader
    ] == "Trees,Surprisal,Other trees,What comes next,Generate,Tokens".split(",")
    assert texts(shown.info) == texts(shown.error) == ""
    # The toy's parser has not learned how sure it can be.
    assert "not calibrated" in texts(shown.warning)
    first = trees(shown)[0]
    assert ">dog<small>" in first
    assert "rated" in first
    assert "--share" in first
    assert [
        row["text"] for row in shown.dataframe[0].value.to_dict("records")
    ] == "The dog sees Kim . Mona sleeps .".split()
    shown.button[0].click().run()
    assert not shown.exception
    assert len(shown.dataframe[-2].value) == 5
    (sentence,) = [each for each in shown.selectbox if each.label == "Sentence"]
    sentence.set_value(1).run()
    assert any(">Mona<small>" in each for each in trees(shown)[2:])
    shown.text_area[0].set_value("Ada sings.").run()
    assert ">Ada<small>" in trees(shown)[0]


@pytest.mark.parametrize("text", ["", " \n\t "], ids=["empty", "blank"])
def test_what_is_no_text_is_said_to_be_none(page, text):
    shown = page("pipeline", text)
    assert "Type a text" in texts(shown.info)
    assert [each.value for each in shown.subheader] == ["Generate"]


def test_a_text_is_read_up_to_a_length_that_is_said(page):
    shown = page("blank", "x" * 1001)
    assert "1,001 characters: 1,000 is the most" in texts(shown.warning)
    assert len(shown.text_area[0].value) == 1000


def test_what_a_pipeline_has_not_is_said(page):
    shown = page("blank", "The dog sees Kim.")
    said = texts(shown.info)
    for each in (
        "has found a tree",
        "needs an hpyp_parser",
        "should have one hpyp_parser",
        "generates sentences",
    ):
        assert each in said


def test_a_pipeline_that_is_damaged_is_one_message(page, folder):
    (folder / "damaged").mkdir()
    (folder / "damaged" / "config.cfg").write_text("[nlp")
    assert "cannot be loaded" in texts(page("damaged", "x").error)


def test_streamlit_is_run_on_this_machine_with_settings_of_its_own(folder, monkeypatch):
    lines = []
    monkeypatch.setattr(explore, "find_spec", lambda name: name)
    monkeypatch.setattr(runpy, "run_module", lambda name, run_name: lines.append([name, *sys.argv]))
    monkeypatch.setattr(sys, "argv", [])
    command_line.run(
        "hpyp", "explore", folder / "pipeline", "--server.port", 8600, "--server.address", "0.0.0.0"
    )
    (line,) = lines
    assert line[:3] == ["streamlit", "streamlit", "run"]
    assert line[-6:] == [
        "--server.port",
        "8600",
        "--server.address",
        "0.0.0.0",
        "--",
        str(folder / "pipeline"),
    ]
    assert not any(each.startswith("--server.address=") for each in line)
    assert "no pipeline" in command_line.run("hpyp", "explore", folder / "nowhere", exit_code=1).output


def test_without_streamlit_there_is_one_message(folder, monkeypatch):
    monkeypatch.setattr(explore, "find_spec", lambda name: None)
    said = command_line.run("hpyp", "explore", folder / "pipeline", exit_code=1).output
    assert '"spacy-hpyp[explore]"' in said
