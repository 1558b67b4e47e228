"""Rows of surprisals: one for each token, word between white space, or region of a text."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import log10

import numpy as np
from spacy.tokens import Doc

from ..text.folding import fold
from ..text.vocabulary import Vocabulary
from .tables import Alignment, Passage, Row, carried

#: Units of rows.
TOKEN, WORD, REGION = UNITS = "token", "word", "region"
#: Entropies, over next words and over analyses.
ENTROPIES = "next", "analyses"
#: Expected structure: words on the stack after a word, and number and length of the arcs attached
#: since the word before.
STRUCTURE = "stack_depth", "arcs", "arc_length"

# A larger share of unknown words gets a warning.
_MANY_UNKNOWN = 0.05
# Columns of a table of words without lagged values.
_NOT_BEFORE = {*"sentence tokens log_prob known class position position_in_sentence".split()}
# Punctuation of a word: at the end of a sentence, at a pause, and around speech.
_PUNCTUATION = {
    "final_punctuation": re.compile(r"[.!?…。！？]\W*$"),
    "comma_dash": re.compile(r"[,;:，、；：]\W*$|[–—]|--"),
    "quote": re.compile(r"[\"“”„«»「」]|^\W*['‘’]|['’]\W*$"),
}


@dataclass(frozen=True)
class Scores:
    """Scores of the n words of a text. Those of white space mean nothing."""

    doc: Doc  # Its tokens are the words
    # int64[n, 2]: where each begins and ends in the text. Words of one token that do not spell it
    # have the span of the token.
    spans: np.ndarray
    # float64[n]: additive columns, namely surprisals in bits, log_prob in nats, and arcs.
    summed: dict[str, np.ndarray]
    classes: list[str]  # The classes of words that the model does not know, "" for the others
    tags: list[str] | None = None  # Their tags, if the model finds tags
    # float64[n, 2]: before and after each word, in bits.
    entropies: dict[str, np.ndarray] = field(default_factory=dict)
    stack_depth: np.ndarray | None = None  # float64[n]: expected words on the stack after each word

    def words_after(self, context: int) -> list[int]:
        """Return the places of words that begin at character `context` or later."""
        words = zip(self.doc, self.spans[:, 0].tolist())
        return [token.i for token, start in words if start >= context and not token.is_space]


class Coverage:
    """Counts of words that a model does not know, and texts with several sentences read as one.

    joined (list[str]): The names of these texts.
    """

    def __init__(self) -> None:
        self.joined: list[str] = []
        self._words = self._unknown = self._regions = self._unsure = 0

    def add(self, scores: Scores, passage: Passage) -> None:
        """Count words, and regions: the one in the column `critical`, or all."""
        words = scores.words_after(passage.context)
        unknown = [i for i in words if scores.classes[i]]
        self._words += len(words)
        self._unknown += len(unknown)
        if passage.ends and not passage.rows:
            critical, count = str(passage.columns.get("critical", "")), len(passage.ends)
            regions = {int(critical)} if critical.isdecimal() else {*range(1, count + 1)}
            found = 1 + np.searchsorted(passage.ends, scores.spans[unknown, 1])
            self._regions += len(regions)
            self._unsure += len(regions.intersection(found.tolist()))

    def messages(self) -> Iterator[tuple[str, bool]]:
        """Yield what a user should know, and whether it makes surprisals doubtful."""
        if self.joined:
            count, first = len(self.joined), self.joined[0]
            message = f"Texts that seem to have several sentences, read as one: {count:,}"
            yield f"{message} (first: {first}). --running, or running=True, finds them.", True
        share = self._unknown / max(self._words, 1)
        message = f"{self._unknown:,} of {self._words:,} words ({100 * share:.1f} %)"
        if self._regions:
            message += f", and words in {self._unsure:,} of {self._regions:,} (critical) regions,"
        message += " are unknown to the model"
        if share > _MANY_UNKNOWN:
            message += ": their surprisals are those of word classes, and of letters if it spells"
        yield f"{message}.", share > _MANY_UNKNOWN


class Frequencies:
    """Word frequencies on the Zipf scale (van Heuven et al. 2014): log10 of occurrences per billion
    words, with one added to each count. Case and spelling variants are ignored.

    counts (Mapping[str, int]): The counts of words.
    total (int | None): The number of words, if not all of them are in the counts.
    """

    def __init__(self, counts: Mapping[str, int], total: int | None = None) -> None:
        self._counts: Counter[str] = Counter()
        for word, count in counts.items():
            self._counts[fold(word).lower()] += count
        self._total = (self._counts.total() if total is None else total) + len(self._counts)

    @classmethod
    def of_training(cls, vocabulary: Vocabulary, seen: np.ndarray) -> "Frequencies":
        """Make frequencies of training data; rare words outside `vocabulary.rare` count as unseen.

        seen (int64[words + classes]): The count of each word and class.
        """
        rare = {word: len(tags) for word, tags in vocabulary.rare.items()}
        return cls({**rare, **dict(zip(vocabulary.words, seen.tolist()))}, int(seen.sum()))

    def of(self, word: str, tokens: Sequence[str]) -> float:
        """Return the frequency of a word without the punctuation around it, or if it is unseen,
        that of its rarest token.
        """
        word = fold(word).lower()
        bare = re.sub(r"^[\W_]+|[\W_]+$", "", word) or word
        parts = [fold(token).lower() for token in tokens] or [bare]
        count = self._counts[bare] or min(self._counts[part] for part in parts)
        return log10((count + 1) / self._total) + 9


def rare_classes(vocabulary: Vocabulary, words: Iterable[str]) -> list[str]:
    """Return the classes of the words that a vocabulary does not have, "" for the others."""
    known = len(vocabulary.words)
    numbers = vocabulary.numbers(list(words))
    return [vocabulary.classes[i - known] if i >= known else "" for i in numbers]


def entropy_of(distribution: np.ndarray) -> np.ndarray:
    """Return the entropy of distributions (float64[..., outcomes]) in bits."""
    return -np.sum(distribution * np.log2(np.maximum(distribution, 1e-300)), axis=-1) + 0.0


def passage_rows(
    scores: Scores, passage: Passage, *, by: str = TOKEN, punctuation: bool = True
) -> Iterator[tuple[list[int], Row]]:
    """Yield the rows of a passage, each after the words that it sums up. White space has none.

    by (str): The unit of a row, one of `UNITS`. A word is the text between white space or borders
        of regions.
    punctuation (bool): Whether punctuation has rows and is part of sums. Other tokens keep their
        numbers without it.
    RAISES (ValueError): If a region ends inside a token, or there are none to make rows of.
    """
    if by == REGION and not passage.ends:
        raise ValueError(
            f"There are no regions in {passage.name}. Separate them by '|' in a column 'regions'."
        )
    doc, words = scores.doc, scores.words_after(passage.context)
    spans = scores.spans[words]
    starts, ends = spans.T
    region = 1 + np.searchsorted(passage.ends[:-1], starts, side="right")
    if passage.ends and np.any(crossing := ends > np.array(passage.ends)[region - 1]):
        place = int(np.argmax(crossing))
        names = [f"The word of {name}" for i, _, name in passage.rows if i == region[place]]
        called = [*names, f"Region {region[place]} of {passage.name}"][0]
        raise ValueError(
            f"{called} ends inside the token "
            f"'{doc[words[place]].text}', whose surprisal cannot be divided. Let regions end "
            f"between tokens, or between the words of a token, as in do|n't."
        )
    sentence = np.cumsum([token.is_sent_start or not token.i for token in doc])[words]
    is_apart = (starts[1:] != ends[:-1]) & np.any(np.diff(spans, axis=0), axis=1)
    is_new = np.concatenate([[True], is_apart | (np.diff(region) > 0)])[: len(words)]
    numbers = {
        REGION: region.tolist(),
        "sentence": (sentence - sentence[:1] + 1).tolist(),
        WORD: np.cumsum(is_new).tolist(),
        TOKEN: list(range(1, len(words) + 1)),
    }
    counted = [place for place, i in enumerate(words) if punctuation or not doc[i].is_punct]
    for _, group in groupby(counted, key=numbers[by].__getitem__):
        places = list(group)
        own = [words[place] for place in places]
        first, start, end = places[0], int(starts[places[0]]), int(ends[places[-1]])
        row = {**passage.columns}
        for name in [REGION] * bool(passage.ends) + ["sentence"] + [WORD] * (by != REGION):
            row[name] = numbers[name][first]
        if by == REGION:
            row["words"] = len({numbers[WORD][place] for place in places})
        row |= {TOKEN: first + 1} if by == TOKEN else {"tokens": len(places)}
        row |= {"start": passage.offset + start, "end": passage.offset + end}
        if by == TOKEN:
            row["text"] = doc[own[0]].text
            row |= {} if scores.tags is None else {"tag": scores.tags[own[0]]}
        elif by == WORD:
            parts = dict.fromkeys(map(tuple, spans[places].tolist()))
            row["text"] = "".join(passage.text[start:end] for start, end in parts)
        else:
            row["text"] = passage.text[start:end]
        row |= {name: float(values[own].sum()) for name, values in scores.summed.items()}
        classes = [scores.classes[i] for i in own if scores.classes[i]]
        row |= {"known": not classes, "class": " ".join(classes)}
        for name, values in scores.entropies.items():
            row[f"entropy_{name}"] = float(values[own[-1], 1])
        for name, values in scores.entropies.items():
            # An increase of entropy is not work (Hale 2006).
            row[f"reduction_{name}"] = max(float(values[own[0], 0] - values[own[-1], 1]), 0.0)
        if scores.stack_depth is not None:
            row["stack_depth"] = float(scores.stack_depth[own[-1]])
        yield own, row


def table_rows(
    scores: Scores,
    passage: Passage,
    frequencies: Frequencies,
    *,
    lags: int = 0,
    punctuation: bool = True,
    alignment: Alignment | None = None,
) -> Iterator[Row]:
    """Yield the rows that a passage was made of, with columns for their words added.

    A row without a word, or with punctuation that is not counted, has None in these columns. It is
    no word before another.

    frequencies (Frequencies), lags (int): For `log_frequency`; how many words before get columns.
    alignment (Alignment | None): Another model, whose values get a column.
    RAISES (ValueError): If a token crosses two rows, all words are punctuation, or two columns have
        the same name.
    """
    dropped = {*passage.columns, REGION, "words", "start", "end", "text"}
    words, places, first, texts = [], {}, {}, []
    for own, row in passage_rows(scores, passage, by=REGION, punctuation=punctuation):
        number = row[REGION]
        start = passage.ends[number - 2] if number > 1 else 0
        written = passage.text[start : passage.ends[number - 1]]
        tokens = [scores.doc[i].text for i in own if not scores.doc[i].is_punct]
        added = {
            "length": sum(map(str.isalnum, row["text"])),
            "log_frequency": frequencies.of(row["text"], tokens),
            "position": number,
            "position_in_sentence": 1 + number - first.setdefault(row["sentence"], number),
            **{mark: int(bool(regex.search(written))) for mark, regex in _PUNCTUATION.items()},
        }
        places[number] = len(words)
        words.append({name: row[name] for name in row if name not in dropped} | added)
        texts.append(row["text"])
    if not words:
        raise ValueError(f"There is nothing but punctuation in {passage.name}.")
    if alignment is not None:
        for row, value in zip(words, alignment.take(texts)):
            row[alignment.column] = value
    nothing = dict.fromkeys(words[0])
    for number, columns, name in passage.rows:
        place = places.get(number, -1)
        row = dict(words[place] if place >= 0 else nothing)
        for lag in range(1, lags + 1):
            before = words[place - lag] if place >= lag else nothing
            row |= {f"{key}_lag{lag}": before[key] for key in before if key not in _NOT_BEFORE}
        yield carried(columns, row, name) | row
