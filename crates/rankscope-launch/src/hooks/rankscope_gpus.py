"""Which GPUs a profile is of: what the run's copy of a trace of torch.profiler says of them, as `rankscope.torch.trace_handler` does.

Processes number the GPUs that they see, so that only UUIDs tell whose counters are whose; `rankscope_job`, the package's own, knows them.
Beside them goes the wall clock, which such traces are stamped with, at the profiler's start and now, as the counters are on the raw one.

The job's own file is left alone, and so is a copy of which anything is not as expected. A compressed one cannot be added to.
"""

import os

import rankscope_job

_first = None


def starts():
    """A profiler of this process starts."""
    global _first
    try:
        _first = rankscope_job.clock_anchor()
    except Exception:
        # Not every system has a raw clock.
        _first = None


def add(path):
    """Adds to the trace at `path` what is known of this process's GPUs, if anything is."""
    devices = rankscope_job.devices() if _first is not None else []
    if devices:
        import json

        _put_last(path, json.dumps({"rankscope": {"clock": [_first, rankscope_job.clock_anchor()], "devices": devices}})[1:-1].encode())


def _put_last(path, member):
    """Makes `member` the last one of the object in the file, which is otherwise as it was."""
    with open(path, "r+b") as file:
        head = file.read(1 << 20)
        end = file.seek(0, os.SEEK_END)
        tail_at = file.seek(max(0, end - 4096))
        tail = file.read()
        kept = tail.rstrip()
        if not head.lstrip().startswith(b"{") or not kept.endswith(b"}") or b'"rankscope"' in head + tail:
            return
        before = kept[:-1].rstrip()
        at = tail_at + len(before)
        try:
            file.seek(at)
            file.write((b"" if before.endswith(b"{") else b",\n") + member + b"}\n")
            file.truncate()
            file.flush()
        except OSError:
            # No room: what was there had some.
            file.seek(at)
            file.write(tail[len(before) :])
            file.truncate(end)
