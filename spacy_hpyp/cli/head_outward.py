"""`hpyp papers head-outward`: what estimators of head-outward models are worth on a treebank."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from spacy.util import get_lang_class

from ..components.corpus import create_gold_corpus
from ..components.head_outward_parser import HeadOutwardParser
from ..settings import whole
from .evaluate import give_tags
from .options import Data, Json, Lang, TrainData, option
from .output import print_table, save_json
from .progress import Bar
from .raw_text import read_corpus

_FACTORY = "head_outward_parser"


@dataclass(frozen=True)
class Estimator:
    """How probabilities are estimated from counts; see `spacy_hpyp.models.settings.EstimatorSettings`."""

    prior: str
    counts: str
    hyperparameters: str

    @property
    def is_fixed(self) -> bool:
        """Whether nothing is sampled, so that one sweep is as good as many."""
        return self.prior == "eisner" or (self.counts == "minimal" and self.hyperparameters == "fixed")


#: Those of Wallach, Sutton & McCallum (2008); raw counts, which come first, have neither a seating nor anything to be sampled.
ESTIMATORS = (
    Estimator("eisner", "minimal", "fixed"),
    *(
        Estimator(prior, counts, hyperparameters)
        for prior in ("dirichlet", "pitman-yor")
        for counts in ("minimal", "sampled")
        for hyperparameters in ("fixed", "sampled")
    ),
)


@dataclass(frozen=True)
class Accuracy:
    """The parse accuracy of an estimator.

    estimator (Estimator): Which it is.
    dep_uas (float): The part of the words whose heads are right, punctuation left out.
    errors_fewer (float | None): By what part wrong heads are fewer than Eisner's; None if those are none.
    token_log_prob (float): The log-probability of a sentence's words and tags, summed over all projective trees, for each word in nats.
    """

    estimator: Estimator
    dep_uas: float
    errors_fewer: float | None
    token_log_prob: float


def head_outward(
    train_path: TrainData,
    dev_path: Data,
    *,
    output: Json = None,
    lang: Lang = "en",
    sweeps: Annotated[int, option("Gibbs sweeps over the training data, where anything is sampled")] = 10,
    decoding: Annotated[str, option("best, the paper's, or mbr")] = "best",
    tags_from: Annotated[
        str | None, option("Parse with the tags of this pipeline's tagger, as the paper does, instead of gold tags")
    ] = None,
    seed: Annotated[int, option("Fixes the figures")] = 0,
    threads: Annotated[int, option("Threads; the figures do not depend on it", "--threads -t")] = 1,
) -> list[Accuracy]:
    """Compare the estimators of Wallach, Sutton & McCallum (2008): Eisner's, and hierarchical Dirichlet and Pitman-Yor processes.

    Each is trained on gold tokens, tags and trees, with the paper's context lists, and parses gold sentences with gold tags, or those of
    a tagger. UAS leaves punctuation out; "errors" is by how much wrong heads are fewer than with Eisner's estimator.
    """
    how = {"decoding": decoding, "seed": seed}
    figures = _compared(train_path, dev_path, lang, whole("sweeps", sweeps), tags_from, {**how, "threads": threads})
    found = list(Bar(figures, total=len(ESTIMATORS), unit=" models"))
    header = ("prior", "counts", "hyperparameters", "UAS", "errors", "log prob")
    print_table(header, map(_row, found), "Gold sentences", left=3)
    save_json(output, {"sweeps": sweeps, **how, "models": list(map(_flat, found))}, "results")
    return found


def _row(accuracy: Accuracy) -> tuple[str, ...]:
    estimator, fewer = accuracy.estimator, accuracy.errors_fewer
    figures = f"{100 * accuracy.dep_uas:.2f}", "" if fewer is None else f"{-100 * fewer:+.1f} %"
    log_prob = f"{accuracy.token_log_prob:.4f}"
    if estimator.prior == "eisner":
        # Raw counts know neither, and are what the others are compared with.
        return estimator.prior, "", "", figures[0], "", log_prob
    return estimator.prior, estimator.counts, estimator.hyperparameters, *figures, log_prob


def _flat(accuracy: Accuracy) -> dict[str, Any]:
    figures = asdict(accuracy)
    return {**figures.pop("estimator"), **figures}


def _compared(
    train_path: Path, dev_path: Path, lang: str, sweeps: int, tags_from: str | None, settings: dict[str, Any]
) -> Iterator[Accuracy]:
    """Train and evaluate a head-outward model with each of `ESTIMATORS`, one after the other."""
    nlp = get_lang_class(lang)()
    examples = read_corpus(train_path, nlp, tokens="gold")
    if not examples:
        raise ValueError(f"There is no document in '{train_path}'.")
    read_dev: Callable = create_gold_corpus(dev_path, gold_tags=True)
    if not any(True for _ in read_dev(nlp)):
        raise ValueError(f"There is nothing to parse in '{dev_path}'.")
    wrong_before = None
    for estimator in ESTIMATORS:
        parser = nlp.add_pipe(_FACTORY, config={**settings, "tokens": "gold", "model": asdict(estimator)})
        assert isinstance(parser, HeadOutwardParser)
        parser.initialize(lambda: examples, nlp=nlp)
        for _ in range(1 if estimator.is_fixed else sweeps):
            parser.update(examples)
        gold = list(read_dev(nlp))
        if tags_from is not None:
            give_tags(gold, tags_from)
        docs = list(parser.pipe(example.predicted for example in gold))
        uas = parser.score(gold)["dep_uas"]
        if uas is None:
            raise ValueError(f"There is nothing to compare with in '{dev_path}': no token has a gold head.")
        wrong = 1.0 - uas
        wrong_before = wrong if wrong_before is None else wrong_before
        fewer = 1.0 - wrong / wrong_before if wrong_before else None
        words = sum(not token.is_space for doc in docs for token in doc)
        yield Accuracy(estimator, uas, fewer, sum(doc._.log_prob for doc in docs) / words)
        nlp.remove_pipe(_FACTORY)
