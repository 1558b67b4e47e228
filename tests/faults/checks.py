"""What must hold of every document that has been parsed."""

import math

import numpy as np
from children import Wrong
from spacy.attrs import HEAD, SENT_START
from spacy.language import Language
from spacy.tokens import Doc

from spacy_hpyp.annotation.guides import read_guide

_ROUNDING = 1e-6


def require(condition: object, problem: str) -> None:
    """Raise `Wrong` if a condition does not hold."""
    if not condition:
        raise Wrong(problem)


def check_parse(nlp: Language, doc: Doc) -> None:
    """Require that a document has a complete and possible annotation.

    nlp (Language): The pipeline that has parsed it; the settings of its parser say what there should be.
    doc (Doc): The document.
    RAISES (Wrong): If it does not.
    """
    parser = nlp.get_pipe("hpyp_parser")
    marginals = parser.marginals or parser.guides or parser.decoding == "mbr"
    require(all(token.tag_ and token.dep_ for token in doc), "a token has no tag or no label")
    heads = check_trees(doc)
    for token in doc:
        require(
            (token.dep_ == "ROOT") == (heads[token.i] == token.i),
            f"token {token.i} is labelled ROOT and is none, or is one",
        )
        values = {
            name: token._.get(name) for name in ("log_prob", "surprisal_lexical", "surprisal_syntactic")
        }
        for name, value in values.items():
            require(value is not None and math.isfinite(value), f"{name} of token {token.i} is {value}")
        require(values["log_prob"] <= 0.0, f"log_prob of token {token.i} is {values['log_prob']}")
        for name in ("head_prob", "tag_prob"):
            value = token._.get(name)
            if marginals and not token.is_space:
                require(
                    value is not None and 0.0 <= value <= 1.0 + _ROUNDING,
                    f"{name} of token {token.i} is {value}",
                )
            else:
                require(value is None, f"{name} of token {token.i} should not be there, but is {value}")
    if parser.guides:
        check_guide(doc)
    require(
        math.isclose(doc._.log_prob, sum(t._.log_prob for t in doc), abs_tol=_ROUNDING), "log_prob is no sum"
    )


def check_guide(doc: Doc) -> None:
    """Require that a document has a guide that can be read, with a head and a tag for each word.

    RAISES (Wrong): If it has not.
    """
    try:
        guide = read_guide(doc)
    except ValueError as error:
        raise Wrong(f"the guide cannot be read: {error}") from error
    require(guide is not None, "there is no guide")
    is_word = np.array([not token.is_space for token in doc], dtype=bool)
    for probs in (guide.head_probs, guide.tag_probs):
        require(
            np.array_equal(probs[:, 0] > 0.0, is_word), "a word is without a guide, or white space has one"
        )
        require(np.all(probs.sum(axis=1) <= 1.0 + 1e-4), "the probabilities of a guide have more than 1")


def check_trees(doc: Doc) -> np.ndarray:
    """Require that every sentence is a tree of its own.

    RETURNS (int64[tokens]): The tokens' heads.
    RAISES (Wrong): If one is not.
    """
    rows = doc.to_array([HEAD, SENT_START]).view(np.int64)
    own = np.arange(len(doc))
    heads = own + rows[:, 0]
    require(np.all((0 <= heads) & (heads < len(doc))), "a head is outside the document")
    starts = rows[:, 1] == 1
    sentence = np.cumsum(starts)
    require(len(doc) == 0 or starts[0], "the first token begins no sentence")
    require(np.array_equal(sentence[heads], sentence), "an arc leaves its sentence")
    roots = np.bincount(sentence[heads == own], minlength=len(doc) and sentence[-1] + 1)
    require(np.all(roots[1:] == 1), "a sentence has not exactly one root")
    ancestors = heads
    for _ in range(len(doc).bit_length()):
        ancestors = ancestors[ancestors]
    require(np.array_equal(heads[ancestors], ancestors), "heads are cyclic")
    return heads
