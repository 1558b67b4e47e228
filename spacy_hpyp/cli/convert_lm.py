"""`hpyp papers convert-lm`: a treebank in the form in which language models are compared on it."""

from pathlib import Path
from typing import Annotated

from wasabi import msg

from ..treebanks.conllu import ConlluSentence, read_conllu, write_conllu
from ..treebanks.language_modelling import WordForms, frequent_words, limit, simplify
from .options import argument, option, writable

#: How many words there are by custom (Buys and Blunsom 2015, section 5.4).
VOCABULARY_SIZE = 10_000


def convert_lm(
    source: Annotated[
        Path, argument("A treebank in CoNLL-U, or a part of it", metavar="INPUT", exists=True, dir_okay=False)
    ],
    output: Annotated[Path, argument("The CoNLL-U file to write", metavar="OUTPUT", dir_okay=False, callback=writable)],
    *,
    vocab_from: Annotated[
        Path | None,
        option("The training part, whose words are counted; else the input", exists=True, dir_okay=False),
    ] = None,
    vocab_size: Annotated[int, option("How many words there are at most", least=3)] = VOCABULARY_SIZE,
    lower: Annotated[bool, option("Write words in lower case", "--lower/--keep-case")] = True,
    drop_symbols: Annotated[
        bool, option("Leave symbols out with punctuation, instead of writing them as numbers", "--drop-symbols")
    ] = False,
    number: Annotated[str, option("The word for numbers and symbols")] = "<num>",
    unknown: Annotated[str, option("The word for words that are not among the most frequent ones")] = "<unk>",
) -> None:
    """Leave punctuation out of the trees of a CoNLL-U file, and limit its words to the most frequent ones.

    Numbers become one word, rare words another. The training part is converted first, from itself; its development and test parts with
    `--vocab-from` and the training part as it was before or after that. The result can be converted with
    `spacy convert --converter conllu`.
    """
    forms = WordForms(lower=lower, drop_symbols=drop_symbols, number=number, unknown=unknown)
    sentences = simplified(source, read_conllu(source), forms)
    train = sentences if vocab_from is None else simplified(vocab_from, read_conllu(vocab_from), forms)
    save_limited(output, sentences, frequent_words(train, vocab_size, forms), forms)


def simplified(name: object, sentences: list[ConlluSentence], forms: WordForms) -> list[ConlluSentence]:
    """Sentences without punctuation, see `simplify`; what is dropped is reported.

    name (object): Of the file or part, for messages.
    RAISES (ValueError): If nothing is left.
    """
    found, dropped = simplify(sentences, forms)
    if not found:
        raise ValueError(f"Nothing is left of '{name}' without punctuation.")
    if dropped:
        msg.info(f"Dropped {dropped:,} sentences of '{name}' that have only punctuation")
    return found


def save_limited(path: Path, sentences: list[ConlluSentence], vocabulary: set[str], forms: WordForms) -> None:
    """Write simplified sentences with the words of a vocabulary, and report how many other words there were."""
    limited = limit(sentences, vocabulary, forms)
    write_conllu(path, limited)
    words = [word.form for sentence in limited for word in sentence.words]
    share = words.count(forms.unknown) / len(words)
    msg.good(f"Saved {len(limited):,} sentences with {len(words):,} words, {share:.1%} of them {forms.unknown}: {path}")
