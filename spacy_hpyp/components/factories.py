"""How components are made known to spaCy."""

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

#: What a component sets that finds trees.
TREES = ("token.dep", "token.head", "token.is_sent_start", "doc.sents", "token._.head_prob")
_OF_TREES = {"dep_las_per_type": None, "sents_p": None, "sents_r": None, "sents_f": 0.0}
#: How much the scores of a component count that finds trees, and of one that finds tags, too.
TREE_SCORES = {"dep_uas": 0.5, "dep_las": 0.5, **_OF_TREES}
TAG_AND_TREE_SCORES = {"tag_acc": 0.2, "dep_uas": 0.4, "dep_las": 0.4, **_OF_TREES}


@cache
def shipped_config(name: str) -> Config:
    """A config that comes with the package: in it, where that is installed, or beside it in the project."""
    folders = (Path(__file__).parents[1] / "configs", Path(__file__).parents[2] / "configs")
    path = next((folder / f"{name}.cfg" for folder in folders if (folder / f"{name}.cfg").exists()), None)
    if path is None:
        raise FileNotFoundError(
            f"The config '{name}' that comes with spacy-hpyp is not there: install the package again."
        )
    return Config().from_disk(path, interpolate=False)


@cache
def _defaults() -> Config:
    return Config().from_disk(Path(__file__).with_name("defaults.cfg"), interpolate=False)


def default_config(settings: type[Settings], factory: str) -> Config:
    """Return the settings of a component that no config sets: those of its class, and the model and scorer of
    `defaults.cfg`.
    """
    return Config({**asdict(settings()), **_defaults()[factory]})


def register(
    component: type[TrainableComponent],
    *,
    assigns: Sequence[str],
    requires: Sequence[str] = (),
    scores: dict[str, float | None],
    english: bool = True,
) -> Callable[..., TrainableComponent]:
    """Let `nlp.add_pipe` make a component, under the name that is its `factory`; and make its settings
    attributes.

    What no config says anything about `default_config` does.

    assigns, requires, scores: As `Language.factory` takes them.
    english (bool): Whether it is registered for English once more. A default config cannot refer to the
        language, but what classes unknown words have depends on it: the rule for English is another one than
        that for all other languages.
    RETURNS (Callable): What makes it, as an entry point of the package names it.
    """
    name, group = component.factory, component.settings_type
    attributes(group)(component)
    # What Python says of its class.
    component.__signature__ = signature(taking(group)(partial(component)))  # type: ignore[attr-defined]
    default = default_config(group, name)

    def make(
        nlp: Language, name: str, model: Model, *, scorer: Callable | None, **settings: Any
    ) -> TrainableComponent:
        return component(nlp.vocab, model, name, scorer=scorer, **component.settings_in(nlp, settings))

    def make_unscored(nlp: Language, name: str, model: Model, **settings: Any) -> TrainableComponent:
        return component(nlp.vocab, model, name, **component.settings_in(nlp, settings))

    function = taking(group)(make if "scorer" in default else make_unscored)
    known = {"assigns": assigns, "requires": requires, "default_score_weights": scores, "func": function}
    Language.factory(name, default_config=default, **known)
    if english:
        own = default.merge({"model": {"unknown_words": {"lang": "en"}}})
        English.factory(name, default_config=own, **known)
    return function
