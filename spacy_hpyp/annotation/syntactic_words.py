"""Syntactic words of Universal Dependencies under the tokens of a Doc: French *du* is the words
*de* and *le*.

The words of a token are in the user data of the Doc, unless it is one word of the same form.
spaCy's attributes of a token with several words are those of the highest word, the one nearest to
the root, so that the tokens form a tree. The same holds for values that components write, but
log-probabilities and surprisals are summed.

Components read and write Docs whose tokens are words: `to_word_doc` makes such a Doc, and
`write_back` writes its annotation into the original. A Doc without multiword tokens is its own word
Doc.

User data refer to tokens by distances in characters, so that spaCy may merge other tokens. A token
that is merged or split itself loses its words.
"""

import warnings
from bisect import bisect_right
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary, ref

import numpy as np
from spacy.attrs import DEP, HEAD, IDX, LEMMA, LENGTH, MORPH, ORTH, POS, SENT_START, SPACY, TAG
from spacy.tokens import Doc, Token

from .user_data import SUMMED, attribute_key, entries_of

# User data of a token: its text and a list for each of its words, with the fields of `Analysis`,
# but with the distance to the head's token in characters; the values written about each of these
# words; and, for a single-word token, the distance in characters to the token of its head and the
# number of the head among that token's words.
_WORDS, _ABOUT_WORDS, _HEAD_WORD = _OWN = "multiword", "about_words", "head_word"
_STRINGS = (TAG, POS, MORPH, LEMMA, DEP)
_COLUMNS = [*_STRINGS, HEAD, SENT_START, SPACY, ORTH]


class Analysis(NamedTuple):
    """A word of a token with several words. Attributes are as spaCy's, "" if unknown."""

    form: str
    lemma: str = ""
    tag: str = ""
    pos: str = ""
    morph: str = ""
    dep: str = ""
    head_token: int = 0  # Distance in tokens to the token of its head; 0 is the same token
    head_word: int = 0  # The number of the head in that token; the word itself if it is the root


def _attribute(column: int, name: str, meaning: str) -> Any:
    """Make a property: a field of `Analysis`, or an attribute of a token that is one word."""

    def read(word: "Word") -> str:
        rows = _rows_of(word.token)
        return rows[word.number][column] if rows else str(getattr(word.token, name))

    return property(read, doc=meaning)


@dataclass(frozen=True, repr=False, slots=True)
class Word:
    """View of a syntactic word.

    token (Token): Its token.
    number (int): Its number in the token, from 0.
    """

    token: Token
    number: int

    text = _attribute(0, "text", "The form of the word.")
    lemma_ = _attribute(1, "lemma_", "Its lemma.")
    tag_ = _attribute(2, "tag_", "The treebank's own tag.")
    pos_ = _attribute(3, "pos_", "The universal tag.")
    morph = _attribute(4, "morph", 'Its features, as CoNLL-U has them; "" for none.')
    dep_ = _attribute(5, "dep_", "The label of the arc from its head.")

    @property
    def head(self) -> "Word":
        """Its head; a root is its own."""
        token = self.token
        if _rows_of(token):
            analysis = _analyses(token.doc)[token.i][self.number]
            return Word(token.doc[token.i + analysis.head_token], analysis.head_word)
        return Word(token.head, _head_word(token, token.head))

    def __len__(self) -> int:
        return len(self.text)

    def __repr__(self) -> str:
        return self.text


def _rows_of(token: Token) -> list[list[Any]]:
    """Return the stored rows of a token with several words; none if it was merged or split."""
    text, rows = token.doc.user_data.get(attribute_key(_WORDS, token.idx), (token.text, []))
    if text == token.text:
        return rows
    warnings.warn(
        f"'{text}' was merged or split after it was analysed: '{token.text}' counts as one word.",
        stacklevel=2,
    )
    return []


def words_of_token(token: Token) -> tuple[Word, ...]:
    """Return the words of a token; white space has none."""
    return tuple(Word(token, i) for i in range(len(_rows_of(token)) or int(not token.is_space)))


def words_of_doc(doc: Doc) -> tuple[Word, ...]:
    """Return the words of all tokens of a Doc."""
    return tuple(word for token in doc for word in words_of_token(token))


def multiword_tokens(doc: Doc) -> Iterator[tuple[Token, list[Analysis]]]:
    """Yield the tokens with several words, or one of another form, and their words."""
    return ((doc[i], words) for i, words in _analyses(doc).items())


