"""The spaCy component `attribute_rules`: parts of speech and features by tag and word.

spaCy's `attribute_ruler` does the same by patterns, at a tenth of the speed.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

import numpy as np
from spacy.attrs import LOWER, MORPH, POS, TAG
from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..annotation.encoding import SPACE_TAG
from ..annotation.syntactic_words import WordsInFlight
from ..text.ngrams import by_frequency
from .alignment import example_of_words
from .base import Getter, StoredPipe


class AttributeRules(StoredPipe):
    """Component that sets `token.pos` and `token.morph` to the most frequent ones of the tag, or of
    the word with that tag. Words whose tag has no rule keep what they have.

    vocab (Vocab), name (str): The pipeline's vocabulary, and the name of the component.
    scorer (Callable | None): The scoring method.
    """

    file = "rules"

    def __init__(
        self, vocab: Vocab, name: str = "attribute_rules", *, scorer: Callable | None = None
    ) -> None:
        self.vocab, self.name, self.scorer = vocab, name, scorer
        self._restore([])

    @property
    def state(self) -> list[tuple[str, ...]]:
        """The rules: tag, lower-case word or "", part of speech, and features ("" for none)."""
        return self.rules

    def _restore(self, state: Iterable[Iterable[str]]) -> None:
        self.rules = [tuple(rule) for rule in state]
        add, add_morph = self.vocab.strings.add, self.vocab.morphology.add
        self._values = {
            (add(tag), add(word)): (add(pos), add_morph(morph))
            for tag, word, pos, morph in self.rules
        }

    def initialize(self, get_examples: Getter, *, nlp: Language | None = None) -> None:
        """Learn rules from the tags, parts of speech and features of the examples' references."""
        counts: dict[str, dict[str, Counter]] = defaultdict(lambda: defaultdict(Counter))
        for example in get_examples():
            for token in example_of_words(example).reference:
                value = token.pos_, str(token.morph)
                if token.tag_ and not token.is_space and any(value):
                    for word in ("", token.lower_):
                        counts[token.tag_][word][value] += 1
        rules = [(SPACE_TAG, "", "SPACE", "")] if counts else []
        for tag, words in sorted(counts.items()):
            best = {word: by_frequency(values)[0] for word, values in sorted(words.items())}
            rules += [
                (tag, word, *value) for word, value in best.items() if not word or value != best[""]
            ]
        self._restore(rules)

    def __call__(self, doc: Doc) -> Doc:
        """Set parts of speech and features, also of the words of multiword tokens."""
        found = WordsInFlight.of(doc)
        rows = [*map(tuple, found.words.to_array([TAG, LOWER, POS, MORPH]).tolist())]
        values = {row: self._value(*row) for row in set(rows)}
        columns = np.array([values[row] for row in rows], dtype=np.uint64).reshape(len(rows), 2)
        found.words.from_array([POS, MORPH], columns)
        found.write_back(doc)
        return doc

    def _value(self, tag: int, word: int, pos: int, morph: int) -> tuple[int, int]:
        rule = self._values.get((tag, word)) or self._values.get((tag, 0))
        return (pos, morph) if rule is None else (rule[0] or pos, rule[1])
