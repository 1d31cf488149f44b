"""Traces of jax.profiler, one folder a process, that say which process they are of. Importing this does not import JAX."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankscope import _clock_plane, _job

__all__ = ["install", "trace"]


def install(library: str | os.PathLike[str] | None = None) -> str:
    """Has jaxlib put the host's clocks into every trace of jax.profiler from now on, and returns the path of the library that does so.

    A trace then has the plane `/rankscope:clock`: readings of the wall clock beside the raw monotonic one, at the start, each second and
    at the stop, and which rank of which run the process is. `rankscope align`, `combine` and `report` place the trace by it.

    `library` is `librankscope_pjrt.so`; without it, the variable `RANKSCOPE_PJRT_LIBRARY` names it, or it lies beside the program
    `rankscope`. Call it before a trace begins; once is enough, and calling it again does nothing. In a job under `rankscope run` it is
    called already where the library lies beside the program.

    Raises FileNotFoundError where the library is not there, ImportError where jaxlib is not, RuntimeError where this jaxlib takes no
    profilers of others, and OSError where the library cannot be loaded.
    """
    return _clock_plane.install(None if library is None else os.fspath(library))


@contextmanager
def trace(folder: str | os.PathLike[str], **options: Any) -> Iterator[None]:
    """Profiles what is in the `with` with jax.profiler and writes the trace into `folder`, as `rank00003.xplane.pb`.

    JAX names its file by the host, so that processes of one host would overwrite each other's; here each has a folder of its own until
    its trace is there. Where this JAX can put metadata into a trace, it says which process it is of, and how the host's wall clock stood
    to its monotonic clock at the beginning. `options` are those of `jax.profiler.start_trace`.
    """
    from importlib import import_module

    jax: Any = import_module("jax")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".rankscope-", dir=target) as room:
        jax.profiler.start_trace(room, **options)
        if hasattr(jax.profiler, "set_metadata"):
            for key, value in {**_job.about(), **_job.clock_anchor()}.items():
                jax.profiler.set_metadata(f"rankscope_{key}", str(value))
        try:
            yield
        finally:
            # Calls return before their work is done.
            jax.effects_barrier()
            jax.profiler.stop_trace()
            _keep(target, Path(room))


def _keep(target: Path, room: Path) -> None:
    stem = f"rank{_job.rank():05d}"
    found = sorted(room.glob("plugins/profile/*/*.xplane.pb"), key=lambda path: path.stat().st_mtime_ns)
    if not found:
        raise FileNotFoundError(f"jax.profiler wrote no .xplane.pb below {room}")
    if (target / f"{stem}.xplane.pb").exists():
        older = target / ".older"
        older.mkdir(exist_ok=True)
        number = len(list(older.glob(f"{stem}.*.xplane.pb")))
        shutil.move(target / f"{stem}.xplane.pb", older / f"{stem}.{number}.xplane.pb")
    os.replace(found[-1], target / f"{stem}.xplane.pb")
