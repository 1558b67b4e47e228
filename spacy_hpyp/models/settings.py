"""The settings of the models, except lists of elements and rules for unknown words."""

from dataclasses import dataclass

from ..head_outward.states import KINDS
from ..settings import TRUTH, Number, OneOf, Possible, Settings, Whole, setting

_PLACES = Possible(
    "a power of two of at least 2 and at most 2^30",
    lambda value: value in Whole(2, 2**30) and int(value).bit_count() == 1,
)


@dataclass(frozen=True)
class ModelSettings(Settings):
    """All settings of `spacy-hpyp.HPYPModel.v1`."""

    seating: str = setting("sampled", OneOf(("sampled", "kneser-ney")))
    labelled: bool = setting(True, TRUTH)
    min_count: int = setting(2, Whole(0))
    min_class_count: int = setting(5, Whole(0))
    open_class_below: int = setting(50, Whole(0))
    spelling: bool = setting(False, TRUTH)


@dataclass(frozen=True)
class EstimatorSettings(Settings):
    """All settings of `spacy-hpyp.HeadOutwardModel.v1`."""

    prior: str = setting("pitman-yor", OneOf(("eisner", "dirichlet", "pitman-yor")))
    counts: str = setting("sampled", OneOf(("sampled", "minimal")))
    hyperparameters: str = setting("sampled", OneOf(("sampled", "fixed")))
    discount: float = setting(0.5, Number(0.001, 0.999))
    uniform_roots: bool = setting(True, TRUTH)
    min_count: int = setting(2, Whole(0))


@dataclass(frozen=True)
class ClassifierSettings(Settings):
    """All settings of the easy-first tagger, senter, morphologizer and lemmatizer models."""

    min_count: int = setting(2, Whole(0))
    places: int = setting(2**22, _PLACES)


@dataclass(frozen=True)
class TreeModelSettings(Settings):
    """All settings of `spacy-hpyp.EasyFirstParser.v1`."""

    min_count: int = setting(2, Whole(0))
    arc_places: int = setting(2**22, _PLACES)
    label_places: int = setting(2**18, _PLACES)


@dataclass(frozen=True)
class StateModelSettings(Settings):
    """All settings of `spacy-hpyp.LatentStates.v1`."""

    kind: str = setting("semantic", OneOf(KINDS))
    states: int = setting(50, Whole(1, 10_000))
    min_count: int = setting(2, Whole(0))
