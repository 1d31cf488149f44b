"""Which GPUs a profile is of: what the run's copy of a trace of torch.profiler says of them, as `rankscope.torch.trace_handler` does.

Processes number the GPUs that they see, so that only UUIDs tell whose counters are whose. torch tells them of NVIDIA's GPUs, where it has
brought CUDA up by itself; to ask it otherwise would bring it up. Older versions of torch do not, and then CUDA_VISIBLE_DEVICES may. Beside
them goes the wall clock, which such traces are stamped with, at the profiler's start and now, as the counters are on the raw one.

The job's own file is left alone, and so is a copy of which anything is not as expected. A compressed one cannot be added to.
"""

import os
import sys
import time

# More than a host has.
_DEVICES_MAX = 256

_first = None


def starts():
    """A profiler of this process starts."""
    global _first
    try:
        _first = _clock()
    except Exception:
        # Not every system has a raw clock.
        _first = None


def add(path):
    """Adds to the trace at `path` what is known of this process's GPUs, if anything is."""
    devices = _devices() if _first is not None else []
    if devices:
        import json

        _put_last(path, json.dumps({"rankscope": {"clock": [_first, _clock()], "devices": devices}})[1:-1].encode())


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


def _clock():
    best = None
    for _ in range(8):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        wall = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        half = (after - before + 1) // 2
        if best is None or half < best["half_width_ns"]:
            best = {"sys_clock_ns": wall, "raw_clock_ns": before + (after - before) // 2, "half_width_ns": half}
    return best


def _devices():
    cuda, version = sys.modules.get("torch.cuda"), sys.modules.get("torch.version")
    try:
        # UUIDs that torch has for GPUs of AMD are not those that their driver tells.
        if cuda is None or getattr(version, "hip", None) or not cuda.is_initialized():
            return []
        visible = _visible()
        found = []
        for index in range(min(cuda.device_count(), _DEVICES_MAX)):
            uuid = getattr(cuda.get_device_properties(index), "uuid", None)
            if uuid is None and index < len(visible):
                uuid = visible[index]
            if uuid is not None:
                uuid = str(uuid)
                found.append({"index": index, "uuid": (uuid[4:] if uuid.startswith("GPU-") else uuid).lower()})
        return found
    except Exception:
        return []


def _visible():
    """UUIDs by the numbers of this process, where CUDA_VISIBLE_DEVICES names whole ones; an entry that it does not is nothing."""
    listed = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    return [entry.strip() if entry.strip().startswith("GPU-") and len(entry.strip()) == 40 else None for entry in listed]
