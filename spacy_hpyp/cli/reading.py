"""`hpyp reading`: whether surprisals predict reading times."""

import io
import re
from pathlib import Path
from typing import Annotated, Any

from ..language_model.reading_times import BASELINE, predict_times
from ..language_model.tables import table_text
from .app import Json, argument, option, percent, print_table, require_extra, save_json

# The width of a column of a table, in letters: names of several predictors are longer than usual.
_WIDTH = 120


def reading(
    tables: Annotated[
        list[Path],
        argument("Tables with one word a row, as 'hpyp surprisal' writes them", exists=True),
    ],
    *,
    time: Annotated[str, option("The column of reading times")],
    text_by: Annotated[str, option("Column with the text of each word")],
    predict: Annotated[
        list[str] | None, option("Predictors to test: a,b or a formula; default: surprisal")
    ] = None,
    baseline: Annotated[str, option("Control predictors: a,b or a formula")] = BASELINE,
    reader_by: Annotated[
        str | None, option("Column of readers: effects are those of a mixed model")
    ] = None,
    output: Json = None,
) -> None:
    """Print how much better reading times are predicted by surprisals than without them.

    Regressions (least squares) with and without them predict the times of each text from those of
    all others: gain is the difference in log-likelihood, in nats, with a standard error by blocks
    of 100 words. Effects are in the unit of times a bit, with 95 % confidence intervals that allow
    for neighbouring words to be alike (Newey & West), or those of a mixed model with --reader-by.
    Of each column those of the words before (--lags) go with it. Rows without a time are left out.
    Several tables have the same rows.
    """
    pandas = require_extra("reading", "statsmodels", "pandas")
    read = []
    for path in tables:
        text, separator = table_text(path)
        decimal = "," if separator == ";" and re.search(r";-?\d+,\d", text) else "."
        read.append(
            pandas.read_csv(io.StringIO(text), sep=separator, decimal=decimal, low_memory=False)
        )
    predictors = {
        (f"{path.stem}: " if len(tables) > 1 else "") + formula: (number, formula)
        for number, path in enumerate(tables)
        for formula in predict or ["surprisal"]
    }
    columns = {"time": time, "text_by": text_by, "reader_by": reader_by}
    found = predict_times(read, **columns, predictors=predictors, baseline=baseline)
    rows, effects = [], []
    for name, one in found.predictions.items():
        by_text = " ".join(f"{gain:.1f}" for gain in one.texts.values())
        gain = f"{one.gain.value:.1f} ± {one.gain.error:.1f}"
        rows.append((name, found.words, found.left_out, gain, percent(one.explained), by_text))
        for effect in one.effects:
            interval = f"{effect.low:.2f} … {effect.high:.2f}"
            effects.append(
                (name, effect.column, f"{effect.value:.2f}", interval, f"{effect.standardized:.2f}")
            )
    header = ("predictors", "words", "left out", "gain", "variance %", "by text")
    print_table(header, rows, "Gain in log-likelihood (nats)", max_col=_WIDTH)
    differences = [
        (*pair, f"{own.value:.1f} ± {own.error:.1f}") for pair, own in found.differences.items()
    ]
    if differences:
        header = ("predictors", "less those of", "difference")
        print_table(header, differences, "Differences in gain (nats)", left=2, max_col=_WIDTH)
    header = ("predictors", "column", "effect", "95 %", "a standard deviation")
    print_table(header, effects, f"Effects ({time} a bit)", left=2, max_col=_WIDTH)
    figures: dict[str, Any] = {
        "words": found.words,
        "left_out": found.left_out,
        "baseline": baseline,
    }
    figures["predictors"] = {
        name: {
            **one._asdict(),
            "gain": one.gain._asdict(),
            "effects": [own._asdict() for own in one.effects],
        }
        for name, one in found.predictions.items()
    }
    figures["differences"] = [
        {"predictors": one, "less": other, **own._asdict()}
        for (one, other), own in found.differences.items()
    ]
    save_json(output, figures, "the figures")
