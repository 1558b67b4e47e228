"""Classes of tags, for treebanks with very many tags.

Such tags spell out inflection, most of which does not matter for trees. A parser that predicts
classes in their place learns more from a small treebank, see docs/parser.md.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from .folding import fold
from .ngrams import by_frequency

#: The features of a class, besides the universal part of speech.
FEATURES = ("Case", "VerbForm")
# The longest ending of words that tags are known by.
_LONGEST = 6


@lru_cache(1 << 12)
def tag_class(pos: str, morph: str) -> str:
    """Return the class of a word, such as "NOUN|Case=Gen"; "" without a part of speech."""
    features = [part for part in morph.split("|") if part.split("=")[0] in FEATURES]
    return "|".join([pos, *features]) if pos else ""


class TagClasses(NamedTuple):
    """The classes of a treebank's tags.

    usual (dict[str, str]): The most frequent class of each tag.
    tags (dict[str, dict[str, str]]): For each class, the most frequent tag of a word, of words with
        an ending, and under "" of all words; without those that a shorter ending has, too.
    """

    usual: dict[str, str]
    tags: dict[str, dict[str, str]]

    @classmethod
    def learn(cls, tokens: Iterable[tuple[str, str, str]]) -> "TagClasses":
        """Learn from the words, tags and classes of tokens."""
        of_tag: defaultdict[str, Counter[str]] = defaultdict(Counter)
        seen: defaultdict[str, defaultdict[str, Counter[str]]]
        seen = defaultdict(lambda: defaultdict(Counter))
        for (word, tag, name), count in Counter(tokens).items():
            of_tag[tag][name] += count
            for part in dict.fromkeys(_parts(word)):
                seen[name][part][tag] += count
        tags = {}
        for name, counts in sorted(seen.items()):
            best = {part: by_frequency(found)[0] for part, found in sorted(counts.items())}
            tags[name] = {
                part: tag
                for part, tag in best.items()
                if not part or tag != best[part[1:][-_LONGEST:]]
            }
        return cls({tag: by_frequency(found)[0] for tag, found in sorted(of_tag.items())}, tags)

    def of(self, tags: Sequence[str], classes: Sequence[str]) -> list[str]:
        """Return known classes as they are, and in place of others the usual ones of the tags."""
        classes = classes or [""] * len(tags)
        usual = self.usual
        return [
            name if name in self.tags else usual.get(tag, tag) for tag, name in zip(tags, classes)
        ]

    def tag(self, word: str, name: str) -> str:
        """Return the most frequent tag of a word, or of words like it, in a class; the class itself
        if it was not seen.
        """
        known = self.tags.get(name, {"": name})
        return next(known[part] for part in _parts(word) if part in known)


def _parts(word: str) -> list[str]:
    """Return a word and its endings, the longest first."""
    word = fold(word)
    return [word, *(word[-length:] for length in range(min(len(word), _LONGEST), 0, -1)), ""]
