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
| prefix1 to prefix5, suffix1 to suffix5 | its first or last characters in lower case, if enough |
| lower.known | for a word with capitals: whether its lower-case form is known, and more frequent |
| shape | "X" (capital), "x" (other letter), "d" (digit) or the character; runs are cut to two |
| case | whether it has capitals, and where |
| digits | whether it has digits, or only digits |
| hyphen | whether it has a hyphen |
| length | its number of characters, up to 8 |
| tag | the tag of a word near it (tagger only) |
| class, class:2 to class:16 | its word class, or first steps of its path (`text.word_classes`) |
| start | whether a word near it begins a sentence (senter only) |
| morph | the part of speech and features of a word near it (morphologizer only) |
| lemma | the lemma rule of a word near it (lemmatizer only) |
| written.tag, .pos, .morph | its annotation in the Doc (lemmatizer; the tag also morphologizer) |
| space | the space before it: none, one, more, a line end or an empty line (senter only) |
| guide.tag, .tag2, .prob | two best tags, binned probability of the best (tagger, morphologizer) |
| guide.label, guide.head.tag | the guide's label, and the tag of its head (morphologizer only) |

All positions outside the sequence share a symbol.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np

from ..annotation.arrays import Guides, block_starts
from ..compiled import NONE
from ..text.candidates import WordOutcomes
from ..text.elements import CLASS_ATTRIBUTES, string_number
from ..text.vocabulary import Vocabulary
from .classification import Possible, Reading
from .perceptron import check_templates, compile_templates

POSITIONS = {"prev3": -3, "prev2": -2, "prev": -1, "": 0, "next": 1, "next2": 2, "next3": 3}
_LONGEST_AFFIX, _LONGEST_FORM = 5, 8
# The size of the cache of forms.
_KEPT = 1 << 13
# Lower bounds of the bins of probabilities, finer towards 1.
_STEPS = np.array([0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999], dtype=np.float32)


def _shape(form: str) -> str:
    kinds: list[str] = []
    for character in form:
        kind = character
        if character.isdigit():
            kind = "d"
        elif character.isalpha():
            kind = "X" if character.isupper() else "x"
        if kinds[-2:] != [kind, kind]:
            kinds.append(kind)
    return "".join(kinds)


def _case(form: str) -> int:
    if not any(character.isalpha() for character in form):
        return 0
    if form.isupper():
        return 1 if len(form) > 1 else 2
    if form[0].isupper():
        return 3
    return 4 if any(character.isupper() for character in form) else 5


@lru_cache(_KEPT)
def spelling(form: str) -> dict[str, int]:
    """Return the attributes of a form by itself. Components share the cache."""
    lower, affixes = form.lower(), {}
    for length in range(1, _LONGEST_AFFIX + 1):
        is_long = len(form) >= length
        affixes[f"prefix{length}"] = string_number(lower[:length]) if is_long else 0
        affixes[f"suffix{length}"] = string_number(lower[-length:]) if is_long else 0
    return {
        "lower": string_number(lower),
        **affixes,
        "shape": string_number(_shape(form)),
        "case": _case(form),
        "digits": 2 if form.isdigit() else int(any(character.isdigit() for character in form)),
        "hyphen": int("-" in form),
        "length": min(len(form), _LONGEST_FORM),
    }


#: The possible outcomes of a word, see `ClassificationTask`.
ALL, VOCABULARY, CANDIDATES = "all", "vocabulary", "candidates"


