"""What `hpyp evaluate --errors` prints: what a parser gets wrong in a treebank."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from spacy.language import Language
from wasabi import msg

from ..annotation.errors import Confusion, Errors, Found
from ..components.hpyp_parser import HPYPParser
from ..report.sections import error_tables
from .documents import read_corpus
from .options import option
from .output import percent, print_table

# What is shown of a sentence on each side of a word that is marked in it.
_WINDOW = 6

TrainingWords = Annotated[
    Path | None,
    option("Training data in .spacy format, for --errors: words that it does not have are unknown", exists=True),
]
Rows = Annotated[int, option("How many confusions --errors shows", "--rows -n", least=1)]
Examples = Annotated[int, option("How many examples of each confusion --errors shows", "--examples -e", least=0)]


def known_words(nlp: Language, train: Path | None = None) -> Callable[[str], bool] | None:
    """Whether a word is known: one of training data, or else one that the hpyp_parser of a pipeline knows as itself.

    nlp (Language): The pipeline.
    train (Path | None): A .spacy file or a directory of them.
    RETURNS (Callable | None): None if nobody knows.
    RAISES (ValueError): If there is no word in the training data.
    """
    if train is None:
        parsers = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, HPYPParser) and pipe.is_trained]
        return frozenset(parsers[0].joint.vocabulary.words).__contains__ if parsers else None
    words = {token.text for example in read_corpus(train, nlp) for token in example.reference}
    if not words:
        raise ValueError(f"There is no word in '{train}'.")
    return words.__contains__


def print_errors(found: Errors, *, rows: int) -> None:
    """Print tables of errors.

    rows (int): How many labels, tags and confusions are shown.
    """
    for table in sorted(error_tables(found), key=lambda table: not table.by_name):
        shown = table.rows[:rows] if table.by_name else table.rows
        header = [name.replace("_", " ") for name in table.columns]
        print_table(header, [[_cell(row[name]) for name in table.columns] for row in shown], table.title)
    _print_confusions("Confusions of labels", found.label_confusions[:rows], ("label", "gold", "predicted"))
    _print_confusions("Wrong heads of right labels", found.wrong_heads[:rows], ("label", "gold", ""))
    if any(row["predicted"] for row in found.tags):
        _print_confusions("Confusions of tags", found.tag_confusions[:rows], ("tag", "gold", "predicted"))


def _cell(value: str | int | float | None) -> str:
    return percent(value) if value is None or isinstance(value, float) else str(value)


def _print_confusions(title: str, confusions: list[Confusion], names: tuple[str, str, str]) -> None:
    if not confusions:
        return
    msg.divider(title)
    kind, _, other = names
    for each in confusions:
        pair = f"{each.gold} → {each.predicted}" if other else each.gold
        heads = f", {each.right_heads} of them with the right head" if kind == "label" and other else ""
        print(f"{each.count:6}  {pair}{heads}")
        for found in each.examples:
            print(f"        {_marked(found)}")
            if found.gold_label:
                gold, predicted = _head(found, found.gold_head), _head(found, found.predicted_head)
                print(f"        head: {gold}" if gold == predicted else f"        head: {gold}, not {predicted}")


def _marked(found: Found) -> str:
    """A sentence, or what stands about the word, with the word in brackets."""
    start, end = max(0, found.word - _WINDOW), found.word + _WINDOW + 1
    words = [f"[{word}]" if i == found.word else word for i, word in enumerate(found.words)][start:end]
    return " ".join([*["…"][: start > 0], *words, *["…"][: end < len(found.words)]])


def _head(found: Found, place: int | None) -> str:
    """A head by its form and, as a form may be there twice, its number in the sentence."""
    return "ROOT" if place is None else f"{found.words[place]} ({place + 1})"
