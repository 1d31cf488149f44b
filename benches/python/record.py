"""What recording costs a Python program: rankscope beside torch, viztracer and yappi, where they are installed.

    python benches/python/record.py [--repeat N]

Every figure is the smallest of several repetitions of a loop, less the same loop without recording, so that other load of the
machine shows as little as may be. Every recorder runs in a process of its own. Install rankscope from a release build; figures
of another are worth nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable

CALLS = 2_000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--repeat", type=int, default=500, help="how often each loop runs [%(default)s]")
    options.add_argument("--one", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.one is not None:
        print(json.dumps(CASES[chosen.one][2](chosen.repeat)))
        return
    print(f"Python {platform.python_version()}, {platform.machine()}; {chosen.repeat} x {CALLS} calls, the smallest of them")
    print(f"{'what is recorded':46} {'with':28} {'each':>10}")
    for name, (what, module, _) in CASES.items():
        who = name.split(":")[0]
        if importlib.util.find_spec(module) is None:
            print(f"{what:46} {who:28} {'absent':>10}")
            continue
        said = subprocess.run([sys.executable, __file__, "--one", name, "--repeat", str(chosen.repeat)], capture_output=True, text=True)
        print(f"{what:46} {who:28} {_figure(said)}")


def _figure(said: subprocess.CompletedProcess[str]) -> str:
    if said.returncode != 0:
        return f"{'failed':>10}  {said.stderr.strip().splitlines()[-1] if said.stderr.strip() else ''}"
    ns = json.loads(said.stdout.splitlines()[-1])
    return f"{ns / 1e6:>7.1f} ms" if ns >= 1e6 else f"{ns:>7.1f} ns"


def smallest_ns(loop: Callable[[], None], repeat: int) -> float:
    """Nanoseconds a call."""
    best = float("inf")
    loop()
    for _ in range(repeat):
        before = time.perf_counter_ns()
        loop()
        best = min(best, time.perf_counter_ns() - before)
    return best / CALLS


def empty() -> None:
    for _ in range(CALLS):
        pass


def work() -> None:
    pass


def calls() -> None:
    for _ in range(CALLS):
        work()


def spans_of(make: Callable[[str], object]) -> Callable[[], None]:
    def loop() -> None:
        for _ in range(CALLS):
            with make("forward"):  # type: ignore[attr-defined]
                pass

    return loop


def span_again(span: object) -> Callable[[], None]:
    def loop() -> None:
        for _ in range(CALLS):
            with span:  # type: ignore[attr-defined]
                pass

    return loop


def rankscope_profile(**options: object) -> object:
    import rankscope

    return rankscope.profile(**{"python": False, "garbage_collection": False, "max_bytes": 4 << 30, **options})


def rankscope_with(repeat: int) -> float:
    import rankscope

    loop = spans_of(rankscope.record_function)
    with rankscope_profile():  # type: ignore[attr-defined]
        return smallest_ns(loop, repeat) - smallest_ns(empty, repeat)


def rankscope_with_off(repeat: int) -> float:
    import rankscope

    return smallest_ns(spans_of(rankscope.record_function), repeat) - smallest_ns(empty, repeat)


def rankscope_with_again(repeat: int) -> float:
    import rankscope

    loop = span_again(rankscope.record_function("forward"))
    with rankscope_profile():  # type: ignore[attr-defined]
        return smallest_ns(loop, repeat) - smallest_ns(empty, repeat)


def rankscope_with_arguments(repeat: int) -> float:
    import rankscope

    loop = spans_of(lambda name: rankscope.record_function(name, batch=32))
    with rankscope_profile():  # type: ignore[attr-defined]
        return smallest_ns(loop, repeat) - smallest_ns(empty, repeat)


def rankscope_decorator(repeat: int) -> float:
    import rankscope

    plain = smallest_ns(calls, repeat)
    decorated = rankscope.record_function("work")(work)

    def loop() -> None:
        for _ in range(CALLS):
            decorated()

    with rankscope_profile():  # type: ignore[attr-defined]
        return smallest_ns(loop, repeat) - plain


def rankscope_functions(repeat: int) -> float:
    plain = smallest_ns(calls, repeat)
    with rankscope_profile(python=True):  # type: ignore[attr-defined]
        return smallest_ns(calls, repeat) - plain


def rankscope_import(repeat: int) -> float:
    """More than a Python that does nothing."""
    return start_ns("import rankscope; rankscope.profile", repeat // 25) - start_ns("pass", repeat // 25)


def start_ns(program: str, repeat: int) -> float:
    best = float("inf")
    for _ in range(repeat):
        before = time.perf_counter_ns()
        subprocess.run([sys.executable, "-c", program], check=True)
        best = min(best, time.perf_counter_ns() - before)
    return best


def torch_with(repeat: int) -> float:
    import torch

    loop = spans_of(torch.profiler.record_function)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        return smallest_ns(loop, repeat) - smallest_ns(empty, repeat)


def torch_fast(repeat: int) -> float:
    import torch

    loop = spans_of(torch._C._profiler._RecordFunctionFast)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        return smallest_ns(loop, repeat) - smallest_ns(empty, repeat)


def viztracer_functions(repeat: int) -> float:
    from viztracer import VizTracer

    plain = smallest_ns(calls, repeat)
    tracer = VizTracer(tracer_entries=10 * CALLS * (repeat + 1), verbose=0)
    tracer.start()
    each = smallest_ns(calls, repeat) - plain
    tracer.stop()
    return each


def yappi_functions(repeat: int) -> float:
    import yappi

    plain = smallest_ns(calls, repeat)
    yappi.start()
    each = smallest_ns(calls, repeat) - plain
    yappi.stop()
    return each


CASES: dict[str, tuple[str, str, Callable[[int], float]]] = {
    "rankscope:with": ("span, `with record_function(name)`", "rankscope", rankscope_with),
    "rankscope:again": ("span, made once and entered again", "rankscope", rankscope_with_again),
    "rankscope:arguments": ("span with an argument", "rankscope", rankscope_with_arguments),
    "rankscope:off": ("span while nothing is recorded", "rankscope", rankscope_with_off),
    "torch record_function": ("span, `with record_function(name)`", "torch", torch_with),
    "torch _RecordFunctionFast": ("span, `with _RecordFunctionFast(name)`", "torch", torch_fast),
    "rankscope:decorator": ("decorated function, a call", "rankscope", rankscope_decorator),
    "rankscope:functions": ("every function, a call", "rankscope", rankscope_functions),
    "viztracer": ("every function, a call", "viztracer", viztracer_functions),
    "yappi (sums only)": ("every function, a call", "yappi", yappi_functions),
    "rankscope:import": ("importing it", "rankscope", rankscope_import),
}


if __name__ == "__main__":
    main()
