"""Commands under `python -m spacy hpyp`.

spaCy imports this module for each of its own commands, which need not wait for Numba.
"""

import sys
import traceback
from contextlib import redirect_stdout
from functools import cached_property
from typing import Annotated, Any

import typer
from click import ClickException, Command, Context, Group
from spacy.cli import app
from typer.core import TyperGroup
from wasabi import msg

__all__ = ["hpyp"]


class Commands(TyperGroup):
    """Commands that print expected errors as one message. `--debug` adds the traceback."""

    @cached_property
    def _all(self) -> Group:
        from .commands import commands

        return typer.main.get_group(commands)

    def list_commands(self, ctx: Context) -> list[str]:
        """Return the names of all commands."""
        return self._all.list_commands(ctx)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """Return a command, or None if there is none of this name."""
        return self._all.get_command(ctx, cmd_name)

    def invoke(self, ctx: Context) -> Any:
        """Run a command. Expected errors end it with exit code 1."""
        from .commands import announcing_compilation

        try:
            with announcing_compilation():
                return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of stdout is gone.
            raise
        except (OSError, ValueError, ImportError, ClickException) as error:
            if ctx.params["debug"]:
                traceback.print_exc()
            problem = str(error)
            if isinstance(error, OSError) and error.filename is not None:
                problem = f"{error.strerror}: '{error.filename2 or error.filename}'"
            with redirect_stdout(sys.stderr):
                msg.fail(problem)
            raise typer.Exit(1) from error


hpyp = typer.Typer(name="hpyp", no_args_is_help=True, cls=Commands)
app.add_typer(hpyp)


@hpyp.callback()
def main(
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of an error")] = False,
) -> None:
    """Train, run and evaluate hpyp_parser and the other components."""
