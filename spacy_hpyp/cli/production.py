"""`hpyp compact` and `hpyp precompile`: pipelines that only predict, and their compiled code."""

from pathlib import Path
from time import perf_counter
from typing import Annotated

import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from ..pipeline.base import TrainableComponent
from .app import load_pipeline, note
from .options import argument, option

# Two sentences; the parser finds the boundary between them.
_WORDS = "the dog sees a cat . the cat sleeps .".split()
_TAGS = ["DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT", "DET", "NOUN", "VERB", "PUNCT"]
_HEADS = [1, 2, 2, 4, 2, 2, 7, 8, 8, 8]
_LABELS = ["det", "nsubj", "ROOT", "det", "obj", "punct", "det", "nsubj", "ROOT", "punct"]
_COMPONENTS = ("hpyp_parser", "easy_first_tagger", "easy_first_parser")


def compact(
    pipeline: Annotated[str, argument("Name or path of a trained pipeline")],
    output: Annotated[Path, argument("Directory for the smaller pipeline", file_okay=False)],
    *,
    scores: Annotated[
        str, option("Scores from udeval or cross-validate (JSON) for the metadata")
    ] = "",
) -> None:
    """Write a smaller pipeline for packaging, without data for further training.

    Easy-first components keep the averages of their weights, in multiples of 1/32. hpyp_parser
    keeps its seating for prediction. 'python -m spacy package' makes a wheel of the result.
    """
    nlp = load_pipeline(pipeline)
    if output.resolve() == nlp.path.resolve():
        raise ValueError(
            f"'{output}' is the pipeline itself. Name another folder: a compact pipeline cannot be "
            "trained further."
        )
    for _, component in nlp.components:
        if isinstance(component, TrainableComponent):
            component.learned.compact()
    if scores:
        found = srsly.read_json(scores)
        # udeval has a score for each input, cross-validate has intervals.
        nlp.meta["performance"] = {
            f"ud_{metric.lower()}{'' if name == 'score' else '_' + name}": value
            for metric, score in found.get("text", found).items()
            for name, value in (score if isinstance(score, dict) else {"score": score}).items()
            if value is not None
        }
    nlp.to_disk(output)
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    msg.good(f"Wrote {output}, {size / 1e6:.1f} MB")


def precompile(
    pipeline: Annotated[
        str | None, argument("Trained pipeline (default: components with default settings)")
    ] = None,
) -> None:
    """Compile a pipeline's code and cache it.

    The environment variable NUMBA_CACHE_DIR names the directory of compiled code. Without it, the
    code goes beside the package's files or to ~/.cache. Run this when you build an image.
    Afterwards the directory may be read-only if the temporary one is writable.
    """
    start = perf_counter()
    for nlp in map(_trained, _COMPONENTS) if pipeline is None else [load_pipeline(pipeline)]:
        nlp(" ".join(_WORDS))
        note(f"{', '.join(nlp.pipe_names)}: {perf_counter() - start:.1f} s")
    msg.good(f"Ready after {perf_counter() - start:.1f} s")


def _trained(component: str) -> Language:
    """Return a pipeline with one component, trained on two sentences."""
    nlp = spacy.blank("xx")
    nlp.add_pipe(component)
    doc = Doc(nlp.vocab, _WORDS, tags=_TAGS, heads=_HEADS, deps=_LABELS)
    examples = [Example(nlp.make_doc(doc.text), doc)]
    nlp.initialize(lambda: examples)
    for _ in range(2):
        nlp.update(examples)
    return nlp
