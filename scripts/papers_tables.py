"""The tables of the four papers: the published figures, and beside them the figures of a treebank.

    python scripts/papers_tables.py metrics/UD_English-EWT-papers

reads what `scripts/papers_runs.py` has written to the folder, one JSON file a table, and writes
`papers.md` there. A row names the run that its figures come from, see `papers_runs.py`.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wasabi import MarkdownRenderer

#: Key, factor and digits of each column's figure in the output of a run.
COLUMNS = {
    "UAS": ("dep_uas", 100, 2),
    "LAS": ("dep_las", 100, 2),
    "TAG": ("tag_acc", 100, 2),
    "match": ("complete_match", 100, 2),
    "sentences/s": ("sentences_per_second", 1, 0),
    "perplexity": ("perplexity", 1, 2),
    "bits": ("bits", 1, 2),
    "accuracy": ("accuracy", 100, 2),
    "fewer errors": ("errors_fewer", 100, 2),
    "nats a word": ("token_log_prob", 1, 3),
    "oracle best": ("oracle_best", 100, 2),
    "oracle worst": ("oracle_worst", 100, 2),
    "reranked": ("generative", 100, 2),
    "with learned weights": ("reranked_uas", 100, 2),
}


class Row(NamedTuple):
    """A row of a table.

    published (Sequence[float | None]): The paper's figures, by column.
    run (str | None): The run that has ours; none for parsers that are not part of this project.
    pick (dict[str, Any]): In an output of several records, the values of the right one.
    """

    name: str
    published: Sequence[float | None] = ()
    run: str | None = None
    pick: dict[str, Any] | None = None


class Sample(NamedTuple):
    """Lines of text or words that a model finds, beside those of the paper."""

    name: str
    run: str
    published: Sequence[str]
    pick: dict[str, Any] | None = None


class Table(NamedTuple):
    """A table of a paper."""

    title: str
    paper: str
    columns: Sequence[str] = ()
    rows: Sequence[Row] = ()
    note: str = ""
    samples: Sequence[Sample] = ()


BUYS = "Buys & Blunsom (2015)"
WALLACH = "Wallach, Sutton & McCallum (2008)"


def _estimator(prior: str, counts: str, hyperparameters: str) -> dict[str, str]:
    return {"prior": prior, "counts": counts, "hyperparameters": hyperparameters}


_BEST_ESTIMATOR = _estimator("pitman-yor", "sampled", "sampled")
_ESTIMATORS = [
    Row("Eisner", run="estimators", pick={"prior": "eisner"}),
    *(
        Row(
            f"{name}, {counts} counts, {hyperparameters} hyperparameters",
            (None, 26.0)
            if (pick := _estimator(prior, counts, hyperparameters)) == _BEST_ESTIMATOR
            else (),
            "estimators",
            pick,
        )
        for name, prior in (("Dirichlet", "dirichlet"), ("Pitman-Yor", "pitman-yor"))
        for counts in ("minimal", "sampled")
        for hyperparameters in ("fixed", "sampled")
    ),
]
#: Best and worst of k trees, and the chosen one.
_RERANKED = {
    1: (92.58, 92.58, 92.58),
    2: (94.22, 88.66, 92.89),
    3: (95.05, 87.04, 93.02),
    4: (95.51, 85.82, 93.02),
    5: (95.78, 84.96, 93.02),
    6: (96.02, 84.2, 93.06),
    7: (96.23, 83.62, 93.09),
    8: (96.4, 83.06, 93.02),
    9: (96.54, 82.57, 92.97),
    10: (96.64, 82.21, 92.96),
    100: (98.48, 73.3, 92.32),
    1000: (99.34, 64.86, 91.47),
}

TABLES = {
    "000-table-2": Table(
        "Lexicalised and unlexicalised models",
        f"{BUYS}, Table 2",
        ("UAS", "LAS", "TAG"),
        [
            Row("MaltParser, unlexicalised", (85.23, 82.8)),
            Row("MaltParser, lexicalised", (89.17, 87.81)),
            Row("Unlexicalised", (85.64, 82.93), "unlexicalised_dev"),
            Row("Lexicalised, unlexicalised context", (87.95, 85.04), "context_5_dev"),
            Row("Lexicalised, tagger's tags", (87.84, 85.54, 95.9), "tagged_1000"),
            Row("Lexicalised, predicted tags", (89.09, 86.78, 95.6), "joint_1000"),
            Row("Lexicalised, gold tags", (89.3, 87.28), "gold_tags_dev"),
        ],
        "Our tagger is `easy_first_tagger`. Published figures of predicted tags are those with sampled "
        "derivations.",
    ),
    "000-table-3": Table(
        "Context elements, one by one",
        f"{BUYS}, Table 3",
        ("UAS", "LAS"),
        [
            Row("s1.tag, s2.tag", (73.25, 70.14), "context_1_dev"),
            Row("+ s1.right.tag", (80.21, 76.64), "context_2_dev"),
            Row("+ s1.left.tag", (85.18, 82.03), "context_3_dev"),
            Row("+ s3.tag", (87.23, 84.26), "context_4_dev"),
            Row("+ s2.right.tag", (87.95, 85.04), "context_5_dev"),
            Row("+ s1.word", (88.53, 86.11), "context_6_dev"),
            Row("+ s2.word", (88.93, 86.57), "joint_1000"),
        ],
        "Elements of transitions and tags; words have those of their own list among them.",
    ),
    "000-table-4": Table(
        "Speed and accuracy",
        f"{BUYS}, Table 4",
        ("sentences/s", "UAS", "nats a word"),
        [
            Row("K = 5,000, predicted tags", (18, 89.04), "joint_5000"),
            Row("K = 1,000, predicted tags", (27, 88.93), "joint_1000"),
            Row("K = 100, predicted tags", (54, 87.99), "joint_100"),
            Row("K = 10, predicted tags", (104, 85.27), "joint_10"),
            Row("Beam of 100, predicted tags", (3,), "joint_beam_100"),
            Row("Beam of 10, predicted tags", (), "joint_beam_10"),
            Row("K = 5,000, tagger's tags", (), "tagged_5000"),
            Row("K = 1,000, tagger's tags", (108, 87.59), "tagged_1000"),
            Row("K = 100, tagger's tags", (198, 87.46), "tagged_100"),
            Row("K = 10, tagger's tags", (333, 85.86), "tagged_10"),
            Row("Beam of 100, tagger's tags", (29,), "tagged_beam_100"),
            Row("Beam of 10, tagger's tags", (), "tagged_beam_10"),
        ],
        "One thread, without the time of the tagger. Published speeds of beams are of a beam as accurate as "
        "1,000 particles.",
    ),
    "000-table-5": Table(
        "Parsers compared",
        f"{BUYS}, Table 5",
        ("UAS", "LAS"),
        [
            Row("Eisner (1996)", (80.7,), "estimators_test", {"prior": "eisner"}),
            Row("Wallach et al. (2008)", (85.7,), "estimators_test", _BEST_ESTIMATOR),
            Row("Titov & Henderson (2007)", (89.36, 87.65)),
            Row("HPYP-DP", (88.47, 86.13), "lexicalised_test"),
            Row("MaltParser", (88.88, 87.41)),
            Row("Zhang & Nivre (2011)", (92.9, 91.8)),
            Row("Choi & McCallum (2013)", (92.96, 91.93)),
            Row("Easy-first, a beam of 8 (Ma et al. 2013)", (92.47,), "easy_first_test"),
        ],
        "On the test part, if there is one. Eisner's model and that of Wallach et al. have the tags of our "
        "tagger.",
    ),
    "000-table-6": Table(
        "Perplexity",
        f"{BUYS}, Table 6",
        ("perplexity",),
        [
            Row("HPYP 5-gram", (147.22,), "lm_ngram_test"),
            Row("Chelba & Jelinek (2000)", (146.1,)),
            Row("Emami & Jelinek (2005)", (131.3,)),
            Row("HPYP-DP, supervised only", (), "lm_supervised_test"),
            Row("HPYP-DP", (145.54,), "lm_parses_test"),
            Row("HPYP-DP, supervised only, whole sums", (), "lm_supervised_sum"),
            Row("HPYP-DP, whole sums", (), "lm_parses_sum"),
            Row("Semi-supervised: HPYP 5-gram", (178.13,), "lm_ngram_of_text_test"),
            Row("Semi-supervised: HPYP-DP before the text", (), "lm_part_test"),
            Row("Semi-supervised: HPYP-DP", (163.96,), "lm_learned_test"),
            Row("Semi-supervised: HPYP-DP, all distributions", (), "lm_learned_all_test"),
            Row("Semi-supervised: HPYP-DP, whole sums", (), "lm_learned_sum"),
            Row(
                "Semi-supervised: HPYP-DP, all distributions, whole sums", (), "lm_learned_all_sum"
            ),
        ],
        "On the test part, if there is one. The models of a block share a vocabulary; blocks cannot be "
        "compared. The parser's "
        "perplexity is that of the derivations in the final beam, as in the paper: an upper bound. Whole "
        "sums are unbiased "
        "estimates by particle filters (`--method particles`).",
    ),
    "000-table-7": Table(
        "Sentences drawn from models",
        f"{BUYS}, Table 7",
        samples=[
            Sample(
                "The parser",
                "samples_of_parser",
                (
                    "sales rose NUM to NUM million from $ NUM .",
                    "estimated volume was about $ NUM a share , .",
                    "treasury securities inc. is a unit of great issues .",
                    "“ he is looking out their shareholders , ” says .",
                    "while he has done well , she was out .",
                ),
            ),
            Sample(
                "The 5-gram model",
                "samples_of_ngram",
                (
                    "otherwise , actual profit is compared with the 300-day estimate .",
                    "bonds : shearson lehman hutton treasury index NUM , up",
                    "posted yields on NUM year mortgage commitments for delivery within NUM days .",
                    "in composite trading on the new york mercantile exchange .",
                    "in new york stock exchange composite trading , one trader .",
                ),
            ),
        ],
    ),
    "000-text": Table(
        "Derivations and unknown words",
        f"{BUYS}, section 5.2",
        ("UAS", "LAS", "nats a word"),
        [
            Row("The model", (88.93, 86.57), "joint_1000"),
            Row("Derivations sampled", (89.09, 86.78), "derivations_dev"),
            Row("One unknown word", (88.6,), "one_unknown_word_dev"),
        ],
    ),
    "002-table-2": Table(
        "Tagging with a beam",
        "Ma et al. (2013), Table 2",
        ("TAG", "sentences/s"),
        [
            Row("s = 1", (97.17, 1350), "tagger_beam_1_dev"),
            Row("s = 3", (97.2, 560), "tagger_beam_3_dev"),
            Row("s = 5", (97.22, 385), "tagger_beam_5_dev"),
        ],
        "Published speeds are those of 2013, of PTB.",
    ),
    "002-table-3": Table(
        "Parsing with a beam",
        "Ma et al. (2013), Table 3",
        ("UAS", "match", "sentences/s"),
        [
            Row("s = 1", (91.77, 45.29, 221), "parser_beam_1_dev"),
            Row("s = 2", (92.29, 46.28, 124), "parser_beam_2_dev"),
            Row("s = 4", (92.5, 46.82, 71), "parser_beam_4_dev"),
            Row("s = 8", (92.74, 48.12, 39), "parser_beam_8_dev"),
        ],
        "With the tags of the tagger before it, whose time is counted.",
    ),
    "003-figure": Table(
        "Priors of head-outward models",
        f"{WALLACH}, parse accuracy",
        ("UAS", "fewer errors"),
        _ESTIMATORS,
        "With the tags of our tagger. The paper has bars without numbers, and says that there are 26 % fewer "
        "errors than with "
        "Eisner's estimator.",
    ),
    "003-states": Table(
        "Latent states",
        f"{WALLACH}, bits a word and inferred states",
        ("bits", "accuracy"),
        [
            Row("LDA", (9.08,), "latent_states", {"kind": "lda"}),
            Row("Dependencies only", (8.75,), "latent_states", {"kind": "dependencies"}),
            Row("Syntactic states", (8.68,), "latent_states", {"kind": "syntactic"}),
            Row("Semantic states", (8.25,), "latent_states", {"kind": "semantic"}),
        ],
        samples=[
            Sample(
                "Syntactic states",
                "latent_states",
                (
                    "president director officer chairman executive head attorney manager chief secretary",
                    "u.s. california washington texas york london japan canada france britain",
                    "made offered filed put asked approved announced left held bought",
                    "is was are has have were will had 's would",
                    "would will could should can might had may must owns",
                    "10 8 1 50 2 15 20 30 25 3",
                ),
                {"kind": "syntactic"},
            )
        ],
    ),
    "004-table-2": Table(
        "Reranking the k best trees",
        "Sangati, Zuidema & Bod (2009), Table 2",
        ("oracle best", "oracle worst", "reranked", "with learned weights"),
        [Row(f"k = {k}", figures, "reranked", {"k": k}) for k, figures in _RERANKED.items()],
        "With gold tags, as in the paper. The trees are those of our easy-first parser with a beam of k, the "
        "paper's of a maximum "
        "spanning tree parser, of sentences of up to 40 words and with other heads (Collins 1999).",
    ),
}


def runs_of(table: Table) -> list[str]:
    """The runs whose outputs a table shows, each once."""
    return list(dict.fromkeys(each.run for each in (*table.rows, *table.samples) if each.run))


def page(outputs: dict[str, dict[str, Any]]) -> str:
    """The tables in Markdown.

    outputs (dict[str, dict[str, Any]]): By table, the output of each of its runs.
    """
    sections = ["# The papers' tables", "A figure is the published one, then ours."]
    for name, found in outputs.items():
        sections += _section(name, TABLES[name], found)
    return "\n\n".join(sections) + "\n"


def _section(name: str, table: Table, outputs: dict[str, Any]) -> list[str]:
    sections = [f"## {table.title}", f"{table.paper} (`{name}`). {table.note}".rstrip()]
    if table.rows:
        header = ["", *(name for column in table.columns for name in (f"{column}, paper", column))]
        sections.append(
            MarkdownRenderer().table([_cells(table, row, outputs) for row in table.rows], header)
        )
    for sample in table.samples:
        lines = [
            *_lines(_picked(outputs[sample.run], sample.pick)),
            "",
            "In the paper:",
            "",
            *sample.published,
        ]
        items = (f"* {line}" if line and line != "In the paper:" else line for line in lines)
        sections.append("\n".join([f"{sample.name}:", "", *items]))
    return sections


def _cells(table: Table, row: Row, outputs: dict[str, Any]) -> list[str]:
    record = _picked(outputs[row.run], row.pick) if row.run else {}
    cells = [row.name]
    for i, column in enumerate(table.columns):
        key, factor, digits = COLUMNS[column]
        own = record.get(key)
        values = (
            row.published[i] if i < len(row.published) else None,
            None if own is None else own * factor,
        )
        cells += ["–" if value is None else f"{value:,.{digits}f}" for value in values]
    return cells


def _picked(output: Any, pick: dict[str, Any] | None) -> Any:
    """The first record with some values, or the whole output where none are asked for."""
    records = output.get("models", output) if isinstance(output, dict) else output
    return next(each for each in records if pick.items() <= each.items()) if pick else output


def _lines(output: Any) -> list[str]:
    """The text of sentences, or the words of states, ten at most. Class names, as <LOW>, are no
    markup.
    """
    if isinstance(output, dict):
        lines = [" ".join(entry["word"] for entry in words) for words in output["top_words"]]
    else:
        lines = [record["text"] for record in output]
    return [line.replace("<", "&lt;") for line in lines[:10]]


def main() -> None:
    """Write the page of all tables that are there."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    outputs = {
        name: json.loads(path.read_text(encoding="utf8"))
        for name in TABLES
        if (path := folder / f"{name}.json").exists()
    }
    (folder / "papers.md").write_text(page(outputs), encoding="utf8")
    print(f"Wrote {len(outputs)} tables: {folder / 'papers.md'}")


if __name__ == "__main__":
    main()
