"""Traces of torch.profiler, one file a rank, with what it takes to put them on one timeline.

A trace is written as `rank00003.pt.trace.json.gz`. It appears whole or not at all: it is written under a name that nobody reads and then
renamed. The newest trace of a rank has that name, older ones of the same script lie in `.older/`, so that whoever reads the folder finds one
trace a rank, all of the same steps.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rankscope import _job

_SUFFIX = ".pt.trace.json"
_OLDER = ".older"


def trace_handler(
    folder: str | os.PathLike[str], *, compress: bool = True, rank: int | None = None, world_size: int | None = None
) -> Callable[[Any], None]:
    """What `torch.profiler.profile(on_trace_ready=...)` calls when there is a trace: writes it into `folder`, under the name of its rank.

    The trace also says which rank, host and process it is of, how the host's wall clock stood to its monotonic clock when the
    profiler was made and when the trace was written, and the UUIDs of the GPUs that the process sees. `compress` writes .json.gz, which takes longer and a tenth of the space. `rank` and
    `world_size` are for processes whose number neither torch.distributed nor a launcher's variables tell.
    """
    target = Path(folder)
    first = _job.clock_anchor()
    written: list[Path] = []

    def on_trace_ready(profile: Any) -> None:
        about = {**_job.about(), "clock": [first, _job.clock_anchor()], "devices": _job.devices()}
        about["rank"] = about["rank"] if rank is None else rank
        about["world_size"] = about["world_size"] if world_size is None else world_size
        path = target / f"rank{about['rank']:05d}{_SUFFIX}{'.gz' if compress else ''}"
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".rankscope-", dir=target) as room:
            exported = os.path.join(room, "trace.json")
            profile.export_chrome_trace(exported)
            finished = os.path.join(room, "finished")
            _add(exported, finished, about, compress)
            if path in written:
                _set_aside(path, len(written))
            os.replace(finished, path)
        written.append(path)

    return on_trace_ready


def _set_aside(path: Path, number: int) -> None:
    older = path.parent / _OLDER
    older.mkdir(exist_ok=True)
    name, dot, rest = path.name.partition(".")
    os.replace(path, older / f"{name}.{number - 1}{dot}{rest}")


def _add(source: str, target: str, about: dict[str, Any], compress: bool) -> None:
    """Copies a trace with what is to be said of it in front: a profile takes no more of it once it was stopped."""
    with open(source, "rb") as reader, (gzip.open(target, "wb", 5) if compress else open(target, "wb")) as writer:
        head = reader.read(1 << 20)
        brace = head.find(b"{")
        more = {"rankscope": about}
        if b'"distributedInfo"' not in head:
            # Other tools take the rank from here, or guess.
            size = about["world_size"]
            more["distributedInfo"] = {"backend": "", "rank": about["rank"], "world_size": 1 if size is None else size}
        if brace >= 0:
            writer.write(json.dumps(more)[:-1].encode())
            empty = not head[brace + 1 :].lstrip().startswith(b'"')
            writer.write(b"" if empty else b",\n")
        writer.write(head[brace + 1 :])
        shutil.copyfileobj(reader, writer, 1 << 20)


class StepProfile:
    """torch.profiler over a few steps of a loop: `start`, `step` at the end of each step, `stop`. What frameworks' callbacks are made of.

    `schedule` and further options are those of `torch.profiler.profile`; without a schedule steps 5 to 7 are profiled. `compress`, `rank` and
    `world_size` are those of `trace_handler`.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        schedule: Any = None,
        compress: bool = True,
        rank: int | None = None,
        world_size: int | None = None,
        **options: Any,
    ) -> None:
        self._handler = trace_handler(folder, compress=compress, rank=rank, world_size=world_size)
        self._schedule, self._options = schedule, options
        self._profile: Any = None

    def start(self) -> None:
        """Begins the first step."""
        if self._profile is not None:
            return
        from importlib import import_module

        profiler: Any = import_module("torch.profiler")
        schedule = self._schedule or profiler.schedule(wait=4, warmup=1, active=3, repeat=1)
        self._profile = profiler.profile(schedule=schedule, on_trace_ready=self._handler, **self._options)
        self._profile.start()

    def step(self) -> None:
        """A step ends, and the next one begins."""
        if self._profile is not None:
            self._profile.step()

    def stop(self) -> None:
        """The loop is over; of steps that are being profiled there is a trace, too."""
        profile, self._profile = self._profile, None
        if profile is not None:
            profile.stop()

    def __enter__(self) -> StepProfile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
