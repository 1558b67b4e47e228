"""`hpyp evaluate`: tags, trees and speed on gold tokens and gold sentence boundaries; what is wrong, and how
well that is known.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.training import Example
from wasabi import msg

from ..annotation.calibration import PRECISION, Calibration, calibrate_heads, calibrate_tags
from ..annotation.documents import unannotated
from ..annotation.errors import Confusion, Errors, Found, find_errors
from ..annotation.intervals import count_by_sentence
from ..components.alignment import example_of_tokens
from ..components.corpus import create_gold_corpus, mark_sentence
from ..components.easy_first_tagger import EasyFirstTagger
from ..components.hpyp_parser import HPYPParser
from ..components.parse_combiner import VotingComponent
from ..report.sections import error_tables
from .app import load_pipeline, prepared
from .options import Data, GoldTags, Json, Particles, Punctuation, Threads, argument, option
from .output import percent, print_table, save_json
from .raw_text import read_corpus

_ROWS = {
    "TAG": "tag_acc",
    "UAS": "dep_uas",
    "LAS": "dep_las",
    "SENT P": "sents_p",
    "SENT R": "sents_r",
    "SENT F": "sents_f",
    "MATCH": "complete_match",
}

# What is shown of a sentence on each side of a word that is marked in it.
_WINDOW = 6


def evaluate(
    model: Annotated[str, argument("Name or path of a trained pipeline that parses or tags")],
    data_path: Data,
    *,
    output: Json = None,
    particles: Particles = None,
    algorithm: Annotated[str | None, option("particles or beam, instead of the pipeline's setting")] = None,
    beam: Annotated[
        int | None, option("Beam of easy_first_parser, instead of the pipeline's setting", "-b")
    ] = None,
    decoding: Annotated[str | None, option("best or mbr, instead of the pipeline's setting")] = None,
    temperature: Annotated[
        float | None, option("Temperature, instead of the pipeline's setting", "-T")
    ] = None,
    threads: Threads = None,
    gold_tags: GoldTags = False,
    tags_from: Annotated[
        str | None, option("Give the parser this pipeline's tags; its time does not count")
    ] = None,
    repeat: Annotated[int, option("Parse so many times, and take the speed of the fastest", least=1)] = 1,
    errors: Annotated[bool, option("Print what the parser gets wrong, too")] = False,
    train: Annotated[
        Path | None, option("Training data, for --errors: other words are unknown", exists=True)
    ] = None,
    rows: Annotated[int, option("How many confusions --errors shows", "-n", least=1)] = 15,
    examples: Annotated[int, option("How many examples of each confusion --errors shows", "-e", least=0)] = 1,
    calibration: Annotated[
        bool, option("Print how well probabilities of heads and tags are calibrated, too")
    ] = False,
    bins: Annotated[int, option("How many bins of equal width --calibration has", least=1, most=1000)] = 10,
    punctuation: Punctuation = False,
) -> dict[str, Any]:
    """Evaluate a pipeline on gold tokens and gold sentence boundaries, as parsers are compared in the
    literature.

    For raw documents, whose boundaries the model has to find, use 'spacy evaluate'.

    With --errors: scores by label, tag, length of arc, length of sentence, and for known and unknown words;
    then which labels and tags are confused, with examples: the word in brackets, its predicted and its gold
    head. Arcs of punctuation are left out, tags are not.

    With --calibration: reliability tables of token._.head_prob and token._.tag_prob, first on raw documents,
    whose tokens and sentences the pipeline finds; their expected calibration error, their AUROC, and how many
    of the surest choices are wrong. A head is right whatever its label.
    """
    search = {"particles": particles, "algorithm": algorithm, "beam": beam}
    nlp, found = prepared(
        model, others=True, threads=threads, **search, decoding=decoding, temperature=temperature
    )
    if gold_tags and tags_from is not None:
        raise ValueError("The parser is given either the gold tags or those of a tagger, not both.")
    given = gold_tags or tags_from is not None
    if given and not found:
        raise ValueError(f"Tags can be given to a parser, but the pipeline '{model}' has none.")
    for parser in found if given else ():
        if isinstance(parser, HPYPParser):
            parser.tags = "given"
    gold = read_examples(nlp, data_path, gold_tags=gold_tags, heads=errors)
    if tags_from is not None:
        give_tags(gold, tags_from)
    known = known_words(nlp, train)
    parsers = [name for name, pipe in nlp.pipeline if pipe in found]
    before = nlp.pipe_names[: nlp.pipe_names.index(parsers[-1])] if given else []
    scorer = ParsedScorer(nlp)
    with nlp.select_pipes(disable=[name for name in before if name not in parsers]):
        # What is compiled or read the first time is no part of the speed.
        nlp(gold[0].predicted.copy())
        copies = ([Example(each.predicted.copy(), each.reference) for each in gold] for _ in range(repeat))
        scores = max((nlp.evaluate(copy, scorer=scorer) for copy in copies), key=lambda found: found["speed"])
    words = sum(len(example.predicted) for example in gold)
    scores["sentences_per_second"] = scores["speed"] * len(gold) / words
    shown = {name: percent(scores[key]) for name, key in _ROWS.items() if scores.get(key) is not None}
    if scores.get("token_log_prob") is not None:
        shown["LOG PROB"] = f"{scores['token_log_prob']:.4f}"
    shown |= {"SPEED": f"{scores['speed']:.0f}", "SENTENCES/S": f"{scores['sentences_per_second']:.0f}"}
    msg.table(shown, title="Results (gold sentences)")
    if errors:
        wrong = find_errors(scorer.parsed(model), known=known, punctuation=punctuation, show=examples)
        _print_errors(wrong, rows)
        scores["errors"] = asdict(wrong)
    if calibration:
        calibrated = calibrations(nlp, found, data_path, bins=bins, punctuation=punctuation)
        _print_calibrations(calibrated)
        scores["calibration"] = _figures(calibrated)
    save_json(output, scores, "results")
    return scores


def read_examples(
    nlp: Language, data_path: Path, *, gold_tags: bool = False, heads: bool = False
) -> list[Example]:
    """Read sentences to evaluate a pipeline on, with gold tokens, and perhaps with gold tags for the
    documents to be parsed.

    heads (bool): Whether tags are not enough.
    RETURNS (list[Example]): One sentence in each, at least one.
    RAISES (ValueError): If there is nothing to evaluate or to compare with.
    """
    examples = list(create_gold_corpus(data_path, gold_tags=gold_tags)(nlp))
    if not examples:
        raise ValueError(f"There is nothing to evaluate in '{data_path}'.")
    if not any(
        gold.has_dep() or (gold.tag and not heads) for example in examples for gold in example.reference
    ):
        missing = "head" if heads else "tag or a gold head"
        raise ValueError(f"There is nothing to compare with in '{data_path}': no token has a gold {missing}.")
    return examples


def give_tags(examples: Sequence[Example], model: str | Path) -> None:
    """Give predicted documents, each of them a sentence, the tags that a pipeline finds for their tokens.

    RAISES (ValueError): If it does not tag.
    """
    tagger = load_pipeline(model)
    docs = [unannotated(example.predicted, tagger.vocab) for example in examples]
    for example, tagged in zip(examples, tagger.pipe(map(mark_sentence, docs))):
        if not tagged.has_annotation("TAG"):
            raise ValueError(f"The pipeline '{model}' does not tag: it has {tagger.pipe_names}.")
        for token, found in zip(example.predicted, tagged):
            token.tag_ = found.tag_


class ParsedScorer(Scorer):
    """spaCy's scores, and the part of the sentences whose heads are all right. It keeps what it was given:
    `nlp.evaluate` parses copies.
    """

    examples: Sequence[Example] = ()

    def score(self, examples: Iterable[Example], *, per_component: bool = False) -> dict[str, Any]:
        """Score parsed examples, each of them a sentence."""
        self.examples = list(examples)
        scores = super().score(self.examples, per_component=per_component)
        right, total = (
            count_by_sentence(self.examples).get("complete_match", np.zeros((1, 2))).sum(axis=0).tolist()
        )
        return {**scores, "complete_match": right / total if total else None}

    def parsed(self, name: str | Path) -> Sequence[Example]:
        """What has been scored last, by a pipeline of a name. RAISES (ValueError): If it has no parser."""
        if not any(example.predicted.has_annotation("DEP") for example in self.examples):
            raise ValueError(
                f"The pipeline '{name}' finds no trees: it has no parser. It has {self.nlp.pipe_names}"
            )
        return self.examples


def parse_examples(
    nlp: Language, examples: Sequence[Example], name: str | Path
) -> tuple[dict[str, Any], Sequence[Example]]:
    """Score a pipeline of a name on sentences, one in each example: the scores, and the parsed examples.
    RAISES (ValueError): If it has no parser.
    """
    scorer = ParsedScorer(nlp)
    return nlp.evaluate(examples, scorer=scorer), scorer.parsed(name)


def known_words(nlp: Language, train: Path | None = None) -> Callable[[str], bool] | None:
    """Whether a word is known: one of training data, or else one that the hpyp_parser of a pipeline knows as
    itself. None if nobody knows.

    RAISES (ValueError): If there is no word in the training data.
    """
    if train is None:
        parsers = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, HPYPParser) and pipe.is_trained]
        return frozenset(parsers[0].joint.vocabulary.words).__contains__ if parsers else None
    words = {token.text for example in read_corpus(train, nlp) for token in example.reference}
    if not words:
        raise ValueError(f"There is no word in '{train}'.")
    return words.__contains__


def _print_errors(found: Errors, rows: int) -> None:
    for table in sorted(error_tables(found), key=lambda table: not table.folded):
        shown = table.rows[:rows] if table.folded else table.rows
        cells = [
            [str(cell) if isinstance(cell, int | str) else percent(cell) for cell in row] for row in shown
        ]
        print_table(table.columns, cells, table.title)
    _print_confusions("Confusions of labels", found.label_confusions[:rows], with_heads=True)
    _print_confusions("Wrong heads of right labels", found.wrong_heads[:rows])
    if any(row["predicted"] for row in found.tags):
        _print_confusions("Confusions of tags", found.tag_confusions[:rows])


def _print_confusions(title: str, confusions: list[Confusion], *, with_heads: bool = False) -> None:
    """Print confusions of labels or tags, or labels that are right and whose heads are wrong; perhaps with
    how many heads are right.
    """
    if not confusions:
        return
    msg.divider(title)
    for each in confusions:
        pair = each.gold if each.gold == each.predicted else f"{each.gold} → {each.predicted}"
        heads = f", {each.right_heads} of them with the right head" if with_heads else ""
        print(f"{each.count:6}  {pair}{heads}")
        for found in each.examples:
            print(f"        {_marked(found)}")
            if found.gold_label:
                gold, predicted = _head(found, found.gold_head), _head(found, found.predicted_head)
                print(
                    f"        head: {gold}" if gold == predicted else f"        head: {gold}, not {predicted}"
                )


def _marked(found: Found) -> str:
    start, end = max(0, found.word - _WINDOW), found.word + _WINDOW + 1
    words = [f"[{word}]" if i == found.word else word for i, word in enumerate(found.words)][start:end]
    return " ".join([*["…"][: start > 0], *words, *["…"][: end < len(found.words)]])


def _head(found: Found, place: int | None) -> str:
    """A head by its form and, as a form may be there twice, its number in the sentence."""
    return "ROOT" if place is None else f"{found.words[place]} ({place + 1})"


def calibrations(
    nlp: Language, parsers: Sequence[Any], data_path: Path, *, bins: int, punctuation: bool
) -> dict[str, dict[str, Calibration]]:
    """Measure how well the probabilities of heads and tags are calibrated.

    punctuation (bool): Whether the heads of punctuation count.
    RETURNS (dict[str, dict[str, Calibration]]): Of "heads" and "tags", on "raw documents", and on "gold
        sentences" with gold tokens.
    RAISES (ValueError): If there is no parser of this package, or nothing to parse or to compare with.
    """
    if not parsers:
        raise ValueError(
            f"Parsers of this package say how sure they are, but the pipeline has {nlp.pipe_names}."
        )
    generative = [parser for parser in parsers if isinstance(parser, HPYPParser)]
    for parser in generative:
        parser.marginals = True
    # Only a generative parser that finds tags says how sure of them it is, and not where a tagger comes after
    # it.
    others = any(isinstance(pipe, EasyFirstTagger | VotingComponent) for _, pipe in nlp.pipeline)
    raw = list(map(example_of_tokens, read_corpus(data_path, nlp)))
    read = {"raw documents": raw, "gold sentences": list(create_gold_corpus(data_path)(nlp))}
    found = {}
    for text, examples in read.items():
        if not examples:
            raise ValueError(f"There is nothing to parse in '{data_path}'.")
        for example, doc in zip(examples, nlp.pipe(example.predicted for example in examples)):
            example.predicted = doc
        heads = calibrate_heads(examples, bins, punctuation=punctuation)
        tags = calibrate_tags(examples, bins)
        if not heads.tokens.any() or not (tags.tokens.any() or others or not generative):
            missing = "tag" if heads.tokens.any() else "head"
            raise ValueError(
                f"There is nothing to compare with in '{data_path}': no token has a gold {missing}."
            )
        found[text] = {"heads": heads, "tags": tags}
    return found


def _figures(found: Mapping[str, Mapping[str, Calibration]]) -> dict[str, Any]:
    raw, gold = ({name: each.to_dict() for name, each in own.items()} for own in found.values())
    return {**gold, "raw": raw}


def _print_calibrations(found: Mapping[str, Mapping[str, Calibration]]) -> None:
    for text, own in found.items():
        for name, each in own.items():
            if each.tokens.any() or name == "heads":
                _print_calibration(f"{name[:-1]}_prob, {text}", each)


def _print_calibration(name: str, found: Calibration) -> None:
    table = found.to_dict()
    rows = [
        (
            f"{row['from']:.2f}-{row['to']:.2f}",
            row["tokens"],
            f"{row['confidence']:.4f}",
            f"{row['accuracy']:.4f}",
        )
        for row in table["bins"]
    ]
    footer = ("all", table["tokens"], f"{table['confidence']:.4f}", f"{table['accuracy']:.4f}")
    header = (name, "tokens", "confidence", "accuracy")
    print_table(header, rows, f"Reliability of {name}", footer=footer)
    print_figures(found)
    surest = [
        (f"{row['part']:.0%}", f"{row['confidence']:.4f}", f"{row['risk']:.4f}") for row in table["coverage"]
    ]
    print_table(("surest", "confidence from", "wrong"), surest, f"Risk and coverage of {name}", left=0)


def print_figures(found: Calibration) -> None:
    """Print what a reliability table says in three numbers."""
    msg.text(f"Expected calibration error: {found.error:.4f}")
    msg.text(f"AUROC: {found.auroc:.4f}")
    if isnan(found.threshold):
        msg.text(f"Precision {PRECISION:.0%}: with no threshold")
    else:
        msg.text(f"Precision {PRECISION:.0%}: from {found.threshold:.4f} on, which {found.above:.1%} have")
