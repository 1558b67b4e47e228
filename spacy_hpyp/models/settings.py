"""The settings of the models, besides their lists of elements and their rules for unknown words."""

from dataclasses import dataclass

from ..head_outward.states import KINDS
from ..settings import TRUTH, Number, OneOf, Settings, Whole, setting


@dataclass(frozen=True)
class ModelSettings(Settings):
    """All settings of `spacy-hpyp.HPYPModel.v1`."""

    seating: str = setting(
        "sampled",
        OneOf(("sampled", "kneser-ney")),
        '`"sampled"`, Gibbs sampling as in the paper, or `"kneser-ney"`, at most one table for each dish in '
        "a restaurant, which "
        "pools better",
    )
    labelled: bool = setting(True, TRUTH, "`false` gives all arcs the same label")
    min_count: int = setting(2, Whole(0), "rarer words are known by their class")
    min_class_count: int = setting(5, Whole(0), "rarer classes are known by a more general one")
    open_class_below: int = setting(50, Whole(0), "rarer words may have any open-class tag")
    spelling: bool = setting(
        False,
        TRUTH,
        "rare words are spelled out: the log-probability of a word that is known by its class has that of "
        "its letters in it (an open "
        "vocabulary). A model that was trained with `false` goes on with it",
    )


@dataclass(frozen=True)
class EstimatorSettings(Settings):
    """All settings of `spacy-hpyp.HeadOutwardModel.v1`."""

    prior: str = setting(
        "pitman-yor",
        OneOf(("eisner", "dirichlet", "pitman-yor")),
        '`"pitman-yor"` or `"dirichlet"`: hierarchical processes; `"eisner"`: raw counts at every level, '
        "smoothed with the constants "
        "3 and 0.5",
    )
    counts: str = setting(
        "sampled",
        OneOf(("sampled", "minimal")),
        'what a coarser context counts: `"sampled"`, the tables of a seating that Gibbs sampling finds, or '
        '`"minimal"`, one for each '
        "finer context that an outcome was seen in; raw counts are neither",
    )
    hyperparameters: str = setting(
        "sampled",
        OneOf(("sampled", "fixed")),
        '`"sampled"` by slices, after each sweep; `"fixed"`: `discount`, and Eisner\'s constants as '
        "strengths",
    )
    discount: float = setting(
        0.5,
        Number(0.001, 0.999),
        "the discount of Pitman-Yor processes, if it is fixed, and the first otherwise",
    )
    uniform_roots: bool = setting(
        True,
        TRUTH,
        "the shortest context but the empty one is smoothed by a uniform distribution, as the paper's are",
    )
    min_count: int = setting(2, Whole(0), "rarer words are known by their class")


@dataclass(frozen=True)
class ClassifierSettings(Settings):
    """All settings of the models of `easy_first_senter`, `_tagger`, `_morphologizer` and `_lemmatizer`."""

    min_count: int = setting(2, Whole(0), "rarer words are known by their class")
    places: int = setting(
        2**22,
        Whole(2, 2**30),
        "the size of the table of weights, a power of two; each place takes 12 bytes in training",
    )


@dataclass(frozen=True)
class TreeModelSettings(Settings):
    """All settings of `spacy-hpyp.EasyFirstParser.v1`."""

    min_count: int = setting(2, Whole(0), "rarer words are known by their class")
    arc_places: int = setting(
        2**22,
        Whole(2, 2**30),
        "the size of the table of the weights of actions, a power of two; each place takes 24 bytes in "
        "training",
    )
    label_places: int = setting(
        2**18,
        Whole(2, 2**30),
        "the size of the table of the weights of labels, a power of two; each place takes 12 bytes for each "
        "label",
    )


@dataclass(frozen=True)
class StateModelSettings(Settings):
    """All settings of `spacy-hpyp.LatentStates.v1`."""

    kind: str = setting(
        "semantic",
        OneOf(KINDS),
        'what a state depends on: `"syntactic"`, the parent word; `"semantic"`, the document; `"lda"`, the '
        "document, and words "
        'do not depend on parents; `"dependencies"`: there are no states, words depend on parents alone',
    )
    states: int = setting(50, Whole(1, 10_000), 'how many states there are; 1 for `"dependencies"`')
    min_count: int = setting(2, Whole(0), "rarer words are known by their class")
