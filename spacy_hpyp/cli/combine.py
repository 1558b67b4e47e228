"""`hpyp combine`: let the parser of a pipeline vote with others, or rate its arcs."""

from pathlib import Path
from typing import Annotated

from spacy.language import Language
from spacy.pipeline import Tagger
from spacy.training import Example
from wasabi import msg

from ..pipeline.alignment import example_of_words
from ..pipeline.corpus import create_conllu_corpus
from ..pipeline.easy_first_parser import EasyFirstParser
from ..pipeline.hpyp_parser import HPYPParser
from ..pipeline.parse_combiner import ArcConfidence, ParseCombiner
from ..pipeline.scorer import score
from ..pipeline.word_classifiers import EasyFirstSenter, EasyFirstTagger
from ..text.word_classes import TABLE
from .analysis import calibrations
from .app import SCORES, Bar, load_pipeline, percent, print_table
from .evaluate import print_calibration
from .options import AnyPipeline, argument, option

_VOTERS = EasyFirstSenter, HPYPParser, EasyFirstTagger, EasyFirstParser
# Trees follow another scheme if the treebank lacks more than this share of their labels.
_UNKNOWN_LABELS = 0.1


def combine(
    model: AnyPipeline,
    unseen: Annotated[Path, argument("Gold documents outside all training data", exists=True)],
    *,
    others: Annotated[
        list[Path], option("Trained pipeline with voting parsers (repeatable)", "--with")
    ],
    output: Annotated[Path, option("Folder for the pipeline", "--output -o", file_okay=False)],
    rate: Annotated[bool, option("Keep the parser's trees and rate their arcs")] = False,
) -> None:
    """Combine parsers by voting, or rate a parser's arcs with --rate.

    The pipeline's tokenizer finds the tokens. The command learns the parsers' weights from
    documents unseen by all of them, and trains nothing else. It prints the gain, or the calibration
    with --rate, on every second document with weights learned from the others. --rate takes only
    voters of the type hpyp_parser, and accepts labels of any scheme.
    """
    nlp = load_pipeline(model)
    parsers = [name for name in nlp.pipe_names if "token.dep" in nlp.get_pipe_meta(name).assigns]
    if not parsers:
        raise ValueError(f"The pipeline should have a parser, but it has {nlp.pipe_names}.")
    examples = list(create_conllu_corpus(unseen)(nlp))
    alone = _parsed(nlp, examples, nlp.pipe_names[: nlp.pipe_names.index(parsers[-1]) + 1])
    if not rate:
        _check_labels(alone, parsers[-1])
    component = _add_voters(nlp, parsers[-1], [load_pipeline(path) for path in others], rate=rate)
    examples = _parsed(nlp, examples, nlp.pipe_names[: nlp.pipe_names.index(component.name)])
    _learn(nlp, component, examples[::2])
    docs = component.pipe(example.predicted.copy() for example in examples[1::2])
    voted = [Example(doc, example.reference) for doc, example in zip(docs, examples[1::2])]
    if rate:
        print_calibration({"heads": calibrations(map(example_of_words, voted))["heads"]})
    else:
        rows = []
        for name, parsed in (("alone", alone[1::2]), ("votes", voted)):
            scores = score(map(example_of_words, parsed))
            rows.append((name, *(percent(scores[key] or None) for key in SCORES.values())))
        title = "Every second document, with weights learned from the others"
        print_table(("", *SCORES), rows, title)
    _learn(nlp, component, examples)
    nlp.to_disk(output)
    msg.good(f"Saved the pipeline, with {', '.join(nlp.pipe_names)}: {output}")


def _parsed(nlp: Language, examples: list[Example], pipes: list[str]) -> list[Example]:
    """Return examples as some components annotate them."""
    with nlp.select_pipes(enable=pipes):
        docs = nlp.pipe(example.predicted.copy() for example in examples)
        shown = Bar(docs, desc="Parsing", unit=" documents", total=len(examples))
        return [Example(doc, example.reference) for doc, example in zip(shown, examples)]


def _check_labels(examples: list[Example], parser: str) -> None:
    """Check that the treebank has nine tenths of the trees' labels. Subtypes may differ."""
    found, known = (
        [word.dep_.lower().split(":")[0] for doc in docs for word in doc._.ud_words]
        for docs in zip(*((example.predicted, example.reference) for example in examples))
    )
    unknown = [label for label in found if label not in {"dep", "root", *known}]
    if len(unknown) > _UNKNOWN_LABELS * len(found):
        raise ValueError(
            f"The trees of '{parser}' have labels that the treebank does not have: "
            f"{', '.join(sorted(set(unknown)))}. Parsers of different schemes cannot vote. "
            "Use --rate, which accepts any labels."
        )


def _add_voters(
    nlp: Language, parser: str, helpers: list[Language], *, rate: bool
) -> ParseCombiner:
    """Add voters, first or after the rated parser, and the component that weighs them."""
    component = nlp.add_pipe(ArcConfidence.factory if rate else ParseCombiner.factory, after=parser)
    assert isinstance(component, ParseCombiner)
    place = component.name if rate else nlp.pipe_names[0]
    for _, pipe in nlp.pipeline:
        if isinstance(pipe, Tagger):
            # The voters' tags must not replace those of the parser.
            pipe.cfg["overwrite"] = True
    if rate:
        _keep(nlp, parser, place)
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
                _keep(nlp, name, place)
    if not component.voters_in(nlp)[1:]:
        raise ValueError(
            f"The pipelines of --with should have parsers of this package, but they have "
            f"{[name for helper in helpers for name in helper.pipe_names]}."
        )
    return component


def _keep(nlp: Language, name: str, place: str) -> None:
    nlp.add_pipe("keep_parse", name=f"keep_{name}", config={"name_of_parse": name}, before=place)


def _learn(nlp: Language, component: ParseCombiner, examples: list[Example]) -> None:
    component.initialize(lambda: examples, nlp=nlp)
    component.update(examples)
