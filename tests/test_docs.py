"""Links, commands and openings of the README, the pages in `docs`, and docstrings."""

import ast
import re
from pathlib import Path

import pytest
import srsly
from typer.main import get_command

from spacy_hpyp.cli.commands import commands

PROJECT = Path(__file__).parent.parent
DOCS = PROJECT / "docs"
PAGES = [PROJECT / "README.md", *sorted(DOCS.glob("*.md"))]

CODE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)

by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def prose(page):
    """Return a page without its code blocks."""
    return CODE.sub("", page.read_text(encoding="utf8"))


def anchors(page):
    """The anchors of a page's headings in GitHub and MkDocs."""
    headings = [re.sub(r"[^\w\s-]", "", heading) for heading in _HEADING.findall(prose(page))]
    return [re.sub(r"\s+", "-", heading.strip().lower()) for heading in headings]


@by_page
def test_relative_links_point_to_existing_files_and_headings(page):
    for link in _LINK.findall(re.sub(r"`[^`\n]*`", "", prose(page))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_in_the_navigation():
    nav = str(srsly.read_yaml(DOCS / "mkdocs" / "mkdocs.yml")["nav"])
    assert [page.name for page in DOCS.glob("*.md") if page.name not in nav] == []


def commands_of(group, before=""):
    """The commands of a group and its subgroups, with their names."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


COMMANDS = dict(commands_of(get_command(commands)))


@by_page
def test_commands_in_pages_exist_with_their_options(page):
    text = re.sub(r"\\\n", "", page.read_text(encoding="utf8"))
    for line in re.findall(r"python -m spacy hpyp (?!…)([^`\n]*)", text):
        name = next((name for name in COMMANDS if f"{line} ".startswith(f"{name} ")), None)
        assert name, line
        params = COMMANDS[name].params
        known = {flag for each in params for flag in (*each.opts, *each.secondary_opts)}
        # Options with a dot in their name are config settings.
        command = line.partition(" -m spacy ")[0]
        given = set(re.findall(r"(?<!\S)--?[a-zA-Z][\w-]*(?![\w.-])", command))
        assert given <= known | {"--help"}, line


@by_page
def test_files_named_in_pages_exist(page):
    text = page.read_text(encoding="utf8")
    named = re.findall(r"(?:configs|scripts|tests/\w+)/\w+\.(?:cfg|py)", text)
    assert [name for name in named if not (PROJECT / name).is_file()] == []


def test_every_command_is_in_the_readme():
    readme = (PROJECT / "README.md").read_text(encoding="utf8")
    assert [name for name in COMMANDS if f"`{name}`" not in readme] == []


#: Openings of noun clauses (conventions: begin with a verb or a noun).
CLAUSE = re.compile(r"(What|Who|Whose|Where|Which|After this page)\b")


def test_no_docstring_begins_with_a_clause():
    for file in sorted((PROJECT / "spacy_hpyp").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                assert not CLAUSE.match(ast.get_docstring(node) or ""), (file, node)


@by_page
def test_no_page_begins_with_a_clause(page):
    lines = [line for line in prose(page).splitlines() if line and not line.startswith("#")]
    assert not CLAUSE.match(lines[0])