def has_multiword_tokens(doc: Doc) -> bool:
    """Whether a token of a Doc has several words, or one of another form."""
    return bool(_analyses(doc))


def _analyses(doc: Doc) -> dict[int, list[Analysis]]:
    """Return the words of the tokens with several words, by position."""
    found = enumerate(entries_of(doc, _WORDS) if doc.user_data else [])
    several = {i: rows for i, each in found if each is not None and (rows := _rows_of(doc[i]))}
    offsets = doc.to_array(IDX).tolist() if several else []

    def analysis(token: int, number: int, row: list[Any]) -> Analysis:
        *known, distance, head_word = row
        place = offsets[token] + distance
        if not 0 <= place < _end(doc):
            # The head is outside a part that became a separate Doc.
            return Analysis(*known, 0, number)
        head = bisect_right(offsets, place) - 1
        is_there = head_word < len(several.get(head, "_"))
        return Analysis(*known, head - token, head_word if is_there else 0)

    return {
        token: [analysis(token, number, row) for number, row in enumerate(rows)]
        for token, rows in several.items()
    }


def _end(doc: Doc) -> int:
    """Return the length of the text of a Doc with tokens."""
    return doc[-1].idx + len(doc[-1].text_with_ws)


def _head_word(token: Token, head: Token) -> int:
    """Return the number of a token's head among the words of its token, by default the highest."""
    rows = _rows_of(head)
    distance, number = token.doc.user_data.get(attribute_key(_HEAD_WORD, token.idx), (0, 0))
    if token.idx + distance == head.idx and number < len(rows):
        return number
    return next((i for i, (*_, outside, above) in enumerate(rows) if outside or above == i), 0)


def write_words(doc: Doc, token: int, words: Sequence[Analysis]) -> None:
    """Write the words of a token, given by position."""
    own = doc[token]
    key = attribute_key(_WORDS, own.idx)
    doc.user_data.pop(key, None)
    if len(words) > 1 or words[0].form != own.text:
        rows = [
            [*word[:-2], doc[token + word.head_token].idx - own.idx, word.head_word]
            for word in words
        ]
        doc.user_data[key] = [own.text, rows]


class _Places:
    """The places of the words in a Doc with multiword tokens.

    count, first (int64[tokens]): The number of words of each token, and the first of them.
    token (int64[words]): The token of each word.
    """

    def __init__(self, doc: Doc, analyses: dict[int, list[Analysis]]) -> None:
        self.count = np.ones(len(doc), dtype=np.int64)
        self.count[list(analyses)] = list(map(len, analyses.values()))
        self.first = np.cumsum(self.count) - self.count
        self.token = np.repeat(np.arange(len(doc)), self.count)

    def words(self, token: int) -> range:
        """Return the words of a token."""
        return range(self.first[token], self.first[token] + self.count[token])


def to_word_doc(doc: Doc) -> Doc:
    """Return a Doc whose tokens are the words of another; the same Doc if it has no multiword
    tokens.

    A value about a token with several words goes to its last word, unless its words have their own.
    """
    analyses = _analyses(doc)
    if not analyses:
        return doc
    places, strings, morphology = _Places(doc, analyses), doc.vocab.strings, doc.vocab.morphology
    first, token_of = places.first, places.token
    last = first + places.count - 1
    rows = doc.to_array(_COLUMNS).view(np.int64)[token_of]
    heads = token_of + rows[:, 5]
    # Only the first of several words may begin a sentence, and only the last has a space after it.
    rows[np.diff(token_of, prepend=-1) == 0, 6] = -1
    rows[np.diff(token_of, append=-1) == 0, 7] = 0
    rows[:, 5] = first[heads] - np.arange(len(rows))
    for word in first[places.count[heads[first]] > 1].tolist():
        rows[word, 5] += _head_word(doc[int(token_of[word])], doc[int(heads[word])])
    for token, words in analyses.items():
        for i, word in zip(places.words(token), words):
            names = word.tag, word.pos, word.lemma, word.dep, word.form
            numbers = np.array([*map(strings.add, names), morphology.add(word.morph)], np.uint64)
            rows[i, [0, 1, 3, 4, 8, 2]] = numbers.view(np.int64)
            rows[i, 5] = first[token + word.head_token] + word.head_word - i
    orths = rows[:, 8].view(np.uint64).tolist()
    word_doc = Doc(doc.vocab, words=orths, spaces=(rows[:, 7] == 1).tolist())
    word_doc.has_unknown_spaces = doc.has_unknown_spaces
    _write_rows(word_doc, rows, parsed=doc.has_annotation("DEP"))
    offsets, starts = (each.to_array(IDX).view(np.int64) for each in (doc, word_doc))
    moved = _moved(offsets, _end(doc), starts[last] - offsets)
    data = word_doc.user_data
    for key, value in doc.user_data.items():
        # Inlined, because calls are slow.
        if type(key) is not tuple or len(key) != 4 or key[2] is None or key[3] is not None:
            data[key] = value
        elif key[1] not in _OWN:
            data["._.", key[1], moved[key[2]], None] = value
    for token in analyses:
        about = doc.user_data.get(attribute_key(_ABOUT_WORDS, int(offsets[token])), [])
        word_starts = starts[places.words(token)].tolist()
        for name in {name for values in about for name in values}:
            data.pop(attribute_key(name, word_starts[-1]), None)
        for start, values in zip(word_starts, about):
            data.update({attribute_key(name, start): value for name, value in values.items()})
    return word_doc


