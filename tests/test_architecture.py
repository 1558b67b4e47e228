"""Import rules between the folders of the package."""

import ast
import re
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "spacy_hpyp"

#: From top to bottom: a folder may import only folders in lower rows.
LAYERS = [
    ["cli"],
    ["pipeline"],
    ["training", "language_model", "distributed"],
    ["combining"],
    ["easy_first", "arc_standard"],
    ["head_outward"],
    ["hpyp"],
    ["stored"],
    ["annotation"],
    ["text", "treebanks"],
    ["spacy_internals"],
    ["storage", "settings", "interrupts", "memo"],
    ["compiled"],
    ["code_cache", "memory"],
]
#: Folders that must not import spaCy.
WITHOUT_SPACY = {"distributed", "treebanks", *LAYERS[-3], *LAYERS[-2], *LAYERS[-1]}
#: Names that only components and commands may import: a whole pipeline, and gold beside predicted
#: documents.
PIPELINE = {"Language", "TrainablePipe"}


def imports(file):
    """Yield the modules that a file imports, with the imported names."""
    folder = file.relative_to(PACKAGE.parent).parent.parts
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, ()
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(folder[: len(folder) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            yield module, tuple(alias.name for alias in node.names)


@pytest.fixture(scope="module")
def all_imports():
    """The imports of each folder or top-level file, except `__init__` and `about`."""
    files = {*PACKAGE.rglob("*.py")} - {PACKAGE / "__init__.py", PACKAGE / "about.py"}
    return [
        (file.relative_to(PACKAGE).parts[0].removesuffix(".py"), module, names)
        for file in sorted(files)
        for module, names in imports(file)
    ]


DEPTH = {name: depth for depth, row in enumerate(LAYERS) for name in row}


def test_folders_import_only_lower_layers(all_imports):
    for own, module, names in all_imports:
        if module.startswith("spacy_hpyp"):
            # The folder or top-level file of the module, or those imported from the package.
            for place in module.split(".")[1:2] or names:
                is_lower = place in (own, "about") or DEPTH[own] < DEPTH[place]
                assert is_lower, f"{own} must not import {module}"


def test_only_some_folders_import_spacy(all_imports):
    for own, module, names in all_imports:
        if module.split(".")[0] == "spacy":
            assert own not in WITHOUT_SPACY, f"{own} must not import {module}"
            is_allowed = own in ("pipeline", "cli") or not PIPELINE & set(names)
            assert is_allowed, f"{own} must not know {names}"


def test_only_spacy_internals_imports_private_modules(all_imports):
    for own, module, names in all_imports:
        is_private = any(part.startswith("_") for part in (*module.split("."), *names))
        assert own == "spacy_internals" or module.startswith("spacy_hpyp") or not is_private


def test_imported_packages_are_declared(all_imports):
    config = ConfigParser()
    config.read(PACKAGE.parent / "setup.cfg")
    needed = [config["options"]["install_requires"], *config["options.extras_require"].values()]
    lines = "\n".join(needed).replace("-", "_").split()
    declared = {re.split("[^a-z0-9_]", line)[0] for line in lines}
    # llvmlite comes with Numba.
    known = {"spacy_hpyp", "llvmlite", *declared, *sys.stdlib_module_names}
    assert {module.split(".")[0] for _, module, _ in all_imports} <= known


def test_every_folder_is_in_a_layer():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and list(path.glob("*.py"))}
    assert folders <= DEPTH.keys()
