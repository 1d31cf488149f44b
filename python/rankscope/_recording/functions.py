"""Functions of Python as spans: which of them, and how the interpreter is asked about them."""

from __future__ import annotations

import fnmatch
import functools
import os
import sys
import sysconfig
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType

from rankscope import _native
from rankscope._recording.schedule import RecordingWarning

_DEPTH_MAX = 1000


@dataclass(frozen=True)
class PythonFunctions:
    """Which functions `profile(python=...)` records.

    Without more, those of your own code: what is neither the standard library nor installed into site-packages. An entry of
    `include` or `exclude` is a package or module (`"torch.nn"`) or a pattern for files (`"*/models/*.py"`); `exclude` counts more.
    """

    include: Sequence[str] = ()
    """Recorded although installed, or part of the standard library."""
    exclude: Sequence[str] = ()
    """Not recorded, although your own."""
    max_depth: int | None = None
    """Calls that are nested deeper than this are left out."""
    c_functions: bool = False
    """Whether functions written in C are recorded where recorded functions call them."""

    def __post_init__(self) -> None:
        for name, entries in (("include", self.include), ("exclude", self.exclude)):
            if isinstance(entries, str) or not all(isinstance(entry, str) for entry in entries):
                raise TypeError(f"{name} must be a list of texts, such as ['torch.nn'], not {entries!r}")
        if self.max_depth is not None and not isinstance(self.max_depth, int):
            raise TypeError(f"max_depth must be a whole number or None, not {self.max_depth!r}")
        if self.max_depth is not None and self.max_depth < 1:
            raise ValueError(f"max_depth must be at least 1, not {self.max_depth}")

    def wants(self, file: str) -> bool:
        """Whether functions of `file` are recorded."""
        if file.startswith(("<frozen ", "<__array_function__")) or file.startswith(_own_folder()):
            return False
        if any(_is_of(file, entry) for entry in self.exclude):
            return False
        return not file.startswith(_installed_folders()) or any(_is_of(file, entry) for entry in self.include)


def _is_of(file: str, entry: str) -> bool:
    if any(sign in entry for sign in "/*?["):
        return fnmatch.fnmatchcase(file, entry)
    place = "/" + entry.replace(".", "/")
    return f"{place}/" in file or file.endswith(f"{place}.py")


@functools.cache
def _own_folder() -> str:
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@functools.cache
def _installed_folders() -> tuple[str, ...]:
    """Where the standard library and packages lie, as code objects name it: links of a virtual environment are not followed."""
    keys = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {sysconfig.get_paths()[key] for key in keys} | {os.path.dirname(os.__file__)}
    # Several of site-packages may be on the path, of a user and of a virtual environment's base.
    folders |= {entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))}
    return tuple(sorted({folder.rstrip(os.sep) + os.sep for both in folders for folder in (both, os.path.realpath(both))}))


