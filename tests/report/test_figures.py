"""Figures that are parts of a page."""

import re
from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib")

from spacy_hpyp.report.figures import bar_figure, line_figure

LINES = {"a <b>": ([0, 1, 2], [0.1, 0.2, 0.3]), "$x$ & y": ([0, 1], [0.4, 0.1])}


def draw(name="figure", title='A "title" <i>', lines=LINES, **settings):
    return line_figure(name, title, lines, x_label="depth", y_label="y", **settings)


def test_colours_are_those_of_the_page():
    svg = draw()
    assert not re.search("#[0-9a-f]{6}", svg)
    assert {"currentColor", "var(--muted)", "var(--series-1)", "var(--series-2)"} <= set(
        re.findall(r"currentColor|var\(--[\w-]+\)", svg)
    )


def test_text_is_text_and_is_escaped():
    root = ElementTree.fromstring(draw())
    assert root.get("aria-label") == 'A "title" <i>'
    words = {"".join(each.itertext()).strip() for each in root.iter() if each.tag.endswith("text")}
    assert {"depth", "a <b>", "$x$ & y"} <= words


def test_figures_share_no_names_and_refer_to_their_own():
    svgs = draw("one"), draw("two")
    names = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in svgs]
    assert not names[0] & names[1]
    for svg, own in zip(svgs, names):
        assert set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', svg)) <= {
            pair for name in own for pair in ((name, ""), ("", name))
        }


def test_a_figure_is_the_same_whenever_it_is_drawn():
    assert draw() == draw()


def test_many_lines_have_numbers_at_their_ends():
    svg = draw(
        lines={str(number): ([0, 1], [0.0, number]) for number in range(30)}, log=True, x_names=["no", "one"]
    )
    words = {
        "".join(each.itertext()).strip()
        for each in ElementTree.fromstring(svg).iter()
        if each.tag.endswith("text")
    }
    assert {"29", "no", "one", "0", "10"} <= words
    assert not any("$" in word for word in words)


@pytest.mark.parametrize("words", [["日本", "語", "है", "$5$", "<script>"], ["x"]])
def test_bars_have_any_words_without_a_warning(words, recwarn):
    svg = bar_figure(
        "bars",
        "Bars",
        words,
        {"part": [1.0] * len(words), "other": [2.0] * len(words)},
        x_label="bits",
        ends=[0],
    )
    found = [
        "".join(each.itertext()).strip()
        for each in ElementTree.fromstring(svg).iter()
        if each.tag.endswith("text")
    ]
    assert set(words) <= set(found)
    assert not recwarn.list
