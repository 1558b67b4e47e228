"""`hpyp info`: what this package runs with, and what a pipeline is made of."""

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from numba.core import config
from wasabi import msg

from ..about import __version__
from ..arc_standard.block_search import decode_blocks
from .app import load_pipeline
from .cache import GB, MB, kept_views, size_of
from .options import argument

_PACKAGE = Path(__file__).parents[1]


def info(
    pipeline: Annotated[str | None, argument("Name or path of a pipeline to describe, too")] = None,
) -> None:
    """Show versions, cores, and what is cached where; of a pipeline its components, their models and sizes.

    It is what a question or a report of an error should come with.
    """
    names = ("spacy", "thinc", "numba", "numpy")
    versions = {"spacy-hpyp": __version__, **{name: version(name) for name in names}}
    versions["Python"] = f"{platform.python_version()}, {platform.platform()}"
    # Containers may use fewer than there are.
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    msg.table(
        {
            **versions,
            "cores": f"{os.cpu_count()}, of which this process may use {usable}",
            "compiled code": _compiled(),
            "views": kept_views(),
        }
    )
    if pipeline is not None:
        _describe(pipeline)


def _compiled() -> str:
    """Where functions are kept that have been compiled, and how large they are."""
    path = decode_blocks.stats.cache_path
    if path is None:
        return "kept nowhere: each process compiles for itself"
    beside = Path(path).is_relative_to(_PACKAGE)
    folder = Path(config.CACHE_DIR or (_PACKAGE if beside else Path(path).parent))
    return f"{size_of(folder.rglob('*.nb[ci]')) / GB:.3f} GB in {folder}"


def _describe(name: str) -> None:
    nlp = load_pipeline(name)
    size, meta = size_of(nlp.path.rglob("*")), nlp.meta
    msg.info(
        f"{nlp.lang}_{meta['name']} {meta['version']} for spaCy {meta['spacy_version']}, {size / MB:.1f} MB in {nlp.path}"
    )
    rows = []
    for each in nlp.component_names:
        settings, component = nlp.get_pipe_config(each), dict(nlp.components)[each]
        model = settings.get("model", {})
        rows.append(
            (
                f"{each}, disabled" if each in nlp.disabled else each,
                settings["factory"],
                model.get("@architectures", ""),
                len(getattr(component, "labels", ())),
                getattr(component, "threads", ""),
                f"{size_of((nlp.path / each).rglob('*')) / MB:.1f}",
            )
        )
    header = ("component", "factory", "model", "labels", "threads", "MB")
    msg.table(rows, header=header, divider=True, max_col=60, aligns=("l", "l", "l", "r", "r", "r"))
