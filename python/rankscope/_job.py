"""Which rank of a job this process is, and clocks of its host: what a trace should say of itself.

Frameworks that are not imported yet are not imported for this.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from typing import Any

_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX")
_WORLDS = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")


def _number(names: tuple[str, ...]) -> int | None:
    for name in names:
        try:
            return int(os.environ[name])
        except (KeyError, ValueError):
            pass
    return None


def rank() -> int:
    """The number of this process in its job: by torch.distributed or jax.distributed where they run, else by its launcher, else 0."""
    dist: Any = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized():
        return int(dist.get_rank())
    state: Any = getattr(sys.modules.get("jax._src.distributed"), "global_state", None)
    if getattr(state, "client", None) is not None:
        return int(state.process_id)
    return _number(_RANKS) or 0


def world_size() -> int | None:
    """How many ranks the job has, where that is known."""
    dist: Any = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized():
        return int(dist.get_world_size())
    state: Any = getattr(sys.modules.get("jax._src.distributed"), "global_state", None)
    if getattr(state, "client", None) is not None:
        return int(state.num_processes)
    return _number(_WORLDS)


def clock_anchor() -> dict[str, int]:
    """The wall clock beside the raw monotonic clock, with how far the pair may be off: the closest of a few readings."""
    best: dict[str, int] | None = None
    for _ in range(8):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        wall = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        half = (after - before + 1) // 2
        if best is None or half < best["half_width_ns"]:
            best = {"sys_clock_ns": wall, "raw_clock_ns": before + (after - before) // 2, "half_width_ns": half}
    assert best is not None
    return best


def about() -> dict[str, Any]:
    """What a trace should say of its process."""
    return {"rank": rank(), "world_size": world_size(), "host": socket.gethostname(), "pid": os.getpid(), "boot_id": _boot_id()}


# More than a host has.
_DEVICES_MAX = 256


def devices() -> list[dict[str, Any]]:
    """The GPUs that this process sees through torch: by which number, their UUIDs, and where on the bus they are.

    None where torch has not brought CUDA up in this process by itself: to ask would. GPUs of AMD are left out, because the UUIDs that
    torch has for them are not those that their driver tells. Older versions of torch tell none, and then CUDA_VISIBLE_DEVICES may.
    """
    cuda: Any = sys.modules.get("torch.cuda")
    version: Any = sys.modules.get("torch.version")
    try:
        if cuda is None or getattr(version, "hip", None) or not cuda.is_initialized():
            return []
        visible = _visible() + [None] * _DEVICES_MAX
        count = min(cuda.device_count(), _DEVICES_MAX)
        found = [_device(index, cuda.get_device_properties(index), visible[index]) for index in range(count)]
    except Exception:
        # A trace is worth more than what it could have said of its devices.
        return []
    return [device for device in found if len(device) > 1]


def _visible() -> list[str | None]:
    """UUIDs by the numbers of this process, where CUDA_VISIBLE_DEVICES names whole ones."""
    listed = [entry.strip() for entry in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    return [entry if entry.startswith("GPU-") and len(entry) == 40 else None for entry in listed]


def _device(index: int, properties: Any, visible: str | None) -> dict[str, Any]:
    device: dict[str, Any] = {"index": index}
    # Both are told by newer versions only.
    uuid = getattr(properties, "uuid", None)
    uuid = visible if uuid is None else uuid
    if uuid is not None:
        device["uuid"] = str(uuid).removeprefix("GPU-").lower()
    place: list[Any] = [getattr(properties, name, None) for name in ("pci_domain_id", "pci_bus_id", "pci_device_id")]
    if all(isinstance(number, int) for number in place):
        device["pci"] = "{:04x}:{:02x}:{:02x}.0".format(*place)
    return device


def _boot_id() -> str | None:
    # Raw clocks of one host can be compared until it boots again.
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return None
