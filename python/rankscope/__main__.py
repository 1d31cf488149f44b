"""The command `rankscope`, also as `python -m rankscope`."""

import signal
import sys
from pathlib import Path

from rankscope._native import command

_START = Path(__file__).with_name("_start") / "start.py"


def main() -> int:
    # The command is stopped as any program is, not by an exception that nobody would see while it computes.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    started_by = [sys.executable, str(_START)] if sys.executable else []
    return command(["rankscope", *sys.argv[1:]], started_by)


if __name__ == "__main__":
    sys.exit(main())
