"""`hpyp evaluate`: tags, trees and speed on gold tokens and gold sentence boundaries."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import srsly
import typer
from spacy.language import Language
from spacy.pipeline import DependencyParser, Tagger
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from ..annotation.calibration import PUNCTUATION
from ..components.corpus import create_gold_corpus, mark_sentence
from ..components.easy_first_parser import EasyFirstParser
from ..components.easy_first_tagger import EasyFirstTagger
from ..components.head_outward_parser import HeadOutwardParser
from ..components.hpyp_parser import HPYPParser
from ..components.parse_combiner import ParseCombiner
from ..storage.files import prepare_folder, replace_file
from .app import MOST, Parsers, hpyp, load_pipeline, parsers_of, set_threads

OWN = HPYPParser, EasyFirstParser, HeadOutwardParser, ParseCombiner
OTHERS = DependencyParser, Tagger, EasyFirstTagger

_ROWS = {
    "TAG": "tag_acc",
    "UAS": "dep_uas",
    "LAS": "dep_las",
    "SENT P": "sents_p",
    "SENT R": "sents_r",
    "SENT F": "sents_f",
    "MATCH": "complete_match",
}


@hpyp.command("evaluate")
def evaluate_cli(
    model: str = typer.Argument(..., help="Name or path of a trained pipeline that parses or tags"),
    data_path: Path = typer.Argument(..., help="Evaluation data in .spacy format", exists=True),
    output: Path | None = typer.Option(None, "--output", "-o", help="JSON file for the metrics", dir_okay=False),
    particles: int | None = typer.Option(
        None, "--particles", "-K", help="Particles, instead of the pipeline's setting"
    ),
    algorithm: str | None = typer.Option(
        None,
        "--algorithm",
        help="particles or beam, which keeps -K derivations after each word, instead of the pipeline's setting",
    ),
    beam: int | None = typer.Option(
        None, "--beam", "-b", help="Beam width of easy_first_parser, instead of the pipeline's setting"
    ),
    threads: int | None = typer.Option(None, "--threads", "-t", help="Threads, instead of the pipeline's setting"),
    gold_tags: bool = typer.Option(False, "--gold-tags", help="Give the gold tags to the parser"),
    tags_from: str | None = typer.Option(
        None, "--tags-from", help="Give the parser the tags of this pipeline's tagger; its time is not measured"
    ),
    decoding: str | None = typer.Option(None, "--decoding", help="best or mbr, instead of the pipeline's setting"),
    repeat: int = typer.Option(
        1, "--repeat", min=1, max=MOST, help="Parse so many times, and take the speed of the fastest"
    ),
) -> None:
    """Evaluate a pipeline on gold tokens and gold sentence boundaries, as parsers are compared in the literature.

    For raw documents, whose boundaries the model has to find, use 'spacy evaluate'.
    """
    if output is not None:
        prepare_folder(output.parent)
    scores = evaluate(
        model,
        data_path,
        particles=particles,
        algorithm=algorithm,
        beam=beam,
        threads=threads,
        gold_tags=gold_tags,
        tags_from=tags_from,
        decoding=decoding,
        repeat=repeat,
    )
    rows = {name: f"{100 * scores[key]:.2f}" for name, key in _ROWS.items() if scores.get(key) is not None}
    if scores.get("token_log_prob") is not None:
        rows["LOG PROB"] = f"{scores['token_log_prob']:.4f}"
    rows["SPEED"] = f"{scores['speed']:.0f}"
    rows["SENTENCES/S"] = f"{scores['sentences_per_second']:.0f}"
    msg.table(rows, title="Results (gold sentences)")
    if output is not None:
        replace_file(output, srsly.json_dumps(scores, indent=2).encode())
        msg.good(f"Saved results to {output}")


def evaluate(
    model: str | Path,
    data_path: Path,
    *,
    particles: int | None = None,
    algorithm: str | None = None,
    beam: int | None = None,
    threads: int | None = None,
    gold_tags: bool = False,
    tags_from: str | Path | None = None,
    decoding: str | None = None,
    repeat: int = 1,
) -> dict[str, Any]:
    """Evaluate a pipeline on gold tokens and gold sentence boundaries.

    model (str | Path): Name or path of the pipeline.
    data_path (Path): A .spacy file or a directory of them.
    particles, beam, threads (int | None): Instead of the pipeline's settings.
    algorithm (str | None): "particles" or "beam", instead of the pipeline's setting.
    gold_tags (bool): Whether the parsers use the gold tags; no other component comes before them then.
    tags_from (str | Path | None): Name or path of a pipeline whose tags they use instead, in the same way.
    decoding (str | None): "best" or "mbr", instead of the pipeline's setting.
    repeat (int): How many times to parse, at least 1; the speed is that of the fastest, as other processes only slow it down.
    RETURNS (dict[str, Any]): The scores of `nlp.evaluate`, "sentences_per_second" beside its "speed", in words, and "complete_match",
        the part of the sentences whose heads are all right, punctuation left out.
    RAISES (ValueError): If there is no parser, nothing to evaluate or to compare with, or a setting is out of its range or of
        a component that is not there.
    """
    nlp = load_pipeline(model)
    # spaCy's own parser, and a tagger by itself, can be evaluated in the same way, but have no settings of ours.
    others = any(isinstance(pipe, OTHERS) for _, pipe in nlp.pipeline)
    own = any(isinstance(pipe, OWN) for _, pipe in nlp.pipeline)
    found = Parsers([], [], [], []) if others and not own else parsers_of(nlp, model)
    for name, value, parsers, owner in (
        ("particles", particles, found.hpyp, "hpyp_parser"),
        ("algorithm", algorithm, found.hpyp, "hpyp_parser"),
        ("decoding", decoding, [*found.hpyp, *found.head_outward], "hpyp_parser and head_outward_parser"),
        ("beam", beam, found.easy_first, "easy_first_parser"),
    ):
        if value is not None and not parsers:
            raise ValueError(f"'{name}' is a setting of {owner}, which the pipeline '{model}' does not have.")
        for parser in parsers:
            parser.change(**({} if value is None else {name: value}))
    set_threads(nlp, threads)
    if gold_tags and tags_from is not None:
        raise ValueError("The parser is given either the gold tags or those of a tagger, not both.")
    given = gold_tags or tags_from is not None
    if given and not any(found):
        raise ValueError(f"Tags can be given to a parser, but the pipeline '{model}' has none.")
    for parser in found.hpyp:
        parser.tags = "given" if given else parser.tags
    examples = read_examples(nlp, data_path, gold_tags=gold_tags)
    if tags_from is not None:
        give_tags(examples, tags_from)
    parsers = [name for name, pipe in nlp.pipeline if any(pipe in kind for kind in found)]
    before = nlp.pipe_names[: nlp.pipe_names.index(parsers[-1])] if given else []
    with nlp.select_pipes(disable=[name for name in before if name not in parsers]):
        # What is compiled or read the first time is no part of the speed.
        nlp(examples[0].predicted.copy())
        copies = ([Example(each.predicted.copy(), each.reference) for each in examples] for _ in range(repeat))
        scores = max((nlp.evaluate(copy, scorer=MatchScorer(nlp)) for copy in copies), key=lambda found: found["speed"])
    words = sum(len(example.predicted) for example in examples)
    return {**scores, "sentences_per_second": scores["speed"] * len(examples) / words}


def read_examples(nlp: Language, data_path: Path, *, gold_tags: bool = False) -> list[Example]:
    """Read sentences to evaluate a pipeline on, with gold tokens.

    nlp (Language): The pipeline.
    data_path (Path): A .spacy file or a directory of them.
    gold_tags (bool): Whether the documents to be parsed have the gold tags.
    RETURNS (list[Example]): One sentence in each, at least one.
    RAISES (ValueError): If there is nothing to evaluate or to compare with.
    """
    examples = list(create_gold_corpus(data_path, gold_tags=gold_tags)(nlp))
    if not examples:
        raise ValueError(f"There is nothing to evaluate in '{data_path}'.")
    if not any(gold.tag or gold.has_dep() for example in examples for gold in example.reference):
        raise ValueError(f"There is nothing to compare with in '{data_path}': no token has a gold tag or a gold head.")
    return examples


def give_tags(examples: Sequence[Example], model: str | Path) -> None:
    """Give predicted documents, each of them a sentence, the tags that a pipeline finds for their tokens.

    examples (Sequence[Example]): Their predicted documents are changed.
    model (str | Path): Name or path of the pipeline.
    RAISES (ValueError): If it does not tag.
    """
    tagger = load_pipeline(model)
    docs = [
        Doc(tagger.vocab, words=[token.text for token in doc], spaces=[bool(token.whitespace_) for token in doc])
        for doc in (example.predicted for example in examples)
    ]
    for example, tagged in zip(examples, tagger.pipe(map(mark_sentence, docs))):
        if not tagged.has_annotation("TAG"):
            raise ValueError(f"The pipeline '{model}' does not tag: it has {tagger.pipe_names}.")
        for token, found in zip(example.predicted, tagged):
            token.tag_ = found.tag_


class MatchScorer(Scorer):
    """spaCy's scores, and the part of the sentences whose heads are all right."""

    def score(self, examples: Iterable[Example], *, per_component: bool = False) -> dict[str, Any]:
        """Score parsed examples, each of them a sentence."""
        examples = list(examples)
        return {**super().score(examples, per_component=per_component), "complete_match": _complete_match(examples)}


def _complete_match(examples: Sequence[Example]) -> float | None:
    """The part of the examples, each of them a sentence with a gold tree, whose heads are all right."""
    right = total = 0
    for example in examples:
        heads, labels = example.get_aligned_parse(projectivize=False)
        if None in heads:
            continue
        total += 1
        right += all(
            label.lower() in PUNCTUATION or token.head.i == head
            for token, head, label in zip(example.predicted, heads, labels)
        )
    return right / total if total else None
