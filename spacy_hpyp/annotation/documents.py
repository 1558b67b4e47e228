"""Conversion between Docs and integer arrays: gold sentences, blocks to decode, and parses to
write.
"""

import hashlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from spacy.attrs import DEP, HEAD, IS_SPACE, ORTH, SENT_START, TAG
from spacy.pipeline._parser_internals import nonproj
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..compiled import NONE
from ..text.vocabulary import Vocabulary
from .arrays import Blocks, Parses, Sentences, block_starts, is_tree, offsets_of
from .extensions import bits, write_extensions, write_head_probability
from .syntactic_words import (
    Analysis,
    has_multiword_tokens,
    multiword_tokens,
    write_back,
    write_words,
)
from .words import SPACE_TAG, Layout, read_words, write_attribute

#: Labels that UAS and LAS leave out, as spaCy's scorer does.
PUNCTUATION = ("p", "punct")
ROOT_LABEL = "ROOT"
SPACE_LABEL = "dep"
#: The number of the label "_": no label.
NO_LABEL = np.array(get_string_id("_"), dtype=np.uint64).view(np.int64)
#: The number of the label of roots.
ROOT = np.array(get_string_id(ROOT_LABEL), dtype=np.uint64).view(np.int64)
#: The label of all arcs of a model that does not tell labels apart.
UNLABELLED = "dep"


def is_counted(labels: Iterable[str]) -> np.ndarray:
    """Return which arcs with these labels are not punctuation (bool[*])."""
    return np.array([label.lower() not in PUNCTUATION for label in labels], dtype=bool)


class UnknownTagWarning(UserWarning):
    """A given tag was not in the training data."""


def content_key(content: bytes) -> bytes:
    """Return the digest of content, as models store it for what they have learned from."""
    return hashlib.blake2b(content, digest_size=12).digest()


@dataclass(frozen=True)
class GoldSentence:
    """A sentence with complete annotation, made projective.

    words, tags (list[str]): Those of each token.
    heads (list[int]): Positions in the sentence, -1 for the root.
    labels (list[str]): Labels of arcs, decorated where an arc was lifted (Nivre & Nilsson 2005).
    """

    words: list[str]
    tags: list[str]
    heads: list[int]
    labels: list[str]


@dataclass(frozen=True)
class RawSentence:
    """A sentence as a Doc holds it, unchecked.

    rows (int64[tokens, 4]): ORTH, TAG, DEP and HEAD (relative) of the tokens that are not white
    space. vocab (Vocab): The vocabulary of the numbers.
    """

    rows: np.ndarray
    vocab: Vocab

    @property
    def key(self) -> bytes:
        """A digest of the content."""
        return content_key(self.rows.tobytes())

    def strings(self, column: int) -> list[str]:
        """Return the strings of a column."""
        # In a Doc, numbers are unsigned.
        return [self.vocab.strings[each] for each in self.rows[:, column].view(np.uint64).tolist()]


#: The sentences of a document that are to be learned from, not looked at yet.
GoldDocument = Sequence[RawSentence]


def raw_sentences(doc: Doc) -> Iterator[RawSentence]:
    """Yield the sentences of an annotated Doc; without sentence boundaries, the Doc is one."""
    rows = doc.to_array([ORTH, TAG, DEP, HEAD, SENT_START, IS_SPACE]).view(np.int64)
    if rows[:, 5].any():
        rows = _without_spaces(rows)
    starts = np.flatnonzero(rows[:, 4] == 1)
    bounds = np.unique(np.concatenate([[0], starts, [len(rows)]]))
    for start, end in zip(bounds[:-1], bounds[1:]):
        yield RawSentence(np.ascontiguousarray(rows[start:end, :4]), doc.vocab)


def _without_spaces(rows: np.ndarray) -> np.ndarray:
    """Leave white space out. Tokens attached to it lose their heads."""
    kept = rows[:, 5] == 0
    number = np.cumsum(kept) - 1
    old = np.arange(len(rows))
    heads = np.clip(old + rows[:, 3], 0, len(rows) - 1)
    rows = rows.copy()
    rows[:, 3] = number[heads] - number
    rows[~kept[heads], 2] = 0
    # A sentence that white space begins is begun by the next word.
    starts = np.unique(np.searchsorted(np.flatnonzero(kept), np.flatnonzero(rows[:, 4] == 1)))
    rows = rows[kept]
    rows[:, 4] = 0
    rows[starts[starts < len(rows)], 4] = 1
    return rows


