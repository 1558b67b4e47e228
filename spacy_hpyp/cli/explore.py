"""`hpyp explore`: a local page on which a pipeline is tried."""

import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

import typer
from spacy.util import is_package

from .app import pipeline_at
from .options import AnyPipeline

_PAGE = Path(__file__).with_name("explore_page.py")
# For who tries a pipeline of theirs: nobody else sees the page, and nothing is sent.
_SETTINGS = {
    "server.address": "localhost",
    "server.showEmailPrompt": "false",
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": "false",
    "client.toolbarMode": "viewer",
}


def explore(ctx: typer.Context, model: AnyPipeline) -> None:
    """Open a page in the browser on which texts are typed: trees by confidence, the next best ones,
    surprisals, what comes next, generation.

    It is served by Streamlit on this machine alone, until Ctrl-C; the extra 'explore' installs it. Settings
    of Streamlit can be given, as --server.port 8600 or --server.headless true, which opens no browser.
    """
    if find_spec("streamlit") is None or find_spec("spacy_streamlit") is None:
        raise ImportError(
            'The page needs Streamlit, which is not installed: pip install "spacy-hpyp[explore]"'
        )
    name = str(pipeline_at(model))
    if not is_package(name) and not (Path(name) / "config.cfg").is_file():
        raise ValueError(
            f"There is no pipeline '{model}': neither a package nor a directory with a config.cfg."
        )
    settings = [
        f"--{key}={value}" for key, value in _SETTINGS.items() if not any(key in each for each in ctx.args)
    ]
    # As "python -m streamlit", in this process: who ends it ends the server.
    sys.argv = ["streamlit", "run", str(_PAGE), *settings, *ctx.args, "--", name]
    runpy.run_module("streamlit", run_name="__main__")
