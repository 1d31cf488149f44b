"""How far the clocks of ranks are apart, by messages of the job's own process group: a check beside the probes, on other ways and by other code.

Rank 0 sends a message and gets an answer. Nothing arrives before it is sent, so that both together bound the difference of the clocks. The
narrowest of many exchanges counts. It is wider than what probes find, since a collective library and Python lie on the way, and as sure.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ClockCheck:
    """What messages say of the raw monotonic clock of a rank's host, and whether the probes can be right."""

    rank: int
    node: int
    lo_ns: int
    """The clock of `rank` less that of rank 0 is at least this."""
    hi_ns: int
    """And at most this."""
    at_ns: int
    """When, by the clock of rank 0."""
    probes_ns: int | None = None
    """What the probes say of the same, where they say something."""
    agrees: bool | None = None
    """Whether that is possible, with the bound that the probes give."""


def clock_check(
    folder: str | os.PathLike[str] | None = None, *, node: int | None = None, group: Any = None, rounds: int = 64
) -> list[ClockCheck]:
    """Exchanges messages between rank 0 of `group` and each of the others; all of them have to call it. Rank 0 gets an entry for each of the
    others, everybody else an empty list.

    `folder` is the `clock/` of a run whose agents have measured until now; then each entry says whether that fits. `node` is the number
    of this process's node there, by default GROUP_RANK, or its rank.
    """
    from importlib import import_module

    torch: Any = import_module("torch")
    dist: Any = import_module("torch.distributed")
    device = "cuda" if dist.get_backend(group) == "nccl" else "cpu"
    ranks = dist.get_process_group_ranks(group if group is not None else dist.group.WORLD)
    own = ranks.index(dist.get_rank())
    number = int(os.environ.get("GROUP_RANK", own)) if node is None else node
    checks: list[ClockCheck] = []
    for other in range(1, len(ranks)):
        if own == 0:
            told, found = _ask(torch, dist, ranks[other], group, device, rounds)
            checks.append(_compared(folder, ranks[other], number, told, found))
        elif own == other:
            _answer(torch, dist, ranks[0], group, device, rounds, number)
    return checks


def _raw() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def _ask(torch: Any, dist: Any, peer: int, group: Any, device: str, rounds: int) -> tuple[int, tuple[int, int, int]]:
    best: tuple[int, int, int] | None = None
    node = 0
    question = torch.zeros(1, dtype=torch.int64, device=device)
    answer = torch.zeros(3, dtype=torch.int64, device=device)
    for _ in range(max(1, rounds)):
        sent = _raw()
        dist.send(question, peer, group=group)
        dist.recv(answer, peer, group=group)
        came, left, node = answer.tolist()
        lo, hi = left - _raw(), came - sent
        if best is None or hi - lo < best[1] - best[0]:
            best = (lo, hi, sent)
    assert best is not None
    return node, best


def _answer(torch: Any, dist: Any, peer: int, group: Any, device: str, rounds: int, node: int) -> None:
    question = torch.zeros(1, dtype=torch.int64, device=device)
    for _ in range(max(1, rounds)):
        dist.recv(question, peer, group=group)
        # Of a device it is there when it has been read.
        question.tolist()
        came = _raw()
        dist.send(torch.tensor([came, _raw(), node], dtype=torch.int64, device=device), peer, group=group)


def _compared(
    folder: str | os.PathLike[str] | None, rank: int, own: int, node: int, found: tuple[int, int, int]
) -> ClockCheck:
    lo, hi, at = found
    if folder is None:
        return ClockCheck(rank, node, lo, hi, at)
    mine, theirs = _probed(Path(folder), own, at), _probed(Path(folder), node, at)
    if mine is None or theirs is None:
        return ClockCheck(rank, node, lo, hi, at)
    # Both are against the reference; what is sure of each adds up.
    probes = theirs[0] - mine[0]
    slack = theirs[1] + mine[1]
    return ClockCheck(rank, node, lo, hi, at, probes, lo <= probes + slack and probes - slack <= hi)


def _probed(folder: Path, node: int, at_raw: int) -> tuple[int, int] | None:
    """The raw clock of `node` less the host clock of the reference, when rank 0's raw clock shows about `at_raw`, and how far it may be off."""
    headers = [line for line in _lines(folder / f"windows-node{node}.jsonl") if line.get("meta") and "host_minus_raw_ns" in line]
    rows = _lines(folder / "offsets.jsonl")
    reference = next((line.get("reference") for line in reversed(rows) if line.get("meta")), 0)
    if not headers:
        return None
    shift = headers[-1]["host_minus_raw_ns"]
    if node == reference:
        return -shift, 0
    known = [line for line in rows if line.get("node_id") == node and line.get("reachable", True) and "at_ns" in line]
    if not known:
        return None
    row = known[-1]
    passed = at_raw + shift - row["at_ns"]
    drift = round(row.get("skew_ppb", 0) * passed / 1e9)
    bounds = [abs(row[key] - row["offset_ns"]) for key in ("bound_lo_ns", "bound_hi_ns") if key in row]
    # The skew is not known better than some parts per million.
    return row["offset_ns"] + drift - shift, max(bounds, default=0) + abs(passed) // 1_000_000


def _lines(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_text()
    except OSError:
        return []
    # A last line without an end was cut off.
    return [json.loads(line) for line in text.split("\n")[:-1] if line]
