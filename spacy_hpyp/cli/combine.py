"""`hpyp combine`: a trained pipeline together with parsers of this package, which vote with it or say how
sure its arcs are.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import spacy
import typer
from spacy.language import Language
from spacy.pipeline import DependencyParser, Tagger
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import minibatch
from wasabi import msg

from ..annotation.calibration import calibrate_heads
from ..annotation.syntactic_words import spelled_apart
from ..annotation.written import current_parse, keep
from ..compat.cli import parse_config_overrides
from ..components.alignment import example_of_tokens, example_of_words, gold_documents
from ..components.arc_confidence import ArcConfidence
from ..components.corpus import create_gold_corpus
from ..components.easy_first_parser import EasyFirstParser
from ..components.easy_first_senter import EasyFirstSenter
from ..components.easy_first_tagger import EasyFirstTagger
from ..components.factories import shipped_config
from ..components.hpyp_parser import HPYPParser
from ..components.parse_combiner import ParseCombiner, VotingComponent
from ..components.scorer import score
from ..components.transition_confidence import TransitionConfidence
from ..settings import whole
from ..storage.files import prepare_folder
from ..text.word_classes import TABLE
from .app import load_pipeline, save_docs
from .evaluate import print_figures
from .options import AnyPipeline, DocsFile, TrainData, argument, option
from .output import SCORES, percent, print_table
from .progress import Bar
from .raw_text import read_corpus, read_training
from .trainings import files_of, made_of, train_once

_VOTERS = EasyFirstSenter, HPYPParser, EasyFirstTagger, EasyFirstParser


def combine(
    ctx: typer.Context,
    model: AnyPipeline,
    treebank: TrainData,
    *,
    output: Annotated[Path, option("The pipeline to write, a folder", "-o", file_okay=False)],
    rate: Annotated[
        bool, option("Leave the parser's trees as they are, and say how probable its arcs are")
    ] = False,
    nuclei: Annotated[
        bool, option("With --rate: prepositions and copulas head phrases in the parser's trees")
    ] = False,
    others: Annotated[
        str | None,
        option(
            "Pipeline with an hpyp_parser and perhaps easy-first components, not one of the treebank",
            "--with",
        ),
    ] = None,
    unseen: Annotated[
        Path | None,
        option("Gold documents that no parser has learned from, not parts of the treebank", exists=True),
    ] = None,
    parts: Annotated[int, option("How many parts the treebank is divided into, to be held out", least=2)] = 8,
    first: Annotated[int, option("How many of them are held out, one after the other", least=1)] = 1,
) -> None:
    """Make a better pipeline of a trained one: its parser and those of this package vote; or with --rate,
    they say how sure its arcs are.

    How far to believe whom is learned from parses of sentences that nobody has learned from: of --unseen, or
    of parts of the treebank. For each part the pipeline is trained again by its own config without it. An
    hpyp_parser forgets the part instead, but easy-first components, which it guides, are trained again with
    it.

    Settings of configs/pool.cfg and configs/guided.cfg can be overridden (--training.max_steps 100) for what
    is trained by these. What has been trained is kept beside the output, in a folder whose name ends with
    -work: the same command goes on after the last training.
    """
    if nuclei and not rate:
        raise ValueError("--nuclei is for --rate: parsers that vote have trees of one kind.")
    nlp = load_pipeline(model)
    parsers = [name for name in nlp.pipe_names if "token.dep" in nlp.get_pipe_meta(name).assigns]
    if not parsers:
        raise ValueError(f"The pipeline '{model}' should have a parser, but it has {nlp.pipe_names}.")
    overrides = {"nlp.lang": nlp.lang, **parse_config_overrides(ctx.args)}
    work = output.with_name(f"{output.name}-work")
    prepare_folder(work)
    configs = {name: work / f"{name}.cfg" for name in ("own", "pool", "guided")}
    for name, path in configs.items():
        (nlp.config if name == "own" else shipped_config(name)).to_disk(path)
    read = [path.read_bytes() for path in (treebank, unseen) if path is not None and path.is_file()]
    if unseen is None:
        if not {"train", "dev"} <= nlp.config.get("paths", {}).keys():
            raise ValueError(
                f"The config of '{model}' does not say by [paths] what it learns from: give --unseen "
                f"documents."
            )
        hold_out(treebank, work, parts=parts, first=first)

    def train_others(name: str, train: Path, dev: Path, *, guided: bool) -> Language:
        """The generative parser, or the pipeline that it guides, trained by the configs that come with the
        package.
        """
        key = made_of(name, guided, overrides, *files_of(overrides), *read)
        config, parser = (configs["guided"], configs["pool"]) if guided else (configs["pool"], None)
        return load_pipeline(train_once(key, config, work / name, train, dev, overrides, parser=parser))

    first_part = work / "1-held-out.spacy"
    helpers = (
        load_pipeline(others)
        if others
        else train_others("others", treebank, unseen or first_part, guided=not rate)
    )
    if not any(isinstance(pipe, HPYPParser) for _, pipe in helpers.pipeline):
        raise ValueError(
            f"The pipeline '{others}' should have an hpyp_parser, but it has {helpers.pipe_names}."
        )
    nlp, component = _with(nlp, parsers[-1], helpers, rate=rate, nuclei=nuclei)
    examples: list[Example] = [] if unseen is None else _parsed(nlp, component, unseen, helpers)
    learns_parts = not rate and any(isinstance(pipe, EasyFirstParser) for _, pipe in helpers.pipeline)
    for part in range(1, 1 + first * (unseen is None)):
        train, held_out = (work / f"{part}-{name}.spacy" for name in ("train", "held-out"))
        # Which checkpoint is best what is held out may say: it says little of any sentence.
        own = f"own-{part}-of-{parts}"
        key = made_of(own, configs["own"].read_bytes(), *read)
        paths = (
            map(_for_rules, (train, held_out)) if isinstance(nlp.tokenizer, Tokenizer) else (train, held_out)
        )
        trained = load_pipeline(train_once(key, configs["own"], work / own, *paths, {}))
        without = helpers
        if learns_parts:
            without = train_others(f"others-{part}-of-{parts}", train, held_out, guided=True)
        examples += _parsed(
            *_with(trained, parsers[-1], without, rate=rate, nuclei=nuclei), held_out, without
        )
    _show(nlp, component, examples)
    _learn(nlp, component, examples)
    nlp.to_disk(output)
    msg.good(f"Saved the pipeline, with {', '.join(nlp.pipe_names)}: {output}")


def _for_rules(path: Path) -> Path:
    """The same documents for spaCy's tokenizer, which knows no words under tokens, see `spelled_apart`."""
    apart = path.with_stem(f"{path.stem}-apart")
    save_docs(apart, map(spelled_apart, DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab)))
    return apart


