"""`hpyp warm`: compile ahead what a pipeline needs."""

from time import perf_counter
from typing import Annotated

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from .app import load_pipeline, note
from .options import argument

# Two sentences; the parser finds the boundary between them.
_TEXT = "the dog sees a cat . the cat sleeps ."
_TAGS = ["DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT", "DET", "NOUN", "VERB", "PUNCT"]
_HEADS = [1, 2, 2, 4, 2, 2, 7, 8, 8, 8]
_LABELS = ["det", "nsubj", "ROOT", "det", "obj", "punct", "det", "nsubj", "ROOT", "punct"]
_COMPONENTS = ("hpyp_parser", "easy_first_tagger", "easy_first_parser")


def warm(
    pipeline: Annotated[
        str | None, argument("Trained pipeline; without one, shipped settings are trained")
    ] = None,
) -> None:
    """Compile the code that a pipeline needs, and cache it.

    Numba keeps compiled code in the directory that the environment variable NUMBA_CACHE_DIR names, or beside
    the package's files. Run this where an image is built, or before tests.
    """
    seconds = sum(map(_train, _COMPONENTS)) if pipeline is None else _use(load_pipeline(pipeline))
    msg.good(f"Ready after {seconds:.1f} s")


def _use(nlp: Language) -> float:
    """Annotate a document with each component. Returns the seconds this takes."""
    doc, total = nlp.make_doc(_TEXT), 0.0
    for name, component in nlp.pipeline:
        start = perf_counter()
        doc = component(doc)
        seconds = perf_counter() - start
        note(f"{name}: {seconds:.1f} s")
        total += seconds
    return total


def _train(component: str) -> float:
    """Train a component on two sentences, and use it. Returns the seconds this takes."""
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
