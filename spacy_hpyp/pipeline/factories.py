"""Registration of components with spaCy, and their defaults."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import Any

from spacy.lang.en import English
from spacy.language import Language
from thinc.api import Config, Model

from ..settings import Settings, attributes, taking
from .base import TrainableComponent

#: The attributes that a parser sets.
TREES = ("token.dep", "token.head", "token.is_sent_start", "doc.sents", "token._.head_prob")
_OF_TREES = {"dep_las_per_type": None, "sents_p": None, "sents_r": None, "sents_f": 0.0}
#: The score weights of a parser, and of one that finds tags, too.
TREE_SCORES = {"dep_uas": 0.5, "dep_las": 0.5, **_OF_TREES}
TAG_AND_TREE_SCORES = {"tag_acc": 0.2, "dep_uas": 0.4, "dep_las": 0.4, **_OF_TREES}


def shipped_config(name: str) -> Config:
    """Return a config of the project, from the installed package or from the project's folder."""
    package = Path(__file__).parents[1]
    folder = next(
        each for each in (package / "configs", package.parent / "configs") if each.is_dir()
    )
    return Config().from_disk(folder / f"{name}.cfg", interpolate=False)


@cache
def _defaults() -> Config:
    return Config().from_disk(Path(__file__).with_name("defaults.cfg"), interpolate=False)


def default_config(settings: type[Settings], factory: str) -> Config:
    """Return the defaults of a component: those of its settings and of `defaults.cfg`."""
    return Config({**asdict(settings()), **_defaults()[factory]})


def register(
    component: type[TrainableComponent],
    *,
    assigns: Sequence[str],
    requires: Sequence[str] = (),
    scores: dict[str, float | None],
) -> Callable[..., TrainableComponent]:
    """Register the factory of a component, and make its settings attributes.

    A default config cannot refer to the language, but the classes of unknown words depend on it:
    those of English differ from those of all other languages. So there is a factory of its own for
    English.

    assigns, requires, scores: See `Language.factory`.
    RETURNS (Callable): The factory, which an entry point of the package names.
    """
    name, group = component.factory, component.settings_type
    attributes(group)(component)
    component.__signature__ = signature(taking(group)(partial(component)))  # type: ignore[attr-defined]
    default = default_config(group, name)

    def make(
        nlp: Language, name: str, model: Model, *, scorer: Callable | None, **settings: Any
    ) -> TrainableComponent:
        return component(nlp.vocab, model, name, nlp=nlp, scorer=scorer, **settings)

    def make_unscored(
        nlp: Language, name: str, model: Model, **settings: Any
    ) -> TrainableComponent:
        return component(nlp.vocab, model, name, nlp=nlp, **settings)

    function = taking(group)(make if "scorer" in default else make_unscored)
    known = {
        "assigns": assigns,
        "requires": requires,
        "default_score_weights": scores,
        "func": function,
    }
    Language.factory(name, default_config=default, **known)
    if "unknown_words" in default["model"]:
        own = default.merge({"model": {"unknown_words": {"lang": "en"}}})
        English.factory(name, default_config=own, **known)
    return function
