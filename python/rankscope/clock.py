"""Clocks, from what was measured of them."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Literal

from rankscope import _native
from rankscope._answers import ClockFit

__all__ = ["ClockFit", "fit"]


def fit(
    log: str | PathLike[str],
    *,
    window: str | float = "4s",
    estimator: Literal["band", "robust", "svm"] = "band",
    skew_change_ppb: int | None = None,
) -> ClockFit:
    """Fit the clock difference of two hosts to a raw probe log, window by window.

    Args:
        log: Tab-separated, plain or .gz: seq, a_tx_ns, b_rx_ns, b_tx_ns, a_rx_ns; 0 marks a missing stamp.
        window: Length of a window: "4s", "500ms", "250us", or a number of seconds.
        estimator: How the line is found.
        skew_change_ppb: How fast the skew between the clocks may change, in ppb per second; the bounds rest on it.
    """
    native, problems = _native.clock_fit(fspath(log), str(window), estimator, skew_change_ppb)
    return ClockFit(native, problems)
