"""`hpyp convert` and `hpyp split`: treebanks in CoNLL-U as `.spacy` files, or in parts, with a word about
what is wrong with them.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Annotated

from spacy.tokens import Doc
from spacy.training.converters import conllu_to_docs
from spacy.util import get_lang_class, minibatch
from wasabi import msg

from ..storage.checksum import blaming
from ..storage.files import prepare_folder, replace_file
from ..treebanks.conllu import UNKNOWN_SPACES, Block, read_blocks
from .app import note, save_docs
from .options import FILE, argument, option

# So many lines are named of each problem.
_NAMED = 3


def check_language(lang: str | None) -> str | None:
    """See that spaCy has a language. RAISES (ValueError): If it does not."""
    try:
        if lang is not None:
            get_lang_class(lang)
    except ImportError as error:
        raise ValueError(
            f"spaCy has no language '{lang}'. For one that it does not have, give 'xx'."
        ) from error
    return lang


KnownLang = Annotated[str | None, option("See that spaCy has this language", "-l", callback=check_language)]


def convert(
    treebanks: Annotated[list[Path], argument("Treebanks in CoNLL-U", **FILE)],
    output: Annotated[Path, argument("Directory for the .spacy files", file_okay=False)],
    *,
    n_sents: Annotated[int, option("Sentences to a document", "-n", least=1)] = 10,
    merge_subtokens: Annotated[
        bool, option("Multiword tokens become one token, as they are written", "-T")
    ] = False,
    lang: KnownLang = None,
) -> None:
    """Convert treebanks as 'spacy convert --converter conllu' does, and say in which line something is wrong.

    A sentence without a complete tree, one with two roots, or a word that is above itself, cannot be learned
    from: they are counted, and keep their words and tags alone. What 'split' has marked is a document each.
    Byte order marks and white space in empty lines are put up with.
    """
    prepare_folder(output)
    for path in treebanks:
        blocks = list(read_blocks(path))
        docs = list(_documents(blocks, path, n_sents, merge_subtokens=merge_subtokens))
        save_docs(output / f"{path.stem}.spacy", docs)
        tell_of_incomplete(blocks, path)
        msg.good(
            f"Converted {len(blocks):,} sentences in {len(docs):,} documents: {output / path.stem}.spacy"
        )


def _documents(blocks: Sequence[Block], path: Path, n_sents: int, *, merge_subtokens: bool) -> Iterator[Doc]:
    """The documents that spaCy's converter makes, and one of each sentence that `split` has marked.

    A sentence that is no tree has no heads but that of its first word.
    """
    found = conllu_to_docs(
        "\n\n".join(block.text() for block in blocks),
        n_sents=1,
        merge_subtokens=merge_subtokens,
        no_print=True,
    )
    for is_parsed, own in groupby(blocks, lambda block: UNKNOWN_SPACES in block.comments):
        for some in minibatch(own, 1 if is_parsed else n_sents):
            sentences: list[Doc] = []
            for block in some:
                with blaming(
                    f"'{path}', line {block.line}: spaCy cannot convert the sentence that begins here"
                ):
                    sentences.append(next(found))
            document = Doc.from_docs(sentences)
            document.has_unknown_spaces = is_parsed
            yield document


def first_lines(numbers: Sequence[int]) -> str:
    """The first ones of some numbers of lines."""
    return f"line {', '.join(map(str, numbers[:_NAMED]))}{', ...' * (len(numbers) > _NAMED)}"


def tell_of_incomplete(blocks: Sequence[Block], path: Path) -> None:
    """Say how many sentences of a file have no complete tree, and where."""
    lines: dict[str, list[int]] = defaultdict(list)
    for block in blocks:
        if block.problem is not None:
            lines[block.problem].append(block.line)
    if lines:
        named = (f"{len(each):,} where {problem} ({first_lines(each)})" for problem, each in lines.items())
        note(
            f"'{path}': {sum(map(len, lines.values())):,} of {len(blocks):,} sentences have no complete "
            f"tree, and parsers do not learn "
            f"from them: {'; '.join(named)}"
        )


_TRAIN, _DEV, _TEST = "train", "dev", "test"
#: Of how many sentences one is held out where there is no development part.
HELD_OUT = 10


def split(
    treebank: Annotated[
        Path, argument("What the names of its files begin with, as assets/UD_Tamil-TTB/ta_ttb-ud")
    ],
    output: Annotated[Path, argument("Directory for the parts", file_okay=False)],
    *,
    held_out: Annotated[
        int, option("Without a development part, hold out one of so many", least=2)
    ] = HELD_OUT,
    parsed: Annotated[
        Path | None, option("Sentences to train on besides, parsed by 'hpyp rank'", exists=True)
    ] = None,
    name: Annotated[
        str | None, option("What the names of the parts begin with, if not as they do now")
    ] = None,
    lang: KnownLang = None,
) -> None:
    """Write the training, development and test part of a treebank, and say in which line something is wrong.

    Without a development part, the last tenth of the training part is it; without a test part, the
    development part is. Parsed sentences are in the training part, each a document by itself, and marked:
    tokens and sentence ends are not learned from them.
    """
    files = parts_of(treebank)
    if not files[_TRAIN].is_file():
        raise ValueError(f"There is no file '{files[_TRAIN]}'.")
    parts: dict[str, list[Block]] = {}
    for part, file in files.items():
        if file.is_file():
            parts[part] = list(read_blocks(file))
            tell_of_incomplete(parts[part], file)
    if _DEV not in parts:
        if len(parts[_TRAIN]) == 1:
            raise ValueError(f"One sentence is too few to hold one out: '{files[_TRAIN]}'.")
        parts[_TRAIN], parts[_DEV] = hold_out_last(parts[_TRAIN], held_out)
        count = len(parts[_DEV])
        note(f"There is no '{files[_DEV]}': the last {count:,} sentences of the training part are held out")
    if _TEST not in parts:
        parts[_TEST] = parts[_DEV]
        note(f"There is no '{files[_TEST]}': what is measured is the development part")
    if parsed is not None:
        for block in read_blocks(parsed):
            comments = [comment for comment in block.comments if not comment.startswith(("newdoc", "newpar"))]
            parts[_TRAIN].append(replace(block, comments=["newdoc", UNKNOWN_SPACES, *comments]))
    prepare_folder(output)
    written = output / (name or treebank.name)
    for part, file in parts_of(written).items():
        replace_file(file, "".join(map(Block.lines, parts[part])).encode())
    counts = ", ".join(f"{len(blocks):,} to {part}" for part, blocks in parts.items())
    msg.good(f"Wrote {counts}: {written}-*.conllu")


def parts_of(treebank: Path) -> dict[str, Path]:
    """The files of a treebank by part, whether they are there or not; it is what their names begin with."""
    return {part: treebank.with_name(f"{treebank.name}-{part}.conllu") for part in (_TRAIN, _DEV, _TEST)}


def hold_out_last(blocks: list[Block], of: int = HELD_OUT) -> tuple[list[Block], list[Block]]:
    """Two sentences or more without their last part, and that part: one of so many sentences, or of all where
    there are fewer.
    """
    count = max(1, len(blocks) // of)
    return blocks[:-count], blocks[-count:]
