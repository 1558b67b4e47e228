"""What the factories of components are registered with."""

from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path

from spacy.lang.en import English
from spacy.language import Language
from thinc.api import Config

from ..settings import Settings

#: Which config that comes with the package says what a component is made of; `defaults.cfg` says it of the others.
_SHIPPED = {
    "hpyp_parser": "pool",
    "easy_first_senter": "easy_first",
    "easy_first_tagger": "easy_first",
    "easy_first_parser": "easy_first",
    "parse_reranker": "reranked",
}


@cache
def _config(name: str) -> Config:
    """A config that comes with the package: in it, where that is installed, or beside it in the project."""
    folders = (Path(__file__).parents[1] / "configs", Path(__file__).parents[2] / "configs")
    path = next((folder / f"{name}.cfg" for folder in folders if (folder / f"{name}.cfg").exists()), None)
    if path is None:
        raise FileNotFoundError(
            f"The config '{name}' that comes with spacy-hpyp is not there: install the package again."
        )
    return Config().from_disk(path, interpolate=False)


def default_config(settings: type[Settings], factory: str) -> Config:
    """What a component is made of that no config says anything about: its settings, and the scorer and the model of the config that comes
    with the package.

    settings (type[Settings]): Those of the component.
    factory (str): Its name.
    """
    if factory in _SHIPPED:
        component = _config(_SHIPPED[factory])["components"][factory]
        # Of the language of the pipeline nothing is known yet.
        shipped = Config(component).merge({"model": {"unknown_words": {"lang": "xx"}}})
    else:
        shipped = Config().from_disk(Path(__file__).with_name("defaults.cfg"))[factory]
    return Config({**asdict(settings()), **{name: shipped[name] for name in ("scorer", "model") if name in shipped}})


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
