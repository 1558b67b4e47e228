"""`hpyp report`: a page about a pipeline, read as those who get it read it."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import command_line
import pytest
import spacy
import srsly
from spacy.tokens import DocBin
from spacy.training import Example

SECTIONS = "scores errors confusions sentences calibration surprisal training discounts weights".split()
# All sentences, and few samples of them.
FEW = "--sentences", 30, "--resamples", 50
VOID = {"meta", "link", "br", "img"}
LOG = """E    #       LOSS HPYP_...  TAG_ACC  DEP_LAS  SCORE
---  ------  -------------  -------  -------  ------
  0      10         400.00    80.00    50.00    0.65
  1      20         200.00    90.00    60.00    0.75
"""


class Page(HTMLParser):
    """What is in a page: well-formed elements, with all that is ever loaded or linked."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.links, self.styles, self.texts = [], [], [], [], [], {}
        self.section = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        own = dict(attributes)
        assert len(own) == len(attributes)
        self.tags.append((tag, own))
        self.ids += [own["id"]] if "id" in own else []
        self.links += [
            value for name, value in attributes if name in ("src", "href", "xlink:href", "srcset", "action")
        ]
        self.styles.append(own.get("style", ""))
        if tag == "section":
            self.section = own["id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts[self.section] = self.texts.get(self.section, "") + data


@pytest.fixture(scope="module", name="folder")
def files(toy, trained, tmp_path_factory):
    """A pipeline of this package and one with spaCy's own parser, trained too little, and a treebank with
    strange names.
    """
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
    spacy.blank("en").to_disk(folder / "blank")
    DocBin(docs=gold).to_disk(folder / "dev.spacy")
    (folder / "train.log").write_text(LOG)
    (folder / "empty.txt").write_text(" \n")
    (folder / "text.txt").write_text("Kim sleeps near the dog.\n\nAda sings.")
    return folder


@pytest.fixture(scope="module", name="drawn")
def _needs_matplotlib():
    pytest.importorskip("matplotlib")


def report(folder, model, *options):
    output = folder / "pages" / "report.html"
    command_line.run("hpyp", "report", folder / model, folder / "dev.spacy", output, *options)
    text = output.read_text(encoding="utf8")
    return text, Page(text)


@pytest.fixture(scope="module", name="page")
def _page(folder, drawn):
    return report(folder, "pipeline", "--log", folder / "train.log", *FEW)


@pytest.fixture(scope="module", name="page_of_spacy")
def _page_of_spacy(folder, drawn):
    return report(folder, "of_spacy", *FEW)


@pytest.mark.parametrize("name", ["page", "page_of_spacy"])
def test_a_page_has_every_section_and_loads_nothing(name, request):
    text, page = request.getfixturevalue(name)
    assert [own["id"] for tag, own in page.tags if tag == "section"] == SECTIONS
    assert page.links
    assert all(link == "data:," or (link[0] == "#" and link[1:] in page.ids) for link in page.links)
    assert len(page.ids) == len(set(page.ids))
    assert not {"script", "iframe", "object", "img"} & {tag for tag, _ in page.tags}
    assert not re.search(r"@import|url\((?!#)", text)
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in page.tags


@pytest.mark.parametrize("name", ["page", "page_of_spacy"])
def test_text_of_the_data_is_no_markup(name, request):
    text, page = request.getfixturevalue(name)
    assert "<script>" in page.texts["sentences"]
    assert "<b>" in page.texts["sentences"]
    assert "n<subj" in page.texts["sentences"]
    assert "x&y" in page.texts["sentences"]
    assert "<script" not in text
    assert "<b>" not in text


def test_figures_have_names_and_the_colours_of_the_page(page):
    _, found = page
    drawings = [own for tag, own in found.tags if tag == "svg" and own.get("role") == "img"]
    assert len(drawings) > 10
    assert all(own["aria-label"] for own in drawings)
    assert not any(re.search("#[0-9a-f]{3,6}", style) for style in found.styles)


def test_intervals_hold_the_scores_of_evaluate(folder, page):
    command_line.run(
        "hpyp", "evaluate", folder / "pipeline", folder / "dev.spacy", "-o", folder / "scores.json"
    )
    scores = srsly.read_json(folder / "scores.json")
    text = page[1].texts["scores"]
    for name, key in (
        ("TAG", "tag_acc"),
        ("UAS", "dep_uas"),
        ("LAS", "dep_las"),
        ("MATCH", "complete_match"),
    ):
        found = re.search(rf"{name}\s*([\d.]+?\.\d\d)([\d.]+?\.\d\d)([\d.]+?\.\d\d)\s", text)
        score, low, high = (float(value) for value in found.groups())
        assert score == pytest.approx(100 * scores[key], abs=0.006)
        assert low <= score <= high
        assert low < high or name in ("UAS", "MATCH")


def test_learning_curves_come_from_a_log(page, page_of_spacy):
    assert "2 evaluations, the last after 20 steps" in page[1].texts["training"]
    assert "development data in the course of training" in page[1].texts["training"]
    assert "by --log" in page_of_spacy[1].texts["training"]


def test_what_a_pipeline_has_not_is_left_out_and_said(page, page_of_spacy):
    own, spacys = page[1].texts, page_of_spacy[1].texts
    assert "discount by depth of the context" in own["discounts"]
    assert "no component with Pitman" in spacys["discounts"]
    assert "No distribution of the pipeline has several experts" in own["weights"]
    assert "AUROC" in own["calibration"]
    assert "says how probable its heads are" in spacys["calibration"]
    assert "In bits, of the first 80 tokens" in own["surprisal"]
    assert "No component of the pipeline has surprisals" in spacys["surprisal"]
    for texts in (own, spacys):
        assert "gold in rows, predicted in columns" in texts["confusions"]
        assert "arcs wrong" in texts["sentences"]


def test_the_same_seed_makes_the_same_page_and_another_one_another(folder, page_of_spacy):
    text, _ = page_of_spacy
    assert report(folder, "of_spacy", *FEW, "--seed", 0)[0] == text
    assert report(folder, "of_spacy", *FEW, "--seed", 1)[0] != text


def test_surprisal_may_be_that_of_a_text(folder, drawn):
    text, page = report(folder, "pipeline", "--text", folder / "text.txt", "--sentences", 0, "--resamples", 1)
    assert re.search(r"of the first 9 tokens of '.*text\.txt'", page.texts["surprisal"])
    assert 'class="tree"' not in text


def test_a_page_needs_the_library_that_draws_it(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = command_line.run(
        "hpyp", "report", folder / "of_spacy", folder / "dev.spacy", folder / "no.html", exit_code=1
    )
    assert "pip install 'spacy-hpyp[report]'" in " ".join(done.stderr.split())
    assert not (folder / "no.html").exists()


def test_what_cannot_be_reported_on_is_an_error(folder, drawn):
    for model, options, expected in (
        ("blank", (), "has no parser"),
        ("of_spacy", ("--log", folder / "text.txt"), "no evaluation in"),
        ("pipeline", ("--text", folder / "empty.txt"), "There is no word in"),
    ):
        arguments = folder / model, folder / "dev.spacy", folder / "no.html"
        done = command_line.run("hpyp", "report", *arguments, *options, exit_code=1)
        assert expected in " ".join(done.stderr.split())
        assert not (folder / "no.html").exists()


# In a browser

BROWSERS = "chromium chromium-browser google-chrome google-chrome-stable chrome headless_shell".split()
# Reads in the page how far it reaches, and tells the page around it.
PROBE = """<script>
addEventListener("error", event => console.error(event.message));
addEventListener("load", () => {
  for (const each of document.querySelectorAll("details")) each.open = true;
  const root = document.documentElement, reach = [];
  for (const each of document.querySelectorAll("body *"))
    if (!each.closest(".scroll") && each.getBoundingClientRect().right > root.clientWidth + 1)
      reach.push(each.tagName + "." + each.getAttribute("class"));
  const boxes = elements => [...elements].map(each => each.getBoundingClientRect());
  let crowded = 0;
  for (const tree of document.querySelectorAll(".tree")) {
    const words = boxes(tree.querySelectorAll(".word"));
    words.forEach((word, i) => crowded += i && word.left < words[i - 1].right);
    for (const arc of tree.querySelectorAll(".arc")) {
      const [own, label] = boxes([arc, arc.firstChild]);
      crowded += label.left < own.left || own.right < label.right || label.height > 20;
    }
  }
  parent.postMessage({
    crowded, trees: document.querySelectorAll(".tree").length, shown: root.clientWidth, wide: root.scrollWidth, reach: reach.slice(0, 5).join(" "), boxes: document.querySelectorAll("svg").length,
    dark: matchMedia("(prefers-color-scheme: dark)").matches, page: getComputedStyle(document.body).backgroundColor
  }, "*");
});
</script></head>"""
FRAME = """<!DOCTYPE html><title>frame</title><iframe src="{file}" style="border: 0; width: {width}px; height: 800px"></iframe>
<pre></pre><script>addEventListener("message", event => {{
  document.querySelector("pre").textContent = JSON.stringify(event.data);
}});</script>"""


def find_browser():
    """A Chromium on the path, or playwright's."""
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    homes = [os.environ.get("PLAYWRIGHT_BROWSERS_PATH"), Path.home() / ".cache" / "ms-playwright"]
    for home in homes:
        for pattern in (
            "chromium*/chrome-*/chrome",
            "chromium*/chrome-*/headless_shell",
            "chromium*/*/chrome-headless-shell",
        ):
            for path in sorted(Path(home).glob(pattern)) if home else ():
                return str(path)
    return None


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_browser_shows_it_without_sideways_scrolling_and_errors(page, tmp_path, width, scheme):
    browser = find_browser()
    if browser is None:
        pytest.skip("there is no Chromium")
    # The page forbids scripts: the probe is let in here only.
    text, forbidding = re.subn(r"<meta http-equiv[^>]*>", "", page[0])
    assert forbidding == 1
    (tmp_path / "page.html").write_text(text.replace("</head>", PROBE, 1), encoding="utf8")
    (tmp_path / "frame.html").write_text(FRAME.format(file="page.html", width=width))
    done = subprocess.run(
        [
            *(
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--enable-logging=stderr",
            ),
            *(
                f"--user-data-dir={tmp_path / 'profile'}",
                "--window-size=1400,900",
                "--virtual-time-budget=10000",
            ),
            *(f"--blink-settings=preferredColorScheme={int(scheme == 'light')}", "--dump-dom"),
            (tmp_path / "frame.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in done.stderr
    found = srsly.json_loads(re.search(r"<pre>(.*?)</pre>", done.stdout)[1])
    assert found["shown"] == width
    assert found["wide"] <= width, found["reach"]
    assert found["reach"] == ""
    # No word of a tree lies upon another one, and each label is within its arc, in one line.
    assert found["trees"] >= 2
    assert found["crowded"] == 0
    assert found["boxes"] > 10
    assert found["dark"] == (scheme == "dark")
    assert found["page"] == ("rgb(21, 23, 26)" if scheme == "dark" else "rgb(255, 255, 255)")
