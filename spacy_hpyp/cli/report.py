"""`hpyp report`: a page about a trained pipeline and its parses of a treebank."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import srsly
from spacy.language import Language
from spacy.tokens import Token
from spacy.training import Example
from wasabi import msg

from ..annotation.calibration import calibrate_heads, calibrate_tags
from ..annotation.documents import unannotated
from ..annotation.errors import find_errors
from ..components.head_outward_parser import HeadOutwardComponent
from ..components.hpyp_parser import HPYPParser
from ..language_model.scoring import search_for_reading
from ..report import sections
from ..report.page import write_page
from ..storage.files import replace_file
from .app import load_pipeline, of_extra, set_threads
from .evaluate import known_words, parse_examples, read_examples
from .options import FILE, NEW_FILE, AnyPipeline, Data, Threads, argument, option
from .raw_text import locate_paragraphs

# The tokens whose surprisal is shown.
_TOKENS = 80


def report(
    model: AnyPipeline,
    data_path: Data,
    output: Annotated[Path, argument("HTML file to write", **NEW_FILE)],
    *,
    log: Annotated[Path | None, option("The output_file of spacy.ConsoleLogger.v3", **FILE)] = None,
    text: Annotated[Path | None, option("Text to show the surprisal of, not the data's", **FILE)] = None,
    sentences: Annotated[int, option("The worst sentences that are shown", "-n", least=0)] = 5,
    threads: Threads = None,
) -> None:
    """Write a page about a pipeline: one HTML file, which loads nothing else.

    It has scores, errors, the sentences with the most wrong arcs, calibration,
    surprisal along a text, learning curves, and the discounts, strengths and weights of experts. Sentences
    are parsed with gold tokens and boundaries, as in 'hpyp evaluate'.
    """
    of_extra("matplotlib", "The figures of a report need matplotlib: pip install 'spacy-hpyp[report]'")
    nlp = load_pipeline(model)
    set_threads(nlp, threads)
    parsers = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, HPYPParser) and pipe.is_trained]
    gold = read_examples(nlp, data_path, heads=True)
    for parser in parsers:
        parser.decoding = "mbr"
    scores, parsed = parse_examples(nlp, gold)
    learned = {
        name: pipe.learned
        for name, pipe in nlp.pipeline
        if isinstance(pipe, HPYPParser | HeadOutwardComponent) and pipe.is_trained
    }
    # Estimators of Eisner (1996) have tables of their own instead.
    processes = {name: own for name, own in learned.items() if not own.own_tables}
    page = write_page(
        f"{nlp.lang}_{nlp.meta['name']} {nlp.meta['version']}",
        {
            "Pipeline": model,
            "Components": ", ".join(nlp.pipe_names),
            "Data": data_path,
            "Sentences": len(parsed),
        },
        [
            sections.scores_section(scores),
            sections.errors_section(find_errors(parsed, known=known_words(nlp))),
            sections.trees_section(parsed, sentences),
            sections.calibration_section(calibrate_heads(parsed), calibrate_tags(parsed)),
            sections.surprisal_section(_surprisals(nlp, parsers, gold, text), str(text or data_path)),
            sections.training_section(
                list(srsly.read_jsonl(log)) if log else [], nlp.meta.get("performance", {})
            ),
            sections.experts_section(processes),
        ],
    )
    replace_file(output, page.encode())
    msg.good(f"Saved the report to {output}")


def _surprisals(
    nlp: Language, parsers: Sequence[HPYPParser], gold: Sequence[Example], text: Path | None
) -> list[Token]:
    """Return the first tokens of a text or of gold sentences, with their surprisals."""
    if not parsers:
        return []
    if text is None:
        refs = (example.reference for example in gold)
        docs = (unannotated(doc, nlp.vocab, sent_starts=[i == 0 for i in range(len(doc))]) for doc in refs)
    else:
        docs = (nlp.make_doc(paragraph) for _, paragraph in locate_paragraphs(text))
    reading = {
        name: {"search": search_for_reading(pipe.search)} for name, pipe in nlp.pipeline if pipe in parsers
    }
    tokens: list[Token] = []
    for doc in docs:
        (doc,) = nlp.pipe([doc], component_cfg=reading)
        tokens += [token for token in doc if not token.is_space and token._.surprisal is not None]
        if len(tokens) >= _TOKENS:
            break
    return tokens[:_TOKENS]
