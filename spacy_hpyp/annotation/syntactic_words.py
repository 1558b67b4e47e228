"""Syntactic words of Universal Dependencies under the tokens of a Doc: French *du* is the words
*de* and *le*.

A token with several words has them in the user data of the Doc. A token without is one word itself.
spaCy's attributes of a token with several words are those of the highest word, the one nearest to
the root, so that the tokens have a tree. So are values that components write; log-probabilities and
surprisals are summed.

Components read and write Docs whose tokens are words: `words_as_tokens` makes such a Doc, and
`write_back` writes its annotation into the original. A Doc without multiword tokens stands for its
own words.

User data refer to tokens by distances in characters, so that spaCy may merge other tokens. A token
that is merged itself, or split, loses its words.
"""

import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Sequence
from operator import is_
from typing import Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary, ref

import numpy as np
from spacy.attrs import DEP, HEAD, IDX, LEMMA, LENGTH, MORPH, ORTH, POS, SENT_START, SPACY, TAG
from spacy.morphology import Morphology
from spacy.tokens import Doc, Token

from .user_data import SENTENCE, SUMMED, attribute_key, entries_of

# Keys of user data of a token: its text with a list for each word (the fields of `Analysis`, but a
# distance in characters to the token of the head); values written about these words; and the
# distance in characters to the token of its head, with the number of the head among the words of
# that.
_WORDS, _ABOUT_WORDS, _HEAD_WORD = _OWN = "multiword", "about_words", "head_word"
_STRINGS = (TAG, POS, MORPH, LEMMA, DEP)
_COLUMNS = [*_STRINGS, HEAD, SENT_START, SPACY, ORTH]


class Analysis(NamedTuple):
    """A word of a token with several words.

    form (str): The word.
    lemma, tag, pos, morph, dep (str): As spaCy's attributes of tokens; "" if unknown.
    head_token (int): Distance in tokens to the token of its head; 0 is the same token.
    head_word (int): The number of the head in that token; the word itself if it is the root.
    """

    form: str
    lemma: str = ""
    tag: str = ""
    pos: str = ""
    morph: str = ""
    dep: str = ""
    head_token: int = 0
    head_word: int = 0


def _attribute(column: int, of_token: str, meaning: str) -> Any:
    """Make a property of words: a field of `Analysis`, or an attribute of a token that is one
    word.
    """

    def read(word: "Word") -> str:
        rows = _rows_of(word.token)
        return rows[word.number][column] if rows else str(getattr(word.token, of_token))

    return property(read, doc=meaning)


class Word:
    """View of a syntactic word.

    token (Token): Its token.
    number (int): Its number in the token, from 0.
    """

    __slots__ = ("number", "token")

    def __init__(self, token: Token, number: int) -> None:
        self.token = token
        self.number = number

    text = _attribute(0, "text", "The form of the word.")
    lemma_ = _attribute(1, "lemma_", "Its lemma.")
    tag_ = _attribute(2, "tag_", "The treebank's own tag.")
    pos_ = _attribute(3, "pos_", "The universal tag.")
    morph = _attribute(4, "morph", 'Its features, as CoNLL-U has them; "" for none.')
    dep_ = _attribute(5, "dep_", "The label of the arc from its head.")

    @property
    def head(self) -> "Word":
        """Its head; a root is its own."""
        doc, token = self.token.doc, self.token.head
        if _rows_of(self.token):
            analysis = _several(doc)[self.token.i][self.number]
            return Word(doc[self.token.i + analysis.head_token], analysis.head_word)
        return Word(token, _head_word(self.token, token))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Word) and (self.number, self.token) == (other.number, other.token)

    def __hash__(self) -> int:
        return hash((self.number, self.token))

    def __len__(self) -> int:
        return len(self.text)

    def __repr__(self) -> str:
        return self.text


def _rows_of(token: Token) -> list[list[Any]]:
    """Return what is stored of the words of a token with several."""
    found = token.doc.user_data.get(attribute_key(_WORDS, token.idx))
    return [] if found is None else _checked(token, found)


