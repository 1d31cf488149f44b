"""Arrows between spans, over threads."""

from __future__ import annotations

import itertools
from typing import Final

from rankscope._native import flow_point

_count = itertools.count(1)
_START, _STEP, _END = range(3)
# The recorder numbers its own arrows, by thread and from below.
_FIRST = 1 << 63


class flow:  # noqa: N801 (beside counter and instant)
    """An arrow that begins in the innermost span of this thread, now.

    `step` and `end` lead it to the span that is innermost where they are called, on any thread of this process.
    """

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self.id: Final = _FIRST + next(_count)
        flow_point(name, self.id, _START)

    def step(self) -> None:
        """It passes through here."""
        flow_point(self.name, self.id, _STEP)

    def end(self) -> None:
        """It ends here."""
        flow_point(self.name, self.id, _END)

    def __repr__(self) -> str:
        return f"flow({self.name!r}, id={self.id})"
