"""What records without a word in the program: functions, pauses for garbage collection, memory."""

from __future__ import annotations

import gc
from dataclasses import dataclass

from rankscope import _native
from rankscope._recording.functions import PythonFunctions, Recorder


@dataclass(frozen=True)
class Wanted:
    """What of it is wanted."""

    functions: PythonFunctions | None
    collections: bool


class Sources:
    """On while a step warms up or is recorded."""

    def __init__(self, wanted: Wanted) -> None:
        self._collections = wanted.collections
        self._functions = None if wanted.functions is None else Recorder(wanted.functions)
        self._are_on = False

    def start(self) -> None:
        if self._are_on:
            return
        self._are_on = True
        if self._collections:
            gc.callbacks.append(_native.on_collection)
        if self._functions is not None:
            self._functions.start()

    def begin_frames(self) -> None:
        """A recording begins in the middle of functions."""
        if self._functions is not None:
            self._functions.begin_frames()

    def end_frames(self) -> None:
        """A recording ends in the middle of functions."""
        if self._functions is not None:
            self._functions.end_frames()

    def stop(self) -> None:
        if not self._are_on:
            return
        self._are_on = False
        if self._functions is not None:
            self._functions.stop()
        if self._collections and _native.on_collection in gc.callbacks:
            gc.callbacks.remove(_native.on_collection)
