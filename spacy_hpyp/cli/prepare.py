"""`hpyp guides` and `hpyp classes`: guides and word classes for the training of parsers."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated

import spacy
from spacy.tokens import DocBin
from wasabi import msg

from ..pipeline.alignment import example_of_words
from ..pipeline.corpus import create_conllu_corpus
from ..storage import replace_file
from ..text.word_classes import class_lines, learn_classes, without_digits
from .app import Bar, load_parser
from .options import NEW_FILE, Generative, Threads, Tokenized, argument, option
from .raw_text import read_sentences

# The largest number of passes over all words.
_PASSES = 20
_LEARNED = {"nlp": {"tokenizer": {"@tokenizers": "spacy-hpyp.LearnedTokenizer.v1"}}}


def guides(
    model: Generative,
    corpus: Annotated[
        Path, argument("Training data of the parser: .conllu, .spacy, or a directory", exists=True)
    ],
    output: Annotated[Path, argument("File to write, .spacy", **NEW_FILE)],
    *,
    folds: Annotated[int, option("Number of parts, each held out once", min=2)] = 10,
    threads: Threads = None,
) -> None:
    """Annotate a parser's training data with its guides, by jack-knifing.

    The command removes each part from the model, parses it with the rest, and adds it again. So no
    sentence is parsed by a model trained on it. The documents have gold annotation on the parser's
    tokens and words, and guides for the words in `doc._.guide`. Guided components learn from them.
    """
    nlp, parser = load_parser(model, threads=threads)
    settings = nlp.config.get("corpora", {}).get("train", {})
    tokens = settings.get("tokens", "tokenizer")
    examples = list(create_conllu_corpus(corpus, tokens=tokens)(nlp))
    words = sum(len(example_of_words(example).predicted) for example in examples)
    if not words:
        raise ValueError(f"There is nothing to annotate in '{corpus}'.")
    with Bar(total=words, desc="Annotating", unit=" words") as bar:
        docs, learned = parser.leave_out(examples, folds=folds, progress=bar.update)
    replace_file(output, DocBin(docs=docs, store_user_data=True).to_bytes())
    msg.good(
        f"Annotated {words:,} words and left out {learned:,} learned sentences in turn: {output}"
    )


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
