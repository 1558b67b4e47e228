"""`hpyp errors`: what a parser gets wrong in a treebank."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import srsly
import typer
from spacy.language import Language
from spacy.training import Corpus, Example
from wasabi import msg

from ..annotation.errors import Confusion, Errors, Found, find_errors
from ..components.corpus import reading
from ..components.hpyp_parser import HPYPParser
from ..storage.files import prepare_folder, replace_file
from .app import MOST, hpyp, load_pipeline, set_threads
from .evaluate import MatchScorer, read_examples

# What is shown of a sentence on each side of a word that is marked in it.
_WINDOW = 6
_SCORES = {"TAG": "tag_acc", "UAS": "dep_uas", "LAS": "dep_las", "MATCH": "complete_match"}


@hpyp.command("errors")
def errors_cli(
    model: str = typer.Argument(..., help="Name or path of a trained pipeline with a parser, spaCy's own or another"),
    data_path: Path = typer.Argument(..., help="Treebank in .spacy format", exists=True),
    output: Path | None = typer.Option(None, "--output", "-o", help="JSON file for all that is found", dir_okay=False),
    train: Path | None = typer.Option(
        None, "--train", help="Training data in .spacy format: words that it does not have are unknown", exists=True
    ),
    rows: int = typer.Option(15, "--rows", "-n", help="How many confusions are shown", min=1, max=MOST),
    examples: int = typer.Option(1, "--examples", "-e", help="How many examples of each confusion", min=0, max=MOST),
    punctuation: bool = typer.Option(False, "--punctuation", help="Count the arcs of punctuation"),
    threads: int | None = typer.Option(None, "--threads", "-t", help="Threads, instead of the pipeline's setting"),
) -> None:
    """Print what a parser gets wrong, on gold tokens and gold sentence boundaries as in 'hpyp evaluate'.

    Scores by label, tag, length of arc, length of sentence, and for known and unknown words; then which labels and tags are
    confused, with examples: the word in brackets, its predicted and its gold head. Arcs of punctuation are left out, tags are not.
    Words are unknown that an hpyp_parser knows by their class only, or those that --train does not have.
    """
    if output is not None:
        prepare_folder(output.parent)
    scores, found = errors(model, data_path, train=train, punctuation=punctuation, examples=examples, threads=threads)
    print_errors(scores, found, rows=rows)
    if output is not None:
        replace_file(output, srsly.json_dumps({"scores": scores, **found.to_dict()}, indent=2).encode())
        msg.good(f"Saved the errors to {output}")


def errors(
    model: str | Path,
    data_path: Path,
    *,
    train: Path | None = None,
    punctuation: bool = False,
    examples: int = 3,
    threads: int | None = None,
) -> tuple[dict[str, Any], Errors]:
    """Find what a parser gets wrong on gold tokens and gold sentence boundaries.

    model (str | Path): Name or path of a pipeline with a parser, spaCy's own or another.
    data_path (Path): A .spacy file or a directory of them.
    train (Path | None): Training data: words that it does not have are unknown. Without it they are those that an hpyp_parser of the
        pipeline knows by their class only; without that nobody knows which are.
    punctuation (bool): Whether the arcs of punctuation count, but for the first of what is returned.
    examples (int): How many examples of each confusion are kept.
    threads (int | None): Instead of the pipeline's settings.
    RETURNS (tuple[dict[str, Any], Errors]): The scores of `nlp.evaluate` and "complete_match", and the errors.
    RAISES (ValueError): If there is no parser, nothing to evaluate or no gold tree to compare with.
    """
    nlp = load_pipeline(model)
    set_threads(nlp, threads)
    gold = read_examples(nlp, data_path)
    if not any(token.has_dep() for example in gold for token in example.reference):
        raise ValueError(f"There is nothing to compare with in '{data_path}': no token has a gold head.")
    known = known_words(nlp) if train is None else _words_of(train, nlp)
    scores, parsed = parse_examples(nlp, gold, model)
    return scores, find_errors(parsed, known=known, punctuation=punctuation, show=examples)


def parse_examples(
    nlp: Language, examples: Sequence[Example], name: str | Path
) -> tuple[dict[str, Any], list[Example]]:
    """Parse sentences and score the parses.

    nlp (Language): A pipeline with a parser of any kind.
    examples (Sequence[Example]): One sentence in each; they are not changed.
    name (str | Path): The pipeline's, for errors.
    RETURNS (tuple[dict[str, Any], list[Example]]): The scores of `nlp.evaluate` and "complete_match", and the parsed examples.
    RAISES (ValueError): If there is no parser in the pipeline.
    """
    scorer = _KeepingScorer(nlp)
    scores = nlp.evaluate(examples, scorer=scorer)
    if not any(example.predicted.has_annotation("DEP") for example in scorer.examples):
        raise ValueError(f"The pipeline '{name}' finds no trees: it has no parser. It has {nlp.pipe_names}")
    return scores, scorer.examples


class _KeepingScorer(MatchScorer):
    """A scorer that remembers what it was given: `nlp.evaluate` parses copies of the examples."""

    def __init__(self, nlp: Language) -> None:
        super().__init__(nlp)
        self.examples: list[Example] = []

    def score(self, examples: Iterable[Example], *, per_component: bool = False) -> dict[str, Any]:
        """Score parsed examples."""
        self.examples = list(examples)
        return super().score(self.examples, per_component=per_component)


def known_words(nlp: Language) -> Callable[[str], bool] | None:
    """Whether the hpyp_parser of a pipeline knows a word as itself; None if there is none."""
    for _, pipe in nlp.pipeline:
        if isinstance(pipe, HPYPParser) and pipe.is_trained:
            return frozenset(pipe.joint.vocabulary.words).__contains__
    return None


def _words_of(train: Path, nlp: Language) -> Callable[[str], bool]:
    with reading(train):
        words = Counter(token.text for example in Corpus(train)(nlp) for token in example.reference)
    if not words:
        raise ValueError(f"There is no word in '{train}'.")
    return words.__contains__


def print_errors(scores: dict[str, Any], found: Errors, *, rows: int) -> None:
    """Print tables of errors.

    scores (dict[str, Any]): What `errors` returns first.
    found (Errors): What it returns second.
    rows (int): How many labels, tags and confusions are shown.
    """
    msg.table(
        {name: _percent(scores[key]) for name, key in _SCORES.items() if scores.get(key) is not None},
        title="Results (gold sentences)",
    )
    _table("Labels", found.labels[:rows], ["name", "gold", "predicted", "precision", "recall", "f", "uas"])
    tags = [row for row in found.tags if row["gold"]] if any(row["predicted"] for row in found.tags) else []
    _table("Tags", tags[:rows], ["name", "gold", "predicted", "precision", "recall", "f"])
    _table("Length of arcs", found.arc_lengths, ["length", "gold", "predicted", "precision", "recall", "las"])
    _table(
        "Length of sentences",
        found.sentence_lengths,
        ["length", "sentences", "tokens", "uas", "las", "tag_acc", "complete_match"],
    )
    _table("Words", found.words, ["words", "tokens", "uas", "las", "tag_acc"])
    _print_confusions("Confusions of labels", found.label_confusions[:rows], ("label", "gold", "predicted"))
    _print_confusions("Wrong heads of right labels", found.wrong_heads[:rows], ("label", "gold", ""))
    if tags:
        _print_confusions("Confusions of tags", found.tag_confusions[:rows], ("tag", "gold", "predicted"))


def _table(title: str, rows: list[dict[str, Any]], columns: list[str]) -> None:
    if rows:
        table = [[_cell(row[column]) for column in columns] for row in rows]
        header = [column.replace("_", " ") for column in columns]
        msg.table(table, header=header, divider=True, aligns=["l", *["r"] * (len(columns) - 1)], title=title)


def _cell(value: str | int | float | None) -> str:
    return _percent(value) if value is None or isinstance(value, float) else str(value)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"


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
            if found.gold_head >= 0:
                gold, predicted = _head(found, found.gold_head), _head(found, found.head)
                print(f"        head: {gold}" if gold == predicted else f"        head: {gold}, not {predicted}")


def _marked(found: Found) -> str:
    """A sentence, or what stands about the word, with the word in brackets."""
    start, end = max(0, found.word - _WINDOW), found.word + _WINDOW + 1
    words = [f"[{word}]" if i == found.word else word for i, word in enumerate(found.words)][start:end]
    return " ".join([*["…"][: start > 0], *words, *["…"][: end < len(found.words)]])


def _head(found: Found, place: int) -> str:
    """A head by its form and, as a form may be there twice, its number in the sentence."""
    return "ROOT" if place == found.word else f"{found.words[place]} ({place + 1})"
