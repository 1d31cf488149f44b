"""Where a recording lies: in the directory of the run that the process is part of, or where the program says."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass

from rankscope import _native
from rankscope._recording.schedule import RecordingWarning

_RAW_DIR = "RANKSCOPE_RAW_DIR"
_RUN_DIR = "RANKSCOPE_RUN_DIR"
_RING = "RANKSCOPE_RING"

# What `Recorded.save` writes; a recording itself is the first.
_LIVE = ".rkr"
_EXPORTED = (".json", ".pftrace", ".xplane.pb")


@dataclass(frozen=True)
class Place:
    """Where a recording goes."""

    live: str | None
    """The live file, with what `%` stands for in it; None for memory."""
    exported: str | None = None
    """Written when the recording stops."""
    clocks: str | None = None
    """Readings of devices' clocks."""
    page: tuple[str, int] | None = None
    """The run and the rank by which this process is watched while it runs."""
    ring_s: float | None = None
    """How much of its recording the run wants kept; None for all."""


@dataclass(frozen=True)
class Size:
    """How large a recording may get, and how many before it stay."""

    max_bytes: int
    ring_s: float | None
    keep_earlier: int


def session_at(
    live: str | None,
    size: Size,
    *,
    idle: bool,
    clocks: str | None = None,
    page: tuple[str, int] | None = None,
) -> _native.Session:
    """A session into a live file, or into memory."""
    return _native.Session(
        live,
        idle=idle,
        max_bytes=size.max_bytes,
        ring_s=size.ring_s,
        keep_earlier=size.keep_earlier,
        clocks=clocks,
        page=page,
    )


def place_of(out: str | os.PathLike[str] | None, clock_sync: bool) -> Place:
    """The place for `out`, which a run that the process is part of overrides."""
    run = _of_run(clock_sync)
    if run is not None:
        return run
    if out is None:
        return Place(live=None)
    path = os.fspath(out)
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    bare = path.removesuffix(".gz").removesuffix(".zst")
    if bare.endswith(_EXPORTED):
        return Place(live=None, exported=path)
    if path.endswith(_LIVE):
        return Place(live=path)
    return Place(live=os.path.join(path.replace("%", "%%"), "rank-%r.rkr"))


def _of_run(clock_sync: bool) -> Place | None:
    raw, run, rank = os.environ.get(_RAW_DIR), os.environ.get(_RUN_DIR), _native.own_rank()
    if raw is None:
        return None
    if rank is None:
        warnings.warn(
            f"{_RAW_DIR} is set, but no launcher says which rank this is (RANK and the like): the run does not get this recording",
            RecordingWarning,
            stacklevel=5,
        )
        return None
    clocks = os.path.join(run, "clock", f"snapshots-rank{rank}.jsonl") if run is not None and clock_sync else None
    page = (run, rank) if run is not None else None
    live = os.path.join(raw.replace("%", "%%"), f"rank-{rank}.rkr")
    return Place(live=live, clocks=clocks, page=page, ring_s=_ring_of_run())


def _ring_of_run() -> float | None:
    """What `rankscope run --ring` wants kept; what is no time wants nothing."""
    try:
        seconds = float(os.environ.get(_RING, ""))
    except ValueError:
        return None
    return seconds if 0 < seconds < float("inf") else None
