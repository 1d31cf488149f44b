"""Whose threads the work has: a process that was forked from one that worked has none of them, and would wait for them for ever."""

import os

from rankscope._errors import Error

_worked: "int | None" = None


def works_here() -> None:
    """Says that this process works from now on.

    Raises:
        Error: In a process that was forked from one that works.
    """
    global _worked
    if _worked is None:
        _worked = os.getpid()
    elif _worked != os.getpid():
        raise Error(
            "this process was forked from one that has used rankscope, and threads do not come along. Start it by multiprocessing's "
            "method spawn or forkserver, or ask in the parent only after the fork"
        )
