"""`hpyp compact`: pipelines that only predict."""

from pathlib import Path
from typing import Annotated

import srsly
from wasabi import msg

from ..pipeline.base import TrainableComponent
from .app import argument, load_pipeline, option


def compact(
    pipeline: Annotated[str, argument("Name or path of a trained pipeline")],
    output: Annotated[Path, argument("Directory for the smaller pipeline", file_okay=False)],
    *,
    scores: Annotated[
        str, option("JSON of udeval or cross-validate, for the package's metadata")
    ] = "",
) -> None:
    """Write a smaller pipeline to package, without the data for further training.

    Easy-first components keep the averages of their weights, to a 32nd. hpyp_parser keeps its
    seating, from which it predicts. 'python -m spacy package' makes a wheel of the result.
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
