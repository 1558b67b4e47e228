"""Options and arguments of commands. Those that several commands have are declared here."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ..storage import prepare_folder


def option(
    meaning: str,
    names: str = "",
    *,
    least: int | None = None,
    most: int | None = None,
    **settings: Any,
) -> Any:
    """Declare an option, with settings of `typer.Option`.

    names (str): Its names with spaces between them, instead of the parameter's.
    least, most (int | None): The limits of a whole number.
    """
    return typer.Option(*names.split(), help=meaning, min=least, max=most, **settings)


def argument(meaning: str, **settings: Any) -> Any:
    """Declare an argument, with settings of `typer.Argument`."""
    return typer.Argument(help=meaning, **settings)


def writable(path: Path | None) -> Path | None:
    """Make the folder of a file to write."""
    if path is not None:
        prepare_folder(path.parent)
    return path


#: Settings of options and arguments that are a file to read, and one to write.
FILE = {"exists": True, "dir_okay": False}
NEW_FILE: dict[str, Any] = {"dir_okay": False, "callback": writable}
Pipeline = Annotated[str, argument("Name or path of a pipeline with a parser of this package")]
AnyPipeline = Annotated[str, argument("Name or path of a trained pipeline with any parser")]
Generative = Annotated[str, argument("Name or path of a trained pipeline with an hpyp_parser")]
AnyModel = Annotated[
    str, argument("A trained pipeline with an hpyp_parser, or a model of 'hpyp ngram'")
]
TrainData = Annotated[
    Path, argument("Training data: .conllu or .spacy, or a directory", exists=True)
]
Data = Annotated[Path, argument("Evaluation data: .conllu or .spacy, or a directory", exists=True)]
Json = Annotated[Path | None, option("JSON file for the figures", "--output -o", **NEW_FILE)]
Particles = Annotated[
    int | None, option("Particles, instead of the pipeline's setting", "--particles -K")
]
Threads = Annotated[
    int | None, option("Threads, instead of the pipeline's setting", "--threads -t")
]
MinCount = Annotated[int, option("Rarer words are known by their class only")]
MinClassCount = Annotated[int, option("Rarer classes give way to more general ones")]
Printed = Annotated[Literal["table", "json"], option("Print a table, or JSON", "--output -o")]
GoldTags = Annotated[bool, option("Give the gold tags to the parser")]
PerLine = Annotated[bool, option("Each line of a text is one sentence", "--per-line -l")]
Tokenized = Annotated[bool, option("Split text into words at white space")]
RayAddress = Annotated[
    str | None, option("Ray cluster: 'local', 'local[N]', 'auto' or an address", "--ray")
]
Workers = Annotated[int | None, option("With --ray: workers, instead of one a core", least=1)]
