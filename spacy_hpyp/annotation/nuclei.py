"""Nuclei: content words with the function words that belong to them (Tesnière 1959).

In Universal Dependencies prepositions and copulas hang on their content words. In the trees of other parsers,
as of spaCy's English ones, they head their phrases and clauses. Which nuclei belong together is the same in
both, and so is which words are of one nucleus.
"""

from spacy.tokens import Token

# The labels of function words that head a phrase in other trees; their subtypes are among them.
_FUNCTION = ("case", "cop", "mark")


def counterpart(token: Token, head: Token) -> Token | None:
    """The word of a tree with labels of Universal Dependencies whose arc says what an arc of another tree
    says, between nuclei or within one.

    token (Token), head (Token): What the arc of the other tree joins, in this one; twice the token if it is
        the root there.
    RETURNS (Token | None): None if no arc says so.
    """
    own, other = _nucleus(token), _nucleus(head)
    if own == other and token != head:
        return token if token != own else head
    above = _nucleus(own.head)
    return own if (own.head == own if token == head else above == other != own) else None


def _nucleus(token: Token) -> Token:
    while token.dep_.partition(":")[0] in _FUNCTION and token.head != token:
        token = token.head
    return token
