"""`hpyp papers convert-ptb` and `convert-lm`: the Penn Treebank as dependency trees, and treebanks as
language models are compared on them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from wasabi import msg

from ..storage.files import prepare_folder
from ..treebanks.brackets import read_trees
from ..treebanks.conllu import ConlluSentence, read_conllu, write_conllu
from ..treebanks.language_modelling import WordForms, frequent_words, limit, simplify
from ..treebanks.penn import dependencies
from ..treebanks.sections import LANGUAGE_MODELLING, PARSING, bracketed_files, check_once, listed, section_of
from .options import FILE, NEW_FILE, argument, option


def convert_ptb(
    sources: Annotated[
        list[Path],
        argument("Files, or folders such as wsj/ with 02/wsj_0200.mrg", metavar="INPUT", exists=True),
    ],
    output: Annotated[Path, argument("The directory to write to", metavar="OUTPUT_DIR", file_okay=False)],
    *,
    parts: Annotated[
        bool, option("Write the WSJ's standard parts, or a file an input", "--parts/--whole")
    ] = True,
) -> None:
    """Convert trees in brackets, as in the Penn Treebank, to dependency trees in CoNLL-U.

    Heads are found by the rules of Yamada and Matsumoto (2003), labels are as of Penn2Malt. Where the names
    of files say which sections of the WSJ they are, the standard parts are written, for parsing (wsj-train,
    -dev, -test) and for language modelling (wsj-lm-…) as `hpyp papers convert-lm` writes them. Other inputs
    become a file each. `spacy convert --converter conllu` reads the results.
    """
    prepare_folder(output)
    by_section: dict[int, list[Path]] = {}
    wholes: dict[Path, list[Path]] = {}
    for source in sources:
        files = bracketed_files(source)
        found = [section_of(file) if parts else None for file in files]
        if None not in found:
            for section, file in zip(found, files):
                by_section.setdefault(section, []).append(file)
        elif any(section is not None for section in found):
            raise ValueError(
                f"'{source}' has sections of the WSJ and others, as '{files[found.index(None)]}': use "
                f"--whole."
            )
        else:
            path = output / f"{source.resolve().name if source.is_dir() else source.stem}.conllu"
            if path in wholes:
                raise ValueError(
                    f"Two inputs would be written to '{path}'. Convert them to directories of their own."
                )
            wholes[path] = files
    for files in by_section.values():
        check_once(files)
    # All is read before anything is written.
    sections = {section: _convert(files) for section, files in sorted(by_section.items())}
    for path, sentences in {path: _convert(files) for path, files in wholes.items()}.items():
        _save(path, sentences)
    if sections:
        for name, numbers in PARSING.items():
            if part := _gather(name, numbers, sections):
                _save(output / f"{name}.conllu", part)
        _save_language_modelling(output, sections)


def _convert(files: Sequence[Path]) -> list[ConlluSentence]:
    """The sentences of files, each of which is a document."""
    sentences: list[ConlluSentence] = []
    empty = 0
    for file in files:
        begins = [f"newdoc id = {file.stem}"]
        for i, tree in enumerate(read_trees(file), start=1):
            sentence = dependencies(tree, (*begins, f"sent_id = {file.stem}-{i}"))
            if sentence is None:
                empty += 1
            else:
                sentences.append(sentence)
                begins = []
    if not sentences:
        raise ValueError(f"'{files[0]}' has no words, only empty elements.")
    if empty:
        msg.info(f"Dropped {empty:,} trees that have only empty elements")
    return sentences


def _save(path: Path, sentences: list[ConlluSentence]) -> None:
    write_conllu(path, sentences)
    words = sum(len(sentence.words) for sentence in sentences)
    msg.good(f"Saved {len(sentences):,} sentences with {words:,} words: {path}")


def _save_language_modelling(output: Path, sections: Mapping[int, list[ConlluSentence]]) -> None:
    forms = WordForms()
    vocabulary: set[str] | None = None
    for name, numbers in LANGUAGE_MODELLING.items():
        if found := _gather(name, numbers, sections):
            found = simplified(name, found, forms)
            if name == next(iter(LANGUAGE_MODELLING)):
                vocabulary = frequent_words(found, VOCABULARY_SIZE, forms)
            if vocabulary is None:
                msg.warn(f"Without the training part, which has its vocabulary, {name} is not written")
                continue
            save_limited(output / f"{name}.conllu", found, vocabulary, forms)


def _gather(
    name: str, numbers: Sequence[int], sections: Mapping[int, list[ConlluSentence]]
) -> list[ConlluSentence]:
    """The sentences of a part; sections that are not there are reported."""
    missing = [number for number in numbers if number not in sections]
    if len(missing) == len(numbers):
        msg.warn(f"{name} is not written, there is nothing of its sections: {listed(missing)}")
    elif missing:
        msg.warn(f"{name} lacks sections: {listed(missing)}")
    return [sentence for number in numbers for sentence in sections.get(number, ())]


#: How many words there are by custom (Buys and Blunsom 2015, section 5.4).
VOCABULARY_SIZE = 10_000


def convert_lm(
    source: Annotated[Path, argument("A treebank in CoNLL-U, or a part of it", metavar="INPUT", **FILE)],
    output: Annotated[Path, argument("The CoNLL-U file to write", metavar="OUTPUT", **NEW_FILE)],
    *,
    vocab_from: Annotated[
        Path | None, option("The training part, whose words count; else the input", **FILE)
    ] = None,
    vocab_size: Annotated[int, option("How many words there are at most", least=3)] = VOCABULARY_SIZE,
    lower: Annotated[bool, option("Write words in lower case", "--lower/--keep-case")] = True,
    drop_symbols: Annotated[
        bool, option("Leave symbols out with punctuation, not written as numbers")
    ] = False,
    number: Annotated[str, option("The word for numbers and symbols")] = "<num>",
    unknown: Annotated[str, option("The word for words that are not among the most frequent ones")] = "<unk>",
) -> None:
    """Leave punctuation out of the trees of a CoNLL-U file, and limit its words to the most frequent ones.

    Numbers become one word, rare words another. The training part is converted first, from itself; its
    development and test parts with `--vocab-from` and the training part as it was before or after that. The
    result can be converted with `spacy convert --converter conllu`.
    """
    forms = WordForms(lower=lower, drop_symbols=drop_symbols, number=number, unknown=unknown)
    sentences = simplified(source, read_conllu(source), forms)
    train = sentences if vocab_from is None else simplified(vocab_from, read_conllu(vocab_from), forms)
    save_limited(output, sentences, frequent_words(train, vocab_size, forms), forms)


def simplified(name: object, sentences: list[ConlluSentence], forms: WordForms) -> list[ConlluSentence]:
    """Sentences of a file or part without punctuation, see `simplify`; what is dropped is reported.

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
    msg.good(
        f"Saved {len(limited):,} sentences with {len(words):,} words, {share:.1%} of them {forms.unknown}: "
        f"{path}"
    )
