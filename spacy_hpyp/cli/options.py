"""Options and arguments of commands. Those that several commands have are declared here."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.models import OptionInfo

from ..storage.files import prepare_folder

#: The highest whole number of an option without a limit of its own.
MOST = 1_000_000_000


def option(
    meaning: str, names: str = "", *, least: int | None = None, most: int = MOST, **settings: Any
) -> Any:
    """Declare an option, with settings of `typer.Option`.

    names (str): Its names with spaces between them; one with two hyphens replaces the parameter's.
    least, most (int): Its limits, if it is a whole number.
    """
    limits = {} if least is None else {"min": least, "max": most}
    return typer.Option(*names.split(), help=meaning, **limits, **settings)


def argument(meaning: str, **settings: Any) -> Any:
    """Declare an argument, with settings of `typer.Argument`."""
    return typer.Argument(help=meaning, **settings)


def with_groups(function: Callable) -> Callable:
    """Make a function a command: fields of a default that is a dataclass become options, and options without
    a long name get that of their parameter.
    """
    parameters = signature(function).parameters.values()
    groups = {each.name: each.default for each in parameters if is_dataclass(each.default)}
    typed: list[Parameter] = []
    for parameter in parameters:
        if parameter.name not in groups:
            typed.append(_named(parameter))
            continue
        for field in fields(parameter.default):
            default = getattr(parameter.default, field.name)
            typed.append(
                _named(Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=field.type))
            )

    @wraps(function)
    def command(**given: Any) -> Any:
        for name, group in groups.items():
            given[name] = replace(group, **{field.name: given.pop(field.name) for field in fields(group)})
        return function(**given)

    command.__signature__ = signature(function).replace(parameters=typed)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in typed}
    return command


def _named(parameter: Parameter) -> Parameter:
    for declared in getattr(parameter.annotation, "__metadata__", ()):
        # Typer keeps the first name as the default until it reads the command.
        names = [name for name in (declared.default, *(declared.param_decls or ())) if isinstance(name, str)]
        if isinstance(declared, OptionInfo) and not any(name.startswith("--") for name in names):
            own = copy(declared)
            own.default, own.param_decls = ..., [f"--{parameter.name.replace('_', '-')}", *names]
            return parameter.replace(annotation=Annotated[parameter.annotation.__origin__, own])
    return parameter


def place(text: str) -> Any:
    """Return a path; a URI stays a string."""
    return text if "://" in text else Path(text)


def refuse_uris(*paths: Path | str | None) -> None:
    """Check that no path is a URI. RAISES (ValueError): If one is."""
    for path in paths:
        if isinstance(path, str):
            raise ValueError(f"'{path}' is a URI, which needs --ray.")


def writable(path: Path | None) -> Path | None:
    """Make the folder of a file to write."""
    if path is not None:
        prepare_folder(path.parent)
    return path


def writable_docs(path: Path) -> Path | None:
    """Make the folder of a .spacy file to write. RAISES (ValueError): If its name does not end so."""
    if path.suffix != ".spacy":
        raise ValueError(f"The name of the file to write must end with .spacy, but it is '{path}'.")
    return writable(path)


#: Settings of options and arguments that are a file to read, and one to write.
FILE = {"exists": True, "dir_okay": False}
NEW_FILE: dict[str, Any] = {"dir_okay": False, "callback": writable}
Pipeline = Annotated[str, argument("Name or path of a trained pipeline with a parser of this package")]
AnyPipeline = Annotated[str, argument("Name or path of a trained pipeline with any parser")]
Generative = Annotated[str, argument("Name or path of a trained pipeline with an hpyp_parser")]
AnyModel = Annotated[str, argument("A trained pipeline with an hpyp_parser, or a model of 'hpyp ngram'")]
TrainData = Annotated[Path, argument("Training data: .conllu or .spacy, or a directory", exists=True)]
Data = Annotated[Path, argument("Evaluation data: .conllu or .spacy, or a directory", exists=True)]
Json = Annotated[Path | None, option("JSON file for the figures", "-o", **NEW_FILE)]
DocsFile = Annotated[Path, argument("The .spacy file to write", dir_okay=False, callback=writable_docs)]
Particles = Annotated[int | None, option("Particles, instead of the pipeline's setting", "-K")]
Threads = Annotated[int | None, option("Threads, instead of the pipeline's setting", "-t")]
Lang = Annotated[str, option("Language of the data, for the classes of rare words", "-l")]
MinCount = Annotated[int, option("Rarer words are known by their class only")]
MinClassCount = Annotated[int, option("Rarer classes give way to more general ones")]
Printed = Annotated[Literal["table", "json"], option("Print a table, or JSON", "-o")]
GoldTags = Annotated[bool, option("Give the gold tags to the parser")]
PerLine = Annotated[bool, option("Each line of a text is one sentence", "-l")]
Tokenized = Annotated[bool, option("Split text into words at white space")]
SegmentWith = Annotated[str | None, option("Pipeline that splits running text into sentences")]


@dataclass(frozen=True)
class Cluster:
    """Options of what workers of a Ray cluster do to texts, shard by shard."""

    ray: Annotated[
        str | None, option("Ray cluster: 'local', 'local[N]', 'auto' or an address", metavar="ADDRESS")
    ] = None
    workers: Annotated[int | None, option("With --ray: workers, instead of one a core", least=1)] = None
    shard_size: Annotated[int, option("With --ray: the size of a shard in kilobytes", least=1)] = 1000
    max_errors: Annotated[int, option("With --ray: failing documents that end the run", least=0)] = 100
    field: Annotated[str, option("With --ray: the field or column of .jsonl and .parquet")] = "text"
