"""Extension attributes: log-probabilities of tokens, sentences and documents."""

from spacy.tokens import Doc, Span, Token

_ATTRIBUTE = "log_prob"


def _sum_of_tokens(tokens: Doc | Span) -> float | None:
    values = [token._.get(_ATTRIBUTE) for token in tokens]
    return None if None in values else sum(values, 0.0)


def register_extensions() -> None:
    """Set `token._.log_prob`, `span._.log_prob` and `doc._.log_prob`, in nats.

    A token's value is what it adds to the log-probability of the words up to it, given what came before, as summed over
    the parser's beam; the end of a sentence is counted with the token after which nothing else was shifted. A span's and
    a document's value is the sum of its tokens': for a sentence its log-probability, for a document that of its
    sentences. As the beam leaves derivations out, sums over whole blocks are lower bounds. The value is None where the
    parser has not been.
    """
    if not Token.has_extension(_ATTRIBUTE):
        Token.set_extension(_ATTRIBUTE, default=None)
    for owner in (Doc, Span):
        if not owner.has_extension(_ATTRIBUTE):
            owner.set_extension(_ATTRIBUTE, getter=_sum_of_tokens)
