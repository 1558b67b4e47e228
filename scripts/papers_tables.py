"""The tables of the four papers: the published figures, and beside them the figures of a treebank.

    python scripts/papers_tables.py metrics/UD_English-EWT-papers

reads what `scripts/papers_runs.py` has written to the folder, one JSON file a table, and writes
`papers.md` there. `scripts/papers_tables.yml` has the published figures.
"""

import argparse
from pathlib import Path
from typing import Any

import srsly
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
TABLES: dict[str, dict[str, Any]] = srsly.read_yaml(Path(__file__).with_suffix(".yml"))


def runs_of(table: dict[str, Any]) -> list[str]:
    """Return the runs whose outputs a table shows, each once."""
    records = [*table.get("rows", []), *table.get("samples", [])]
    return list(dict.fromkeys(record["run"] for record in records if "run" in record))


def page(outputs: dict[str, dict[str, Any]]) -> str:
    """Return the tables in Markdown.

    outputs (dict[str, dict[str, Any]]): By table, the output of each of its runs.
    """
    sections = ["# The papers' tables", "A figure is the published one, then ours."]
    for name, found in outputs.items():
        sections += _section(name, TABLES[name], found)
    return "\n\n".join(sections) + "\n"


def _section(name: str, table: dict[str, Any], outputs: dict[str, Any]) -> list[str]:
    paper = f"{table['paper']} (`{name}`). {table.get('note', '')}".rstrip()
    sections = [f"## {table['title']}", paper]
    if "rows" in table:
        header = ["", *(part for name in table["columns"] for part in (f"{name}, paper", name))]
        rows = [_cells(table["columns"], row, outputs) for row in table["rows"]]
        sections.append(MarkdownRenderer().table(rows, header))
    for sample in table.get("samples", []):
        own = [f"* {line}" for line in _lines(_picked(outputs, sample))]
        published = [f"* {line}" for line in sample["published"]]
        lines = [f"{sample['name']}:", "", *own, "", "In the paper:", "", *published]
        sections.append("\n".join(lines))
    return sections


def _cells(columns: list[str], row: dict[str, Any], outputs: dict[str, Any]) -> list[str]:
    record = _picked(outputs, row) if "run" in row else {}
    cells, published = [row["name"]], row.get("published", [])
    for i, column in enumerate(columns):
        key, factor, digits = COLUMNS[column]
        own = record.get(key)
        values = (
            published[i] if i < len(published) else None,
            None if own is None else own * factor,
        )
        cells += ["–" if value is None else f"{value:,.{digits}f}" for value in values]
    return cells


def _picked(outputs: dict[str, Any], row: dict[str, Any]) -> Any:
    """Return the output of a row's run, or of several records the one with the row's values."""
    output = outputs[row["run"]]
    if "pick" not in row:
        return output
    records = output["models"] if isinstance(output, dict) else output
    return next(each for each in records if row["pick"].items() <= each.items())


def _lines(output: Any) -> list[str]:
    """Return the text of sentences, or the words of states, ten at most. Class names, as <LOW>,
    are no markup.
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
    paths = {name: folder / f"{name}.json" for name in TABLES}
    outputs = {name: srsly.read_json(path) for name, path in paths.items() if path.exists()}
    (folder / "papers.md").write_text(page(outputs), encoding="utf8")
    print(f"Wrote {len(outputs)} tables: {folder / 'papers.md'}")


if __name__ == "__main__":
    main()
