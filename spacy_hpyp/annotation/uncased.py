"""The words of Docs in lower case with their parents, as models of untagged, uncased words read
them.
"""

from dataclasses import dataclass

import numpy as np
from spacy.attrs import DEP, HEAD, IS_SPACE, LOWER, SENT_START
from spacy.tokens import Doc

from ..compiled import NONE
from .arrays import offsets_of
from .documents import content_key

_READ = [LOWER, HEAD, DEP, SENT_START, IS_SPACE]


@dataclass(frozen=True)
class UncasedWords:
    """The words of a Doc, or of some of its sentences; white space is left out.

    forms (list[str]): The words in lower case.
    token (int64[n]): Their positions in the Doc.
    heads (int32[n]): The positions of their parents among the words; `NONE` for the root's
    children. is_attached (bool[n]): Whether the parent is known; otherwise the head is `NONE`.
    offsets (int64[sentences + 1]): The start of each sentence.
    """

    forms: list[str]
    token: np.ndarray
    heads: np.ndarray
    is_attached: np.ndarray
    offsets: np.ndarray

    def complete(self) -> "UncasedWords":
        """Return the sentences all of whose words have known parents in the sentence."""
        sentence = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        is_inside = (self.heads == NONE) | (sentence[self.heads] == sentence)
        lost = np.unique(sentence[~(self.is_attached & is_inside)])
        kept = ~np.isin(sentence, lost)
        number = np.cumsum(kept) - 1
        forms = [self.forms[i] for i in np.flatnonzero(kept).tolist()]
        heads = np.where(self.heads == NONE, NONE, number[self.heads])[kept].astype(np.int32)
        offsets = offsets_of(np.delete(np.diff(self.offsets), lost))
        return UncasedWords(forms, self.token[kept], heads, self.is_attached[kept], offsets)


def read_uncased(doc: Doc) -> UncasedWords:
    """Read the words of a Doc. Where the parent of a word is white space, the next one above is
    that is not.
    """
    rows = doc.to_array(_READ).view(np.int64).reshape(-1, 5)
    is_word = rows[:, 4] == 0
    places = np.arange(len(rows))
    heads = np.clip(places + rows[:, 1], 0, max(0, len(rows) - 1))
    token = np.flatnonzero(is_word)
    heads = past_spaces(heads, token)
    is_root = (heads == places) | ~is_word[heads]
    number = np.cumsum(is_word) - 1
    begins = np.cumsum(rows[:, 3] == 1)[is_word]
    starts = np.flatnonzero(np.diff(begins, prepend=-1))
    forms = [doc.vocab.strings[lower] for lower in rows[token, 0].view(np.uint64).tolist()]
    heads = np.where(is_root, NONE, number[heads])[is_word].astype(np.int32)
    return UncasedWords(
        forms, token, heads, rows[token, 2] != 0, np.append(starts, len(token)).astype(np.int64)
    )


def uncased_key(doc: Doc) -> bytes:
    """What identifies a Doc by all that `read_uncased` reads."""
    return content_key(doc.to_array(_READ).tobytes())


def past_spaces(heads: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Lift heads (int64[tokens]; a root is its own) past white space; `words` (int64[n]) is what is
    none.
    """
    is_space = np.ones(len(heads), dtype=bool)
    is_space[words] = False
    # Bounded, in case they are no tree.
    for _ in range(len(heads)):
        lifted = np.where(is_space[heads], heads[heads], heads)
        if np.array_equal(lifted, heads):
            break
        heads = lifted
    return heads
