"""Regressions of reading times with and without surprisals, on texts that were left out (Goodkind & Bicknell
2018).

Times and predictors are deviations from the mean of their text: the pace of a text as a whole does not count.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pandas import DataFrame, Series

# Errors of so many neighbouring words may be correlated.
_RELATED = 10


class Effect(NamedTuple):
    """The time that one more of a predictor costs.

    column (str): The predictor, of the word or of one before it; or its name and "total": of all of these.
    value, low, high (float): In the unit of times, and a 95 % confidence interval.
    """

    column: str
    value: float
    low: float
    high: float


class ReadingTimes(NamedTuple):
    """The result of regressions.

    words (int): The number of words that have a time and all predictors.
    left_out (int): The number of rows that have not.
    gains (dict[str, float]): By text, the gain in log-likelihood of its times by the predictors, in nats, by
        regressions learned from the other texts.
    effects (list[Effect]): Of the predictors, in all texts together.
    """

    words: int
    left_out: int
    gains: dict[str, float]
    effects: list[Effect]

    @property
    def gain(self) -> float:
        """The sum of gains, in nats."""
        return sum(self.gains.values())


def columns_of(table: "DataFrame", names: Sequence[str]) -> list[str]:
    """Return the columns of predictors: those of a word, and of the words before it (`hpyp surprisal
    --lags`).

    RAISES (ValueError): If one is not there.
    """
    found = []
    for name in names:
        if name not in table:
            raise ValueError(f"There is no column '{name}', but there are: {', '.join(map(str, table))}.")
        found += [name, *(str(column) for column in table if str(column).startswith(f"{name}_lag"))]
    return found


def predict_times(
    table: "DataFrame", *, time: str, text_by: str, predictors: Sequence[str], baseline: Sequence[str]
) -> ReadingTimes:
    """Regress reading times on predictors and without them.

    table (DataFrame): One word a row, the rows of a text in their order, with columns of numbers as of `hpyp
        surprisal --text-by`. Rows where a predictor is missing, or the time is missing or 0, are left out.
    predictors, baseline (Sequence[str]): The columns whose gain is computed, and those of both regressions.
    RAISES (ValueError): If a column is missing or has no numbers, or fewer than two texts have enough words.
    """
    given, own = columns_of(table, baseline), columns_of(table, predictors)
    if both := set(given) & set(own):
        raise ValueError(f"'{min(both)}' is a predictor and is in the baseline, too.")
    columns_of(table, [text_by])
    numbers = table[[*columns_of(table, [time])[:1], *given, *own]]
    if others := [name for name in numbers if numbers[name].dtype.kind not in "ifu"]:
        raise ValueError(f"The column '{others[0]}' should have numbers only.")
    numbers = numbers[np.isfinite(numbers).all(axis=1) & (numbers[time] > 0.0)]
    texts = table.loc[numbers.index, text_by].astype(str)
    if texts.nunique() < 2 or texts.value_counts().min() <= numbers.shape[1]:
        raise ValueError(
            f"Each text is predicted from the others: at least two of '{text_by}' need more than "
            f"{numbers.shape[1]} words with a time and all predictors."
        )
    numbers = numbers - numbers.groupby(texts).transform("mean")
    times, without, with_them = numbers[time], numbers[given], numbers[given + own]
    gains = {
        text: _log_likelihood(times, with_them, texts != text)
        - _log_likelihood(times, without, texts != text)
        for text in texts.unique()
    }
    effects = _effects(times, with_them, texts, predictors)
    return ReadingTimes(len(numbers), len(table) - len(numbers), gains, effects)


def _log_likelihood(times: "Series", predictors: "DataFrame", seen: "Series") -> float:
    """Compute that of the times that were not seen, by a regression of those that were, in nats."""
    from statsmodels.api import OLS

    found = OLS(times[seen], predictors[seen]).fit()
    return float(OLS(times[~seen], predictors[~seen]).loglike(found.params, scale=found.scale))


def _effects(times: "Series", predictors: "DataFrame", texts: "Series", names: Sequence[str]) -> list[Effect]:
    from statsmodels.api import OLS

    related = {"groups": texts.factorize()[0], "maxlags": _RELATED}
    found = OLS(times, predictors).fit(cov_type="hac-panel", cov_kwds=related)
    effects = []
    for name in names:
        own = columns_of(predictors, [name])
        for columns in [[column] for column in own] + [own] * (len(own) > 1):
            tested = found.t_test(np.isin(predictors.columns, columns).astype(np.float64))
            low, high = tested.conf_int()[0].tolist()
            named = f"{name}, total" if len(columns) > 1 else columns[0]
            effects.append(Effect(named, float(tested.effect[0]), low, high))
    return effects
