"""Syntactic words of Universal Dependencies under the tokens of a Doc: French *du* is the words *de* and
*le*.

A token with several words has them in the user data of the Doc. A token without is one word itself. spaCy's
attributes of a token with several words are those of the highest word, the one nearest to the root, so that
the tokens have a tree. So are values that components write; log-probabilities and surprisals are summed.

Components read and write Docs whose tokens are words: `words_as_tokens` makes such a Doc, and `write_back`
writes its annotation into the original. A Doc without multiword tokens stands for its own words.
"""

from collections.abc import Iterator, Sequence
from operator import is_
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from spacy.attrs import DEP, HEAD, IDX, LEMMA, LENGTH, MORPH, ORTH, POS, SENT_START, SPACY, TAG
from spacy.morphology import Morphology
from spacy.tokens import Doc, Token

from .written import SENTENCE, attribute_key, entries_of, take

# Keys of user data: the words of a token, values written about them, and the head among the words of a token.
_WORDS, _ABOUT_WORDS, _HEAD_WORD = _OWN = "multiword", "about_words", "head_word"
#: What is written about words and can be summed up: of a token with several it is the sum.
_SUMMED = ("log_prob", "surprisal_lexical", "surprisal_syntactic")
_STRINGS = (TAG, POS, MORPH, LEMMA, DEP)
# Attributes of words, and those that do not depend on other words.
_COLUMNS = [*_STRINGS, HEAD, SENT_START, SPACY, ORTH]
_ALONE = {TAG, POS, MORPH, LEMMA}
# The number of Docs whose words are kept, and the length of the longest.
_MOST_AT_HAND, _LONGEST_AT_HAND = 1_000, 100_000


