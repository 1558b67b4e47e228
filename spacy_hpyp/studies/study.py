"""A study: which commands are run, which of their figures fill which tables, and what is expected of these.

It is read from a config:

    [vars]                      names for what arguments have in common: "{train}" is what `train` says
    [commands.NAME]             a command of `python -m spacy`, and what all its runs have in common
    [runs.NAME]                 a run of a command; "{NAME}" is where its output is, and who names it needs it
    [columns.NAME]              where in an output a figure is
    [tables.NAME]               rows of figures, the published ones beside those of runs, and claims about
    them [quick]                     settings that are different in a study that is to be over soon, by their
    names with dots

What a section may have are the settings of a class below.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from graphlib import CycleError, TopologicalSorter
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from thinc.api import Config, ConfigValidationError

from ..settings import LIST, NAME, SECTION, TRUTH, Number, Settings, Whole, setting

_PLACE = re.compile(r"\{([\w.-]+)\}")
_SECTIONS = ("study", "vars", "commands", "runs", "columns", "tables")

Section = TypeVar("Section", bound=Settings)


@dataclass(frozen=True)
class Head(Settings):
    """What a study is about."""

    title: str = setting(MISSING, NAME, "what its page begins with")
    tokens: int = setting(
        MISSING, Whole(), "how many tokens the training part has that seconds are given for"
    )
    note: str = setting("", NAME, "what comes after the title")
    train: str | None = setting(None, NAME, "the training part here")
    part: float = setting(1.0, Number(0.0), "how much of it is used")


@dataclass(frozen=True)
class Command(Settings):
    """What runs have in common."""

    command: Sequence[str] = setting(MISSING, LIST, "what comes after `python -m spacy`")
    options: Mapping[str, Any] = setting({}, SECTION, "of all runs")
    suffix: str = setting("", NAME, "how the name of an output ends")
    prints: bool = setting(False, TRUTH, "whether the output is what it prints")
    fills: bool = setting(False, TRUTH, "whether the output is a directory that has to be there before")
    foreign: bool = setting(
        False,
        TRUTH,
        "whether nothing of this package is used, so that its outputs are those of any version of it",
    )
    alone: bool = setting(False, TRUTH, "whether nothing else may run beside it, because speed is measured")


@dataclass(frozen=True)
class Line(Settings):
    """What a run is told."""

    command: str = setting(MISSING, NAME, "which one it is of")
    seconds: float = setting(
        MISSING, Number(0.0), "about how long it takes on the treebank that the study was made for"
    )
    arguments: Sequence[Any] = setting([], LIST, "what comes after the command")
    options: Mapping[str, Any] = setting({}, SECTION, "its own")
    alone: bool = setting(False, TRUTH, "as that of its command")


@dataclass(frozen=True)
class Run:
    """One command line.

    of (Command), line (Line): What it is of, and what it is told.
    arguments (tuple[str, ...]): What comes after `python -m spacy`.
    output (Path): The file or directory that it makes.
    needs (tuple[str, ...]): The runs whose outputs it reads.
    inputs (tuple[Path, ...]): Other files that it may read.
    missing (tuple[str, ...]): Variables that it needs and that are null.
    """

    name: str
    of: Command
    line: Line
    arguments: tuple[str, ...]
    output: Path
    needs: tuple[str, ...]
    inputs: tuple[Path, ...]
    missing: tuple[str, ...]

    @property
    def alone(self) -> bool:
        """Whether nothing else may run beside it."""
        return self.of.alone or self.line.alone


@dataclass(frozen=True)
class Column(Settings):
    """A figure of an output."""

    key: str = setting(MISSING, NAME, "where it is, names with dots between them")
    scale: float = setting(1.0, Number(-inf), "what it is multiplied by")
    digits: int = setting(2, Whole(0), "how many are shown behind the point")


@dataclass(frozen=True)
class Row(Settings):
    """A row of a table."""

    run: str | None = setting(
        None, NAME, "where its figures are from; none where there are published ones only"
    )
    published: Sequence[float | None] = setting([], LIST, "those of the paper, by column")
    pick: Mapping[str, Any] = setting(
        {}, SECTION, "of an output with several records, what the one that is meant has"
    )


@dataclass(frozen=True)
class Claim(Settings):
    """What is expected of some rows."""

    says: str = setting(MISSING, NAME, "in words")
    column: str = setting(MISSING, NAME, "of which figures")
    order: Sequence[str] = setting(MISSING, LIST, "rows; each is to have more than the one before")
    factor: float = setting(1.0, Number(0.0), "each is to have at least so many times as much")
    within: float | None = setting(None, Number(0.0), "instead: by how much they may differ")
    otherwise: str = setting("", NAME, "why it may not hold")


@dataclass(frozen=True)
class Sample(Settings):
    """Lines of text that a run has made, beside those of the paper."""

    run: str = setting(MISSING, NAME, "which")
    key: str = setting(MISSING, NAME, "where in each record of its output a line or a list of words is")
    pick: Mapping[str, Any] = setting({}, SECTION, "as that of a row")
    published: Sequence[str] = setting([], LIST, "those of the paper")


@dataclass(frozen=True)
class StudyTable(Settings):
    """A table of a paper, or one of our own."""

    title: str = setting(MISSING, NAME, "what it is called")
    name: str = setting("", NAME, "what commands call it")
    paper: str = setting("", NAME, "in which paper it is if it is one's")
    note: str = setting("", NAME, "what there is to say of it")
    columns: Sequence[str] = setting([], LIST, "figures, by their names")
    records: str = setting("", NAME, "where the records of an output are that has several; none: it is they")
    rows: Mapping[str, Row] = setting({}, SECTION, "by what they are called")
    claims: Sequence[Claim] = setting([], LIST, "what is expected of them")
    samples: Mapping[str, Sample] = setting({}, SECTION, "text instead of figures, by what it is called")

    @property
    def runs(self) -> list[str]:
        """The runs whose outputs it shows."""
        found = [each.run for each in (*self.rows.values(), *self.samples.values()) if each.run is not None]
        return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Study:
    """Runs, columns and tables, by their names.

    name (str): That of its config, and of its page.
    head (Head): What it is about; its training part has its names replaced.
    output (Path): The directory that everything is written to.
    variables (Mapping[str, Any]): `vars`.
    """

    name: str
    head: Head
    output: Path
    variables: Mapping[str, Any]
    runs: Mapping[str, Run]
    columns: Mapping[str, Column]
    tables: Mapping[str, StudyTable]

    def choose(self, names: Iterable[str]) -> list[StudyTable]:
        """Some tables, or all where no name is given. RAISES (ValueError): If there is none of such a name."""
        names = list(names)
        for name in names:
            if name not in self.tables:
                raise ValueError(f"There is no table '{name}'. There are {', '.join(self.tables)}.")
        return [self.tables[name] for name in names or self.tables]

    def runs_of(self, *tables: StudyTable) -> list[Run]:
        """The runs that tables need, each after those that it needs."""
        found: dict[str, Run] = {}

        def add(name: str) -> None:
            if name not in found:
                for other in self.runs[name].needs:
                    add(other)
                found[name] = self.runs[name]

        for name in (name for table in tables for name in table.runs):
            add(name)
        return list(found.values())


def read_study(path: Path, overrides: Mapping[str, Any] | None = None, *, quick: bool = False) -> Study:
    """Read a study from its config, with settings by their names with dots that are overridden.

    quick (bool): Whether those of `[quick]` hold, too, in a directory within the other.
    RAISES (ValueError): If something in it is wrong, with the name of the section.
    """
    try:
        config = Config().from_disk(path, interpolate=False)
        changed = {**(config.get("quick", {}) if quick else {}), **(overrides or {})}
        for name in changed:
            found: Any = config
            for part in name.split("."):
                if not isinstance(found, dict) or part not in found:
                    raise ValueError(f"There is no setting '{name}' that could be another one.")
                found = found[part]
        config = Config().from_disk(path, interpolate=False, overrides=changed)
    except ConfigValidationError as error:
        raise ValueError(f"'{path}': {error}") from error
    for section in _SECTIONS:
        if not isinstance(config.get(section), dict):
            raise ValueError(f"'{path}' has no section [{section}].")
    variables = config["vars"]
    commands = {name: _read(Command, f"commands.{name}", given) for name, given in config["commands"].items()}
    lines = {name: _read(Line, f"runs.{name}", given) for name, given in config["runs"].items()}
    output = Path(str(variables.get("folder", "papers"))) / ("quick" if quick else "")
    for name, line in lines.items():
        if name in variables:
            raise ValueError(f"[runs.{name}] has the name of a variable.")
        if line.command not in commands:
            raise ValueError(f"[runs.{name}] is one of a command that has no section: {line.command}.")
    outputs = {name: output / f"{name}{commands[line.command].suffix}" for name, line in lines.items()}
    train = _Names("study", variables, outputs).text(config["study"].get("train"))
    study = Study(
        name=path.stem,
        head=_read(Head, "study", {**config["study"], "train": train}),
        output=output,
        variables={name: _Names("vars", variables, outputs).text(f"{{{name}}}") for name in variables},
        runs={
            name: _make_run(name, commands[line.command], line, _Names(f"runs.{name}", variables, outputs))
            for name, line in lines.items()
        },
        columns={name: _read(Column, f"columns.{name}", given) for name, given in config["columns"].items()},
        tables={name: _read_table(name, given) for name, given in config["tables"].items()},
    )
    _check_names(study)
    try:
        TopologicalSorter({name: run.needs for name, run in study.runs.items()}).prepare()
    except CycleError as error:
        names = error.args[1]
        raise ValueError(f"[runs.{names[0]}] needs its own output: {' needs '.join(names)}.") from error
    return study


def _read(kind: type[Section], name: str, given: Any) -> Section:
    if not isinstance(given, dict):
        raise ValueError(f"[{name}] should be settings, not {given!r}.")
    declared = {each.name: each for each in fields(kind)}
    for each in declared.values():
        if each.name not in given and each.default is each.default_factory is MISSING:
            raise ValueError(f"[{name}] has no '{each.name}'.")
    for key in given:
        if key not in declared:
            raise ValueError(f"[{name}] has no setting '{key}'.")
    try:
        return kind(**given)
    except ValueError as error:
        raise ValueError(f"[{name}]: {error}") from error


def _read_table(name: str, given: Any) -> StudyTable:
    where = f"tables.{name}"
    table = _read(StudyTable, where, given)
    return replace(
        table,
        name=name,
        rows={each: _read(Row, f"{where}.rows.{each}", row) for each, row in table.rows.items()},
        claims=[_read(Claim, f"{where}.claims", each) for each in table.claims],
        samples={each: _read(Sample, f"{where}.samples.{each}", own) for each, own in table.samples.items()},
    )


class _Names:
    """What names in braces stand for in a section; notes runs that it needs, and variables that are null."""

    def __init__(self, section: str, variables: Mapping[str, Any], outputs: Mapping[str, Path]) -> None:
        self._section, self._variables, self.outputs = section, variables, outputs
        self.needs: set[str] = set()
        self.missing: set[str] = set()

    def text(self, value: Any, own: Path | None = None, depth: int = 0) -> Any:
        """What a value is with all names replaced; None if it is null. What "{output}" is, is a run's own."""
        if depth > 10:
            raise ValueError(f"[{self._section}] has a name that stands for itself: {value!r}.")
        if isinstance(value, bool) or value is None:
            return value
        if not isinstance(value, str):
            return json.dumps(value)
        if (whole := _PLACE.fullmatch(value)) and whole[1] in self._variables:
            found = self._variables[whole[1]]
            if found is None:
                self.missing.add(whole[1])
            return self.text(found, own, depth + 1)

        def found_for(match: re.Match[str]) -> str:
            name = match[1]
            if name == "output" and own is not None:
                return str(own)
            if name in self.outputs:
                self.needs.add(name)
                return str(self.outputs[name])
            if name not in self._variables:
                raise ValueError(
                    f"[{self._section}] names '{name}', but there is no such variable and no such run."
                )
            return str(self.text(f"{{{name}}}", own, depth + 1))

        return _PLACE.sub(found_for, value)


