"""Extension attributes: probabilities of tokens, sentences and documents."""

import warnings
from collections.abc import Iterable
from functools import partial
from math import log
from typing import Any

import numpy as np
from spacy.attrs import IDX
from spacy.tokens import Doc, Span, Token

from .syntactic_words import to_word_doc, words_of_doc, words_of_token
from .user_data import (
    PARSES,
    SUMMED,
    WRITTEN,
    KeptParse,
    attribute_key,
    attribute_keys,
    kept_parses,
    remove,
    write_entries,
)

# The log-probability of a sentence, at its first token.
_SENTENCE = "sentence_log_prob"
# The component that has written probabilities without calibrating them.
_UNCALIBRATED = "uncalibrated_by"
_PROBABILITIES = ("head_prob", "tag_prob")


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
    component = _value(_UNCALIBRATED, token)
    if component is not None:
        # Python shows a text from this line only once.
        warnings.warn(
            f"The component '{component}' has not learned how sure it can be: 'head_prob' and 'tag_prob' are "
            "not calibrated, mostly too high. See docs/parser.md.",
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
            values = [data.get(attribute_key(_SENTENCE, each[0].idx)) for each in sentences]
    return None if None in values else sum(values, 0.0)


def _word_class(token: Token) -> str | None:
    from ..text.word_classes import classes_in, path_of

    classes = classes_in(token.vocab)
    return None if classes is None else path_of(classes, token.text)


def _kept_parses(doc: Doc) -> dict[str, KeptParse]:
    return kept_parses(to_word_doc(doc))


# Getters are functions of the module: spaCy sends them to the processes of `nlp.pipe`.
_ATTRIBUTES: dict[tuple[type, str], dict[str, Any]] = {
    (Token, "latent_state"): {"default": None},
    (Doc, "guide"): {"default": None},
    (Doc, PARSES): {"getter": _kept_parses},
    **{(Token, name): {"getter": partial(_value, name)} for name in SUMMED},
    **{(Token, name): {"getter": partial(_probability, name)} for name in _PROBABILITIES},
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
    """Register the extension attributes, once. They are None until a component writes them.

    log_prob (tokens, spans, documents; nats): The token's contribution to the log-probability of
        the text, summed over the beam. A `head_outward_parser` writes that of whole sentences.
    surprisal (the same; bits): -log2 of the ratio of two prefix probabilities, the sum of
        `surprisal_syntactic` and `surprisal_lexical` (Roark et al. 2009).
    head_prob, tag_prob (tokens): Probability that the arc without its label, and the tag, are
        right. Arcs may be lifted ones.
    sent_end_prob (tokens): Probability that a sentence ends with the token, by a learned tokenizer.
    word_class (tokens): Path to the class of the word, see `text.word_classes`; "" if it has none.
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
            f"Another package has registered {', '.join(taken)} already. If you need those of spacy-hpyp, "
            "remove them before it is imported.",
            stacklevel=1,
        )


def write_extensions(doc: Doc, token: np.ndarray, values: dict[str, np.ndarray]) -> None:
    """Write values of `WRITTEN` into a Doc. White space has the probability 1.

    token (int64[words]): The positions of the words.
    values (dict[str, float64[words]]): By attribute; NaN is not written.
    """
    forget_all(doc)
    offsets = doc.to_array(IDX).tolist()
    for name in WRITTEN:
        unknown = name in _PROBABILITIES or bool(np.isnan(values[name]).any())
        column = np.full(len(doc), None if unknown else 0.0, dtype=object)
        column[token] = np.where(np.isnan(values[name]), None, values[name])
        found = zip(attribute_keys(name, offsets), column.tolist())
        doc.user_data.update((key, value) for key, value in found if value is not None)


def write_probability(doc: Doc, token: np.ndarray, name: str, values: np.ndarray) -> None:
    """Write a probability of words.

    token (int64[words]): The positions of the words.
    name (str): The attribute. With "head_prob", the component counts as calibrated.
    values (float64[words]): Probabilities; NaN for unknown ones.
    """
    if name == "head_prob":
        remove(doc.user_data, (_UNCALIBRATED,))
    write_entries(doc, name, np.where(np.isnan(values), None, values).tolist(), token)


def mark_uncalibrated(docs: Iterable[Doc], component: str) -> None:
    """Let readers of probabilities be warned that a component has not calibrated them."""
    for doc in docs:
        write_entries(doc, _UNCALIBRATED, [component] * len(doc))


def write_sentence_probabilities(doc: Doc, starts: np.ndarray, values: np.ndarray) -> None:
    """Write log-probabilities of whole sentences in the place of those of tokens.

    starts (int64[sentences]): The first token of each.
    values (float64[sentences]): In nats.
    """
    remove(doc.user_data, (_SENTENCE, *SUMMED))
    write_entries(doc, _SENTENCE, values.tolist(), starts)


def forget_probabilities(doc: Doc) -> None:
    """Forget the probabilities of arcs and tags."""
    remove(doc.user_data, (*_PROBABILITIES, _UNCALIBRATED))


def forget_all(doc: Doc) -> None:
    """Forget all probabilities and surprisals."""
    remove(doc.user_data, (_SENTENCE, _UNCALIBRATED, *WRITTEN))


def bits(nats: np.ndarray) -> np.ndarray:
    """Convert log-probabilities in nats to surprisals."""
    return -nats / log(2.0) + 0.0
