#!/usr/bin/env python3
"""Planning from Python beside the command: the planning alone, the call, what a rank needs of a plan, and the command as a process.

    python benches/python/dispatch_plan.py [--repeats 9] [--command target/release/rankscope]

Needs a release build of the package. Lengths are log-uniform from 512 to 131,072 tokens, as many as fill 65,536 tokens a rank, from a
fixed seed. Prints the median and the least of the repeats, in milliseconds.
"""

import argparse
import json
import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

from rankscope import dispatch

TOKENS_PER_RANK = 65_536


def lengths(ranks):
    draw, found, left = random.Random(1), [], ranks * TOKENS_PER_RANK
    while left > 0:
        found.append(min(int(2 ** draw.uniform(9, 17)), left))
        left -= found[-1]
    return found


def timed(call, repeats):
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return median(times), min(times)


def measured(ranks, command, repeats):
    """Rows of the table for so many ranks."""
    documents = lengths(ranks)
    plan = dispatch.plan(documents, ranks=ranks)
    inner = [1e3 * dispatch.plan(documents, ranks=ranks).seconds for _ in range(repeats)]
    yield "the planning alone", (median(inner), min(inner))
    yield "plan(...)", timed(lambda: dispatch.plan(documents, ranks=ranks), repeats)
    yield "plan.rank(0)", timed(lambda: plan.rank(0), repeats)
    yield "plan(...).to_dict()", timed(lambda: dispatch.plan(documents, ranks=ranks).to_dict(), repeats)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "documents.json"
        path.write_text(json.dumps(documents))
        words = [command, "dispatch", "plan", path, "--ranks", str(ranks), "--format", "json"]
        yield "the command, as a process", timed(lambda: subprocess.run(words, check=True, capture_output=True), repeats)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--repeats", type=int, default=9)
    options.add_argument("--command", default=shutil.which("rankscope"), help="the program; that in PATH if not given")
    chosen = options.parse_args()
    if chosen.command is None:
        options.error("no rankscope in PATH: name the program with --command")
    print(f"{'ranks':>6} {'documents':>9}  {'what':<28} {'median ms':>10} {'least ms':>10}")
    for ranks in (8, 64, 256, 1024):
        for what, (middle, least) in measured(ranks, chosen.command, chosen.repeats):
            print(f"{ranks:>6} {len(lengths(ranks)):>9}  {what:<28} {middle:>10.3f} {least:>10.3f}")


if __name__ == "__main__":
    main()
