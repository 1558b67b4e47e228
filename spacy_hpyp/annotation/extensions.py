"""Extension attributes: probabilities of tokens, sentences and documents."""

import warnings
from collections.abc import Iterable
from functools import partial
from math import log
from typing import Any

import numpy as np
from spacy.attrs import IDX
from spacy.tokens import Doc, Span, Token

from ..text.word_classes import classes_in, path_of
from .syntactic_words import words_as_tokens, words_of_doc, words_of_token
from .user_data import (
    SENTENCE,
    SUMMED,
    WRITTEN,
    attribute_key,
    attribute_keys,
    kept_parses,
    remove,
    write_entries,
)

# What a tokenizer believes.
_SENT_END = "sent_end_prob"
# The component that has written a probability without having learned how sure it can be.
_UNCALIBRATED = "uncalibrated_by"
_PROBABILITIES = ("head_prob", "tag_prob")
_OF_PARSERS = frozenset({SENTENCE, _UNCALIBRATED, *WRITTEN})


def _value(name: str, token: Token) -> Any:
    """Return a value of a token: of one that was merged, the sum if it is one of `SUMMED`, else
    None.
    """
    data, first = token.doc.user_data, token.idx
    value = data.get(attribute_key(name, first))
    if value is None or len(token) == 1:
        return value
    rest = [
        data[key]
        for key in attribute_keys(name, range(first + 1, first + len(token)))
        if key in data
    ]
    return value if not rest else value + sum(rest) if name in SUMMED else None


def _word_class(token: Token) -> str | None:
    classes = classes_in(token.vocab)
    return None if classes is None else path_of(classes, token.text)


def _probability(name: str, token: Token) -> Any:
    component = _value(_UNCALIBRATED, token)
    if component is not None:
        # Python shows a text that it has shown from here no second time.
        warnings.warn(
            f"The component '{component}' has not learned how sure it can be: 'head_prob' and 'tag_prob' are "
            "not calibrated, mostly too high. See docs/parser.md.",
            stacklevel=1,
        )
    return _value(name, token)


def probabilities_of(name: str, tokens: Iterable[Token]) -> list[float | None]:
    """Return "head_prob" or "tag_prob" of tokens, faster than by `token._`."""
    return [_probability(name, token) for token in tokens]


def _sum_of_tokens(name: str, tokens: Doc | Span) -> float | None:
    values = [_surprisal(token) if name == "surprisal" else _value(name, token) for token in tokens]
    if None not in values:
        return sum(values, 0.0)
    return _sum_of_sentences(tokens) if name == "log_prob" else None


def _sum_of_sentences(tokens: Doc | Span) -> float | None:
    """Return the log-probability of whole sentences, where a parser writes theirs and not those of
    tokens.
    """
    total, end = 0.0, None
    for token in tokens:
        if end is None or token.idx >= end:
            # What is not the beginning of a sentence has none.
            found = token.doc.user_data.get(attribute_key(SENTENCE, token.idx))
            if found is None:
                return None
            total, end = total + found[0], token.idx + found[1]
    return total if end is None or end == token.idx + len(token.text_with_ws) else None


def _surprisal(token: Token) -> float | None:
    parts = _value("surprisal_lexical", token), _value("surprisal_syntactic", token)
    return None if None in parts else sum(parts)


def _parses(doc: Doc) -> Any:
    return kept_parses(words_as_tokens(doc))


_ATTRIBUTES: dict[tuple[type, str], dict[str, Any]] = {
    (Token, "state"): {"default": None},
    (Doc, "guide"): {"default": None},
    (Doc, "parses"): {"getter": _parses},
    **{
        (Token, name): {"getter": partial(_probability if name in _PROBABILITIES else _value, name)}
        for name in WRITTEN
    },
    (Token, "surprisal"): {"getter": _surprisal},
    (Token, _SENT_END): {"default": None},
    (Token, "word_class"): {"getter": _word_class},
    (Token, "words"): {"getter": words_of_token},
    (Doc, "words"): {"getter": words_of_doc},
    **{
        (owner, name): {"getter": partial(_sum_of_tokens, name)}
        for owner in (Doc, Span)
        for name in ("log_prob", "surprisal", "surprisal_lexical", "surprisal_syntactic")
    },
}
_registered: set[tuple[type, str]] = set()


