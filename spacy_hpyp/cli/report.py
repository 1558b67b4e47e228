"""`hpyp report`: a page about a trained pipeline and what it does on a treebank."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from ..annotation.calibration import calibrate_heads, calibrate_tags
from ..annotation.documents import unannotated
from ..annotation.errors import find_errors
from ..annotation.intervals import bootstrap, count_by_sentence
from ..components.head_outward_base import HeadOutwardComponent
from ..components.hpyp_parser import HPYPParser
from ..language_model.scoring import search_for_reading
from ..report.figures import check_library
from ..report.page import write_page
from ..report.parameters import learned_parameters
from ..report.sections import (
    Parameters,
    TokenSurprisal,
    calibration_section,
    confusions_section,
    discounts_section,
    errors_section,
    scores_section,
    surprisal_section,
    training_section,
    trees_section,
    weights_section,
)
from ..report.training_log import read_training_log
from ..report.trees import worst_trees
from ..storage.files import prepare_folder, replace_file
from .app import MOST, hpyp, load_pipeline, set_threads
from .errors import known_words, parse_examples
from .evaluate import read_examples
from .raw_text import locate_paragraphs

# How many tokens surprisal is shown of: what can be read.
_TOKENS = 80


@hpyp.command("report")
def report_cli(
    model: str = typer.Argument(..., help="Name or path of a trained pipeline with a parser, spaCy's own or another"),
    data_path: Path = typer.Argument(..., help="Evaluation data in .spacy format", exists=True),
    output: Path = typer.Argument(..., help="HTML file to write", dir_okay=False),
    log: Path | None = typer.Option(
        None, "--log", help="What 'spacy train' printed, or its logger's output_file", exists=True, dir_okay=False
    ),
    text: Path | None = typer.Option(
        None,
        "--text",
        help="Text in UTF-8 to show the surprisal of, instead of the data's",
        exists=True,
        dir_okay=False,
    ),
    sentences: int = typer.Option(
        5, "--sentences", "-n", help="How many of the worst sentences are shown", min=0, max=MOST
    ),
    resamples: int = typer.Option(1000, "--resamples", help="Bootstrap samples of the sentences", min=1, max=MOST),
    seed: int = typer.Option(0, "--seed", help="Of the bootstrap samples", min=0, max=MOST),
    threads: int | None = typer.Option(None, "--threads", "-t", help="Threads, instead of the pipeline's setting"),
) -> None:
    """Write a page about a pipeline: one HTML file, which loads nothing else.

    Scores with bootstrap intervals, learning curves, discounts and strengths, weights of experts, calibration, confusions, the
    sentences with the most wrong arcs, and surprisal along a text. What a pipeline has not is left out, and the page says so. Sentences
    are parsed with gold tokens and gold boundaries, as in 'hpyp evaluate'. Figures need the extra 'report' (matplotlib).
    """
    prepare_folder(output.parent)
    page = report(
        model, data_path, log=log, text=text, sentences=sentences, resamples=resamples, seed=seed, threads=threads
    )
    replace_file(output, page.encode())
    msg.good(f"Saved the report to {output}")


def report(
    model: str | Path,
    data_path: Path,
    *,
    log: Path | None = None,
    text: Path | None = None,
    sentences: int = 5,
    resamples: int = 1000,
    seed: int = 0,
    threads: int | None = None,
) -> str:
    """Make a page about a pipeline; the same of the same pipeline and data.

    model (str | Path): Name or path of a pipeline with a parser, spaCy's own or another.
    data_path (Path): A .spacy file or a directory of them.
    log (Path | None): The log of the training run, see `read_training_log`; without it there are no learning curves.
    text (Path | None): A text whose surprisal is shown; by default the first sentences of the data, each for itself.
    sentences (int): How many sentences with wrong arcs are shown.
    resamples, seed (int): Of the intervals, see `bootstrap`.
    threads (int | None): Instead of the pipeline's settings.
    RETURNS (str): HTML.
    RAISES (ValueError): If there is no parser, nothing to compare with, or no word in the text, or the log is none.
    RAISES (ImportError): If there is no matplotlib.
    """
    check_library()
    checks = None if log is None else read_training_log(log)
    nlp = load_pipeline(model)
    set_threads(nlp, threads)
    parsers = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, HPYPParser) and pipe.is_trained]
    gold = read_examples(nlp, data_path)
    if not any(token.has_dep() for example in gold for token in example.reference):
        raise ValueError(f"There is nothing to compare with in '{data_path}': no token has a gold head.")
    for parser in parsers:
        parser.marginals = True
    _, parsed = parse_examples(nlp, gold, model)
    found = find_errors(parsed, known=known_words(nlp))
    parameters = _parameters(nlp)
    sections = [
        scores_section(bootstrap(count_by_sentence(parsed), resamples=resamples, seed=seed), resamples),
        training_section(checks, nlp.meta.get("performance", {}), _progress(nlp)),
        discounts_section(parameters),
        weights_section(parameters),
        calibration_section(calibrate_heads(parsed), calibrate_tags(parsed)),
        errors_section(found),
        confusions_section(found),
        trees_section(worst_trees(parsed, sentences), sentences),
        surprisal_section(_surprisals(nlp, parsers, gold, text), f"'{data_path if text is None else text}'"),
    ]
    facts = [
        ("Pipeline", str(model)),
        ("Components", ", ".join(nlp.pipe_names)),
        ("Data", str(data_path)),
        ("Sentences", f"{len(parsed):,}"),
        ("Tokens", f"{sum(len(example.reference) for example in parsed):,}"),
    ]
    return write_page(f"{nlp.meta['lang']}_{nlp.meta['name']} {nlp.meta['version']}", facts, sections)


def _parameters(nlp: Language) -> list[Parameters]:
    found = []
    for name, pipe in nlp.pipeline:
        if isinstance(pipe, HPYPParser) and pipe.is_trained:
            model = pipe.joint
            learned = learned_parameters(model.conditionals, model.seating.franchises, model.weights)
            found.append(Parameters(name, learned, estimated=True))
        elif isinstance(pipe, HeadOutwardComponent) and pipe.is_trained:
            model = pipe.head_outward
            learned = learned_parameters(model.conditionals, model.franchises, model.weights)
            found.append(Parameters(name, learned, estimated=not model.own_tables))
    return found


def _progress(nlp: Language) -> dict[str, dict[str, int]]:
    """What components count while they learn."""
    found = {}
    for name, pipe in nlp.pipeline:
        if isinstance(pipe, HPYPParser | HeadOutwardComponent) and pipe.is_trained:
            progress = (pipe.joint if isinstance(pipe, HPYPParser) else pipe.head_outward).progress
            found[name] = {each: getattr(progress, each) for each in ("steps", "sweeps", "tokens")}
    return found


def _surprisals(
    nlp: Language, parsers: Sequence[HPYPParser], gold: Sequence[Example], text: Path | None
) -> list[TokenSurprisal]:
    """The surprisal of the first tokens of a text, or of gold sentences."""
    docs = _first(_gold_docs(nlp, gold) if text is None else _docs_of(nlp, text))
    reading = {name: {"search": search_for_reading(pipe.search)} for name, pipe in nlp.pipeline if pipe in parsers}
    tokens = []
    for doc in nlp.pipe(docs, component_cfg=reading) if parsers else ():
        ends = {sentence.end - 1 for sentence in doc.sents} if doc.has_annotation("SENT_START") else set()
        for token in doc:
            if not token.is_space and token._.surprisal is not None:
                parts = token._.surprisal_lexical, token._.surprisal_syntactic
                tokens.append(TokenSurprisal(token.text, token.tag_, *parts, is_last=token.i in ends))
    if parsers and text is not None and not tokens:
        raise ValueError(f"There is no word in '{text}', whose surprisal was to be shown.")
    return tokens[:_TOKENS]


def _gold_docs(nlp: Language, gold: Sequence[Example]) -> Iterator[Doc]:
    for example in gold:
        doc = example.reference
        yield unannotated(doc, nlp.vocab, sent_starts=[i == 0 for i in range(len(doc))])


def _docs_of(nlp: Language, text: Path) -> Iterator[Doc]:
    return (nlp.make_doc(paragraph) for _, paragraph in locate_paragraphs(text))


def _first(docs: Iterator[Doc]) -> Iterator[Doc]:
    """The first documents, so many that there are enough tokens."""
    tokens = 0
    for doc in docs:
        yield doc
        tokens += len(doc)
        if tokens >= _TOKENS:
            return
