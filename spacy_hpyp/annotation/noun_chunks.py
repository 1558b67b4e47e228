"""`doc.noun_chunks` of English trees of Universal Dependencies, whose labels spaCy's own rules for English do
not know.
"""

from collections.abc import Iterator

from spacy.lang.en.syntax_iterators import noun_chunks as of_spacy
from spacy.symbols import NOUN, PRON, PROPN
from spacy.tokens import Doc, Span, Token
from spacy.vocab import Vocab

# Labels of spaCy's English pipelines that no treebank of Universal Dependencies has.
_OF_SPACY = {"attr", "dative", "dobj", "nsubjpass", "oprd", "pcomp", "pobj", "prep"}
# What a noun is that is the head of a chunk, and what belongs to its chunk before and behind it; all without
# subtypes.
_HEADS = set(
    "acl advcl appos ccomp conj csubj dislocated iobj list nmod nsubj obj obl parataxis root vocative xcomp".split()
)
_BEFORE = {"amod", "compound", "det", "flat", "goeswith", "nmod", "nummod"}
_BEHIND = {"fixed", "flat", "goeswith"}
# What may stand between what belongs to it: "a big, old and grey dog".
_BETWEEN = {"cc", "punct"}


def noun_chunks(doclike: Doc | Span) -> Iterator[tuple[int, int, int]]:
    """Base noun phrases of a tree, spaCy's labels or those of Universal Dependencies.

    YIELDS (tuple[int, int, int]): The first token, the one after the last, and the label, as spaCy's
        `noun_chunks` of a language.
    RAISES (ValueError): If there are no labels.
    """
    if not doclike.doc.has_annotation("DEP") or any(token.dep_ in _OF_SPACY for token in doclike.doc):
        yield from of_spacy(doclike)
        return
    label, found, limit = doclike.doc.vocab.strings.add("NP"), [], len(doclike.doc)
    # What is nested in a chunk stands before its head.
    for word in reversed(list(doclike)):
        if word.i < limit and word.pos in (NOUN, PROPN, PRON) and _kind(word) in _HEADS:
            start, end = word.i, word.i + 1
            for child in reversed(list(word.lefts)):
                if _kind(child) in _BEFORE:
                    start = child.left_edge.i
                elif _kind(child) not in _BETWEEN:
                    break
            for child in word.rights:
                if _kind(child) not in _BEHIND or child.left_edge.i != end:
                    break
                end = child.right_edge.i + 1
            found.append((start, min(end, limit), label))
            limit = start
    yield from reversed(found)


def use_noun_chunks(vocab: Vocab, *docs: Doc) -> None:
    """Let documents of an English pipeline that are made from now on, and some that are there, have these
    chunks in the place of spaCy's.
    """
    if vocab.get_noun_chunks is of_spacy:
        vocab.get_noun_chunks = noun_chunks
    for doc in docs:
        if doc.noun_chunks_iterator is of_spacy:
            doc.noun_chunks_iterator = noun_chunks


def _kind(token: Token) -> str:
    return token.dep_.partition(":")[0].lower()