def _with(
    nlp: Language, parser: str, helpers: Language, *, rate: bool, nuclei: bool = False
) -> tuple[Language, VotingComponent]:
    """A pipeline with those that help its parser, and what is to learn how far to believe whom."""
    if helpers.vocab.lookups.has_table(TABLE) and not nlp.vocab.lookups.has_table(TABLE):
        nlp.vocab.lookups.add_table(TABLE, helpers.vocab.lookups.get_table(TABLE))
    for _, pipe in nlp.pipeline:
        if not rate and isinstance(pipe, Tagger):
            # What others have tagged before it has no say in what it says.
            pipe.cfg["overwrite"] = True
    begin = nlp.pipe_names[0]
    kinds = (HPYPParser,) if rate else _VOTERS
    source = ""
    for name, pipe in helpers.pipeline:
        if not isinstance(pipe, kinds):
            continue
        own = name if name not in nlp.component_names else f"voting_{name}"
        nlp.add_pipe(name, source=helpers, name=own, before=begin)
        if rate:
            nlp.disable_pipe(own)
            source = own
        elif isinstance(pipe, HPYPParser | EasyFirstParser):
            nlp.add_pipe("keep_parse", name=f"keep_{own}", before=begin, config={"name_of_parse": own})
    sure = _have_say(nlp, parser)
    factory, asked = (
        (ArcConfidence.factory, {"source": source, "nuclei": nuclei}) if rate else (ParseCombiner.factory, {})
    )
    component = nlp.add_pipe(factory, after=sure, config={"last": parser, **asked})
    assert isinstance(component, VotingComponent)
    return nlp, component


def _have_say(nlp: Language, parser: str) -> str:
    """Have a parser say how sure it is that would not, as spaCy's; returns the name of what does so, or its
    own.
    """
    saying = [
        name
        for name, pipe in nlp.components
        if isinstance(pipe, TransitionConfidence) and pipe.parser == parser
    ]
    if not saying and isinstance(nlp.get_pipe(parser), DependencyParser):
        saying = [f"sure_{parser}"]
        nlp.add_pipe(TransitionConfidence.factory, name=saying[0], after=parser, config={"parser": parser})
    return [*saying, parser][0]


def _parsed(nlp: Language, component: VotingComponent, data: Path, helpers: Language) -> list[Example]:
    """Gold documents with what all voters say who have not learned from them: raw ones to rate arcs,
    otherwise gold sentences.
    """
    rate = isinstance(component, ArcConfidence)
    raw = map(example_of_words, map(example_of_tokens, read_corpus(data, nlp))) if rate else None
    examples = list(raw or create_gold_corpus(data)(nlp))
    forgetful: dict[str, HPYPParser] = {}
    for name, pipe in nlp.components:
        if isinstance(pipe, HPYPParser):
            learned = map(example_of_words, read_training(data, nlp, helpers.config))
            forgetful[name] = pipe.without(list(gold_documents(learned, pipe.tokens)))
    docs: Iterable[Doc] = [example.predicted for example in examples]
    for name, pipe in nlp.pipeline:
        if pipe is component:
            break
        own = forgetful.get(name, pipe)
        docs = own.pipe(docs) if hasattr(own, "pipe") else map(own, docs)
    for example, doc in zip(examples, Bar(docs, desc="Parsing", unit=" documents", total=len(examples))):
        example.predicted = doc
    if isinstance(component, ArcConfidence):
        for some in minibatch(examples, nlp.batch_size):
            component.ask([example.predicted for example in some], forgetful[component.source])
    return examples


