"""Compare the estimators of Wallach, Sutton & McCallum (2008): Eisner's, and hierarchical Dirichlet
and Pitman-Yor processes.

    python scripts/head_outward_estimators.py train.spacy dev.spacy --output figure.json

Each is trained on gold tokens, tags and trees, with the paper's context lists, and parses gold
sentences with gold tags, or with those of a tagger. UAS leaves punctuation out.
"""

import json
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import spacy
import typer
from wasabi import msg

from spacy_hpyp.cli.evaluate import give_tags
from spacy_hpyp.pipeline.corpus import create_conllu_corpus, create_gold_corpus

FACTORY = "head_outward_parser"
#: Prior, counts and hyperparameters. Raw counts come first and use neither of the others.
ESTIMATORS = (
    ("eisner", "minimal", "fixed"),
    *product(("dirichlet", "pitman-yor"), ("minimal", "sampled"), ("fixed", "sampled")),
)


def compare(
    train: Path,
    dev: Path,
    output: Annotated[Path, typer.Option(help="JSON file for the figures")],
    *,
    lang: Annotated[str, typer.Option(help="Language")] = "en",
    sweeps: Annotated[int, typer.Option(help="Gibbs sweeps, if anything is sampled")] = 10,
    tags_from: Annotated[
        str | None, typer.Option(help="Parse with the tags of this pipeline")
    ] = None,
    seed: Annotated[int, typer.Option(help="Fixes the figures")] = 0,
    threads: Annotated[int, typer.Option(help="Threads")] = 1,
) -> None:
    """Train and measure each estimator."""
    nlp = spacy.blank(lang)
    examples = list(create_conllu_corpus(train, tokens="gold")(nlp))
    models: list[dict[str, Any]] = []
    for prior, counts, hyperparameters in ESTIMATORS:
        estimator = {"prior": prior, "counts": counts, "hyperparameters": hyperparameters}
        settings = {"decoding": "best", "seed": seed, "threads": threads, "tokens": "gold"}
        parser = nlp.add_pipe(FACTORY, config={**settings, "model": estimator})
        parser.initialize(lambda: examples, nlp=nlp)
        is_sampled = prior != "eisner" and "sampled" in (counts, hyperparameters)
        for _ in range(sweeps if is_sampled else 1):
            parser.update(examples)
        gold = list(create_gold_corpus(dev, gold_tags=True)(nlp))
        if tags_from is not None:
            give_tags(gold, tags_from)
        docs = list(parser.pipe(example.predicted for example in gold))
        uas = parser.score(gold)["dep_uas"]
        wrong = 1.0 - (models[0]["dep_uas"] if models else uas)
        words = sum(not token.is_space for doc in docs for token in doc)
        models.append(
            {
                **estimator,
                "dep_uas": uas,
                "errors_fewer": 1.0 - (1.0 - uas) / wrong if wrong else None,
                "token_log_prob": sum(doc._.log_prob for doc in docs) / words,
            }
        )
        nlp.remove_pipe(FACTORY)
        msg.text(
            f"{prior}, {counts} counts, {hyperparameters} hyperparameters: UAS {100 * uas:.2f}"
        )
    output.write_text(
        json.dumps({"sweeps": sweeps, **settings, "models": models}, indent=1), encoding="utf8"
    )


if __name__ == "__main__":
    typer.run(compare)
