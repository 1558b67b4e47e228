"""`hpyp combine`: a trained pipeline whose parser votes with those of this package, or is rated by them."""

from pathlib import Path
from typing import Annotated, Any

import spacy
import typer
from spacy.language import Language
from spacy.pipeline import Tagger
from spacy.tokenizer import Tokenizer
from spacy.tokens import DocBin
from spacy.training import Example
from wasabi import msg

from ..annotation.calibration import calibrate_heads
from ..annotation.syntactic_words import spelled_apart
from ..components.alignment import example_of_tokens, example_of_words
from ..components.arc_confidence import ArcConfidence
from ..components.corpus import create_gold_corpus
from ..components.easy_first_parser import EasyFirstParser
from ..components.easy_first_senter import EasyFirstSenter
from ..components.easy_first_tagger import EasyFirstTagger
from ..components.factories import shipped_config
from ..components.hpyp_parser import HPYPParser
from ..components.parse_combiner import ParseCombiner, VotingComponent
from ..components.scorer import score
from ..storage.files import prepare_folder
from ..text.word_classes import TABLE
from .app import load_pipeline, overrides_of, save_docs
from .evaluate import print_calibration
from .options import AnyPipeline, TrainData, option
from .output import SCORES, percent, print_table
from .progress import Bar
from .raw_text import read_corpus
from .trainings import train_pipeline

# Without unseen documents, every `_PARTS`-th document of the treebank is held out.
_PARTS = 8
_VOTERS = EasyFirstSenter, HPYPParser, EasyFirstTagger, EasyFirstParser


def combine(
    ctx: typer.Context,
    model: AnyPipeline,
    treebank: TrainData,
    *,
    output: Annotated[Path, option("The pipeline to write, a folder", "--output -o", file_okay=False)],
    rate: Annotated[bool, option("Keep the parser's trees, and rate their arcs")] = False,
    others: Annotated[
        list[Path] | None, option("Trained pipelines whose parsers vote, instead of new ones", "--with")
    ] = None,
    unseen: Annotated[
        Path | None, option("Gold documents that no parser has been trained on", exists=True)
    ] = None,
) -> None:
    """Make a pipeline whose parser votes with those of this package, or with --rate, is rated by them.

    The voters are trained on the treebank by configs/pool.cfg, guided.cfg and easy_first.cfg; --rate needs
    the first one only. Their weights are learned from --unseen documents, or from an eighth of the treebank:
    the voters and the pipeline, by its own config, are then trained once more without it.

    Settings of the shipped configs can be overridden (--training.max_steps 100). The trainings stay in a
    folder beside the output, whose name ends with -work; the same command goes on from there.
    """
    nlp = load_pipeline(model)
    parsers = [name for name in nlp.pipe_names if "token.dep" in nlp.get_pipe_meta(name).assigns]
    if not parsers:
        raise ValueError(f"The pipeline '{model}' should have a parser, but it has {nlp.pipe_names}.")
    if others and unseen is None:
        raise ValueError("The parsers of --with may know all of the treebank: give --unseen documents.")
    overrides = {"nlp.lang": nlp.lang, **overrides_of(ctx)}
    work = output.with_name(f"{output.name}-work")
    prepare_folder(work)
    train, held_out = (treebank, unseen) if unseen else _hold_out(treebank, work)
    if others:
        helpers = [load_pipeline(str(path)) for path in others]
    else:
        helpers = _train_voters(work / "voters", treebank, held_out, overrides, rate=rate)
    trained, learners = nlp, helpers
    if unseen is None:
        nlp.config.to_disk(work / "own.cfg")
        files = (
            map(_spelled_apart, (train, held_out))
            if isinstance(nlp.tokenizer, Tokenizer)
            else (train, held_out)
        )
        trained = _train(work / "own.cfg", work / "own", *files, {})
        learners = _train_voters(work / "learning", train, held_out, overrides, rate=rate)
    component = _join(nlp, parsers[-1], helpers, rate=rate)
    if trained is not nlp:
        _join(trained, parsers[-1], learners, rate=rate)
    examples = _parse(trained, component.name, held_out, rate=rate)
    _show(nlp, component, examples)
    _learn(nlp, component, examples)
    nlp.to_disk(output)
    msg.good(f"Saved the pipeline, with {', '.join(nlp.pipe_names)}: {output}")


