"""The command that reads what was recorded."""

from __future__ import annotations

import subprocess
import sys


def command(*words: object) -> subprocess.CompletedProcess[str]:
    """What the command `rankscope` says."""
    return subprocess.run([sys.executable, "-m", "rankscope", *map(str, words)], capture_output=True, text=True, timeout=120)
