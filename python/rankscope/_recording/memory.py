"""Memory of Python's own allocators, as `tracemalloc` counts it: a value over time, and where what is left was taken."""

from __future__ import annotations

import threading
import tracemalloc
from collections import defaultdict
from dataclasses import dataclass

from rankscope import _native

CURRENT = "Python memory (bytes)"
PEAK = "Python memory, peak (bytes)"


@dataclass(frozen=True)
class PythonMemory:
    """How `profile(memory=...)` follows memory. It costs what `tracemalloc` costs: every allocation is looked at."""

    every_s: float = 0.1
    """Seconds between values."""
    frames: int = 1
    """How many frames of each allocation's traceback are kept."""
    domain: int | None = None
    """Only allocations of this domain; 0 is Python's own, numpy and others have theirs. All of them where None."""

    def __post_init__(self) -> None:
        if not self.every_s > 0:
            raise ValueError(f"every_s must be more than 0, not {self.every_s}")
        if self.frames < 1:
            raise ValueError(f"frames must be at least 1, not {self.frames}")


@dataclass(frozen=True)
class MemorySite:
    """A line of code that has taken memory, and not given it back."""

    file: str
    """As Python names it."""
    line: int
    """In that file."""
    domain: int
    """Whose allocator it was; 0 is Python's own."""
    bytes: int
    """How much is left."""
    blocks: int
    """In how many allocations."""


class Follower:
    """Records the values from `start` to `stop`, and keeps what is left then."""

    def __init__(self, wanted: PythonMemory) -> None:
        self._wanted = wanted
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_own = False
        self.sites: list[MemorySite] = []

    def start(self) -> None:
        self._is_own = not tracemalloc.is_tracing()
        if self._is_own:
            tracemalloc.start(self._wanted.frames)
        self._over.clear()
        self._thread = threading.Thread(target=self._follow, name="rankscope-memory", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if self._thread is None:
            return
        self._over.set()
        self._thread.join()
        self._thread = None
        if tracemalloc.is_tracing():
            self.record()
            self.sites = self._left()
            if self._is_own:
                tracemalloc.stop()

    def record(self) -> None:
        """Records a value now."""
        current, peak = tracemalloc.get_traced_memory()
        _native.counter(CURRENT, current)
        _native.counter(PEAK, peak)

    def _follow(self) -> None:
        self.record()
        while not self._over.wait(self._wanted.every_s):
            if not tracemalloc.is_tracing():
                return
            self.record()

    def _left(self) -> list[MemorySite]:
        totals: defaultdict[tuple[str, int, int], list[int]] = defaultdict(lambda: [0, 0])
        for trace in tracemalloc.take_snapshot().traces:
            frame = trace.traceback[-1]
            if self._wanted.domain is None or trace.domain == self._wanted.domain:
                total = totals[frame.filename, frame.lineno, trace.domain]
                total[0] += trace.size
                total[1] += 1
        sites = [MemorySite(*place, *total) for place, total in totals.items()]
        return sorted(sites, key=lambda site: (-site.bytes, site.file, site.line))
