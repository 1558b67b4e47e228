"""`hpyp perplexity`: how well a model predicts text."""

from pathlib import Path
from typing import Annotated, Any, Literal

import srsly
from wasabi import msg

from ..language_model.ngram import NGramModel
from ..language_model.scoring import (
    perplexity_of,
    score_by_beam,
    score_by_particles,
    search_for_sums,
)
from ..pipeline.surprisal import blank_pipeline
from .app import AnyModel, Bar, Printed, Threads, Tokenized, argument, load_parser, option
from .ngram import is_ngram_model, refuse
from .raw_text import existing, read_sentences

# Defaults of the particle estimate.
_PARTICLES, _REPLICATES = 100, 5


def perplexity(
    model: AnyModel,
    data: Annotated[Path, argument("A .spacy or .conllu file, or text with one sentence a line")],
    *,
    output: Printed = "table",
    tokenized: Tokenized = False,
    method: Annotated[
        Literal["beam", "particles"] | None,
        option("Parser only: sum over the beam, or an unbiased estimate", "--method -m"),
    ] = None,
    particles: Annotated[
        int | None,
        option(
            f"Of a parser: by default the pipeline's, or {_PARTICLES} for the estimate",
            "--particles -K",
        ),
    ] = None,
    replicates: Annotated[
        int | None,
        option(
            f"Independent particle filters for each sentence, by default {_REPLICATES}",
            "--replicates -R",
        ),
    ] = None,
    threads: Threads = None,
    seed: Annotated[int | None, option("Fixes the particle estimate; by default 0")] = None,
) -> None:
    """Print the perplexity of a text: exp of minus the mean log-probability of a word or end of
    sentence.

    There is one prediction a word and one for the end of the sentence. A word that is rare or
    unknown in training counts as its class, or where the model spells such words out, its letters
    count besides. Only perplexities of models with the same vocabulary can be compared, see 'hpyp
    ngram --vocab-from', but bits a character of all that spell.
    """
    if not data.is_dir():
        existing([data])
    of_estimate = {"replicates": replicates, "seed": seed}
    is_estimate = method == "particles"
    if is_ngram_model(model):
        own = {"method": method, "particles": particles, "threads": threads, **of_estimate}
        refuse("a parser, but here is an n-gram model", **own)
        ngrams = NGramModel.from_disk(model)
        nlp = blank_pipeline(ngrams)
    else:
        if not is_estimate:
            refuse("the method 'particles', but here is the method 'beam'", **of_estimate)
        ngrams = None
        nlp, parser = load_parser(
            model, particles=None if is_estimate else particles, threads=threads
        )
    found = read_sentences(data, None if tokenized else nlp)
    with Bar(found, desc="Scoring", unit=" sentences") as sentences:
        if ngrams is not None:
            scores = ngrams.score(sentences)
        elif is_estimate:
            scores = score_by_particles(
                parser.joint,
                sentences,
                particles=_PARTICLES if particles is None else particles,
                replicates=_REPLICATES if replicates is None else replicates,
                seed=seed or 0,
                threads=parser.threads,
            )
        else:
            search = search_for_sums(parser.search)
            scores = score_by_beam(parser.joint, sentences, search, threads=parser.threads)
        total = perplexity_of(scores).to_dict()
    if output == "json":
        print(srsly.json_dumps(total, indent=2))
    else:
        _print(total, None if ngrams is not None else method or "beam")


def _print(found: dict[str, Any], method: str | None) -> None:
    estimated = ("variance", "standard_error", "bias")
    hidden = ["convention", *(() if method == "particles" else estimated)]
    rows = {
        name.replace("_", " "): f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
        for name, value in found.items()
        if value is not None and name not in hidden
    }
    msg.table(rows, title="Perplexity")
    msg.info(found["convention"].capitalize())
    if method == "particles":
        error = found["perplexity"] * found["standard_error"]
        msg.info(f"An estimate: {found['perplexity']:.2f} ± {error:.2f}")
    elif method == "beam":
        msg.info(
            "Summed over the beam, which leaves derivations out: the perplexity is an upper bound"
        )
