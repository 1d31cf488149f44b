"""Collectives of torch.distributed on the rank's live page: which one it is in, for whoever watches the job while it runs.

The methods of torch's process groups are wrapped, not the functions of `torch.distributed`: those are what compilers know by identity, and programs
import them by name. A method tells that the rank comes, and the wait for its work that it leaves. Only tensors of the host are told of: for others
the wait of the host says nothing about the device, and NCCL's plugin knows. Torch's own C++ calls process groups below these methods, as the
reducer of DistributedDataParallel does, and is not heard. Whatever goes wrong here ends the telling and never the job.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from rankscope import _native

_MODULE = "torch._C._distributed_c10d"

# Methods of process groups: the operation, which argument is what each rank moves, and whether that is gathered from all of them.
_METHODS: dict[str, tuple[str, int | None, bool]] = {
    "allreduce": ("all_reduce", 0, False),
    "allreduce_coalesced": ("all_reduce", 0, False),
    "allgather": ("all_gather", 0, True),
    "_allgather_base": ("all_gather", 0, True),
    "allgather_into_tensor_coalesced": ("all_gather", 0, True),
    "reduce_scatter": ("reduce_scatter", 1, False),
    "_reduce_scatter_base": ("reduce_scatter", 1, False),
    "reduce_scatter_tensor_coalesced": ("reduce_scatter", 1, False),
    "broadcast": ("broadcast", 0, False),
    "alltoall": ("all_to_all", 1, False),
    "alltoall_base": ("all_to_all", 1, False),
    "reduce": ("reduce", 0, False),
    "gather": ("gather", 1, False),
    "scatter": ("scatter", 0, False),
    "barrier": ("barrier", None, False),
}
# Back ends whose work is over when the host has waited for it.
_OF_HOST = ("gloo", "mpi")


class Telling:
    """Tells of collectives once torch.distributed is there."""

    def __init__(self) -> None:
        self._is_on = True
        self._lock = threading.Lock()
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        # Work that nobody has waited for, by its identity.
        self._open: dict[int, tuple[weakref.ref[Any], _native.InCollective]] = {}
        self._has_wrapped = False

    def begin(self) -> None:
        """Wraps torch's process groups, if torch has been imported by now; called again until it has."""
        module = None if self._has_wrapped else sys.modules.get(_MODULE)
        if module is None or not self._is_on:
            return
        self._has_wrapped = True
        try:
            for name, what in _METHODS.items():
                original = getattr(module.ProcessGroup, name, None)
                if original is not None:
                    setattr(module.ProcessGroup, name, self._told(original, *what))
            module.Work.wait = self._waited(module.Work.wait)
        except Exception:
            self._is_on = False

    def _told(self, original: Callable[..., Any], op: str, moved: int | None, is_gathered: bool) -> Callable[..., Any]:
        def method(group: Any, *args: Any, **kwargs: Any) -> Any:
            inside = self._enter(group, args, op, moved, is_gathered) if self._is_on and _native.has_page() else None
            if inside is None:
                return original(group, *args, **kwargs)
            try:
                work = original(group, *args, **kwargs)
            except BaseException:
                inside.leave()
                raise
            self._keep(work, inside)
            return work

        method.__name__, method.__doc__ = getattr(original, "__name__", op), getattr(original, "__doc__", None)
        method.__wrapped__ = original  # type: ignore[attr-defined]
        return method

    def _waited(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return original(work, *args, **kwargs)
            finally:
                kept = self._open.pop(id(work), None)
                if kept is not None:
                    kept[1].leave()

        wait.__wrapped__ = original  # type: ignore[attr-defined]
        return wait

    def _enter(
        self, group: Any, args: tuple[Any, ...], op: str, moved: int | None, is_gathered: bool
    ) -> _native.InCollective | None:
        try:
            members = int(group.size())
            if moved is None:
                if str(group.name()) not in _OF_HOST:
                    return None
                moves = 0
            else:
                sizes = _sizes(args[moved] if moved < len(args) else ())
                if sizes is None:
                    return None
                moves = sum(sizes) // (members if is_gathered else 1)
            return _native.enter_collective(_name(group), members, self._number(group), op, moves)
        except Exception:
            self._is_on = False
            return None

    def _number(self, group: Any) -> int:
        """The number of the collective in its group. Torch counts those of its own C++, too; where it does not, they are counted here."""
        try:
            counted = int(group._get_sequence_number_for_group())
        except Exception:
            counted = 0
        with self._lock:
            number = max(counted, self._numbers.get(group, -1) + 1)
            self._numbers[group] = number
        return number

    def _keep(self, work: Any, inside: _native.InCollective) -> None:
        """The rank leaves with the wait for its work, or when nobody can wait for that any more."""
        key = id(work)
        try:
            if work is None:
                raise TypeError("there is nothing to wait for")

            def gone(gone: weakref.ref[Any]) -> None:
                kept = self._open.get(key)
                if kept is not None and kept[0] is gone:
                    del self._open[key]
                    inside.leave()

            self._open[key] = (weakref.ref(work, gone), inside)
        except TypeError:
            inside.leave()


def _sizes(moved: Any) -> list[int] | None:
    """Bytes of each tensor, of lists in lists too; None where one is not the host's."""
    if isinstance(moved, (list, tuple)):
        lists = [_sizes(one) for one in moved]
        return None if any(sizes is None for sizes in lists) else [size for sizes in lists for size in sizes or ()]
    return [int(moved.numel()) * int(moved.element_size())] if moved.device.type == "cpu" else None


def _name(group: Any) -> str:
    """What all ranks call it, and what people do."""
    name, description = str(getattr(group, "group_name", "")), str(getattr(group, "group_desc", ""))
    if description == "default_pg":
        return description
    return name if description in ("", "undefined", name) else f"{name} ({description})"


telling = Telling()
