"""Universal parts of speech and morphological features, by rules that are learned from a treebank: spaCy's
`attribute_ruler` reads them, and so does the component `attribute_rules`, in less time.

A tag of the treebank mostly says what part of speech a word is, and often its features: the rule for a tag
gives what was most frequent with it. Where a word has something else more often ("is" among the verbs of the
third person, "mes" among the determiners), a rule for the tag and the words says so. A rule holds all words
of a tag that have the same: with `attribute_ruler` each rule costs time for every token.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from spacy.attrs import LOWER, MORPH, POS, TAG
from spacy.errors import Errors
from spacy.language import Language
from spacy.pipeline import AttributeRuler
from spacy.tokens import Doc
from spacy.util import logger, registry
from spacy.vocab import Vocab

from ..annotation.syntactic_words import words_as_tokens
from ..annotation.words import SPACE_TAG
from ..text.vocabulary import by_frequency
from .documents import read_treebank

# A rule for words that would have been right so many times more often in training than the rule for their
# tag, or more.
_LEAST = 10
_SPACE = {"POS": "SPACE", "MORPH": ""}

#: A part of speech and features.
_Value = tuple[str, str]


class AttributeRules(AttributeRuler):
    """SpaCy's `attribute_ruler` for no other rules than those of `create_attribute_rules`, which read a
    token's tag and its word: it need not look for the words of all rules at each token. It is stored as that
    one is.
    """

    def __init__(
        self, vocab: Vocab, name: str = "attribute_rules", *, scorer: Callable | None = None
    ) -> None:
        super().__init__(vocab, name, scorer=scorer)
        self.clear()

    def clear(self) -> None:
        """Forget all rules."""
        super().clear()
        self._of_tag: dict[int, list[tuple[set[int] | None, dict[int, int]]]] = {}

    def add(self, patterns: Iterable[list[dict[str, Any]]], attrs: dict[str, str], index: int = 0) -> None:
        """Add a rule, see `AttributeRuler.add` of spaCy.

        RAISES (ValueError): If it is another one than `create_attribute_rules` makes.
        """
        patterns, add, rules = list(patterns), self.vocab.strings.add, []
        is_known = attrs.keys() <= {"POS", "MORPH"} and index in (0, -1)
        for pattern in patterns:
            match pattern:
                case [{"TAG": str(tag), **others}] if is_known and not others:
                    rules.append((add(tag), None))
                case [{"TAG": str(tag), "LOWER": {"IN": [*words], **more}, **others}] if (
                    is_known and not more | others
                ):
                    rules.append((add(tag), set(map(add, words))))
                case _:
                    raise ValueError(
                        f"The component '{self.name}' has rules like those of 'spacy-hpyp.AttributeRules.v1' "
                        f"only, not {pattern} with {attrs} at {index}: "
                        "use spaCy's 'attribute_ruler' for it."
                    )
        super().add(patterns, attrs, index)
        for tag, words in rules:
            self._of_tag.setdefault(tag, []).append((words, self.attrs[-1]))

    def __call__(self, doc: Doc) -> Doc:
        """Set parts of speech and features by tags and words."""
        rows = [*map(tuple, doc.to_array([TAG, LOWER, POS, MORPH]).tolist())]
        known = {row: self._values(*row) for row in set(rows)}
        doc.from_array(
            [POS, MORPH], np.array([known[row] for row in rows], dtype=np.uint64).reshape(len(doc), 2)
        )
        return doc

    def _values(self, tag: int, word: int, pos: int, features: int) -> tuple[int, int]:
        """The part of speech and the features; those that there are already where no rule says anything."""
        found = {POS: pos, MORPH: features}
        for words, values in self._of_tag.get(tag, ()):
            if words is None or word in words:
                found.update(values)
        return found[POS], found[MORPH]


@Language.factory(
    "attribute_rules",
    assigns=["token.pos", "token.morph"],
    requires=["token.tag"],
    default_config={"scorer": {"@scorers": "spacy.morphologizer_scorer.v1"}},
    default_score_weights={"pos_acc": 0.5, "morph_acc": 0.5, "morph_per_feat": None},
)
def make_attribute_rules(nlp: Language, name: str, scorer: Callable | None) -> AttributeRules:
    """Make an `attribute_rules`, see `AttributeRules`."""
    return AttributeRules(nlp.vocab, name, scorer=scorer)


@registry.readers("spacy-hpyp.AttributeRules.v1")
def create_attribute_rules(path: str | Path | None) -> list[dict[str, Any]]:
    """Learn from a treebank what part of speech and which features go with a tag, and with the words that
    differ from their tag.

    path (str | Path | None): A file, or a directory of files that end with .conllu or .spacy.
    RETURNS (list[dict[str, Any]]): What `[initialize.components.attribute_ruler]` takes as `patterns`. No
        rules for a treebank that has neither parts of speech nor features.
    RAISES (ValueError): If there is no path, or a file is damaged or none of these.
    """
    if path is None:
        raise ValueError(Errors.E913)
    docs = map(words_as_tokens, read_treebank(Path(path), spacy.blank("xx").vocab))
    rules = attribute_rules(docs)
    if not rules:
        logger.info("No rules for parts of speech and features: '%s' has none for tokens with tags", path)
    return rules


def attribute_rules(docs: Iterable[Doc]) -> list[dict[str, Any]]:
    """The rules that documents with gold tags give, see `create_attribute_rules`. A later one overrules those
    before it.
    """
    found: dict[tuple[str, str], Counter[_Value]] = defaultdict(Counter)
    for doc in docs:
        for token in doc:
            value = token.pos_, str(token.morph)
            if token.tag_ and not token.is_space and any(value):
                found[token.tag_, token.lower_][value] += 1
    tags: dict[str, Counter[_Value]] = defaultdict(Counter)
    for (tag, _), values in found.items():
        tags[tag].update(values)
    if not tags:
        return []
    usual = {tag: by_frequency(values)[0] for tag, values in sorted(tags.items())}
    words: dict[tuple[str, _Value], list[str]] = defaultdict(list)
    gain: Counter[tuple[str, _Value]] = Counter()
    for (tag, word), values in sorted(found.items()):
        value = by_frequency(values)[0]
        more = values[value] - values[usual[tag]]
        if more > 0:
            words[tag, value].append(word)
            gain[tag, value] += more
    chosen = sorted((rule for rule in gain if gain[rule] >= _LEAST), key=lambda rule: (-gain[rule], rule))
    return [
        _rule({"TAG": SPACE_TAG}, _SPACE),
        *(_rule({"TAG": tag}, _attributes(value)) for tag, value in usual.items()),
        *(
            _rule({"TAG": tag, "LOWER": {"IN": words[tag, value]}}, _attributes(value))
            for tag, value in chosen
        ),
    ]


def _attributes(value: _Value) -> dict[str, str]:
    pos, features = value
    # What is empty is known to be so, as in the treebank.
    return {**({"POS": pos} if pos else {}), "MORPH": features}


def _rule(token: dict[str, Any], attributes: dict[str, str]) -> dict[str, Any]:
    return {"patterns": [[token]], "attrs": attributes}