class Analysis(NamedTuple):
    """A word of a token with several words.

    form (str): The word.
    lemma, tag, pos, morph, dep (str): As spaCy's attributes of tokens; "" if unknown.
    head_token (int): Distance to the token of its head; 0 is the same token.
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


def _attribute(name: str, of_token: str, meaning: str) -> Any:
    """Make a property of words: read from the analysis, or from a token that is one word."""

    def read(word: "Word") -> str:
        analysis = word._analysis
        return str(getattr(word.token, of_token)) if analysis is None else getattr(analysis, name)

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

    @property
    def _analysis(self) -> Analysis | None:
        found = _analyses(self.token)
        return Analysis(*found[self.number]) if found else None

    text = _attribute("form", "text", "The form of the word.")
    lemma_ = _attribute("lemma", "lemma_", "Its lemma.")
    tag_ = _attribute("tag", "tag_", "The treebank's own tag.")
    pos_ = _attribute("pos", "pos_", "The universal tag.")
    morph = _attribute("morph", "morph", 'Its features, as CoNLL-U has them; "" for none.')
    dep_ = _attribute("dep", "dep_", "The label of the arc from its head.")

    @property
    def head(self) -> "Word":
        """Its head; a root is its own."""
        analysis = self._analysis
        if analysis is not None:
            return Word(self.token.doc[self.token.i + analysis.head_token], analysis.head_word)
        token = self.token.head
        found = self.token.doc.user_data.get(attribute_key(_HEAD_WORD, self.token.idx))
        return Word(token, highest_word(token) if found is None else found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Word) and (self.number, self.token) == (other.number, other.token)

    def __hash__(self) -> int:
        return hash((self.number, self.token))

    def __len__(self) -> int:
        return len(self.text)

    def __repr__(self) -> str:
        return self.text


def _analyses(token: Token) -> list[Any] | None:
    return token.doc.user_data.get(attribute_key(_WORDS, token.idx))


def words_of_token(token: Token) -> tuple[Word, ...]:
    """Return the words of a token; white space has none."""
    found = _analyses(token)
    return tuple(Word(token, i) for i in range(int(not token.is_space) if found is None else len(found)))


def words_of_doc(doc: Doc) -> tuple[Word, ...]:
    """Return the words of all tokens of a Doc."""
    return tuple(word for token in doc for word in words_of_token(token))


def multiword_tokens(doc: Doc) -> Iterator[tuple[Token, list[Analysis]]]:
    """Yield the tokens with several words, and these words."""
    for token, analyses in _several(doc).items():
        yield doc[token], analyses


def _several(doc: Doc) -> dict[int, list[Analysis]]:
    """Return the words of the tokens with several words, by position."""
    found = entries_of(doc, _WORDS) if doc.user_data else []
    return {token: [Analysis(*each) for each in words] for token, words in enumerate(found) if words}


def has_multiword_tokens(doc: Doc) -> bool:
    """Whether a token of a Doc has several words."""
    return bool(_several(doc))


def highest_word(token: Token) -> int:
    """Return the number of the word that is the head of words attached to a token: the first with a head
    outside.
    """
    for i, each in enumerate(_analyses(token) or ()):
        analysis = Analysis(*each)
        if analysis.head_token or analysis.head_word == i:
            return i
    return 0


def write_words(doc: Doc, token: int, words: Sequence[Analysis]) -> None:
    """Write the words of a token, given by position."""
    key = attribute_key(_WORDS, doc[token].idx)
    doc.user_data.pop(key, None)
    if len(words) > 1 or words[0].form != doc[token].text:
        doc.user_data[key] = [list(word) for word in words]


def words_as_tokens(doc: Doc) -> Doc:
    """Return a Doc whose tokens are the words of another; the same Doc if it has no multiword tokens.

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
    orths[count[own] > 1] = [strings.add(each.form) for analyses in several.values() for each in analyses]
    words = Doc(doc.vocab, words=orths.tolist(), spaces=spaces.tolist())
    words.has_unknown_spaces = doc.has_unknown_spaces
    # Of several words only the first may begin a sentence.
    rows[1:][own[1:] == own[:-1], 6] = -1
    heads = own + rows[:, 5]
    rows[:, 5] = first[heads] - np.arange(len(own))
    for at in first[count[heads[first]] > 1].tolist():
        head = int(heads[at])
        number = doc.user_data.get(attribute_key(_HEAD_WORD, doc[int(own[at])].idx))
        rows[at, 5] = first[head] + (highest_word(doc[head]) if number is None else number) - at
    for token, analyses in several.items():
        for i, each in enumerate(analyses):
            at = first[token] + i
            found = (
                strings.add(each.tag),
                strings.add(each.pos),
                morphology.add(each.morph),
                strings.add(each.lemma),
            )
            rows[at, :5] = np.array([*found, strings.add(each.dep)], dtype=np.uint64).view(np.int64)
            rows[at, 5] = first[token + each.head_token] + each.head_word - at
    _write_rows(words, rows, parsed=doc.has_annotation("DEP"))
    place = words.to_array(IDX)
    offsets = doc.to_array(IDX).tolist()
    # Where the last word of each token stands in the text, and those of tokens with several.
    last = place[first + count - 1].tolist()
    moved = {idx: at for idx, at in zip(offsets, last) if idx != at}
    places = {offsets[i]: place[first[i] : first[i] + count[i]].tolist() for i in several}
    data = words.user_data
    data.update(doc.user_data)
    about = []
    for name, idx, value in take(data, _OWN, moved):
        if name == _ABOUT_WORDS:
            about.append((places[idx], value))
        elif name not in _OWN:
            # The tokenizer has written about a token what is true of its end.
            data[attribute_key(name, moved[idx])] = value
    for begins, of_words in about:
        for name in {name for known in of_words for name in known}:
            data.pop(attribute_key(name, begins[-1]), None)
        for at, known in zip(begins, of_words):
            data.update({attribute_key(name, at): value for name, value in known.items()})
    return words


