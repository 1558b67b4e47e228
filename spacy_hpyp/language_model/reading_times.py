"""Do surprisals predict how long words are read? Regressions with and without them, on texts that were left
out (Goodkind & Bicknell 2018).

Times and predictors are taken as deviations from the mean of their text: how fast a text is read as a whole
is not what they have to tell.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pandas import DataFrame, Series

# Neighbouring words are read alike: errors of so many words after each other may have to do with each other.
_RELATED = 10


class Effect(NamedTuple):
    """How much longer a word is read where a predictor has one more.

    column (str): The predictor, of the word or of one before it; or the predictor's name and "total": of the
        word and those before it.
    value, low, high (float): In the unit of times, and a 95 % confidence interval.
    """

    column: str
    value: float
    low: float
    high: float


class ReadingTimes(NamedTuple):
    """How well predictors predict reading times.

    words (int): How many words have a time and all predictors.
    left_out (int): How many rows have not.
    gains (dict[str, float]): By text, by how much the log-likelihood of its times is higher with the
        predictors than without them, in nats, where the others were learned from.
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
    """The columns of predictors: those of a word, and of as many words before it as the table has (`hpyp
    surprisal --lags`).

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
    predictors, baseline (Sequence[str]): The columns whose gain is asked for, and those that are there
        without them, too.
    RAISES (ValueError): If a column is not there or has something else than numbers, or there are less than
        two texts with enough words.
    RAISES (ImportError): If there is no statsmodels.
    """
    given, own = columns_of(table, baseline), columns_of(table, predictors)
    if both := set(given) & set(own):
        raise ValueError(f"'{min(both)}' is to be predicted by and is in the baseline, too.")
    columns_of(table, [text_by])
    numbers = table[[*columns_of(table, [time])[:1], *given, *own]]
    for name in numbers:
        if numbers[name].dtype.kind not in "ifu":
            raise ValueError(
                f"The column '{name}' should have numbers only, but it has "
                f"'{numbers[name].dropna().iloc[0]}'."
            )
    numbers = numbers[np.isfinite(numbers).all(axis=1) & (numbers[time] > 0.0)]
    texts = table.loc[numbers.index, text_by].astype(str)
    if texts.nunique() < 2 or texts.value_counts().min() <= numbers.shape[1]:
        raise ValueError(
            f"Each text is predicted from the others: at least two of '{text_by}' need more words with a "
            f"time and all predictors than "
            f"there are columns of these, {numbers.shape[1] - 1}, but there are {dict(texts.value_counts())}."
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
    """That of the times that were not seen, by a regression of those that were, in nats."""
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