def write_back(words: Doc, doc: Doc) -> None:
    """Write the annotation of `words`, made by `to_word_doc`, into its Doc."""
    if words is doc:
        return
    analyses = _analyses(doc)
    places, offsets = _Places(doc, analyses), doc.to_array(IDX).tolist()
    first, token_of = places.first, places.token
    rows = words.to_array([*_STRINGS, HEAD, SENT_START]).view(np.int64)
    parsed = words.has_annotation("DEP")
    head = np.arange(len(words)) + rows[:, 5]
    # The highest word of each token, the first of equally high ones.
    depth, highest = depths(head) if parsed else head, first.copy()

    def link(word: int) -> list[int]:
        """Return the distance in characters to the head's token, and the head's number in it."""
        token, above = int(token_of[word]), int(token_of[head[word]])
        return [offsets[above] - offsets[token], int(head[word] - first[above])]

    data: dict[Any, Any] = {}
    about: dict[int, list[dict[str, Any]]] = {}
    of_several: dict[int, int] = {}
    starts = words.to_array(IDX).view(np.int64)
    for token in analyses:
        of_token = places.words(token)
        stored = []
        for i in of_token:
            word, head_of_word = words[i], link(i) if parsed else (0, 0)
            known = word.text, word.lemma_, word.tag_, word.pos_, str(word.morph), word.dep_
            stored.append([*known, *head_of_word])
        data[attribute_key(_WORDS, offsets[token])] = [doc[token].text, stored]
        highest[token] += depth[of_token].argmin() if parsed else 0
        about[token] = [{} for _ in of_token]
        of_several.update(zip(starts[of_token].tolist(), of_token))
    if parsed:
        is_simple = (places.count[token_of] == 1) & (places.count[token_of[head]] > 1)
        for word in np.flatnonzero(is_simple).tolist():
            data[attribute_key(_HEAD_WORD, offsets[token_of[word]])] = link(word)
    moved = _moved(starts, _end(words), np.array(offsets)[token_of] - starts)
    for key, value in words.user_data.items():
        if type(key) is not tuple or len(key) != 4 or key[2] is None or key[3] is not None:
            data[key] = value
            continue
        name, new_key = key[1], ("._.", key[1], moved[key[2]], None)
        word = of_several.get(key[2])
        if word is not None:
            token = int(token_of[word])
            about[token][word - first[token]][name] = value
            if new_key in data and name in SUMMED:
                value += data[new_key]
            elif new_key in data and word != highest[token]:
                continue
        data[new_key] = value
    for token, values in about.items():
        data[attribute_key(_ABOUT_WORDS, offsets[token])] = values
    doc.user_data.clear()
    doc.user_data.update(data)
    chosen = rows[highest]
    chosen[:, 5] = token_of[head[highest]] - np.arange(len(doc))
    chosen[:, 6] = rows[first, 6]
    if doc.has_annotation("DEP") and not parsed:
        doc.from_array([HEAD, DEP], np.zeros((len(doc), 2), dtype=np.uint64))
    _write_rows(doc, chosen, parsed=parsed)


