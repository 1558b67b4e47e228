"""`hpyp report`: a page about a pipeline."""

import re
import sys
from html.parser import HTMLParser

import command_line
import pytest
import spacy
import srsly
from spacy.tokens import DocBin
from spacy.training import Example

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
    gold = [toy.doc(nlp.vocab, sentence) for sentence in sentences]
    nlp.initialize(lambda: [Example(nlp.make_doc(doc.text), doc) for doc in gold])
    nlp.to_disk(folder / "of_spacy")
    DocBin(docs=gold).to_disk(folder / "dev.spacy")
    return folder


def report(folder, model, *options):
    output = folder / "pages" / "report.html"
    command_line.run("hpyp", "report", folder / model, folder / "dev.spacy", output, *options)
    return Page(output.read_text(encoding="utf8"))


@pytest.fixture(scope="module", name="page")
def _page(folder):
    return report(folder, "pipeline", "-n", 20)


@pytest.fixture(scope="module", name="page_of_spacy")
def _page_of_spacy(folder):
    return report(folder, "of_spacy", "-n", 20)


@pytest.mark.parametrize("name", ["page", "page_of_spacy"])
def test_pages_load_nothing_and_escape_the_data(name, request):
    page = request.getfixturevalue(name)
    assert all(link.startswith("data:image/svg+xml;base64,") for link in page.links)
    assert not {"script", "iframe", "object", "b"} & set(page.tags)
    for strange in ("<script>", "<b>", "n<subj", "x&y"):
        assert strange in page.text


def test_a_page_shows_the_results_that_the_pipeline_has(page, page_of_spacy):
    own, spacys = page.text, page_of_spacy.text
    for text in (own, spacys):
        assert "arcs wrong, gold" in text
        assert "✗" in text
    assert "auroc" in own
    assert "No component gives the probabilities" in spacys


def test_scores_match_evaluate(folder, page):
    output = folder / "scores.json"
    command_line.run("hpyp", "evaluate", folder / "pipeline", folder / "dev.spacy", "-o", output)
    scores = srsly.read_json(output)
    for name, key in (("TAG", "tag_acc"), ("LAS", "dep_las")):
        assert re.search(rf"{name}{scores[key]:.4g}", page.text)


def test_a_missing_plotting_library_is_reported(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    arguments = folder / "of_spacy", folder / "dev.spacy", folder / "no.html"
    done = command_line.run("hpyp", "report", *arguments, exit_code=1)
    assert "pip install 'spacy-hpyp[report]'" in " ".join(done.stderr.split())
    assert not (folder / "no.html").exists()
