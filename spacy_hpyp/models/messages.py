"""The parts of stored models that several kinds of them have, checked when they are read."""

from typing import Any

import numpy as np

from ..hpyp.storage import pack_integers, unpack_integers
from ..text.seen_tags import SeenTags
from ..text.unknown_words import UnknownWordRule
from ..text.vocabulary import Vocabulary


def part(msg: dict[str, Any], name: str, kind: type) -> Any:
    """A part of a message.

    RAISES (ValueError): If it is missing or of another kind.
    """
    if not isinstance(msg.get(name), kind):
        raise ValueError(f"the part '{name}' is missing or of the wrong kind")
    return msg[name]


def check_format(msg: dict[str, Any], newest: int, what: str, *, oldest: int | None = None) -> None:
    """See that a message has a format that is read.

    newest (int): The one that is written.
    what (str): What the message should be, with an article.
    oldest (int | None): The oldest that is read, if it is another one.
    RAISES (ValueError): If it has another format, or none.
    """
    number = msg.get("format")
    if type(number) is not int or not (newest if oldest is None else oldest) <= number <= newest:
        raise ValueError(f"it is not {what} of this version of spacy-hpyp")


def check_count(value: int) -> int:
    """A number of things.

    RAISES (ValueError): If it is negative.
    """
    if value < 0:
        raise ValueError("a count is damaged")
    return value


def strings(values: list[Any]) -> list[str]:
    """Names.

    RAISES (ValueError): If they are none, or one is empty or there twice.
    """
    if not all(isinstance(value, str) for value in values):
        raise ValueError("a list of names is damaged")
    if len(set(values)) < len(values):
        raise ValueError("a name is listed twice")
    if "" in values:
        raise ValueError("a name is empty")
    return values


def sentence_keys(joined: bytes, count: int) -> list[bytes]:
    """The keys of some sentences, all of which have the same length, that were put one after the other.

    RAISES (ValueError): If they cannot be taken apart.
    """
    width = len(joined) // max(1, count)
    if width * count != len(joined) or (count > 0 and width == 0):
        raise ValueError("a list of sentences is damaged")
    return [joined[width * i : width * (i + 1)] for i in range(count)]


def counted_sentences(msg: dict[str, Any], keys: str, counts: str) -> dict[bytes, int]:
    """How often each of some sentences is there.

    keys, counts (str): The parts that have the sentences' keys, see `sentence_keys`, and the numbers, one for each.
    RAISES (ValueError): If they are damaged.
    """
    joined = part(msg, keys, bytes)
    found = unpack_integers(part(msg, counts, dict), most=len(joined)).tolist()
    return dict(zip(sentence_keys(joined, len(found)), found, strict=True))


def vocabulary_to_message(vocabulary: Vocabulary) -> dict[str, Any]:
    """A vocabulary as parts of a message, without its rule."""
    offsets = vocabulary.tag_offsets[: len(vocabulary) + 1]
    return {
        "tags": vocabulary.tags,
        "words": vocabulary.words,
        "classes": vocabulary.classes,
        "tag_counts": pack_integers(np.diff(offsets)),
        "candidate_tags": pack_integers(vocabulary.candidate_tags[: offsets[-1]]),
        **rare_to_message(vocabulary),
        **seen_to_message(vocabulary.seen),
    }


def rare_to_message(vocabulary: Vocabulary) -> dict[str, Any]:
    """The rare words of a vocabulary that are known by their tags, as parts of a message."""
    rare = vocabulary.rare
    return {
        "rare_words": list(rare),
        "rare_counts": pack_integers(np.array([len(tags) for tags in rare.values()], dtype=np.int64)),
        "rare_tags": pack_integers(np.array([tag for tags in rare.values() for tag in tags], dtype=np.int32)),
    }


def vocabulary_from_message(msg: dict[str, Any], rule: UnknownWordRule) -> Vocabulary:
    """Read what `vocabulary_to_message` wrote.

    RAISES (ValueError): If it is damaged.
    """
    tags, words, classes = (strings(part(msg, name, list)) for name in ("tags", "words", "classes"))
    candidates, counts = (unpack_integers(part(msg, name, dict)) for name in ("candidate_tags", "tag_counts"))
    if len(counts) != len(words) + len(classes) or np.any(counts < 1) or counts.sum() != len(candidates):
        raise ValueError("the candidate tags do not fit the vocabulary")
    if len(counts) == 0 or int(candidates.max(initial=0)) >= len(tags):
        raise ValueError("a candidate tag does not exist")
    offsets = np.concatenate([[0], np.cumsum(counts)])
    rare, seen = rare_from_message(msg, words, tags), seen_from_message(msg, len(tags))
    return Vocabulary(words, classes, tags, offsets, candidates, rule, rare, seen)


def seen_to_message(seen: SeenTags | None) -> dict[str, Any]:
    """What the tags of rare words say as observations, as parts of a message; none where there is nothing."""
    if seen is None:
        return {}
    return {"seen_tags": pack_integers(seen.pairs.ravel()), "seen_weights": [seen.repeats, seen.strength]}


def seen_from_message(msg: dict[str, Any], tags: int) -> SeenTags | None:
    """Read what `seen_to_message` wrote.

    tags (int): How many tags the vocabulary has.
    RAISES (ValueError): If it is damaged.
    """
    # Files of earlier versions do not have it: in them these tags tell classes apart.
    if "seen_tags" not in msg:
        return None
    pairs, weights = unpack_integers(part(msg, "seen_tags", dict)), part(msg, "seen_weights", list)
    if len(weights) != 2 or not all(isinstance(weight, float) for weight in weights) or len(pairs) % 3:
        raise ValueError("the tags of rare words are damaged")
    pairs, (repeats, strength) = pairs.reshape(-1, 3).astype(np.int64), weights
    if not (0.0 <= repeats < 1.0 and 0.0 < strength < np.inf) or np.any(pairs < 0) or np.any(pairs[:, :2] >= tags):
        raise ValueError("the tags of rare words are damaged")
    return SeenTags(pairs, repeats, strength)


def rare_from_message(msg: dict[str, Any], words: list[str], tags: list[str]) -> dict[str, list[int]]:
    """Read what `rare_to_message` wrote.

    words, tags (list[str]): Those of the vocabulary.
    RAISES (ValueError): If it is damaged.
    """
    # Files of earlier versions do not have them: their rare words are known by classes alone.
    if "rare_words" not in msg:
        return {}
    rare = strings(part(msg, "rare_words", list))
    counts, found = (unpack_integers(part(msg, name, dict)) for name in ("rare_counts", "rare_tags"))
    if len(counts) != len(rare) or np.any(counts < 1) or counts.sum() != len(found) or not set(rare).isdisjoint(words):
        raise ValueError("the rare words do not fit the vocabulary")
    if int(found.max(initial=0)) >= len(tags):
        raise ValueError("a tag of a rare word does not exist")
    parts = np.split(found, np.cumsum(counts)[:-1])
    return {word: own.tolist() for word, own in zip(rare, parts)}
