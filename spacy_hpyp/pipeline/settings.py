"""The settings of the components: each is a line here, and a row of a table in docs/settings.md."""

from dataclasses import dataclass

from ..settings import HIGHEST_PARTICLES, NAME, SEED, TRUTH, Number, OneOf, Settings, Whole, setting

#: The tokens to learn, see `alignment.gold_sentences`.
TOKENS = OneOf(("tokenizer", "gold"))


@dataclass(frozen=True)
class ParserSettings(Settings):
    """Settings of `hpyp_parser`: parsing, limits of the search, training (B&B 2, 5.4)."""

    particles: int = setting(50, Whole(1, HIGHEST_PARTICLES))
    stack_penalty: float = setting(0.5, Number(0.0))
    future_cost: float = setting(1.0, Number(0.0, 1.0))
    decoding: str = setting("mbr", OneOf(("best", "mbr", "beam")))
    guides: bool = setting(False, TRUTH)
    # Lower temperatures give all but one derivation the probability 0, and higher ones give all the
    # same.
    temperature: float = setting(1.0, Number(0.01, 1000.0))
    threads: int = setting(2, Whole(1))
    predict_tags: bool = setting(True, TRUTH)
    tokens: str = setting("tokenizer", TOKENS)
    latent: str | None = setting(None, OneOf((None, "derivations", "parses")))
    latent_after: int = setting(10, Whole(0))
    contrast: int = setting(0, Whole(0))
    seed: int = setting(0, SEED)


@dataclass(frozen=True)
class AttributeSettings(Settings):
    """All settings of `easy_first_morphologizer` and `easy_first_lemmatizer`."""

    beam: int = setting(1, Whole(1, 10_000))
    threads: int = setting(2, Whole(1))


@dataclass(frozen=True)
class ClassifyingSettings(AttributeSettings):
    """All settings of `easy_first_tagger`, and those of `easy_first_senter` but for one."""

    tokens: str = setting("tokenizer", TOKENS)


@dataclass(frozen=True)
class SenterSettings(ClassifyingSettings):
    """All settings of `easy_first_senter`."""

    certainty: float = setting(0.0, Number(0.0))


@dataclass(frozen=True)
class EasyFirstParserSettings(Settings):
    """All settings of `easy_first_parser`."""

    beam: int = setting(8, Whole(1, 10_000))
    learning: str = setting("max-violation", OneOf(("early", "max-violation")))
    threads: int = setting(2, Whole(1))
    tokens: str = setting("tokenizer", TOKENS)
    folds: int = setting(10, Whole(0, 1000))
    seed: int = setting(0, SEED)


@dataclass(frozen=True)
class HeadOutwardSettings(Settings):
    """All settings of `head_outward_parser`."""

    decoding: str = setting("best", OneOf(("best", "mbr")))
    tokens: str = setting("tokenizer", TOKENS)
    threads: int = setting(1, Whole(1))
    seed: int = setting(0, SEED)


@dataclass(frozen=True)
class StateSettings(Settings):
    """All settings of `head_outward_states`."""

    seed: int = setting(0, SEED)


@dataclass(frozen=True)
class RerankerSettings(Settings):
    """All settings of `parse_reranker`."""

    source: str = setting("", NAME)
    k: int = setting(20, Whole(1, 1_000_000))
    decoding: str = setting("mbr", OneOf(("best", "mbr")))
    tokens: str = setting("tokenizer", TOKENS)
    threads: int = setting(1, Whole(1))
    seed: int = setting(0, SEED)
