"""What torch's own fast range costs, off and on: prints one JSON object.

`_RecordFunctionFast` is what torch itself puts around hot Python code; nothing of torch records a range for less.
"""

import json
import statistics
import time

import torch
from torch._C._profiler import _RecordFunctionFast
from torch.profiler import ProfilerActivity, profile

SPANS = 20_000
ROUNDS = 15


def span_ns():
    begin_ns = time.perf_counter_ns()
    for _ in range(SPANS):
        with _RecordFunctionFast("span"):
            pass
    return (time.perf_counter_ns() - begin_ns) / SPANS


def loop_ns():
    begin_ns = time.perf_counter_ns()
    for _ in range(SPANS):
        pass
    return (time.perf_counter_ns() - begin_ns) / SPANS


def main():
    off, on = [], []
    for _ in range(ROUNDS):
        off.append(span_ns() - loop_ns())
        with profile(activities=[ProfilerActivity.CPU]):
            on.append(span_ns() - loop_ns())
    print(
        json.dumps(
            {
                "version": torch.__version__,
                "off_ns": statistics.median(off),
                "span_ns": statistics.median(on),
                "min": {"off_ns": min(off), "span_ns": min(on)},
            }
        )
    )


main()
