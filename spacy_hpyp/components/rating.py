"""How probable it is that the arcs of parsed documents are right together with their labels, by an
`hpyp_parser`.
"""

from collections.abc import Sequence

import numpy as np
from spacy.pipeline._parser_internals import nonproj
from spacy.tokens import Doc

from ..annotation.documents import ROOT_LABEL, Layout, encode_docs
from ..annotation.extensions import write_probability
from ..annotation.written import entries_of
from ..arc_standard.decoding import mixture
from ..settings import whole
from .hpyp_parser import HPYPParser

# An arc that so little of the final beam has may be one that was lowered when the tree was written.
_NEVER = 1e-9


def rate_labels(parser: HPYPParser, docs: Sequence[Doc], *, labels_per_arc: int = 2) -> None:
    """Write `token._.label_prob` into parsed documents: how probable it is that an arc and its label are
    right.

    That is `token._.head_prob`, whoever has written it, times the posterior probability of the label given
    the arc in the final beam. Sentences are parsed once more for it, as a beam that tries one label for each
    arc is sure of all of them. A word whose arc is in no derivation of the beam has the probability of its
    label whatever the arc. White space, and words without `head_prob`, have None.

    parser (HPYPParser): Trained.
    docs (Sequence[Doc]): With trees and sentence boundaries, the parser's own or another one's.
    labels_per_arc (int): How many labels of an arc are tried, at least 1.
    RAISES (ValueError): If `labels_per_arc` is not a whole number of at least 1, or a document has no trees.
    """
    labels_per_arc = whole("labels_per_arc", labels_per_arc, least=1)
    if any(len(doc) and not doc.has_annotation("DEP") for doc in docs):
        raise ValueError("Labels can only be rated in documents that have been parsed.")
    encoder = parser.joint.encoder
    blocks, layout = encode_docs(docs, encoder, given_tags=parser.settings.given_tags)
    search = parser.search._replace(marginals=True, labels_per_arc=labels_per_arc)
    names = np.array(
        [*(label.split(nonproj.DELIMITER)[0] for label in encoder.labels), ROOT_LABEL], dtype=object
    )
    found = np.zeros(len(layout.token))
    heads, labels = _arcs(docs, layout)
    for words, posterior, weight in mixture(parser.joint.frozen, blocks, search, parser.threads):
        # The last name is that of `NONE`, which roots have.
        has_label = names[posterior.labels] == labels[words]
        own = np.where(posterior.heads < 0, words, words[posterior.heads])
        with_head = np.where(own == heads[words], posterior.probability[:, None], 0.0)
        head, both = with_head.sum(axis=0), (with_head * has_label).sum(axis=0)
        share = np.where(head > _NEVER, both / np.maximum(head, _NEVER), posterior.probability @ has_label)
        found[words] += weight * np.minimum(share, 1.0)
    for doc, words in zip(docs, layout.words):
        token = layout.token[words]
        sure = np.array(entries_of(doc, "head_prob"), dtype=np.float64)[token]
        write_probability(doc, token, "label_prob", sure * found[words])


def _arcs(docs: Sequence[Doc], layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Of each word, the place of its head among the words of all documents, a root's own; and its label."""
    heads, labels = np.empty(len(layout.token), dtype=np.int64), np.empty(len(layout.token), dtype=object)
    for doc, words in zip(docs, layout.words):
        token = layout.token[words].tolist()
        place = np.full(len(doc), -1, dtype=np.int64)
        place[token] = np.arange(words.start, words.stop)
        heads[words] = place[[doc[k].head.i for k in token]]
        labels[words] = [doc[k].dep_ for k in token]
    return heads, labels
