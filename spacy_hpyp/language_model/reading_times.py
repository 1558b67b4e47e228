"""Regressions of reading times with and without surprisals, on held-out texts (Goodkind & Bicknell
2018).

Times and predictors are deviations from the mean of their text, and for gains of their text and
reader: pace does not count.
"""

import re
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: The baseline predictors of gains.
BASELINE = "length + log_frequency + position + final_punctuation + comma_dash + quote"
# The number of neighbouring words with possibly correlated errors, and the number of words in a
# block, for standard errors of gains.
_RELATED, _BLOCK = 10, 100
# A smaller standard deviation is a rounding error.
_CONSTANT = 1e-9
_LAG = re.compile(r"_lag(\d+)\b")


def predict_times(
    table: "DataFrame",
    *,
    time: str,
    text_by: str,
    predictors: Sequence[str],
    baseline: str = BASELINE,
    reader_by: str | None = None,
) -> dict[str, Any]:
    """Regress reading times on a baseline, with and without predictors.

    table (DataFrame): One word a row, the rows of a text in order, with the columns of `hpyp
        surprisal --text-by`. Rows that lack a predictor, or a time above 0, are left out.
    time (str), text_by (str): The columns of times and of text names.
    predictors (Sequence[str]): Formulas, see `design`.
    baseline (str): The formula of the predictors that all regressions have.
    reader_by (str | None): The column of readers. Effects are then those of a mixed model with an
        intercept and a slope of the first column of the formula for each reader.
    RETURNS (dict[str, Any]): `words` and `left_out`, numbers of rows; the `baseline`; for each of
        the `predictors` the `gain` in log-likelihood of held-out texts in nats (`value`) and its
        standard `error`, the gain of each of the `texts`, the `explained` proportion of the
        baseline's squared errors, and the `effects`: the time of a unit of a `column` (`value`),
        with a 95 % confidence interval from `low` to `high`, and of a standard deviation
        (`standardized`). And the `differences` in gain between predictors.
    RAISES (ValueError): If a column is missing or has no numbers, a formula cannot be read, a
        predictor is in the baseline, there is one text, or any text has too few words.
    """
    import pandas

    columns = [time, text_by] if reader_by is None else [time, text_by, reader_by]
    rows = pandas.DataFrame({name: _column(table, name, name == time) for name in columns})
    given = design(table, baseline)
    tested = {formula: design(table, formula) for formula in predictors}
    complete = (rows[time] > 0.0) & np.isfinite(rows[time])
    for name, matrix in [("", given), *tested.items()]:
        if name and (both := {*given} & {*matrix}):
            raise ValueError(f"'{min(both)}' is a predictor, and in the baseline, too.")
        complete &= np.isfinite(matrix).all(axis=1)
    rows, given = rows[complete], given[complete]
    tested = {name: matrix[complete] for name, matrix in tested.items()}
    texts = rows[text_by].astype(str)
    most = given.shape[1] + max(matrix.shape[1] for matrix in tested.values())
    if texts.nunique() < 2 or texts.value_counts().min() <= most:
        raise ValueError(
            f"Each text is predicted from the others. '{text_by}' needs at least two texts, each "
            f"with more than {most} words that have a time and all predictors. Drop shorter texts."
        )
    groups = [texts, *(rows[name].astype(str) for name in columns[2:])]
    times, own = _centred(rows[time], groups), _centred(given, groups)
    blocks = [texts, texts.groupby(groups).cumcount() // _BLOCK]
    without = _held_out(times, own, texts)
    gains, found = {}, {}
    for name, matrix in tested.items():
        both = pandas.concat([own, _centred(matrix, groups)], axis=1)
        scores = _held_out(times, both, texts)
        gains[name] = scores["log_prob"] - without["log_prob"]
        found[name] = {
            "gain": _sum(gains[name], blocks),
            "texts": gains[name].groupby(texts, sort=False).sum().to_dict(),
            "explained": 1.0 - float(scores["error"].sum() / without["error"].sum()),
            "effects": _effects(rows[time], given, matrix, groups),
        }
    differences = [
        {"predictors": one, "less": other, **_sum(gains[one] - gains[other], blocks)}
        for one, other in combinations(gains, 2)
    ]
    return {
        "words": len(rows),
        "left_out": len(table) - len(rows),
        "baseline": baseline,
        "predictors": found,
        "differences": differences,
    }


def design(table: "DataFrame", formula: str) -> "DataFrame":
    """Make the columns of a formula, and the same of the words before if they have columns.

    formula (str): As in patsy and R: "a * b + np.log(c)"; "a,b" is "a + b" if there is no "(".
    RAISES (ValueError): If it cannot be read, or a column is missing or has no numbers.
    """
    from patsy import ModelDesc, NAAction, PatsyError, dmatrix

    columns = {*map(str, table)}
    lags = sorted({int(found[1]) for name in columns if (found := _LAG.search(name))})
    codes = []
    try:
        model = ModelDesc.from_formula(formula if "(" in formula else formula.replace(",", "+"))
        for term in (term for term in model.rhs_termlist if term.factors):
            for factor in term.factors:
                if factor.code.isidentifier():
                    _column(table, factor.code)
            codes.append(term.name())
            own = columns.intersection(re.findall(r"[^\W\d]\w*", term.name()))
            for lag in lags if own else ():
                if columns.issuperset(f"{name}_lag{lag}" for name in own):
                    codes.append(re.sub(rf"\b({'|'.join(own)})\b", rf"\1_lag{lag}", term.name()))
        settings = {"NA_action": NAAction(NA_types=[]), "return_type": "dataframe"}
        return dmatrix(f"0 + {' + '.join(codes)}", table, **settings)
    except PatsyError as error:
        raise ValueError(f"The formula '{formula}' cannot be read: {error}") from error


def _column(table: "DataFrame", name: str, is_number: bool = True) -> "Series":
    if name not in table:
        columns = ", ".join(map(str, table))
        raise ValueError(f"There is no column '{name}'. The columns are: {columns}.")
    if is_number and table[name].dtype.kind not in "ifub":
        raise ValueError(f"The column '{name}' should have numbers only.")
    return table[name]


def _centred(values: Any, groups: Sequence["Series"]) -> Any:
    return values - values.groupby(list(groups)).transform("mean")


def _sum(values: "Series", blocks: Sequence["Series"]) -> dict[str, float]:
    """Return the sum of values, and its standard error by blocks."""
    sums = values.groupby(list(blocks)).sum()
    return {"value": float(sums.sum()), "error": float(sums.std() * np.sqrt(len(sums)))}


def _held_out(times: "Series", predictors: "DataFrame", texts: "Series") -> "DataFrame":
    """Predict the times of each text by a regression of the others: log-probabilities in nats
    (`log_prob`) and squared errors (`error`).
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
    times: "Series", given: "DataFrame", tested: "DataFrame", groups: Sequence["Series"]
) -> list[dict[str, Any]]:
    """Return the effect of each tested column that varies, and the total of terms with lags."""
    import pandas
    from statsmodels.api import OLS, MixedLM

    texts, *readers = groups
    columns = _centred(pandas.concat([given, tested], axis=1), [texts])
    times = _centred(times, [texts])
    deviation = columns.std()[lambda each: each > _CONSTANT]
    standard = columns[deviation.index] / deviation
    if readers:
        slopes = standard[standard.columns.intersection(tested.columns[:1])]
        slopes = np.column_stack([np.ones(len(times)), slopes])
        model = MixedLM(times, standard, groups=readers[0], exog_re=slopes)
        found = model.fit(reml=False)
    else:
        related = {"groups": texts.factorize()[0], "maxlags": _RELATED}
        found = OLS(times, standard).fit(cov_type="hac-panel", cov_kwds=related)
    effects = []
    for term in dict.fromkeys(_LAG.sub("", column) for column in tested):
        lagged = [name for name in tested if _LAG.sub("", name) == term and name in deviation]
        for names in [[name] for name in lagged] + [lagged] * (len(lagged) > 1):
            chosen = deviation.index.isin(names).astype(np.float64)
            test = found.t_test((chosen / deviation.to_numpy())[None])
            standardized = found.t_test(chosen[None])
            low, high = np.squeeze(test.conf_int()).tolist()
            effects.append(
                {
                    "column": f"{term}, total" if len(names) > 1 else names[0],
                    "value": float(np.squeeze(test.effect)),
                    "low": low,
                    "high": high,
                    "standardized": float(np.squeeze(standardized.effect)),
                }
            )
    return effects
