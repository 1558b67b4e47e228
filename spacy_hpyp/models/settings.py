"""The settings of the models, besides their lists of elements and their rules for unknown words."""

from dataclasses import dataclass

from ..head_outward.states import BACK_OFFS, KINDS
from ..settings import TRUTH, Number, OneOf, Settings, Whole, setting
from ..text.vocabulary import AUTO, RARE_WORDS


@dataclass(frozen=True)
class PoolSettings(Settings):
    """How the weights of a pool's experts begin, and how they are learned."""

    first_weight: float = setting(1.5, Number(0.01, 100.0))
    weight_prior: float = setting(30.0, Number(0.0))
    # The symbols of gates are many and some are rare.
    gate_pace: float = setting(0.3, Number(0.001, 1000.0))


@dataclass(frozen=True)
class ModelSettings(PoolSettings):
    """All settings of `spacy-hpyp.HPYPModel.v1`."""

    seating: str = setting("sampled", OneOf(("sampled", "kneser-ney")))
    labelled: bool = setting(True, TRUTH)
    min_count: int = setting(2, Whole(0))
    min_class_count: int = setting(5, Whole(0))
    open_class_below: int = setting(50, Whole(0))
    rare_words: str = setting(AUTO, RARE_WORDS)
    spelling: bool = setting(False, TRUTH)


@dataclass(frozen=True)
class EstimatorSettings(PoolSettings):
    """All settings of `spacy-hpyp.HeadOutwardModel.v1`."""

    prior: str = setting("pitman-yor", OneOf(("eisner", "dirichlet", "pitman-yor")))
    counts: str = setting("sampled", OneOf(("sampled", "minimal")))
    hyperparameters: str = setting("sampled", OneOf(("sampled", "fixed")))
    discount: float = setting(0.5, Number(0.001, 0.999))
    uniform_roots: bool = setting(True, TRUTH)
    min_count: int = setting(2, Whole(0))
    min_class_count: int = setting(5, Whole(0))


@dataclass(frozen=True)
class ClassifierSettings(Settings):
    """All settings of `spacy-hpyp.EasyFirstSenter.v1`."""

    min_count: int = setting(2, Whole(0))
    min_class_count: int = setting(5, Whole(0))
    places: int = setting(2**22, Whole(2, 2**30))


@dataclass(frozen=True)
class TaggerModelSettings(ClassifierSettings):
    """All settings of `spacy-hpyp.EasyFirstTagger.v1`."""

    open_class_below: int = setting(50, Whole(0))


@dataclass(frozen=True)
class TreeModelSettings(Settings):
    """All settings of `spacy-hpyp.EasyFirstParser.v1`."""

    min_count: int = setting(2, Whole(0))
    min_class_count: int = setting(5, Whole(0))
    arc_places: int = setting(2**22, Whole(2, 2**30))
    label_places: int = setting(2**18, Whole(2, 2**30))


@dataclass(frozen=True)
class StateModelSettings(Settings):
    """All settings of `spacy-hpyp.LatentStates.v1`."""

    kind: str = setting("semantic", OneOf(KINDS))
    states: int = setting(50, Whole(1, 10_000))
    back_off: str = setting("state", OneOf(BACK_OFFS))
    min_count: int = setting(2, Whole(0))
    min_class_count: int = setting(5, Whole(0))
