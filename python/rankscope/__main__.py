"""The command `rankscope`, also as `python -m rankscope`."""

import signal
import sys

from rankscope._native import command


def main() -> int:
    # The command is stopped as any program is, not by an exception that nobody would see while it computes.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command(["rankscope", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