def _checked(token: Token, found: list[Any]) -> list[list[Any]]:
    text, rows = found
    if text == token.text:
        return rows
    warnings.warn(
        f"'{text}' has been merged or split since its words were found: '{token.text}' counts as one word.",
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
    """Yield the tokens with several words, and these words."""
    for token, analyses in _several(doc).items():
        yield doc[token], analyses


def _several(doc: Doc) -> dict[int, list[Analysis]]:
    """Return the words of the tokens with several words, by position."""
    found = enumerate(entries_of(doc, _WORDS) if doc.user_data else [])
    several = {
        i: rows for i, each in found if each is not None and (rows := _checked(doc[i], each))
    }
    if not several:
        return {}
    offsets, end = doc.to_array(IDX).tolist(), _end(doc)

    def analysis(
        token: int, number: int, known: list[Any], distance: int, head_word: int
    ) -> Analysis:
        place = offsets[token] + distance
        if not 0 <= place < end:
            # The head is outside of what has become a Doc of its own.
            return Analysis(*known, 0, number)
        head = bisect_right(offsets, place) - 1
        return Analysis(
            *known, head - token, head_word if head_word < len(several.get(head, "_")) else 0
        )

    return {
        token: [analysis(token, i, row[:-2], *row[-2:]) for i, row in enumerate(rows)]
        for token, rows in several.items()
    }


def _end(doc: Doc) -> int:
    """Return the length of the text of a Doc with tokens."""
    return doc[-1].idx + len(doc[-1].text_with_ws)


def has_multiword_tokens(doc: Doc) -> bool:
    """Whether a token of a Doc has several words."""
    return bool(_several(doc))


def _head_word(token: Token, head: Token) -> int:
    """Return the number of the head among the words of a token's head: by default of the highest
    one, the first with a head outside.
    """
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


def words_as_tokens(doc: Doc) -> Doc:
    """Return a Doc whose tokens are the words of another; the same Doc if it has no multiword
    tokens.

    What components have written about a token with several words goes to its last word.
    """
    several = _several(doc)
    if not several:
        return doc
    count, first, own = _word_counts(doc, several)
    strings, morphology = doc.vocab.strings, doc.vocab.morphology
    rows = doc.to_array([*_STRINGS, HEAD, SENT_START, SPACY]).view(np.int64)[own]
    spaces = np.zeros(len(own), dtype=bool)
    spaces[first + count - 1] = rows[first, 7] == 1
    orths = doc.to_array(ORTH)[own]
    orths[count[own] > 1] = [
        strings.add(each.form) for analyses in several.values() for each in analyses
    ]
    words = Doc(doc.vocab, words=orths.tolist(), spaces=spaces.tolist())
    words.has_unknown_spaces = doc.has_unknown_spaces
    # Of several words only the first may begin a sentence.
    rows[1:][own[1:] == own[:-1], 6] = -1
    heads = own + rows[:, 5]
    rows[:, 5] = first[heads] - np.arange(len(own))
    for at in first[count[heads[first]] > 1].tolist():
        rows[at, 5] += _head_word(doc[int(own[at])], doc[int(heads[at])])
    for token, analyses in several.items():
        for at, each in enumerate(analyses, first[token]):
            found = map(strings.add, (each.tag, each.pos, "", each.lemma, each.dep))
            rows[at, :5] = np.array([*found], dtype=np.uint64).view(np.int64)
            rows[at, 2] = np.uint64(morphology.add(each.morph)).view(np.int64)
            rows[at, 5] = first[token + each.head_token] + each.head_word - at
    _write_rows(words, rows, parsed=doc.has_annotation("DEP"))
    offsets, place = doc.to_array(IDX).view(np.int64), words.to_array(IDX).view(np.int64)
    # What is known of the characters of a token moves to its last word.
    moved = _moved(offsets, _end(doc), place[first + count - 1] - offsets)
    starts, first_places = offsets.tolist(), [*place[first].tolist(), _end(words)]
    about, data = {}, words.user_data
    for key, value in doc.user_data.items():
        # Asked here, as calls take long.
        if type(key) is not tuple or len(key) != 4 or key[2] is None or key[3] is not None:
            data[key] = value
        elif (name := key[1]) not in _OWN:
            idx = moved[key[2]]
            if name == SENTENCE:
                value = value[0], first_places[bisect_left(starts, key[2] + value[1])] - idx
            data["._.", name, idx, None] = value
        elif name == _ABOUT_WORDS:
            about[key[2]] = value
    for token in several:
        at = place[first[token] : first[token] + count[token]].tolist()
        of_words = about.get(starts[token], [])
        for name in {name for known in of_words for name in known}:
            data.pop(attribute_key(name, at[-1]), None)
        for idx, known in zip(at, of_words):
            data.update({attribute_key(name, idx): value for name, value in known.items()})
    return words


def spelled_apart(doc: Doc, kept: Container[int] = ()) -> Doc:
    """Return a Doc with the same text and no multiword tokens; the same Doc if it has none.

    Words that spell their token, as those of "don't", become tokens. Other tokens are annotated as
    their highest words.

    kept (Container[int]): The multiword tokens that stay as they are, by their first character.
    """
    several = _several(doc)
    offsets = doc.to_array(IDX).tolist()
    forms = [[each.form for each in several.get(i, [])] for i in range(len(doc))]
    cut = [offsets[i] not in kept and "".join(own) == doc[i].text for i, own in enumerate(forms)]
    if all(offsets[i] in kept for i in several):
        return doc
    texts = [own if is_cut else [token.text] for own, is_cut, token in zip(forms, cut, doc)]
    spaces = [
        last and bool(token.whitespace_)
        for own, token in zip(texts, doc)
        for last in [False] * (len(own) - 1) + [True]
    ]
    tokens = Doc(doc.vocab, words=[form for own in texts for form in own], spaces=spaces)
    tokens.has_unknown_spaces = doc.has_unknown_spaces
    whole = {sum(map(len, texts[:i])): i for i in several if not cut[i]}
    for place, i in whole.items():
        write_words(tokens, place, [Analysis(form) for form in forms[i]])
    write_back(words_as_tokens(doc), tokens)
    for place, i in whole.items():
        if offsets[i] not in kept:
            write_words(tokens, place, [Analysis(tokens[place].text)])
    return tokens


def word_spans(doc: Doc) -> np.ndarray:
    """Return the offsets in the text of each token of `words_as_tokens` (int64[words, 2]). Words
    that do not spell their token have those of the token.
    """
    rows = doc.to_array([IDX, LENGTH]).view(np.int64).reshape(-1, 2)
    several = _several(doc)
    _, first, own = _word_counts(doc, several)
    spans = np.cumsum(rows, axis=1)[own]
    for token, words in several.items():
        if "".join(word.form for word in words) == doc[token].text:
            ends = rows[token, 0] + np.cumsum([len(word.form) for word in words])
            spans[first[token] : first[token] + len(words)] = np.stack(
                [np.r_[rows[token, 0], ends[:-1]], ends], 1
            )
    return spans


def write_back(words: Doc, doc: Doc) -> None:
    """Write the annotation of `words`, made by `words_as_tokens`, into its Doc."""
    if words is doc:
        return
    several = _several(doc)
    count, first, own = _word_counts(doc, several)
    offsets = doc.to_array(IDX).tolist()
    rows = words.to_array([*_STRINGS, HEAD, SENT_START]).view(np.int64)
    parsed = words.has_annotation("DEP")
    head = np.arange(len(words)) + rows[:, 5]
    # The highest word of each token, the first of equally high ones.
    depth, highest = depths(head) if parsed else head, first.copy()
    data: dict[Any, Any] = {}

    def link(token: int, at: int) -> list[int]:
        """Return the distance in characters to the token of a head, and the number of the head in
        it.
        """
        above = int(own[at])
        return [offsets[above] - offsets[token], int(at - first[above])]

    for token in several:
        places = range(first[token], first[token] + count[token])
        analyses = [
            [
                words[at].text,
                *_known(words, rows[at]),
                *(link(token, head[at]) if parsed else (0, 0)),
            ]
            for at in places
        ]
        data[attribute_key(_WORDS, offsets[token])] = [doc[token].text, analyses]
        highest[token] += depth[places].argmin() if parsed else 0
    if parsed:
        for at in np.flatnonzero((count[own] == 1) & (count[own[head]] > 1)).tolist():
            data[attribute_key(_HEAD_WORD, offsets[own[at]])] = link(int(own[at]), head[at])
    place, ends = words.to_array(IDX).view(np.int64), [*offsets, _end(doc)]
    begins, tokens = place.tolist(), [*own.tolist(), len(doc)]
    moved = _moved(place, _end(words), np.array(offsets)[own] - place)
    about: dict[int, list[dict[str, Any]]] = {
        token: [{} for _ in words] for token, words in several.items()
    }
    inside = {
        begins[at]: at
        for token in several
        for at in range(first[token], first[token] + count[token])
    }
    for key, value in words.user_data.items():
        if type(key) is not tuple or len(key) != 4 or key[2] is None or key[3] is not None:
            data[key] = value
            continue
        name, at, idx, own_value = key[1], inside.get(key[2]), moved[key[2]], value
        if name == SENTENCE:
            value = value[0], ends[tokens[bisect_left(begins, key[2] + value[1])]] - idx
        if at is None:
            data["._.", name, idx, None] = value
        else:
            token = tokens[at]
            about[token][at - first[token]][name] = own_value
            _put(data, ("._.", name, idx, None), value, bool(at == highest[token]))
    data.update(
        (attribute_key(_ABOUT_WORDS, offsets[token]), known) for token, known in about.items()
    )
    doc.user_data.clear()
    doc.user_data.update(data)
    chosen = rows[highest]
    chosen[:, 5] = own[head[highest]] - np.arange(len(doc))
    chosen[:, 6] = rows[first, 6]
    if doc.has_annotation("DEP") and not parsed:
        doc.from_array([HEAD, DEP], np.zeros((len(doc), 2), dtype=np.uint64))
    _write_rows(doc, chosen, parsed=parsed)


class WordsInFlight:
    """The words of a Doc on its way through a pipeline, built once for components that follow one
    another.

    Whoever annotates a batch holds the words of it. Nothing else does, so they go with the batch.
    """

    _all: ClassVar[WeakValueDictionary[int, "WordsInFlight"]] = WeakValueDictionary()

    def __init__(self, doc: Doc) -> None:
        self.words, self._doc = words_as_tokens(doc), ref(doc)

    @classmethod
    def of(cls, doc: Doc) -> "WordsInFlight":
        """Return the words that the component before has written back, unless the Doc has changed
        since.
        """
        found = cls._all.get(id(doc))
        return (
            found
            if found is not None and found._doc() is doc and found._is_current(doc)
            else cls(doc)
        )

    def _is_current(self, doc: Doc) -> bool:
        data, before = doc.user_data, self._data
        same = (
            len(data) == len(before)
            and all(map(is_, data, before))
            and all(map(is_, data.values(), before.values()))
        )
        return same and np.array_equal(doc.to_array(_COLUMNS), self._rows)

    def write_back(self, doc: Doc) -> None:
        """Write the words into their Doc."""
        if self.words is not doc:
            write_back(self.words, doc)
            self._rows, self._data = doc.to_array(_COLUMNS), dict(doc.user_data)
            self._all[id(doc)] = self


def _moved(offsets: np.ndarray, end: int, distance: np.ndarray) -> list[int]:
    """Return where each character of a text with tokens at given offsets moves, given the distance
    of each.
    """
    lengths = np.diff(offsets, append=end)
    return (np.arange(end) + np.repeat(distance, lengths)).tolist()


def _known(words: Doc, row: np.ndarray) -> list[str]:
    """Return the fields of `Analysis` from `lemma` to `dep`, given the numbers of `_STRINGS`."""
    tag, pos, morph, lemma, dep = (
        words.vocab.strings[value] for value in row[:5].view(np.uint64).tolist()
    )
    return [lemma, tag, pos, "" if morph == Morphology.EMPTY_MORPH else morph, dep]


def _write_rows(doc: Doc, rows: np.ndarray, *, parsed: bool) -> None:
    """Write the columns of `_STRINGS`, and HEAD or SENT_START (int64[tokens, *])."""
    columns, names = (
        (range(6), (*_STRINGS, HEAD)) if parsed else ([0, 1, 2, 3, 6], (*_STRINGS[:4], SENT_START))
    )
    doc.from_array(list(names), np.ascontiguousarray(rows[:, columns]).view(np.uint64))


def _put(data: dict[Any, Any], key: tuple, value: Any, is_highest: bool) -> None:
    """Merge a value of a word into its token's."""
    before = data.get(key)
    if before is None:
        data[key] = value
    elif key[1] in SUMMED:
        data[key] = before + value
    elif is_highest:
        data[key] = value


def _word_counts(
    doc: Doc, several: dict[int, list[Analysis]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the number of words and first word of each token (int64[tokens]), and the token of
    each word (int64[words]).
    """
    count = np.ones(len(doc), dtype=np.int64)
    count[list(several)] = list(map(len, several.values()))
    return count, np.cumsum(count) - count, np.repeat(np.arange(len(doc)), count)


def depths(head: np.ndarray) -> np.ndarray:
    """Return the number of arcs from each word to its root, given its head; roots are their own
    (int64[words]).
    """
    depth = np.zeros(len(head), dtype=np.int64)
    above = head.copy()
    moved = above != np.arange(len(head))
    for _ in range(len(head)):
        if not moved.any():
            break
        depth += moved
        moved = above != head[above]
        above = np.where(moved, head[above], above)
    return depth
