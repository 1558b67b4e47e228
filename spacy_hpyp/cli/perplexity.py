"""`hpyp perplexity`: how well a model predicts text."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import srsly
from wasabi import msg

from ..distributed.inputs import Document, Shard
from ..distributed.work import Process
from ..language_model.interpolation import Interpolation, Perplexities
from ..language_model.scoring import (
    Perplexity,
    perplexity_of,
    score_by_beam,
    score_by_particles,
    search_for_sums,
)
from ..storage.files import prepare_folder
from .app import load_parser
from .ngram import is_ngram_model, load_interpolation, load_ngrams, reader_of, refuse
from .options import (
    AnyModel,
    Cluster,
    Interpolate,
    Printed,
    SegmentWith,
    Tokenized,
    UnknownWords,
    WeightsFrom,
    argument,
    option,
    place,
    refuse_uris,
)
from .output import print_table
from .progress import Bar
from .raw_text import existing, read_sentences
from .shards import ShardTask, distribute, made_with, shards_of, words_in

# What figures are called, and how they are shown.
_ROWS = {
    "perplexity": ("PERPLEXITY", ".2f"),
    "closed_perplexity": ("PERPLEXITY WITHOUT LETTERS", ".2f"),
    "bits_per_character": ("BITS A CHARACTER", ".4f"),
    "log_prob_per_prediction": ("LOG PROB (nats a prediction)", ".4f"),
    "standard_error": ("STANDARD ERROR (nats a prediction)", ".5f"),
    "bias": ("BIAS, ABOUT (nats a prediction)", ".5f"),
    "log_prob": ("LOG PROB (nats)", ".1f"),
    "sentences": ("SENTENCES", "d"),
    "words": ("WORDS", "d"),
    "characters": ("CHARACTERS OF WORDS", "d"),
    "predictions": ("WORDS AND ENDS", "d"),
    "unknown": ("WORDS KNOWN BY THEIR CLASS ONLY", "d"),
}
_OF_AN_ESTIMATE = ("standard_error", "bias")

# Of the particle estimate, unless something else is asked for.
_PARTICLES = 100
_REPLICATES = 5


def perplexity(
    model: AnyModel,
    data: Annotated[
        Path, argument("A .spacy or .conllu file, or text with one sentence a line", parser=place)
    ],
    *,
    output: Printed = "table",
    tokenized: Tokenized = False,
    segment_with: SegmentWith = None,
    unknown_words: UnknownWords = None,
    method: Annotated[
        Literal["beam", "particles"] | None,
        option("Of a parser: sum over the beam, for an upper bound, or estimate the whole sum", "-m"),
    ] = None,
    particles: Annotated[
        int | None,
        option(f"Of a parser: by default the pipeline's, or {_PARTICLES} for the estimate", "-K"),
    ] = None,
    replicates: Annotated[
        int | None, option(f"Independent particle filters for each sentence, by default {_REPLICATES}", "-R")
    ] = None,
    threads: Annotated[
        int | None, option("Of a parser: threads, instead of the pipeline's setting", "-t")
    ] = None,
    seed: Annotated[int | None, option("Fixes the particle estimate; by default 0")] = None,
    interpolate: Interpolate = None,
    weights_from: WeightsFrom = None,
    save_weights: Annotated[
        Path | None, option("File for the weights of the mixture (.json)", dir_okay=False)
    ] = None,
    scores: Annotated[Path | None, option("With --ray: folder for the sums of shards", parser=place)] = None,
    cluster: Cluster = Cluster(max_errors=0),
) -> None:
    """Print the perplexity of a text: exp of minus the mean log-probability of a word or end of sentence.

    There is one prediction a word and one for the end of the sentence. A word that is rare or unknown in
    training counts as its class, or where the model spells such words out, its letters count besides. Only
    perplexities of models with the same vocabulary can be compared, see 'hpyp ngram --vocab-from', but bits a
    character of all that spell.

    With --interpolate the perplexities are those of the parser, of an n-gram model, and of both mixed word by
    word.

    With --ray, workers sum over the beams of text and CoNLL-U; the same command goes on where it was
    interrupted.
    """
    if cluster.ray is not None:
        unfit = [replicates, seed, threads, interpolate, weights_from, save_weights, unknown_words]
        if method == "particles" or any(value is not None for value in unfit) or is_ngram_model(model):
            raise ValueError(
                "With --ray it is that of a parser by its beam, with --particles, --tokenized and "
                "--segment-with."
            )
        task = PerplexityTask(
            *made_with(model), segment_with is None, cluster.field, "json", particles, tokenized, segment_with
        )
        shards = shards_of(task, [data], cluster)
        with redirect_stdout(sys.stderr):
            folder = distribute("perplexity", task, shards, scores, cluster, named="--scores")
        sums = [Perplexity(*each) for shard in shards for each in json.loads(folder.read(shard))]
        _print(perplexity_of(sums), output, "beam")
        return
    refuse_uris(data)
    if not data.is_dir():
        existing([data])
    is_mixture = any(path is not None for path in (interpolate, weights_from, save_weights))
    is_ngrams = not is_mixture and is_ngram_model(model)
    is_estimate = method == "particles"
    of_estimate = {"replicates": replicates, "seed": seed}
    if is_mixture:
        estimated = method if is_estimate else None
        refuse(
            "a single model, but here is a mixture",
            unknown_words=unknown_words,
            method=estimated,
            **of_estimate,
        )
        _check_mixture(model, data, interpolate, weights_from, save_weights)
    elif is_ngrams:
        own = {"method": method, "particles": particles, "threads": threads, **of_estimate}
        refuse("a parser, but here is an n-gram model", **own)
    else:
        refuse("an n-gram model, but here is a parser", unknown_words=unknown_words)
        if not is_estimate:
            refuse("the method 'particles', but here is the method 'beam'", **of_estimate)
    if is_ngrams:
        ngrams = load_ngrams(model, unknown_words)
        reader = reader_of(ngrams.words.lang, tokenized=tokenized, segment_with=segment_with)
    else:
        nlp, parser = load_parser(model, particles=None if is_estimate else particles, threads=threads)
        reader = reader_of(nlp, tokenized=tokenized, segment_with=segment_with)

    def read(path: Path) -> Iterator[list[str]]:
        return read_sentences(path, reader, per_line=segment_with is None)

    if interpolate is not None:
        search = search_for_sums(parser.search, predictive=True)
        mixture = load_interpolation(parser, interpolate, weights_from, read, search=search)
        with Bar(read(data), desc="Scoring", unit=" sentences") as sentences:
            mixed = mixture.perplexities(sentences, search, threads=parser.threads)
        if save_weights is not None:
            mixture.to_disk(save_weights)
        _print_mixture(mixed, mixture, output)
    elif is_ngrams:
        _print(ngrams.perplexity(read(data)), output, None)
    else:
        with Bar(read(data), desc="Scoring", unit=" sentences") as sentences:
            if is_estimate:
                count = _PARTICLES if particles is None else particles
                how = {
                    "replicates": _REPLICATES if replicates is None else replicates,
                    "threads": parser.threads,
                }
                scores = score_by_particles(parser.joint, sentences, particles=count, seed=seed or 0, **how)
            else:
                scores = score_by_beam(
                    parser.joint, sentences, search_for_sums(parser.search), threads=parser.threads
                )
            found = perplexity_of(scores)
        _print(found, output, method or "beam")


@dataclass(frozen=True)
class PerplexityTask(ShardTask):
    """What `hpyp perplexity --ray` has workers do, with options of the command."""

    particles: int | None
    tokenized: bool
    segment_with: str | None

    def process(self) -> Process:
        """What scores the sentences of documents."""
        nlp, parser = load_parser(self.model, particles=self.particles, threads=1)
        finder = reader_of(nlp, tokenized=self.tokenized, segment_with=self.segment_with)

        def score(shard: Shard, documents: Sequence[Document]) -> tuple[list[Perplexity], int]:
            sentences = words_in(shard, documents, finder, running=not self.per_line)
            found = list(score_by_beam(parser.joint, sentences, search_for_sums(parser.search)))
            return [perplexity_of(found)] if found else [], sum(each.words for each in found)

        return score


def _check_mixture(
    model: str, data: Path, interpolate: Path | None, weights_from: Path | None, save_weights: Path | None
) -> None:
    if interpolate is None:
        raise ValueError(
            "--weights-from and --save-weights are settings of a mixture, but there is no --interpolate."
        )
    if is_ngram_model(model):
        raise ValueError(f"A mixture is that of a pipeline and an n-gram model, but '{model}' is a file.")
    if weights_from is not None and weights_from.resolve() == data.resolve():
        raise ValueError(f"The weights of a mixture must not be learned from what is measured, '{data}'.")
    if save_weights is not None:
        if save_weights.suffix != ".json":
            raise ValueError(
                f"The name of the file for the weights must end with .json, but it is '{save_weights}'."
            )
        prepare_folder(save_weights.parent)


def _print(found: Perplexity, output: str, method: str | None) -> None:
    if output == "json":
        print(srsly.json_dumps(found.to_dict(), indent=2))
        return
    msg.table(dict(_figures(found, is_estimate=method == "particles")), title="Perplexity")
    _explain(found)
    if method == "particles":
        error = found.perplexity * found.standard_error
        msg.info(
            f"An estimate: {found.perplexity:.2f} ± {error:.2f}, by about {-found.bias:.2%} too high on "
            f"average"
        )
    elif method == "beam":
        msg.info("Summed over the beam, which leaves derivations out: the perplexity is an upper bound")


def _print_mixture(found: Perplexities, mixture: Interpolation, output: str) -> None:
    shares = mixture.shares.tolist()
    if output == "json":
        figures = {name: one.to_dict() for name, one in found._asdict().items()}
        print(srsly.json_dumps({**figures, "weights": shares}, indent=2))
        return
    models = ("", "parser", "n-gram model")
    print_table((*models, "mixture"), _figures(*found), "Perplexity")
    weights = [
        (f"at most {0.5**level:.3g}", f"{share:.4f}", f"{1.0 - share:.4f}")
        for level, share in enumerate(shares)
    ]
    print_table(models, weights, "Weights by what the n-gram model leaves to its uniform distribution")
    _explain(found.mixture)
    msg.info(
        "The parser's is that of each word given the beam before it: no bound of the perplexity with all "
        "derivations"
    )


def _figures(*models: Perplexity, is_estimate: bool = False) -> list[tuple[str, ...]]:
    """What figures are called, with those of models; the last one says which there are."""
    missing = () if is_estimate else _OF_AN_ESTIMATE
    missing += ("closed_perplexity",) if models[-1].spelling is None else ()
    return [
        (called, *(format(getattr(model, name), how) for model in models))
        for name, (called, how) in _ROWS.items()
        if name not in missing and getattr(models[-1], name) is not None
    ]


def _explain(found: Perplexity) -> None:
    """Say which vocabulary a perplexity is of, and what its characters are."""
    msg.info(found.convention[0].upper() + found.convention[1:])
    if found.bits_per_character is not None:
        msg.info("Bits a character count the end of each word as a character")
