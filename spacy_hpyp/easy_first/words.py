"""Feature elements of word classifiers.

An element of a template is an attribute of the current word, such as "suffix3", or of a word near
it, with the position before the attribute, such as "prev.word".

| position | word |
| --- | --- |
| | the current word |
| prev, prev2, prev3 | the words before it |
| next, next2, next3 | the words after it |

| attribute | value |
| --- | --- |
| word | the word, or its class if it is rare (`text.vocabulary`) |
| usual | the most frequent outcome of the word, or of its class |
| lower | the word in lower case |
| prefix1 to prefix5, suffix1 to suffix5 | its first and last characters in lower case; nothing if it is shorter |
| lower.known | for a word with capitals: whether its lower-case form is known, and whether that is more frequent |
| shape | its characters as "X" (capital), "x" (other letter), "d" (digit) or themselves, at most two of a kind in a row |
| case | whether it has capitals, and where |
| digits | whether it has digits, or only digits |
| hyphen | whether it has a hyphen |
| length | its number of characters, up to 8 |
| tag | the tag of a word near it (tagger only) |
| class, class:2 to class:16 | the word's class, or the first steps of its path (`text.word_classes`), if the pipeline has word classes |
| start | whether a word near it begins a sentence (senter only) |
| morph | the part of speech and features of a word near it (morphologizer only) |
| lemma | the lemma rule of a word near it (lemmatizer only) |
| written.tag, written.pos, written.morph | its tag, part of speech and features in the Doc (lemmatizer; the tag also morphologizer) |
| space | the space before it: none, one space, more spaces, a line end or an empty line (senter only) |
| guide.tag, guide.tag2 | the most probable tag and the second, by a guide (`annotation.guides`; tagger and morphologizer only) |
| guide.prob | the probability of the most probable tag, binned (the same) |
| guide.label, guide.head.tag | its most probable label, and the tag of its most probable head (morphologizer only) |

All positions outside the sequence share a symbol.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np

from ..annotation.arrays import Guides, block_starts
from ..compiled import NONE
from ..text.candidates import WordOutcomes
from ..text.elements import CLASS_ATTRIBUTES, FormRows, class_symbols, string_number
from ..text.folding import fold
from ..text.vocabulary import Vocabulary
from .classification import Possible, Reading
from .templates import compile_templates

POSITIONS = {"prev3": -3, "prev2": -2, "prev": -1, "": 0, "next": 1, "next2": 2, "next3": 3}
_AFFIXES = (1, 2, 3, 4, 5)
_LONGEST = 8
# The size of the caches of forms and of class paths.
_REMEMBERED = 1 << 13
# Lower bounds of the bins of probabilities, finer towards 1.
_STEPS = np.array([0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999], dtype=np.float32)


def _shape(form: str) -> int:
    kinds: list[str] = []
    for character in form:
        kind = character
        if character.isdigit():
            kind = "d"
        elif character.isalpha():
            kind = "X" if character.isupper() else "x"
        if kinds[-2:] != [kind, kind]:
            kinds.append(kind)
    return string_number("".join(kinds))


def _case(form: str) -> int:
    if not any(character.isalpha() for character in form):
        return 0
    if form.isupper():
        return 1 if len(form) > 1 else 2
    if form[0].isupper():
        return 3
    return 4 if any(character.isupper() for character in form) else 5


@lru_cache(_REMEMBERED)
def spelling(form: str) -> dict[str, int]:
    """Return the attributes of a form by itself. Components share the cache."""
    lower, affixes = form.lower(), {}
    for length in _AFFIXES:
        is_long = len(form) >= length
        affixes[f"prefix{length}"] = string_number(lower[:length]) if is_long else 0
        affixes[f"suffix{length}"] = string_number(lower[-length:]) if is_long else 0
    return {
        "lower": string_number(lower),
        **affixes,
        "shape": _shape(form),
        "case": _case(form),
        "digits": 2 if form.isdigit() else int(any(character.isdigit() for character in form)),
        "hyphen": int("-" in form),
        "length": min(len(form), _LONGEST),
    }


_symbols_of_path = lru_cache(_REMEMBERED)(class_symbols)


#: The possible outcomes of a word, see `ClassificationTask`.
ALL, VOCABULARY, CANDIDATES = "all", "vocabulary", "candidates"


def _no_parts(outcome: str) -> list[str]:
    return []


def morphological_parts(outcome: str) -> list[str]:
    """Return the part of speech in "Case=Nom|POS=NOUN", and each feature without and with it."""
    features = outcome.split("|")
    pos = next((feature for feature in features if feature.startswith("POS=")), "")
    features = [feature for feature in features if feature != pos]
    return [pos, *features, *(f"{pos}|{feature}" for feature in features)]


@dataclass(frozen=True)
class ClassificationTask:
    """A kind of classification.

    outcome (str): The attribute name of outcomes.
    attributes (tuple[str, ...]): More attributes than every task has.
    possible (str): The possible outcomes of a word: `ALL`; those of the `VOCABULARY`; or
        `CANDIDATES`, its outcomes in training and those of words with the same ending.
    frequent (int): With `CANDIDATES`, words seen this often have only their outcomes in training.
    parts (Callable): Splits an outcome into further parts (list[str]).
    """

    outcome: str
    attributes: tuple[str, ...]
    possible: str = CANDIDATES
    frequent: int = 20
    parts: Callable[[str], list[str]] = _no_parts

    @property
    def elements(self) -> dict[str, tuple[int, str]]:
        """The distance and the attribute of each element by name."""
        return {
            f"{position}.{attribute}" if position else attribute: (distance, attribute)
            for position, distance in POSITIONS.items()
            for attribute in (
                "word",
                "usual",
                "lower.known",
                *spelling(""),
                *CLASS_ATTRIBUTES,
                *self.attributes,
                self.outcome,
            )
            if position or attribute != self.outcome
        }


_TAG_GUIDES = ("guide.tag", "guide.tag2", "guide.prob")
GUIDE_ATTRIBUTES = (*_TAG_GUIDES, "guide.label", "guide.head.tag")
#: Annotations of earlier components.
WRITTEN_ATTRIBUTES = ("written.tag", "written.pos", "written.morph")
TAGS = ClassificationTask("tag", _TAG_GUIDES, VOCABULARY)
STARTS = ClassificationTask("start", ("space",), ALL)
MORPHOLOGY = ClassificationTask(
    "morph", (*GUIDE_ATTRIBUTES, "written.tag"), CANDIDATES, parts=morphological_parts
)
# A word seen five times had its lemma; predicted features may be wrong.
LEMMAS = ClassificationTask("lemma", WRITTEN_ATTRIBUTES, CANDIDATES, frequent=5)


def compile_reading(
    templates: Sequence[Sequence[str]], task: ClassificationTask
) -> tuple[list[str], Reading]:
    """Compile the templates of a task.

    templates (Sequence[Sequence[str]]): Lists of names of elements.
    RETURNS (tuple[list[str], Reading]): The attributes, in the order of `Sequences.symbols`.
    RAISES (ValueError): If a template is invalid, see `compile_templates`.
    """
    elements = task.elements
    compile_templates(templates, elements, "templates")

    def outcomes(template: Sequence[str]) -> list[int]:
        return [elements[name][0] for name in template if elements[name][1] == task.outcome]

    ordered = [
        sorted(template, key=lambda name: elements[name][1] == task.outcome)
        for template in templates
    ]
    ordered.sort(key=lambda template: len(outcomes(template)) > 0)
    names, compiled = compile_templates(ordered, elements, "templates")
    attributes = sorted({elements[name][1] for name in names} - {task.outcome})
    column = {attribute: number for number, attribute in enumerate(attributes)} | {
        task.outcome: NONE
    }
    reach = max([0, *(abs(distance) for template in ordered for distance in outcomes(template))])
    readers = [
        [number for number, template in enumerate(ordered) if distance in outcomes(template)]
        for distance in range(-reach, reach + 1)
    ]
    return attributes, Reading(
        templates=compiled,
        fixed=np.array(
            [len(template) - len(outcomes(template)) for template in ordered], dtype=np.int32
        ),
        distance=np.array([elements[name][0] for name in names], dtype=np.int32),
        attribute=np.array([column[elements[name][1]] for name in names], dtype=np.int32),
        reach=reach,
        reader_offsets=np.cumsum([0, *map(len, readers)]).astype(np.int32),
        readers=np.array([number for numbers in readers for number in numbers], dtype=np.int32),
    )


def possible_outcomes(
    vocabulary: Vocabulary, task: ClassificationTask, candidates: WordOutcomes | None
) -> Possible:
    """Return the possible outcomes of each kind of words, and the parts of each outcome."""
    names = [task.parts(outcome) for outcome in vocabulary.tags]
    # An outcome is its first part.
    unique, size = dict.fromkeys(chain.from_iterable(names)), len(names)
    number = {name: size + i for i, name in enumerate(unique)}
    parts = [[outcome, *map(number.__getitem__, row)] for outcome, row in enumerate(names)]
    if candidates is not None:
        offsets, outcomes = candidates.offsets, candidates.outcomes
    elif task.possible == ALL:
        offsets, outcomes = np.array([0, size]), np.arange(size)
    else:
        offsets, outcomes = vocabulary.tag_offsets, vocabulary.candidate_tags
    return Possible(
        offsets.astype(np.int64, copy=False),
        outcomes.astype(np.int32, copy=False),
        np.cumsum([0, *map(len, parts)]).astype(np.int64),
        np.array([*chain.from_iterable(parts)], dtype=np.int32),
    )


def guide_symbols(guides: Guides, offsets: np.ndarray) -> dict[str, np.ndarray]:
    """Return the symbols of guides by attribute (int32[words] each); unknown tags are `NONE`."""
    steps = np.searchsorted(_STEPS, guides.tag_probability[:, 0], side="right").astype(np.int32)
    tags, heads = guides.tags[:, 0], guides.heads[:, 0]
    head_tag = np.where(heads == NONE, NONE, tags[heads + block_starts(offsets)]).astype(np.int32)
    return {
        "guide.tag": tags,
        "guide.tag2": guides.tags[:, 1],
        "guide.prob": steps,
        "guide.label": guides.head_labels[:, 0],
        "guide.head.tag": head_tag,
    }


def name_symbols(names: Iterable[str]) -> dict[str, int]:
    """Return a number for each name, the same in every process and never `NONE`."""
    return {name: string_number(name) >> 1 for name in names}


class Lexicon:
    """The symbols of words.

    vocabulary (Vocabulary): Its tags are the outcomes.
    attributes (Sequence[str]): The attributes of words, in the order of the columns.
    task (ClassificationTask): The task.
    candidates (WordOutcomes | None): The outcomes of words, for a task with `CANDIDATES`.
    path_of (Callable | None): Returns the class path of a word, "" for an unknown one; None without
        word classes.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        attributes: Sequence[str],
        task: ClassificationTask,
        candidates: WordOutcomes | None = None,
        path_of: Callable[[str], str] | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self._path_of = path_of
        self.attributes = list(attributes)
        self.task = task
        self._candidates = candidates
        self._rows = FormRows(1 + len(self.attributes))

    def read(
        self, forms: Sequence[str], place: np.ndarray, more: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return `symbols` and `kind` of `Sequences`.

        forms (Sequence[str]), place (int64[words]): Unique forms, and the index of each word's
            form.
        more (Mapping[str, int32[words]]): Attributes of words that do not depend on the form.
        """
        table = self._rows.of(forms, self._row)
        symbols, kinds = np.ascontiguousarray(table[:, 1:])[place], table[:, 0]
        for column, attribute in enumerate(self.attributes):
            if attribute in more:
                symbols[:, column] = more[attribute]
        return symbols, kinds[place]

    def _row(self, form: str) -> list[int]:
        """Return the kind of a word, and its attributes."""
        vocabulary, form = self.vocabulary, fold(form)
        number = vocabulary.number(form)
        symbols = {
            **spelling(form),
            "word": number,
            "usual": int(vocabulary.candidate_tags[vocabulary.tag_offsets[number]]),
            "lower.known": self._lower_known(form, number),
        }
        if self._path_of is not None:
            symbols |= zip(CLASS_ATTRIBUTES, _symbols_of_path(self._path_of(form)))
        return [
            self._kind(form, number),
            *(symbols.get(attribute, 0) for attribute in self.attributes),
        ]

    def _kind(self, form: str, number: int) -> int:
        if self._candidates is not None:
            return self._candidates.kind(form)
        return 0 if self.task.possible == ALL else number

    def _lower_known(self, form: str, number: int) -> int:
        lower = form.lower()
        if lower == form:
            return 0
        known = self.vocabulary.number(lower)
        if known >= len(self.vocabulary.words):
            return 1
        # Frequent words have low numbers.
        return 2 if number < known else 3
