"""`hpyp papers tables`: the tables of the papers, or of another study, filled with figures of a treebank."""

from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated

import srsly
import typer
from spacy.cli._util import parse_config_overrides
from wasabi import msg

from ..distributed.commands import here
from ..storage.files import prepare_folder, replace_file
from ..studies.page import to_json, to_markdown
from ..studies.runner import Runner, minutes, only_one, program_version, wall_seconds
from ..studies.study import Study, StudyTable, read_study
from .app import fail
from .options import argument, option
from .raw_text import read_sentences

_STUDY = Path("configs/papers.cfg")


def tables(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        argument(f"The study, a .cfg file, by default {_STUDY}; and the tables to fill, by default all"),
    ] = None,
    *,
    show: Annotated[
        bool, option("Show the tables and how long each will take, and run nothing", "--list")
    ] = False,
    quick: Annotated[bool, option("Less of everything, for a first look")] = False,
    jobs: Annotated[int, option("Commands at a time; those that measure speed run alone", "-j", least=1)] = 1,
    output: Annotated[
        Path | None, option("Directory to write to, not the study's", "-o", file_okay=False)
    ] = None,
    any_version: Annotated[bool, option("Keep what other versions have made; the page says which")] = False,
) -> None:
    """Fill the tables of papers, or of another study, with figures of a treebank, and write a page that shows
    them.

    Every figure is what a command of 'python -m spacy' has written. What has been run once with the same
    command, data and program is not run again, so that an interrupted study goes on where it stopped.
    Variables of the study can be overridden, as in --vars.lang fr.
    """
    chosen, settings = separate([*(names or []), *ctx.args])
    overrides = parse_config_overrides(settings)
    path = Path(chosen.pop(0)) if chosen and chosen[0].endswith(".cfg") else _STUDY
    if output is not None:
        overrides["vars.folder"] = str(output)
    if not path.exists():
        raise ValueError(f"There is no study '{path}'. Name the .cfg file of one before the tables.")
    study = read_study(path, overrides, quick=quick)
    tables = study.choose(chosen)
    version = program_version(Path(__file__).parents[1])
    runner = Runner(study, version, share=_share(study), any_version=any_version, launch=here)
    _show(study, runner, tables, jobs)
    if show:
        return
    prepare_folder(study.output)
    runs = study.runs_of(*tables)
    with only_one(study.output):
        try:
            failures = runner.run(runs, jobs=jobs, report=partial(print, flush=True))
        finally:
            # What other commands have found stays on the page.
            names = {table.name for table in tables}
            found = [
                table
                for table in study.tables.values()
                if table.name in names
                or any(runner.made(study.runs[name]) is not None for name in table.runs)
            ]
            page, figures = study.output / f"{study.name}.md", study.output / f"{study.name}.json"
            replace_file(page, to_markdown(study, runner, found).encode())
            replace_file(figures, srsly.json_dumps(to_json(study, runner, found), indent=2).encode())
            msg.good(f"Saved {page} and {figures}")
    if failures:
        # Why is printed above, line by line.
        names = ", ".join(failures)
        fail(
            f"{len(failures)} of {len(runs)} runs failed: {names}. See above and '{study.output / 'logs'}', "
            f"and try again."
        )


def separate(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is left of a command line: names, and settings each of which has a value, as --vars.lang fr or
    --vars.lang=fr.
    """
    names, settings, left = [], [], iter(words)
    for word in left:
        if not word.startswith("--"):
            names.append(word)
        else:
            settings += [word] if "=" in word else [word, *islice(left, 1)]
    return names, settings


def _share(study: Study) -> float:
    """How large what is learned from is beside the treebank that the study's seconds are given for."""
    train = None if study.head.train is None else Path(study.head.train)
    if train is None or not train.exists():
        return study.head.part
    tokens = sum(map(len, read_sentences(train)))
    return study.head.part * tokens / study.head.tokens


def _show(study: Study, runner: Runner, tables: list[StudyTable], jobs: int) -> None:
    rows = []
    seen: set[str] = set()
    for table in tables:
        runs = study.runs_of(table)
        to_do = [run for run in runner.to_do(runs) if run.name not in seen]
        seen |= {run.name for run in to_do}
        missing = sorted({problem for run in runs if (problem := runner.problem(run))})
        rows.append(
            (table.name, str(len(to_do)), minutes(wall_seconds(runner, to_do, jobs)), "; ".join(missing))
        )
    msg.table(
        rows, header=("table", "runs", "time", "not without"), divider=True, aligns=("l", "r", "r", "l")
    )
    to_do = [run for run in study.runs.values() if run.name in seen]
    msg.text(f"{len(to_do)} runs, {minutes(wall_seconds(runner, to_do, jobs))} with {jobs} at a time")
