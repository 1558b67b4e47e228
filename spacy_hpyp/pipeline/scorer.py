"""Scorer of parsers: spaCy's TAG, UAS, LAS and SENT_F, and `token_log_prob`."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from spacy.pipeline.dep_parser import parser_score
from spacy.pipeline.tagger import tagger_score
from spacy.training import Example
from spacy.util import registry

from ..annotation.encoding import raw_sentences
from ..annotation.sentences import PUNCTUATION, tree_problem
from .alignment import tokens_in_trees


def score(examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
    """Score tags, heads, labels and sentences. UAS and LAS leave out sentences without a complete
    gold tree, and if there are others, a UserWarning says how many.

    RETURNS (dict[str, Any]): spaCy's scores; token_log_prob: the mean of `token._.log_prob` in
        nats, or None; and sents_without_tree: the number of sentences left out.
    """
    examples = list(examples)
    log_probs = [
        token._.log_prob
        for example in examples
        for token in example.predicted
        if not token.is_space and token._.log_prob is not None
    ]
    # spaCy's scorer counts tokens without a gold label in all later examples as missing, too. Here
    # no token is missing, but some are punctuation.
    left_out, problems = set(), []
    for example in examples:
        for doc, kept in zip((example.predicted, example.reference), tokens_in_trees(example)):
            left_out.update(doc[i] for i in np.flatnonzero(~kept).tolist())
        problems += [tree_problem(sentence.rows) for sentence in raw_sentences(example.reference)]

    def getter(item: Any, name: str) -> Any:
        if name != "dep":
            return getattr(item, name)
        return PUNCTUATION[0] if item in left_out else item.dep_.lower()

    incomplete = len(problems) - problems.count(None)
    if 0 < incomplete < len(problems):
        # Warn from one line, so that Python shows the warning of several components once.
        warnings.warn(
            f"UAS and LAS leave out {incomplete:,} of {len(problems):,} sentences, "
            "which have no complete tree.",
            stacklevel=1,
        )
    return {
        **tagger_score(examples, **kwargs),
        **parser_score(examples, **{"getter": getter, **kwargs}),
        "token_log_prob": sum(log_probs) / len(log_probs) if log_probs else None,
        "sents_without_tree": incomplete,
    }


@registry.scorers("spacy-hpyp.scorer.v1")
def make_scorer() -> Callable[..., dict[str, Any]]:
    """Return the default scorer."""
    return score