def _learn(nlp: Language, component: VotingComponent, examples: Sequence[Example]) -> None:
    component.initialize(lambda: examples, nlp=nlp)
    component.update(examples)


def _show(nlp: Language, component: VotingComponent, examples: Sequence[Example]) -> None:
    """Print what comes of it on every second document, where it has learned from the others alone."""
    _learn(nlp, component, examples[::2])
    before = examples[1::2]
    docs = component.pipe(example.predicted.copy() for example in before)
    after = [Example(doc, example.reference) for doc, example in zip(docs, before)]
    if isinstance(component, ArcConfidence):
        print_figures(calibrate_heads(after, nuclei=component.nuclei))
        return
    rows = [(name, score(own)) for name, own in ((component.last, before), ("votes", after))]
    figures = [(name, *(percent(found[key]) for key in SCORES.values())) for name, found in rows]
    print_table(("", *SCORES), figures, "Every second sentence, by votes that have learned from the others")


def hold_out(
    corpus: Annotated[Path, argument("A .spacy file, or a directory of them", exists=True)],
    output: Annotated[Path, argument("The directory to write to", file_okay=False)],
    *,
    parts: Annotated[int, option("How many parts the corpus is divided into", "-n", least=2)] = 8,
    first: Annotated[int, option("Hold out so many of the parts, one after the other", least=1)] = 1,
) -> None:
    """Divide a corpus into documents to train parsers on, and others that they have not seen.

    For each part that is held out there are two files, `1-train.spacy` and `1-held-out.spacy`. A part is
    every n-th document, so that parts are alike.
    """
    whole("first", first, highest=parts)
    docs = [example.reference for example in read_corpus(corpus, spacy.blank("xx"))]
    if len(docs) < parts:
        raise ValueError(
            f"'{corpus}' has {len(docs)} documents for {parts} parts: convert it with fewer sentences to a "
            f"document."
        )
    prepare_folder(output)
    for part in range(first):
        two = output / f"{part + 1}-train.spacy", output / f"{part + 1}-held-out.spacy"
        for path, held in zip(two, (False, True)):
            chosen = [doc for i, doc in enumerate(docs) if (i % parts == part) == held]
            save_docs(path, chosen)
            msg.good(f"Saved {len(chosen):,} documents with {sum(map(len, chosen)):,} tokens: {path}")


def keep_parses(
    corpus: Annotated[Path, argument("Gold documents that the parsers were not trained on", exists=True)],
    output: DocsFile,
    parsers: Annotated[
        list[str], argument("Names of voters and their pipelines, as parser=training/cnn; at least 2")
    ],
) -> None:
    """Write gold sentences with the parses of several pipelines in `doc._.parses`, for a parse_combiner to
    learn from.

    The last guide that one of the pipelines writes is kept, too. The files of several parts, each by
    pipelines that were trained without it, can be put into one directory.
    """
    voters = read_voters(parsers)
    references: list[Doc] = []
    for name, pipeline in voters.items():
        nlp = load_pipeline(pipeline)
        for pipe in nlp.pipe_names:
            _have_say(nlp, pipe)
        examples = list(create_gold_corpus(corpus)(nlp))
        references = references or [example.reference for example in examples]
        docs = nlp.pipe(example.predicted for example in examples)
        bar = Bar(docs, desc=name, unit=" sentences", total=len(examples))
        parsed = False
        for reference, doc in zip(references, bar):
            parsed |= doc.has_annotation("DEP")
            keep(reference, name, current_parse(doc))
            if doc._.guide is not None:
                reference._.guide = doc._.guide
        if not parsed:
            raise ValueError(
                f"The pipeline '{pipeline}', which is to be '{name}', has parsed nothing of '{corpus}'."
            )
    save_docs(output, references)
    msg.good(f"Saved {len(references):,} sentences with the parses of {', '.join(voters)}: {output}")


def read_voters(given: Sequence[str]) -> dict[str, str]:
    """Names and pipelines, given as `name=pipeline`. RAISES (ValueError): If one is not, or there are not two
    at least.
    """
    pairs = [each.partition("=") for each in given]
    for each, (name, _, pipeline) in zip(given, pairs):
        if not name or not pipeline:
            raise ValueError(f"A voter is given as NAME=PIPELINE, as parser=training/cnn, not as '{each}'.")
    parsers = {name: pipeline for name, _, pipeline in pairs}
    if len(parsers) < 2 or len(parsers) < len(pairs):
        raise ValueError(
            f"There should be two voters at least, each with a name of its own, not {', '.join(given)}."
        )
    return parsers
