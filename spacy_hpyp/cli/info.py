"""`hpyp info`, `hpyp cache` and `hpyp warm`: what this package runs with, what is kept and compiled for it,
and what a pipeline is made of.
"""

import os
import platform
from collections.abc import Iterable
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Annotated

import spacy
from numba.core import config
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from ..about import __version__
from ..arc_standard.decoding import decode_blocks
from ..components.hpyp_parser import HPYPParser
from ..storage.cache import cache_folder, cache_limit, empty_cache, kept_files
from .app import load_pipeline, note
from .options import argument, option
from .output import print_table

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
    cores = f"{os.cpu_count()}, of which this process may use {usable}"
    msg.table({**versions, "cores": cores, "compiled code": _compiled(), "views": kept_views()})
    if pipeline is not None:
        _describe(pipeline)


def _compiled() -> str:
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
        f"{nlp.lang}_{meta['name']} {meta['version']} for spaCy {meta['spacy_version']}, {size / MB:.1f} MB "
        f"in {nlp.path}"
    )
    components = dict(nlp.components)
    settings = {each: nlp.get_pipe_config(each) for each in nlp.component_names}
    rows = [
        (
            f"{each}, disabled" if each in nlp.disabled else each,
            own["factory"],
            own.get("model", {}).get("@architectures", ""),
            len(getattr(components[each], "labels", ())),
            getattr(components[each], "threads", ""),
            f"{size_of((nlp.path / each).rglob('*')) / MB:.1f}",
        )
        for each, own in settings.items()
    ]
    print_table(("component", "factory", "model", "labels", "threads", "MB"), rows, left=3, max_col=60)


MB, GB = 1e6, 1e9


def cache(empty: Annotated[bool, option("Remove it all")] = False) -> None:
    """Show what loaded pipelines keep for the next process, or remove it.

    What components predict by is many times as large as their models, which it is made of when a pipeline is
    loaded for the first time. It is kept in the directory that SPACY_HPYP_CACHE names, or where the platform
    has such files; SPACY_HPYP_CACHE_GB is how many gigabytes it may take, and what has not been used for the
    longest time is removed.
    """
    if empty:
        msg.good(f"Removed {empty_cache() / GB:.3f} GB from {cache_folder()}")
        return
    files = kept_files()
    if files:
        rows = [
            (
                datetime.fromtimestamp(each.used).strftime("%Y-%m-%d %H:%M"),
                f"{each.size / GB:.3f}",
                each.path.stem,
            )
            for each in files
        ]
        msg.table(rows, header=("last used", "GB", "model"), divider=True, aligns=("l", "r", "l"))
    msg.info(kept_views())


def kept_views() -> str:
    """How much is kept, how much may be, and where."""
    total = sum(each.size for each in kept_files())
    return f"{total / GB:.3f} of {cache_limit() / GB:.1f} GB in {cache_folder()}"


def size_of(paths: Iterable[Path]) -> int:
    """How many bytes there are in some files; folders among them count nothing."""
    return sum(path.stat().st_size for path in paths if path.is_file())


# What is parsed: two sentences, of which the second begins where it is found to.
_TEXT = "the dog sees a cat . the cat sleeps ."
_TAGS = ["DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT", "DET", "NOUN", "VERB", "PUNCT"]
_HEADS = [1, 2, 2, 4, 2, 2, 7, 8, 8, 8]
_LABELS = ["det", "nsubj", "ROOT", "det", "obj", "punct", "det", "nsubj", "ROOT", "punct"]
# What is trained where no pipeline is named.
_COMPONENTS = ("hpyp_parser", "easy_first_tagger", "easy_first_parser")


def warm(
    pipeline: Annotated[
        str | None, argument("Trained pipeline; without one, shipped settings are trained")
    ] = None,
    beside: Annotated[
        bool, option("Write what the pipeline predicts by beside its models, not to a cache")
    ] = False,
) -> None:
    """Compile what a pipeline needs, so that nobody waits for it later, and say how long that takes.

    What Numba compiles is kept in the directory that the environment variable NUMBA_CACHE_DIR names, or
    beside the package's files. Run it where an image is built, or before tests.
    """
    if pipeline is not None:
        nlp = load_pipeline(pipeline)
        seconds = _use(nlp)
        for _, component in nlp.pipeline if beside else ():
            if isinstance(component, HPYPParser):
                msg.info(f"Wrote {component.save_views()}")
    elif beside:
        raise ValueError("--beside is for a trained pipeline: name one.")
    else:
        seconds = sum(map(_train, _COMPONENTS))
    msg.good(f"Ready after {seconds:.1f} s")


def _use(nlp: Language) -> float:
    """Let each component of a pipeline annotate a document. Returns how many seconds that takes."""
    doc, total = nlp.make_doc(_TEXT), 0.0
    for name, component in nlp.pipeline:
        start = perf_counter()
        doc = component(doc)
        seconds = perf_counter() - start
        note(f"{name}: {seconds:.1f} s")
        total += seconds
    return total


def _train(component: str) -> float:
    """Train a component on next to nothing, and use it. Returns how many seconds that takes."""
    nlp = spacy.blank("xx")
    nlp.add_pipe(component)
    start = perf_counter()
    doc = Doc(nlp.vocab, _TEXT.split(), tags=_TAGS, heads=_HEADS, deps=_LABELS)
    examples = [Example(nlp.make_doc(_TEXT), doc)]
    nlp.initialize(lambda: examples)
    for _ in range(2):
        nlp.update(examples)
    seconds = perf_counter() - start
    note(f"Training of {component}: {seconds:.1f} s")
    return seconds + _use(nlp)
