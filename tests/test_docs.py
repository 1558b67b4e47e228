"""The README and the pages of `docs` agree with each other and with the package."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import srsly
from typer.main import get_command

from spacy_hpyp.cli import hpyp

PROJECT = Path(__file__).parent.parent
DOCS = PROJECT / "docs"
SITE = DOCS / "mkdocs" / "mkdocs.yml"
PAGES = [PROJECT / "README.md", *sorted(DOCS.glob("*.md"))]

_CODE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)

by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def prose(page):
    """A page without its blocks of code."""
    return _CODE.sub("", page.read_text(encoding="utf8"))


def anchors(page):
    """The anchors of a page's headings, which are the same for GitHub and for MkDocs where no heading is
    there twice.
    """
    bare = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in _HEADING.findall(prose(page))]
    return [re.sub(r"\s+", "-", heading) for heading in bare]


@by_page
def test_relative_links_lead_to_files_and_headings(page):
    assert len(set(anchors(page))) == len(anchors(page))
    # What code is written in is no link.
    for link in _LINK.findall(re.sub(r"`[^`\n]*`", "", prose(page))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), f"{page.name}: {link}"
        # The site has these pages only.
        assert page.parent == PROJECT or target.parent in (DOCS, DOCS / "images"), f"{page.name}: {link}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {link}"


def test_the_map_of_the_package_has_every_folder_and_names_files_that_are_there():
    page = (DOCS / "how_it_works.md").read_text(encoding="utf8")
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    folders = {path.parent.name for path in (PROJECT / "spacy_hpyp").glob("*/__init__.py")}
    assert folders <= {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    for file in re.findall(r"`([a-z_]+/\w+\.py)`", page):
        assert (PROJECT / ("" if file.startswith("tests/") else "spacy_hpyp") / file).is_file(), file


def test_docstrings_send_to_modules_that_are_there():
    package = PROJECT / "spacy_hpyp"
    folders = "|".join(path.parent.name for path in package.glob("*/__init__.py"))
    for file in package.rglob("*.py"):
        for folder, module in re.findall(
            rf"`(?:spacy_hpyp\.)?({folders})\.(\w+)[\w.]*`", file.read_text(encoding="utf8")
        ):
            assert (package / folder / f"{module}.py").is_file(), f"{file.name}: {folder}.{module}"


def test_every_page_is_in_the_navigation_once():
    def pages(entry):
        if isinstance(entry, str):
            return [entry]
        return [
            page for below in (entry.values() if isinstance(entry, dict) else entry) for page in pages(below)
        ]

    assert sorted(pages(srsly.read_yaml(SITE)["nav"])) == sorted(page.name for page in DOCS.glob("*.md"))


def commands_of(group, before=""):
    """The commands of a group and of those below it that are listed, with their names."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{before}{name} ")
        elif not command.hidden:
            yield f"{before}{name}", command


COMMANDS = dict(commands_of(get_command(hpyp)))


def test_every_command_is_in_the_readme_and_no_page_has_others():
    commands = set(COMMANDS)
    of_groups = {name.split()[0] for name in commands if " " in name}
    for page in PAGES:
        for first, second in re.findall(
            r"python -m spacy hpyp ([a-z-]+)(?: ([a-z-]+))?", page.read_text("utf8")
        ):
            assert (f"{first} {second}" if first in of_groups else first) in commands
    readme = (PROJECT / "README.md").read_text(encoding="utf8")
    table = "".join(
        row.split("|")[1]
        for row in readme.split("| `python -m spacy hpyp …` |")[1].split("\n\n")[0].splitlines()[2:]
    )
    assert set(re.findall(r"`([a-z][a-z -]+)`", table)) == commands


@by_page
def test_options_of_commands_in_a_page_are_there(page):
    for line in re.sub(r"\\\n", "", page.read_text(encoding="utf8")).splitlines():
        for name, command in COMMANDS.items():
            for arguments in re.findall(rf"python -m spacy hpyp {name} ([^`\n]*)", line):
                known = {
                    option
                    for parameter in command.params
                    for option in parameter.opts + parameter.secondary_opts
                }
                # A dot is in the name of a setting of a config.
                given = set(re.findall(r"(?<!\S)--?[a-zA-Z][\w-]*(?![\w.-])", arguments))
                assert given <= known, f"{page.name}: {name} has no {given - known}"


def test_what_is_checked_with_bounds_is_there():
    named = re.findall(r"tests/[\w/]+\.py", (PROJECT / ".ci" / "run").read_text(encoding="utf8"))
    assert len(named) > 5
    assert [name for name in named if not (PROJECT / name).exists()] == []


@by_page
def test_python_in_a_page_can_be_read(page):
    for language, code in _CODE.findall(page.read_text(encoding="utf8")):
        if language == "python":
            ast.parse(code)


def test_what_the_page_about_python_names_is_there_and_has_what_the_package_exports():
    names = re.findall(r"^::: (\S+)$", (DOCS / "api.md").read_text(encoding="utf8"), re.MULTILINE)
    found = []
    for name in names:
        module, _, attribute = name.rpartition(".")
        found.append(getattr(import_module(module), attribute))
        assert found[-1].__doc__
    package = import_module("spacy_hpyp")
    assert all(getattr(package, name) in found for name in package.__all__ if name != "__version__")


@pytest.mark.skipif(
    find_spec("mkdocs") is None or find_spec("mkdocstrings_handlers") is None,
    reason="the extra 'docs' is not installed",
)
def test_the_site_is_built_without_a_warning(tmp_path):
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--config-file",
        SITE,
        "--site-dir",
        tmp_path / "site",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NGramModel" in (tmp_path / "site" / "api" / "index.html").read_text(encoding="utf8")
