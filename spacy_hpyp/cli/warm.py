"""`hpyp warm`: what a pipeline needs of the numerical core is compiled before it is needed."""

from time import perf_counter
from typing import Annotated

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from ..components.hpyp_training import HPYPTraining
from .app import load_pipeline, note
from .options import argument, option

# What is parsed: two sentences, of which the second begins where it is found to.
_TEXT = "the dog sees a cat . the cat sleeps ."
_TAGS = ["DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT", "DET", "NOUN", "VERB", "PUNCT"]
_HEADS = [1, 2, 2, 4, 2, 2, 7, 8, 8, 8]
_LABELS = ["det", "nsubj", "ROOT", "det", "obj", "punct", "det", "nsubj", "ROOT", "punct"]
# What is trained where no pipeline is named.
_COMPONENTS = ("hpyp_parser", "easy_first_tagger", "easy_first_parser")


def warm(
    pipeline: Annotated[
        str | None,
        argument(
            "Name or path of a trained pipeline; without one, the components with the shipped settings are trained for a moment"
        ),
    ] = None,
    beside: Annotated[
        bool,
        option(
            "Write what the pipeline predicts by beside its models, for images and where the user's cache cannot be written to",
            "--beside",
        ),
    ] = False,
) -> None:
    """Compile what a pipeline needs, so that nobody waits for it later, and say how long that takes.

    What Numba compiles is kept in the directory that the environment variable NUMBA_CACHE_DIR names, or beside the package's files. Run
    it where an image is built, or before tests.
    """
    if pipeline is not None:
        nlp = load_pipeline(pipeline)
        seconds = _use(nlp)
        for _, component in nlp.pipeline if beside else ():
            if isinstance(component, HPYPTraining):
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