def located_sentences(doc: Doc) -> list[tuple[RawSentence, np.ndarray]]:
    """Return `raw_sentences` of a Doc, each with the positions of its words (int64[*])."""
    sentences = list(raw_sentences(doc))
    words = np.flatnonzero(doc.to_array(IS_SPACE) == 0)
    ends = np.cumsum([len(sentence.rows) for sentence in sentences])
    return list(zip(sentences, np.split(words, ends)))


def words_in_trees(doc: Doc) -> np.ndarray:
    """Return which tokens are words of a sentence with a complete tree (bool[tokens])."""
    found = np.zeros(len(doc), dtype=bool)
    for sentence, place in located_sentences(doc):
        found[place] = tree_problem(sentence.rows) is None
    return found


def problem_of(rows: np.ndarray) -> str | None:
    """Return why a sentence has not all tags and a complete tree, given rows of `RawSentence`."""
    return tree_problem(rows) if rows[:, 1].all() else "without tags"


def tree_problem(rows: np.ndarray) -> str | None:
    """Return why a sentence has no complete tree, given rows of `RawSentence`."""
    _, _, deps, offsets = rows.T
    n = len(rows)
    # "spacy convert" makes a word without a head a root without a label. In a treebank without
    # labels, no word has one.
    unlabelled = deps == NO_LABEL
    if not deps.all() or (unlabelled[offsets == 0].any() and (n == 1 or not unlabelled.all())):
        return "without a complete tree"
    heads = np.arange(n) + offsets
    if heads.min() < 0 or heads.max() >= n or np.sum(offsets == 0) != 1:
        return "without exactly one root"
    if not is_tree(np.where(offsets == 0, NONE, heads)):
        return "with cyclic heads"
    return None


def unannotated(
    doc: Doc, vocab: Vocab | None = None, *, sent_starts: Sequence[bool | None] | None = None
) -> Doc:
    """Return a new Doc of the same tokens.

    vocab (Vocab | None): Another vocabulary for the new Doc.
    sent_starts (Sequence[bool | None] | None): Sentence boundaries to set.
    """
    spaces = None if doc.has_unknown_spaces else [bool(token.whitespace_) for token in doc]
    words = [token.text for token in doc]
    return Doc(doc.vocab if vocab is None else vocab, words, spaces, sent_starts=sent_starts)


def with_words(doc: Doc) -> Doc:
    """Return a new Doc with the same tokens and words under them, without annotation."""
    new = unannotated(doc)
    for token, words in multiword_tokens(doc):
        write_words(new, token.i, [Analysis(word.form) for word in words])
    return new


def with_tokens_of(doc: Doc, words: Doc) -> Doc:
    """Return annotated words under the tokens of their Doc: a new Doc if there are multiword
    tokens.
    """
    if not has_multiword_tokens(doc):
        return words
    new = with_words(doc)
    write_back(words, new)
    return new