def spelled_apart(doc: Doc) -> Doc:
    """Return a Doc with the same text and no multiword tokens; the same Doc if it has none.

    Words that spell their token, as those of "don't", become tokens. Other tokens are annotated as their
    highest words.
    """
    several = _several(doc)
    if not several:
        return doc
    forms = [[each.form for each in several.get(i, [])] for i in range(len(doc))]
    forms = [own if "".join(own) == token.text else [token.text] for own, token in zip(forms, doc)]
    spaces = [
        last and bool(token.whitespace_)
        for own, token in zip(forms, doc)
        for last in [False] * (len(own) - 1) + [True]
    ]
    tokens = Doc(doc.vocab, words=[form for own in forms for form in own], spaces=spaces)
    tokens.has_unknown_spaces = doc.has_unknown_spaces
    whole = {sum(map(len, forms[:i])): words for i, words in several.items() if len(forms[i]) == 1}
    for place, words in whole.items():
        write_words(tokens, place, words)
    write_back(words_as_tokens(doc), tokens)
    for place in whole:
        write_words(tokens, place, [Analysis(tokens[place].text)])
    return tokens


def word_spans(doc: Doc) -> np.ndarray:
    """Return the offsets in the text of each token of `words_as_tokens` (int64[words, 2])."""
    rows = doc.to_array([IDX, LENGTH]).view(np.int64).reshape(-1, 2)
    return np.cumsum(rows, axis=1)[_word_counts(doc, _several(doc))[2]]


def write_back(words: Doc, doc: Doc) -> np.ndarray:
    """Write the annotation of `words`, made by `words_as_tokens`, into its Doc.

    RETURNS (int64[tokens]): The highest word of each token, the first of equally high ones.
    """
    if words is doc:
        return np.arange(len(doc))
    several = _several(doc)
    count, first, own = _word_counts(doc, several)
    offsets = doc.to_array(IDX).tolist()
    rows = words.to_array([*_STRINGS, HEAD, SENT_START]).view(np.int64)
    parsed = words.has_annotation("DEP")
    head = np.arange(len(words)) + rows[:, 5]
    depth, highest = depths(head) if parsed else head, first.copy()
    data: dict[Any, Any] = {}
    for token in several:
        places = range(first[token], first[token] + count[token])
        analyses = []
        for at in places:
            distance, number = (own[head[at]] - token, head[at] - first[own[head[at]]]) if parsed else (0, 0)
            analyses.append([words[at].text, *_known(words, rows[at]), int(distance), int(number)])
        data[attribute_key(_WORDS, offsets[token])] = analyses
        highest[token] += depth[places].argmin() if parsed else 0
    if parsed:
        for at in np.flatnonzero((count[own] == 1) & (count[own[head]] > 1)).tolist():
            data[attribute_key(_HEAD_WORD, offsets[own[at]])] = int(head[at] - first[own[head[at]]])
    begins = {idx: at for at, idx in enumerate(words.to_array(IDX).tolist())}
    tokens, counts = own.tolist(), count.tolist()
    # What is about other words stays as it is.
    moved = {idx for idx, at in begins.items() if counts[tokens[at]] > 1 or offsets[tokens[at]] != idx}
    others = dict(words.user_data)
    about: dict[int, list[dict[str, Any]]] = {}
    for name, idx, written in take(others, {SENTENCE}, moved):
        at, value = begins[idx], written
        token = tokens[at]
        if name == SENTENCE:
            value = value[0], tokens[at + value[1] - 1] - token + 1
        key = attribute_key(name, offsets[token])
        if counts[token] > 1:
            of_words = about.setdefault(token, [{} for _ in range(counts[token])])
            of_words[at - first[token]][name] = written
            _put(data, key, value, bool(at == highest[token]))
        else:
            data[key] = value
    for token, known in about.items():
        data[attribute_key(_ABOUT_WORDS, offsets[token])] = known
    doc.user_data.clear()
    doc.user_data.update(others)
    doc.user_data.update(data)
    chosen = rows[highest]
    chosen[:, 5] = own[head[highest]] - np.arange(len(doc))
    chosen[:, 6] = rows[first, 6]
    if doc.has_annotation("DEP") and not parsed:
        doc.from_array([HEAD, DEP], np.zeros((len(doc), 2), dtype=np.uint64))
    _write_rows(doc, chosen, parsed=parsed)
    return highest


