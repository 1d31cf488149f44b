"""How far the work has come: a line on stderr, where stderr is a terminal."""

import sys
from collections.abc import Callable

Listener = Callable[[str, int, int], object]
"""Called with what is done ("reading" or "writing"), how many files of how many; of 0 when it is over. What it raises ends the work."""

_WIDTH = 30


def listener(progress: "bool | Listener | None") -> "Listener | None":
    """What is to be told: a function of the user's, or a bar; none where nobody would see one."""
    if callable(progress):
        return progress
    if progress is False or (progress is None and not _is_terminal()):
        return None
    return _bar


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _bar(stage: str, done: int, of: int) -> None:
    if of == 0:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        return
    filled = _WIDTH * done // of
    print(f"\r{stage} [{'=' * filled:{_WIDTH}}] {done}/{of}", end="", file=sys.stderr, flush=True)
