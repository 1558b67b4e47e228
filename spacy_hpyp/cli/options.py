"""Options and arguments that the commands share."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..storage import prepare_folder


def option(meaning: str, names: str = "", **settings: Any) -> Any:
    """Declare an option, with settings of `typer.Option`, and names separated by spaces if they are
    not the parameter's.
    """
    return typer.Option(*names.split(), help=meaning, **settings)


def argument(meaning: str, **settings: Any) -> Any:
    """Declare an argument, with settings of `typer.Argument`."""
    return typer.Argument(help=meaning, **settings)


def _prepare_parent(path: Path | None) -> Path | None:
    if path is not None:
        prepare_folder(path.parent)
    return path


#: Settings of options and arguments for files to read and files to write.
FILE = {"exists": True, "dir_okay": False}
NEW_FILE: dict[str, Any] = {"dir_okay": False, "callback": _prepare_parent}
AnyPipeline = Annotated[str, argument("Name or path of a trained pipeline")]
Generative = Annotated[str, argument("Name or path of a trained pipeline with an hpyp_parser")]
AnyModel = Annotated[
    str, argument("Trained pipeline with an hpyp_parser, or model of 'hpyp ngram'")
]
Data = Annotated[Path, argument("Evaluation data: .conllu or .spacy, or a directory", exists=True)]
Json = Annotated[Path | None, option("JSON file for the figures", "--output -o", **NEW_FILE)]
Threads = Annotated[
    int | None, option("Number of threads (default: the pipeline's setting)", "--threads -t")
]
PerLine = Annotated[bool, option("Read each line of a text as one sentence", "--per-line -l")]
Tokenized = Annotated[bool, option("Split text into words at white space")]
RayAddress = Annotated[str | None, option("Ray cluster: 'local', 'auto' or an address", "--ray")]
Workers = Annotated[
    int | None, option("With --ray: number of workers (default: one per core)", min=1)
]
