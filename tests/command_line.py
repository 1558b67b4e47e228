"""SpaCy's command line, for the tests."""

from typing import Any

from click.testing import Result
from spacy import registry
from spacy.cli import app
from typer.testing import CliRunner


def run(*arguments: Any, exit_code: int = 0) -> Result:
    """Run `spacy` with the arguments; assert the exit code and that no error goes unreported."""
    registry.cli.get_all()
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == exit_code, done.output
    return done


def said(*arguments: Any, exit_code: int = 1) -> str:
    """Run `spacy`, and return its messages on stderr, which are wrapped, as one line."""
    return " ".join(run(*arguments, exit_code=exit_code).stderr.split())
