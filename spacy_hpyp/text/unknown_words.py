"""Classes of unknown words: what is left of a word that was seen too seldom to be known.

A rule maps a form, and whether it begins a sentence, to the name of a class. It is a registered function
(`spacy.registry.misc`), so that a config can name it and a user can add another.
"""

import unicodedata
from collections.abc import Callable

#: (form, whether it is the first word of its sentence) -> the name of its class
UnknownWordRule = Callable[[str, bool], str]

# Longer endings first, so that a word gets the most telling one.
_ENGLISH_SUFFIXES = (
    "tion sion ment ness ship able ible less ical ally ling ings ions ity ism ist ing ion ous ive ful ish ate ize ise ian "
    "ers ors ies est ed er or ly al ic an en es 's y s"
).split()


def english_unknown_words() -> UnknownWordRule:
    """Classes for English in the manner of the Stanford parser's signatures.

    Capitalisation (all capitals; capital at the beginning of a sentence or elsewhere; capital inside), digits, dash,
    other punctuation and the most telling of a list of English suffixes.
    """

    def rule(form: str, initial: bool) -> str:
        suffix = ""
        lower = form.lower()
        if len(form) > 3 and lower[-1:].isalpha():
            suffix = next((s for s in _ENGLISH_SUFFIXES if lower.endswith(s) and len(lower) > len(s) + 1), "")
        return _name(_case(form, initial), _digits(form), _marks(form), suffix)

    return rule


def universal_unknown_words(*, suffix_length: int = 3) -> UnknownWordRule:
    """Classes for any language: script, case, digits, dash, other punctuation, and the last characters of the word.

    suffix_length (int): How many characters a suffix has; shorter words give less, at most half of the word.
    RAISES (ValueError): If the length is negative.
    """
    if suffix_length < 0:
        raise ValueError(f"'suffix_length' must not be negative, but it is {suffix_length}.")

    def rule(form: str, initial: bool) -> str:
        length = min(suffix_length, len(form) // 2)
        suffix = form[len(form) - length :].lower() if form[-1:].isalpha() or _is_mark(form[-1:]) else ""
        return _name(_script(form), _case(form, initial), _digits(form), _marks(form), suffix)

    return rule


def _name(*parts: str) -> str:
    return "-".join(part for part in parts if part)


def _case(form: str, initial: bool) -> str:
    if not any(c.isalpha() for c in form):
        return ""
    if form.isupper() and len(form) > 1:
        return "CAPS"
    if form[0].isupper():
        return "FIRST" if initial else "CAP"
    if any(c.isupper() for c in form):
        return "MIXED"
    return "LOW"


def _digits(form: str) -> str:
    digits = sum(c.isdigit() for c in form)
    if digits == 0:
        return ""
    if digits == len(form):
        return "YEAR" if len(form) == 4 and form[0] in "12" else "NUM"
    return "DIGITS" if not any(c.isalpha() for c in form) else "DIGIT"


def _marks(form: str) -> str:
    marks = {c for c in form if not c.isalnum() and not _is_mark(c)}
    if not marks:
        return ""
    if len(form) > 6 and ("@" in marks or "://" in form or form.lower().startswith("www.")):
        return "ADDRESS"
    return "DASH" if marks <= set("-–—") else "MARK"


def _is_mark(character: str) -> bool:
    """Whether a character belongs to the letter before it, as the vowel signs of Indian scripts do."""
    return character != "" and unicodedata.category(character) in ("Mn", "Mc")


def _script(form: str) -> str:
    """The script of the first letter, where it is not Latin."""
    for character in form:
        if character.isalpha():
            script = unicodedata.name(character, "UNKNOWN").split(" ")[0]
            return "" if script == "LATIN" else script
    return ""
