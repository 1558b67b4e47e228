"""Commands that are options of others now, under the names and with the output that they had in the version before."""

from typing import Annotated

import srsly

from .app import prepared
from .calibration import calibrations, print_calibrations
from .errors import Examples, Rows, TrainingWords
from .evaluate import Temperature, evaluate
from .options import AnyPipeline, Data, Json, Particles, Pipeline, Printed, Punctuation, Threads, option
from .output import save_json


def errors(
    model: AnyPipeline,
    data_path: Data,
    *,
    output: Json = None,
    train: TrainingWords = None,
    rows: Rows = 15,
    examples: Examples = 1,
    punctuation: Punctuation = False,
    threads: Threads = None,
) -> None:
    """Print what a parser gets wrong, as 'evaluate --errors' does."""
    scores = evaluate(
        model,
        data_path,
        errors=True,
        train=train,
        rows=rows,
        examples=examples,
        punctuation=punctuation,
        threads=threads,
    )
    save_json(output, {"scores": scores, **scores.pop("errors")}, "the errors")


def calibrate(
    model: Pipeline,
    data_path: Data,
    *,
    bins: Annotated[int, option("Bins of equal width", "--bins -b", least=1, most=1000)] = 10,
    punctuation: Punctuation = False,
    particles: Particles = None,
    temperature: Temperature = None,
    threads: Threads = None,
    output: Printed = "table",
) -> None:
    """Print reliability tables, as 'evaluate --calibration' does."""
    nlp, parsers = prepared(model, threads=threads, particles=particles, temperature=temperature)
    raw, gold = calibrations(nlp, parsers, data_path, bins=bins, punctuation=punctuation)
    if output == "json":
        print(srsly.json_dumps({**gold.to_dict(), "raw": raw.to_dict()}, indent=2))
    else:
        print_calibrations(raw, gold)
