"""What the commands have in common that mix a parser with an n-gram model."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ..components.hpyp_parser import HPYPParser
from ..inference.rounding import Search
from ..language_model.interpolation import Interpolation
from ..language_model.ngram import NGramModel, UnknownRuleError


def load_interpolation(
    parser: HPYPParser,
    ngrams: Path,
    weights_from: Path | None,
    read: Callable[[Path], Iterable[Sequence[str]]],
    *,
    search: Search,
) -> Interpolation:
    """The mixture that the options of a command say.

    parser (HPYPParser): The pipeline's.
    ngrams (Path): The file of the n-gram model.
    weights_from (Path | None): Held-out sentences, or the file of weights, which ends with .json.
    read (Callable): Reads the sentences of a file.
    search (Search): How the parser searches in held-out sentences.
    RAISES (ValueError): If there are no weights, or a file cannot be used.
    """
    if weights_from is None:
        raise ValueError(
            "A mixture needs weights: give sentences that neither model has learned from, or weights that have been saved, "
            "with --weights-from."
        )
    try:
        model = NGramModel.from_disk(ngrams)
    except UnknownRuleError:
        # The words of a mixture are numbered by the parser, whose rule has been loaded with the pipeline.
        model = NGramModel.from_disk(ngrams, unknown_words=parser.joint.vocabulary.rule)
    if weights_from.suffix == ".json":
        return Interpolation.from_disk(weights_from, parser.joint, model)
    return Interpolation.learn(parser.joint, model, read(weights_from), search, threads=parser.threads)


def refuse(settings: dict[str, object], owner: str, other: str) -> None:
    """See that nothing is set that only another model or method has.

    RAISES (ValueError): If something is.
    """
    for name, value in settings.items():
        if value is not None:
            raise ValueError(f"--{name} is a setting of {owner}, but here is {other}.")
