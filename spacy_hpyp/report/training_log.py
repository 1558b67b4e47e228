"""What `spacy train` has said: losses and scores while a pipeline was trained."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import srsly

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LOSS = "LOSS "


class Check(NamedTuple):
    """An evaluation in the course of training.

    step (int): After how many updates.
    losses (dict[str, float]): By component.
    scores (dict[str, float]): By name; those that spaCy's logger writes, in percent.
    """

    step: int
    losses: dict[str, float]
    scores: dict[str, float]


def read_training_log(path: Path) -> list[Check]:
    """Read the log of a training run: the table that `spacy train` prints, or the lines of JSON that
    `spacy.ConsoleLogger.v3` writes to its `output_file`. What stands between the lines of the table is passed
    over.

    RETURNS (list[Check]): The evaluations, in the order of their steps. Of one that is there twice, because
        training was resumed, the last.
    RAISES (ValueError): If there is none.
    """
    try:
        lines = path.read_text(encoding="utf8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"'{path}' is not text in UTF-8 ({error}).") from error
    found: dict[int, Check] = {}
    names: list[str] = []
    for line in lines:
        line = _COLOUR.sub("", line).strip()
        if line.startswith("E ") and "#" in line:
            # Long names are cut off, so that two may have become the same.
            cut = re.split(r"\s{2,}", line)
            before = [cut[:place].count(name) for place, name in enumerate(cut)]
            names = [f"{name} ({number + 1})" if number else name for name, number in zip(cut, before)]
            continue
        check = _of_json(line) if line.startswith("{") else _of_table(line, names)
        if check is not None:
            found[check.step] = check
    if not found:
        raise ValueError(
            f"There is no evaluation in '{path}': a log is what 'spacy train' prints, or its logger's "
            f"output_file."
        )
    return [found[step] for step in sorted(found)]


def _of_json(line: str) -> Check | None:
    try:
        entry: Any = srsly.json_loads(line)
        losses = {str(name): float(value) for name, value in entry["losses"].items()}
        scores = {str(name): float(value) for name, value in entry["scores"].items() if name != "speed"}
        return Check(int(entry["step"]), losses, scores)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _of_table(line: str, names: list[str]) -> Check | None:
    cells = line.split()
    if not cells or len(cells) != len(names):
        return None
    try:
        values = [float(cell) for cell in cells]
    except ValueError:
        return None
    own = dict(zip(names[2:-1], values[2:-1]))
    return Check(
        step=int(values[1]),
        losses={
            name.removeprefix(_LOSS).lower(): value for name, value in own.items() if name.startswith(_LOSS)
        },
        scores={
            name.lower(): value
            for name, value in own.items()
            if not name.startswith(_LOSS) and name != "SPEED"
        },
    )
