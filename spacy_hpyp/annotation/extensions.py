"""Extension attributes: probabilities of tokens, sentences and documents."""

import warnings
from collections.abc import Iterable
from functools import partial
from typing import Any

from spacy.tokens import Doc, Span, Token

from .syntactic_words import to_word_doc, words_of_doc, words_of_token
from .user_data import (
    PARSES,
    PROBABILITIES,
    SENTENCE,
    SUMMED,
    UNCALIBRATED,
    KeptParse,
    attribute_key,
    attribute_keys,
    kept_parses,
)


def _value(name: str, token: Token) -> Any:
    """Return a value of a token: of a merged one, the sum if it is one of `SUMMED`, else None."""
    data, first = token.doc.user_data, token.idx
    value = data.get(attribute_key(name, first))
    if value is None or len(token) == 1:
        return value
    keys = attribute_keys(name, range(first + 1, first + len(token)))
    rest = [data[key] for key in keys if key in data]
    return value if not rest else value + sum(rest) if name in SUMMED else None


def _probability(name: str, token: Token) -> Any:
    component = _value(UNCALIBRATED, token)
    if component is not None:
        # Python shows the same warning from this line only once.
        warnings.warn(
            f"'head_prob' and 'tag_prob' of the component '{component}' are not calibrated, mostly "
            "too high. See docs/parser.md.",
            stacklevel=1,
        )
    return _value(name, token)


def probabilities_of(name: str, tokens: Iterable[Token]) -> list[float | None]:
    """Return "head_prob" or "tag_prob" of tokens, faster than by `token._`."""
    return [_probability(name, token) for token in tokens]


def _surprisal(token: Token) -> float | None:
    parts = _value("surprisal_lexical", token), _value("surprisal_syntactic", token)
    return None if None in parts else sum(parts)


def _sum_of_tokens(name: str, tokens: Doc | Span) -> float | None:
    values = [_surprisal(token) if name == "surprisal" else _value(name, token) for token in tokens]
    if None in values and name == "log_prob":
        # A parser may write log-probabilities of whole sentences only.
        sentences = list(tokens.sents) if tokens[0].doc.has_annotation("SENT_START") else []
        if sum(map(len, sentences)) == len(tokens):
            data = tokens[0].doc.user_data
            values = [data.get(attribute_key(SENTENCE, each[0].idx)) for each in sentences]
    return None if None in values else sum(values, 0.0)


def _word_class(token: Token) -> str | None:
    from ..text.word_classes import classes_in, path_of

    classes = classes_in(token.vocab)
    return None if classes is None else path_of(classes, token.text)


def _kept_parses(doc: Doc) -> dict[str, KeptParse]:
    return kept_parses(to_word_doc(doc))


# Getters are module-level functions: spaCy sends them to the processes of `nlp.pipe`.
_ATTRIBUTES: dict[tuple[type, str], dict[str, Any]] = {
    (Token, "latent_state"): {"default": None},
    (Doc, "guide"): {"default": None},
    (Doc, PARSES): {"getter": _kept_parses},
    **{(Token, name): {"getter": partial(_value, name)} for name in SUMMED},
    **{(Token, name): {"getter": partial(_probability, name)} for name in PROBABILITIES},
    (Token, "surprisal"): {"getter": _surprisal},
    (Token, "sent_end_prob"): {"default": None},
    (Token, "word_class"): {"getter": _word_class},
    (Token, "ud_words"): {"getter": words_of_token},
    (Doc, "ud_words"): {"getter": words_of_doc},
    **{
        (owner, name): {"getter": partial(_sum_of_tokens, name)}
        for owner in (Doc, Span)
        for name in (*SUMMED, "surprisal")
    },
}


def register_extensions() -> None:
    """Register the extension attributes, once. Values that no component has written are None.

    log_prob (tokens, spans, documents; nats): The token's contribution to the log-probability of
        the text, summed over the beam. A `head_outward_parser` writes that of whole sentences.
    surprisal (the same; bits): -log2 of the ratio of two prefix probabilities, the sum of
        `surprisal_syntactic` and `surprisal_lexical` (Roark et al. 2009).
    head_prob, tag_prob (tokens): Probability that the arc without its label, and the tag, are
        right. Arcs may be lifted ones. Reading uncalibrated probabilities warns.
    sent_end_prob (tokens): Probability that a sentence ends with the token, by a learned tokenizer.
    word_class (tokens): Path to its class (`text.word_classes`); "" if none, None without classes.
    latent_state (tokens): Latent state, by `head_outward_states`.
    ud_words (tokens, documents): See `annotation.syntactic_words`.
    guide, hpyp_parses (documents): See `annotation.guides` and `annotation.user_data`.

    An attribute that another package has registered is left to it, with a warning.
    """
    taken = []
    for (owner, name), attribute in _ATTRIBUTES.items():
        if not owner.has_extension(name):
            owner.set_extension(name, **attribute)
        else:
            taken.append(f"{owner.__name__.lower()}._.{name}")
    if taken:
        warnings.warn(
            f"Another package has registered {', '.join(taken)} already. To use those of "
            "spacy-hpyp, remove them before you import it.",
            stacklevel=1,
        )
