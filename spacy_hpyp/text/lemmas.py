"""How lemmas are made of words, by edit trees (Chrupała 2008) as spaCy has them.

An edit tree says which parts of a word stay and what the others become, so that it is good for words that
were never seen. It is made of a word and its lemma, and any pair that makes it can stand for it: what rules
are called are such pairs. In most lemmas capitals say no more than that the word stands first: trees are of
words in lower case where the lemma is.
"""

from collections.abc import Iterable

from spacy.pipeline._edit_tree_internals.edit_trees import EditTrees
from spacy.strings import StringStore

# Between a word and its lemma in the name of a rule.
_BECOMES = "\t"
#: Of words as they are written; of words in lower case; and of these, with a capital at the beginning of the
#: lemma.
_AS_WRITTEN, _LOWER, _CAPITAL = range(3)


class LemmaRules:
    """Rules for lemmas, as numbers.

    names (Iterable[str]): What they are called: a word and its lemma, with a tab between. Several may be
        names of one rule; the attribute has the first name of each.
    RAISES (ValueError): If a name is none.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names: list[str] = []
        self._trees = EditTrees(StringStore())
        self._rules: list[tuple[int, int]] = []
        self._number: dict[tuple[int, int], int] = {}
        for name in names:
            form, _, lemma = name.partition(_BECOMES)
            if not form or not lemma or _BECOMES in lemma:
                raise ValueError(f"{name!r} is not the name of a rule for lemmas")
            rule = self._rule(form, lemma)
            if rule not in self._number:
                self._number[rule] = len(self._rules)
                self._rules.append(rule)
                self.names.append(name)

    def name(self, form: str, lemma: str) -> str:
        """What the rule is called by which a word has a lemma; a rule that is not there by these. Neither is
        empty or has a tab in it.
        """
        number = self._number.get(self._rule(form, lemma))
        return f"{form}{_BECOMES}{lemma}" if number is None else self.names[number]

    def _rule(self, form: str, lemma: str) -> tuple[int, int]:
        lower = lemma.lower()
        if lemma == lower:
            return _LOWER, self._trees.add(form.lower(), lemma)
        if form.isupper() and len(form) > 1 and lemma == lower[:1].upper() + lower[1:]:
            return _CAPITAL, self._trees.add(form.lower(), lower)
        return _AS_WRITTEN, self._trees.add(form, lemma)

    def apply(self, number: int, form: str) -> str | None:
        """The lemma that a word has by a rule, or None if the rule is not for such words."""
        capitals, tree = self._rules[number]
        found = self._trees.apply(tree, form if capitals == _AS_WRITTEN else form.lower())
        if not found:
            return None
        return found[:1].upper() + found[1:] if capitals == _CAPITAL else found