def register_extensions() -> None:
    """Register the extension attributes. They are None until a component writes them; see
    docs/parser.md.

    log_prob (of tokens, spans and documents, in nats): Contribution of a token to the
        log-probability of the text, summed over the beam; for several tokens the sum. After a
        `head_outward_parser`, of whole sentences only.
    surprisal (the same, in bits): Minus the binary log of the ratio of two prefix probabilities:
        the sum of `surprisal_syntactic` and `surprisal_lexical` (Roark et al. 2009).
    head_prob, tag_prob (of tokens): Probability that the arc without its label, and the tag, are
        right. Arcs may be lifted ones.
    guide, parses (of documents), words (of both): See `annotation.guides`, `written` and
    `syntactic_words`. word_class (of tokens): The path to the class of the word, see
    `text.word_classes`; "" for none. sent_end_prob (of tokens): Probability that a sentence ends
    with the token, by a learned tokenizer. state (of tokens): Latent state, by
    `head_outward_states`.

    Attributes that another package has registered are left to it, with a warning.
    """
    taken = []
    for (owner, name), attribute in _ATTRIBUTES.items():
        if not owner.has_extension(name):
            owner.set_extension(name, **attribute)
            _registered.add((owner, name))
        elif (owner, name) not in _registered:
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
        unknown = name in ("head_prob", "tag_prob") or bool(np.isnan(values[name]).any())
        column = np.full(len(doc), None if unknown else 0.0, dtype=object)
        column[token] = np.where(np.isnan(values[name]), None, values[name])
        found = zip(attribute_keys(name, offsets), column.tolist())
        doc.user_data.update((key, value) for key, value in found if value is not None)


def write_head_probability(doc: Doc, token: np.ndarray, values: np.ndarray) -> None:
    """Write probabilities of arcs in the place of another parser's, see `write_probability`."""
    forget_probabilities(doc, _UNCALIBRATED)
    write_probability(doc, token, "head_prob", values)


def mark_uncalibrated(docs: Iterable[Doc], component: str) -> None:
    """Have readers of probabilities warned that this component has not calibrated them."""
    for doc in docs:
        write_entries(doc, _UNCALIBRATED, [component] * len(doc))


def write_probability(doc: Doc, token: np.ndarray, name: str, values: np.ndarray) -> None:
    """Write a probability of words.

    token (int64[words]): The positions of the words.
    name (str): The attribute: "tag_prob" or "sent_end_prob".
    values (float64[words]): Probabilities; NaN for unknown ones.
    """
    write_entries(doc, name, np.where(np.isnan(values), None, values).tolist(), token)


def write_sentence_probabilities(doc: Doc, starts: np.ndarray, values: np.ndarray) -> None:
    """Write the log-probabilities of whole sentences in the place of those of tokens.

    starts (int64[sentences]): The first token of each; white space belongs to the sentence before
    it. values (float64[sentences]): In nats.
    """
    remove(doc.user_data, _OF_PARSERS - {"head_prob", "tag_prob", _UNCALIBRATED})
    offsets = doc.to_array(IDX).view(np.int64)[starts]
    lengths = np.diff(offsets, append=doc[-1].idx + len(doc[-1].text_with_ws) if len(doc) else 0)
    write_entries(doc, SENTENCE, [*zip(values.tolist(), lengths.tolist())], starts)


def write_states(doc: Doc, token: np.ndarray, states: np.ndarray) -> None:
    """Write latent states (int64[words]) into a Doc.

    token (int64[words]): The positions of the words.
    """
    remove(doc.user_data, {"state"})
    write_entries(doc, "state", states.tolist(), token)


def forget_all(doc: Doc) -> None:
    """Forget all probabilities and surprisals."""
    remove(doc.user_data, _OF_PARSERS)


def forget_probabilities(doc: Doc, *names: str) -> None:
    """Forget the probabilities of arcs and tags, or the given ones."""
    remove(doc.user_data, names or {*_PROBABILITIES, _UNCALIBRATED})


def bits(nats: np.ndarray) -> np.ndarray:
    """Convert log-probabilities in nats to surprisals."""
    return -nats / log(2.0) + 0.0
