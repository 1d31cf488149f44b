"""The questions that the command answers, as functions. Options have the command's names and defaults."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from typing import Any, Literal, Union

from rankscope import _native
from rankscope._answers import Alignment, Comparison, Report, Validation, WhatIf
from rankscope._process import works_here
from rankscope._progress import Listener, listener

Path = Union[str, "PathLike[str]"]
Paths = Union[Path, Iterable[Path]]


def report(
    paths: Paths,
    *,
    out: Path | None = None,
    step: int | None = None,
    rank: int | None = None,
    window: int | str = "all",
    tables: str | Iterable[str] = (),
    cards: Path | None = None,
    gpu_only: bool = False,
    classes: Literal["default", "tracelens"] = "default",
    comm_pattern: str | Iterable[str] = (),
    partial: bool = False,
    xlsx: Path | None = None,
    layout: Literal["aorta"] | None = None,
    no_answers: bool = False,
    no_timeline: bool = False,
    slim: bool = False,
    memory: str | int | None = None,
    clocks: Path | None = None,
    ranks_per_node: int | None = None,
    from_traces: bool = False,
    as_recorded: bool = False,
    progress: bool | Listener | None = None,
) -> Report:
    """Report on one run: where the time goes, who is late, and what limits it.

    Args:
        paths: Files, directories, archives or patterns of the traces of one run; a run directory; or a folder of parts.
        out: Folder for report.json, report.html and timeline.pftrace. Nothing is written unless it is given.
        step: Report on this step only.
        rank: Report on this rank only; collectives are still matched across all.
        window: Where a profiler recorded several windows, use only this one: its number from 1, "first", "last" or "all".
        tables: Tables to add: "all", or names such as "ops_summary" and "kernel_summary".
        cards: TOML table of cards whose figures make rooflines, beside those that are known.
        gpu_only: Keep device work, launches and annotations only: less memory.
        classes: How device work is classified.
        comm_pattern: Regular expressions of kernels that also count as communication.
        partial: Report even if ranks are missing or files cannot be read.
        xlsx: Also write the report as an Excel workbook, with every table on a sheet of its own.
        layout: Also write the folder of workbooks that other tools' scripts expect, into `out`.
        no_answers: Do not answer why ranks are late and what would help; takes less time and memory.
        no_timeline: Do not write timeline.pftrace into `out`.
        slim: Leave arguments and memory counters out of the timeline: about half the size.
        memory: Memory for traces that are kept for the timeline, such as "8GB".
        clocks: Folder or run directory with clocks that agents measured.
        ranks_per_node: Number of consecutive ranks per node, where nothing names the hosts.
        from_traces: Align by the collectives alone, even if clocks were measured.
        as_recorded: Leave every timestamp as recorded.
        progress: A bar on stderr (None: where that is a terminal), or a function to be told.

    Raises:
        UsageError: For options that make no sense.
        InputError: For what cannot be read; the text says which file, why and what to do.
    """
    job = _job(
        paths=_paths(paths),
        partial=partial,
        clocks=clocks,
        ranks_per_node=ranks_per_node,
        from_traces=from_traces,
        as_recorded=as_recorded,
        window=window,
        gpu_only=gpu_only,
        classes=classes,
        comm_pattern=comm_pattern,
    )
    options = {
        "job": job,
        "out": _path(out),
        "step": step,
        "rank": rank,
        "tables": _words(tables),
        "cards": _path(cards),
        "xlsx": _path(xlsx),
        "layout": layout,
        "no_answers": no_answers,
        "no_timeline": no_timeline,
        "slim": slim,
        "memory": None if memory is None else str(memory),
    }
    return Report(_native.report(options, listener(progress)))


def compare(
    base: Path,
    *tests: Path,
    repeat: str | Iterable[str] = (),
    run_spread: float | None = None,
    convention: Literal["rankscope", "aorta"] = "rankscope",
    margin: float = 0.01,
    policy: Path | None = None,
    gpu_only: bool = False,
    classes: Literal["default", "tracelens"] = "default",
    comm_pattern: str | Iterable[str] = (),
    partial: bool = False,
    clocks: Path | None = None,
    ranks_per_node: int | None = None,
    from_traces: bool = False,
    as_recorded: bool = False,
    progress: bool | Listener | None = None,
) -> Comparison:
    """Compare runs: what changed, by how much, how sure that is, and what it is made of.

    Args:
        base: A run directory, a folder of traces, a folder of such runs, parts, or a report.json that was saved with all tables.
        tests: One such path or more.
        repeat: Further runs of a side: patterns, by their first letters that of the side they name, or SIDE=PATTERN.
        run_spread: Standard deviation between runs of one configuration, relative to their mean, such as 0.003.
        convention: Whose signs the figures side by side have.
        margin: The change of a time that counts as none, as a share of the base.
        policy: Hold the change against the policy in this TOML file; `passed` says what came of it.
        gpu_only, classes, comm_pattern, partial, clocks, ranks_per_node, from_traces, as_recorded, progress: As for `report`.
    """
    job = _job(
        paths=[],
        partial=partial,
        clocks=clocks,
        ranks_per_node=ranks_per_node,
        from_traces=from_traces,
        as_recorded=as_recorded,
        window="all",
        gpu_only=gpu_only,
        classes=classes,
        comm_pattern=comm_pattern,
    )
    options = {
        "job": job,
        "sides": [fspath(side) for side in (base, *tests)],
        "repeat": _words(repeat),
        "run_spread": run_spread,
        "convention": convention,
        "margin": margin,
        "policy": _path(policy),
    }
    return Comparison(_native.compare(options, listener(progress)))


def align(
    paths: Paths,
    *,
    out: Path | None = None,
    no_timeline: bool = False,
    partial: bool = False,
    window: int | str = "all",
    clocks: Path | None = None,
    ranks_per_node: int | None = None,
    from_traces: bool = False,
    as_recorded: bool = False,
    progress: bool | Listener | None = None,
) -> Alignment:
    """Put every rank on one clock, with the source and error bound of each clock.

    Args:
        paths: A run directory, the traces of one run, or the folder of parts.
        out: Folder for alignment.json and timeline.pftrace. Nothing is written unless it is given.
        no_timeline: Do not write timeline.pftrace into `out`.
        partial, window, clocks, ranks_per_node, as_recorded, progress: As for `report`.
        from_traces: Align by the collectives alone, and answer what they say about the clocks.
    """
    job = _job(
        paths=_paths(paths),
        partial=partial,
        clocks=clocks,
        ranks_per_node=ranks_per_node,
        from_traces=from_traces,
        as_recorded=as_recorded,
        window=window,
    )
    return Alignment(_native.align(job, _path(out), no_timeline, listener(progress)))


def validate(
    paths: Paths,
    *,
    align: Literal["none", "from-traces", "best"] | None = None,
    comm_pattern: str | Iterable[str] = (),
    partial: bool = False,
    clocks: Path | None = None,
    ranks_per_node: int | None = None,
    progress: bool | Listener | None = None,
) -> Validation:
    """Check traces for impossible or lost events: causality, torch's rules, nesting, flows.

    Args:
        paths: The traces of one run, or the folder of parts that `rankscope map --checks` made of them.
        align: The clocks on which collectives are checked; by default "best" for a run directory or with `clocks`, else "none".
        comm_pattern, partial, clocks, ranks_per_node, progress: As for `report`.
    """
    job = _job(paths=_paths(paths), partial=partial, clocks=clocks, ranks_per_node=ranks_per_node)
    return Validation(_native.validate(job, align, _words(comm_pattern), listener(progress)))


def what_if(
    paths: Paths,
    changes: str | Iterable[str] = (),
    *,
    top: int = 20,
    partial: bool = False,
    window: int | str = "all",
    gpu_only: bool = False,
    classes: Literal["default", "tracelens"] = "default",
    comm_pattern: str | Iterable[str] = (),
    clocks: Path | None = None,
    ranks_per_node: int | None = None,
    from_traces: bool = False,
    as_recorded: bool = False,
    progress: bool | Listener | None = None,
) -> WhatIf:
    """What would a step take if a rank, an operator, a collective or a link were faster?

    Args:
        paths: A run directory, the traces of one run, or the folder of parts.
        changes: Changes, all of them together, as `--set` takes them: "rank:3=median", "op:aten::mm=0.5x". Without any, single changes
            are tried, and the answer says which saves most.
        top: Rows of the ranking.
        partial, window, gpu_only, classes, comm_pattern, clocks, ranks_per_node, from_traces, as_recorded, progress: As for `report`.
    """
    job = _job(
        paths=_paths(paths),
        partial=partial,
        clocks=clocks,
        ranks_per_node=ranks_per_node,
        from_traces=from_traces,
        as_recorded=as_recorded,
        window=window,
        gpu_only=gpu_only,
        classes=classes,
        comm_pattern=comm_pattern,
    )
    return WhatIf(_native.what_if(job, _words(changes), top, listener(progress)))


def _job(
    *,
    paths: list[str],
    partial: bool,
    clocks: Path | None,
    ranks_per_node: int | None,
    from_traces: bool = False,
    as_recorded: bool = False,
    window: int | str = "all",
    gpu_only: bool = False,
    classes: str = "default",
    comm_pattern: str | Iterable[str] = (),
) -> dict[str, Any]:
    works_here()
    return {
        "paths": paths,
        "partial": partial,
        "clocks": _path(clocks),
        "ranks_per_node": ranks_per_node,
        "from_traces": from_traces,
        "as_recorded": as_recorded,
        "window": str(window),
        "gpu_only": gpu_only,
        "classes": classes,
        "comm_pattern": _words(comm_pattern),
    }


def _paths(paths: Paths) -> list[str]:
    """One path or several; text is one, although it could be iterated."""
    if isinstance(paths, (str, PathLike)):
        return [fspath(paths)]
    return [fspath(path) for path in paths]


def _path(path: Path | None) -> str | None:
    return None if path is None else fspath(path)


def _words(words: str | Iterable[str]) -> list[str]:
    return [words] if isinstance(words, str) else list(words)
