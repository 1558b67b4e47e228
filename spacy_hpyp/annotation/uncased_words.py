"""Words in lower case with their parents, for models that read neither case nor tags."""

from dataclasses import dataclass

import numpy as np
from spacy.attrs import DEP, HEAD, IS_SPACE, LOWER, SENT_START
from spacy.tokens import Doc

from ..compiled import NONE
from .arrays import offsets_of
from .encoding import raw_sentences
from .sentences import COLUMNS, content_key

_READ = [LOWER, HEAD, DEP, SENT_START, IS_SPACE]


@dataclass(frozen=True)
class UncasedWords:
    """The words of a Doc, or of some of its sentences, for models of uncased words without tags.

    The arc of a word without a label counts as unknown.
    """

    forms: list[str]  # The words in lower case
    token: np.ndarray  # int64[n]: their positions in the Doc
    heads: np.ndarray  # int32[n]: positions of their parents among the words; `NONE` without one
    is_attached: np.ndarray  # bool[n]: whether the word has a label
    offsets: np.ndarray  # int64[sentences + 1]: the start of each sentence

    def complete(self) -> "UncasedWords":
        """Return the sentences all of whose words have known parents in the sentence."""
        sentence = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        is_inside = (self.heads == NONE) | (sentence[self.heads] == sentence)
        lost = np.unique(sentence[~(self.is_attached & is_inside)])
        kept = ~np.isin(sentence, lost)
        number = np.cumsum(kept) - 1
        return UncasedWords(
            [form for form, is_kept in zip(self.forms, kept) if is_kept],
            self.token[kept],
            np.where(self.heads == NONE, NONE, number[self.heads])[kept].astype(np.int32),
            self.is_attached[kept],
            offsets_of(np.delete(np.diff(self.offsets), lost)),
        )


def read_uncased(doc: Doc) -> UncasedWords:
    """Read the words of a Doc with their parents."""
    sentences = raw_sentences(doc)
    rows = np.concatenate([np.empty((0, COLUMNS), np.int64), *(each.rows for each in sentences)])
    place = np.arange(len(rows))
    return UncasedWords(
        [doc.vocab.strings[orth].lower() for orth in rows[:, 0].view(np.uint64).tolist()],
        np.concatenate([np.empty(0, np.int64), *(each.place for each in sentences)]),
        np.where(rows[:, 3] == 0, NONE, place + rows[:, 3]).astype(np.int32),
        rows[:, 2] != 0,
        offsets_of([len(each.place) for each in sentences]),
    )


def uncased_key(doc: Doc) -> bytes:
    """Return a digest of what `read_uncased` reads."""
    return content_key(doc.to_array(_READ).tobytes())