def _hold_out(treebank: Path, folder: Path) -> tuple[Path, Path]:
    """Write most documents of a treebank to one file, and every `_PARTS`-th to another."""
    docs = [example.reference for example in read_corpus(treebank, spacy.blank("xx"))]
    if len(docs) < _PARTS:
        raise ValueError(
            f"'{treebank}' has {len(docs)} documents, of which one in {_PARTS} is held out: convert it with "
            "fewer sentences to a document."
        )
    train, held_out = folder / "train.spacy", folder / "held-out.spacy"
    save_docs(train, [doc for i, doc in enumerate(docs) if i % _PARTS])
    save_docs(held_out, docs[::_PARTS])
    return train, held_out


def _spelled_apart(path: Path) -> Path:
    """Write the documents of a file with words in the place of tokens, for spaCy's tokenizer."""
    apart = path.with_stem(f"{path.stem}-apart")
    save_docs(apart, map(spelled_apart, DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab)))
    return apart


def _train(
    config: Path, folder: Path, train: Path, dev: Path, overrides: dict[str, Any], parser: Path | None = None
) -> Language:
    """Train a pipeline, if that has not been done."""
    done = folder / "done"
    if done.exists():
        msg.info(f"'{folder}' has been trained before")
    else:
        msg.divider(f"Training {folder.name}")
        train_pipeline(config, folder, train, dev, overrides, parser=parser)
        done.touch()
    return load_pipeline(folder / "model-best")


def _train_voters(
    folder: Path, train: Path, dev: Path, overrides: dict[str, Any], *, rate: bool
) -> list[Language]:
    """Train the voters by the shipped configs: a pool, and otherwise easy-first parsers with and without it."""
    folder.mkdir(exist_ok=True)
    configs = {name: folder / f"{name}.cfg" for name in ("pool", "guided", "easy_first")}
    for name, path in configs.items():
        shipped_config(name).to_disk(path)
    if rate:
        overrides = {**overrides, "components.hpyp_parser.guides": True}
        return [_train(configs["pool"], folder / "pool", train, dev, overrides)]
    guided = _train(configs["guided"], folder / "guided", train, dev, overrides, configs["pool"])
    return [guided, _train(configs["easy_first"], folder / "easy_first", train, dev, overrides)]


def _join(nlp: Language, parser: str, helpers: list[Language], *, rate: bool) -> VotingComponent:
    """Add the voters before the components of a pipeline, and the component that weighs them."""
    begin = nlp.pipe_names[0]
    for _, pipe in nlp.pipeline:
        if isinstance(pipe, Tagger):
            # Tags of the voters must not take the place of its own.
            pipe.cfg["overwrite"] = True
    if rate:
        nlp.add_pipe("keep_parse", name="note_boundaries", before=begin)
    for helper in helpers:
        if helper.vocab.lookups.has_table(TABLE) and not nlp.vocab.lookups.has_table(TABLE):
            nlp.vocab.lookups.add_table(TABLE, helper.vocab.lookups.get_table(TABLE))
        for source, pipe in helper.pipeline:
            if not isinstance(pipe, (HPYPParser,) if rate else _VOTERS):
                continue
            name = source
            while name in nlp.component_names:
                name = f"voting_{name}"
            nlp.add_pipe(source, source=helper, name=name, before=begin)
            if isinstance(pipe, HPYPParser):
                pipe.guides = True
            if isinstance(pipe, HPYPParser | EasyFirstParser):
                config = {"name_of_parse": name, "boundaries": "given" if rate else "all"}
                nlp.add_pipe("keep_parse", name=f"keep_{name}", before=begin, config=config)
    component = nlp.add_pipe(
        ArcConfidence.factory if rate else ParseCombiner.factory, after=parser, config={"last": parser}
    )
    assert isinstance(component, VotingComponent)
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


def _learn(nlp: Language, component: VotingComponent, examples: list[Example]) -> None:
    component.initialize(lambda: examples, nlp=nlp)
    component.update(examples)


def _show(nlp: Language, component: VotingComponent, examples: list[Example]) -> None:
    """Print the gain on every second document, by weights learned from the others."""
    _learn(nlp, component, examples[::2])
    before = examples[1::2]
    docs = component.pipe(example.predicted.copy() for example in before)
    after = [Example(doc, example.reference) for doc, example in zip(docs, before)]
    if isinstance(component, ArcConfidence):
        print_calibration({"head_prob": calibrate_heads(after)})
        return
    scores = [(component.last, score(before)), ("votes", score(after))]
    rows = [(name, *(percent(found[key]) for key in SCORES.values())) for name, found in scores]
    print_table(("", *SCORES), rows, "Every second sentence, with weights learned from the others")
