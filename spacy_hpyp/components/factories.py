"""What the factories of components are registered with."""

from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path

from spacy.lang.en import English
from spacy.language import Language
from thinc.api import Config

from ..settings import Settings


@cache
def _defaults() -> Config:
    return Config().from_disk(Path(__file__).with_name("defaults.cfg"))


def default_config(settings: type[Settings], factory: str) -> Config:
    """What a component is made of that no config says anything about: its settings, its scorer and its model.

    settings (type[Settings]): Those of the component.
    factory (str): Its section of `defaults.cfg`.
    """
    return Config({**asdict(settings()), **_defaults()[factory]})


def register_for_english(factory: str, default: Config, function: Callable) -> None:
    """Register a factory for English once more. A default config cannot refer to the language, but what classes unknown words have depends
    on it: the rule for English is another one than that for all other languages.

    factory (str): The name under which it is registered for all languages.
    default (Config), function (Callable): With what it is.
    """
    meta = Language.get_factory_meta(factory)
    English.factory(
        factory,
        assigns=meta.assigns,
        requires=meta.requires,
        default_config=default.merge({"model": {"unknown_words": {"lang": "en"}}}),
        default_score_weights=meta.default_score_weights,
        func=function,
    )