def written_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the values of `token.dep_` for the labels of a model."""
    found = {label.split(nonproj.DELIMITER)[0] for label in labels}
    return tuple(sorted({*found, ROOT_LABEL, SPACE_LABEL}))


def projective_tree(heads: Sequence[int], labels: Sequence[str]) -> tuple[list[int], list[str]]:
    """Lift arcs until none cross, and decorate their labels (Nivre & Nilsson 2005).

    heads (Sequence[int]), labels (Sequence[str]): Positions, a root being its own head, and labels.
    RETURNS (tuple[list[int], list[str]]): Positions, `NONE` for roots; and labels, "ROOT" for
    roots.
    """
    projective, decorated = nonproj.projectivize(list(heads), list(labels))
    is_root = [head == i for i, head in enumerate(projective)]
    return (
        [NONE if root else head for root, head in zip(is_root, projective)],
        [ROOT_LABEL if root else label for root, label in zip(is_root, decorated)],
    )


def read_gold(sentence: RawSentence) -> GoldSentence | str:
    """Return a raw sentence as a GoldSentence, or the reason why it cannot be used."""
    problem = problem_of(sentence.rows)
    if problem is not None:
        return problem
    words, tags, labels = map(sentence.strings, range(3))
    if any(nonproj.DELIMITER in label for label in labels):
        return f"with '{nonproj.DELIMITER}' in a label"
    heads = np.arange(len(words)) + sentence.rows[:, 3]
    return GoldSentence(words, tags, *projective_tree(heads.tolist(), labels))


class Encoder:
    """Encodes sentences by the alphabets of a model.

    vocabulary (Vocabulary), labels (Sequence[str]): Its words and tags, and its labels.
    labelled (bool): Whether it distinguishes labels.
    """

    def __init__(
        self, vocabulary: Vocabulary, labels: Sequence[str], *, labelled: bool = True
    ) -> None:
        self.vocabulary = vocabulary
        self.tags = {tag: number for number, tag in enumerate(vocabulary.tags)}
        self.labels = {label: number for number, label in enumerate(labels)}
        self.labelled = labelled

    def encode(self, sentence: GoldSentence, *, learned: bool = False) -> np.ndarray | str:
        """Encode a sentence as int32[4, tokens]: words, tags, heads and labels; or return why it
        cannot be used.

        learned (bool): Whether the model learns from it. Otherwise the tags of rare words are
        observed.
        """
        if not self.tags.keys() >= set(sentence.tags):
            return "with tags that the model does not have"
        labels = sentence.labels if self.labelled else [UNLABELLED] * len(sentence.labels)
        arcs = [label for label, head in zip(labels, sentence.heads) if head != NONE]
        if not self.labels.keys() >= set(arcs):
            return "with labels that the model does not have"
        words, vocabulary = sentence.words, self.vocabulary
        tags = [self.tags[tag] for tag in sentence.tags]
        numbers = vocabulary.numbers(words) if learned else vocabulary.numbers_observed(words)
        of_arc = [
            NONE if head == NONE else self.labels[label]
            for label, head in zip(labels, sentence.heads)
        ]
        return np.array([numbers, tags, sentence.heads, of_arc], dtype=np.int32)


def join(encoded: Sequence[np.ndarray]) -> Sentences:
    """Concatenate encoded sentences."""
    words, tags, heads, labels = np.concatenate(encoded, axis=1)
    return Sentences(words, tags, heads, labels, offsets_of([rows.shape[1] for rows in encoded]))


def encode_docs(
    docs: Sequence[Doc], encoder: Encoder, *, given_tags: bool
) -> tuple[Blocks, Layout]:
    """Encode Docs as blocks to decode, without white space.

    A block spans from one given sentence boundary to the next. Inside, sentences may begin where
    nothing is set.

    given_tags (bool): Whether to use `token.tag_`. An unknown tag is found instead, with a warning.
    RETURNS (tuple[Blocks, Layout]): The blocks, and the places of their tokens.
    RAISES (ValueError): If a tag is needed and missing.
    """
    words = read_words(docs)
    numbers = np.array(encoder.vocabulary.numbers_observed(words.forms), dtype=np.int32)[
        words.place
    ]
    tags = np.full(len(numbers), NONE, dtype=np.int32)
    if given_tags:
        tokens = ((doc, i) for doc, token in zip(docs, words.layout.tokens) for i in token.tolist())
        tags[:] = [_tag_number(encoder, doc, i) for doc, i in tokens]
    return Blocks(numbers, tags, words.starts == NONE, words.layout.offsets), words.layout


def forms_of(docs: Sequence[Doc], layout: Layout, places: np.ndarray) -> list[str]:
    """Return the texts of words at given places of a layout (int64[*])."""
    doc = np.searchsorted(layout.docs, places, side="right") - 1
    return [docs[i][token].text for i, token in zip(doc.tolist(), layout.token[places].tolist())]


def _tag_number(encoder: Encoder, doc: Doc, i: int) -> int:
    tag = doc[i].tag_
    if not tag:
        raise ValueError(
            f"predict_tags = false, but token {i} ('{doc[i].text}') has no tag. Put a tagger before the parser, "
            'or set tags = "joint".'
        )
    if tag not in encoder.tags:
        warnings.warn(
            f"The given tag '{tag}' was not in the training data: the parser finds another one.",
            UnknownTagWarning,
            stacklevel=2,
        )
    return encoder.tags.get(tag, NONE)


def write_parses(docs: Sequence[Doc], layout: Layout, parses: Parses, encoder: Encoder) -> None:
    """Write tags, heads, labels and log-probabilities of parses into Docs."""
    write_attribute(docs, layout, "tag", list(encoder.tags), parses.tags, space=SPACE_TAG)
    _write_arcs(docs, layout, parses.heads, parses.labels, list(encoder.labels))
    for doc, words in zip(docs, layout.words):
        values = {
            "log_prob": parses.log_probability[words],
            "surprisal_lexical": bits(parses.lexical[words]),
            "surprisal_syntactic": bits(parses.syntactic[words]),
            "head_prob": parses.head_probability[words],
            "tag_prob": parses.tag_probability[words],
        }
        write_extensions(doc, layout.token[words], values)


def write_trees(
    docs: Sequence[Doc],
    layout: Layout,
    heads: np.ndarray,
    labels: np.ndarray,
    names: Sequence[str],
    head_probability: np.ndarray,
) -> None:
    """Write heads, labels and confidence in arcs into Docs.

    heads, labels (int32[words]): As in `Parses`.
    names (Sequence[str]): The labels by number.
    head_probability (float64[words]): The probability that each arc is right; NaN is not written.
    """
    _write_arcs(docs, layout, heads, labels, names)
    for doc, words in zip(docs, layout.words):
        write_head_probability(doc, layout.token[words], head_probability[words])


def _write_arcs(
    docs: Sequence[Doc], layout: Layout, heads: np.ndarray, labels: np.ndarray, names: Sequence[str]
) -> None:
    if not docs:
        return
    strings = docs[0].vocab.strings
    label_ids = np.array([strings.add(label) for label in [*names, ROOT_LABEL]], dtype=np.uint64)
    heads = np.where(
        heads == NONE, np.arange(len(layout.token)), heads + block_starts(layout.offsets)
    )
    decorated = any(nonproj.is_decorated(label) for label in names)
    for doc, words in zip(docs, layout.words):
        if len(doc) == 0:
            continue
        token = layout.token[words]
        rows = rows_of_spaces(doc, token)
        rows[token, 1] = label_ids[labels[words]]
        rows[token, 2] = (layout.token[heads[words]] - token).astype(np.uint64)
        doc.from_array([DEP, HEAD], rows[:, 1:])
        if decorated:
            nonproj.deprojectivize(doc)


def rows_of_spaces(doc: Doc, token: np.ndarray) -> np.ndarray:
    """Return TAG, DEP and HEAD of the white space of a Doc: it is attached to the word before it.

    White space at the beginning of a block is attached to the next word; if there is no word, to
    its first token.

    token (int64[words]): The positions of the words.
    RETURNS (uint64[tokens, 3]): As `doc.from_array` takes them; 0 for the words.
    """
    rows = np.zeros((len(doc), 3), dtype=np.uint64)
    if len(token) == len(doc):
        return rows
    strings = doc.vocab.strings
    boundaries = np.cumsum(doc.to_array([SENT_START]).view(np.int64).ravel() == 1)
    spaces = np.delete(np.arange(len(doc)), token)
    rows[spaces, 0] = strings.add(SPACE_TAG)
    rows[spaces, 1] = strings.add(SPACE_LABEL)
    after = np.searchsorted(token, spaces)
    for space, place in zip(spaces.tolist(), after.tolist()):
        if place > 0 and boundaries[token[place - 1]] == boundaries[space]:
            head = int(token[place - 1])
        elif place < len(token) and boundaries[token[place]] == boundaries[space]:
            head = int(token[place])
        else:
            head = int(np.searchsorted(boundaries, boundaries[space]))
        if head == space:
            rows[space, 1] = strings.add(ROOT_LABEL)
        rows[space, 2] = np.int64(head - space).astype(np.uint64)
    return rows
