"""`hpyp evaluate`: scores and speed on gold tokens and sentences, errors, and calibration."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from spacy.cli._util import parse_config_overrides
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.training import Example
from wasabi import msg

from ..annotation.calibration import PUNCTUATION, Calibration, calibrate_heads, calibrate_tags
from ..annotation.documents import unannotated, words_in_trees
from ..annotation.errors import Errors, find_errors
from ..pipeline.alignment import example_of_tokens
from ..pipeline.corpus import create_gold_corpus, mark_sentence
from ..pipeline.hpyp_parser import HPYPParser
from ..pipeline.scorer import score
from .app import (
    SCORES,
    Data,
    Json,
    Particles,
    Threads,
    argument,
    load_pipeline,
    option,
    parsers_of,
    percent,
    print_table,
    save_json,
)
from .raw_text import read_corpus
from .udeval import warn_of_few

_ROWS = {
    "TAG": "tag_acc",
    "UAS": "dep_uas",
    "LAS": "dep_las",
    "SENT P": "sents_p",
    "SENT R": "sents_r",
    "SENT F": "sents_f",
    "MATCH": "complete_match",
}
# The rows of a table of errors, and the confusions, that are printed.
_SHOWN = 15


def evaluate(
    ctx: typer.Context,
    model: Annotated[str, argument("Name or path of a trained pipeline")],
    data_path: Data,
    *,
    output: Json = None,
    particles: Particles = None,
    threads: Threads = None,
    gold_tags: Annotated[bool, option("Give the gold tags to the parser")] = False,
    tags_from: Annotated[str | None, option("Give the parser the tags of this pipeline")] = None,
    errors: Annotated[bool, option("Print tables of errors and confusions")] = False,
    calibration: Annotated[bool, option("Print how well probabilities are calibrated")] = False,
) -> dict[str, Any]:
    """Evaluate a pipeline on gold tokens and gold sentence boundaries.

    Settings of its config can be overridden (--components.hpyp_parser.decoding mbr). For raw
    documents use 'spacy evaluate'. --errors prints scores by label, length of arc, and for known
    words; then confusions with examples. --calibration prints how well token._.head_prob and
    token._.tag_prob are calibrated, on raw documents and on gold sentences; the JSON has
    reliability tables.
    """
    overrides = parse_config_overrides(ctx.args)
    nlp = load_pipeline(model, threads=threads, particles=particles, overrides=overrides)
    if gold_tags and tags_from is not None:
        raise ValueError("Give either --gold-tags or --tags-from, not both.")
    assigns = {name: nlp.get_pipe_meta(name).assigns for name in nlp.pipe_names}
    if not any({"token.dep", "token.tag"} & {*names} for names in assigns.values()):
        raise ValueError(f"'{model}' should have a parser or tagger, but it has {nlp.pipe_names}.")
    taggers: list[str] = []
    if gold_tags or tags_from is not None:
        taggers = [
            name
            for name, names in assigns.items()
            if "token.tag" in names and "token.dep" not in names
        ]
        for parser in parsers_of(nlp):
            parser.predict_tags = False
    gold = read_examples(nlp, data_path, gold_tags=gold_tags, heads=errors)
    if tags_from is not None:
        give_tags(gold, tags_from)
    known = known_words(nlp)
    with nlp.select_pipes(disable=taggers):
        # The first parse compiles and reads, which is no part of the speed.
        nlp(gold[0].predicted.copy())
        scores, parsed = parse_examples(nlp, gold)
    words = sum(len(example.predicted) for example in gold)
    scores["sentences_per_second"] = scores["speed"] * len(gold) / words
    shown = {
        name: percent(scores[key]) for name, key in _ROWS.items() if scores.get(key) is not None
    }
    if scores.get("token_log_prob") is not None:
        shown["LOG PROB"] = f"{scores['token_log_prob']:.4f}"
    shown |= {
        "SPEED": f"{scores['speed']:.0f}",
        "SENTENCES/S": f"{scores['sentences_per_second']:.0f}",
    }
    msg.table(shown, title="Results (gold sentences)")
    if errors:
        wrong = find_errors(parsed, known=known)
        _print_errors(wrong)
        confusions = {
            name: [own._asdict() for own in each] for name, each in wrong.confusions.items()
        }
        scores["errors"] = {**wrong.tables, **confusions}
    if calibration:
        scores["calibration"] = _calibrations(nlp, data_path)
    save_json(output, scores, "results")
    return scores


def read_examples(
    nlp: Language, data_path: Path, *, gold_tags: bool = False, heads: bool = False
) -> list[Example]:
    """Read sentences to evaluate a pipeline on, one in each example, with gold tokens.

    gold_tags (bool): Whether the documents to parse have gold tags.
    heads (bool): Whether gold heads are needed.
    RAISES (ValueError): If there is nothing to evaluate or to compare with.
    """
    examples = list(create_gold_corpus(data_path, gold_tags=gold_tags)(nlp))
    if not examples:
        raise ValueError(f"There is nothing to evaluate in '{data_path}'.")
    gold = (token for example in examples for token in example.reference)
    if not any(token.has_dep() or (token.tag and not heads) for token in gold):
        missing = "head" if heads else "tag or a gold head"
        raise ValueError(
            f"There is nothing to compare with in '{data_path}': no token has a gold {missing}."
        )
    return examples


def give_tags(examples: Sequence[Example], model: str | Path) -> None:
    """Give the sentences to parse the tags of another pipeline. RAISES (ValueError): If it does not
    tag.
    """
    tagger = load_pipeline(model)
    docs = [unannotated(example.predicted, tagger.vocab) for example in examples]
    for example, tagged in zip(examples, tagger.pipe(map(mark_sentence, docs))):
        if not tagged.has_annotation("TAG"):
            raise ValueError(f"The pipeline '{model}' does not tag: it has {tagger.pipe_names}.")
        for token, found in zip(example.predicted, tagged):
            token.tag_ = found.tag_


def parse_examples(
    nlp: Language, examples: Sequence[Example]
) -> tuple[dict[str, Any], list[Example]]:
    """Return the scores of a pipeline on some sentences, "complete_match" and "speed" too, and
    these parsed.
    """
    start = perf_counter()
    docs = list(nlp.pipe(example.predicted.copy() for example in examples))
    seconds = perf_counter() - start
    parsed = [Example(doc, example.reference) for doc, example in zip(docs, examples)]
    scores = {**Scorer(nlp).score(parsed), "speed": sum(map(len, docs)) / seconds}
    # Whatever scorer a component has, sentences without a tree are left out.
    trees = score(parsed) if scores.get("dep_uas") is not None else {}
    scores |= {
        name: value for name, value in trees.items() if name.startswith(("dep_", "sents_without"))
    }
    heads = [_right_heads(example) for example in parsed if words_in_trees(example.reference).any()]
    if any(count for _, count in heads):
        warn_of_few(heads, "UAS")
    matches = [right == count for right, count in heads]
    return {**scores, "complete_match": sum(matches) / len(matches) if matches else None}, parsed


def _right_heads(example: Example) -> tuple[int, int]:
    """Return the number of right heads and of all, without punctuation."""
    right = [
        token.head.i == gold.head.i
        for token, gold in zip(example.predicted, example.reference)
        if not token.is_space and gold.dep_.lower() not in PUNCTUATION
    ]
    return sum(right), len(right)


def known_words(nlp: Language) -> Callable[[str], bool] | None:
    """Return whether the vocabulary of the first hpyp_parser has a word, if there is one."""
    parsers = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, HPYPParser) and pipe.is_trained]
    return frozenset(parsers[0].joint.vocabulary.words).__contains__ if parsers else None


def _print_errors(found: Errors) -> None:
    for title, rows in found.tables.items():
        cells = [
            (*list(row.values())[:2], *map(percent, list(row.values())[2:]))
            for row in rows[:_SHOWN]
        ]
        print_table(("", "tokens", *SCORES), cells, title)
    for title, confusions in found.confusions.items():
        msg.divider(title)
        for each in confusions[:_SHOWN]:
            print(f"{each.count:6}  {each.gold} → {each.predicted}\n        {each.example}")


def _calibrations(nlp: Language, data_path: Path) -> dict[str, Any]:
    """Print how well the probabilities of heads and tags are calibrated, and return the figures."""
    for parser in parsers_of(nlp):
        parser.decoding = "mbr"
    raw = list(map(example_of_tokens, read_corpus(data_path, nlp)))
    gold = list(create_gold_corpus(data_path)(nlp))
    found: dict[str, Calibration] = {}
    for text, examples in (("raw documents", raw), ("gold sentences", gold)):
        for example, doc in zip(examples, nlp.pipe(example.predicted for example in examples)):
            example.predicted = doc
        found[f"head_prob, {text}"] = calibrate_heads(examples)
        found[f"tag_prob, {text}"] = calibrate_tags(examples)
    if not found["head_prob, gold sentences"].tokens.any():
        raise ValueError(
            f"Calibration needs gold heads in '{data_path}', and a parser of this package."
        )
    print_calibration(found)
    raw_heads, raw_tags, heads, tags = (each.to_dict() for each in found.values())
    return {"heads": heads, "tags": tags, "raw": {"heads": raw_heads, "tags": raw_tags}}


def print_calibration(found: Mapping[str, Calibration]) -> None:
    """Print how well some probabilities are calibrated."""
    rows = [
        (name, each.tokens.sum(), *map(percent, each[3:5]), *(f"{value:.4f}" for value in each[5:]))
        for name, each in found.items()
        if each.tokens.any()
    ]
    print_table(("", "tokens", "confidence", "accuracy", "ECE", "AUROC"), rows, "Calibration")
