"""`hpyp generate`: sentences drawn from a model, and the best of them."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import spacy
import typer
from spacy.tokens import Doc, DocBin
from wasabi import msg

from ..language_model.ngram import NGramModel
from ..storage.files import prepare_folder, replace_file
from ..text.spacing import spaces_between
from .app import MOST, hpyp, load_parser
from .output import json_line
from .progress import Bar

_FORMATS = (".jsonl", ".spacy")

Drawn = TypeVar("Drawn")


@hpyp.command("generate")
def generate_cli(
    model: str = typer.Argument(
        ..., help="Name or path of a trained pipeline with an hpyp_parser, or model saved by 'hpyp ngram'"
    ),
    number: int = typer.Option(1000, "--number", "-n", help="How many sentences to draw"),
    best: int = typer.Option(
        10, "--best", "-b", help="How many of them to show and to save: the most probable ones", min=1, max=MOST
    ),
    min_length: int = typer.Option(10, "--min-length", help="Shorter sentences are not among the best"),
    max_length: int = typer.Option(60, "--max-length", help="The most words of a sentence"),
    begin_with: str = typer.Option("", "--begin-with", help="Text that every sentence begins with"),
    seed: int = typer.Option(0, "--seed", help="Fixes the sentences"),
    trees: bool = typer.Option(False, "--trees", help="Show tags and trees"),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="File for the best, .jsonl or .spacy", dir_okay=False
    ),
    particles: int | None = typer.Option(
        None, "--particles", "-K", help="Particles, instead of the pipeline's setting"
    ),
    threads: int | None = typer.Option(None, "--threads", "-t", help="Threads, instead of the pipeline's setting"),
) -> None:
    """Draw sentences from a model and show the most probable ones of some length.

    A sentence's probability is the sum over the parser's beam, not that of the derivation that was drawn; an n-gram model's is
    exact. Rare words are spelled out, or appear as the name of their class in angle brackets if the model does not spell.
    """
    if output is not None and output.suffix not in _FORMATS:
        raise ValueError(f"'{output}' should end in .jsonl or .spacy")
    if min_length > max_length:
        raise ValueError(f"No sentence has {min_length} words or more and {max_length} or fewer")
    is_ngrams = Path(model).is_file()
    if is_ngrams:
        _refuse_parsers_options(trees=trees, particles=particles, threads=threads, output=output)
    if output is not None:
        prepare_folder(output.parent)
    chosen: dict[str, Any] = {
        "best": best,
        "min_length": min_length,
        "max_length": max_length,
        "begin_with": begin_with,
        "seed": seed,
    }
    docs = [] if is_ngrams else generate(model, number, **chosen, particles=particles, threads=threads)
    sentences = generate_by_ngrams(model, number, **chosen) if is_ngrams else [_record(doc) for doc in docs]
    if not sentences:
        raise ValueError(
            f"None of the {number} sentences has {min_length} words or more. Draw more, or allow shorter ones with --min-length."
        )
    for i, sentence in enumerate(sentences):
        print(f"{sentence['log_prob']:8.2f}  {sentence['text']}")
        if trees:
            _show_tree(docs[i])
    if len(sentences) < best:
        msg.info(f"Only {len(sentences)} of the {number} sentences have {min_length} words or more")
    if output is not None:
        if output.suffix == ".spacy":
            replace_file(output, DocBin(docs=docs, store_user_data=True).to_bytes())
        else:
            replace_file(output, "".join(map(json_line, sentences)).encode())
        msg.good(f"Saved {len(sentences)} sentences to {output}")


def generate(
    model: str | Path,
    number: int = 1000,
    *,
    best: int = 10,
    min_length: int = 10,
    max_length: int = 60,
    begin_with: str = "",
    seed: int = 0,
    particles: int | None = None,
    threads: int | None = None,
) -> list[Doc]:
    """Draw sentences and choose the most probable ones of some length (B&B section 5.5).

    model (str | Path): Name or path of the pipeline.
    number (int): How many sentences to draw.
    best (int): How many of them to choose.
    min_length, max_length (int): The fewest words of those that are chosen, and the most words of any.
    begin_with (str): Text that all of them begin with; the pipeline's tokenizer finds its words.
    seed (int): Fixes the sentences.
    particles, threads (int | None): Instead of the pipeline's settings.
    RETURNS (list[Doc]): The most probable one first. Of equal sentences there is one.
    RAISES (ValueError): If the pipeline cannot generate them.
    """
    nlp, parser = load_parser(model, particles=particles, threads=threads)
    words = [token.text for token in nlp.make_doc(begin_with) if not token.is_space]
    drawn = parser.generate(number, begin_with=words, max_length=max_length, seed=seed)
    different: dict[tuple[str, ...], Doc] = {}
    for doc in _with_bar(drawn, number):
        if len(doc) >= min_length:
            different.setdefault(tuple(token.text for token in doc), doc)
    return sorted(different.values(), key=lambda doc: -doc._.log_prob)[:best]


def generate_by_ngrams(
    model: str | Path,
    number: int = 1000,
    *,
    best: int = 10,
    min_length: int = 10,
    max_length: int = 60,
    begin_with: str = "",
    seed: int = 0,
) -> list[dict[str, Any]]:
    """The same as `generate` with an n-gram model.

    model (str | Path): The model's file.
    number, best, min_length, max_length, seed (int): See `generate`.
    begin_with (str): Text that all of them begin with; the tokenizer of the model's language finds its words.
    RETURNS (list[dict[str, Any]]): The "text", the "words" and the "log_prob" of each, the most probable one first.
    RAISES (ValueError): If the model cannot be read or generate them.
    """
    ngrams = NGramModel.from_disk(model)
    nlp = spacy.blank(ngrams.words.lang)
    words = [token.text for token in nlp.make_doc(begin_with) if not token.is_space]
    drawn = ngrams.generate(number, begin_with=words, max_length=max_length, seed=seed)
    different: dict[tuple[str, ...], float] = {}
    for one in _with_bar(drawn, number):
        if len(one.words) >= min_length:
            different.setdefault(tuple(one.words), one.log_prob)
    found = sorted(different.items(), key=lambda entry: -entry[1])[:best]
    separated = nlp.vocab.writing_system["has_letters"]
    spaces = [spaces_between(words, separated=separated) for words, _ in found]
    return [
        {"text": Doc(nlp.vocab, words, own).text, "log_prob": log_prob, "words": list(words)}
        for (words, log_prob), own in zip(found, spaces)
    ]


def _refuse_parsers_options(*, trees: bool, particles: int | None, threads: int | None, output: Path | None) -> None:
    """Raise a ValueError if something is asked for that an n-gram model does not have."""
    asked = {
        "--trees": trees,
        "--particles": particles is not None,
        "--threads": threads is not None,
        "A file that ends in .spacy": output is not None and output.suffix == ".spacy",
    }
    for name, is_asked in asked.items():
        if is_asked:
            raise ValueError(f"{name} is for what a parser generates, but here is an n-gram model, which has no trees.")


def _with_bar(drawn: Iterable[Drawn], number: int) -> Iterator[Drawn]:
    with Bar(drawn, desc="Generating", total=number, unit=" sentences") as drawn:
        yield from drawn


def _show_tree(doc: Doc) -> None:
    widths = [max(len(name) for name in column) for column in zip(*((t.text, t.tag_, t.dep_) for t in doc))]
    for token in doc:
        columns = (name.ljust(width) for name, width in zip((token.text, token.tag_, token.dep_), widths))
        print(f"{token._.log_prob:8.2f}  {'  '.join(columns)}  {token.head.text}")


def _record(doc: Doc) -> dict[str, Any]:
    return {
        "text": doc.text,
        "log_prob": doc._.log_prob,
        "words": [token.text for token in doc],
        "tags": [token.tag_ for token in doc],
        "heads": [token.head.i for token in doc],
        "deps": [token.dep_ for token in doc],
    }
