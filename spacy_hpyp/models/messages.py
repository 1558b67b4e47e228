"""Vocabularies and labels as parts of messages. What reads them raises a ValueError if they are damaged."""

from typing import Any

import numpy as np
from spacy.pipeline._parser_internals import nonproj

from ..storage.arrays import pack_integers, unpack_integers
from ..storage.schema import Message, Ragged, arrays, different_names, group, inside, part
from ..text.candidates import ANY_ENDING, WordOutcomes
from ..text.seen_tags import SeenForms, SeenTags
from ..text.unknown_words import UnknownWordRule
from ..text.vocabulary import Vocabulary

_RARE = group(
    words=different_names("rare_words"),
    tags=arrays(
        "rare_counts",
        "rare_tags",
        "the rare words do not fit the vocabulary",
        count=["rare_words"],
        shortest=1,
        below="tags",
        beyond="a tag of a rare word does not exist",
    ),
)
_WORDS = group(
    tags=different_names("tags"),
    words=different_names("words"),
    classes=different_names("classes"),
    candidates=arrays(
        "tag_counts",
        "candidate_tags",
        "the candidate tags do not fit the vocabulary",
        count=["words", "classes"],
        shortest=1,
        below="tags",
        beyond="a candidate tag does not exist",
    ),
)

_CANDIDATES = inside(
    "candidates",
    group(
        forms=different_names("forms"),
        endings=different_names("endings"),
        outcomes=arrays(
            "counts",
            "outcomes",
            "the candidates do not fit the words",
            count=["forms", "endings"],
            shortest=1,
            below="outcomes",
            beyond="a candidate does not exist",
        ),
    ),
)


def vocabulary_to_message(vocabulary: Vocabulary) -> Message:
    """A vocabulary as parts of a message, without its rule."""
    offsets = vocabulary.tag_offsets[: len(vocabulary) + 1]
    candidates = Ragged(vocabulary.candidate_tags[: offsets[-1]], offsets)
    names = {"tags": vocabulary.tags, "words": vocabulary.words, "classes": vocabulary.classes}
    words = _WORDS.write({**names, "candidates": candidates})
    seen = {**rare_to_message(vocabulary), **seen_to_message(vocabulary.seen)}
    if vocabulary.forms is not None:
        seen["forms"] = {"names": vocabulary.forms.names, **seen_to_message(vocabulary.forms.seen)}
    return {**words, **seen}


def rare_to_message(vocabulary: Vocabulary) -> Message:
    """The rare words of a vocabulary that are known by their tags, as parts of a message."""
    tags = Ragged.of([np.array(tags, dtype=np.int32) for tags in vocabulary.rare.values()])
    return _RARE.write({"words": list(vocabulary.rare), "tags": tags})


def vocabulary_from_message(msg: Message, rule: UnknownWordRule) -> Vocabulary:
    """Read what `vocabulary_to_message` wrote."""
    found: dict[str, Any] = _WORDS.read(msg, {})
    values, offsets = found.pop("candidates")
    if len(offsets) == 1:
        raise ValueError("there are no words")
    rare, seen = (
        rare_from_message(msg, found["words"], found["tags"]),
        seen_from_message(msg, len(found["tags"])),
    )
    forms = None
    if "forms" in msg:
        own = part(msg, "forms", dict)
        names = different_names("names").read(own, {})
        forms = SeenForms(names, seen_from_message(own, len(found["tags"]), len(names)))
    return Vocabulary(
        **found, tag_offsets=offsets, candidate_tags=values, rule=rule, rare=rare, seen=seen, forms=forms
    )


def seen_to_message(seen: SeenTags | None) -> Message:
    """What the tags of rare words say as observations, as parts of a message; none where there is nothing."""
    if seen is None:
        return {}
    return {"seen_tags": pack_integers(seen.pairs.ravel()), "seen_weights": [seen.repeats, seen.strength]}


def seen_from_message(msg: Message, tags: int, others: int | None = None) -> SeenTags | None:
    """Read what `seen_to_message` wrote.

    others (int | None): How many things are seen, if these are no tags.
    """
    if "seen_tags" not in msg:
        return None
    pairs, weights = unpack_integers(part(msg, "seen_tags", dict)), part(msg, "seen_weights", list)
    if len(weights) != 2 or not all(isinstance(weight, float) for weight in weights) or len(pairs) % 3:
        raise ValueError("the tags of rare words are damaged")
    pairs, (repeats, strength) = pairs.reshape(-1, 3).astype(np.int64), weights
    if (
        not (0.0 <= repeats < 1.0 and 0.0 < strength < np.inf)
        or np.any(pairs < 0)
        or np.any(pairs[:, :2] >= [tags, tags if others is None else others])
    ):
        raise ValueError("the tags of rare words are damaged")
    return SeenTags(pairs, repeats, strength)


def rare_from_message(msg: Message, words: list[str], tags: list[str]) -> dict[str, list[int]]:
    """Read what `rare_to_message` wrote."""
    found = _RARE.read(msg, {"tags": len(tags)})
    if not set(found["words"]).isdisjoint(words):
        raise ValueError("the rare words do not fit the vocabulary")
    return {word: own.tolist() for word, own in zip(found["words"], found["tags"].parts(), strict=True)}


def candidates_to_message(candidates: WordOutcomes | None) -> Message:
    """What words may be, as a part of a message; nothing where there is nothing."""
    if candidates is None:
        return {}
    outcomes = Ragged(candidates.outcomes, candidates.offsets)
    return _CANDIDATES.write({**vars(candidates), "outcomes": outcomes})


def candidates_from_message(msg: Message, outcomes: int) -> WordOutcomes:
    """Read what `candidates_to_message` wrote."""
    found = _CANDIDATES.read(msg, {"outcomes": outcomes})
    values, offsets = found.pop("outcomes")
    if not set(found["endings"]) >= set(ANY_ENDING):
        raise ValueError("the endings of words are damaged")
    return WordOutcomes(**found, offsets=offsets.astype(np.int64), outcomes=values)


def labels_from_message(msg: Message) -> list[str]:
    """The labels of arcs."""
    labels = different_names("labels").read(msg, {})
    if any(label.count(nonproj.DELIMITER) > 1 for label in labels):
        raise ValueError("a label is decorated twice")
    return labels
