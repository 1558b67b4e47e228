"""`hpyp report`: a page about a trained pipeline and its parses of a treebank."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from spacy.language import Language
from spacy.tokens import Token
from spacy.training import Example
from wasabi import msg

from ..annotation.calibration import calibrate_heads, calibrate_tags
from ..annotation.documents import unannotated
from ..annotation.errors import find_errors
from ..language_model.scoring import search_for_reading
from ..pipeline.corpus import mark_sentence
from ..pipeline.hpyp_parser import HPYPParser
from ..report import page
from ..storage import replace_file
from .app import (
    NEW_FILE,
    AnyPipeline,
    Data,
    Threads,
    argument,
    load_pipeline,
    option,
    require_extra,
)
from .evaluate import known_words, parse_examples, read_examples

# The tokens whose surprisal is shown.
_TOKENS = 80


def report(
    model: AnyPipeline,
    data_path: Data,
    output: Annotated[Path, argument("HTML file to write", **NEW_FILE)],
    *,
    sentences: Annotated[
        int, option("Number of worst sentences to show", "--sentences -n", least=0)
    ] = 5,
    threads: Threads = None,
) -> None:
    """Write a page about a pipeline: one HTML file, which loads nothing else.

    It has scores, errors, the sentences with the most wrong arcs, calibration and surprisal along
    the data. Sentences are parsed with gold tokens and boundaries, as in 'hpyp evaluate'.
    """
    require_extra("report", "matplotlib")
    nlp = load_pipeline(model, threads=threads)
    parsers = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, HPYPParser) and pipe.is_trained]
    gold = read_examples(nlp, data_path, heads=True)
    for parser in parsers:
        parser.decoding = "mbr"
    scores, parsed = parse_examples(nlp, gold)
    html = page.write_page(
        f"{nlp.lang}_{nlp.meta['name']} {nlp.meta['version']}",
        {
            "Pipeline": model,
            "Components": ", ".join(nlp.pipe_names),
            "Data": data_path,
            "Sentences": len(parsed),
        },
        [
            page.scores_section(scores),
            page.errors_section(find_errors(parsed, known=known_words(nlp))),
            page.trees_section(parsed, sentences),
            page.calibration_section(calibrate_heads(parsed), calibrate_tags(parsed)),
            page.surprisal_section(_surprisals(nlp, parsers, gold), str(data_path)),
        ],
    )
    replace_file(output, html.encode())
    msg.good(f"Saved the report to {output}")


def _surprisals(
    nlp: Language, parsers: Sequence[HPYPParser], gold: Sequence[Example]
) -> list[Token]:
    """Return the first tokens of gold sentences, with their surprisals."""
    reading = {
        name: {"search": search_for_reading(pipe.search)}
        for name, pipe in nlp.pipeline
        if pipe in parsers
    }
    tokens: list[Token] = []
    for example in gold if parsers else ():
        doc = mark_sentence(unannotated(example.reference, nlp.vocab))
        (doc,) = nlp.pipe([doc], component_cfg=reading)
        tokens += [token for token in doc if not token.is_space and token._.surprisal is not None]
        if len(tokens) >= _TOKENS:
            break
    return tokens[:_TOKENS]
