"""Classes of unknown words.

A rule maps a form, and the usual tag of its lower-case form if known, to names of classes, the most
specific first. The vocabulary takes the first class that is frequent enough. Registered functions
make rules (`spacy.registry.misc`). Rules do not know whether a word begins a sentence: derivations
can only be compared if they generate the same words.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial

#: (form, tag of its lower-case form or "") -> class names, best first
UnknownWordRule = Callable[[str, str], list[str]]

# The number of forms to cache: each component of a pipeline asks for the classes of the same words.
_REMEMBERED = 1 << 13

_ENGLISH_SUFFIXES = frozenset(
    "tion sion ment ness ship able ible less ical ally ling ings ions ity ism ist ing ion ous ive "
    "ful ish ate ize ise ian ers ors ies est ed er or ly al ic an en es 's y s".split()
)
# The suffixes of the Stanford parser's signatures, except the plural.
_SIGNATURE_SUFFIXES = ("ed", "ing", "ion", "er", "est", "ly", "ity", "y", "al")


def english_signatures() -> UnknownWordRule:
    """Few classes for English, after the Stanford parser's signatures: capitalisation, a
    known lower-case form, digits, dash, a suffix.

    They suit n-gram models, which have no tags to predict besides.
    """
    return _signatures


def english_unknown_words() -> UnknownWordRule:
    """Many classes for English: capitalisation, digits, dash, other punctuation, and the usual tag
    in lower case or one of a list of suffixes.
    """
    return _english_classes


def universal_unknown_words(*, suffix_length: int = 6) -> UnknownWordRule:
    """Classes for any language: script, case, digits, dash, other punctuation, and the usual tag in
    lower case or the last characters.

    suffix_length (int): The length of the longest suffix; it is no more than about half of the
        word.
    RAISES (ValueError): If the length is negative.
    """
    if suffix_length < 0:
        raise ValueError(f"'suffix_length' must not be negative, but it is {suffix_length}.")
    return partial(_universal_classes, suffix_length)


def one_unknown_word() -> UnknownWordRule:
    """Return a rule without classes: rare words are one unknown word, as in B&B (section 5.2)."""
    return _no_classes


def unknown_words(lang: str) -> UnknownWordRule:
    """Return the English rule for "en", the universal one for other languages."""
    return english_unknown_words() if lang == "en" else universal_unknown_words()


def frequent_names(
    names_of: Callable[[str], Sequence[str]], counts: Mapping[str, int], least: int
) -> Iterator[tuple[str, str]]:
    """Yield each word that has names, with the first one of at least so many tokens, or its last.

    names_of (Callable): Returns the names of a word, the most specific first.
    counts (Mapping[str, int]): The number of tokens of each word.
    """
    sizes: Counter[str] = Counter()
    for word, count in counts.items():
        sizes.update(dict.fromkeys(names_of(word), count))
    for word in counts:
        if names := names_of(word):
            yield word, next((name for name in names if sizes[name] >= least), names[-1])


# Rules are functions of the module, not closures, so that a pipeline can be sent to other
# processes.
def _no_classes(form: str, lower_tag: str) -> list[str]:
    return []


@lru_cache(_REMEMBERED)
def _english_classes(form: str, lower_tag: str) -> list[str]:
    shape = _name(_case(form), _digits(form), _marks(form))
    lower = form.lower()
    # The longest ending is the most informative.
    ends = (lower[-n:] for n in (4, 3, 2, 1) if len(lower) > n + 1)
    return _chain(shape, lower_tag, [end for end in ends if end in _ENGLISH_SUFFIXES][:1])


def _signatures(form: str, lower_tag: str) -> list[str]:
    digit, dash = "DIGIT" * any(c.isdigit() for c in form), "DASH" * ("-" in form)
    shape = _name(_signature_case(form, lower_tag), digit, dash)
    suffix = _signature_suffix(form)
    return [f"{shape}-{suffix}", shape] if suffix else [shape]


def _signature_case(form: str, lower_tag: str) -> str:
    capitals = sum(c.isupper() for c in form)
    if capitals == 0:
        return "LOW" if any(c.isalpha() for c in form) else ""
    if form.isupper() and sum(c.isalpha() for c in form) > 1:
        return "CAPS"
    if lower_tag and capitals == 1 and form[0].isupper():
        return "CAP-KNOWN"
    return "CAP" if form[0].isupper() or not form[0].isalpha() else "LOW"


def _signature_suffix(form: str) -> str:
    lower = form.lower()
    if len(lower) > 2 and lower.endswith("s"):
        # Not the plural: "glass", "basis", "bonus".
        return "" if lower[-2] in "siu" else "s"
    is_code = any(c.isdigit() for c in form) and any(c.isupper() for c in form)
    if len(lower) < 5 or "-" in form or is_code:
        return ""
    return next((suffix for suffix in _SIGNATURE_SUFFIXES if lower.endswith(suffix)), "")


@lru_cache(_REMEMBERED)
def _universal_classes(suffix_length: int, form: str, lower_tag: str) -> list[str]:
    shape = _name(_script(form), _case(form), _digits(form), _marks(form))
    longest = 0
    if form[-1:].isalpha() or _is_mark(form[-1:]):
        longest = min(suffix_length, len(form) // 2 + 1 if len(form) > 3 else 1)
    elif not form[-1:].isdigit():
        longest = min(suffix_length, 1)
    return _chain(shape, lower_tag, [form[len(form) - n :].lower() for n in range(longest, 0, -1)])


def _chain(shape: str, lower_tag: str, suffixes: list[str]) -> list[str]:
    """Return class names from the most specific to the shape alone."""
    tagged = [f"{shape}~{lower_tag}"] if lower_tag else []
    return [*tagged, *(f"{shape}-{suffix}" for suffix in suffixes), shape]


def _name(*parts: str) -> str:
    return "-".join(part for part in parts if part) or "OTHER"


# In most words, all characters are letters. Strings check that in a tenth of the time of a look at
# each character.
def _case(form: str) -> str:
    if form.isalpha() and form.islower():
        return "LOW"
    if not any(c.isalpha() for c in form):
        return ""
    if form.isupper() and len(form) > 1:
        return "CAPS"
    if form[0].isupper():
        return "CAP"
    if any(c.isupper() for c in form):
        return "MIXED"
    return "LOW"


def _digits(form: str) -> str:
    digits = 0 if form.isalpha() else sum(c.isdigit() for c in form)
    if digits == 0:
        return ""
    if digits == len(form):
        return "YEAR" if len(form) == 4 and form[0] in "12" else "NUM"
    return "DIGITS" if not any(c.isalpha() for c in form) else "DIGIT"


def _marks(form: str) -> str:
    marks = () if form.isalnum() else {c for c in form if not c.isalnum() and not _is_mark(c)}
    if not marks:
        return ""
    if len(form) > 6 and ("@" in marks or "://" in form or form.lower().startswith("www.")):
        return "ADDRESS"
    return "DASH" if marks <= set("-–—") else "MARK"


def _is_mark(character: str) -> bool:
    """Whether a character belongs to the letter before it, as vowel signs of Indian scripts."""
    return character != "" and unicodedata.category(character) in ("Mn", "Mc")


def _script(form: str) -> str:
    """Return the script of the first letter by its Unicode name, "" for Latin or no letter."""
    first = next(filter(str.isalpha, form), "")
    script = unicodedata.name(first, "UNKNOWN").split(" ")[0] if first else "LATIN"
    return "" if script == "LATIN" else script
