"""The factories of all components, as spaCy finds them by the entry points of the package.

A component is imported when one is made: spaCy reads this module in every process, which need not
wait for Numba.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from spacy.lang.en import English
from spacy.language import Language
from spacy.pipeline import Pipe
from thinc.api import Config, Model

from ..memory import collecting_rarely
from ..settings import Settings, taking
from . import settings

_DEFAULTS = Config().from_disk(Path(__file__).with_name("defaults.cfg"), interpolate=False)
# The attributes that a parser sets.
_TREES = ("token.dep", "token.head", "token.is_sent_start", "doc.sents", "token._.head_prob")
_PROBABILITIES = ("token._.log_prob", "token._.surprisal", "span._.log_prob", "doc._.log_prob")
# The score weights of a parser, and of a parser that also predicts tags.
_OF_TREES = {"dep_las_per_type": None, "sents_p": None, "sents_r": None, "sents_f": 0.0}
_TREE_SCORES = {"dep_uas": 0.5, "dep_las": 0.5, **_OF_TREES}
_TAG_AND_TREE_SCORES = {"tag_acc": 0.2, "dep_uas": 0.4, "dep_las": 0.4, **_OF_TREES}
_MORPH_SCORES = {"pos_acc": 0.5, "morph_acc": 0.5, "morph_per_feat": None}


def _component(place: str) -> type[Any]:
    """Import a component, given its module in this folder and its name."""
    module, name = place.split(":")
    with collecting_rarely():
        return getattr(import_module(f".{module}", __package__), name)


def _trainable(
    factory: str,
    place: str,
    group: type[Settings],
    *,
    scores: dict[str, float | None],
    **uses: Sequence[str],
) -> Callable[..., Pipe]:
    """Register the factory of a component with a model. See `Language.factory`.

    A default config cannot refer to the language, but the classes of unknown words depend on it:
    those of English differ from those of all other languages. So there is a factory of its own for
    English.

    **uses: The attributes that it `assigns` and `requires`.
    """

    @taking(group)
    def make(
        nlp: Language, name: str, model: Model, scorer: Callable | None = None, **values: Any
    ) -> Pipe:
        return _component(place)(nlp.vocab, model, name, nlp=nlp, scorer=scorer, **values)

    default = Config({**asdict(group()), **_DEFAULTS[factory]})
    known = {"default_score_weights": scores, "func": make, **uses}
    Language.factory(factory, default_config=default, **known)
    if "unknown_words" in default["model"]:
        english = default.merge({"model": {"unknown_words": {"lang": "en"}}})
        English.factory(factory, default_config=english, **known)
    return make


make_hpyp_parser = _trainable(
    "hpyp_parser",
    "hpyp_parser:HPYPParser",
    settings.ParserSettings,
    assigns=["token.tag", *_TREES, "token._.tag_prob", *_PROBABILITIES, "doc._.guide"],
    scores=_TAG_AND_TREE_SCORES,
)
make_easy_first_senter = _trainable(
    "easy_first_senter",
    "word_classifiers:EasyFirstSenter",
    settings.SenterSettings,
    assigns=["token.is_sent_start", "doc.sents"],
    scores={"sents_f": 1.0, "sents_p": 0.0, "sents_r": 0.0},
)
make_easy_first_tagger = _trainable(
    "easy_first_tagger",
    "word_classifiers:EasyFirstTagger",
    settings.ClassifyingSettings,
    assigns=["token.tag"],
    scores={"tag_acc": 1.0},
)
make_easy_first_morphologizer = _trainable(
    "easy_first_morphologizer",
    "word_classifiers:EasyFirstMorphologizer",
    settings.AttributeSettings,
    assigns=["token.pos", "token.morph"],
    scores=_MORPH_SCORES,
)
make_easy_first_lemmatizer = _trainable(
    "easy_first_lemmatizer",
    "word_classifiers:EasyFirstLemmatizer",
    settings.AttributeSettings,
    assigns=["token.lemma"],
    scores={"lemma_acc": 1.0},
)
make_easy_first_parser = _trainable(
    "easy_first_parser",
    "easy_first_parser:EasyFirstParser",
    settings.EasyFirstParserSettings,
    assigns=_TREES,
    requires=["token.tag"],
    scores=_TREE_SCORES,
)
make_head_outward_parser = _trainable(
    "head_outward_parser",
    "head_outward_parser:HeadOutwardParser",
    settings.HeadOutwardSettings,
    assigns=[*_TREES, "span._.log_prob", "doc._.log_prob"],
    requires=["token.tag"],
    scores=_TREE_SCORES,
)
make_head_outward_states = _trainable(
    "head_outward_states",
    "head_outward_states:HeadOutwardStates",
    settings.StateSettings,
    assigns=["token._.latent_state"],
    scores={"words_log_prob": 1.0},
)
make_parse_combiner = _trainable(
    "parse_combiner",
    "parse_combiner:ParseCombiner",
    Settings,
    assigns=["token.tag", *_TREES, "token._.tag_prob"],
    requires=["doc._.hpyp_parses"],
    scores=_TAG_AND_TREE_SCORES,
)
make_arc_confidence = _trainable(
    "arc_confidence",
    "parse_combiner:ArcConfidence",
    Settings,
    assigns=["token.tag", *_TREES],
    requires=["doc._.hpyp_parses"],
    scores={},
)
make_parse_reranker = _trainable(
    "parse_reranker",
    "parse_reranker:ParseReranker",
    settings.RerankerSettings,
    assigns=_TREES,
    requires=["token.tag", "token.head", "token.dep"],
    scores=_TREE_SCORES,
)


@Language.factory("keep_parse", assigns=["doc._.hpyp_parses"], default_config={"name_of_parse": ""})
def make_keep_parse(nlp: Language, name: str, name_of_parse: str) -> Pipe:
    """Make a component that keeps a parse, by default under the name of the one before it."""
    return _component("parse_combiner:KeepParse")(name, name_of_parse=name_of_parse, nlp=nlp)


@Language.factory(
    "attribute_rules",
    assigns=["token.pos", "token.morph"],
    requires=["token.tag"],
    default_config={"scorer": {"@scorers": "spacy.morphologizer_scorer.v1"}},
    default_score_weights=_MORPH_SCORES,
)
def make_attribute_rules(nlp: Language, name: str, scorer: Callable | None) -> Pipe:
    """Make a component that looks up parts of speech and features."""
    return _component("attribute_rules:AttributeRules")(nlp.vocab, name, scorer=scorer)