def spelled_apart(doc: Doc, kept: Container[int] = ()) -> Doc:
    """Return a Doc of the same text whose only multiword tokens are `kept`, or `doc` if it is one.

    Words that spell their token, as those of "don't", become tokens. Other tokens are annotated as
    their highest words.

    kept (Container[int]): The multiword tokens that stay as they are, by their first character.
    """
    analyses = _analyses(doc)
    if all(doc[i].idx in kept for i in analyses):
        return doc
    texts, spaces, whole = [], [], {}
    for token in doc:
        forms = [word.form for word in analyses.get(token.i, [])]
        if token.idx in kept or "".join(forms) != token.text:
            if forms:
                whole[len(texts)] = [Analysis(form) for form in forms]
            forms = [token.text]
        texts += forms
        spaces += [False] * (len(forms) - 1) + [bool(token.whitespace_)]
    tokens = Doc(doc.vocab, words=texts, spaces=spaces)
    tokens.has_unknown_spaces = doc.has_unknown_spaces
    for i, words in whole.items():
        write_words(tokens, i, words)
    write_back(to_word_doc(doc), tokens)
    for i in whole:
        if tokens[i].idx not in kept:
            write_words(tokens, i, [Analysis(tokens[i].text)])
    return tokens


def word_spans(doc: Doc) -> np.ndarray:
    """Return the offsets in the text of each token of `to_word_doc` (int64[words, 2]): those of its
    token, if the words do not spell that.
    """
    analyses = _analyses(doc)
    places = _Places(doc, analyses)
    rows = doc.to_array([IDX, LENGTH]).view(np.int64).reshape(-1, 2)
    spans = np.cumsum(rows, axis=1)[places.token]
    for token, words in analyses.items():
        if "".join(word.form for word in words) == doc[token].text:
            ends = rows[token, 0] + np.cumsum([len(word.form) for word in words])
            spans[places.words(token), 1] = ends
            spans[places.words(token)[1:], 0] = ends[:-1]
    return spans


class WordsInFlight:
    """The word Doc of a Doc on its way through a pipeline, made once for components that follow one
    another.

    The component that annotates a batch holds those of the batch. Nothing else does, so they go
    with it.
    """

    _all: ClassVar[WeakValueDictionary[int, "WordsInFlight"]] = WeakValueDictionary()

    def __init__(self, doc: Doc) -> None:
        self.words, self._doc = to_word_doc(doc), ref(doc)

    @classmethod
    def of(cls, doc: Doc) -> "WordsInFlight":
        """Return the words last written back, or new ones if the Doc has changed since."""
        found = cls._all.get(id(doc))
        is_current = found is not None and found._doc() is doc and found._is_current(doc)
        return found if is_current else cls(doc)

    def _is_current(self, doc: Doc) -> bool:
        data, before = doc.user_data, self._data
        return (
            len(data) == len(before)
            and all(map(is_, data, before))
            and all(map(is_, data.values(), before.values()))
            and np.array_equal(doc.to_array(_COLUMNS), self._rows)
        )

    def write_back(self, doc: Doc) -> None:
        """Write the words into their Doc."""
        if self.words is not doc:
            write_back(self.words, doc)
            self._rows, self._data = doc.to_array(_COLUMNS), dict(doc.user_data)
            self._all[id(doc)] = self


def _moved(offsets: np.ndarray, end: int, distance: np.ndarray) -> list[int]:
    """Return where each character moves, given the distance of each token that it is in."""
    return (np.arange(end) + np.repeat(distance, np.diff(offsets, append=end))).tolist()


def _write_rows(doc: Doc, rows: np.ndarray, *, parsed: bool) -> None:
    """Write the columns of `_STRINGS`, and HEAD or SENT_START (int64[tokens, *])."""
    columns, names = (
        (range(6), (*_STRINGS, HEAD)) if parsed else ([0, 1, 2, 3, 6], (*_STRINGS[:4], SENT_START))
    )
    doc.from_array(list(names), np.ascontiguousarray(rows[:, columns]).view(np.uint64))


def depths(head: np.ndarray) -> np.ndarray:
    """Return the number of arcs from each word to its root (int64[words]); a root heads itself."""
    depth, above = np.zeros(len(head), dtype=np.int64), np.arange(len(head))
    for _ in range(len(head)):
        higher = head[above]
        if np.array_equal(above, higher):
            break
        depth += above != higher
        above = higher
    return depth
