"""Figures as SVG that is a part of a page: its colours are those of the page, its text is text in the page's
font.
"""

import logging
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup, escape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# matplotlib knows no names of a page's colours: each of these stands for one.
_TEXT, _MUTED = "#010203", "#010204"
_SERIES = [f"#01020{i}" for i in "56789a"]
_COLOURS = {_TEXT: "currentColor", _MUTED: "var(--muted)"} | {
    colour: f"var(--series-{i})" for i, colour in enumerate(_SERIES, 1)
}
# Who cannot tell colours apart tells these apart.
_MARKERS = "osD^vP"
_DASHES = ("-", "--", "-.", ":")
_WIDTH, _HEIGHT = 4.4, 3.0
#: The most lines that have names of their own in a legend; others are numbered where they end.
_NAMED = 6

Lines = Mapping[str, tuple[Sequence[float], Sequence[float]]]


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib

    settings = {
        "svg.fonttype": "none",
        # The names of its parts are the same whenever it is drawn.
        "svg.hashsalt": "spacy-hpyp",
        # A dollar sign is a dollar sign.
        "text.parse_math": False,
        "font.size": 10,
        "font.family": "sans-serif",
        "text.color": _TEXT,
        "axes.labelcolor": _TEXT,
        "axes.edgecolor": _MUTED,
        "axes.titlesize": 11,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": _MUTED,
        "grid.alpha": 0.25,
        "xtick.color": _MUTED,
        "ytick.color": _MUTED,
        "xtick.labelcolor": _TEXT,
        "ytick.labelcolor": _TEXT,
        "legend.frameon": False,
        "legend.fontsize": 9,
        "lines.linewidth": 1.6,
        "lines.markersize": 4,
    }
    logger = logging.getLogger("matplotlib")
    level = logger.level
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # Which letters the fonts have that matplotlib measures text with, is no matter: the page has its own.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)


def _figure(draw: Callable[..., None]) -> Callable[..., Markup]:
    """Make a function that draws into axes one that returns a figure.

    It has two more arguments, before its own: the name (str) of the figure on the page, which no other has,
    and its title (str).
    """

    @wraps(draw)
    def drawn(name: str, title: str, *arguments: Any, height: float = _HEIGHT, **settings: Any) -> Markup:
        from matplotlib.figure import Figure

        with _style():
            figure = Figure(figsize=(_WIDTH, height), layout="constrained")
            draw(figure.add_subplot(), *arguments, **settings)
            file = StringIO()
            nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
            figure.savefig(file, format="svg", transparent=True, metadata=nothing)
        return _inline(file.getvalue(), name, title)

    return drawn


def _inline(svg: str, name: str, title: str) -> Markup:
    svg = svg[svg.index("<svg") :]
    # A style of a figure would be one of the whole page.
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\b(id="|xlink:href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub("|".join(_COLOURS), lambda found: _COLOURS[found[0]], svg)
    # A name for those who hear the page.
    label = f'<svg role="img" aria-label="{escape(title)}"'
    return Markup(svg.replace("<svg", label, 1))


def _lines(axes: "Axes", lines: Lines) -> None:
    numbered = len(lines) > _NAMED
    for number, (name, (x, y)) in enumerate(lines.items()):
        style = {
            "color": _SERIES[number % len(_SERIES)],
            "marker": _MARKERS[number % len(_MARKERS)],
            "linestyle": _DASHES[number // len(_SERIES) % len(_DASHES)],
        }
        axes.plot(x, y, label=name, **({**style, "linewidth": 1.0, "markersize": 3} if numbered else style))
        if numbered and len(x):
            axes.annotate(
                name, (x[-1], y[-1]), xytext=(4, 0), textcoords="offset points", va="center", fontsize=7
            )
    if 1 < len(lines) <= _NAMED:
        _legend(axes, 3 if len(lines) > 4 else 2)


def _legend(axes: "Axes", columns: int) -> None:
    # Above: nothing is drawn there.
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns)


@_figure
def line_figure(
    axes: "Axes", lines: Lines, *, x_label: str, y_label: str, x_names: Sequence[str] = (), log: bool = False
) -> None:
    """Lines.

    lines (Lines): By their names, x and y. If there are many, their names stand where they end, and should be
        numbers.
    x_names (Sequence[str]): The names of 0, 1, … on the first axis.
    log (bool): Whether the second is logarithmic, as far as it can be.
    """
    _lines(axes, lines)
    axes.set(xlabel=x_label, ylabel=y_label)
    if x_names:
        axes.set_xticks(range(len(x_names)), x_names, fontsize=8)
    else:
        axes.xaxis.get_major_locator().set_params(integer=True)
    if log:
        # Strengths may be negative, by no more than the discount.
        axes.set_yscale("symlog", linthresh=1.0)
        axes.yaxis.set_major_formatter("{x:g}")


@_figure
def calibration_figure(axes: "Axes", lines: Lines) -> None:
    """Accuracy by confidence, by the names of lines, and the diagonal where what is calibrated lies."""
    axes.plot([0, 1], [0, 1], color=_MUTED, linestyle=":", linewidth=1.2)
    _lines(axes, lines)
    axes.set(xlabel="confidence", ylabel="right", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))


@_figure
def interval_figure(axes: "Axes", names: Sequence[str], scores: Sequence[tuple[float, float, float]]) -> None:
    """Scores by their names from the top down, each with the low and the high end of its interval."""
    places = np.arange(len(names))[::-1]
    values = np.array(scores).reshape(-1, 3)
    reach = np.abs(values[:, [0, 0]] - values[:, 1:]).T
    axes.errorbar(values[:, 0], places, xerr=reach, fmt="o", color=_SERIES[0], capsize=4)
    axes.set_yticks(places, names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set(xlabel="percent")


@_figure
def bar_figure(
    axes: "Axes",
    names: Sequence[str],
    parts: Mapping[str, Sequence[float]],
    *,
    x_label: str,
    ends: Sequence[int] = (),
) -> None:
    """Bars of several parts, one below the other.

    parts (Mapping[str, Sequence[float]]): By name, how long the part of each bar is.
    ends (Sequence[int]): After which bars there is a line.
    """
    places, left = np.arange(len(names)), np.zeros(len(names))
    for number, (name, values) in enumerate(parts.items()):
        axes.barh(places, values, left=left, color=_SERIES[number], label=name, height=0.75)
        left += values
    for end in ends:
        axes.axhline(end + 0.5, color=_MUTED, linewidth=0.8)
    axes.set_yticks(places, names, fontsize=9)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(False, axis="y")
    axes.set(xlabel=x_label)
    _legend(axes, len(parts))
