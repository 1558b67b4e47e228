"""SpaCy's command line, for the tests."""

from collections.abc import Callable
from typing import Any, NoReturn

import pytest
from click.testing import Result
from spacy import registry
from spacy.cli import app
from typer.testing import CliRunner

from spacy_hpyp.cli import trainings


def run(*arguments: Any, exit_code: int = 0) -> Result:
    """Run `spacy` with some arguments, and assert how it ends: never with an error that is not
    reported.
    """
    registry.cli.get_all()
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == exit_code, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def interrupt_after_one_training(monkeypatch: pytest.MonkeyPatch) -> Callable[..., NoReturn]:
    """Let one pipeline be trained by a command, and no second one; returns what is in the place of
    training then.
    """
    train = trainings.train

    def train_once(*arguments: Any, **settings: Any) -> None:
        train(*arguments, **settings)
        monkeypatch.setattr(trainings, "train", interrupted)

    def interrupted(*arguments: Any, **settings: Any) -> NoReturn:
        raise ValueError("no power")

    monkeypatch.setattr(trainings, "train", train_once)
    return interrupted
