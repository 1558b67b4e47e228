"""`hpyp treebanks`: a workflow of the project for each of many treebanks."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..distributed.cluster import connected
from ..distributed.commands import RemoteProcess, ended, running
from ..storage.files import prepare_folder
from .app import fail, note
from .options import argument, option
from .tables import separate

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
    ray: Annotated[
        str,
        option(
            "The Ray cluster: 'local', 'local[N]', 'auto' or an address; its nodes share the folders", metavar="ADDRESS"
        ),
    ] = "local",
    project: Annotated[Path, option("Folder of the project", exists=True, file_okay=False)] = Path(),
    workflow: Annotated[str, option("Which workflow or command of it")] = "all",
    cpus: Annotated[int, option("Cores that one takes", least=1)] = 1,
    memory: Annotated[float, option("Memory in GB that one takes; 0 says nothing of it")] = 0.0,
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
    with connected(ray), running() as processes:
        for treebank, prefix, lang in rows:
            folder = output / prefix
            prepare_folder(folder)
            for name in _SHARED:
                if (project / name).exists() and not (folder / name).exists():
                    (folder / name).symlink_to((project / name).absolute())
            own = [f"--vars.treebank={treebank}", f"--vars.prefix={prefix}", f"--vars.lang={lang}", *settings]
            line = [sys.executable, "-m", "spacy", "project", "run", workflow, ".", *own]
            settings_of_task = {"name": f"{workflow} {prefix}", "cpus": cpus, "memory": memory, "folder": folder}
            processes[prefix] = RemoteProcess(line, folder / "log.txt", **settings_of_task)
            note(f"{prefix}: {shlex.join(line[1:])}")
        failed = []
        while processes:
            for prefix, code in ended(processes):
                failed += [prefix] if code else []
                what = f"failed, see {output / prefix / 'log.txt'}" if code else "ended"
                note(f"{prefix} has {what}; {len(processes)} are left")
    if failed:
        fail(f"{len(failed)} of {len(rows)} have failed, which the same command tries again: {', '.join(failed)}")
    msg.good(f"{len(rows)} treebanks, in {output}")
