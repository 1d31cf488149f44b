"""What notebooks show. Whatever comes out of a trace is text there, never markup."""

from __future__ import annotations

from html import escape
from typing import Any


def table(name: str, columns: dict[str, list[Any]], rows: int) -> str:
    """The table called `name`, of which `columns` has the first of its `rows`."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in zip(*columns.values()))
    shown = len(next(iter(columns.values()), []))
    more = f"<p>{rows - shown} more rows</p>" if rows > shown else ""
    return f"<div><b>{escape(name)}</b><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"


def answer(title: str, text: str | None, tables: dict[str, int]) -> str:
    """An answer: what the command prints of it, and how many rows its tables have."""
    drawn = f"<pre>{escape(text)}</pre>" if text else ""
    names = "".join(f"<tr><td><code>{escape(name)}</code></td><td>{rows}</td></tr>" for name, rows in tables.items())
    held = f"<details><summary>{len(tables)} tables</summary><table><tr><th>table</th><th>rows</th></tr>{names}</table></details>"
    return f"<div><b>{escape(title)}</b>{drawn}{held}</div>"


def _cell(value: Any) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td style="text-align: right">{value:,}</td>'
    return f"<td>{escape(f'{value:.6g}' if isinstance(value, float) else str(value))}</td>"
