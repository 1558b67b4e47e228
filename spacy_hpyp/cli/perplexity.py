"""`hpyp perplexity`: how well a model predicts text."""

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import srsly
import typer
from wasabi import msg

from ..language_model.interpolation import Interpolation, Perplexities
from ..language_model.ngram import NGramModel, resolve_rule
from ..language_model.perplexity import Perplexity, perplexity_of
from ..language_model.scoring import score_by_beam, score_by_particles, search_for_sums
from ..storage.files import prepare_folder
from .app import hpyp, load_parser
from .interpolation import INTERPOLATE, WEIGHTS_FROM, load_interpolation
from .ngram import SEGMENT_WITH, TOKENIZED, reader_of
from .progress import Bar
from .raw_text import read_sentences

_ROWS = {
    "perplexity": "PERPLEXITY",
    "closed_perplexity": "PERPLEXITY WITHOUT LETTERS",
    "bits_per_character": "BITS A CHARACTER",
    "log_prob_per_prediction": "LOG PROB (nats a prediction)",
    "standard_error": "STANDARD ERROR (nats a prediction)",
    "bias": "BIAS, ABOUT (nats a prediction)",
    "log_prob": "LOG PROB (nats)",
    "sentences": "SENTENCES",
    "words": "WORDS",
    "characters": "CHARACTERS OF WORDS",
    "predictions": "WORDS AND ENDS",
    "unknown": "WORDS KNOWN BY THEIR CLASS ONLY",
}
_FORMATS = {
    "perplexity": ".2f",
    "closed_perplexity": ".2f",
    "bits_per_character": ".4f",
    "log_prob_per_prediction": ".4f",
    "standard_error": ".5f",
    "bias": ".5f",
    "log_prob": ".1f",
}

# Of the particle estimate, unless something else is asked for.
_PARTICLES = 100
_REPLICATES = 5


class Output(str, Enum):
    """How to print."""

    table = "table"
    json = "json"


class Method(str, Enum):
    """How the derivations of a sentence are summed up."""

    beam = "beam"
    particles = "particles"


@hpyp.command("perplexity")
def perplexity_cli(
    model: str = typer.Argument(
        ..., help="Model saved by 'hpyp ngram', or name or path of a trained pipeline with an hpyp_parser"
    ),
    data: Path = typer.Argument(
        ..., help="A .spacy or .conllu file with gold sentences, or text in UTF-8 with one sentence a line", exists=True
    ),
    output: Output = typer.Option(Output.table, "--output", "-o", help="Print a table, or JSON"),
    tokenized: bool = typer.Option(False, "--tokenized", help=TOKENIZED),
    segment_with: str | None = typer.Option(None, "--segment-with", help=SEGMENT_WITH),
    unknown_words: str | None = typer.Option(
        None,
        "--unknown-words",
        help="Of an n-gram model that was trained with a rule for rare words of your own: the registered function",
    ),
    method: Method | None = typer.Option(
        None,
        "--method",
        "-m",
        help="Of a parser: 'beam' sums over the beam, which leaves derivations out, so that the perplexity is an upper bound; "
        "'particles' estimates the whole sum of each sentence without bias, with a standard error",
    ),
    particles: int | None = typer.Option(
        None,
        "--particles",
        "-K",
        help=f"Of a parser: by default the pipeline's setting for the beam, and {_PARTICLES} for the estimate",
    ),
    replicates: int | None = typer.Option(
        None,
        "--replicates",
        "-R",
        help=f"Independent particle filters for each sentence, by default {_REPLICATES}",
    ),
    threads: int | None = typer.Option(
        None, "--threads", "-t", help="Of a parser: threads, instead of the pipeline's setting"
    ),
    seed: int | None = typer.Option(None, "--seed", help="Fixes the particle estimate; by default 0"),
    interpolate: Path | None = typer.Option(None, "--interpolate", "-i", help=INTERPOLATE, exists=True, dir_okay=False),
    weights_from: Path | None = typer.Option(None, "--weights-from", help=WEIGHTS_FROM, exists=True),
    save_weights: Path | None = typer.Option(
        None, "--save-weights", help="File for the weights of the mixture (.json)", dir_okay=False
    ),
) -> None:
    """Print the perplexity of a text: exp of minus the mean log-probability of a word or end of sentence.

    There is one prediction a word and one for the end of the sentence. The convention is that of a closed vocabulary: a word that is
    rare or unknown in training counts as its class. Only perplexities of models with the same vocabulary can be compared then, see
    'hpyp ngram --vocab-from'. Of a model that spells such words out (the setting 'spelling' of a parser, 'hpyp ngram --spelling') it
    is that of an open vocabulary. Its bits a character can be compared with those of any other model that gives the whole text a
    probability: the end of each word counts as a character.

    With --interpolate the perplexities are those of the parser, of an n-gram model, and of both mixed word by word; if the parser spells
    rare words out, all three have its letters.
    """
    if interpolate is not None or weights_from is not None or save_weights is not None:
        estimated = {"method": None if method == Method.beam else method, "replicates": replicates, "seed": seed}
        _refuse({"unknown-words": unknown_words, **estimated}, "a single model", "a mixture")
        _print_mixture(
            *interpolated_perplexity(
                model,
                data,
                interpolate,
                weights_from,
                save_weights=save_weights,
                tokenized=tokenized,
                segment_with=segment_with,
                particles=particles,
                threads=threads,
            ),
            output,
        )
        return
    found = perplexity(
        model,
        data,
        tokenized=tokenized,
        segment_with=segment_with,
        unknown_words=unknown_words,
        method=method and method.value,
        particles=particles,
        replicates=replicates,
        threads=threads,
        seed=seed,
    )
    figures = found.to_dict()
    if output == Output.json:
        print(srsly.json_dumps(figures, indent=2))
        return
    if method != Method.particles:
        del figures["standard_error"], figures["bias"]
    rows = {label: _formatted(figures, name) for name, label in _rows_of(found).items() if name in figures}
    msg.table(rows, title="Perplexity")
    _explain(found)
    if method == Method.particles:
        error = found.perplexity * found.standard_error
        msg.info(f"An estimate: {found.perplexity:.2f} ± {error:.2f}, by about {-found.bias:.2%} too high on average")
    elif not Path(model).is_file():
        msg.info("Summed over the beam, which leaves derivations out: the perplexity is an upper bound")


