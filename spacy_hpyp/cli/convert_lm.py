"""`hpyp convert-lm`: a treebank in the form in which language models are compared on it."""

from pathlib import Path

import typer
from wasabi import msg

from ..storage.files import prepare_folder
from ..treebanks.conllu import Sentence, read_conllu, write_conllu
from ..treebanks.language_modelling import WordForms, frequent_words, limit, simplify
from .app import MOST, hpyp

#: How many words there are by custom (Buys and Blunsom 2015, section 5.4).
VOCABULARY_SIZE = 10_000


@hpyp.command("convert-lm")
def convert_lm_cli(
    source: Path = typer.Argument(
        ..., metavar="INPUT", help="A treebank in CoNLL-U, or a part of it", exists=True, dir_okay=False
    ),
    output: Path = typer.Argument(..., metavar="OUTPUT", help="The CoNLL-U file to write", dir_okay=False),
    vocab_from: Path | None = typer.Option(
        None,
        "--vocab-from",
        help="The training part, whose words are counted; else the input",
        exists=True,
        dir_okay=False,
    ),
    vocab_size: int = typer.Option(
        VOCABULARY_SIZE, "--vocab-size", help="How many words there are at most", min=3, max=MOST
    ),
    lower: bool = typer.Option(True, "--lower/--keep-case", help="Write words in lower case"),
    drop_symbols: bool = typer.Option(
        False, "--drop-symbols", help="Leave symbols out with punctuation, instead of writing them as numbers"
    ),
    number: str = typer.Option("<num>", "--number", help="The word for numbers and symbols"),
    unknown: str = typer.Option(
        "<unk>", "--unknown", help="The word for words that are not among the most frequent ones"
    ),
) -> None:
    """Leave punctuation out of the trees of a CoNLL-U file, and limit its words to the most frequent ones.

    Numbers become one word, rare words another. The training part is converted first, from itself; its development and test parts with
    `--vocab-from` and the training part as it was before or after that. The result can be converted with
    `spacy convert --converter conllu`.
    """
    forms = WordForms(lower=lower, drop_symbols=drop_symbols, number=number, unknown=unknown)
    convert_lm(source, output, vocab_from=vocab_from, vocab_size=vocab_size, forms=forms)


def convert_lm(
    source: Path,
    output: Path,
    *,
    vocab_from: Path | None = None,
    vocab_size: int = VOCABULARY_SIZE,
    forms: WordForms | None = None,
) -> None:
    """Write a CoNLL-U file in the form for language models.

    source, output (Path): The files.
    vocab_from (Path | None): The training part, in CoNLL-U; None: that is the source.
    vocab_size (int): How many words there are at most, with those for numbers and for rare words.
    forms (WordForms | None): How words are written; None is by custom.
    RAISES (ValueError): If a file is not CoNLL-U, there is nothing left of it, or a setting is out of its range.
    """
    forms = forms or WordForms()
    prepare_folder(output.parent)
    sentences = simplified(source, read_conllu(source), forms)
    train = sentences if vocab_from is None else simplified(vocab_from, read_conllu(vocab_from), forms)
    save_limited(output, sentences, frequent_words(train, vocab_size, forms), forms)


def simplified(name: object, sentences: list[Sentence], forms: WordForms) -> list[Sentence]:
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


def save_limited(path: Path, sentences: list[Sentence], vocabulary: set[str], forms: WordForms) -> None:
    """Write simplified sentences with the words of a vocabulary, and report how many other words there were."""
    limited = limit(sentences, vocabulary, forms)
    write_conllu(path, limited)
    words = [word.form for sentence in limited for word in sentence.words]
    share = words.count(forms.unknown) / len(words)
    msg.good(f"Saved {len(limited):,} sentences with {len(words):,} words, {share:.1%} of them {forms.unknown}: {path}")
