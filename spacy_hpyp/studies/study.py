"""A study: which commands are run, which of their figures fill which tables, and what is expected of these.

It is read from a config:

    [vars]                      names for what arguments have in common: "{train}" is what `train` says
    [commands.NAME]             a command of `python -m spacy`, and what all its runs have in common
    [runs.NAME]                 a run of a command; "{NAME}" is where its output is, and who names it needs it
    [columns.NAME]              where in an output a figure is
    [tables.NAME]               rows of figures, the published ones beside those of runs, and claims about them
    [quick]                     settings that are different in a study that is to be over soon, by their names with dots

What a section may have are the fields of a class below.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from thinc.api import Config, ConfigValidationError

_PLACE = re.compile(r"\{([\w.-]+)\}")
_SECTIONS = ("study", "vars", "commands", "runs", "columns", "tables")

Section = TypeVar("Section")


@dataclass(frozen=True)
class Head:
    """What a study is about.

    title (str), note (str): What its page begins with.
    tokens (int): How many tokens the training part has that seconds are given for.
    train (str | None), part (float): The training part here, and how much of it is used.
    """

    title: str
    tokens: int
    note: str = ""
    train: str | None = None
    part: float = 1.0


@dataclass(frozen=True)
class Command:
    """What runs have in common.

    command (tuple[str, ...]): What comes after `python -m spacy`.
    options (Mapping[str, Any]): Of all runs.
    suffix (str): How the name of an output ends.
    prints (bool): Whether the output is what it prints.
    fills (bool): Whether the output is a directory that has to be there before.
    foreign (bool): Whether nothing of this package is used, so that its outputs are those of any version of it.
    alone (bool): Whether nothing else may run beside it, because speed is measured.
    """

    command: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    suffix: str = ""
    prints: bool = False
    fills: bool = False
    foreign: bool = False
    alone: bool = False


@dataclass(frozen=True)
class Line:
    """What a run is told.

    command (str): Which one it is of.
    seconds (float): About how long it takes on the treebank that the study was made for.
    arguments (tuple), options (Mapping[str, Any]): Its own.
    alone (bool): See `Command`.
    """

    command: str
    seconds: float
    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    alone: bool = False


@dataclass(frozen=True)
class Run:
    """One command line.

    name (str): What the study calls it.
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
class Column:
    """A figure of an output.

    key (str): Where it is, names with dots between them.
    scale (float): What it is multiplied by.
    digits (int): How many are shown behind the point.
    """

    key: str
    scale: float = 1.0
    digits: int = 2


@dataclass(frozen=True)
class Row:
    """A row of a table.

    run (str | None): Where its figures are from; None where there are published ones only.
    published (tuple[float | None, ...]): Those of the paper, by column.
    pick (Mapping[str, Any]): Of an output with several records, what the one that is meant has.
    """

    run: str | None = None
    published: tuple[Any, ...] = ()
    pick: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """What is expected of some rows.

    says (str): In words.
    column (str): Of which figures.
    order (tuple[str, ...]): Rows; each is to have more than the one before.
    factor (float): Each is to have at least so many times as much.
    within (float | None): Instead: by how much they may differ.
    otherwise (str): Why it may not hold.
    """

    says: str
    column: str
    order: tuple[str, ...]
    factor: float = 1.0
    within: float | None = None
    otherwise: str = ""


