"""Whole numbers as they are asked for: one that does not fit is refused by its name, before anything else sees it."""

from __future__ import annotations

import operator

from rankscope.dispatch._errors import DispatchError, PlanError

# Ranks, tokens and widths of rows have 32 bits; sizes in bytes have 64.
BITS_32 = (1 << 32) - 1
BITS_64 = (1 << 64) - 1


def ensure_whole(error: type[DispatchError] = PlanError, most: int = BITS_32, /, **numbers: object) -> None:
    """Refuses what is no whole number from 0 to `most`. None is no number, and left alone."""
    for name, value in numbers.items():
        if value is None:
            continue
        try:
            number = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(f"{name} must be a whole number, not {value!r}") from None
        if not 0 <= number <= most:
            raise error(f"{name} is {number}: whole numbers from 0 to {most} are taken")
