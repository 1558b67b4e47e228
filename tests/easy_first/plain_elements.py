"""The values of elements, read by their names as the tables in the docstrings define them."""

import re

from spacy_hpyp.compiled import NONE
from spacy_hpyp.easy_first.arcs import (
    CLASS_SYMBOLS,
    GUIDE_SYMBOLS,
    NULL,
    SYMBOLS,
    class_of_probability,
)

COLUMNS = (*SYMBOLS, *GUIDE_SYMBOLS, *CLASS_SYMBOLS)
NEIGHBOURS = {"before2": -2, "before": -1, "after": 1, "after2": 2}
SIDES = ("left", "right")


def documented(module):
    """The names in the table of a module; a name that begins with a dot replaces the last part."""
    rows = re.findall(r"^\| (`.*?) \| ", module.__doc__, re.MULTILINE)
    for row in rows:
        names = re.findall("`(.*?)`", row)
        for name in names:
            yield names[0].rpartition(".")[0] + name if name.startswith(".") else name


def bits(numbers):
    """The set of numbers with places for 31."""
    return sum(1 << number for number in {number % 31 for number in numbers})


class Reader:
    """Read the elements of a word of a sentence."""

    def __init__(self, sentence):
        self.sentence = sentence

    def of_word(self, word, children, rest):
        """An element of a word, or of none; `children` are those on each side."""
        if rest in COLUMNS:
            return self.symbol(word, rest)
        first, _, rest = rest.partition(".")
        if first in NEIGHBOURS:
            return self.symbol(None if word is None else word + NEIGHBOURS[first], rest)
        side = first.rstrip("2")
        found = children[SIDES.index(side)]
        if rest == "count":
            return len(found)
        if rest == "tags":
            return bits(int(self.symbol(child, "tag")) for child in found)
        # The outermost child first.
        found = (found if side == "left" else found[::-1])[int(first.endswith("2")) :]
        return self.symbol(found[0] if found else None, rest)

    def symbol(self, word, column):
        """A symbol of a word, if the word exists."""
        if word is None or not 0 <= word < len(self.sentence.symbols):
            return NULL
        return self.sentence.symbols[word, COLUMNS.index(column)]

    def of_guide(self, child, head, what):
        """The probability of an arc ("") or of another head ("other"), or the label of the arc."""
        said = list(zip(*(part[child].tolist() for part in self.sentence[1:4]), strict=True))
        if what == "other":
            others = [share for other, share, _ in said if other != head]
            return class_of_probability(max(others, default=0.0))
        found = [(share, label) for other, share, label in said if other == head]
        share, label = found[0] if found else (0.0, NONE)
        if what == "label":
            return label + 2 if share > 0 else NULL
        assert not what
        return class_of_probability(share)