@dataclass(frozen=True)
class Sample:
    """Lines of text that a run has made, beside those of the paper.

    run (str): Which.
    key (str): Where in each record of its output a line or a list of words is.
    pick (Mapping[str, Any]): See `Row`.
    published (tuple[str, ...]): Those of the paper.
    """

    run: str
    key: str
    pick: Mapping[str, Any] = field(default_factory=dict)
    published: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table of a paper, or one of our own.

    title (str), name (str): What it is called, for readers and for commands.
    paper (str), note (str): In which paper it is if it is one's, and what there is to say of it.
    columns (tuple[str, ...]): Names of `Study.columns`.
    records (str): Where the records of an output are that has several; "" is the output itself.
    rows (Mapping[str, Row]): By what they are called.
    claims (tuple[Claim, ...]): What is expected of them.
    samples (Mapping[str, Sample]): Text instead of figures, by what it is called.
    """

    title: str
    name: str = ""
    paper: str = ""
    note: str = ""
    columns: tuple[str, ...] = ()
    records: str = ""
    rows: Mapping[str, Row] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    samples: Mapping[str, Sample] = field(default_factory=dict)

    @property
    def runs(self) -> list[str]:
        """The runs whose outputs it shows."""
        found = [each.run for each in (*self.rows.values(), *self.samples.values()) if each.run is not None]
        return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Study:
    """Runs and tables.

    name (str): That of its config, and of its page.
    head (Head): What it is about; its training part has its names replaced.
    output (Path): The directory that everything is written to.
    variables (Mapping[str, Any]): `vars`.
    runs (Mapping[str, Run]), columns (Mapping[str, Column]), tables (Mapping[str, Table]): By their names.
    """

    name: str
    head: Head
    output: Path
    variables: Mapping[str, Any]
    runs: Mapping[str, Run]
    columns: Mapping[str, Column]
    tables: Mapping[str, Table]

    def choose(self, names: Iterable[str]) -> list[Table]:
        """Some tables, or all where no name is given.

        RAISES (ValueError): If there is none of such a name.
        """
        names = list(names)
        for name in names:
            if name not in self.tables:
                raise ValueError(f"There is no table '{name}'. There are {', '.join(self.tables)}.")
        return [self.tables[name] for name in names or self.tables]

    def runs_of(self, *tables: Table) -> list[Run]:
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
    """Read a study.

    path (Path): The config.
    overrides (Mapping[str, Any] | None): Settings of it, by their names with dots.
    quick (bool): Whether those of `[quick]` hold, too, in a directory within the other.
    RETURNS (Study): The study.
    RAISES (ValueError): If something in it is wrong, with the name of the section.
    """
    try:
        config = Config().from_disk(path, interpolate=False)
        changed = {**(config.get("quick", {}) if quick else {}), **(overrides or {})}
        for name in changed:
            _check_setting(config, name)
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
        tables={
            name: replace(_read(Table, f"tables.{name}", given), name=name) for name, given in config["tables"].items()
        },
    )
    _check_names(study)
    try:
        TopologicalSorter({name: run.needs for name, run in study.runs.items()}).prepare()
    except CycleError as error:
        names = error.args[1]
        raise ValueError(f"[runs.{names[0]}] needs its own output: {' needs '.join(names)}.") from error
    return study


def _check_setting(config: Config, name: str) -> None:
    """See that a config has a setting, by its name with dots."""
    found: Any = config
    for part in name.split("."):
        if not isinstance(found, dict) or part not in found:
            raise ValueError(f"There is no setting '{name}' that could be another one.")
        found = found[part]


def _read(kind: type[Section], name: str, given: Any) -> Section:
    """What a section says, as an object of a class with fields for its settings."""
    if not isinstance(given, dict):
        raise ValueError(f"[{name}] should be settings, not {given!r}.")
    hints = get_type_hints(kind)
    for declared in fields(kind):  # type: ignore[arg-type]
        if declared.name not in given and declared.default is declared.default_factory is MISSING:
            raise ValueError(f"[{name}] has no '{declared.name}'.")
    for key in given:
        if key not in hints:
            raise ValueError(f"[{name}] has no setting '{key}'.")
    return kind(**{key: _value(hints[key], name, key, value) for key, value in given.items()})


def _value(hint: Any, name: str, key: str, value: Any) -> Any:
    """The value of a setting, if it is what it may be."""
    kind, parts = get_origin(hint), get_args(hint)
    if kind is tuple and isinstance(value, list):
        return tuple(_read(parts[0], f"{name}.{key}", each) if is_dataclass(parts[0]) else each for each in value)
    if kind is Mapping and isinstance(value, dict):
        own = is_dataclass(parts[1])
        return {each: _read(parts[1], f"{name}.{key}.{each}", found) if own else found for each, found in value.items()}
    if float in (hint, *parts) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind in (tuple, Mapping) or not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise ValueError(f"'{key}' of [{name}] must not be {value!r}.")
    return value


class _Names:
    """What names in braces stand for in a section; notes runs that it needs, and variables that are null."""

    def __init__(self, section: str, variables: Mapping[str, Any], outputs: Mapping[str, Path]) -> None:
        self._section, self._variables, self.outputs = section, variables, outputs
        self.needs: set[str] = set()
        self.missing: set[str] = set()

    def text(self, value: Any, own: Path | None = None, depth: int = 0) -> Any:
        """What a value is with all names replaced; None if it is null.

        own (Path | None): What "{output}" is.
        """
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
                raise ValueError(f"[{self._section}] names '{name}', but there is no such variable and no such run.")
            return str(self.text(f"{{{name}}}", own, depth + 1))

        return _PLACE.sub(found_for, value)


def _make_run(name: str, of: Command, line: Line, names: _Names) -> Run:
    own = names.outputs[name]
    values = [names.text(argument, own) for argument in line.arguments]
    for option, given in {**of.options, **line.options}.items():
        value = names.text(given, own)
        # What is null is left to the command, and so is a flag that is not set; a setting of a config can be true where this is not.
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
    """See that tables name what there is."""
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
                    f"{where} has {len(row.published)} published figures in the row '{name}', but {len(table.columns)} columns."
                )
        for claim in table.claims:
            unknown = [row for row in claim.order if row not in table.rows]
            if unknown or claim.column not in table.columns:
                raise ValueError(
                    f"{where} claims '{claim.says}' of '{(unknown or [claim.column])[0]}', which it does not have."
                )
