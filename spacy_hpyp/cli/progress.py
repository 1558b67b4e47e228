"""Progress bars, and a message while Numba compiles."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic

from numba.core.event import Event, Listener, install_listener
from tqdm import tqdm

# Compilation that takes less, in seconds, needs no message.
_SHORT = 2.0


#: A progress bar that disappears at the end, for a terminal.
Bar = partial(tqdm, leave=False, disable=None)


@contextmanager
def telling_of_compilation(tell: Callable[[str], None]) -> Iterator[None]:
    """Tell once that a command waits for Numba."""
    with install_listener("numba:compile", _Compilation(tell)):
        yield


class _Compilation(Listener):
    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell: Callable[[str], None] | None = tell
        self.begun: float | None = None

    def on_start(self, event: Event) -> None:
        now = monotonic()
        self.begun = self.begun or now
        if now - self.begun > _SHORT and self.tell is not None:
            tell, self.tell = self.tell, None
            tell("Compiling the numerical core, once: this takes half a minute or more.")

    def on_end(self, event: Event) -> None:
        self.on_start(event)
