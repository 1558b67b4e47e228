"""Options and arguments of commands: each is declared once, with its type, its names and what it means.

A command is a function whose parameters are annotated with what `option` and `argument` make; whoever calls
it from Python gives it the same values. What several commands have is declared here.
"""

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

#: The highest whole number that an option takes which no setting of a component has a limit for.
MOST = 1_000_000_000


def option(
    meaning: str, names: str = "", *, least: int | None = None, most: int = MOST, **settings: Any
) -> Any:
    """Declare an option by what it means.

    names (str): Its names with a space between them, where the parameter's is not the only one; one with two
        hyphens is in its place.
    least, most (int): What it may be, if it is a whole number; without `least`, that is checked elsewhere.
    settings: Others of `typer.Option`.
    """
    limits = {} if least is None else {"min": least, "max": most}
    return typer.Option(*names.split(), help=meaning, **limits, **settings)


def argument(meaning: str, **settings: Any) -> Any:
    """Declare an argument by what it means, with settings of `typer.Argument`."""
    return typer.Argument(help=meaning, **settings)


def with_groups(function: Callable) -> Callable:
    """A command as it is typed: each field of a parameter whose default is a dataclass is an option of its
    own, and what has no long name has that of its parameter, which is the only one of a switch.
    """
    groups = {
        each.name: each.default
        for each in signature(function).parameters.values()
        if is_dataclass(each.default)
    }
    typed: list[Parameter] = []
    for parameter in signature(function).parameters.values():
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
        # Typer takes the first name for the default until it reads the command.
        names = [name for name in (declared.default, *(declared.param_decls or ())) if isinstance(name, str)]
        if isinstance(declared, OptionInfo) and not any(name.startswith("--") for name in names):
            own = copy(declared)
            own.default, own.param_decls = ..., [f"--{parameter.name.replace('_', '-')}", *names]
            return parameter.replace(annotation=Annotated[parameter.annotation.__origin__, own])
    return parameter


def place(text: str) -> Any:
    """A path, or a URI as it is."""
    return text if "://" in text else Path(text)


def refuse_uris(*paths: Path | str | None) -> None:
    """See that paths are none of URIs. RAISES (ValueError): If one is."""
    for path in paths:
        if isinstance(path, str):
            raise ValueError(f"'{path}' is a URI, which can be read and written with --ray.")


def writable(path: Path | None) -> Path | None:
    """See that the folder of a file to write is there. RAISES (OSError): If it cannot be made."""
    if path is not None:
        prepare_folder(path.parent)
    return path


def writable_docs(path: Path) -> Path | None:
    """See that a .spacy file can be written. RAISES (ValueError): If its name does not end so. RAISES
    (OSError): If it cannot.
    """
    if path.suffix != ".spacy":
        raise ValueError(f"The name of the file to write must end with .spacy, but it is '{path}'.")
    return writable(path)


#: Of options and arguments: a file to read, and one to write.
FILE = {"exists": True, "dir_okay": False}
NEW_FILE: dict[str, Any] = {"dir_okay": False, "callback": writable}
Pipeline = Annotated[str, argument("Name or path of a trained pipeline with a parser of this package")]
AnyPipeline = Annotated[
    str, argument("Name or path of a trained pipeline with a parser, spaCy's own or another")
]
Generative = Annotated[str, argument("Name or path of a trained pipeline with an hpyp_parser")]
AnyModel = Annotated[
    str, argument("Name or path of a trained pipeline with an hpyp_parser, or a model of 'hpyp ngram'")
]
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
Punctuation = Annotated[bool, option("Count the arcs of punctuation")]
GoldTags = Annotated[bool, option("Give the gold tags to the parser")]
PerLine = Annotated[bool, option("Each line of a text is one sentence, however long", "-l")]
Tokenized = Annotated[
    bool, option("Words of text are between spaces; else the tokenizer of the language finds them")
]
SegmentWith = Annotated[
    str | None, option("Pipeline that finds the sentences of running text; else a line is one")
]


Ray = Annotated[
    str | None,
    option(
        "Let a Ray cluster do it: 'local', 'local[N]' for N cores of this machine, 'auto', or an address; "
        "its nodes share the folders",
        metavar="ADDRESS",
    ),
]


@dataclass(frozen=True)
class Cluster:
    """Options of what workers of a Ray cluster do to texts, shard by shard."""

    ray: Ray = None
    workers: Annotated[int | None, option("With --ray: workers, instead of one a core", least=1)] = None
    shard_size: Annotated[int, option("With --ray: the size of a shard in kilobytes", least=1)] = 1000
    max_errors: Annotated[int, option("With --ray: failing documents that end the run", least=0)] = 100
    field: Annotated[str, option("With --ray: the field or column of .jsonl and .parquet")] = "text"
