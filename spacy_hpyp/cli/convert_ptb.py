"""`hpyp convert-ptb`: the Penn Treebank as dependency trees in CoNLL-U."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import typer
from wasabi import msg

from ..storage.files import prepare_folder
from ..treebanks.brackets import read_trees
from ..treebanks.conllu import Sentence, write_conllu
from ..treebanks.language_modelling import WordForms, frequent_words
from ..treebanks.penn import dependencies
from ..treebanks.sections import LANGUAGE_MODELLING, PARSING, bracketed_files, check_once, listed, section_of
from .app import hpyp
from .convert_lm import VOCABULARY_SIZE, save_limited, simplified


@hpyp.command("convert-ptb")
def convert_ptb_cli(
    sources: list[Path] = typer.Argument(
        ..., metavar="INPUT", help="Directories such as wsj/, with wsj/02/wsj_0200.mrg, or files", exists=True
    ),
    output: Path = typer.Argument(..., metavar="OUTPUT_DIR", help="The directory to write to", file_okay=False),
    parts: bool = typer.Option(
        True,
        "--parts/--whole",
        help="Divide the sections of the WSJ into the standard parts, or write a file for each input",
    ),
) -> None:
    """Convert trees in brackets, as in the Penn Treebank, to dependency trees in CoNLL-U.

    Heads are found by the rules of Yamada and Matsumoto (2003), labels and punctuation are as of Penn2Malt. Where the names of files say
    which sections of the WSJ they are, the standard parts are written: wsj-train (02-21), wsj-dev (22) and wsj-test (23) for parsing, and
    wsj-lm-train (00-20), wsj-lm-dev (21-22) and wsj-lm-test (23-24) for language modelling, these as `hpyp convert-lm` writes them.
    Other inputs become a file each. Words are as in the treebank, -LRB- for a bracket. The results can be converted with
    `spacy convert --converter conllu`.
    """
    convert_ptb(sources, output, parts=parts)


def convert_ptb(sources: Sequence[Path], output: Path, *, parts: bool = True) -> list[Path]:
    """Write dependency trees for trees in brackets.

    sources (Sequence[Path]): Directories and files.
    output (Path): The directory to write to.
    parts (bool): Whether sections of the WSJ are divided into the standard parts.
    RETURNS (list[Path]): The files that were written.
    RAISES (ValueError): If something is not text in brackets, only some of the files of a directory have sections, something of a section
        would be read twice, or two inputs would have the same output.
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
                f"'{source}' has files of sections of the WSJ, and others, such as '{files[found.index(None)]}'. Name the directory "
                "that has the sections only, or use --whole."
            )
        else:
            path = output / f"{source.resolve().name if source.is_dir() else source.stem}.conllu"
            if path in wholes:
                raise ValueError(f"Two inputs would be written to '{path}'. Convert them to directories of their own.")
            wholes[path] = files
    for files in by_section.values():
        check_once(files)
    # All is read before anything is written.
    sections = {section: _convert(files) for section, files in sorted(by_section.items())}
    written = []
    for path, sentences in {path: _convert(files) for path, files in wholes.items()}.items():
        _save(path, sentences)
        written.append(path)
    if sections:
        written += _save_parsing(output, sections)
        written += _save_language_modelling(output, sections)
    return written


def _convert(files: Sequence[Path]) -> list[Sentence]:
    """The sentences of files, each of which is a document."""
    sentences: list[Sentence] = []
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


def _save(path: Path, sentences: list[Sentence]) -> None:
    write_conllu(path, sentences)
    words = sum(len(sentence.words) for sentence in sentences)
    msg.good(f"Saved {len(sentences):,} sentences with {words:,} words: {path}")


def _save_parsing(output: Path, sections: Mapping[int, list[Sentence]]) -> list[Path]:
    written = []
    for name, numbers in PARSING.items():
        if found := _gather(name, numbers, sections):
            _save(output / f"{name}.conllu", found)
            written.append(output / f"{name}.conllu")
    return written


def _save_language_modelling(output: Path, sections: Mapping[int, list[Sentence]]) -> list[Path]:
    forms = WordForms()
    written: list[Path] = []
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
            written.append(output / f"{name}.conllu")
    return written


def _gather(name: str, numbers: Sequence[int], sections: Mapping[int, list[Sentence]]) -> list[Sentence]:
    """The sentences of a part; sections that are not there are reported."""
    missing = [number for number in numbers if number not in sections]
    if len(missing) == len(numbers):
        msg.warn(f"{name} is not written, there is nothing of its sections: {listed(missing)}")
    elif missing:
        msg.warn(f"{name} lacks sections: {listed(missing)}")
    return [sentence for number in numbers for sentence in sections.get(number, ())]
