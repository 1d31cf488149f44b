"""The sessions of one profile, cycle by cycle.

Into a file there is one session, which keeps it open and is told when to record; where a schedule cuts that into cycles, each is
a session of its own over the same recording. In memory each cycle is by itself, so that what is not wanted any more goes.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from rankscope import _native
from rankscope._errors import RecordingError
from rankscope._recording.place import Place, Size, session_at


class Window:
    """What is recorded at the moment, and what was recorded last."""

    def __init__(self, place: Place, size: Size, *, has_cycles: bool, accumulates: bool) -> None:
        self._place = place
        self._size = size
        self._has_cycles = has_cycles
        self._accumulates = has_cycles and accumulates
        self._metadata: dict[str, str] = {}
        self._whole: _native.Session | None = None
        self._cycle: _native.Session | None = None
        self._warm: _native.Session | None = None
        self._last: _native.Recorded | None = None
        self._report: dict[str, Any] | None = None
        self.live_file: str | None = None

    def open(self) -> None:
        """Begins what all cycles lie in, if there is such a thing. Nothing is recorded yet."""
        live = self._place.live
        if live is not None:
            os.makedirs(os.path.dirname(_filled(live)) or ".", exist_ok=True)
        if live is not None or self._accumulates:
            self._whole = self._session(live, idle=True)
            path = self._whole.live_file()
            self.live_file = None if path is None else os.fspath(path)

    def warm_up(self) -> None:
        """Maps memory and interns names, for nothing."""
        if self._whole is None and self._place.live is None:
            self._warm = self._session(None, idle=False)

    def begin(self) -> None:
        """A cycle begins."""
        if self._whole is not None:
            self._whole.record(True)
            self._cycle = self._session(None, idle=False) if self._has_cycles else self._whole
        elif self._place.live is None:
            self._cycle = self._session(None, idle=False)
        # Only now: with the last session its memory would go, and warming up would have been for nothing.
        if self._warm is not None:
            self._warm.stop()
            self._warm = None

    def end(self) -> None:
        """A cycle ends."""
        if self._cycle is None:
            return
        cycle, self._cycle = self._cycle, None
        if self._whole is None:
            self._stopped(cycle)
        elif self._has_cycles:
            self._whole.record(False)
            self._stopped(cycle)
            if self._accumulates:
                self._last = self._whole.snapshot()
        else:
            self._whole = None
            self._stopped(cycle).pack()

    def close(self) -> None:
        """All cycles have ended."""
        if self._warm is not None:
            self._warm.stop()
        whole, self._warm, self._whole = self._whole, None, None
        if whole is not None:
            whole.stop()[0].pack()

    def say(self, key: str, value: str) -> None:
        """Notes down what is to be known about the recording; `value` is JSON."""
        self._metadata[key] = value
        if self._whole is not None or self._cycle is not None:
            _native.metadata(key, value)

    @property
    def is_open(self) -> bool:
        return self._cycle is not None

    @property
    def has_recorded(self) -> bool:
        return self._last is not None

    @property
    def report(self) -> dict[str, Any]:
        if self._report is None:
            raise RecordingError("no recording has ended: there is a report after stop, or after a cycle")
        return self._report

    def recorded(self) -> _native.Recorded:
        """The cycle that is under way, else the last one."""
        if self._cycle is not None:
            return self._cycle.snapshot()
        if self._last is None:
            raise RecordingError("nothing was recorded, so there is nothing to write or to sum up")
        return self._last

    def _stopped(self, session: _native.Session) -> _native.Recorded:
        self._last, report = session.stop()
        self._report = json.loads(report)
        return self._last

    def _session(self, path: str | None, *, idle: bool) -> _native.Session:
        clocks, page = (self._place.clocks, self._place.page) if path is not None else (None, None)
        session = session_at(path, self._size, idle=idle, clocks=clocks, page=page)
        for key, value in self._metadata.items():
            _native.metadata(key, value)
        return session


def _filled(path: str) -> str:
    """The path as the recorder will fill it in, good enough to make its folder."""
    stands = {"%%": "%", "%r": str(_native.own_rank() or 0), "%p": str(os.getpid())}
    return re.sub("%[%rp]", lambda found: stands[found[0]], path)
