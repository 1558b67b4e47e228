"""Words under tokens: what Universal Dependencies call syntactic words, where a token of the text is several of them.

A Doc of spaCy is a cut of its text, and UD's words are not always one: French *du* is the words *de* and *le*. So a Doc has the tokens, and
a token that is several words has these beside it, as user data of its own: spaCy takes them along where a Doc is cut, joined or stored
with its user data. A token that is one word has nothing beside it, and is that word.

What spaCy's attributes say of a token with several words is what is true of the highest of them, the one on which the others hang.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from spacy.tokens import Doc, Token

from ..compat.spacy import attribute_key

_WORDS, _HEAD_WORD = "multiword", "head_word"


class Analysis(NamedTuple):
    """What is known of a word of a token with several.

    form (str): The word.
    lemma, tag, pos, morph, dep (str): As spaCy's attributes of tokens; "" where nothing is known.
    head_token (int): How many tokens further its head is; 0 is the same token.
    head_word (int): Which word of that token its head is; the word itself if it is the root.
    """

    form: str
    lemma: str = ""
    tag: str = ""
    pos: str = ""
    morph: str = ""
    dep: str = ""
    head_token: int = 0
    head_word: int = 0


class Word:
    """A syntactic word: a view of one of the words of a token.

    token (Token): The token.
    number (int): Which of its words this is, from 0.
    """

    __slots__ = ("number", "token")

    def __init__(self, token: Token, number: int) -> None:
        self.token = token
        self.number = number

    @property
    def _analysis(self) -> Analysis | None:
        found = _analyses(self.token)
        return Analysis(*found[self.number]) if found else None

    def _attribute(self, name: str, of_token: str) -> str:
        analysis = self._analysis
        return str(getattr(self.token, of_token)) if analysis is None else getattr(analysis, name)

    @property
    def text(self) -> str:
        """The form of the word."""
        return self._attribute("form", "text")

    @property
    def lemma_(self) -> str:
        """Its lemma."""
        return self._attribute("lemma", "lemma_")

    @property
    def tag_(self) -> str:
        """The treebank's own tag."""
        return self._attribute("tag", "tag_")

    @property
    def pos_(self) -> str:
        """The universal tag."""
        return self._attribute("pos", "pos_")

    @property
    def morph(self) -> str:
        """Its features, as CoNLL-U has them; "" for none."""
        return self._attribute("morph", "morph")

    @property
    def dep_(self) -> str:
        """The label of the arc from its head."""
        return self._attribute("dep", "dep_")

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
    """The words of a token; none of white space."""
    found = _analyses(token)
    return tuple(Word(token, i) for i in range(int(not token.is_space) if found is None else len(found)))


def words_of_doc(doc: Doc) -> tuple[Word, ...]:
    """The words of all tokens of a Doc, one after the other."""
    return tuple(word for token in doc for word in words_of_token(token))


def multiword_tokens(doc: Doc) -> Iterator[tuple[Token, list[Analysis]]]:
    """The tokens that are several words, with these."""
    if has_multiword_tokens(doc):
        for token in doc:
            found = _analyses(token)
            if found:
                yield token, [Analysis(*each) for each in found]


def has_multiword_tokens(doc: Doc) -> bool:
    """Whether a token of a Doc is several words."""
    return any(isinstance(key, tuple) and key[:2] == ("._.", _WORDS) for key in doc.user_data)


def highest_word(token: Token) -> int:
    """Which word of a token the others hang on: the first whose head is not in the token, or that is the root."""
    for i, each in enumerate(_analyses(token) or ()):
        analysis = Analysis(*each)
        if analysis.head_token or analysis.head_word == i:
            return i
    return 0


def write_words(doc: Doc, token: int, words: Sequence[Analysis]) -> None:
    """Write the words of a token that is several; or of one that is one word after all.

    token (int): Its position.
    words (Sequence[Analysis]): Its words.
    """
    key = attribute_key(_WORDS, doc[token].idx)
    doc.user_data.pop(key, None)
    if len(words) > 1 or words[0].form != doc[token].text:
        doc.user_data[key] = [list(word) for word in words]


def write_head_word(doc: Doc, token: int, number: int) -> None:
    """Write on which word of its head a token that is one word hangs.

    token (int): Its position.
    number (int): Which word of the head it is.
    """
    doc.user_data[attribute_key(_HEAD_WORD, doc[token].idx)] = number
