"""Docs as arrays, and back. White space is left out of arrays."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from spacy.attrs import DEP, HEAD, IDX, IS_SPACE, LEMMA, MORPH, ORTH, POS, SENT_START, SPACY, TAG
from spacy.tokens import Doc

from ..compiled import NONE
from ..spacy_internals import nonproj
from .arrays import Blocks, Parses, block_starts, offsets_of
from .sentences import COLUMNS, ROOT_LABEL, SPACE_LABEL, Encoder, RawSentence, tree_problem
from .user_data import PROBABILITIES, UNCALIBRATED, WRITTEN, attribute_keys, forget, write_entries

#: The tag of white space.
SPACE_TAG = "_SP"
#: Kinds of space between two words.
NOTHING, SPACE, SPACES, LINE_END, EMPTY_LINE = range(5)
#: Whether a sentence begins with a word; `NONE` if unset.
GOES_ON, BEGINS = 0, 1

_ATTRIBUTES = {"tag": TAG, "pos": POS, "morph": MORPH, "lemma": LEMMA}
_OF_WHITE_SPACE = {"tag": SPACE_TAG, "pos": "SPACE", "morph": "", "lemma": ""}


class UnknownTagWarning(UserWarning):
    """A given tag was not in the training data."""


@dataclass(frozen=True)
class Layout:
    """Places of the words of blocks in their Docs."""

    token: np.ndarray  # int64[words]: the position of each word in its Doc
    docs: np.ndarray  # int64[docs + 1]: the first word of each Doc
    offsets: np.ndarray  # int64[blocks + 1]: the first word of each block

    @property
    def words(self) -> list[slice]:
        """The words of each Doc."""
        return [slice(start, end) for start, end in zip(self.docs.tolist(), self.docs[1:].tolist())]

    @property
    def tokens(self) -> list[np.ndarray]:
        """The positions of the words of each Doc (int64[*])."""
        return [self.token[words] for words in self.words]


def layout_of(places: Sequence[Sequence[np.ndarray]]) -> Layout:
    """Return the layout of words at given positions (int64[*]) by Doc and block."""
    blocks = [place for doc in places for place in doc]
    token = np.concatenate([np.empty(0, dtype=np.int64), *blocks])
    docs = offsets_of([sum(map(len, doc)) for doc in places])
    return Layout(token, docs, offsets_of([*map(len, blocks)]))


@dataclass(frozen=True)
class Words:
    """The words of Docs. Blocks span from one given sentence boundary to the next.

    The first word of a Doc begins a sentence, and so does one after white space that does.
    """

    forms: list[str]  # The distinct forms
    place: np.ndarray  # int64[words]: the form of each word
    starts: np.ndarray  # int32[words]: `BEGINS`, `GOES_ON`, or `NONE` if unset
    layout: Layout


# Reading


def read_words(docs: Sequence[Doc]) -> Words:
    """Read the words of Docs with a common vocabulary."""
    rows = [doc.to_array([ORTH, IS_SPACE, SENT_START]) for doc in docs]
    orths, is_space, starts = np.concatenate([np.empty((0, 3), np.uint64), *rows]).T
    bounds = offsets_of([*map(len, docs)])
    place = np.flatnonzero(is_space == 0)
    begins = starts == 1
    begins[bounds[:-1][np.diff(bounds) > 0]] = True
    begun = np.cumsum(begins)[place]
    starts = np.where(starts[place] == 0, NONE, GOES_ON).astype(np.int32)
    starts[np.diff(begun, prepend=0) > 0] = BEGINS
    counts = np.searchsorted(place, bounds)
    token = place - np.repeat(bounds[:-1], np.diff(counts))
    offsets = np.append(np.flatnonzero(starts == BEGINS), len(starts)).astype(np.int64)
    forms, form = _distinct_strings(docs, orths[place])
    return Words(forms, form, starts, Layout(token, counts, offsets))


def _distinct_strings(docs: Sequence[Doc], numbers: np.ndarray) -> tuple[list[str], np.ndarray]:
    distinct, place = np.unique(numbers, return_inverse=True)
    return [docs[0].vocab.strings[each] for each in distinct.tolist()], place.ravel()


def read_attribute(
    docs: Sequence[Doc], layout: Layout, attribute: str
) -> tuple[list[str], np.ndarray]:
    """Read tags, parts of speech, features or lemmas.

    attribute (str): "tag", "pos", "morph" or "lemma".
    RETURNS (tuple[list[str], int64[words]]): Distinct values, "" for none, and that of each word.
    """
    attr = _ATTRIBUTES[attribute]
    rows = [doc.to_array([attr]).ravel()[token] for doc, token in zip(docs, layout.tokens)]
    return _distinct_strings(docs, np.concatenate([np.empty(0, np.uint64), *rows]))


def read_spaces(docs: Sequence[Doc], layout: Layout) -> np.ndarray:
    """Return the space before each word (int32[words])."""
    spaces = np.full(len(layout.token), NOTHING, dtype=np.int32)
    for doc, words, token in zip(docs, layout.words, layout.tokens):
        before = np.append(-1, token[:-1])[: len(token)]
        of_doc = spaces[words]
        of_doc[(doc.to_array(SPACY)[before] == 1) & (before >= 0)] = SPACE
        for i in np.flatnonzero(token - before > 1).tolist():
            text = doc[max(0, int(before[i])) : int(token[i])].text_with_ws
            lines = text[len(text.rstrip()) :].count("\n")
            of_doc[i] = (SPACES, LINE_END)[lines] if lines < 2 else EMPTY_LINE
    return spaces


def raw_sentences(doc: Doc) -> list[RawSentence]:
    """Return the sentences of an annotated Doc.

    Without sentence boundaries, the Doc is one. A head that is white space stands for the next one
    above that is a word; if there is none, the word is a root.
    """
    columns = [ORTH, TAG, DEP, HEAD, POS, MORPH, SENT_START, IS_SPACE]
    rows = doc.to_array(columns).view(np.int64)
    *_, starts, is_space = rows.T
    is_word, places = is_space == 0, np.arange(len(rows))
    words = np.flatnonzero(is_word)
    ends = np.flatnonzero(np.diff(np.cumsum(starts == 1)[words])) + 1
    if len(words) < len(rows):
        heads = places + rows[:, 3]
        for _ in range(len(rows).bit_length()):
            heads = np.where(is_word[heads], heads, heads[heads])
        number = np.cumsum(is_word) - 1
        rows[:, 3] = np.where(is_word[heads], number[heads] - number, 0)
    return [
        RawSentence(np.ascontiguousarray(rows[place, :COLUMNS]), doc.vocab, place)
        for place in np.split(words, ends)
        if len(place)
    ]


def words_in_trees(doc: Doc) -> np.ndarray:
    """Return which tokens are words of a sentence with a complete tree (bool[tokens])."""
    in_tree = np.zeros(len(doc), dtype=bool)
    for sentence in raw_sentences(doc):
        in_tree[sentence.place] = tree_problem(sentence.rows) is None
    return in_tree


def encode_docs(docs: Sequence[Doc], encoder: Encoder, *, given_tags: bool) -> tuple[Blocks, Words]:
    """Encode Docs as blocks to decode.

    A block spans from one given sentence boundary to the next. Inside, sentences may begin where
    nothing is set.

    given_tags (bool): Whether to use `token.tag_`. An unknown tag is found instead, with a warning.
    RETURNS (tuple[Blocks, Words]): The blocks, and their words.
    RAISES (ValueError): If a tag is needed and missing.
    """
    words = read_words(docs)
    layout = words.layout
    numbers = np.array(encoder.vocabulary.numbers_observed(words.forms), dtype=np.int32)
    tags = np.full(len(layout.token), NONE, dtype=np.int32)
    if given_tags:
        names, place = read_attribute(docs, layout, "tag")
        for i, name in enumerate(names):
            if not name:
                word = np.argmax(place == i)
                raise ValueError(
                    f"predict_tags = false, but token {layout.token[word]} "
                    f"('{words.forms[words.place[word]]}') has no tag. Put a tagger before the "
                    "parser, or set predict_tags = true."
                )
            if name not in encoder.tags:
                warnings.warn(
                    f"The tag '{name}' was not in the training data. The parser predicts another.",
                    UnknownTagWarning,
                    stacklevel=2,
                )
        tags = np.array([encoder.tags.get(name, NONE) for name in names], dtype=np.int32)[place]
    return Blocks(numbers[words.place], tags, words.starts == NONE, layout.offsets), words


# Writing


def write_attribute(
    docs: Sequence[Doc], layout: Layout, attribute: str, names: Sequence[str], place: np.ndarray
) -> None:
    """Write tags, parts of speech, features or lemmas into Docs.

    attribute (str): "tag", "pos", "morph" or "lemma".
    names (Sequence[str]), place (int[words]): Values, and that of each word.
    """
    if not docs:
        return
    vocab, space = docs[0].vocab, _OF_WHITE_SPACE[attribute]
    add = vocab.morphology.add if attribute == "morph" else vocab.strings.add
    numbers = np.array([add(name) for name in names], dtype=np.uint64)
    for doc, words in zip(docs, layout.words):
        row = np.full((len(doc), 1), add(space), dtype=np.uint64)
        row[layout.token[words], 0] = numbers[place[words]]
        if len(doc):
            doc.from_array([_ATTRIBUTES[attribute]], row)


def write_tags(docs: Sequence[Doc], layout: Layout, tags: np.ndarray, names: Sequence[str]) -> None:
    """Write tags (int32[words]: places in `names`) into Docs, and forget their probabilities."""
    write_attribute(docs, layout, "tag", names, tags)
    for doc in docs:
        forget(doc, ("tag_prob",))


def write_starts(docs: Sequence[Doc], words: Words, starts: np.ndarray) -> None:
    """Write sentence boundaries into Docs, where none is set. White space begins no sentence unless
    it is first.

    starts (int32[words]): `BEGINS`, `GOES_ON`, or `NONE` where nothing is to be set.
    """
    for doc, place in zip(docs, words.layout.words):
        token = words.layout.token[place]
        given = doc.to_array([SENT_START]).view(np.int64).ravel()
        written = np.full(len(doc), -1, dtype=np.int64)
        written[token[starts[place] == BEGINS]] = 1
        written[token[starts[place] == NONE]] = 0
        written[given != 0] = given[given != 0]
        written[:1] = 1
        # If white space begins a sentence, the next word does not begin another one.
        for i in np.flatnonzero(np.diff(token, prepend=-1) > 1).tolist():
            spaces = slice(int(token[i - 1]) + 1 if i else 0, token[i])
            if np.any(written[spaces] == 1) and given[token[i]] == 0:
                written[token[i]] = -1
        if len(doc):
            doc.from_array([SENT_START], written.view(np.uint64).reshape(-1, 1))


def write_parses(
    docs: Sequence[Doc], layout: Layout, parses: Parses, encoder: Encoder, *, given_tags: bool
) -> None:
    """Write tags, heads, labels, probabilities and surprisals of parses into Docs. See
    `Encoder.tags_of` for given tags.
    """
    names, place = encoder.vocabulary.tags, parses.tags
    if encoder.tag_classes is not None:
        words = [doc[i] for doc, token in zip(docs, layout.tokens) for i in token.tolist()]
        names = encoder.tags_of(words, place.tolist(), given_tags=given_tags)
        place = np.arange(len(words))
    write_attribute(docs, layout, "tag", names, place)
    write_trees(docs, layout, parses.heads, parses.labels, list(encoder.labels))
    surprisals = bits(parses.lexical), bits(parses.syntactic)
    probabilities = parses.head_probability, parses.tag_probability
    # In the order of `WRITTEN`.
    values = np.stack([parses.log_probability, *surprisals, *probabilities])
    for doc, words in zip(docs, layout.words):
        write_extensions(doc, layout.token[words], values[:, words])


def write_extensions(doc: Doc, token: np.ndarray, values: np.ndarray) -> None:
    """Replace the values of `WRITTEN` in a Doc.

    token (int64[words]): The positions of the words.
    values (float64[WRITTEN, words]): A row for each attribute. NaN is not written. White space has
        0, but no head_prob or tag_prob, and nothing beside NaN.
    """
    forget(doc)
    offsets = doc.to_array(IDX).tolist()
    for name, of_words in zip(WRITTEN, values):
        is_nan = np.isnan(of_words)
        unknown = name in PROBABILITIES or is_nan.any()
        column = np.full(len(doc), None if unknown else 0.0, dtype=object)
        column[token] = np.where(is_nan, None, of_words)
        found = zip(attribute_keys(name, offsets), column.tolist())
        doc.user_data.update((key, value) for key, value in found if value is not None)


def write_probability(doc: Doc, token: np.ndarray, name: str, values: np.ndarray) -> None:
    """Write a probability (float64[words], NaN if unknown) of the words at `token` (int64[words]).
    With the attribute "head_prob", the component counts as calibrated.
    """
    if name == "head_prob":
        forget(doc, (UNCALIBRATED,))
    write_entries(doc, name, np.where(np.isnan(values), None, values).tolist(), token)


def bits(nats: np.ndarray) -> np.ndarray:
    """Convert log-probabilities in nats to surprisals in bits."""
    return -nats / np.log(2.0) + 0.0


def write_trees(
    docs: Sequence[Doc],
    layout: Layout,
    heads: np.ndarray,
    labels: np.ndarray,
    names: Sequence[str],
    head_probability: np.ndarray | None = None,
) -> None:
    """Write heads, labels and probabilities of arcs into Docs.

    heads, labels (int32[words]): As in `Parses`.
    names (Sequence[str]): The labels by number.
    head_probability (float64[words] | None): The probability that each arc is right, NaN for
        unknown ones; None to leave probabilities as they are.
    """
    if not docs:
        return
    add = docs[0].vocab.strings.add
    label_ids = np.array([*map(add, names), add(ROOT_LABEL)], dtype=np.uint64)
    places = np.arange(len(layout.token))
    heads = np.where(heads == NONE, places, heads + block_starts(layout.offsets))
    decorated = any(map(nonproj.is_decorated, names))
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
        if head_probability is not None:
            write_probability(doc, token, "head_prob", head_probability[words])


def rows_of_spaces(doc: Doc, token: np.ndarray) -> np.ndarray:
    """Return TAG, DEP and HEAD of a Doc's white space, which is attached to the word before it.

    White space at the beginning of a block is attached to the next word; if there is no word, to
    its first token.

    token (int64[words]): The positions of the words.
    RETURNS (uint64[tokens, 3]): As `doc.from_array` takes them; 0 for the words.
    """
    rows = np.zeros((len(doc), 3), dtype=np.uint64)
    if len(token) == len(doc):
        return rows
    strings = doc.vocab.strings
    block = np.cumsum(doc.to_array([SENT_START]).view(np.int64).ravel() == 1)
    spaces = np.delete(np.arange(len(doc)), token)
    rows[spaces, 0] = strings.add(SPACE_TAG)
    rows[spaces, 1] = strings.add(SPACE_LABEL)
    for space, after in zip(spaces.tolist(), np.searchsorted(token, spaces).tolist()):
        if after > 0 and block[token[after - 1]] == block[space]:
            head = int(token[after - 1])
        elif after < len(token) and block[token[after]] == block[space]:
            head = int(token[after])
        else:
            head = int(np.searchsorted(block, block[space]))
        if head == space:
            rows[space, 1] = strings.add(ROOT_LABEL)
        rows[space, 2] = np.int64(head - space).astype(np.uint64)
    return rows
