"""What commands say on stderr while they work: how far they are, and that they wait for Numba."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from numba.core.event import Event, Listener, install_listener
from tqdm import tqdm

# In a file or a pipe there is a line after so many seconds, instead of a bar.
_LINES = 30.0
# Compiling that takes less, in seconds, needs no word.
_SHORT = 2.0


class Bar(tqdm):
    """A progress bar of `tqdm` on stderr, which is gone when it is done; where that is a file or a pipe, a
    line now and then.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self._on_screen, self._shown, self._lines = sys.stderr.isatty(), monotonic(), 0
        super().__init__(*arguments, **{"leave": False, "file": sys.stderr, **settings})

    def display(self, *arguments: Any, **settings: Any) -> None:
        """Show how far it is."""
        if self._on_screen:
            super().display(*arguments, **settings)
        elif monotonic() - self._shown > _LINES:
            self._say()

    def _say(self) -> None:
        self._shown, self._lines = monotonic(), self._lines + 1
        print(self, file=sys.stderr, flush=True)

    def clear(self, *arguments: Any, **settings: Any) -> None:
        """Take the bar away; of lines there is nothing to take back."""
        if self._on_screen:
            super().clear(*arguments, **settings)

    def close(self) -> None:
        """End the bar; where there were lines, with how it ended."""
        if self._lines and not self.disable:
            self._say()
        self.disable = self.disable or not self._on_screen
        super().close()


@contextmanager
def telling_of_compilation(tell: Callable[[str], None]) -> Iterator[None]:
    """Say so, once, where the first call of a command waits for Numba."""
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
            tell(
                "Compiling the numerical core, which takes half a minute or more, once: it is kept for the "
                "next time."
            )

    def on_end(self, event: Event) -> None:
        self.on_start(event)