def _known(words: Doc, row: np.ndarray) -> list[str]:
    """Return the fields of `Analysis` from `lemma` to `dep`, given the numbers of `_STRINGS`."""
    tag, pos, morph, lemma, dep = (words.vocab.strings[value] for value in row[:5].view(np.uint64).tolist())
    return [lemma, tag, pos, "" if morph == Morphology.EMPTY_MORPH else morph, dep]


class WordsAtHand:
    """The words of a Doc, written back into it after each component and kept for the next one.

    words (Doc): The Doc made by `words_as_tokens`.
    """

    def __init__(self, doc: Doc) -> None:
        self.words = words_as_tokens(doc)
        if self.words is not doc:
            several, offsets = _several(doc), doc.to_array(IDX).tolist()
            count, first, _ = _word_counts(doc, several)
            # Where the words are of each token that is several, by the key of what is known of them; and
            # which word each token is as.
            self._places = {
                attribute_key(_WORDS, offsets[token]): range(first[token], first[token] + count[token])
                for token in several
            }
            self._highest = None if doc.has_annotation("DEP") else first
            self._note(doc, _rows(self.words), _rows(doc))

    def _note(self, doc: Doc, rows: np.ndarray, rows_of_doc: np.ndarray) -> None:
        """Note the state of words and Doc."""
        self._rows, self._data = rows, dict(self.words.user_data)
        self._rows_of_doc, self._data_of_doc = rows_of_doc, dict(doc.user_data)

    def are_of(self, doc: Doc) -> bool:
        """Whether a Doc has not been changed since the words were written back."""
        return np.array_equal(_rows(doc), self._rows_of_doc) and _is_same(doc.user_data, self._data_of_doc)

    def hand_on(self, doc: Doc) -> None:
        """Write the words back into their Doc, and keep them."""
        words = self.words
        if words is doc:
            return
        rows = _rows(words)
        changed = np.flatnonzero((rows != self._rows).any(axis=0)).tolist()
        # What each token has of one of its words whatever the others have.
        alone = _ALONE if words.has_annotation("DEP") else {*_ALONE, SENT_START}
        attributes, rows_of_doc = [_COLUMNS[column] for column in changed], self._rows_of_doc
        if (
            self._highest is None
            or not alone.issuperset(attributes)
            or not _is_same(words.user_data, self._data)
        ):
            self._highest = write_back(words, doc)
            rows_of_doc = _rows(doc)
        elif changed:
            rows_of_doc[:, changed] = rows[self._highest][:, changed]
            doc.from_array(attributes, np.ascontiguousarray(rows_of_doc[:, changed]).view(np.uint64))
            for key, places in self._places.items():
                found = zip(doc.user_data[key], places)
                doc.user_data[key] = [[each[0], *_known(words, rows[at]), *each[6:]] for each, at in found]
        if len(words) <= _LONGEST_AT_HAND:
            self._note(doc, rows, rows_of_doc)
            if len(_at_hand) >= _MOST_AT_HAND:
                _at_hand.clear()
            _at_hand[doc] = self


_at_hand: WeakKeyDictionary[Doc, WordsAtHand] = WeakKeyDictionary()


def take_words(doc: Doc) -> WordsAtHand:
    """Return the words of a Doc: those of the component before, unless the Doc has been changed since."""
    found = _at_hand.pop(doc, None)
    return found if found is not None and found.are_of(doc) else WordsAtHand(doc)


def _rows(doc: Doc) -> np.ndarray:
    """Return `_COLUMNS` of the tokens of a Doc (int64[tokens, *])."""
    return doc.to_array(_COLUMNS).view(np.int64)


def _is_same(data: dict[Any, Any], before: dict[Any, Any]) -> bool:
    """Whether user data are the same objects in the same order."""
    return list(data) == list(before) and all(map(is_, data.values(), before.values()))


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
    elif key[1] in _SUMMED:
        data[key] = before + value
    elif is_highest:
        data[key] = value


def _word_counts(doc: Doc, several: dict[int, list[Analysis]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the number of words and first word of each token (int64[tokens]), and the token of each word
    (int64[words]).
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
