"""All commands, imported when one of them is called or listed."""

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from time import monotonic

import typer
from numba.core.event import Event, Listener, install_listener

from .app import note
from .combine import combine
from .convert import convert, split
from .evaluate import evaluate
from .explore import explore
from .language_models import generate, ngram, perplexity, self_train
from .parse import parse
from .prepare import classes, guides
from .production import compact, precompile
from .rank import rank
from .report import report
from .surprisal import reading, surprisal
from .udeval import cross_validate, udeval

# Shorter compilation, in seconds, gets no message.
_SHORT = 2.0
#: All commands, without the messages of `Commands`.
commands = typer.Typer()

_APPLY = [parse, surprisal, reading]
_EVALUATE = [evaluate, udeval, report, explore, rank, cross_validate, perplexity, generate]
_TRAIN = [split, convert, guides, combine, classes, self_train, ngram, compact, precompile]

for _function in (*_APPLY, *_EVALUATE, *_TRAIN):
    # Commands with a context read config settings, or options of Streamlit, from it.
    _free = {"allow_extra_args": True, "ignore_unknown_options": True}
    _settings = _free if "ctx" in signature(_function).parameters else {}
    commands.command(_function.__name__.replace("_", "-"), context_settings=_settings)(_function)


class _CompilationNotice(Listener):
    """Tells once that a command waits for Numba."""

    begin: float | None = None
    done = False

    def on_start(self, event: Event) -> None:
        self.begin = self.begin or monotonic()
        if not self.done and monotonic() - self.begin > _SHORT:
            self.done = True
            note("Compiling the numerical core, once: this takes half a minute or more.")

    def on_end(self, event: Event) -> None:
        self.on_start(event)


@contextmanager
def announcing_compilation() -> Iterator[None]:
    """Tell the user if a command waits for Numba."""
    with install_listener("numba:compile", _CompilationNotice()):
        yield
