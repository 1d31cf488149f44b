"""The analysis as a program of a user uses it, for type checkers; run by a test, too."""

import sys

import rankscope
from rankscope.clock import fit


def late(folder: str) -> list[str]:
    report: rankscope.Report = rankscope.report(folder, tables=["annotations"], progress=False)
    steps: dict[str, list[object]] = report.steps.to_dict()
    assert set(steps["rank"]) == set(report.ranks.to_dict()["rank"])
    size: int | None = report.world_size
    assert size is None or size >= len(report.ranks)
    annotations: rankscope.Table = report.tables["annotations"]
    assert "name" in annotations.column_names
    return report.findings


def gate(base: str, test: str, policy: str) -> bool:
    try:
        compared: rankscope.Comparison = rankscope.compare(base, test, policy=policy)
    except rankscope.UsageError as error:
        print(error, file=sys.stderr)
        return False
    return compared.passed


def heard(stage: str, done: int, of: int) -> None:
    print(stage, done, of)


def clocks(folder: str, log: str) -> tuple[list[int], int]:
    aligned: rankscope.Alignment = rankscope.align(folder, progress=heard)
    offsets: list[int] = aligned.tables["ranks"].to_dict()["offset_ns"]
    return offsets, len(fit(log, window=2.0).windows)


if __name__ == "__main__":
    print(*late(sys.argv[1]), sep="\n")
