"""Processes that a recorded process starts: each records itself, beside the recording of its parent.

A fork goes on in a copy of the program, so a hook of `os` is enough. A spawned process begins anew; what `multiprocessing` sends
it to prepare itself carries an object along that starts the recording when it is unpacked. Recordings lie in
`<recording>.workers/<process>.rkr`, where `rankscope` finds them when it reads the parent's.
"""

from __future__ import annotations

import atexit
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rankscope import _native
from rankscope._errors import RecordingError
from rankscope._recording.place import Size, session_at
from rankscope._recording.schedule import RecordingWarning
from rankscope._recording.sources import Sources, Wanted


@dataclass(frozen=True)
class Plan:
    """What children of this process do."""

    folder: str
    wanted: Wanted
    size: Size


_plan: Plan | None = None
_is_hooked = False
_worker: Worker | None = None
# What the parent does for itself alone, and its child must end.
_leave_to_parent: list[Callable[[], None]] = []


def folder_of(recording: str) -> str:
    """Where the recordings of a recorded process's children lie."""
    return os.path.splitext(recording)[0] + ".workers"


def put_aside(folder: str) -> None:
    """Moves what children of an earlier recording left, so that they are not taken for those of this one."""
    if not os.path.isdir(folder):
        return
    number = 1
    while os.path.exists(f"{folder}.{number}"):
        number += 1
    os.rename(folder, f"{folder}.{number}")


def begin(plan: Plan) -> None:
    """From now on, children are recorded."""
    global _plan, _is_hooked
    _plan = plan
    if not _is_hooked:
        _is_hooked = True
        os.register_at_fork(after_in_child=_after_fork)
    _hook_spawn()


def end() -> None:
    """Children that come now are not."""
    global _plan
    _plan = None


def in_child(do: Callable[[], None]) -> Callable[[], None]:
    """Has the children of a fork do something first; returns what takes that back."""
    _leave_to_parent.append(do)
    return lambda: _leave_to_parent.remove(do) if do in _leave_to_parent else None


class Worker:
    """The recording of a child."""

    def __init__(self, plan: Plan, sources: Sources) -> None:
        self._plan = plan
        self._sources = sources
        self._session: _native.Session | None = None
        self._process = os.getpid()

    def start(self) -> None:
        os.makedirs(self._plan.folder, exist_ok=True)
        path = os.path.join(self._plan.folder.replace("%", "%%"), f"{self._process}.rkr")
        self._session = session_at(path, self._plan.size, idle=False)
        _native.process_name(f"worker {self._process}")
        self._sources.start()
        self._sources.begin_frames()

    def stop(self) -> None:
        # A child of this child is another one's.
        if self._session is None or os.getpid() != self._process:
            return
        session, self._session = self._session, None
        self._sources.end_frames()
        self._sources.stop()
        session.stop()[0].pack()


def _start(plan: Plan) -> None:
    global _worker
    worker = Worker(plan, Sources(plan.wanted))
    try:
        worker.start()
    except (RecordingError, OSError) as error:
        warnings.warn(f"process {os.getpid()} is not recorded: {error}", RecordingWarning, stacklevel=2)
        return
    _worker = worker
    atexit.register(_stop)
    # Processes of multiprocessing end without those functions but with its own, of which it forgets those that came before here.
    from multiprocessing import util

    util.register_after_fork(worker, lambda _: util.Finalize(None, _stop, exitpriority=0))


def _stop() -> None:
    global _worker
    worker, _worker = _worker, None
    if worker is not None:
        try:
            worker.stop()
        except (RecordingError, OSError) as error:
            warnings.warn(f"the recording of process {os.getpid()} is not complete: {error}", RecordingWarning, stacklevel=2)


def _after_fork() -> None:
    global _worker
    _worker = None
    for do in _leave_to_parent:
        do()
    _leave_to_parent.clear()
    if _plan is not None:
        _start(_plan)


class Stowaway:
    """Starts the recording of a spawned process when it is unpacked there."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def __setstate__(self, state: dict[str, Any]) -> None:
        begin(state["plan"])
        _start(state["plan"])


def _hook_spawn() -> None:
    from multiprocessing import spawn

    prepared = spawn.get_preparation_data
    if getattr(prepared, "carries_rankscope", False):
        return

    def get_preparation_data(name: str) -> dict[str, Any]:
        data = prepared(name)
        if _plan is not None:
            data["rankscope"] = Stowaway(_plan)
        return data

    get_preparation_data.carries_rankscope = True  # type: ignore[attr-defined]
    spawn.get_preparation_data = get_preparation_data
