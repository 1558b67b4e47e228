"""`hpyp combine`: a trained pipeline whose parser votes with those of this package, or is rated by them."""

from pathlib import Path
from typing import Annotated

from spacy.language import Language
from spacy.pipeline import Tagger
from spacy.training import Example
from wasabi import msg

from ..annotation.calibration import calibrate_heads
from ..components.alignment import example_of_tokens, example_of_words
from ..components.corpus import create_gold_corpus
from ..components.easy_first_parser import EasyFirstParser
from ..components.hpyp_parser import HPYPParser
from ..components.parse_combiner import ArcConfidence, ParseCombiner
from ..components.scorer import score
from ..components.word_classifiers import EasyFirstSenter, EasyFirstTagger
from ..text.word_classes import TABLE
from .app import load_pipeline
from .evaluate import print_calibration
from .options import AnyPipeline, argument, option
from .output import SCORES, percent, print_table
from .progress import Bar
from .raw_text import read_corpus

_VOTERS = EasyFirstSenter, HPYPParser, EasyFirstTagger, EasyFirstParser


def combine(
    model: AnyPipeline,
    unseen: Annotated[Path, argument("Gold documents that no parser was trained on", exists=True)],
    *,
    others: Annotated[list[Path], option("Trained pipeline whose parsers vote, too", "--with")],
    output: Annotated[Path, option("The pipeline to write, a folder", "--output -o", file_okay=False)],
    rate: Annotated[bool, option("Keep the parser's trees, and rate their arcs")] = False,
) -> None:
    """Make a pipeline whose parser votes with those of others, or with --rate, is rated by them.

    The weights of the parsers are learned from documents that none of them has been trained on. First the
    gain on every second document is printed, by weights learned from the others. With --rate only generative
    parsers are taken.
    """
    nlp = load_pipeline(model)
    component = _join(nlp, [load_pipeline(str(path)) for path in others], rate=rate)
    examples = _parse(nlp, component.name, unseen, rate=rate)
    _show(nlp, component, examples)
    _learn(nlp, component, examples)
    nlp.to_disk(output)
    msg.good(f"Saved the pipeline, with {', '.join(nlp.pipe_names)}: {output}")


def _join(nlp: Language, helpers: list[Language], *, rate: bool) -> ParseCombiner:
    """Add the voters to a pipeline, and the component that weighs them: after its parser if that is rated,
    otherwise before all of its components.
    """
    parsers = [name for name in nlp.pipe_names if "token.dep" in nlp.get_pipe_meta(name).assigns]
    if not parsers:
        raise ValueError(f"The pipeline should have a parser, but it has {nlp.pipe_names}.")
    parser = parsers[-1]
    component = nlp.add_pipe(ArcConfidence.factory if rate else ParseCombiner.factory, after=parser)
    place = component.name if rate else nlp.pipe_names[0]
    for _, pipe in nlp.pipeline:
        if isinstance(pipe, Tagger):
            # Tags of the voters must not take the place of its own.
            pipe.cfg["overwrite"] = True
    if rate:
        nlp.add_pipe("keep_parse", name=f"keep_{parser}", before=place)
    for helper in helpers:
        if helper.vocab.lookups.has_table(TABLE) and not nlp.vocab.lookups.has_table(TABLE):
            nlp.vocab.lookups.add_table(TABLE, helper.vocab.lookups.get_table(TABLE))
        for source, pipe in helper.pipeline:
            if not isinstance(pipe, HPYPParser if rate else _VOTERS):
                continue
            name = source
            while name in nlp.component_names:
                name = f"voting_{name}"
            nlp.add_pipe(source, source=helper, name=name, before=place)
            if isinstance(pipe, HPYPParser):
                pipe.guides = True
            if isinstance(pipe, HPYPParser | EasyFirstParser):
                nlp.add_pipe("keep_parse", name=f"keep_{name}", before=place)
    assert isinstance(component, ParseCombiner)
    if not component.voters_in(nlp)[1:]:
        raise ValueError(
            f"The pipelines of --with should have parsers of this package, but they have "
            f"{[name for helper in helpers for name in helper.pipe_names]}."
        )
    return component


def _parse(nlp: Language, component: str, data: Path, *, rate: bool) -> list[Example]:
    """Parse gold documents with all voters: raw ones to rate arcs, otherwise gold sentences."""
    if rate:
        examples = list(map(example_of_words, map(example_of_tokens, read_corpus(data, nlp))))
    else:
        examples = list(create_gold_corpus(data)(nlp))
    with nlp.select_pipes(disable=nlp.pipe_names[nlp.pipe_names.index(component) :]):
        docs = nlp.pipe(example.predicted for example in examples)
        for example, doc in zip(examples, Bar(docs, desc="Parsing", unit=" documents", total=len(examples))):
            example.predicted = doc
    return examples


def _learn(nlp: Language, component: ParseCombiner, examples: list[Example]) -> None:
    component.initialize(lambda: examples, nlp=nlp)
    component.update(examples)


def _show(nlp: Language, component: ParseCombiner, examples: list[Example]) -> None:
    """Print the gain on every second document, by weights learned from the others."""
    _learn(nlp, component, examples[::2])
    before = examples[1::2]
    docs = component.pipe(example.predicted.copy() for example in before)
    after = [Example(doc, example.reference) for doc, example in zip(docs, before)]
    if isinstance(component, ArcConfidence):
        print_calibration({"head_prob": calibrate_heads(after)})
        return
    scores = [("alone", score(before)), ("votes", score(after))]
    rows = [(name, *(percent(found[key]) for key in SCORES.values())) for name, found in scores]
    print_table(("", *SCORES), rows, "Every second document, with weights learned from the others")
