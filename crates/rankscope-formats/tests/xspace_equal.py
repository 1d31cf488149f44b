"""Compares two .xplane.pb files as JAX reads them: planes, lines, events and statistics, all in order.

    python xspace_equal.py A B

Prints "equal: N events", or the first difference and exits with 1. Needs the package jax.
"""

import sys

from jax.profiler import ProfileData


def facts(path):
    """Everything the reader shows of a file: (where, value) pairs; events are marked to be counted."""
    for p, plane in enumerate(ProfileData.from_file(path).planes):
        yield f"plane {p}", False, (plane.name, list(plane.stats))
        for l, line in enumerate(plane.lines):
            yield f"plane {p} line {l}", False, line.name
            for e, event in enumerate(line.events):
                value = (event.name, event.start_ns, event.duration_ns, list(event.stats))
                yield f"plane {p} line {l} event {e}", True, value


def main(a, b):
    end = ("the end", False, None)
    left, right = facts(a), facts(b)
    events = 0
    while True:
        ours, theirs = next(left, end), next(right, end)
        if repr(ours) != repr(theirs):
            print(f"{a}: {ours[0]}: {ours[2]!r}\n{b}: {theirs[0]}: {theirs[2]!r}")
            return 1
        if ours is end:
            print(f"equal: {events} events")
            return 0
        events += ours[1]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
