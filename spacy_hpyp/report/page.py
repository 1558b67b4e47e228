"""A page of sections with figures, tables and trees: one HTML file that loads nothing else."""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Lines by name: their x and y.
Lines = Mapping[str, tuple[Sequence[float], Sequence[float]]]


class Table(NamedTuple):
    """A table. Numbers that are floats are shown as they are rounded by `cell`."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass
class Section:
    """A part of the page, with figures and trees by their titles."""

    title: str
    text: str = ""
    figures: list[tuple[str, str]] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    trees: list[tuple[str, Markup]] = field(default_factory=list)

    def draw(self, title: str, plot: Callable[["Axes"], None], *, height: float = 3.0) -> None:
        """Add a figure, whose axes a function draws."""
        import matplotlib
        from matplotlib.figure import Figure

        settings = {
            "svg.fonttype": "none",
            "svg.hashsalt": title,
            "text.parse_math": False,
            "axes.grid": True,
        }
        with matplotlib.rc_context(settings):
            figure = Figure(figsize=(5.0, height), layout="constrained")
            plot(figure.add_subplot())
            file = BytesIO()
            figure.savefig(file, format="svg", metadata={"Date": None})
        self.figures.append((title, f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}"))


def plot_lines(
    axes: "Axes", lines: Lines, x_label: str, y_label: str, *, diagonal: bool = False, log: bool = False
) -> None:
    """Draw lines, with a legend if there are few of them, and perhaps the diagonal of calibration."""
    if diagonal:
        axes.plot([0, 1], [0, 1], color="gray", linestyle=":")
    for name, (x, y) in lines.items():
        axes.plot(x, y, marker="o", markersize=3, label=name)
    axes.set(xlabel=x_label, ylabel=y_label)
    if 1 < len(lines) <= 10:
        axes.legend(fontsize=8)
    if log:
        # Strengths may be negative, by no more than the discount.
        axes.set_yscale("symlog", linthresh=1.0)


def plot_bars(axes: "Axes", names: Sequence[str], parts: Mapping[str, Sequence[float]], x_label: str) -> None:
    """Draw a horizontal bar of several parts for each name."""
    left = np.zeros(len(names))
    for part, values in parts.items():
        axes.barh(range(len(names)), values, left=left, label=part)
        left += values
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel=x_label)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(parts))


def write_page(title: str, facts: Mapping[str, object], sections: Sequence[Section]) -> str:
    """Return the page as HTML, with facts by their names."""
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    environment.filters["cell"] = _cell
    return environment.get_template("page.html").render(title=title, facts=facts, sections=sections)


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
