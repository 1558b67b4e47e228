"""`hpyp compact`: a pipeline that only predicts, for packages."""

from pathlib import Path
from typing import Annotated

from wasabi import msg

from ..components.base import TrainableComponent
from .app import load_pipeline
from .cache import MB, size_of
from .options import argument


def compact(
    pipeline: Annotated[str, argument("Name or path of a trained pipeline")],
    output: Annotated[Path, argument("Where to write the smaller one: another directory")],
) -> None:
    """Write a pipeline without what only further training needs, for packages.

    Of easy-first components the averages of their weights are left, to a 32nd. hpyp_parser keeps its seating: what it predicts by is made of it.
    """
    nlp = load_pipeline(pipeline)
    if output.resolve() == nlp.path.resolve():
        raise ValueError(
            f"{output} is the pipeline itself, which could not be trained on any more: name another directory."
        )
    for _, component in nlp.components:
        if isinstance(component, TrainableComponent):
            component.learned.compact()
    nlp.to_disk(output)
    msg.good(f"Wrote {output}, {size_of(output.rglob('*')) / MB:.1f} MB")
