"""`hpyp classes`: classes of words that occur in similar places, from raw text."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated

import spacy
from wasabi import msg

from ..pipeline.corpus import create_conllu_corpus
from ..storage import replace_file
from ..text.word_classes import class_lines, learn_classes, without_digits
from .app import Bar
from .options import NEW_FILE, Tokenized, argument, option
from .raw_text import read_sentences

# The largest number of passes over all words.
_PASSES = 20
_LEARNED = {"nlp": {"tokenizer": {"@tokenizers": "spacy-hpyp.LearnedTokenizer.v1"}}}


def classes(
    texts: Annotated[
        list[Path],
        argument("Text with a sentence or paragraph per line, .conllu or .spacy", exists=True),
    ],
    *,
    output: Annotated[Path, option("File for the classes", "--output -o", **NEW_FILE)],
    number: Annotated[int, option("Number of classes", "--classes -n", min=2, max=100_000)] = 512,
    min_count: Annotated[int, option("Replace rarer words by their shape", min=1)] = 5,
    treebank: Annotated[
        Path | None, option("Treebank to learn the tokenizer from", exists=True)
    ] = None,
    lang: Annotated[str, option("Language of the tokenizer", "--lang -l")] = "xx",
    tokenized: Tokenized = False,
) -> None:
    """Learn word classes from text.

    With classes, parsers generalise to words missing from their treebank. Each class is a path in a
    binary tree. A line of the file has a path, a word and a count.
    """
    if tokenized and treebank is not None:
        raise ValueError("--tokenized text needs no tokenizer: leave --treebank out.")
    nlp = None if tokenized else spacy.blank(lang)
    if treebank is not None:
        nlp = spacy.blank(lang, config=_LEARNED)
        examples = list(create_conllu_corpus(treebank, tokens="gold")(nlp))
        nlp.tokenizer.initialize(lambda: examples, nlp=nlp)

    def read() -> Iterator[list[str]]:
        for words in chain.from_iterable(read_sentences(text, nlp) for text in texts):
            yield [*map(without_digits, words)]

    passes = Bar(range(_PASSES), desc="Learning classes", unit=" passes", leave=True)
    learned = learn_classes(read, number, min_count=min_count, passes=passes)
    replace_file(output, "".join(class_lines(learned)).encode())
    count = len({one.path for one in learned})
    msg.good(f"Saved {count:,} classes of {len(learned):,} words to {output}")
