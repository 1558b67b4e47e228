"""Rewrite a treebank as language models are compared on it (Buys & Blunsom 2015, section 5.4).

    python scripts/convert_lm.py corpus/UD_English-EWT/en_ewt-ud corpus/UD_English-EWT/en_ewt-ud-lm

reads `corpus/UD_English-EWT/en_ewt-ud-{train,dev,test}.conllu` and writes files of the same names
that begin with the second argument; and the halves of the training part, `-half.conllu` and
`-text.conllu`, for a model that learns from half of it as raw text.

Punctuation is left out. Words are in lower case. Numbers and symbols become one word, and words
outside a vocabulary of 10,000 another; it has both. Decisions that the paper does not report:

* Punctuation has the tag PUNCT, a Penn tag of it and no universal tag, or the label `punct` or `P`.
* A number has digits, and the tag NUM or CD or no letters. Words such as "million" and "three" are
  none, as in the paper's Table 7. A symbol has the tag SYM, $ or #, or neither letters nor digits,
  unless its tag says that it stands for a word, as the sign & does.
* A word below punctuation is attached to the nearest word above. If the root is punctuation, the
  word right below it with the largest subtree is the new root, and the others are attached to it. A
  projective tree stays projective.
* Of equally frequent words, the first ones in the order of Unicode are kept.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from wasabi import msg

from spacy_hpyp.treebanks.conllu import (
    EMPTY,
    UNKNOWN_SPACES,
    ConlluWord,
    block_of,
    read_blocks,
    select,
    write_blocks,
)
from spacy_hpyp.treebanks.penn import PUNCTUATION

NUMBER, UNKNOWN = "<num>", "<unk>"
#: The customary size of the vocabulary, with `NUMBER` and `UNKNOWN`.
SIZE = 10_000
#: The number of consecutive sentences that stay in one half.
TOGETHER = 10
# Punctuation of later releases: hyphens within words, and anything that is not part of the
# sentence.
_PUNCTUATION = PUNCTUATION | {"HYPH", "NFP"}
_NUMBERS = {"NUM", "CD"}
_SYMBOLS = {"SYM", "$", "#"}
# Tags of words, even without letters and digits.
_WORDS = {"PART", "CCONJ", "POS", "CC"}


# Comments that stay valid when words are changed or left out.
_KEPT = ("newdoc", "newpar", "sent_id", UNKNOWN_SPACES)


class Sentence(NamedTuple):
    """The words of a sentence with a tree, and comments."""

    words: list[ConlluWord]
    comments: tuple[str, ...] = ()


def read(path: Path) -> list[Sentence]:
    """The sentences of a treebank that have complete trees. For errors see `read_blocks`."""
    return [
        Sentence(
            block.words, tuple(comment for comment in block.comments if comment.startswith(_KEPT))
        )
        for block in select(read_blocks(path), lambda block: block.problem is None)
    ]


def simplify(sentences: Iterable[Sentence]) -> list[Sentence]:
    """Sentences in lower case, without punctuation and with one word for numbers and symbols.

    Empty ones are dropped. A document or paragraph that begins with one begins with the next one.
    """
    found: list[Sentence] = []
    pending: tuple[str, ...] = ()
    for sentence in sentences:
        words = _without(sentence.words, [_is_punctuation(word) for word in sentence.words])
        if words:
            words = [word._replace(form=_form(word)) for word in words]
            found.append(Sentence(words, pending + sentence.comments))
            pending = ()
        else:
            pending += tuple(
                comment for comment in sentence.comments if not comment.startswith("sent_id")
            )
    return found


def frequent_words(sentences: Iterable[Sentence], size: int = SIZE) -> set[str]:
    """`NUMBER`, `UNKNOWN`, and the most frequent others of simplified sentences, `size` in all."""
    counts = Counter(word.form for sentence in sentences for word in sentence.words)
    words = sorted(counts.keys() - {NUMBER, UNKNOWN}, key=lambda word: (-counts[word], word))
    return {NUMBER, UNKNOWN, *words[: size - 2]}


def limit(sentences: Iterable[Sentence], vocabulary: set[str]) -> list[Sentence]:
    """Sentences with one word for all that are not in the vocabulary."""
    return [
        Sentence(
            [
                word if word.form in vocabulary else word._replace(form=UNKNOWN)
                for word in sentence.words
            ],
            sentence.comments,
        )
        for sentence in sentences
    ]


def _is_punctuation_label(label: str) -> bool:
    return label.partition(":")[0] in ("punct", "P")


def _is_punctuation(word: ConlluWord) -> bool:
    tagged = word.upos == "PUNCT" or (word.upos == EMPTY and word.xpos in _PUNCTUATION)
    return tagged or _is_punctuation_label(word.deprel)


def _form(word: ConlluWord) -> str:
    if word.form in (NUMBER, UNKNOWN):
        return word.form
    tags = {word.upos, word.xpos}
    has_letters = any(map(str.isalpha, word.form))
    is_number = any(map(str.isdigit, word.form)) and (bool(tags & _NUMBERS) or not has_letters)
    is_symbol = tags & _SYMBOLS or (not any(map(str.isalnum, word.form)) and not tags & _WORDS)
    return NUMBER if is_number or is_symbol else word.form.lower()


def _without(words: list[ConlluWord], left_out: Sequence[bool]) -> list[ConlluWord]:
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
    above_of = {
        i: 0 if i == root else numbers[root if head < 0 else head] for i, head in heads.items()
    }
    return [words[i]._replace(head=head) for i, head in above_of.items()]


def _largest(heads: dict[int, int]) -> int:
    """The word with the head -1 and the largest subtree, of several the first."""
    below = dict.fromkeys((i for i, head in heads.items() if head < 0), 0)
    for i in heads:
        while heads[i] >= 0:
            i = heads[i]
        below[i] += 1
    return max(below, key=lambda i: below[i])


def convert(
    source: Annotated[str, typer.Argument(help="The beginning of the names of the parts to read")],
    output: Annotated[str, typer.Argument(help="The beginning of the names of the parts to write")],
) -> None:
    """Rewrite the three parts, with the vocabulary of the training part."""
    parts = {
        part: simplify(read(Path(f"{source}-{part}.conllu"))) for part in ("train", "dev", "test")
    }
    vocabulary = frequent_words(parts["train"])
    parts = {part: limit(sentences, vocabulary) for part, sentences in parts.items()}
    train = parts["train"]
    parts["half"], parts["text"] = (
        [sentence for i, sentence in enumerate(train) if (i // TOGETHER) % 2 == half]
        for half in (0, 1)
    )
    for part, sentences in parts.items():
        write_blocks(
            Path(f"{output}-{part}.conllu"), (block_of(*sentence) for sentence in sentences)
        )
    words = sum(len(sentence.words) for sentence in train)
    msg.good(f"Wrote {len(train):,} training sentences with {words:,} words: {output}-*.conllu")


if __name__ == "__main__":
    typer.run(convert)