def perplexity(
    model: str | Path,
    data: str | Path,
    *,
    tokenized: bool = False,
    segment_with: str | None = None,
    unknown_words: str | None = None,
    method: str | None = None,
    particles: int | None = None,
    replicates: int | None = None,
    threads: int | None = None,
    seed: int | None = None,
) -> Perplexity:
    """The perplexity of a text.

    model (str | Path): The file of an n-gram model, or the name or path of a pipeline with a parser.
    data (str | Path): The text, see `read_sentences`.
    tokenized (bool): Whether the words of text are separated by spaces already; else the tokenizer of the n-gram model's
        language or of the pipeline finds them.
    segment_with (str | None): Name or path of a pipeline that finds words and sentences of running text, instead.
    unknown_words (str | None): Of an n-gram model whose rule for unknown words is not one of this package: the name of the rule, a
        function in `spacy.registry.misc` that can be called without arguments.
    method (str | None): Of a parser: "beam", the default, or "particles"; see `spacy_hpyp.language_model.scoring`.
    particles (int | None): Of a parser: K.
    replicates (int | None): Of the particle estimate: how many filters.
    threads (int | None): Of a parser: how many threads, instead of the pipeline's setting.
    seed (int | None): Of the particle estimate.
    RETURNS (Perplexity): The perplexity.
    RAISES (ValueError): If the model or the text cannot be read, there are no sentences, or a setting does not belong to the
        model.
    """
    estimated = {"replicates": replicates, "seed": seed}
    if Path(model).is_file():
        _refuse(
            {"method": method, "particles": particles, "threads": threads, **estimated}, "a parser", "an n-gram model"
        )
        rule = None if unknown_words is None else resolve_rule({"@misc": unknown_words})
        ngrams = NGramModel.from_disk(model, unknown_words=rule)
        nlp = reader_of(ngrams.words.lang, tokenized=tokenized, segment_with=segment_with)
        return ngrams.perplexity(read_sentences(data, nlp, per_line=segment_with is None))
    _refuse({"unknown-words": unknown_words}, "an n-gram model", "a parser")
    if method != "particles":
        _refuse(estimated, "the method 'particles'", "the method 'beam'")
    nlp, parser = load_parser(model, particles=None if method == "particles" else particles, threads=threads)
    reader = reader_of(nlp.lang, tokenized=tokenized, segment_with=segment_with) if tokenized or segment_with else nlp
    sentences = read_sentences(data, reader, per_line=segment_with is None)
    with Bar(sentences, desc="Scoring", unit=" sentences") as sentences:
        if method == "particles":
            scores = score_by_particles(
                parser.joint,
                sentences,
                particles=_PARTICLES if particles is None else particles,
                replicates=_REPLICATES if replicates is None else replicates,
                seed=seed or 0,
                threads=parser.threads,
            )
        else:
            scores = score_by_beam(parser.joint, sentences, search_for_sums(parser.search), threads=parser.threads)
        return perplexity_of(scores)


