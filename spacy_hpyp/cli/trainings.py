"""`hpyp guides`, and trainings of pipelines within other commands."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

from spacy.cli.train import train
from spacy.tokens import DocBin
from wasabi import msg

from ..pipeline.alignment import example_of_words
from ..storage import replace_file
from .app import NEW_FILE, Bar, Generative, Threads, argument, load_parser, option
from .raw_text import read_training

# The settings that a guided pipeline shares with its generative parser, by the beginnings of their
# names.
_COMMON = ("nlp.", "system.", "paths.classes")
_GUIDES = "components.hpyp_parser.guides"


def train_pipeline(
    config: Path,
    folder: Path,
    train_path: Path,
    dev_path: Path,
    overrides: dict[str, Any],
    *,
    parser: Path | None = None,
) -> None:
    """Train a pipeline as 'spacy train' does, after the generative parser that guides it, if there
    is one.

    folder (Path): Gets "model-best" and "model-last".
    overrides (dict[str, Any]): Settings of the config. The parser has those of `_COMMON`, too.
    parser (Path | None): The config of the parser. It writes guides into the training data.
    RAISES (ValueError): If the overrides name the data.
    """
    own = {"paths.train": str(train_path), "paths.dev": str(dev_path)}
    if given := own.keys() & overrides.keys():
        raise ValueError(f"The arguments name the data: remove --{min(given)}.")
    folder.mkdir(exist_ok=True)
    # What spaCy prints belongs to the progress.
    with redirect_stdout(sys.stderr):
        if parser is not None:
            common = {name: value for name, value in overrides.items() if name.startswith(_COMMON)}
            train_pipeline(
                parser, folder / "parser", train_path, dev_path, {**common, _GUIDES: True}
            )
            found, guided = folder / "parser" / "model-best", folder / "train-guided.spacy"
            guides(str(found), train_path, guided)
            own |= {"paths.train": str(guided), "paths.parser": str(found)}
        train(config, folder, overrides={**overrides, **own})


def guides(
    model: Generative,
    corpus: Annotated[
        Path, argument("Its training data: .conllu or .spacy, or a directory", exists=True)
    ],
    output: Annotated[Path, argument("The .spacy file to write", **NEW_FILE)],
    *,
    folds: Annotated[int, option("Number of parts, each left out once", least=2)] = 10,
    threads: Threads = None,
) -> None:
    """Write the training data of a parser with its guides, for guided components to learn from.

    Each part is taken out of the model, parsed by the rest, and put back: no sentence is parsed by
    a parser that has seen it. The documents have gold annotation on the tokens and words of the
    parser, and the guides, which are about words, in `doc._.guide`.
    """
    nlp, parser = load_parser(model, threads=threads)
    examples = read_training(corpus, nlp, nlp.config)
    words = sum(len(example_of_words(example).predicted) for example in examples)
    if not words:
        raise ValueError(f"There is nothing to annotate in '{corpus}'.")
    with Bar(total=words, desc="Annotating", unit=" words") as bar:
        docs, learned = parser.leave_out(examples, folds=folds, progress=bar.update)
    replace_file(output, DocBin(docs=docs, store_user_data=True).to_bytes())
    msg.good(
        f"Annotated {words:,} words and left out {learned:,} learned sentences in turn: {output}"
    )
