"""`hpyp evaluate`: scores and speed on gold tokens and sentences, errors, and calibration."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.training import Example
from wasabi import msg

from ..annotation.encoding import words_in_trees
from ..annotation.sentences import PUNCTUATION
from ..pipeline.alignment import example_of_tokens, unannotated
from ..pipeline.corpus import create_conllu_corpus, create_gold_corpus, mark_sentence
from ..pipeline.scorer import score
from ..spacy_internals import parse_config_overrides
from .analysis import Tables, calibrations, find_errors
from .app import SCORES, load_pipeline, parsers_of, percent, print_table, save_json
from .options import AnyPipeline, Data, Json, Threads, option
from .udeval import warn_of_few

#: Names of scores in the table of a pipeline.
ROWS = {"TAG": "tag_acc", "UAS": "dep_uas", "LAS": "dep_las", "MATCH": "complete_match"}
# The number of rows of a table of errors, and of confusions, to print.
_SHOWN = 15


def evaluate(
    ctx: typer.Context,
    model: AnyPipeline,
    data_path: Data,
    *,
    output: Json = None,
    threads: Threads = None,
    gold_tags: Annotated[bool, option("Give the parser gold tags")] = False,
    tags_from: Annotated[str | None, option("Give the parser the tags of this pipeline")] = None,
    errors: Annotated[bool, option("Print tables of errors and confusions")] = False,
    calibration: Annotated[bool, option("Print the calibration of probabilities")] = False,
) -> None:
    """Evaluate a pipeline on gold tokens and gold sentence boundaries.

    Override settings of the config with options (--components.hpyp_parser.decoding mbr). For raw
    documents, use 'spacy evaluate'. --errors prints scores by arc label and arc length, then
    confusions with examples. --calibration prints the calibration of token._.head_prob and
    token._.tag_prob, on raw documents and on gold sentences; the JSON has reliability tables.
    """
    overrides = parse_config_overrides(ctx.args)
    nlp = load_pipeline(model, threads=threads, overrides=overrides)
    assigns = {name: set(nlp.get_pipe_meta(name).assigns) for name in nlp.pipe_names}
    if not any({"token.dep", "token.tag"} & names for names in assigns.values()):
        raise ValueError(f"'{model}' should have a parser or tagger, but it has {nlp.pipe_names}.")
    if gold_tags and tags_from is not None:
        raise ValueError("Give either --gold-tags or --tags-from, not both.")
    if calibration and (gold_tags or tags_from is not None):
        raise ValueError("--calibration needs predicted tags. Omit --gold-tags and --tags-from.")
    gold = read_examples(nlp, data_path, gold_tags=gold_tags, heads=errors)
    taggers: list[str] = []
    if gold_tags or tags_from is not None:
        taggers = [
            name for name, own in assigns.items() if "token.tag" in own and "token.dep" not in own
        ]
        for parser in parsers_of(nlp):
            parser.predict_tags = False
    if tags_from is not None:
        give_tags(gold, tags_from)
    with nlp.select_pipes(disable=taggers):
        # The first parse compiles and reads code, which does not count.
        nlp(gold[0].predicted.copy())
        scores, parsed = parse_examples(nlp, gold)
    shown = {
        name: percent(scores[key]) for name, key in ROWS.items() if scores.get(key) is not None
    }
    if scores.get("token_log_prob") is not None:
        shown["LOG PROB"] = f"{scores['token_log_prob']:.4f}"
    shown["SPEED"] = f"{scores['speed']:.0f}"
    shown["SENTENCES/S"] = f"{scores['sentences_per_second']:.0f}"
    msg.table(shown, title="Results (gold sentences)")
    if errors:
        tables, confusions = find_errors(parsed)
        _print_errors(tables, confusions)
        scores["errors"] = {**tables, **confusions}
    if calibration:
        scores["calibration"] = _calibrations(nlp, data_path)
    save_json(output, scores, "results")


def read_examples(
    nlp: Language, data_path: Path, *, gold_tags: bool = False, heads: bool = False
) -> list[Example]:
    """Read sentences to evaluate a pipeline on, one in each example, with gold tokens, and perhaps
    with gold tags to parse with.

    RAISES (ValueError): If a file is damaged, or has nothing to evaluate or to compare with. If
        `heads`, gold tags are not enough.
    """
    examples = list(create_gold_corpus(data_path, gold_tags=gold_tags)(nlp))
    if not examples:
        raise ValueError(f"There is nothing to evaluate in '{data_path}'.")
    gold = (token for example in examples for token in example.reference)
    if not any(token.has_dep() or (token.tag and not heads) for token in gold):
        missing = "head" if heads else "tag or a gold head"
        raise ValueError(f"No token of '{data_path}' has a gold {missing} to compare with.")
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
    """Return scores with "complete_match" and "speed" (tokens per second), and the parses."""
    start = perf_counter()
    docs = list(nlp.pipe(example.predicted.copy() for example in examples))
    seconds = perf_counter() - start
    parsed = [Example(doc, example.reference) for doc, example in zip(docs, examples)]
    scores = Scorer(nlp).score(parsed)
    # Leave out sentences without a tree, for any scorer.
    trees = score(parsed) if scores.get("dep_uas") is not None else {}
    scores |= {name: trees[name] for name in trees if name.startswith(("dep_", "sents_without"))}
    heads = [_right_heads(example) for example in parsed if words_in_trees(example.reference).any()]
    if any(count for _, count in heads):
        warn_of_few(heads, "UAS")
    matches = [right == count for right, count in heads]
    scores["complete_match"] = sum(matches) / len(matches) if matches else None
    scores["speed"] = sum(map(len, docs)) / seconds
    scores["sentences_per_second"] = len(docs) / seconds
    return scores, parsed


def _right_heads(example: Example) -> tuple[int, int]:
    """Return the number of right heads and of all, without punctuation."""
    right = [
        token.head.i == gold.head.i
        for token, gold in zip(example.predicted, example.reference)
        if not token.is_space and gold.dep_.lower() not in PUNCTUATION
    ]
    return sum(right), len(right)


def _print_errors(tables: Tables, confusions: Tables) -> None:
    for title, rows in tables.items():
        cells = [
            (row["name"], row["tokens"], *map(percent, [*row.values()][2:]))
            for row in rows[:_SHOWN]
        ]
        print_table(("", "tokens", *SCORES), cells, title)
    for title, rows in confusions.items():
        msg.divider(title)
        for row in rows[:_SHOWN]:
            print(f"{row['count']:6}  {row['gold']} → {row['predicted']}\n        {row['example']}")


def _calibrations(nlp: Language, data_path: Path) -> dict[str, Any]:
    """Print how well the probabilities of heads and tags are calibrated, and return the figures."""
    for parser in parsers_of(nlp):
        parser.decoding = "mbr"
    examples_by_text = {
        "raw documents": map(example_of_tokens, create_conllu_corpus(data_path)(nlp)),
        "gold sentences": create_gold_corpus(data_path)(nlp),
    }
    found = {}
    for text, examples in examples_by_text.items():
        gold = list(examples)
        docs = nlp.pipe(example.predicted for example in gold)
        parsed = [Example(doc, example.reference) for doc, example in zip(docs, gold)]
        found[text] = calibrations(parsed)
    tables = {f"{kind}, {text}": own[kind] for text, own in found.items() for kind in own}
    if not any(table["tokens"] for table in tables.values()):
        raise ValueError(
            f"Calibration needs gold heads or tags in '{data_path}', and a component that writes "
            "token._.head_prob or token._.tag_prob. Use one of this package."
        )
    print_calibration(tables)
    return {**found["gold sentences"], "raw": found["raw documents"]}


def print_calibration(tables: Mapping[str, dict[str, Any]]) -> None:
    """Print tables of `calibrate` by their names; those without tokens are left out."""
    rows = []
    for name, table in tables.items():
        ece, auroc = table["expected_calibration_error"], table["auroc"]
        if table["tokens"]:
            figures = [percent(table["confidence"]), percent(table["accuracy"]), f"{ece:.4f}"]
            rows.append((name, table["tokens"], *figures, "-" if auroc is None else f"{auroc:.4f}"))
    print_table(("", "tokens", "confidence", "accuracy", "ECE", "AUROC"), rows, "Calibration")
