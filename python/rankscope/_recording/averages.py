"""What was recorded, summed up by name: `profile.key_averages()`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload


@dataclass(frozen=True)
class Average:
    """All spans of one name. Nanoseconds are whole; what is called `cpu_time` is in microseconds, as torch has it."""

    key: str
    category: str
    is_async: bool
    """Whether they belong to no thread: then they have a length, which includes waiting, and no time of their own."""
    count: int
    total_ns: int
    self_ns: int | None
    """Without what spans inside of them took."""
    p50_ns: int
    p99_ns: int
    max_ns: int

    @property
    def cpu_time_total(self) -> float:
        return self.total_ns / 1000

    @property
    def self_cpu_time_total(self) -> float:
        return (self.self_ns or 0) / 1000

    @property
    def cpu_time(self) -> float:
        return self.total_ns / 1000 / self.count if self.count else 0.0


_ORDERS = {
    "self_cpu_time_total": lambda row: row.self_cpu_time_total,
    "cpu_time_total": lambda row: row.cpu_time_total,
    "cpu_time": lambda row: row.cpu_time,
    "count": lambda row: row.count,
    "max": lambda row: row.max_ns,
}

_HEADINGS = ("Name", "Category", "Self", "Total", "Average", "99 %", "Max", "Calls")


class Averages(Sequence[Average]):
    """A row for each name, the one with most time of its own first."""

    def __init__(self, rows: Iterable[Average]) -> None:
        self._rows = list(rows)

    @overload
    def __getitem__(self, at: int) -> Average: ...
    @overload
    def __getitem__(self, at: slice) -> Averages: ...
    def __getitem__(self, at: int | slice) -> Average | Averages:
        return Averages(self._rows[at]) if isinstance(at, slice) else self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Average]:
        return iter(self._rows)

    def sorted_by(self, sort_by: str | None) -> Averages:
        """The same in another order, descending: self_cpu_time_total, cpu_time_total, cpu_time, count, max."""
        if sort_by is None:
            return self
        if sort_by not in _ORDERS:
            raise ValueError(f"cannot sort by {sort_by!r}: there are {', '.join(_ORDERS)}")
        return Averages(sorted(self._rows, key=_ORDERS[sort_by], reverse=True))

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_name_column_width: int = 60) -> str:
        """The rows as text, `row_limit` of them (all of them below 0)."""
        rows = list(self.sorted_by(sort_by))
        shown = rows if row_limit < 0 else rows[:row_limit]
        lines = [_HEADINGS, *(_cells(row, max_name_column_width) for row in shown)]
        widths = [max(len(line[at]) for line in lines) for at in range(len(_HEADINGS))]
        text = [_line(line, widths) for line in lines]
        text.insert(1, "  ".join("-" * width for width in widths))
        if len(shown) < len(rows):
            text.append(f"... and {len(rows) - len(shown)} more names")
        return "\n".join(text)

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        heading = "".join(f"<th>{heading}</th>" for heading in _HEADINGS)
        rows = ("".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(row, 120)) for row in self._rows[:100])
        return f"<table><tr>{heading}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _cells(row: Average, name_width: int) -> tuple[str, ...]:
    name = row.key if len(row.key) <= name_width else row.key[: max(name_width - 3, 1)] + "..."
    own = "" if row.self_ns is None else _time(row.self_ns)
    average = row.total_ns // row.count if row.count else 0
    return (name, row.category, own, _time(row.total_ns), _time(average), _time(row.p99_ns), _time(row.max_ns), str(row.count))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    aligned = [cell.ljust(width) if at < 2 else cell.rjust(width) for at, (cell, width) in enumerate(zip(cells, widths))]
    return "  ".join(aligned).rstrip()


def _time(ns: int) -> str:
    for unit, scale in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns >= scale:
            return f"{ns / scale:.3f} {unit}"
    return f"{ns} ns"
