"""Reading words of Docs with the white space between them, and writing their attributes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from spacy.attrs import IS_SPACE, LEMMA, MORPH, ORTH, POS, SENT_START, SPACY, TAG
from spacy.tokens import Doc

from ..compiled import NONE
from ..text.elements import KEPT_FORMS
from .arrays import offsets_of
from .extensions import forget_probabilities

#: The tag of white space.
SPACE_TAG = "_SP"
#: What stands between two words.
NOTHING, SPACE, SPACES, LINE_END, EMPTY_LINE = range(5)
#: Outcomes of words that sentence boundaries are to be found between.
GOES_ON, BEGINS = 0, 1
# What words may have, by name.
_WRITTEN = {"tag": TAG, "pos": POS, "morph": MORPH, "lemma": LEMMA}
# Forms by the numbers that all vocabularies have for them: to ask one takes longer.
_forms: dict[int, str] = {}


@dataclass(frozen=True)
class Layout:
    """Places of the words of blocks in their Docs.

    token (int64[words]): The position of each word in its Doc.
    docs (int64[docs + 1]): The first word of each Doc.
    offsets (int64[blocks + 1]): The first word of each block.
    """

    token: np.ndarray
    docs: np.ndarray
    offsets: np.ndarray

    @property
    def words(self) -> list[slice]:
        """The words of each Doc."""
        return [slice(start, end) for start, end in zip(self.docs.tolist(), self.docs[1:].tolist())]

    @property
    def tokens(self) -> list[np.ndarray]:
        """The positions of the words of each Doc (int64[*])."""
        return [self.token[words] for words in self.words]


def layout_of(places: Sequence[Sequence[np.ndarray]]) -> Layout:
    """Return the layout of blocks, given the positions of their words (int64[*]) by Doc and
    block.
    """
    blocks = [place for doc in places for place in doc]
    token = np.concatenate([np.empty(0, dtype=np.int64), *blocks])
    return Layout(
        token, offsets_of([sum(map(len, doc)) for doc in places]), offsets_of([*map(len, blocks)])
    )


@dataclass(frozen=True)
class Words:
    """The words of Docs, without white space.

    forms (list[str]): The distinct forms.
    place (int64[words]): The form of each word.
    starts (int32[words]): Whether each begins a sentence: `BEGINS`, `GOES_ON`, or `NONE` where
        nothing is set. The first word of a Doc does, and so does one after white space that does.
    layout (Layout): Their places; blocks span from one given sentence boundary to the next.
    """

    forms: list[str]
    place: np.ndarray
    starts: np.ndarray
    layout: Layout


def read_words(docs: Sequence[Doc]) -> Words:
    """Read the words of Docs."""
    rows = [doc.to_array([ORTH, IS_SPACE, SENT_START]) for doc in docs]
    orths, is_space, found = np.concatenate([np.empty((0, 3), dtype=np.uint64), *rows]).T
    # Where each Doc begins among all tokens, and among all words.
    bounds = offsets_of([*map(len, docs)])
    place = np.flatnonzero(is_space == 0)
    counts = np.searchsorted(place, bounds)
    of_doc = np.repeat(np.arange(len(docs)), np.diff(counts))
    token = place - bounds[of_doc]
    begins, has_words = found == 1, np.diff(counts) > 0
    starts = np.where(begins, BEGINS, np.where(found == 0, NONE, GOES_ON)).astype(np.int32)[place]
    after = np.append(0, place[:-1] + 1)
    after[counts[:-1][has_words]] = bounds[:-1][has_words]
    begun = np.append(0, np.cumsum(begins))
    starts[begun[place] > begun[after]] = BEGINS
    starts[counts[:-1][has_words]] = BEGINS
    distinct, example, form = np.unique(orths[place], return_index=True, return_inverse=True)
    if len(_forms) > KEPT_FORMS:
        _forms.clear()
    forms = []
    for orth, doc in zip(distinct.tolist(), of_doc[example].tolist()):
        found = _forms.get(orth)
        if found is None:
            found = _forms[orth] = docs[doc].vocab.strings[orth]
        forms.append(found)
    layout = Layout(
        token, counts, np.append(np.flatnonzero(starts == BEGINS), len(starts)).astype(np.int64)
    )
    return Words(forms, form.ravel(), starts, layout)


def read_spaces(docs: Sequence[Doc], layout: Layout) -> np.ndarray:
    """Return the space before each word (int32[words])."""
    found = np.full(len(layout.token), NOTHING, dtype=np.int32)
    for doc, words, token in zip(docs, layout.words, layout.tokens):
        before = np.append(-1, token[:-1])[: len(token)]
        own = found[words]
        own[(doc.to_array(SPACY)[before] == 1) & (before >= 0)] = SPACE
        for i in np.flatnonzero(token - before > 1).tolist():
            own[i] = _space(doc, int(before[i]) + 1, int(token[i]))
    return found


def _space(doc: Doc, first: int, end: int) -> int:
    """Return the kind of the white space before a token."""
    text = "".join(token.text_with_ws for token in doc[max(0, first - 1) : end])
    text = text[len(text.rstrip()) :]
    lines = text.count("\n")
    return (SPACES, LINE_END)[lines] if lines < 2 else EMPTY_LINE


def write_tags(
    docs: Sequence[Doc], layout: Layout, outcomes: np.ndarray, tags: Sequence[str]
) -> None:
    """Write tags into Docs, and forget their probabilities.

    outcomes (int32[words]), tags (Sequence[str]): The tag numbers of the words, and the tags.
    """
    write_attribute(docs, layout, "tag", tags, outcomes, space=SPACE_TAG)
    for doc in docs:
        forget_probabilities(doc, "tag_prob")


def write_attribute(
    docs: Sequence[Doc],
    layout: Layout,
    attribute: str,
    names: Sequence[str],
    place: np.ndarray,
    *,
    space: str = "",
) -> None:
    """Write tags, parts of speech, features or lemmas into Docs.

    attribute (str): "tag", "pos", "morph" or "lemma".
    names (Sequence[str]), place (int[words]): Distinct values, and that of each word.
    space (str): The value of white space.
    """
    if not docs:
        return
    vocab = docs[0].vocab
    add = vocab.morphology.add if attribute == "morph" else vocab.strings.add
    numbers = np.array([add(name) for name in names], dtype=np.uint64)
    for doc, words in zip(docs, layout.words):
        row = np.full((len(doc), 1), add(space), dtype=np.uint64)
        row[layout.token[words], 0] = numbers[place[words]]
        if len(doc):
            doc.from_array([_WRITTEN[attribute]], row)


def write_starts(docs: Sequence[Doc], words: Words, outcomes: np.ndarray) -> None:
    """Write sentence boundaries into Docs, where none is set. White space begins no sentence unless
    it is first.

    outcomes (int32[words]): `BEGINS`, `GOES_ON`, or `NONE` where nothing is to be set.
    """
    for doc, own in zip(docs, words.layout.words):
        token = words.layout.token[own]
        given = doc.to_array([SENT_START]).view(np.int64).ravel()
        starts = np.full(len(doc), -1, dtype=np.int64)
        starts[token[outcomes[own] == BEGINS]] = 1
        starts[token[outcomes[own] == NONE]] = 0
        starts[given != 0] = given[given != 0]
        starts[:1] = 1
        # Where white space begins a sentence, the word after it does not begin another one.
        for j in np.flatnonzero(np.diff(token, prepend=-1) > 1).tolist():
            first = int(token[j - 1]) + 1 if j else 0
            if np.any(starts[first : token[j]] == 1) and given[token[j]] == 0:
                starts[token[j]] = -1
        if len(doc):
            doc.from_array([SENT_START], starts.view(np.uint64).reshape(-1, 1))


def read_written(
    docs: Sequence[Doc], layout: Layout, attribute: str
) -> tuple[list[str], np.ndarray]:
    """Read tags, parts of speech, features or lemmas.

    attribute (str): "tag", "pos", "morph" or "lemma".
    RETURNS (tuple[list[str], int64[words]]): Distinct values, "" for none, and that of each word.
    """
    rows = [
        doc.to_array([_WRITTEN[attribute]]).ravel()[token]
        for doc, token in zip(docs, layout.tokens)
    ]
    distinct, place = np.unique(
        np.concatenate([np.empty(0, dtype=np.uint64), *rows]), return_inverse=True
    )
    return [docs[0].vocab.strings[each] for each in distinct.tolist()], place.ravel()
