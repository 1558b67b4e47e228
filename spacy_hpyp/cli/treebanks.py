"""`hpyp treebanks`: a workflow of the project for each of many treebanks."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..storage.files import prepare_folder
from .options import Elsewhere, argument, option
from .tables import separate
from .trainings import run_commands

# What a project consists of that its workflows only read.
_SHARED = ("project.yml", "assets", "configs")


def treebanks(
    ctx: typer.Context,
    treebanks: Annotated[
        Path,
        argument(
            "File with a treebank, a prefix and a language a line, as UD_French-Sequoia fr_sequoia-ud fr", exists=True
        ),
    ],
    output: Annotated[Path, argument("Folder that gets one for each treebank", file_okay=False)],
    *,
    project: Annotated[Path, option("Folder of the project", exists=True, file_okay=False)] = Path(),
    workflow: Annotated[str, option("Which workflow or command of it")] = "all",
    elsewhere: Elsewhere = Elsewhere(ray="local"),
) -> None:
    """Run a workflow of the project for each of some treebanks on a Ray cluster.

    Each has a folder, with a log. What has been made is not made again: the same command goes on, and tries again what has failed.
    Variables of the project can be overridden for all, as in --vars.config paper.
    """
    names, settings = separate(ctx.args)
    if names:
        raise ValueError(f"'{names[0]}' is no setting of the project, as --vars.config paper.")
    rows = [line.split() for line in treebanks.read_text(encoding="utf8").splitlines() if line.strip()]
    wrong = [row for row in rows if len(row) != 3]
    if wrong or not rows:
        raise ValueError(
            f"A line of '{treebanks}' has a treebank, a prefix and a language, but there is '{' '.join(*wrong[:1])}'."
        )
    lines = {}
    for treebank, prefix, lang in rows:
        folder = output / prefix
        prepare_folder(folder)
        for name in _SHARED:
            if (project / name).exists() and not (folder / name).exists():
                (folder / name).symlink_to((project / name).absolute())
        own = [f"--vars.treebank={treebank}", f"--vars.prefix={prefix}", f"--vars.lang={lang}", *settings]
        lines[prefix] = ["project", "run", workflow, ".", *own]
    for _ in run_commands(lines, output, elsewhere, name=workflow, inside=True):
        pass
    msg.good(f"{len(rows)} treebanks, in {output}")
