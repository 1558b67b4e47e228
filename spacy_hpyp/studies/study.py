"""A study: which commands are run, which of their figures fill which tables, and what is expected of these.

It is read from a config:

    [vars]                      names for what arguments have in common: "{train}" is what `train` says
    [commands.NAME]             a command of `python -m spacy`, and what all its runs have in common
    [runs.NAME]                 a run of a command; "{NAME}" is where its output is, and who names it needs it
    [columns.NAME]              where in an output a figure is
    [tables.NAME]               rows of figures, the published ones beside those of runs, and claims about them
    [quick]                     settings that are different in a study that is to be over soon, by their names with dots
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinc.api import Config, ConfigValidationError

_PLACE = re.compile(r"\{([\w.-]+)\}")


@dataclass(frozen=True)
class Run:
    """One command line.

    name (str): What the study calls it.
    arguments (tuple[str, ...]): What comes after `python -m spacy`.
    output (Path): The file or directory that it makes.
    prints (bool): Whether the output is what it prints.
    fills (bool): Whether the output is a directory that has to be there before.
    alone (bool): Whether nothing else may run beside it, because speed is measured.
    foreign (bool): Whether nothing of this package is used, so that its outputs are those of any version of it.
    seconds (float): About how long it takes on the treebank that the study was made for.
    needs (tuple[str, ...]): The runs whose outputs it reads.
    inputs (tuple[Path, ...]): Other files that it may read.
    missing (tuple[str, ...]): Variables that it needs and that are null.
    """

    name: str
    arguments: tuple[str, ...]
    output: Path
    prints: bool
    fills: bool
    alone: bool
    foreign: bool
    seconds: float
    needs: tuple[str, ...]
    inputs: tuple[Path, ...]
    missing: tuple[str, ...]


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
    published: tuple[float | None, ...] = ()
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

    name (str), title (str), paper (str), note (str): What it is called, in which paper it is if it is one's, and what there is to say
        of it.
    columns (tuple[str, ...]): Names of `Study.columns`.
    records (str): Where the records of an output are that has several; "" is the output itself.
    rows (Mapping[str, Row]): By what they are called.
    claims (tuple[Claim, ...]): What is expected of them.
    samples (Mapping[str, Sample]): Text instead of figures, by what it is called.
    """

    name: str
    title: str
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
    title (str), note (str): What the page begins with.
    tokens (int): How many tokens the training part has that seconds are given for.
    train (Path | None), part (float): The training part here, and how much of it is used.
    output (Path): The directory that everything is written to.
    variables (Mapping[str, Any]): `vars`.
    runs (Mapping[str, Run]), columns (Mapping[str, Column]), tables (Mapping[str, Table]): By their names.
    """

    name: str
    title: str
    note: str
    tokens: int
    train: Path | None
    part: float
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

    def runs_of(self, table: Table) -> list[Run]:
        """The runs that a table needs, those that others need before these."""
        found: dict[str, Run] = {}

        def add(name: str) -> None:
            if name not in found:
                for other in self.runs[name].needs:
                    add(other)
                found[name] = self.runs[name]

        for name in table.runs:
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
    for section in ("study", "vars", "commands", "runs", "columns", "tables"):
        if not isinstance(config.get(section), dict):
            raise ValueError(f"'{path}' has no section [{section}].")
    head = _Section("study", config["study"])
    output = Path(str(config["vars"].get("folder", "papers"))) / ("quick" if quick else "")
    names = _Names(config["vars"], config["runs"], config["commands"], output)
    train = names.resolve("study", head.take("train", str, None))
    study = Study(
        name=path.stem,
        title=head.take("title", str),
        note=head.take("note", str, ""),
        tokens=head.take("tokens", int),
        train=None if train is None else Path(train),
        part=head.take("part", float, 1.0),
        output=output,
        variables={name: names.resolve("vars", f"{{{name}}}") for name in config["vars"]},
        runs={name: _read_run(name, given, names) for name, given in config["runs"].items()},
        columns={name: _read_column(f"columns.{name}", given) for name, given in config["columns"].items()},
        tables={name: _read_table(name, given) for name, given in config["tables"].items()},
    )
    head.end()
    _check_names(study)
    _check_circles(study)
    return study


def _check_setting(config: Config, name: str) -> None:
    """See that a config has a setting, by its name with dots."""
    found: Any = config
    for part in name.split("."):
        if not isinstance(found, dict) or part not in found:
            raise ValueError(f"There is no setting '{name}' that could be another one.")
        found = found[part]


class _Section:
    """The settings of a section, taken one by one so that what is left is known to be nothing."""

    def __init__(self, name: str, settings: Any) -> None:
        if not isinstance(settings, dict):
            raise ValueError(f"[{name}] should be settings, not {settings!r}.")
        self._name, self._settings = name, dict(settings)

    def take(self, key: str, kind: Any, *default: Any) -> Any:
        if key not in self._settings:
            if default:
                return default[0]
            raise ValueError(f"[{self._name}] has no '{key}'.")
        value = self._settings.pop(key)
        value = float(value) if kind is float and isinstance(value, int) else value
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"'{key}' of [{self._name}] must not be {value!r}.")
        return value

    def end(self) -> None:
        if self._settings:
            raise ValueError(f"[{self._name}] has no setting '{next(iter(self._settings))}'.")


class _Names:
    """What names in braces stand for."""

    def __init__(self, variables: Mapping[str, Any], runs: Any, commands: Any, folder: Path) -> None:
        self._variables, self.commands = variables, commands
        self.outputs: dict[str, Path] = {}
        for name, run in runs.items():
            if name in variables:
                raise ValueError(f"[runs.{name}] has the name of a variable.")
            command = commands.get(_Section(f"runs.{name}", run).take("command", str))
            if command is None:
                raise ValueError(f"[runs.{name}] is one of a command that has no section: {run['command']}.")
            self.outputs[name] = folder / f"{name}{command.get('suffix', '')}"

    def resolve(self, section: str, value: Any, own: Path | None = None) -> Any:
        """What a value is with all names replaced; None if one of them is null."""
        needs: set[str] = set()
        missing: set[str] = set()
        return self.text(section, value, own, needs, missing)

    def text(
        self, section: str, value: Any, own: Path | None, needs: set[str], missing: set[str], depth: int = 0
    ) -> Any:
        """The same, and notes runs that it needs, and variables that are null."""
        if depth > 10:
            raise ValueError(f"[{section}] has a name that stands for itself: {value!r}.")
        if isinstance(value, bool) or value is None:
            return value
        if not isinstance(value, str):
            return json.dumps(value)
        if (whole := _PLACE.fullmatch(value)) and whole[1] in self._variables:
            found = self._variables[whole[1]]
            if found is None:
                missing.add(whole[1])
            return self.text(section, found, own, needs, missing, depth + 1)

        def replace(match: re.Match[str]) -> str:
            name = match[1]
            if name == "output" and own is not None:
                return str(own)
            if name in self.outputs:
                needs.add(name)
                return str(self.outputs[name])
            if name not in self._variables:
                raise ValueError(f"[{section}] names '{name}', but there is no such variable and no such run.")
            if self._variables[name] is None:
                missing.add(name)
            return str(self.text(section, self._variables[name], own, needs, missing, depth + 1))

        return _PLACE.sub(replace, value)


def _read_run(name: str, given: Any, names: _Names) -> Run:
    section = _Section(f"runs.{name}", given)
    kind = section.take("command", str)
    common = _Section(f"commands.{kind}", names.commands[kind])
    common.take("suffix", str, "")
    options = {**common.take("options", dict, {}), **section.take("options", dict, {})}
    own, needs, missing = names.outputs[name], set[str](), set[str]()

    def text(value: Any) -> Any:
        return names.text(f"runs.{name}", value, own, needs, missing)

    line = [*common.take("command", list)]
    values = [text(argument) for argument in section.take("arguments", list, [])]
    for option, given_value in options.items():
        value = text(given_value)
        # What is null is left to the command, and so is a flag that is not set; a setting of a config can be true where this is not.
        is_setting = "." in option
        if value is None or (value is False and not is_setting):
            continue
        values.append(f"--{option}")
        if value is not True or is_setting:
            values.append(str(value).lower() if isinstance(value, bool) else value)
    run = Run(
        name=name,
        arguments=tuple([*line, *map(str, values)]),
        output=own,
        prints=common.take("prints", bool, False),
        fills=common.take("fills", bool, False),
        alone=section.take("alone", bool, common.take("alone", bool, False)),
        foreign=common.take("foreign", bool, False),
        seconds=section.take("seconds", float),
        needs=tuple(sorted(needs)),
        inputs=tuple(_files([*line, *values], own, [names.outputs[other] for other in needs])),
        missing=tuple(sorted(missing)),
    )
    common.end()
    section.end()
    return run


def _files(values: Iterable[Any], own: Path, made: Iterable[Path]) -> Iterator[Path]:
    """What arguments may be files that no run makes, also behind a name, as in `parser=training/cnn`."""
    theirs = (own, *made)
    for value in values:
        looks_like_one = isinstance(value, str) and value and not value.startswith(("-", "[", "{"))
        if looks_like_one and ("/" in value or Path(value).suffix):
            path = Path(value.rpartition("=")[2])
            if not any(path == other or other in path.parents for other in theirs):
                yield path


def _read_column(name: str, given: Any) -> Column:
    section = _Section(name, given)
    column = Column(section.take("key", str), section.take("scale", float, 1.0), section.take("digits", int, 2))
    section.end()
    return column


def _read_table(name: str, given: Any) -> Table:
    section = _Section(f"tables.{name}", given)
    table = Table(
        name=name,
        title=section.take("title", str),
        paper=section.take("paper", str, ""),
        note=section.take("note", str, ""),
        columns=tuple(section.take("columns", list, [])),
        records=section.take("records", str, ""),
        rows={row: _read_row(name, row, each) for row, each in section.take("rows", dict, {}).items()},
        claims=tuple(_read_claim(name, each) for each in section.take("claims", list, [])),
        samples={each: _read_sample(name, each, value) for each, value in section.take("samples", dict, {}).items()},
    )
    section.end()
    return table


def _read_row(table: str, name: str, given: Any) -> Row:
    section = _Section(f"tables.{table}.rows.{name}", given)
    row = Row(
        section.take("run", (str, type(None)), None),
        tuple(section.take("published", list, [])),
        section.take("pick", dict, {}),
    )
    section.end()
    return row


def _read_claim(table: str, given: Any) -> Claim:
    section = _Section(f"tables.{table}.claims", given)
    claim = Claim(
        section.take("says", str),
        section.take("column", str),
        tuple(section.take("order", list)),
        section.take("factor", float, 1.0),
        section.take("within", float, None),
        section.take("otherwise", str, ""),
    )
    section.end()
    return claim


def _read_sample(table: str, name: str, given: Any) -> Sample:
    section = _Section(f"tables.{table}.samples.{name}", given)
    sample = Sample(
        section.take("run", str),
        section.take("key", str),
        section.take("pick", dict, {}),
        tuple(section.take("published", list, [])),
    )
    section.end()
    return sample


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


def _check_circles(study: Study) -> None:
    """See that no run needs its own output."""
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise ValueError(f"[runs.{name}] needs its own output: {' needs '.join((*above, name))}.")
        if name not in done:
            for other in study.runs[name].needs:
                visit(other, (*above, name))
            done.add(name)

    for name in study.runs:
        visit(name, ())
