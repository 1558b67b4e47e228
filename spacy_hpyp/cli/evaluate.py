"""`hpyp evaluate`: tags, trees and speed on gold tokens and gold sentence boundaries."""

from pathlib import Path
from typing import Any

import srsly
import typer
from wasabi import msg

from ..components.corpus import create_gold_corpus
from ..storage.files import prepare_folder, replace_file
from .app import hpyp, load_parser

_ROWS = {
    "TAG": "tag_acc",
    "UAS": "dep_uas",
    "LAS": "dep_las",
    "SENT P": "sents_p",
    "SENT R": "sents_r",
    "SENT F": "sents_f",
}


@hpyp.command("evaluate")
def evaluate_cli(
    model: str = typer.Argument(..., help="Name or path of a trained pipeline with an hpyp_parser"),
    data_path: Path = typer.Argument(..., help="Evaluation data in .spacy format", exists=True),
    output: Path | None = typer.Option(None, "--output", "-o", help="JSON file for the metrics", dir_okay=False),
    particles: int | None = typer.Option(
        None, "--particles", "-K", help="Particles, instead of the pipeline's setting"
    ),
    threads: int | None = typer.Option(None, "--threads", "-t", help="Threads, instead of the pipeline's setting"),
    gold_tags: bool = typer.Option(False, "--gold-tags", help="Give the gold tags to the parser"),
    decoding: str | None = typer.Option(None, "--decoding", help="best or mbr, instead of the pipeline's setting"),
) -> None:
    """Evaluate a pipeline on gold tokens and gold sentence boundaries, as parsers are compared in the literature.

    For raw documents, whose boundaries the model has to find, use 'spacy evaluate'.
    """
    if output is not None:
        prepare_folder(output.parent)
    scores = evaluate(model, data_path, particles=particles, threads=threads, gold_tags=gold_tags, decoding=decoding)
    rows = {name: f"{100 * scores[key]:.2f}" for name, key in _ROWS.items() if scores.get(key) is not None}
    rows["LOG PROB"] = f"{scores['token_log_prob']:.4f}"
    rows["SPEED"] = f"{scores['speed']:.0f}"
    msg.table(rows, title="Results (gold sentences)")
    if output is not None:
        replace_file(output, srsly.json_dumps(scores, indent=2).encode())
        msg.good(f"Saved results to {output}")


def evaluate(
    model: str | Path,
    data_path: Path,
    *,
    particles: int | None = None,
    threads: int | None = None,
    gold_tags: bool = False,
    decoding: str | None = None,
) -> dict[str, Any]:
    """Evaluate a pipeline on gold tokens and gold sentence boundaries.

    model (str | Path): Name or path of the pipeline.
    data_path (Path): A .spacy file or a directory of them.
    particles, threads (int | None): Instead of the pipeline's settings.
    gold_tags (bool): Whether the parser uses the gold tags.
    decoding (str | None): "best" or "mbr", instead of the pipeline's setting.
    RETURNS (dict[str, Any]): The scores of `nlp.evaluate`.
    RAISES (ValueError): If there is nothing to evaluate or to compare with, or a setting is out of its range.
    """
    nlp, parser = load_parser(model, particles=particles, threads=threads)
    parser.tags = "given" if gold_tags else parser.tags
    parser.decoding = parser.decoding if decoding is None else decoding
    examples = list(create_gold_corpus(data_path, gold_tags=gold_tags)(nlp))
    if not examples:
        raise ValueError(f"There is nothing to evaluate in '{data_path}'.")
    if not any(gold.tag or gold.has_dep() for example in examples for gold in example.reference):
        raise ValueError(f"There is nothing to compare with in '{data_path}': no token has a gold tag or a gold head.")
    with nlp.select_pipes(disable=nlp.pipe_names[: nlp.pipe_names.index(parser.name)] if gold_tags else []):
        return nlp.evaluate(examples)