def morphological_parts(outcome: str) -> list[str]:
    """Return "POS=NOUN" of "Case=Nom|POS=NOUN" (or ""), and each feature without and with it."""
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
    open_class_below (int): Words seen more rarely may have any open-class outcome.
    parts (Callable | None): Splits an outcome into parts (list[str]) with weights of their own.
    """

    outcome: str
    attributes: tuple[str, ...]
    possible: str = CANDIDATES
    frequent: int = 20
    open_class_below: int = 0
    parts: Callable[[str], list[str]] | None = None

    @property
    def elements(self) -> dict[str, tuple[int, str]]:
        """The distance and the attribute of each element by name."""
        attributes = ["word", "usual", "lower.known", *spelling(""), *CLASS_ATTRIBUTES]
        attributes += [*self.attributes, self.outcome]
        return {
            f"{position}.{attribute}" if position else attribute: (distance, attribute)
            for position, distance in POSITIONS.items()
            for attribute in attributes
            if position or attribute != self.outcome
        }


_TAG_GUIDES = ("guide.tag", "guide.tag2", "guide.prob")
GUIDE_ATTRIBUTES = (*_TAG_GUIDES, "guide.label", "guide.head.tag")
#: Annotations of earlier components.
WRITTEN_ATTRIBUTES = ("written.tag", "written.pos", "written.morph")
TAGS = ClassificationTask("tag", _TAG_GUIDES, VOCABULARY, open_class_below=50)
STARTS = ClassificationTask("start", ("space",), ALL)
MORPHOLOGY = ClassificationTask(
    "morph", (*GUIDE_ATTRIBUTES, "written.tag"), parts=morphological_parts
)
# A word seen five times had its lemma; predicted features may be wrong.
LEMMAS = ClassificationTask("lemma", WRITTEN_ATTRIBUTES, frequent=5)


def compile_reading(
    templates: Sequence[Sequence[str]], task: ClassificationTask
) -> tuple[list[str], Reading]:
    """Compile the templates of a task.

    templates (Sequence[Sequence[str]]): Lists of names of elements.
    RETURNS (tuple[list[str], Reading]): The columns of `Sequences.symbols`, and the templates.
    RAISES (ValueError): If a template is invalid, see `check_templates`.
    """
    elements = task.elements
    check_templates(templates, elements, "templates")

    def is_outcome(name: str) -> bool:
        return elements[name][1] == task.outcome

    ordered = [sorted(template, key=is_outcome) for template in templates]
    ordered.sort(key=lambda template: is_outcome(template[-1]))
    names, compiled = compile_templates(ordered, range(len(ordered)))
    read = [{elements[name][0] for name in filter(is_outcome, template)} for template in ordered]
    reach = max(map(abs, chain(*read)), default=0)
    readers = [
        [number for number, distances in enumerate(read) if distance in distances]
        for distance in range(-reach, reach + 1)
    ]
    attributes = sorted({elements[name][1] for name in names} - {task.outcome})
    column = {attribute: number for number, attribute in enumerate(attributes)}
    fixed = [len(template) - len(distances) for template, distances in zip(ordered, read)]
    columns = [column.get(elements[name][1], NONE) for name in names]
    return attributes, Reading(
        templates=compiled,
        fixed=np.array(fixed, dtype=np.int32),
        distance=np.array([elements[name][0] for name in names], dtype=np.int32),
        attribute=np.array(columns, dtype=np.int32),
        reach=reach,
        reader_offsets=np.cumsum([0, *map(len, readers)]).astype(np.int32),
        readers=np.array([*chain(*readers)], dtype=np.int32),
    )


def possible_outcomes(
    vocabulary: Vocabulary, task: ClassificationTask, candidates: WordOutcomes | None
) -> Possible:
    """Return the possible outcomes of each kind of word, and the parts of each outcome."""
    names = [task.parts(outcome) if task.parts else [] for outcome in vocabulary.tags]
    # The first part of an outcome is the outcome itself.
    size = len(names)
    number = {name: size + i for i, name in enumerate(dict.fromkeys(chain(*names)))}
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
        np.array([*chain(*parts)], dtype=np.int32),
    )


def guide_symbols(guides: Guides, offsets: np.ndarray) -> dict[str, np.ndarray]:
    """Return the symbols of guides by attribute (int32[words] each); unknown names are `NONE`."""
    steps = np.searchsorted(_STEPS, guides.tag_probability[:, 0], side="right").astype(np.int32)
    tags, heads = guides.tags[:, 0], guides.heads[:, 0]
    head_tag = np.where(heads == NONE, NONE, tags[heads + block_starts(offsets)]).astype(np.int32)
    values = tags, guides.tags[:, 1], steps, guides.head_labels[:, 0], head_tag
    return dict(zip(GUIDE_ATTRIBUTES, values))


def name_symbols(names: Iterable[str]) -> dict[str, int]:
    """Return a number for each name, the same in every process and never `NONE`."""
    return {name: string_number(name) >> 1 for name in names}
