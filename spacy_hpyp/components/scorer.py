"""Scorer of `hpyp_parser`: TAG, UAS, LAS and SENT_F by spaCy's scorers, and `token_log_prob`."""

from collections.abc import Callable, Iterable
from typing import Any

from spacy.pipeline.dep_parser import parser_score
from spacy.pipeline.tagger import tagger_score
from spacy.training import Example
from spacy.util import registry


def score(examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
    """Score tags, heads, labels and sentences.

    RETURNS (dict[str, Any]): spaCy's scores, and token_log_prob: the mean of `token._.log_prob` in nats.
    """
    examples = list(examples)
    log_probs = [
        token._.log_prob
        for example in examples
        for token in example.predicted
        if not token.is_space and token._.log_prob is not None
    ]
    return {
        **tagger_score(examples, **kwargs),
        **parser_score(examples, **kwargs),
        "token_log_prob": sum(log_probs) / len(log_probs) if log_probs else None,
    }


@registry.scorers("spacy-hpyp.scorer.v1")
def make_scorer() -> Callable[..., dict[str, Any]]:
    """Return the default scorer."""
    return score
