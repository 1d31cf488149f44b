"""Options of `profile`: what is no such option is refused before anything is recorded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rankscope._recording.functions import PythonFunctions

if TYPE_CHECKING:
    from rankscope._recording.memory import PythonMemory


def check(
    out: object, schedule: object, on_trace_ready: object, max_bytes: object, keep_last_s: object, keep_earlier: object
) -> None:
    if out is not None and not isinstance(out, (str, os.PathLike)):
        raise TypeError(f"out must be a path or None, not {type(out).__name__}")
    for name, value in (("schedule", schedule), ("on_trace_ready", on_trace_ready)):
        if value is not None and not callable(value):
            raise TypeError(f"{name} must be a function or None, not {type(value).__name__}")
    for name, number, least in (("max_bytes", max_bytes, 1), ("keep_earlier", keep_earlier, 0)):
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"{name} must be a whole number, not {number!r}")
        if number < least:
            raise ValueError(f"{name} must be at least {least}, not {number}")
    if keep_last_s is not None and (not isinstance(keep_last_s, (int, float)) or not keep_last_s > 0):
        raise ValueError(f"keep_last_s must be a number of seconds above 0, or None, not {keep_last_s!r}")


def functions(python: object) -> PythonFunctions | None:
    if isinstance(python, PythonFunctions):
        return python
    if isinstance(python, bool):
        return PythonFunctions() if python else None
    raise TypeError(f"python must be True, False or PythonFunctions(...), not {python!r}")


def memory(wanted: object) -> PythonMemory | None:
    if wanted is None:
        return None
    # Not for everybody: it brings tracemalloc and pickle along.
    from rankscope._recording.memory import PythonMemory

    if isinstance(wanted, PythonMemory):
        return wanted
    if wanted == "tracemalloc":
        return PythonMemory()
    raise TypeError(f"memory must be 'tracemalloc', PythonMemory(...) or None, not {wanted!r}")