class Recorder:
    """Has the interpreter tell about functions, from `start` to `stop`. One at a time."""

    _running: Recorder | None = None

    def __init__(self, wanted: PythonFunctions) -> None:
        self._wanted = wanted
        self._files: dict[str, str | None] = {}
        self._stop: Callable[[], None] | None = None

    def start(self) -> None:
        if Recorder._running is not None:
            warnings.warn("functions are recorded already, for another profile", RecordingWarning, stacklevel=4)
            return
        depth_max = _DEPTH_MAX if self._wanted.max_depth is None else min(self._wanted.max_depth, _DEPTH_MAX)
        if sys.version_info >= (3, 12):
            tool = _monitoring_tool()
            if tool is None:
                warnings.warn(
                    "functions are not recorded: other tools have taken every place of sys.monitoring", RecordingWarning, stacklevel=4
                )
                return
            _native.functions_on(self._describe, sys.monitoring.DISABLE, depth_max)
            self._stop = functools.partial(_monitoring_off, tool)
            _monitoring_on(tool, self._wanted.c_functions)
        else:
            if sys.getprofile() is not None:
                warnings.warn("functions are not recorded: another profiler runs (sys.setprofile)", RecordingWarning, stacklevel=4)
                return
            _native.functions_on(self._describe, None, depth_max)
            _native.profile_natives(self._wanted.c_functions)
            self._stop = _profile_off
            threading.setprofile(_native.on_profile)
            sys.setprofile(_native.on_profile)
        Recorder._running = self

    def stop(self) -> None:
        if self._stop is None:
            return
        stop, self._stop, Recorder._running = self._stop, None, None
        stop()
        error = _native.functions_off()
        if error is not None:
            warnings.warn(f"some functions are not recorded: {error!r}", RecordingWarning, stacklevel=4)

    def begin_frames(self) -> None:
        """The functions that this thread is in are spans from here on."""
        if self._stop is None:
            return
        frame: FrameType | None = sys._getframe()
        codes = []
        while frame is not None:
            codes.append(frame.f_code)
            frame = frame.f_back
        for code in reversed(codes):
            _native.on_begin(code, None)

    def end_frames(self) -> None:
        """They are cut off here."""
        if self._stop is not None:
            _native.end_frames()

    def _describe(self, code: CodeType) -> str | None:
        file = code.co_filename
        if file not in self._files:
            self._files[file] = _shown(file) if self._wanted.wants(file) else None
        shown = self._files[file]
        name = getattr(code, "co_qualname", code.co_name)
        return None if shown is None else f"{shown}({code.co_firstlineno}): {name}"


def _shown(file: str) -> str:
    """The file below the folder that it is imported from, as torch shows it."""
    folders = [folder.rstrip(os.sep) + os.sep for folder in sys.path if folder]
    found = [folder for folder in folders if file.startswith(folder)]
    return file[len(max(found, key=len)) :] if found else file


if sys.version_info >= (3, 12):
    _events = sys.monitoring.events
    _CALLBACKS: dict[int, Callable[..., object]] = {
        _events.PY_START: _native.on_begin,
        _events.PY_RESUME: _native.on_begin,
        _events.PY_THROW: _native.on_throw,
        _events.PY_RETURN: _native.on_end,
        _events.PY_YIELD: _native.on_end,
        _events.PY_UNWIND: _native.on_unwind,
    }
    _NATIVE_CALLBACKS: dict[int, Callable[..., object]] = {
        _events.CALL: _native.on_call,
        _events.C_RETURN: _native.on_native_end,
        _events.C_RAISE: _native.on_native_end,
    }

    def _monitoring_tool() -> int | None:
        """The place of profilers, or else one that nobody has by right."""
        for tool in (sys.monitoring.PROFILER_ID, 3, 4):
            if sys.monitoring.get_tool(tool) is None:
                sys.monitoring.use_tool_id(tool, "rankscope")
                return tool
        return None

    def _monitoring_on(tool: int, c_functions: bool) -> None:
        callbacks = {**_CALLBACKS, **(_NATIVE_CALLBACKS if c_functions else {})}
        for event, callback in callbacks.items():
            sys.monitoring.register_callback(tool, event, callback)
        # C_RETURN and C_RAISE come with CALL, and cannot be asked for by themselves.
        asked = [event for event in callbacks if event not in (_events.C_RETURN, _events.C_RAISE)]
        sys.monitoring.set_events(tool, functools.reduce(int.__or__, asked))
        # What an earlier recording did not want, this one may.
        sys.monitoring.restart_events()

    def _monitoring_off(tool: int) -> None:
        sys.monitoring.set_events(tool, 0)
        for event in {**_CALLBACKS, **_NATIVE_CALLBACKS}:
            sys.monitoring.register_callback(tool, event, None)
        sys.monitoring.free_tool_id(tool)


def _profile_off() -> None:
    if sys.getprofile() is _native.on_profile:
        sys.setprofile(None)
    threading.setprofile(None)
