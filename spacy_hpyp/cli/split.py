"""`hpyp split`: the parts of a treebank, whichever of them it has."""

from pathlib import Path
from typing import Annotated

from wasabi import msg

from ..storage.files import prepare_folder, replace_file
from ..treebanks.conllu import Block, read_blocks
from .app import note
from .convert import check_language, tell_of_incomplete
from .options import argument, option

_TRAIN, _DEV, _TEST = "train", "dev", "test"
#: Of how many sentences one is held out where there is no development part.
HELD_OUT = 10


def split(
    treebank: Annotated[
        Path, argument("What the names of its files begin with: assets/UD_Tamil-TTB/ta_ttb-ud for …-train.conllu")
    ],
    output: Annotated[Path, argument("Directory for the parts", file_okay=False)],
    *,
    held_out: Annotated[
        int, option("Of how many sentences one is held out where there is no development part", least=2)
    ] = HELD_OUT,
    lang: Annotated[str | None, option("See that spaCy has this language", "--lang -l")] = None,
) -> None:
    """Write the training, development and test part of a treebank, and say in which line something is wrong.

    Without a development part, the last tenth of the training part is it; without a test part, the development part is.
    """
    if lang is not None:
        check_language(lang)
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
        parts[_TRAIN], parts[_DEV] = hold_out(parts[_TRAIN], held_out)
        count = len(parts[_DEV])
        note(f"There is no '{files[_DEV]}': the last {count:,} sentences of the training part are held out")
    if _TEST not in parts:
        parts[_TEST] = parts[_DEV]
        note(f"There is no '{files[_TEST]}': what is measured is the development part")
    prepare_folder(output)
    for part, file in files.items():
        replace_file(output / file.name, "".join(map(Block.lines, parts[part])).encode())
    counts = ", ".join(f"{len(blocks):,} to {part}" for part, blocks in parts.items())
    msg.good(f"Wrote {counts}: {output / treebank.name}-*.conllu")


def parts_of(treebank: Path) -> dict[str, Path]:
    """The files of a treebank by part, whether they are there or not.

    treebank (Path): What their names begin with.
    """
    return {part: treebank.with_name(f"{treebank.name}-{part}.conllu") for part in (_TRAIN, _DEV, _TEST)}


def hold_out(blocks: list[Block], of: int = HELD_OUT) -> tuple[list[Block], list[Block]]:
    """Two sentences or more without their last part, and that part.

    of (int): Of how many sentences one is held out; one of all, where there are fewer.
    """
    count = max(1, len(blocks) // of)
    return blocks[:-count], blocks[-count:]