def _make_run(name: str, of: Command, line: Line, names: _Names) -> Run:
    own = names.outputs[name]
    values = [names.text(argument, own) for argument in line.arguments]
    for option, given in {**of.options, **line.options}.items():
        value = names.text(given, own)
        # What is null is left to the command, and so is a flag that is not set; a setting of a config can be
        # true where this is not.
        is_setting = "." in option
        if value is None or (value is False and not is_setting):
            continue
        values.append(f"--{option}")
        if value is not True or is_setting:
            values.append(str(value).lower() if isinstance(value, bool) else value)
    made = [own, *(names.outputs[other] for other in names.needs)]
    arguments = [*of.command, *values]
    inputs = tuple(_files(arguments, made))
    needs, missing = tuple(sorted(names.needs)), tuple(sorted(names.missing))
    return Run(name, of, line, tuple(map(str, arguments)), own, needs, inputs, missing)


def _files(values: Iterable[Any], made: Iterable[Path]) -> Iterator[Path]:
    """What arguments may be files that no run makes, also behind a name, as in `parser=training/cnn`."""
    for value in values:
        looks_like_one = isinstance(value, str) and value and not value.startswith(("-", "[", "{"))
        if looks_like_one and ("/" in value or Path(value).suffix):
            path = Path(value.rpartition("=")[2])
            if not any(path == other or other in path.parents for other in made):
                yield path


def _check_names(study: Study) -> None:
    for table in study.tables.values():
        where = f"[tables.{table.name}]"
        for run in table.runs:
            if run not in study.runs:
                raise ValueError(f"{where} has figures of the run '{run}', which is not there.")
        for column in table.columns:
            if column not in study.columns:
                raise ValueError(f"{where} has a column '{column}', which is not among [columns].")
        for name, row in table.rows.items():
            if len(row.published) not in (0, len(table.columns)):
                raise ValueError(
                    f"{where} has {len(row.published)} published figures in the row '{name}', but "
                    f"{len(table.columns)} columns."
                )
        for claim in table.claims:
            unknown = [row for row in claim.order if row not in table.rows]
            if unknown or claim.column not in table.columns:
                raise ValueError(
                    f"{where} claims something of '{(unknown or [claim.column])[0]}', which it does not have."
                )
