"""Regressions of reading times with and without surprisals, on texts that were left out (Goodkind &
Bicknell 2018).

Times and predictors are deviations from the mean of their text, or of their text and reader: pace
as a whole does not count.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: Predictors that a gain is measured beside.
BASELINE = "length + log_frequency + position + final_punctuation + comma_dash + quote"
# Errors of so many neighbouring words may be correlated.
_RELATED = 10
# Standard errors of gains are those of sums over so many neighbouring words.
_BLOCK = 100
# A smaller standard deviation is that of rounding.
_CONSTANT = 1e-9
_LAG = re.compile(r"_lag(\d+)\b")


class Effect(NamedTuple):
    """The time that one more of a predictor costs.

    column (str): The predictor, of the word or of one before it; or its name and "total": of all of
    these. value, low, high (float): In the unit of times, and a 95 % confidence interval.
    standardized (float): The time that one more standard deviation costs.
    """

    column: str
    value: float
    low: float
    high: float
    standardized: float


class Gain(NamedTuple):
    """A difference in log-likelihood in nats, and its standard error by blocks of words."""

    value: float
    error: float


class Prediction(NamedTuple):
    """The prediction of times by some predictors and the baseline.

    gain (Gain), texts (dict[str, float]): Over the baseline alone, by regressions learned from the
        other texts, and its part in each text.
    explained (float): The proportion of the baseline's errors, squared, that the predictors
    explain. effects (list[Effect]): In all texts together.
    """

    gain: Gain
    texts: dict[str, float]
    explained: float
    effects: list[Effect]


class ReadingTimes(NamedTuple):
    """The result of regressions on the same rows.

    words, left_out (int): The numbers of rows with a time and all predictors, and of others.
    predictions (dict[str, Prediction]): By the name of their predictors.
    differences (dict[tuple[str, str], Gain]): Of the first predictors over the second ones.
    """

    words: int
    left_out: int
    predictions: dict[str, Prediction]
    differences: dict[tuple[str, str], Gain]


def design(table: "DataFrame", formula: str) -> "DataFrame":
    """Make the columns of a formula, and the same of the words before where there are any
    (`hpyp surprisal --lags`).

    formula (str): As of patsy and R: "a * b + np.log(c)", or "a,b" for "a + b".
    RAISES (ValueError): If it cannot be read, or a column is not there or has no numbers.
    """
    from patsy import ModelDesc, NAAction, PatsyError, dmatrix

    names = {*map(str, table)}
    lags = sorted({int(found[1]) for name in names if (found := _LAG.search(name))})
    try:
        model = ModelDesc.from_formula(formula if "(" in formula else formula.replace(",", "+"))
        codes = []
        # The intercept has no factors.
        for term in (each for each in model.rhs_termlist if each.factors):
            for factor in term.factors:
                if factor.code.isidentifier():
                    _column(table, factor.code)
            own = names.intersection(re.findall(r"[^\W\d]\w*", term.name()))
            codes.append(term.name())
            for lag in lags if own else ():
                if names.issuperset(f"{name}_lag{lag}" for name in own):
                    codes.append(re.sub(rf"\b({'|'.join(own)})\b", rf"\1_lag{lag}", term.name()))
        settings = {"NA_action": NAAction(NA_types=[]), "return_type": "dataframe"}
        return dmatrix(f"0 + {' + '.join(codes)}", table, **settings)
    except PatsyError as error:
        raise ValueError(f"The formula '{formula}' cannot be read: {error}") from error


def _column(table: "DataFrame", name: str, *, numbers: bool = True) -> "Series":
    if name not in table:
        raise ValueError(
            f"There is no column '{name}', but there are: {', '.join(map(str, table))}."
        )
    if numbers and table[name].dtype.kind not in "ifub":
        raise ValueError(f"The column '{name}' should have numbers only.")
    return table[name]


def predict_times(
    tables: Sequence["DataFrame"],
    *,
    time: str,
    text_by: str,
    predictors: Mapping[str, tuple[int, str]],
    baseline: str = BASELINE,
    reader_by: str | None = None,
) -> ReadingTimes:
    """Regress reading times on predictors and without them.

    tables (Sequence[DataFrame]): One word a row, the rows of a text in their order, with columns as
        of `hpyp surprisal --text-by`. All have the same rows; times and the baseline are those of
        the first one. Rows where a predictor is missing, or the time is missing or 0, are left out.
    predictors (Mapping[str, tuple[int, str]]): By name, the number of the table of each and its
    formula. baseline (str): The formula of what all regressions have.
    reader_by (str | None): The column of readers. Effects are then those of a mixed model with an
        intercept and a slope of the first predictor for each reader.
    RAISES (ValueError): If a column is missing or has no numbers, tables have different rows, or
        fewer than two texts have enough words.
    """
    import pandas

    table = tables[0]
    if len({len(each) for each in tables}) > 1:
        raise ValueError(
            "The tables have different numbers of rows: compare predictors of the same words."
        )
    times, texts = (
        _column(table, time).astype(float),
        _column(table, text_by, numbers=False).astype(str),
    )
    readers = None if reader_by is None else _column(table, reader_by, numbers=False).astype(str)
    given = design(table, baseline)
    wanted = {
        name: design(tables[number], formula) for name, (number, formula) in predictors.items()
    }
    for columns in wanted.values():
        if both := {*given} & {*columns}:
            raise ValueError(f"'{min(both)}' is a predictor and is in the baseline, too.")
    kept = np.isfinite(times) & (times > 0.0)
    for columns in (given, *wanted.values()):
        kept &= np.isfinite(columns).all(axis=1)
    left_out, times, texts, given = int(np.sum(~kept)), times[kept], texts[kept], given[kept]
    wanted = {name: columns[kept] for name, columns in wanted.items()}
    readers = None if readers is None else readers[kept]
    most = given.shape[1] + max(columns.shape[1] for columns in wanted.values())
    if texts.nunique() < 2 or texts.value_counts().min() <= most:
        raise ValueError(
            f"Each text is predicted from the others: at least two of '{text_by}' need more than {most} words "
            f"with a time and all predictors."
        )
    groups = [texts] if readers is None else [texts, readers]
    own_times, own = _centred(times, groups), _centred(given, groups)
    blocks = [texts, texts.groupby(groups).cumcount() // _BLOCK]
    without = _left_out(own_times, own, texts)
    log_probs, predictions = {}, {}
    for name, columns in wanted.items():
        found = _left_out(own_times, pandas.concat([own, _centred(columns, groups)], axis=1), texts)
        log_probs[name] = found["log_prob"] - without["log_prob"]
        predictions[name] = Prediction(
            _gain(log_probs[name], blocks),
            log_probs[name].groupby(texts, sort=False).sum().to_dict(),
            1.0 - float(found["error"].sum() / without["error"].sum()),
            _effects(
                *(_centred(each, [texts]) for each in (times, given, columns)), texts, readers
            ),
        )
    pairs = combinations(log_probs, 2)
    differences = {(one, two): _gain(log_probs[one] - log_probs[two], blocks) for one, two in pairs}
    return ReadingTimes(len(times), left_out, predictions, differences)


def _centred(values: Any, groups: Sequence["Series"]) -> Any:
    return values - values.groupby(list(groups)).transform("mean")


def _gain(log_probs: "Series", blocks: Sequence["Series"]) -> Gain:
    sums = log_probs.groupby(list(blocks)).sum()
    return Gain(float(sums.sum()), float(sums.std() * np.sqrt(len(sums))))


def _left_out(times: "Series", predictors: "DataFrame", texts: "Series") -> "DataFrame":
    """Predict the times of each text by a regression of the others: log-probabilities in nats
    (`log_prob`), and squared errors (`error`).
    """
    import pandas
    from statsmodels.api import OLS

    parts = []
    for text in texts.unique():
        seen = texts != text
        varied = predictors.loc[:, predictors[seen].std() > _CONSTANT]
        found = OLS(times[seen], varied[seen]).fit()
        error = (times[~seen] - varied[~seen] @ found.params) ** 2
        log_prob = -0.5 * (np.log(2.0 * np.pi * found.scale) + error / found.scale)
        parts.append(pandas.DataFrame({"log_prob": log_prob, "error": error}))
    return pandas.concat(parts).loc[times.index]


def _effects(
    times: "Series", given: "DataFrame", own: "DataFrame", texts: "Series", readers: "Series | None"
) -> list[Effect]:
    import pandas
    from statsmodels.api import OLS, MixedLM

    columns = pandas.concat([given, own], axis=1)
    deviation = columns.std()[lambda each: each > _CONSTANT]
    standard = columns[deviation.index] / deviation
    if readers is None:
        related = {"groups": texts.factorize()[0], "maxlags": _RELATED}
        found = OLS(times, standard).fit(cov_type="hac-panel", cov_kwds=related)
    else:
        slopes = np.column_stack([np.ones(len(times)), standard[own.columns[0]]])
        found = MixedLM(times, standard, groups=readers, exog_re=slopes).fit(reml=False)
    effects = []
    for term in dict.fromkeys(_LAG.sub("", column) for column in own):
        lagged = [column for column in own if _LAG.sub("", column) == term and column in deviation]
        for some in [[column] for column in lagged] + [lagged] * (len(lagged) > 1):
            chosen = deviation.index.isin(some).astype(np.float64)
            tested, of_deviations = (
                found.t_test((chosen / deviation.to_numpy())[None]),
                found.t_test(chosen[None]),
            )
            low, high = np.squeeze(tested.conf_int()).tolist()
            value, per_deviation = (
                float(np.squeeze(each.effect)) for each in (tested, of_deviations)
            )
            name = f"{term}, total" if len(some) > 1 else some[0]
            effects.append(Effect(name, value, low, high, per_deviation))
    return effects
