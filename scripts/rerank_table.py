"""Compare the k best trees of a parser with the choice of a generative model among them (Sangati,
Zuidema & Bod 2009, table 2).

    python scripts/rerank_table.py training/reranked/model-best dev.spacy --output table.json

On gold sentences with tags and trees, UAS without punctuation: the best and the worst of k trees
("oracle_best", "oracle_worst"), the choice of the generative model alone, as in the paper
("generative"), and that of the component ("reranked_uas", and LAS: "reranked_las").
"""

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import spacy
import typer
from wasabi import msg

from spacy_hpyp.annotation.encoding import raw_sentences
from spacy_hpyp.annotation.sentences import problem_of
from spacy_hpyp.combining.reranker import UNLEARNED
from spacy_hpyp.pipeline.corpus import create_gold_corpus
from spacy_hpyp.pipeline.parse_reranker import agreement

SCORES = "oracle_best", "oracle_worst", "generative", "reranked_uas", "reranked_las"


def compare(
    model: Annotated[str, typer.Argument(help="Pipeline with a parse_reranker")],
    data: Path,
    output: Annotated[Path, typer.Option(help="JSON file for the table")],
    *,
    k: Annotated[str, typer.Option(help="Numbers of trees")] = "1,2,3,4,5,6,7,8,9,10,100,1000",
    gold_tags: Annotated[
        bool, typer.Option("--gold-tags", help="Give the parser gold tags")
    ] = False,
) -> None:
    """Print a row for each k and save them."""
    nlp = spacy.load(model)
    reranker = next(pipe for _, pipe in nlp.pipeline if hasattr(pipe, "source_name"))
    place = nlp.pipe_names.index(reranker.source_name)
    examples = list(create_gold_corpus(data, gold_tags=gold_tags)(nlp))
    golds = [next(iter(raw_sentences(example.reference)), None) for example in examples]
    pairs = [
        (example.predicted, gold)
        for example, gold in zip(examples, golds)
        if gold is not None and problem_of(gold.rows) is None
    ]
    docs = [doc for doc, _ in pairs]
    for _, pipe in nlp.pipeline[place if gold_tags else 0 : place + 1]:
        docs = pipe.pipe(docs)
    parsed = list(zip(docs, (gold for _, gold in pairs)))
    rows = []
    for count in map(int, k.split(",")):
        sums = np.zeros(len(SCORES))
        words = trees = 0
        for doc, gold in parsed:
            found = reranker.predict([doc], k=count)[0]
            # A parser may split the sentence.
            if len(found) != 1:
                continue
            right, labelled, counted = agreement(found[0].candidates, gold)
            alone, chosen = int(np.argmax(found[0].features @ UNLEARNED)), found[0].chosen
            sums += right.max(), right.min(), right[alone], right[chosen], labelled[chosen]
            words, trees = words + counted, trees + len(right)
        scores = dict(zip(SCORES, (sums / max(1, words)).tolist()))
        rows.append({"k": count, "candidates": trees / len(parsed), **scores})
    header = ("k", "oracle best", "oracle worst", "generative", "reranked", "LAS")
    table = [(row["k"], *(f"{100 * row[name]:.2f}" for name in SCORES)) for row in rows]
    msg.table(table, header=header, divider=True, aligns=["r"] * len(header))
    output.write_text(json.dumps(rows, indent=1), encoding="utf8")


if __name__ == "__main__":
    typer.run(compare)
