"""The page of a study: its tables, beside the published ones if there are any, what was claimed, and the
commands that printed the figures.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from wasabi import MarkdownRenderer

from .runner import Runner, machine, minutes
from .study import Claim, Column, Row, Run, Sample, Study, StudyTable

_NONE = "–"
# How many lines of a sample are shown; the JSON has all of them.
_SHOWN = 10
_SAID = {None: "not known yet", True: "holds", False: "does not hold"}


def to_json(study: Study, runner: Runner, tables: Iterable[StudyTable]) -> dict[str, Any]:
    """All figures of some tables, for programs.

    RETURNS (dict[str, Any]): "machine", "variables", and "tables": of each "title", "paper"; "rows", with
        "published" and "found" figures by column, the "command", and the "problem" if there is nothing found
        though there is a run; "claims", with what each "says", whether it "holds" (None where a figure is not
        there) and its "steps" from row to row; and "samples", lines "published" and "found".
    """
    found = {table.name: _of_table(study, runner, table) for table in tables}
    return {"machine": dict(machine()), "variables": dict(study.variables), "tables": found}


def _of_table(study: Study, runner: Runner, table: StudyTable) -> dict[str, Any]:
    rows = {name: _of_row(study, runner, table, row) for name, row in table.rows.items()}
    samples = {
        name: {"published": list(each.published), "found": _lines(study, runner, table, each)}
        for name, each in table.samples.items()
    }
    claims = [_judged(claim, rows) for claim in table.claims]
    return {"title": table.title, "paper": table.paper, "rows": rows, "claims": claims, "samples": samples}


def _of_row(study: Study, runner: Runner, table: StudyTable, row: Row) -> dict[str, Any]:
    found, command, problem = {}, None, None
    if row.run is not None:
        run = study.runs[row.run]
        command = runner.command(run)
        if runner.made(run) is None:
            problem = runner.problem(run) or f"'{run.name}' has not been run"
        else:
            record = _pick(_read_output(run.output), table.records, row.pick)
            values = {name: _find(record, study.columns[name].key) for name in table.columns}
            found = {
                name: value * study.columns[name].scale
                for name, value in values.items()
                if isinstance(value, (int, float))
            }
            # Whatever has been found in hours is shown, so that this is no error.
            problem = None if found else f"'{run.output}' has no such figures"
    published = {key: value for key, value in zip(table.columns, row.published) if value is not None}
    return {"published": published, "found": found, "command": command, "problem": problem}


def _read_output(path: Path) -> Any:
    text = path.read_text(encoding="utf8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return json.loads(text)


def _pick(output: Any, records: str, pick: Mapping[str, Any]) -> Any:
    """The first record that has what is asked for, or the output itself where nothing is; None if there is
    none.
    """
    if not pick:
        return output
    found = _find(output, records) if records else output
    return next(
        (each for each in found or [] if all(each.get(name) == value for name, value in pick.items())), None
    )


def _find(record: Any, key: str) -> Any:
    for name in key.split("."):
        record = record.get(name) if isinstance(record, dict) else None
    return record


def _lines(study: Study, runner: Runner, table: StudyTable, sample: Sample) -> list[str] | None:
    run = study.runs[sample.run]
    if runner.made(run) is None:
        return None
    output = _read_output(run.output)
    if sample.pick:
        found = _find(_pick(output, table.records, sample.pick), sample.key)
    else:
        found = [_find(record, sample.key) for record in output]
    return [each if isinstance(each, str) else " ".join(_word(word) for word in each) for each in found or []]


def _word(word: Any) -> str:
    return word["word"] if isinstance(word, dict) else str(word)


def _judged(claim: Claim, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    steps = []
    for before, after in zip(claim.order, claim.order[1:]):
        changes = {of: _change(claim, rows[before][of], rows[after][of]) for of in ("published", "found")}
        steps.append({"from": before, "to": after, **changes})
    here = [step["found"] for step in steps]
    holds = None if None in here else all(_as_claimed(claim, change) for change in here)
    return {"says": claim.says, "holds": holds, "steps": steps}


def _change(claim: Claim, before: Mapping[str, float], after: Mapping[str, float]) -> float | None:
    if claim.column not in before or claim.column not in after:
        return None
    if claim.factor != 1.0:
        return after[claim.column] / before[claim.column] if before[claim.column] else None
    return after[claim.column] - before[claim.column]


def _as_claimed(claim: Claim, change: float) -> bool:
    if claim.factor != 1.0:
        return change >= claim.factor
    return change > 0.0 if claim.within is None else abs(change) <= claim.within


def to_markdown(study: Study, runner: Runner, tables: Sequence[StudyTable]) -> str:
    """The page: published figures beside those found, what was claimed, and which command printed what."""
    runs = study.runs_of(*tables)
    numbers = {run.name: f"[{number}]" for number, run in enumerate(runs, start=1)}
    where = machine()
    first = "A figure is the published one, then ours; the" if any(table.paper for table in tables) else "The"
    measured = f"{where['processor']}, {where['cores']} cores, {where['system']}, Python {where['python']}"
    page = [f"# {study.head.title}", *([study.head.note] if study.head.note else [])]
    page.append(
        f"{first} number in brackets is that of the command that printed a figure, see "
        f"[Commands](#commands). Measured on {measured}."
    )
    found = to_json(study, runner, tables)["tables"]
    for table in tables:
        page += _section(study, runner, table, found[table.name], numbers)
    usual = Counter(_when(noted) for run in runs if (noted := runner.made(run))).most_common(1)
    told = [f"Where nothing else is said, they ran on {usual[0][0]}.", ""] if usual else []
    told += [
        f"{i}. `{runner.command(run)}` {_state(runner, run, usual)}" for i, run in enumerate(runs, start=1)
    ]
    return (
        "\n\n".join([*page, "## Commands", _folded(f"{len(runs)} commands, each with its time", told)]) + "\n"
    )


def _folded(summary: str, lines: Sequence[str]) -> str:
    # GitHub reads the Markdown between the tags anyway, a site made by MkDocs where it is told to.
    return "\n".join(
        ['<details markdown="1">', f"<summary>{summary}</summary>", "", *lines, "", "</details>"]
    )


def _when(noted: Mapping[str, Any]) -> str:
    """The day on which something was run, and the version of the program."""
    return f"{noted['ended'].split()[0]} with {noted['script'][1]}"


def _state(runner: Runner, run: Run, usual: list[tuple[str, int]]) -> str:
    """How long a run took, or why it was not run; and when it ended, if that is not as usual."""
    noted = runner.made(run)
    if noted is None:
        return "not run" + (f", {problem}" if (problem := runner.problem(run)) else "")
    when = _when(noted)
    return minutes(noted["seconds"]) + (f", on {when}" if when != usual[0][0] else "")


def _section(
    study: Study,
    runner: Runner,
    table: StudyTable,
    found: Mapping[str, Any],
    numbers: Mapping[str | None, str],
) -> Iterator[str]:
    """The paragraphs of the page that a table has, with its figures, see `to_json`, and the numbers of
    commands.
    """
    yield f"## {table.title}"
    if about := f"{table.paper} (`{table.name}`). {table.note}" if table.paper else table.note:
        yield about.rstrip()
    if table.rows:
        sources = {"published": ", paper", "found": ""} if table.paper else {"found": ""}
        rows = [["", *(f"{key}{kind}" for key in table.columns for kind in sources.values()), ""]]
        for name, each in found["rows"].items():
            shown = [
                _shown(study.columns[key], each[source].get(key))
                for key in table.columns
                for source in sources
            ]
            rows.append([name, *shown, numbers.get(table.rows[name].run, "")])
        header, *others = ([cell.replace("|", r"\|") for cell in row] for row in rows)
        yield MarkdownRenderer().table(others, header)
        problems = {name: each["problem"] for name, each in found["rows"].items() if each["problem"]}
        if problems:
            yield "\n".join(f"Not there yet: {name}: {problem}.  " for name, problem in problems.items())
    if table.claims:
        told = []
        for holds, claims in groupby(zip(table.claims, found["claims"]), key=lambda pair: pair[1]["holds"]):
            each = [_verdict(study.columns[claim.column], claim, judged) for claim, judged in claims]
            told += [f"* **{_SAID[holds]}**: {said}" for said in (["; ".join(each) + "."] if holds else each)]
        yield "\n".join(told)
    for name, sample in table.samples.items():
        own = found["samples"][name]["found"]
        if own is None:
            said = [f"Not there yet: {runner.problem(study.runs[sample.run]) or 'it has not been run'}."]
        else:
            # The names of classes of words, as <LOW>, are no markup.
            said = [f"* {escape(line, quote=False)}" for line in own[:_SHOWN]]
        if sample.published:
            said += ["", "In the paper:", "", *(f"* {line}" for line in sample.published)]
        yield _folded(f"{name} {numbers[sample.run]}", said)


def _verdict(column: Column, claim: Claim, judged: Mapping[str, Any]) -> str:
    """What is claimed, with the changes from step to step if it does not hold. By how much it does the table
    has, but for factors.
    """
    if judged["holds"] and claim.factor == 1.0:
        return claim.says
    steps = []
    for step in judged["steps"]:
        of_paper = step["published"] is not None
        paper = f" (paper {_changed(claim, column, step['published'])})" if of_paper else ""
        steps.append(f"{_changed(claim, column, step['found'])}{paper}")
    line = f"{claim.says}: {claim.column} {', '.join(steps)}"
    return f"{line}.\n  {claim.otherwise}" if judged["holds"] is False and claim.otherwise else line


def _changed(claim: Claim, column: Column, change: float | None) -> str:
    if change is None:
        return _NONE
    return f"×{change:.2f}" if claim.factor != 1.0 else f"{change:+.{column.digits}f}"


def _shown(column: Column, value: float | None) -> str:
    return _NONE if value is None else f"{value:,.{column.digits}f}"
