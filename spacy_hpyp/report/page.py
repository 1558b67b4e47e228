"""The page: sections with figures, tables and trees, and how they are written as HTML."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..about import __version__
from .trees import DrawnTree


class Cell(NamedTuple):
    """A cell of a table: its text, how dark it is, from 0 to 1, and whether it is text and no number."""

    text: str
    share: float | None = None
    is_text: bool = False


class PageTable(NamedTuple):
    """A table: its title and columns; rows of cells, or of what is made a cell (see `cell`), each with its
    name first; and whether it is folded, to be shown only when it is asked for.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    folded: bool = False


@dataclass
class Section:
    """A part of the page.

    name (str): What links lead to.
    texts (list[str]): Its paragraphs; for a part that a pipeline has not, they say so.
    figures (list[tuple[str, Markup]]): What comes after them, with titles; see `spacy_hpyp.report.figures`.
    tables (list[PageTable]), trees (list[dict]): What comes then; see `worst_trees`.
    for_experts (bool): Whether these are shown only when they are asked for.
    """

    name: str
    title: str
    texts: list[str] = field(default_factory=list)
    figures: list[tuple[str, Markup]] = field(default_factory=list)
    tables: list[PageTable] = field(default_factory=list)
    trees: list[dict[str, Any]] = field(default_factory=list)
    for_experts: bool = False

    @property
    def folded(self) -> bool:
        """Whether there is anything that is shown only when it is asked for."""
        return self.for_experts and bool(self.figures or self.tables)

    def draw(self, draw: Callable[..., Markup], title: str, *arguments: Any, **settings: Any) -> None:
        """Add a figure by one of `spacy_hpyp.report.figures`; the arguments are those of the function."""
        name = f"figure-{self.name}-{len(self.figures)}"
        self.figures.append((title, draw(name, title, *arguments, **settings)))

    def tabulate(self, *table: Any, **settings: Any) -> None:
        """Add a table, see `PageTable`."""
        self.tables.append(PageTable(*table, **settings))


def cell(value: object) -> Cell:
    """A value as a cell: a whole number, a word, a proportion that is shown in percent, or None, which is a
    dash.
    """
    if isinstance(value, Cell):
        return value
    if value is None:
        return Cell("–")
    return (
        Cell(f"{100 * value:.2f}")
        if isinstance(value, float)
        else Cell(str(value), is_text=isinstance(value, str))
    )


def write_page(title: str, facts: Sequence[tuple[str, str]], sections: Sequence[Section]) -> str:
    """The page as HTML: one file that needs no other, with a title, facts by their names, and its parts. All
    text is escaped.
    """
    template = _environment().get_template("page.html")
    return template.render(title=title, facts=facts, sections=sections, version=__version__)


def write_tree(words: Sequence[str], tree: DrawnTree, title: str) -> str:
    """A tree as a part of another page, which has the style `tree_style`; the title is for those who do not
    see it.
    """
    return str(_environment().get_template("tree.html").module.drawn(words, tree, title))


def tree_style() -> str:
    """How trees are drawn, as CSS. The page has the colours --page, --muted, --link and --wrong."""
    return str(_environment().get_template("tree.html").module.style())


@cache
def _environment() -> Environment:
    loader = FileSystemLoader(Path(__file__).parent)
    found = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    found.filters["cell"] = cell
    return found
