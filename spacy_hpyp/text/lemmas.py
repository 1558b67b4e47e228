"""Rules that make lemmas of words, by spaCy's edit trees (Chrupała 2008).

An edit tree says which parts of a word stay and how others change. A pair of a word and its lemma
names it. Trees read lower case for lemmas in lower case, and capitalised ones of words in capitals.
"""

from collections.abc import Iterable

from spacy.strings import StringStore

from ..spacy_internals import EditTrees
from .folding import fold

# The separator of a word and its lemma in the name of a rule.
_BECOMES = "\t"
#: A rule reads words as written, or in lower case, or in lower case with a capital at the beginning
#: of the lemma.
_AS_WRITTEN, _LOWER, _CAPITAL = range(3)


class LemmaRules:
    """Numbered rules for lemmas.

    names (Iterable[str]): Words and lemmas with a tab between. Of several names of one rule the
        first is kept.
    RAISES (ValueError): If a name is not valid.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names: list[str] = []
        self._trees = EditTrees(StringStore())
        self._number: dict[tuple[int, int], int] = {}
        for name in names:
            form, _, lemma = name.partition(_BECOMES)
            if not form or not lemma or _BECOMES in lemma:
                raise ValueError(
                    f"{name!r} is not the name of a rule for lemmas: a word, a tab and a lemma."
                )
            rule = self._rule(form, lemma)
            if rule not in self._number:
                self._number[rule] = len(self.names)
                self.names.append(name)
        self._rules = list(self._number)

    def name(self, form: str, lemma: str) -> str:
        """Return the name of the rule for a word and its lemma, a new name for a new rule."""
        number = self._number.get(self._rule(form, lemma))
        return f"{form}{_BECOMES}{lemma}" if number is None else self.names[number]

    def _rule(self, form: str, lemma: str) -> tuple[int, int]:
        form, lower = fold(form), lemma.lower()
        if lemma == lower:
            return _LOWER, self._trees.add(form.lower(), lemma)
        if form.isupper() and len(form) > 1 and lemma == lower[:1].upper() + lower[1:]:
            return _CAPITAL, self._trees.add(form.lower(), lower)
        return _AS_WRITTEN, self._trees.add(form, lemma)

    def apply(self, number: int, form: str) -> str | None:
        """Return the lemma of a word by a rule, or None if the rule does not apply."""
        (capitals, tree), form = self._rules[number], fold(form)
        found = self._trees.apply(tree, form if capitals == _AS_WRITTEN else form.lower())
        if not found:
            return None
        return found[:1].upper() + found[1:] if capitals == _CAPITAL else found
