"""`hpyp reading`: prediction of reading times."""

from functools import partial

import command_line
import numpy as np
import pytest
import srsly

pd = pytest.importorskip("pandas", reason="the extra 'reading' is not installed")
pytest.importorskip("statsmodels", reason="the extra 'reading' is not installed")

COMMAND = "hpyp reading --time time --text-by text --baseline length".split()
of_times, said = (partial(run, *COMMAND) for run in (command_line.run, command_line.said))


@pytest.fixture
def table(tmp_path):
    """Four texts in which a bit costs 3 ms, and 2 ms more at the next word."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"text": np.repeat([*"abcd"], 250), "length": rng.integers(1, 10, 1000).astype(float)}
    )
    rows[["surprisal", "random"]] = rng.gamma(2.0, 4.0, (1000, 2))
    for name in ("surprisal", "random"):
        rows[f"{name}_lag1"] = rows.groupby("text")[name].shift(1)
    pace = rows["text"].map({"a": 200.0, "b": 300.0, "c": 400.0, "d": 500.0})
    rows["time"] = pace + 5.0 * rows["length"] + rng.normal(0.0, 30.0, 1000)
    rows["time"] += 3.0 * rows["surprisal"] + 2.0 * rows["surprisal_lag1"].fillna(0.0)
    rows.to_csv(tmp_path / "times.tsv", sep="\t", index=False)
    return tmp_path / "times.tsv"


def change(table, **columns):
    """The same table with other columns."""
    pd.read_csv(table, sep="\t").assign(**columns).to_csv(table, sep="\t", index=False)
    return table


def test_effects_lie_in_their_intervals_and_predict_held_out_texts(table, tmp_path):
    output = tmp_path / "figures.json"
    of_times(table, "--predict", "surprisal", "--predict", "random", "--output", output)
    figures = srsly.read_json(output)
    assert (figures["words"], figures["left_out"]) == (996, 4)
    found, random = (figures["predictors"][name] for name in ("surprisal", "random"))
    assert [*found["texts"]] == [*"abcd"]
    assert all(gain > 20.0 for gain in found["texts"].values())
    assert found["gain"]["value"] == pytest.approx(sum(found["texts"].values()))
    # On each text, two uninformative predictors lose about as many halves of a nat as they gain
    # where they are learned.
    assert -8.0 < random["gain"]["value"] < 2.0
    assert found["explained"] > 0.3
    (difference,) = figures["differences"]
    assert difference["value"] == pytest.approx(found["gain"]["value"] - random["gain"]["value"])
    # The gain is some 500 nats in twelve blocks of at most 100 words.
    assert 5.0 < difference["error"] < 0.3 * difference["value"]
    effects = {effect["column"]: effect for effect in found["effects"]}
    for column, value in {"surprisal": 3.0, "surprisal_lag1": 2.0, "surprisal, total": 5.0}.items():
        assert effects[column]["low"] < value < effects[column]["high"]
        assert effects[column]["high"] - effects[column]["low"] < 2.0
    assert effects["surprisal"]["standardized"] == pytest.approx(3.0 * 32**0.5, rel=0.1)


def test_formulas_include_lagged_interactions(table, tmp_path):
    length = np.arange(1000) % 7 + 1
    for formula, count in (("surprisal * length", 9), ("surprisal + surprisal:length", 6)):
        options = ("--baseline", "np.log(length)", "--predict", formula, "-o", tmp_path / "f.json")
        of_times(change(table, length_lag1=length), *options)
        (found,) = srsly.read_json(tmp_path / "f.json")["predictors"].values()
        columns = [effect["column"] for effect in found["effects"]]
        assert {"surprisal_lag1:length_lag1", "surprisal:length, total"} < {*columns}
        assert len(columns) == count


def test_a_mixed_model_finds_effects_across_readers(table, tmp_path):
    rows = pd.read_csv(table, sep="\t")
    rng = np.random.default_rng(1)
    readers = []
    for who in range(12):
        pace = rng.normal(0.0, 50.0) + rng.normal(0.0, 1.0) * rows["surprisal"]
        time = rows["time"] + pace + rng.normal(0.0, 30.0, len(rows))
        readers.append(rows.assign(who=who, time=time))
    pd.concat(readers).to_csv(table, sep="\t", index=False)
    change(table, constant=1.0)
    options = "--reader-by", "who", "--predict", "surprisal", "--predict", "constant"
    of_times(table, *options, "-o", tmp_path / "f.json")
    effects = srsly.read_json(tmp_path / "f.json")["predictors"]["surprisal"]["effects"]
    assert [effect["value"] for effect in effects] == pytest.approx([3.0, 2.0, 5.0], abs=1.0)


def test_tables_of_r_and_of_spreadsheets_are_read(table):
    expected = of_times(table).stdout
    rows = pd.read_csv(table, sep="\t")
    rows.to_csv(table.with_suffix(".csv"), sep=";", decimal=",")
    assert of_times(table.with_suffix(".csv")).stdout == expected
    rows.to_csv(table, sep="\t", encoding="utf-16")
    assert of_times(table).stdout == expected


def test_rows_without_a_time_are_left_out(table):
    times = pd.read_csv(table, sep="\t")["time"]
    times[[10, 20]], times[30] = 0.0, np.nan
    assert "993" in of_times(change(table, time=times)).output


def test_tables_unfit_for_regression_are_reported(table):

    assert "no column 'surprise'" in said(table, "--predict", "surprise")
    assert "in the baseline" in said(table, "--predict", "surprisal,length")
    assert "'length' should have numbers only" in said(change(table, length="seven"))
    assert "at least two texts" in said(change(table, length=1.0, text="a"))
