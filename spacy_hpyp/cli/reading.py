"""`hpyp reading`: whether surprisals predict reading times."""

import io
import re
from pathlib import Path
from typing import Annotated

from ..language_model.reading_times import ReadingTimes, predict_times
from ..language_model.tables import table_text
from .app import of_extra
from .options import Json, argument, option
from .output import print_table, save_json

# The width of a column of a table, in letters: names of several predictors are longer than usual.
_WIDTH = 120


def reading(
    tables: Annotated[
        list[Path], argument("Tables with one word a row, as 'hpyp surprisal' writes them", exists=True)
    ],
    *,
    time: Annotated[str, option("The column of reading times")],
    text_by: Annotated[str, option("The column that says which text a word belongs to")],
    predict: Annotated[
        list[str] | None, option("Columns whose gain is computed, as a,b; default: surprisal")
    ] = None,
    baseline: Annotated[
        str, option("Columns that times are predicted by, too")
    ] = "length,log_frequency,position",
    output: Json = None,
) -> None:
    """Print how much better reading times are predicted by surprisals than without them.

    Regressions (least squares) with and without them predict the times of each text from those of all others:
    gain is the difference in log-likelihood, in nats. Effects are in the unit of times a bit, with 95 %
    confidence intervals that allow for neighbouring words to be alike (Newey & West). Of each column those of
    the words before (--lags) go with it. Rows without a time are left out.
    """
    needs = "This needs pandas and statsmodels, of the extra 'reading': pip install 'spacy-hpyp[reading]'"
    pandas, _ = of_extra("pandas", needs), of_extra("statsmodels", needs)
    found: dict[str, ReadingTimes] = {}
    for path in tables:
        text, separator = table_text(path)
        decimal = "," if separator == ";" and re.search(r";-?\d+,\d", text) else "."
        table = pandas.read_csv(io.StringIO(text), sep=separator, decimal=decimal, low_memory=False)
        for columns in predict or ["surprisal"]:
            names, given = ([name.strip() for name in each.split(",")] for each in (columns, baseline))
            key = ", ".join(names) if len(tables) == 1 else f"{path.stem}: {', '.join(names)}"
            found[key] = predict_times(table, time=time, text_by=text_by, predictors=names, baseline=given)
    rows, effects = [], []
    for name, one in found.items():
        by_text = " ".join(f"{gain:.1f}" for gain in one.gains.values())
        rows.append((name, one.words, one.left_out, f"{one.gain:.1f}", by_text))
        for effect in one.effects:
            interval = f"{effect.low:.2f} … {effect.high:.2f}"
            effects.append((name, effect.column, f"{effect.value:.2f}", interval))
    header = ("predictors", "words", "left out", "gain", "by text")
    print_table(header, rows, "Gain in log-likelihood (nats)", max_col=_WIDTH)
    header = ("predictors", "column", "effect", "95 %")
    print_table(header, effects, f"Effects ({time} a bit)", left=2, max_col=_WIDTH)
    figures = {
        name: {**one._asdict(), "gain": one.gain, "effects": [effect._asdict() for effect in one.effects]}
        for name, one in found.items()
    }
    save_json(output, figures, "the figures")
