"""The form of a treebank in which language models are compared on it (Buys and Blunsom 2015, section 5.4).

Punctuation is left out, numbers and symbols become one word, and words that are not among the most frequent
ones become another.

What the paper does not say, and is decided here:

* Punctuation has the universal tag PUNCT or a Penn tag of punctuation, or the label of punctuation, `punct`
    or `P`.
* A number has digits, and the tag NUM or CD or no letters. Words such as "million" and "three" are none,
  whatever their tag: the samples of the paper's Table 7 have them beside the word for numbers. A symbol has
  the tag SYM, $ or #, or has neither letters nor digits, unless its tag says that it stands for a word, as
  the apostrophe of a possessive and the sign & do.
* A word below punctuation hangs on the nearest word above that is none. If the root is punctuation, then the
  one of the words right below it that has most words below itself is the new root, and the others hang on it.
  That keeps a projective tree projective.
* The two words for numbers and for rare words count as words of the vocabulary. Of words that are equally
  frequent, the first ones in the order of Unicode are kept.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ..settings import whole
from .conllu import EMPTY, ConlluSentence, ConlluWord
from .head_rules import PUNCTUATION

# Punctuation of later releases: hyphens within words, and what is not part of the sentence.
_PUNCTUATION = PUNCTUATION | {"HYPH", "NFP"}
_PUNCTUATION_LABELS = {"punct", "P"}
_NUMBERS = {"NUM", "CD"}
_SYMBOLS = {"SYM", "$", "#"}
# Tags of what is a word, even where it has neither letters nor digits.
_WORDS = {"PART", "CCONJ", "POS", "CC"}


@dataclass(frozen=True)
class WordForms:
    """How words are written.

    lower (bool): In lower case.
    drop_symbols (bool): Symbols are left out as punctuation is, instead of becoming the word for numbers.
    number (str): The word for numbers and symbols.
    unknown (str): The word for those that are not in the vocabulary.
    RAISES (ValueError): If one of the two is no word, or they are the same.
    """

    lower: bool = True
    drop_symbols: bool = False
    number: str = "<num>"
    unknown: str = "<unk>"

    def __post_init__(self):
        for name in (self.number, self.unknown):
            if not name or name.split() != [name]:
                raise ValueError(
                    f"The words for numbers and rare words must have no white space, but one is '{name}'."
                )
        if self.number == self.unknown:
            raise ValueError(
                f"The words for numbers and rare words must differ, but both are '{self.number}'."
            )

    def left_out(self, word: ConlluWord) -> bool:
        """Whether a word is punctuation, or a symbol where these are left out."""
        return (
            word.upos == "PUNCT"
            or (word.upos == EMPTY and word.xpos in _PUNCTUATION)
            or _is_punctuation_label(word.deprel)
            or (self.drop_symbols and _is_symbol(word))
        )

    def write(self, word: ConlluWord) -> str:
        """How a word is written, before rare words are replaced."""
        if word.form in (self.number, self.unknown):
            return word.form
        if _is_number(word) or _is_symbol(word):
            return self.number
        return word.form.lower() if self.lower else word.form


def simplify(sentences: Iterable[ConlluSentence], forms: WordForms) -> tuple[list[ConlluSentence], int]:
    """Sentences without punctuation, and with one word for numbers.

    RETURNS (tuple[list[ConlluSentence], int]): Those that have words, and how many have none. Where a
        document begins with one of these, it begins with the next sentence.
    """
    found: list[ConlluSentence] = []
    dropped = 0
    pending: tuple[str, ...] = ()
    for sentence in sentences:
        words = _without(sentence.words, [forms.left_out(word) for word in sentence.words])
        if words:
            rewritten = [word._replace(form=forms.write(word)) for word in words]
            found.append(ConlluSentence(rewritten, pending + sentence.comments))
            pending = ()
        else:
            dropped += 1
            pending += tuple(comment for comment in sentence.comments if not comment.startswith("sent_id"))
    return found, dropped


def frequent_words(sentences: Iterable[ConlluSentence], size: int, forms: WordForms) -> set[str]:
    """The vocabulary: the most frequent words of simplified sentences.

    sentences (Iterable[ConlluSentence]): The training part, see `simplify`.
    size (int): How many words there are at most, with the word for numbers and that for all others; at least
        3.
    RAISES (ValueError): If the size is out of its range.
    """
    whole("size", size, least=3)
    counts = Counter(word.form for sentence in sentences for word in sentence.words)
    for special in (forms.number, forms.unknown):
        counts.pop(special, None)
    words = sorted(counts, key=lambda word: (-counts[word], word))
    return {forms.number, forms.unknown, *words[: size - 2]}


def limit(
    sentences: Iterable[ConlluSentence], vocabulary: Collection[str], forms: WordForms
) -> list[ConlluSentence]:
    """Sentences with one word for all that are not in the vocabulary."""

    def known(word: ConlluWord) -> ConlluWord:
        return word if word.form in vocabulary else word._replace(form=forms.unknown)

    return [ConlluSentence([*map(known, sentence.words)], sentence.comments) for sentence in sentences]


def _is_punctuation_label(label: str) -> bool:
    return label.partition(":")[0] in _PUNCTUATION_LABELS


def _is_number(word: ConlluWord) -> bool:
    tagged = word.upos in _NUMBERS or word.xpos in _NUMBERS
    return any(map(str.isdigit, word.form)) and (tagged or not any(map(str.isalpha, word.form)))


def _is_symbol(word: ConlluWord) -> bool:
    if word.upos in _SYMBOLS or word.xpos in _SYMBOLS:
        return True
    return not any(map(str.isalnum, word.form)) and not {word.upos, word.xpos} & _WORDS


def _without(words: list[ConlluWord], left_out: list[bool]) -> list[ConlluWord]:
    """A tree without some of its words, see the module."""
    parents = [word.head - 1 for word in words]
    old_root = parents.index(-1)

    def above(i: int) -> int:
        """The nearest word above that is kept, -1 if there is none."""
        i = parents[i]
        while i >= 0 and left_out[i]:
            i = parents[i]
        return i

    heads = {i: above(i) for i, out in enumerate(left_out) if not out}
    if not heads:
        return []
    root = _largest(heads)
    label = words[old_root].deprel
    if left_out[old_root]:
        words = words.copy()
        words[root] = words[root]._replace(deprel="root" if _is_punctuation_label(label) else label)
    numbers = {i: number for number, i in enumerate(heads, start=1)}
    above_of = {i: 0 if i == root else numbers[root if head < 0 else head] for i, head in heads.items()}
    return [words[i]._replace(head=head) for i, head in above_of.items()]


def _largest(heads: dict[int, int]) -> int:
    """The one of the words with the head -1 that has most words below itself, of several the first."""
    below = dict.fromkeys((i for i, head in heads.items() if head < 0), 0)
    if len(below) > 1:
        for i in heads:
            while heads[i] >= 0:
                i = heads[i]
            below[i] += 1
    return max(below, key=lambda i: below[i])
