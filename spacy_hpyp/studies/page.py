"""The page of a study: its tables, beside the published ones if there are any, what was claimed, and the commands that printed the
figures.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .runner import Runner, machine, minutes
from .study import Claim, Column, Row, Run, Sample, Study, Table

_NONE = "–"


@dataclass(frozen=True)
class Figures:
    """What a row shows.

    published, found (dict[str, float]): By the names of columns; what there is not is not there.
    problem (str | None): Why there is nothing found, though there is a run.
    """

    published: dict[str, float]
    found: dict[str, float]
    problem: str | None


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds.

    claim (Claim): What is claimed.
    holds (bool | None): None where a figure is not there.
    steps (list[tuple[str, str, float | None, float | None]]): From which row to which, and the difference or factor, published and
        found.
    """

    claim: Claim
    holds: bool | None
    steps: list[tuple[str, str, float | None, float | None]]


def figures_of(study: Study, runner: Runner, table: Table) -> dict[str, Figures]:
    """The figures of each row of a table, as far as they are there."""
    found = {}
    for name, row in table.rows.items():
        published = {key: value for key, value in zip(table.columns, row.published) if value is not None}
        figures, problem = _own_figures(study, runner, table, row)
        found[name] = Figures(published, figures, problem)
    return found


def _own_figures(study: Study, runner: Runner, table: Table, row: Row) -> tuple[dict[str, float], str | None]:
    if row.run is None:
        return {}, None
    run = study.runs[row.run]
    if runner.stamp(run) is None:
        return {}, runner.problem(run) or f"'{run.name}' has not been run"
    record = _pick(read_output(run.output), table.records, row.pick)
    figures = {}
    for name in table.columns:
        value = _find(record, study.columns[name].key)
        if isinstance(value, (int, float)):
            figures[name] = value * study.columns[name].scale
    # Whatever has been found in hours is shown, so that this is no error.
    return figures, None if figures else f"'{run.output}' has no such figures"


