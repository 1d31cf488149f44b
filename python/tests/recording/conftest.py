"""What the tests of recording share: spans of a trace, and programs in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import rankscope


@pytest.fixture(autouse=True)
def no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test is part of a run but by its own word."""
    for name in ("RANKSCOPE_RAW_DIR", "RANKSCOPE_RUN_DIR", "RANKSCOPE_RING", "RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def events(tmp_path: Path) -> Callable[[rankscope.profile], list[dict]]:
    """The events of a profile, as its Chrome trace has them."""

    def events(profile: rankscope.profile) -> list[dict]:
        path = tmp_path / "events.json"
        profile.export_chrome_trace(path)
        return json.loads(path.read_text())["traceEvents"]

    return events


@pytest.fixture
def spans(events) -> Callable[..., list[dict]]:
    """Its spans, by their start, of one category if asked for."""

    def spans(profile: rankscope.profile, category: str | None = None) -> list[dict]:
        found = [event for event in events(profile) if event["ph"] == "X" and category in (None, event.get("cat"))]
        return sorted(found, key=lambda span: (span["ts"], -span["dur"]))

    return spans


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program; its warnings are shown each time."""

    def run(program: str, *, environment: dict[str, str] | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "program.py"
        path.write_text(program)
        command = [sys.executable, "-W", "always", str(path)]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, timeout=120, env={**os.environ, **(environment or {})}
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    return run
