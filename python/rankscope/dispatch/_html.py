"""What a notebook shows: a small table, and bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a title."""
    heads = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><caption>{escape(title)}</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def bars(title: str, before: Sequence[float], after: Sequence[float]) -> str:
    """The load of every rank over the mean: as it lay, and as it is planned."""
    most = max([1e-9, *before, *after])
    lines = []
    for rank, (was, now) in enumerate(zip(before, after, strict=True)):
        wide, thin = (f"width:{100 * load / most:.1f}%" for load in (now, was))
        lines.append(
            f"<tr><td>{rank}</td><td>{was:.3f}</td><td>{now:.3f}</td><td style='width:20em'>"
            f"<div style='height:.5em;background:#4269d0;{wide}'></div>"
            f"<div style='height:.2em;background:#bbb;{thin}'></div></td></tr>"
        )
    head = "<tr><th>rank</th><th>before</th><th>after</th><th></th></tr>"
    return f"<table><caption>{escape(title)}</caption><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"
