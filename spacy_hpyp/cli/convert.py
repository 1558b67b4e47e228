"""`hpyp split` and `hpyp convert`: parts of treebanks, with their problems, and other formats."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Annotated

import numpy as np
from spacy.tokens import Doc, DocBin
from spacy.training.converters import conllu_to_docs
from spacy.util import minibatch
from wasabi import msg

from ..storage import blaming, prepare_folder, replace_file
from ..treebanks import conllu
from ..treebanks.conllu import UNKNOWN_SPACES, Block
from ..treebanks.penn import PARTS, SUFFIXES, read_sentences, section_of
from .app import note, print_table
from .options import argument, option

_PARTS = _TRAIN, _DEV, _TEST = "train", "dev", "test"
# Without a development part, one document in this many is held out.
_HELD_OUT = 10
# The number of lines to name for each problem, and the length from which a sentence should be in
# only one part.
_NAMED, _LONG = 3, 5


def split(
    treebank: Annotated[
        Path, argument("Folder, file or common prefix (assets/a/ta_ttb-ud) of the treebank")
    ],
    output: Annotated[Path, argument("Folder for the parts", file_okay=False)] = Path("corpus"),
    *,
    parsed: Annotated[
        Path | None, option("More sentences to train on, from 'hpyp rank'", exists=True)
    ] = None,
    train_on_all: Annotated[bool, option("Keep held-out dev sentences in train, too")] = False,
    dry_run: Annotated[bool, option("Write nothing")] = False,
) -> None:
    """Split a treebank into train, dev and test, and print problems.

    Without a development part, every tenth document or run of sentences of the training part is
    held out. Without a test part, the development part serves as test. A part without complete
    trees counts as missing. The command counts incomplete trees, skipped by parsers, and sentences
    that two parts share, and names the first lines. The exit code is 1 if a file is not CoNLL-U.
    Sentences of --parsed join the training part, but not the training data of tokenizers.
    """
    treebank = prefix_of(treebank)
    files = _files(treebank)
    if not files[_TRAIN].is_file():
        raise ValueError(f"There is no file '{files[_TRAIN]}'. Give the training part this name.")
    parts = {part: list(conllu.read_blocks(file)) for part, file in files.items() if file.is_file()}
    _print_counts(parts, files)
    trees = {part: sum(block.problem is None for block in own) for part, own in parts.items()}
    has_dev = bool(trees.get(_DEV))
    if trees[_TRAIN] < (1 if has_dev or train_on_all else 2):
        raise ValueError(
            f"'{files[_TRAIN]}' has too few complete trees: {trees[_TRAIN]}. Training needs one, "
            "or two without a development part. Add trees, or use --train-on-all."
        )
    if not has_dev:
        everything = parts[_TRAIN]
        parts[_TRAIN], parts[_DEV] = hold_out(everything)
        note(f"No trees in '{files[_DEV]}': {len(parts[_DEV]):,} sentences of train become dev")
        if train_on_all:
            parts[_TRAIN] = everything
            note("They stay in train, too, so that scores on dev are far too high")
    if not trees.get(_TEST):
        parts[_TEST] = parts[_DEV]
        note(f"No trees in '{files[_TEST]}': test is dev")
    if dry_run:
        return
    for block in conllu.read_blocks(parsed) if parsed is not None else ():
        comments = [
            comment for comment in block.comments if not comment.startswith(("newdoc", "newpar"))
        ]
        parts[_TRAIN].append(replace(block, comments=["newdoc", UNKNOWN_SPACES, *comments]))
    prepare_folder(output)
    written = output / treebank.name
    for part, file in _files(written).items():
        conllu.write_blocks(file, parts[part])
    counts = ", ".join(f"{len(blocks):,} to {part}" for part, blocks in parts.items())
    msg.good(f"Wrote {counts}: {written}-*.conllu")


def prefix_of(treebank: Path) -> Path:
    """Return the common prefix of a treebank's files, given that, one of these or their folder.

    RAISES (ValueError): If the folder does not have exactly one training part.
    """
    if treebank.is_dir():
        found = sorted(treebank.glob(f"*-{_TRAIN}.conllu"))
        if len(found) != 1:
            raise ValueError(
                f"'{treebank}' has {len(found)} files *-{_TRAIN}.conllu. It needs "
                "exactly one. Rename the training part, or give the prefix of a treebank."
            )
        treebank = found[0]
    return treebank.with_name(re.sub(r"-(train|dev|test)\.conllu$", "", treebank.name))


def _files(treebank: Path) -> dict[str, Path]:
    """Return the files of a treebank by part, from their common prefix."""
    return {part: treebank.with_name(f"{treebank.name}-{part}.conllu") for part in _PARTS}


def hold_out(blocks: Sequence[Block]) -> tuple[list[Block], list[Block]]:
    """Return sentences without every tenth document or run of sentences, and these.

    Those without trees are not held out; of fewer than six, the last is. A single one is divided.
    """
    pieces = conllu.documents_of(blocks, _HELD_OUT**2)
    with_trees = [piece for piece in pieces if any(block.problem is None for block in piece)]
    if len(with_trees) == 1:
        with_trees = [[block] for block in with_trees[0] if block.problem is None]
    held_out = {
        id(block)
        for piece in with_trees[_HELD_OUT // 2 :: _HELD_OUT] or with_trees[-1:]
        for block in piece
    }
    return tuple(
        conllu.select(blocks, lambda block, held=held: (id(block) in held_out) is held)
        for held in (False, True)
    )


def _print_counts(parts: Mapping[str, Sequence[Block]], files: Mapping[str, Path]) -> None:
    """Print what is in the parts of a treebank, and their problems."""
    counts: dict[str, Callable[[Sequence[Block]], int]] = {
        "documents": lambda blocks: sum(block.begins("newdoc") for block in blocks),
        "sentences": len,
        "without a complete tree": lambda blocks: sum(bool(block.problem) for block in blocks),
        "tokens": lambda blocks: sum(len(block.tokens()) for block in blocks),
        "words": lambda blocks: sum(block.size for block in blocks),
    }
    rows = [
        (name, *(f"{count(blocks):,}" for blocks in parts.values()))
        for name, count in counts.items()
    ]
    print_table(("", *parts), rows, "Treebank")
    seen: dict[tuple[str, ...], str] = {}
    for part, blocks in parts.items():
        _print_incomplete(blocks, files[part])
        if any(UNKNOWN_SPACES in block.comments for block in blocks):
            note(
                f"'{files[part]}': white space is unknown, as no token has SpaceAfter=No. A "
                "tokenizer that learns from it uses spaCy's rules for the language"
            )
        texts = [tuple(word.form for word in block.words) for block in blocks]
        repeated = defaultdict(list)
        for text, block in zip(texts, blocks):
            if len(text) >= _LONG and text in seen:
                repeated[seen[text]].append(block.line)
        for other, lines in repeated.items():
            note(
                f"'{files[part]}': {len(lines):,} sentences are also in {other}, which flatters "
                f"scores ({_first(lines)})"
            )
        seen |= {text: part for text in texts if text not in seen}


def _print_incomplete(blocks: Sequence[Block], path: Path) -> None:
    problems = defaultdict(list)
    for block in blocks:
        if block.problem is not None:
            problems[block.problem].append(block.line)
    for problem, lines in problems.items():
        note(
            f"'{path}': {len(lines):,} of {len(blocks):,} sentences have no complete tree: "
            f"{problem} ({_first(lines)})"
        )


def _first(lines: Sequence[int]) -> str:
    return f"line {', '.join(map(str, lines[:_NAMED]))}{', …' * (len(lines) > _NAMED)}"


def convert(
    inputs: Annotated[
        list[Path], argument("CoNLL-U files, or files or folders with bracketed trees", exists=True)
    ],
    output: Annotated[Path, argument("Folder for the results", file_okay=False)],
    *,
    n_sents: Annotated[int, option("Number of sentences per document", "--n-sents -n", min=1)] = 10,
    merge_subtokens: Annotated[
        bool, option("Make each multiword token one token", "--merge-subtokens -T")
    ] = False,
) -> None:
    """Convert CoNLL-U to .spacy files, and bracketed trees to CoNLL-U.

    CoNLL-U is converted as by 'spacy convert', but incomplete trees are left out of their
    sentences, and each sentence of 'hpyp split --parsed' becomes a document.

    Bracketed trees of the Penn Treebank become dependency trees, by the head rules of Yamada and
    Matsumoto (2003) and with the labels of Penn2Malt. WSJ files, such as 02/wsj_0200.mrg, become
    wsj-train, -dev and -test, and with the sections for language modelling wsj-lm-train, -dev and
    -test. All other files become one.
    """
    prepare_folder(output)
    bracketed = [path for path in inputs if path.is_dir() or path.suffix.lower() in SUFFIXES]
    if bracketed:
        _convert_brackets(bracketed, output)
    for path in inputs:
        if path in bracketed:
            continue
        blocks, written = list(conllu.read_blocks(path)), output / f"{path.stem}.spacy"
        docs = list(_documents(blocks, path, n_sents, merge_subtokens=merge_subtokens))
        replace_file(written, DocBin(docs=docs, store_user_data=True).to_bytes())
        _print_incomplete(blocks, path)
        msg.good(f"Converted {len(blocks):,} sentences in {len(docs):,} documents: {written}")


def _documents(
    blocks: Sequence[Block], path: Path, n_sents: int, *, merge_subtokens: bool
) -> Iterator[Doc]:
    """Yield documents of at most `n_sents` sentences, by spaCy's converter. If white space is
    unknown, they also end where the file's do. RAISES (ValueError): If spaCy cannot convert one.
    """
    text = "\n\n".join("\n".join(map("\t".join, block.complete().rows)) for block in blocks)
    found = conllu_to_docs(text, n_sents=1, merge_subtokens=merge_subtokens, no_print=True)
    begins = [UNKNOWN_SPACES in block.comments and block.begins("newdoc") for block in blocks]
    numbers = iter(np.cumsum(begins).tolist())
    for _, own in groupby(blocks, lambda _: next(numbers)):
        for batch in minibatch(own, n_sents):
            sentences: list[Doc] = []
            for block in batch:
                with blaming(f"'{path}', line {block.line}: spaCy cannot convert the sentence"):
                    sentences.append(next(found))
            document = Doc.from_docs(sentences)
            document.has_unknown_spaces = UNKNOWN_SPACES in batch[0].comments
            yield document


def _convert_brackets(paths: Iterable[Path], output: Path) -> None:
    files = {
        file
        for path in paths
        for file in ([path] if path.is_file() else path.rglob("*"))
        if file == path
        or (file.is_file() and file.suffix.lower() in SUFFIXES and file.name[0] != ".")
    }
    by_section: dict[int | None, list[Block]] = defaultdict(list)
    # Read everything before writing anything.
    for file in sorted(files):
        by_section[section_of(file)] += _dependencies(file)
    if not by_section:
        raise ValueError(f"There are no bracketed files: none ends with {', '.join(SUFFIXES)}.")
    others = [file.stem for file in sorted(files) if section_of(file) is None]
    parts = {name: by_section.pop(None) for name in others[:1]}
    for name, sections in PARTS.items() if by_section else ():
        missing = [f"{section:02}" for section in sections if section not in by_section]
        if missing:
            msg.warn(f"{name} lacks sections {', '.join(missing)}")
        parts[name] = [block for section in sections for block in by_section.get(section, [])]
    for name, blocks in parts.items():
        if blocks:
            path = output / f"{name}.conllu"
            conllu.write_blocks(path, blocks)
            words = sum(block.size for block in blocks)
            msg.good(f"Saved {len(blocks):,} sentences with {words:,} words: {path}")


def _dependencies(file: Path) -> Iterator[Block]:
    """Yield the sentences of a file, which is a document; trees without words are left out."""
    begins = (f"newdoc id = {file.stem}",)
    for i, words in enumerate(read_sentences(file), start=1):
        if words:
            yield conllu.block_of(words, (*begins, f"sent_id = {file.stem}-{i}"))
            begins = ()
