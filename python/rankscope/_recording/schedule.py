"""Which steps are recorded, by the rules and names of `torch.profiler`."""

from __future__ import annotations

import enum
import warnings

from rankscope._native import Plan


class RecordingWarning(UserWarning):
    """Recording does less than was asked for. The program goes on."""


class ProfilerAction(enum.IntEnum):
    """What a step is for."""

    NONE = 0
    """Nothing is recorded."""
    WARMUP = 1
    """The recorder gets going; what it records is thrown away."""
    RECORD = 2
    """The step is recorded."""
    RECORD_AND_SAVE = 3
    """The step is recorded, and is the last of its cycle: `on_trace_ready` is called after it."""


class schedule:  # noqa: N801 (torch's name)
    """Cycles of steps: leave out `wait`, warm up in `warmup`, record `active`, and so again, `repeat` times (0: for ever).

    `skip_first` steps come before the first cycle; with `skip_first_wait` that goes without its `wait`. A schedule is a function
    from the number of a step to a `ProfilerAction`; any other such function will do as well.
    """

    def __init__(
        self, *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
    ) -> None:
        self._numbers = (wait, warmup, active, repeat, skip_first, skip_first_wait)
        self._plan = Plan([int(number) for number in self._numbers])
        if self._plan.lacks_warmup():
            warnings.warn(
                "schedule: without warmup the first recorded step pays for the start of the recorder",
                RecordingWarning,
                stacklevel=2,
            )

    def __call__(self, step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError(f"steps count from 0, and {step} is before that")
        return ProfilerAction(self._plan.action(step))

    def __repr__(self) -> str:
        names = ("wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait")
        return f"schedule({', '.join(f'{name}={number}' for name, number in zip(names, self._numbers))})"


def always(_step: int) -> ProfilerAction:
    """Every step, handed over once, at the end."""
    return ProfilerAction.RECORD
