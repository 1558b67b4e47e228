"""Gold sentences, and their numbers in a model's alphabets."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from spacy.strings import get_string_id
from spacy.tokens import Token
from spacy.vocab import Vocab

from ..compiled import NONE
from ..spacy_internals import nonproj
from ..text.tag_classes import tag_class
from ..text.vocabulary import Vocabulary
from .arrays import Sentences, is_tree, offsets_of

ROOT_LABEL = "ROOT"
SPACE_LABEL = "dep"
#: The label of all arcs of a model without labels.
UNLABELLED = "dep"
#: Labels left out of UAS and LAS, as in spaCy's scorer.
PUNCTUATION = ("p", "punct")
#: The number of columns of `RawSentence`.
COLUMNS = 6
#: The numbers of the label "_", which stands for none, and of the root's label.
NO_LABEL, ROOT = np.array([get_string_id(name) for name in ("_", ROOT_LABEL)], np.uint64).view(
    np.int64
)


def is_counted(labels: Sequence[str]) -> np.ndarray:
    """Return which arcs with these labels are no punctuation (bool[*])."""
    return np.array([label.lower() not in PUNCTUATION for label in labels], dtype=bool)


def content_key(content: bytes) -> bytes:
    """Return the digest by which models know what they have learned from."""
    return hashlib.blake2b(content, digest_size=12).digest()


@dataclass(frozen=True)
class GoldSentence:
    """A sentence with complete annotation, made projective (Nivre & Nilsson 2005)."""

    words: list[str]
    tags: list[str]
    heads: list[int]  # Positions in the sentence, `NONE` for the root
    labels: list[str]  # Decorated where an arc was lifted; "ROOT" for a root
    classes: Sequence[str] = ()  # Of the tags, "" if unknown, see `text.tag_classes`


@dataclass(frozen=True)
class RawSentence:
    """A sentence as a Doc holds it, unchecked, without white space."""

    rows: np.ndarray  # int64[tokens, COLUMNS]: ORTH, TAG, DEP, HEAD (relative), POS and MORPH
    vocab: Vocab  # The vocabulary of the numbers
    place: np.ndarray  # int64[tokens]: the positions of the words in the Doc

    @property
    def key(self) -> bytes:
        """A digest of the content, without parts of speech and features."""
        return content_key(self.rows[:, :4].tobytes())

    def strings(self, column: int) -> list[str]:
        """Return the strings of a column."""
        # Docs store unsigned numbers.
        return [self.vocab.strings[each] for each in self.rows[:, column].view(np.uint64).tolist()]


#: The sentences of a document to learn from.
GoldDocument = Sequence[RawSentence]


def tree_problem(rows: np.ndarray) -> str | None:
    """Return why a sentence has no complete tree, given rows of `RawSentence`."""
    n, deps, offsets = len(rows), rows[:, 2], rows[:, 3]
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


def problem_of(rows: np.ndarray) -> str | None:
    """Return why a sentence has not all tags and a complete tree, given rows of `RawSentence`."""
    return tree_problem(rows) if rows[:, 1].all() else "without tags"


def projective_tree(heads: Sequence[int], labels: Sequence[str]) -> tuple[list[int], list[str]]:
    """Lift arcs until none cross, and decorate their labels (Nivre & Nilsson 2005).

    heads (Sequence[int]), labels (Sequence[str]): Positions, a root being its own head, and labels.
    RETURNS (tuple[list[int], list[str]]): The same; roots have the head `NONE` and the label
        "ROOT".
    """
    projective, decorated = nonproj.projectivize(list(heads), list(labels))
    for i, head in enumerate(projective):
        if head == i:
            projective[i], decorated[i] = NONE, ROOT_LABEL
    return projective, decorated


def read_gold(sentence: RawSentence) -> GoldSentence | str:
    """Return a raw sentence as a GoldSentence, or the reason why it cannot be used."""
    problem = problem_of(sentence.rows)
    if problem is not None:
        return problem
    words, tags, labels = map(sentence.strings, range(3))
    if any(nonproj.DELIMITER in label for label in labels):
        return f"with '{nonproj.DELIMITER}' in a label"
    heads = np.arange(len(words)) + sentence.rows[:, 3]
    classes = [*map(tag_class, sentence.strings(4), sentence.strings(5))]
    return GoldSentence(words, tags, *projective_tree(heads.tolist(), labels), classes)


def written_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the values of `token.dep_` for the labels of a model."""
    plain = {label.split(nonproj.DELIMITER)[0] for label in labels}
    return tuple(sorted({*plain, ROOT_LABEL, SPACE_LABEL}))


class Encoder:
    """Encodes sentences by the alphabets of a model.

    vocabulary (Vocabulary), labels (Sequence[str]): Its words and tags, and its labels.
    labelled (bool): Whether it distinguishes labels.

    tags (dict[str, int]): The numbers of the model's tags and, if these are classes, also of the
        treebank's.
    """

    def __init__(
        self, vocabulary: Vocabulary, labels: Sequence[str], *, labelled: bool = True
    ) -> None:
        self.vocabulary, self.tag_classes = vocabulary, vocabulary.tag_classes
        numbers = {tag: number for number, tag in enumerate(vocabulary.tags)}
        usual = {} if self.tag_classes is None else self.tag_classes.usual
        self.tags = {tag: numbers[name] for tag, name in usual.items() if name in numbers} | numbers
        self.labels = {label: number for number, label in enumerate(labels)}
        self.labelled = labelled

    def encode(self, sentence: GoldSentence, *, learned: bool = False) -> np.ndarray | str:
        """Encode a sentence as int32[4, tokens]: words, tags, heads and labels; or return why it
        cannot be used.

        learned (bool): Whether the model learns from it. Otherwise the tags of rare words are
            observed.
        """
        tags = sentence.tags
        if self.tag_classes is not None:
            tags = self.tag_classes.of(tags, sentence.classes)
        if not self.tags.keys() >= set(tags):
            return "with tags that the model does not have"
        labels = [
            NONE if head == NONE else self.labels.get(label if self.labelled else UNLABELLED)
            for label, head in zip(sentence.labels, sentence.heads)
        ]
        if None in labels:
            return "with labels that the model does not have"
        number = self.vocabulary.numbers if learned else self.vocabulary.numbers_observed
        numbers = [self.tags[tag] for tag in tags]
        return np.array([number(sentence.words), numbers, sentence.heads, labels], dtype=np.int32)

    def tags_of(
        self, words: Iterable[Token], numbers: Sequence[int], *, given_tags: bool
    ) -> list[str]:
        """Return the treebank's tags of words, given the numbers of the model's tags. Known tags
        that the words have stay, if tags are given.
        """
        names = [self.vocabulary.tags[number] for number in numbers]
        if self.tag_classes is None:
            return names
        of_class, known = self.tag_classes.tag, self.tags if given_tags else ()
        return [
            word.tag_ if word.tag_ in known else of_class(word.text, name)
            for word, name in zip(words, names)
        ]


def join(encoded: Sequence[np.ndarray]) -> Sentences:
    """Concatenate encoded sentences."""
    words, tags, heads, labels = np.concatenate(encoded, axis=1)
    return Sentences(words, tags, heads, labels, offsets_of([rows.shape[1] for rows in encoded]))
