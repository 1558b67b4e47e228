"""`hpyp precompile`: compile ahead what a pipeline needs."""

from time import perf_counter
from typing import Annotated

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from .app import argument, load_pipeline, note

# Two sentences; the parser finds the boundary between them.
_WORDS = "the dog sees a cat . the cat sleeps .".split()
_TAGS = ["DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT", "DET", "NOUN", "VERB", "PUNCT"]
_HEADS = [1, 2, 2, 4, 2, 2, 7, 8, 8, 8]
_LABELS = ["det", "nsubj", "ROOT", "det", "obj", "punct", "det", "nsubj", "ROOT", "punct"]
_COMPONENTS = ("hpyp_parser", "easy_first_tagger", "easy_first_parser")


def precompile(
    pipeline: Annotated[
        str | None, argument("Trained pipeline (default: components with default settings)")
    ] = None,
) -> None:
    """Compile the code that a pipeline needs, and cache it.

    Compiled code is kept in the directory that the environment variable NUMBA_CACHE_DIR names;
    without it, beside the package's files or in ~/.cache. Run this when you build an image. Later
    the directory may be read-only.
    """
    start = perf_counter()
    for nlp in map(_trained, _COMPONENTS) if pipeline is None else [load_pipeline(pipeline)]:
        nlp(" ".join(_WORDS))
        note(f"{', '.join(nlp.pipe_names)}: {perf_counter() - start:.1f} s")
    msg.good(f"Ready after {perf_counter() - start:.1f} s")


def _trained(component: str) -> Language:
    """Train a component on two sentences."""
    nlp = spacy.blank("xx")
    nlp.add_pipe(component)
    doc = Doc(nlp.vocab, _WORDS, tags=_TAGS, heads=_HEADS, deps=_LABELS)
    examples = [Example(nlp.make_doc(doc.text), doc)]
    nlp.initialize(lambda: examples)
    for _ in range(2):
        nlp.update(examples)
    return nlp