def read_output(path: Path) -> Any:
    """What a run has written as JSON, or as JSON lines."""
    text = path.read_text(encoding="utf8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return json.loads(text)


def _pick(output: Any, records: str, pick: Mapping[str, Any]) -> Any:
    """The first record that has what is asked for, or the output itself where nothing is; None if there is none."""
    if not pick:
        return output
    found = _find(output, records) if records else output
    return next((each for each in found or [] if all(each.get(name) == value for name, value in pick.items())), None)


def _find(record: Any, key: str) -> Any:
    for name in key.split("."):
        record = record.get(name) if isinstance(record, dict) else None
    return record


def judge(table: Table, figures: Mapping[str, Figures]) -> list[Verdict]:
    """Whether the claims of a table hold."""
    verdicts = []
    for claim in table.claims:
        steps = [
            (
                below,
                above,
                _change(claim, figures[below].published, figures[above].published),
                _change(claim, figures[below].found, figures[above].found),
            )
            for below, above in zip(claim.order, claim.order[1:])
        ]
        here = [found for _, _, _, found in steps]
        holds = None if None in here else all(_as_claimed(claim, change) for change in here if change is not None)
        verdicts.append(Verdict(claim, holds, steps))
    return verdicts


def _change(claim: Claim, below: Mapping[str, float], above: Mapping[str, float]) -> float | None:
    if claim.column not in below or claim.column not in above:
        return None
    if claim.factor != 1.0:
        return above[claim.column] / below[claim.column] if below[claim.column] else None
    return above[claim.column] - below[claim.column]


def _as_claimed(claim: Claim, change: float) -> bool:
    if claim.factor != 1.0:
        return change >= claim.factor
    return change > 0.0 if claim.within is None else abs(change) <= claim.within


def to_json(study: Study, runner: Runner, tables: Iterable[Table]) -> dict[str, Any]:
    """All figures of some tables, for programs."""
    found = {}
    for table in tables:
        figures = figures_of(study, runner, table)
        found[table.name] = {
            "title": table.title,
            "paper": table.paper,
            "rows": {
                name: {
                    "published": each.published,
                    "found": each.found,
                    "command": _command(study, runner, table.rows[name].run),
                    "problem": each.problem,
                }
                for name, each in figures.items()
            },
            "claims": [
                {
                    "says": verdict.claim.says,
                    "holds": verdict.holds,
                    "steps": [dict(zip(("from", "to", "published", "found"), step)) for step in verdict.steps],
                }
                for verdict in judge(table, figures)
            ],
            "samples": {
                name: {"published": list(each.published), "found": _lines(study, runner, table, each)}
                for name, each in table.samples.items()
            },
        }
    return {"machine": dict(machine()), "variables": dict(study.variables), "tables": found}


def _command(study: Study, runner: Runner, name: str | None) -> str | None:
    return None if name is None else runner.command(study.runs[name])


def to_markdown(study: Study, runner: Runner, tables: Sequence[Table]) -> str:
    """The page: published figures beside those found, what was claimed, and which command printed what."""
    runs = list({run.name: run for table in tables for run in study.runs_of(table)}.values())
    numbers = {run.name: number for number, run in enumerate(runs, start=1)}
    where = machine()
    first = "A figure is the published one, then ours; the" if any(table.paper for table in tables) else "The"
    lines = [f"# {study.title}", "", study.note, ""] if study.note else [f"# {study.title}", ""]
    lines += [
        f"{first} number in brackets is that of the command that printed a figure, see [Commands](#commands). Measured on "
        f"{where['processor']}, {where['cores']} cores, {where['system']}, Python {where['python']}.",
        "",
        *_rows(["variable", "value"], [[f"`{name}`", f"`{value}`"] for name, value in _told(study).items()]),
        "",
    ]
    for table in tables:
        lines += _section(study, runner, table, numbers)
    lines += ["## Commands", ""]
    for run in runs:
        lines += [f"{numbers[run.name]}. `{runner.command(run)}`  ", f"   {_state(runner, run)}"]
    return "\n".join(lines) + "\n"


def _told(study: Study) -> dict[str, Any]:
    """The variables that say what the figures are of: not lists of context elements, which the commands show."""
    return {
        name: value
        for name, value in study.variables.items()
        if value is not None and not str(value).startswith(("[", "{"))
    }


def _state(runner: Runner, run: Run) -> str:
    stamp = runner.stamp(run)
    if stamp is None:
        return f"`{run.name}`: not run" + (f", {problem}" if (problem := runner.problem(run)) else "")
    return f"`{run.name}`: {minutes(stamp.seconds)}, ended {stamp.ended}, version {', '.join(stamp.versions)}"


def _section(study: Study, runner: Runner, table: Table, numbers: Mapping[str, int]) -> list[str]:
    about = f"{table.paper} (`{table.name}`). {table.note}" if table.paper else table.note
    lines = [f"## {table.title}", "", *([about.rstrip(), ""] if about else [])]
    figures = figures_of(study, runner, table)
    if figures:
        kinds = (", paper", "") if table.paper else ("",)
        header = ["", *(f"{key}{kind}" for key in table.columns for kind in kinds), ""]
        cells = []
        for name, each in figures.items():
            sources = (each.published, each.found) if table.paper else (each.found,)
            shown = [_shown(study.columns[key], source.get(key)) for key in table.columns for source in sources]
            run = table.rows[name].run
            cells.append([name, *shown, f"[{numbers[run]}]" if run is not None else ""])
        lines += [*_rows(header, cells), ""]
        problems = dict.fromkeys(f"{name}: {each.problem}." for name, each in figures.items() if each.problem)
        lines += [f"Not there yet: {problem}  " for problem in problems]
        lines += [""] if problems else []
    for verdict in judge(table, figures):
        lines += _verdict(study, table, verdict)
    lines += [""] if table.claims else []
    for name, sample in table.samples.items():
        found = _lines(study, runner, table, sample)
        lines += [f"**{name}** [{numbers[sample.run]}]", ""]
        if found is None:
            lines += [f"Not there yet: {runner.problem(study.runs[sample.run]) or 'it has not been run'}.", ""]
        else:
            lines += [f"* {line}" for line in found] + [""]
        if sample.published:
            lines += ["In the paper:", "", *(f"* {line}" for line in sample.published), ""]
    return lines


def _lines(study: Study, runner: Runner, table: Table, sample: Sample) -> list[str] | None:
    """The lines of a sample; None if they are not there."""
    run = study.runs[sample.run]
    if runner.stamp(run) is None:
        return None
    output = read_output(run.output)
    if sample.pick:
        found = _find(_pick(output, table.records, sample.pick), sample.key)
    else:
        found = [_find(record, sample.key) for record in output]
    return [each if isinstance(each, str) else " ".join(_word(word) for word in each) for each in found or []]


def _word(word: Any) -> str:
    return word["word"] if isinstance(word, dict) else str(word)


def _verdict(study: Study, table: Table, verdict: Verdict) -> list[str]:
    claim = verdict.claim
    said = {None: "not known yet", True: "holds", False: "does not hold"}[verdict.holds]
    column = study.columns[claim.column]
    steps = []
    for below, above, published, found in verdict.steps:
        paper = f", paper {_changed(claim, column, published)}" if table.paper else ""
        steps.append(f"{below} → {above} {_changed(claim, column, found)}{paper}")
    lines = [f"* **{said}**: {claim.says} ({claim.column}: {'; '.join(steps)})"]
    if verdict.holds is False and claim.otherwise:
        lines.append(f"  {claim.otherwise}")
    return lines


def _changed(claim: Claim, column: Column, change: float | None) -> str:
    if change is None:
        return _NONE
    return f"×{change:.2f}" if claim.factor != 1.0 else f"{change:+.{column.digits}f}"


def _shown(column: Column, value: float | None) -> str:
    return _NONE if value is None else f"{value:,.{column.digits}f}"


def _rows(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]
