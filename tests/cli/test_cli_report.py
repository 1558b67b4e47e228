"""`hpyp report`: a page about a pipeline."""

import re
import sys
from html.parser import HTMLParser

import command_line
import pytest
import spacy
import srsly
from spacy.tokens import DocBin

VOID = {"meta", "link", "br", "img"}


class Page(HTMLParser):
    """The elements, links and text of a page. The page must be well-formed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.links, self.text = [], [], [], ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [
            value for name, value in attributes if name in ("src", "href", "srcset", "action")
        ]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module", name="folder")
def files(toy, trained, tmp_path_factory):
    """A pipeline of this package, one with spaCy's own parser, and a treebank with strange
    names.
    """
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("report")
    trained.to_disk(folder / "pipeline")
    sentences = toy.sentences(60)[40:]
    strange = ["the", "<script>", "sleeps", "$5$"], ["DT", "<b>", "VBZ", "CD"], [1, 2, 2, 2]
    sentences[0] = toy.sentence(*strange, ["det", "n<subj:of-a-long-name", "ROOT", "x&y"])
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger")
    nlp.add_pipe("parser")
    toy.train(nlp, sentences, sweeps=0).to_disk(folder / "of_spacy")
    docs = [toy.doc(nlp.vocab, sentence) for sentence in sentences]
    DocBin(docs=docs).to_disk(folder / "dev.spacy")
    return folder


def report(folder, model, *options):
    output = folder / "pages" / "report.html"
    command_line.run("hpyp", "report", folder / model, folder / "dev.spacy", output, *options)
    return Page(output.read_text(encoding="utf8"))


@pytest.fixture(scope="module", name="pages")
def pages_of_both(folder):
    return [report(folder, model, "-n", 20) for model in ("pipeline", "of_spacy")]


def test_pages_load_nothing_and_escape_the_data(pages):
    for page in pages:
        assert all(link.startswith("data:image/svg+xml;base64,") for link in page.links)
        assert not {"script", "iframe", "object", "b"} & set(page.tags)
        for strange in ("<script>", "<b>", "n<subj", "x&y"):
            assert strange in page.text


def test_a_page_shows_the_results_that_the_pipeline_has(pages):
    for page in pages:
        assert "arcs wrong, gold" in page.text
        assert "✗" in page.text
    assert "auroc" in pages[0].text
    assert "No component gives the probabilities" in pages[1].text


def test_scores_match_evaluate(folder, pages):
    output = folder / "scores.json"
    command_line.run("hpyp", "evaluate", folder / "pipeline", folder / "dev.spacy", "-o", output)
    scores = srsly.read_json(output)
    for name, key in (("TAG", "tag_acc"), ("LAS", "dep_las")):
        assert re.search(rf"{name}{scores[key]:.4g}", pages[0].text)


def test_a_missing_plotting_library_is_reported(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    arguments = folder / "of_spacy", folder / "dev.spacy", folder / "no.html"
    said = command_line.said("hpyp", "report", *arguments)
    assert "pip install 'spacy-hpyp[report]'" in said
    assert not (folder / "no.html").exists()
