"""`hpyp convert`: treebanks in CoNLL-U as `.spacy` files, with a word about what is wrong with them."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import typer
from spacy.tokens import DocBin
from spacy.util import get_lang_class
from wasabi import msg

from ..storage.files import prepare_folder, replace_file
from ..treebanks.conllu import Block, read_blocks
from .app import MOST, hpyp, note
from .documents import treebank_documents

# So many lines are named of each problem.
_NAMED = 3


@hpyp.command("convert")
def convert_cli(
    treebanks: list[Path] = typer.Argument(..., help="Treebanks in CoNLL-U"),
    output: Path = typer.Argument(..., help="Directory for the .spacy files", file_okay=False),
    n_sents: int = typer.Option(10, "--n-sents", "-n", help="Sentences to a document", min=1, max=MOST),
    merge_subtokens: bool = typer.Option(
        False, "--merge-subtokens", "-T", help="Multiword tokens become one token, as they are written"
    ),
    lang: str | None = typer.Option(None, "--lang", "-l", help="See that spaCy has this language"),
) -> None:
    """Convert treebanks as 'spacy convert --converter conllu' does, and say in which line something is wrong.

    A sentence without a complete tree, one with two roots, or a word that is above itself, cannot be learned from: they are counted,
    and keep their words and tags alone. A byte order mark is put up with, and so are empty lines with white space in them.
    """
    if lang is not None:
        _check_language(lang)
    for path in treebanks:
        if not path.is_file():
            hint = " Without a test part, give another one to measure: --vars.test dev" if "-test." in path.name else ""
            raise ValueError(f"There is no file '{path}'.{hint}")
    prepare_folder(output)
    # In the project, what is measured may be the development part.
    for path in dict.fromkeys(treebanks):
        blocks = list(read_blocks(path))
        docs = list(treebank_documents(blocks, path, sentences=n_sents, merge_subtokens=merge_subtokens))
        replace_file(output / f"{path.stem}.spacy", DocBin(docs=docs, store_user_data=True).to_bytes())
        _tell_of_incomplete(blocks, path)
        msg.good(f"Converted {len(blocks):,} sentences in {len(docs):,} documents: {output / path.stem}.spacy")


def _check_language(lang: str) -> None:
    try:
        get_lang_class(lang)
    except ImportError as error:
        raise ValueError(
            f"spaCy has no language '{lang}'. Where it does not have yours, give 'xx', which is none in particular."
        ) from error


def _tell_of_incomplete(blocks: Sequence[Block], path: Path) -> None:
    lines: dict[str, list[int]] = defaultdict(list)
    for block in blocks:
        if block.problem is not None:
            lines[block.problem].append(block.line)
    if lines:
        named = (
            f"{len(each):,} where {problem} (line {', '.join(map(str, each[:_NAMED]))}{', ...' * (len(each) > _NAMED)})"
            for problem, each in lines.items()
        )
        note(
            f"'{path}': {sum(map(len, lines.values())):,} of {len(blocks):,} sentences have no complete tree, and parsers do not learn "
            f"from them: {'; '.join(named)}"
        )
