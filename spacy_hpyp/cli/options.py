"""Options and arguments of commands. Those that several commands have are declared here."""

from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

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


def long_names(function: Callable) -> Callable:
    """Name the options of a command after its parameters, unless they have long names; a switch has no other."""
    hints = get_type_hints(function, include_extras=True)
    for name, hint in hints.items():
        for declared in getattr(hint, "__metadata__", ()):
            # Typer keeps the first name as the default until it reads the command.
            names = [
                each for each in (declared.default, *(declared.param_decls or ())) if isinstance(each, str)
            ]
            if isinstance(declared, OptionInfo) and not any(each.startswith("--") for each in names):
                own = copy(declared)
                own.default, own.param_decls = ..., [f"--{name.replace('_', '-')}", *names]
                hints[name] = Annotated[hint.__origin__, own]
    function.__annotations__ = hints
    return function


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
MinCount = Annotated[int, option("Rarer words are known by their class only")]
MinClassCount = Annotated[int, option("Rarer classes give way to more general ones")]
Printed = Annotated[Literal["table", "json"], option("Print a table, or JSON", "-o")]
GoldTags = Annotated[bool, option("Give the gold tags to the parser")]
PerLine = Annotated[bool, option("Each line of a text is one sentence", "-l")]
Tokenized = Annotated[bool, option("Split text into words at white space")]
SegmentWith = Annotated[str | None, option("Pipeline that splits running text into sentences")]
RayAddress = Annotated[str | None, option("Ray cluster: 'local', 'local[N]', 'auto' or an address", "--ray")]
Workers = Annotated[int | None, option("With --ray: workers, instead of one a core", least=1)]
ShardSize = Annotated[int, option("With --ray: the size of a shard in kilobytes", least=1)]
MaxErrors = Annotated[int, option("With --ray: failing documents that end the run", least=0)]
TextField = Annotated[str, option("With --ray: the field or column of .jsonl and .parquet", "--field")]
