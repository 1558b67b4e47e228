"""`hpyp report`: a page about a trained pipeline and what it does on a treebank."""

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
from ..annotation.intervals import bootstrap, count_by_sentence
from ..components.head_outward_parser import HeadOutwardComponent
from ..components.hpyp_parser import HPYPParser
from ..language_model.scoring import search_for_reading
from ..report import sections
from ..report.page import write_page
from ..report.parameters import learned_parameters
from ..report.training_log import read_training_log
from ..report.trees import worst_trees
from ..storage.files import replace_file
from .app import load_pipeline, of_extra, set_threads
from .evaluate import known_words, parse_examples, read_examples
from .options import FILE, NEW_FILE, AnyPipeline, Data, Threads, argument, option
from .raw_text import locate_paragraphs

# How many tokens surprisal is shown of: what can be read.
_TOKENS = 80


def report(
    model: AnyPipeline,
    data_path: Data,
    output: Annotated[Path, argument("HTML file to write", **NEW_FILE)],
    *,
    log: Annotated[
        Path | None, option("What 'spacy train' printed, or its logger's output_file", **FILE)
    ] = None,
    text: Annotated[
        Path | None, option("Text in UTF-8 to show the surprisal of, not the data's", **FILE)
    ] = None,
    sentences: Annotated[int, option("How many of the worst sentences are shown", "-n", least=0)] = 5,
    resamples: Annotated[int, option("Bootstrap samples of the sentences", least=1)] = 1000,
    seed: Annotated[int, option("Of the bootstrap samples", least=0)] = 0,
    threads: Threads = None,
) -> None:
    """Write a page about a pipeline: one HTML file, which loads nothing else.

    Scores with bootstrap intervals, where errors are, confusions, the sentences with the most wrong arcs,
    calibration, surprisal along a text, learning curves, discounts and strengths, and weights of experts.
    What a pipeline has not is left out, and the page says so. Sentences are parsed with gold tokens and gold
    boundaries, as in 'hpyp evaluate'. Figures need the extra 'report' (matplotlib).
    """
    of_extra("matplotlib", "The figures of a report need matplotlib: pip install 'spacy-hpyp[report]'")
    checks = None if log is None else read_training_log(log)
    nlp = load_pipeline(model)
    set_threads(nlp, threads)
    parsers = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, HPYPParser) and pipe.is_trained]
    gold = read_examples(nlp, data_path, heads=True)
    for parser in parsers:
        parser.marginals = True
    _, parsed = parse_examples(nlp, gold, model)
    found = find_errors(parsed, known=known_words(nlp))
    learned = {
        name: pipe.learned
        for name, pipe in nlp.pipeline
        if isinstance(pipe, HPYPParser | HeadOutwardComponent) and pipe.is_trained
    }
    progress = {
        name: {count: getattr(model.progress, count) for count in ("steps", "sweeps", "tokens")}
        for name, model in learned.items()
    }
    parameters = {
        name: learned_parameters(model.conditionals, model.franchises, model.weights)
        for name, model in learned.items()
    }
    # Those of estimators of Eisner (1996) are none.
    estimated = {name: own for name, own in parameters.items() if not learned[name].own_tables}
    shown = [
        sections.scores_section(
            bootstrap(count_by_sentence(parsed), resamples=resamples, seed=seed), resamples
        ),
        sections.errors_section(found),
        sections.confusions_section(found),
        sections.trees_section(worst_trees(parsed, sentences), sentences),
        sections.calibration_section(calibrate_heads(parsed), calibrate_tags(parsed)),
        sections.surprisal_section(
            _surprisals(nlp, parsers, gold, text), f"'{data_path if text is None else text}'"
        ),
        sections.training_section(checks, nlp.meta.get("performance", {}), progress),
        sections.discounts_section(estimated),
        sections.weights_section(parameters),
    ]
    facts = [
        ("Pipeline", str(model)),
        ("Components", ", ".join(nlp.pipe_names)),
        ("Data", str(data_path)),
        ("Sentences", f"{len(parsed):,}"),
        ("Tokens", f"{sum(len(example.reference) for example in parsed):,}"),
    ]
    page = write_page(f"{nlp.meta['lang']}_{nlp.meta['name']} {nlp.meta['version']}", facts, shown)
    replace_file(output, page.encode())
    msg.good(f"Saved the report to {output}")


def _surprisals(
    nlp: Language, parsers: Sequence[HPYPParser], gold: Sequence[Example], text: Path | None
) -> list[Token]:
    """The first tokens, with their surprisals, of a text or of gold sentences."""
    if text is None:
        refs = (example.reference for example in gold)
        docs = (unannotated(doc, nlp.vocab, sent_starts=[i == 0 for i in range(len(doc))]) for doc in refs)
    else:
        docs = (nlp.make_doc(paragraph) for _, paragraph in locate_paragraphs(text))
    reading = {
        name: {"search": search_for_reading(pipe.search)} for name, pipe in nlp.pipeline if pipe in parsers
    }
    tokens: list[Token] = []
    read = 0
    for doc in docs if parsers else ():
        (doc,) = nlp.pipe([doc], component_cfg=reading)
        tokens += [token for token in doc if not token.is_space and token._.surprisal is not None]
        read += len(doc)
        if read >= _TOKENS:
            break
    if parsers and text is not None and not tokens:
        raise ValueError(f"There is no word in '{text}', whose surprisal was to be shown.")
    return tokens[:_TOKENS]