def interpolated_perplexity(
    model: str | Path,
    data: Path,
    interpolate: Path | None,
    weights_from: Path | None,
    *,
    save_weights: Path | None = None,
    tokenized: bool = False,
    segment_with: str | None = None,
    particles: int | None = None,
    threads: int | None = None,
) -> tuple[Perplexities, Interpolation]:
    """The perplexity of a text by a parser, an n-gram model and both mixed.

    model (str | Path): The name or path of a pipeline with a parser.
    data (Path): The text, see `read_sentences`.
    interpolate (Path | None): The file of an n-gram model with the parser's vocabulary.
    weights_from (Path | None): Held-out sentences to learn the weights of the mixture from, or a file of weights.
    save_weights (Path | None): Where the weights are saved.
    tokenized, segment_with, particles, threads: As for `perplexity`, and for the held-out sentences, too.
    RETURNS (tuple[Perplexities, Interpolation]): The perplexities, and the mixture.
    RAISES (ValueError): If a file is not given or cannot be read, the models have not the same vocabulary, the weights are to be
        learned from the text itself, or a setting is out of its range.
    """
    if interpolate is None:
        raise ValueError("--weights-from and --save-weights are settings of a mixture, but there is no --interpolate.")
    if Path(model).is_file():
        raise ValueError(f"A mixture is that of a pipeline and an n-gram model, but '{model}' is a file.")
    if weights_from is not None and weights_from.resolve() == data.resolve():
        raise ValueError(
            f"The weights of a mixture must not be learned from the text that is measured, but both are '{data}'."
        )
    if save_weights is not None:
        if save_weights.suffix != ".json":
            raise ValueError(f"The name of the file for the weights must end with .json, but it is '{save_weights}'.")
        prepare_folder(save_weights.parent)
    nlp, parser = load_parser(model, particles=particles, threads=threads)
    reader = reader_of(nlp.lang, tokenized=tokenized, segment_with=segment_with) if tokenized or segment_with else nlp
    search, per_line = search_for_sums(parser.search, predictive=True), segment_with is None

    def read(path: Path) -> Iterator[list[str]]:
        return read_sentences(path, reader, per_line=per_line)

    mixture = load_interpolation(parser, interpolate, weights_from, read, search=search)
    with Bar(read(data), desc="Scoring", unit=" sentences") as sentences:
        found = mixture.perplexities(sentences, search, threads=parser.threads)
    if save_weights is not None:
        mixture.to_disk(save_weights)
    return found, mixture


def _print_mixture(found: Perplexities, mixture: Interpolation, output: Output) -> None:
    figures = {name: one.to_dict() for name, one in found._asdict().items()}
    if output == Output.json:
        print(srsly.json_dumps({**figures, "weights": mixture.shares.tolist()}, indent=2))
        return
    shown = {name: label for name, label in _rows_of(found.mixture).items() if name not in ("standard_error", "bias")}
    rows = [(label, *(_formatted(one, name) for one in figures.values())) for name, label in shown.items()]
    msg.table(
        rows,
        header=("", "parser", "n-gram model", "mixture"),
        divider=True,
        aligns=("l", "r", "r", "r"),
        title="Perplexity",
    )
    weights = [
        (f"at most {0.5**level:.3g}", f"{share:.4f}", f"{1.0 - share:.4f}")
        for level, share in enumerate(mixture.shares.tolist())
    ]
    msg.table(
        weights,
        header=("", "parser", "n-gram model"),
        divider=True,
        aligns=("l", "r", "r"),
        title="Weights by what the n-gram model leaves to its uniform distribution",
    )
    _explain(found.mixture)
    msg.info(
        "The parser's is that of each word given the derivations left in the beam before it: all words together have at most 1, but "
        "it is no bound of the perplexity with all derivations"
    )


def _rows_of(found: Perplexity) -> dict[str, str]:
    """The figures that there are of a perplexity, and what they are called."""
    missing = {
        "closed_perplexity": found.spelling is None,
        "bits_per_character": found.bits_per_character is None,
    }
    return {name: label for name, label in _ROWS.items() if not missing.get(name, False)}


def _formatted(figures: dict[str, Any], name: str) -> str:
    return format(figures[name], _FORMATS.get(name, "d"))


def _explain(found: Perplexity) -> None:
    """Say which vocabulary a perplexity is of, and what its characters are."""
    msg.info(found.convention[0].upper() + found.convention[1:])
    if found.bits_per_character is not None:
        msg.info("Bits a character count the end of each word as a character")


def _refuse(settings: dict[str, object], owner: str, other: str) -> None:
    """Raise a ValueError if something is set that only another model or method has."""
    for name, value in settings.items():
        if value is not None:
            raise ValueError(f"--{name} is a setting of {owner}, but here is {other}.")
