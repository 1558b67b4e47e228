"""Tables of surprisals: one row a token, a word between white space, or a region of a stimulus."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import log10
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Doc

from ..text.vocabulary import Vocabulary
from .align import Alignment

#: Units of rows.
TOKEN, WORD, REGION = "token", "word", "region"
ROWS = (TOKEN, WORD, REGION)
#: Parts of a parser's surprisals: the first two are all of it, and the letters of rare words are in
#: the first one.
PARTS = ("surprisal_lexical", "surprisal_syntactic", "surprisal_letters")

# A larger share of words that a model does not know is worth a warning.
_MANY_UNKNOWN = 0.05
# The prefix of carried columns that have the name of a column of the table.
_INPUT = "input_"
# Columns that are not repeated for the words before.
_NOT_BEFORE = {
    "sentence",
    "tokens",
    "log_prob",
    "known",
    "class",
    "position",
    "position_in_sentence",
}
# Punctuation of a word: at the end of a sentence, at a pause, and around speech.
_PUNCTUATION = {
    "final_punctuation": re.compile(r"[.!?…。！？]\W*$"),
    "comma_dash": re.compile(r"[,;:，、；：]\W*$|[–—]|--"),
    "quote": re.compile(r"[\"“”„«»「」]|^\W*['‘’]|['’]\W*$"),
}

#: A row: its columns in their order.
Row = dict[str, Any]


class TableRow(NamedTuple):
    """A row of a table that has one word a row.

    region (int): The region of the text that the word is, from 1; 0 if there is none.
    columns (dict[str, Any]), name (str): The row, and its name in errors.
    """

    region: int
    columns: dict[str, Any]
    name: str


class TextPassage(NamedTuple):
    """A text that is read by itself: nothing before it is context of its words.

    columns (dict[str, Any]): Columns of all of its rows, such as its file, or its item and
    condition. name (str): Its name in errors.
    offset (int): The number of characters of the file before it.
    ends (tuple[int, ...]): The ends of its regions, in characters of the text; empty if it has
    none. rows (tuple[TableRow, ...]): The rows of the table that it is made of, if it is; its
        regions are their words.
    context (int): The number of characters at its beginning whose words have no rows.
    """

    text: str
    columns: dict[str, Any]
    name: str
    offset: int = 0
    ends: tuple[int, ...] = ()
    rows: tuple[TableRow, ...] = ()
    context: int = 0


@dataclass(frozen=True)
class TokenScores:
    """Scores of the n tokens of a Doc, which are syntactic words. Those of white space mean
    nothing.

    spans (int64[n, 2]): The beginning and end of each in the text; words of one token have those of
        the token.
    summed (dict[str, float64[n]]): Columns that add up over the tokens of a word, as surprisals do
        by the chain rule.
    classes (list[str]): The classes of words that are not in the model's vocabulary, "" for those
    that are. tags (list[str] | None): Their tags, if the model finds any.
    entropies (dict[str, float64[n, 2]]): By name, in bits, before each token and after it.
    """

    spans: np.ndarray
    summed: dict[str, np.ndarray]
    classes: list[str]
    tags: list[str] | None = None
    entropies: dict[str, np.ndarray] = field(default_factory=dict)


class Coverage:
    """What a model does not know of the texts that it reads, and what it reads otherwise than they
    look.

    joined (list[str]): The names of texts that seem to have several sentences, and are read as one.
    """

    def __init__(self) -> None:
        self.joined: list[str] = []
        self._counts: Counter[str] = Counter()

    def add(self, doc: Doc, scores: TokenScores, passage: TextPassage) -> None:
        """Count the words of a passage, and its regions: the one that its column `critical` names,
        or all.
        """
        words = [
            token.i
            for token in doc
            if not token.is_space and scores.spans[token.i, 0] >= passage.context
        ]
        unknown = [i for i in words if scores.classes[i]]
        self._counts += Counter(words=len(words), unknown=len(unknown))
        if passage.ends and not passage.rows:
            critical = str(passage.columns.get("critical", ""))
            regions = (
                {int(critical)} if critical.isdecimal() else set(range(1, len(passage.ends) + 1))
            )
            of_unknown = 1 + np.searchsorted(passage.ends, scores.spans[unknown, 1])
            self._counts += Counter(
                regions=len(regions), unsure=len(regions.intersection(of_unknown.tolist()))
            )

    def messages(self) -> Iterator[tuple[str, bool]]:
        """Yield what a user should know, and whether it makes surprisals doubtful."""
        if self.joined:
            message = f"Texts that seem to have several sentences, but are read as one: {len(self.joined):,}"
            yield (
                f"{message} (first: {self.joined[0]}). With --running, or running=True, they are found.",
                True,
            )
        count = self._counts
        share = count["unknown"] / max(count["words"], 1)
        message = f"{count['unknown']:,} of {count['words']:,} words ({100 * share:.1f} %)"
        if count["regions"]:
            message += (
                f", and words in {count['unsure']:,} of {count['regions']:,} (critical) regions,"
            )
        message += " are unknown to the model"
        if share > _MANY_UNKNOWN:
            message += ": their surprisals are those of classes of words, and of letters if the model spells"
        yield f"{message}.", share > _MANY_UNKNOWN


class Frequencies:
    """Frequencies of words on the Zipf scale (van Heuven et al. 2014): log10 of how often a word
    occurs in a billion words. One is added to each count, so that unseen words have a frequency,
    too. Case is ignored.

    counts (Mapping[str, int]): How often words were seen.
    total (int | None): How many words were seen, if not all of them are in the counts.
    """

    def __init__(self, counts: Mapping[str, int], total: int | None = None) -> None:
        self._counts: Counter[str] = Counter()
        for word, count in counts.items():
            self._counts[word.lower()] += count
        self._total = (self._counts.total() if total is None else total) + len(self._counts)

    @classmethod
    def of_training(cls, vocabulary: Vocabulary, seen: np.ndarray) -> "Frequencies":
        """Make those of a model's training data. Words that it knows by their class alone count as
        unseen.

        seen (int64[words + classes]): How often each number of the vocabulary was seen.
        """
        rare = {word: len(tags) for word, tags in vocabulary.rare.items()}
        return cls({**rare, **dict(zip(vocabulary.words, seen.tolist()))}, int(seen.sum()))

    def of(self, word: str, tokens: Sequence[str]) -> float:
        """Return the frequency of a word without the punctuation around it, or if it was not seen
        like this, that of its rarest token.
        """
        places = [i for i, letter in enumerate(word) if letter.isalnum()]
        bare = word[places[0] : places[-1] + 1].lower() if places else word
        parts = [token.lower() for token in tokens] or [bare]
        count = self._counts[bare] or min(self._counts[part] for part in parts)
        return log10((count + 1) / self._total) + 9


def rare_classes(vocabulary: Vocabulary, words: Iterable[str]) -> list[str]:
    """Return the classes by which a vocabulary knows rare words, "" for words that it knows."""
    known = len(vocabulary.words)
    return [
        vocabulary.name(i)[1:-1] if i >= known else ""
        for i in vocabulary.numbers_observed(list(words))
    ]


def entropy(distribution: np.ndarray) -> np.ndarray:
    """Compute the entropy of distributions (float64[..., outcomes]) in bits."""
    return -np.sum(distribution * np.log2(np.maximum(distribution, 1e-300)), axis=-1) + 0.0


def carried(columns: Row, taken: Container[str], name: str) -> Row:
    """Rename columns that have the name of one of the result. RAISES (ValueError): If two become
    the same.
    """
    found = {
        f"{_INPUT}{column}" if column in taken else column: value
        for column, value in columns.items()
    }
    if len(found) < len(columns):
        raise ValueError(
            f"In {name} a column has the name of one of the result, and another one the same with '{_INPUT}' "
            f"before it. Rename one."
        )
    return found


def passage_rows(
    doc: Doc,
    scores: TokenScores,
    passage: TextPassage,
    *,
    by: str = TOKEN,
    punctuation: bool = True,
) -> Iterator[Row]:
    """Yield the rows of a passage. White space has none.

    A word is what stands between white space or the borders of regions.

    doc (Doc): Its words as tokens, with sentence boundaries.
    by (str): The unit of a row, one of `ROWS`.
    punctuation (bool): Whether tokens that are punctuation have rows and are counted in sums. The
        others are numbered alike.
    RAISES (ValueError): If a region ends inside of a token, or there are no regions where they are
    asked for.
    """
    if by == REGION and not passage.ends:
        raise ValueError(
            f"There are no regions in {passage.name}: separate them by '|' in a column 'regions'."
        )
    tokens = [
        row for row in _tokens(doc, scores, passage) if punctuation or not doc[row["i"]].is_punct
    ]
    # Words and regions are numbered, as tokens are.
    for _, group in groupby(tokens, key=lambda row: row[by]):
        yield _row(doc, scores, passage, by, list(group))


def table_rows(
    doc: Doc,
    scores: TokenScores,
    passage: TextPassage,
    frequencies: Frequencies,
    *,
    lags: int = 0,
    punctuation: bool = True,
    alignment: Alignment | None = None,
) -> Iterator[Row]:
    """Yield the rows that a passage is made of, with columns for their words. A row without a word,
    or with punctuation that is not counted, has None there, and is none of the words before.

    doc (Doc), scores (TokenScores), passage (TextPassage), punctuation (bool): See `passage_rows`.
    lags (int): The number of words before that have columns, too.
    alignment (Alignment | None): Values of another model for another column.
    RAISES (ValueError): If a token reaches over two rows, or two columns would have the same name.
    """
    found = {
        row["region"]: row
        for row in passage_rows(doc, scores, passage, by=REGION, punctuation=punctuation)
    }
    # Where a token stands, a region does: the words of one are found by where they end.
    forms: dict[int, list[str]] = {number: [] for number in found}
    for token, region in zip(doc, 1 + np.searchsorted(passage.ends, scores.spans[:, 1])):
        if not (token.is_space or token.is_punct) and region in forms:
            forms[region].append(token.text)
    entropies = [f"{kind}_{name}" for kind in ("entropy", "reduction") for name in scores.entropies]
    shared = ["sentence", "tokens", *scores.summed, "known", "class", *entropies]
    names = [*shared, "length", "log_frequency", "position", "position_in_sentence", *_PUNCTUATION]
    values: list[list[Any]] = [[] for _ in found]
    if alignment is not None:
        names.append(alignment.column)
        values = [[value] for value in alignment.take([row["text"] for row in found.values()])]
    repeated = [name for name in names if name not in _NOT_BEFORE]
    words, first = [], {}
    for (number, row), other in zip(found.items(), values):
        written = passage.text[
            passage.ends[number - 2] if number > 1 else 0 : passage.ends[number - 1]
        ]
        before = first.setdefault(row["sentence"], number) - 1
        frequency = frequencies.of(row["text"], forms[number])
        own = [sum(map(str.isalnum, row["text"])), frequency, number, number - before]
        marks = [int(bool(pattern.search(written))) for pattern in _PUNCTUATION.values()]
        words.append(dict(zip(names, [*(row[column] for column in shared), *own, *marks, *other])))
    places = {number: place for place, number in enumerate(found)}
    for number, columns, name in passage.rows:
        place = places.get(number, -1)
        row = words[place] if place >= 0 else dict.fromkeys(names)
        for lag in range(1, lags + 1):
            before = words[place - lag] if place >= lag else {}
            row = row | {f"{column}_lag{lag}": before.get(column) for column in repeated}
        yield carried(columns, row, name) | row


def _tokens(doc: Doc, scores: TokenScores, passage: TextPassage) -> Iterator[Row]:
    """Yield the place and the numbers of each token."""
    word, number, last, region, before = 0, 0, (-1, -1), 0, None
    for sentence, span in enumerate(doc.sents, 1):
        for token in span:
            start, end = scores.spans[token.i].tolist()
            if token.is_space or start < passage.context:
                continue
            before = sentence - 1 if before is None else before
            own = (
                1 + bisect_right(passage.ends, start, hi=len(passage.ends) - 1)
                if passage.ends
                else 0
            )
            word += (start != last[1] and (start, end) != last) or own != region
            number, last, region = number + 1, (start, end), own
            if passage.ends and end > passage.ends[own - 1]:
                place = f"Region {own} of {passage.name}"
                place = next(
                    (f"The word of {row.name}" for row in passage.rows if row.region == own), place
                )
                raise ValueError(
                    f"{place} ends inside of the token '{token.text}', whose surprisal cannot be divided. Let "
                    f"regions end between tokens, or between the words of one as in do|n't."
                )
            yield {
                "i": token.i,
                "region": own,
                "sentence": sentence - before,
                "word": word,
                "token": number,
            }


def _row(doc: Doc, scores: TokenScores, passage: TextPassage, by: str, tokens: list[Row]) -> Row:
    """Make a row of its tokens."""
    first, places = tokens[0], [row["i"] for row in tokens]
    start, end = int(scores.spans[places[0], 0]), int(scores.spans[places[-1], 1])
    row = dict(passage.columns)
    if passage.ends:
        row["region"] = first["region"]
    row["sentence"] = first["sentence"]
    if by == REGION:
        row["words"] = len({one["word"] for one in tokens})
    else:
        row["word"] = first["word"]
    row["token" if by == TOKEN else "tokens"] = first["token"] if by == TOKEN else len(tokens)
    row |= {"start": passage.offset + start, "end": passage.offset + end}
    row["text"] = passage.text[start:end]
    if by == TOKEN:
        row["text"] = doc[places[0]].text
        row |= {} if scores.tags is None else {"tag": scores.tags[places[0]]}
    elif by == WORD:
        parts = dict.fromkeys(map(tuple, scores.spans[places].tolist()))
        row["text"] = "".join(passage.text[first:last] for first, last in parts)
    row |= {name: float(values[places].sum()) for name, values in scores.summed.items()}
    classes = [scores.classes[i] for i in places if scores.classes[i]]
    row |= {"known": not classes, "class": " ".join(classes)}
    after = {name: float(values[places[-1], 1]) for name, values in scores.entropies.items()}
    row |= {f"entropy_{name}": value for name, value in after.items()}
    for name, values in scores.entropies.items():
        # Entropy that grows is no work done (Hale 2006).
        row[f"reduction_{name}"] = max(float(values[places[0], 0]) - after[name], 0.0)
    return row
