"""`hpyp papers convert-ptb`: the Penn Treebank as dependency trees."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from wasabi import msg

from ..storage.files import prepare_folder
from ..treebanks.brackets import read_trees
from ..treebanks.conllu import ConlluSentence, write_conllu
from ..treebanks.penn import dependencies
from ..treebanks.sections import LANGUAGE_MODELLING, PARSING, bracketed_files, check_once, listed, section_of
from .options import argument, option


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
    -dev, -test) and for language modelling (wsj-lm-…), see `scripts/convert_lm.py`. Other inputs become a file each. `spacy convert --converter conllu` reads the results.
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
        for name, numbers in {**PARSING, **LANGUAGE_MODELLING}.items():
            if part := _gather(name, numbers, sections):
                _save(output / f"{name}.conllu", part)


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
