"""Functions that record themselves."""

from __future__ import annotations

import asyncio
import inspect
import pickle

import pytest

import rankscope
from rankscope import record_function


def recording() -> rankscope.profile:
    return rankscope.profile(python=False, garbage_collection=False)


@record_function("add")
def add(a, b=1):
    """Adds."""
    return a + b


class Model:
    @record_function("forward")
    def forward(self, x):
        return x * 2

    @record_function("make")
    @classmethod
    def make(cls):
        return cls()

    @staticmethod
    @record_function("helper")
    def helper():
        return "helped"


def test_a_function_stays_what_it_was(spans):
    with recording() as profile:
        assert add(2, b=3) == 5
        assert Model.make().forward(4) == 8 and Model.helper() == "helped"
    names = [span["name"] for span in spans(profile, "user_annotation") if not span["name"].startswith("ProfilerStep")]
    assert names == ["add", "make", "forward", "helper"]
    assert (add.__name__, add.__doc__, str(inspect.signature(add))) == ("add", "Adds.", "(a, b=1)")
    assert inspect.isfunction(add) and pickle.loads(pickle.dumps(add)) is add


def test_an_exception_passes_through(spans):
    @record_function("fails")
    def fails():
        raise ValueError("as asked")

    with recording() as profile:
        with pytest.raises(ValueError, match="as asked"):
            fails()
    assert [span["args"]["exception"] for span in spans(profile) if span["name"] == "fails"] == ["ValueError"]


def test_recursion_nests(spans):
    @record_function("down")
    def down(depth):
        return 0 if depth == 0 else 1 + down(depth - 1)

    with recording() as profile:
        assert down(50) == 50
    found = [span for span in spans(profile) if span["name"] == "down"]
    assert len(found) == 51
    assert all(a["ts"] + a["dur"] >= b["ts"] + b["dur"] for a, b in zip(found, found[1:]))


def test_a_coroutine_is_a_slice_each_time_it_runs(spans, events):
    @record_function("fetch", source="disk")
    async def fetch(delay):
        await asyncio.sleep(delay)
        with record_function("decode"):
            pass
        return delay

    async def main():
        return await asyncio.gather(fetch(0.02), fetch(0.01))

    assert inspect.iscoroutinefunction(fetch)
    with recording() as profile:
        assert asyncio.run(main()) == [0.02, 0.01]
    slices = [span for span in spans(profile) if span["name"] == "fetch"]
    assert len(slices) >= 4 and all(span["dur"] < 10_000 for span in slices)
    assert {span["args"]["source"] for span in slices} == {"disk"}
    whole = [event for event in events(profile) if event["name"] == "fetch" and event["ph"] in "be"]
    assert sorted(event["ph"] for event in whole) == ["b", "b", "e", "e"]
    assert profile.report["remarks"]["misnested"] == 0


def test_a_coroutine_that_is_cancelled_or_fails_says_so_to_its_caller(spans):
    @record_function("stuck")
    async def stuck():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise

    @record_function("fails")
    async def fails():
        await asyncio.sleep(0)
        raise LookupError("gone")

    async def main():
        task = asyncio.create_task(stuck())
        await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(LookupError, match="gone"):
            await fails()

    with recording() as profile:
        asyncio.run(main())
    assert {"stuck", "fails"} <= {span["name"] for span in spans(profile)}


def test_a_generator_gives_and_takes_as_before(spans):
    @record_function("numbers")
    def numbers(upto):
        total = 0
        for number in range(upto):
            try:
                total += (yield number) or 0
            except KeyError:
                total += 100
        return total

    def drive():
        generator = numbers(3)
        assert next(generator) == 0 and generator.send(5) == 1 and generator.throw(KeyError()) == 2
        with pytest.raises(StopIteration) as stopped:
            next(generator)
        return stopped.value.value

    assert inspect.isgeneratorfunction(numbers)
    with recording() as profile:
        assert drive() == 105
        assert list(numbers(4)) == [0, 1, 2, 3]
    assert len([span for span in spans(profile) if span["name"] == "numbers"]) == 4 + 5


def test_a_generator_that_never_finishes_harms_nobody(spans):
    @record_function("endless")
    def endless():
        while True:
            yield

    with recording() as profile:
        left, closed = endless(), endless()
        next(left), next(closed)
        closed.close()
        del left
    assert len([span for span in spans(profile) if span["name"] == "endless"]) >= 2
    kept = endless()
    with recording():
        next(kept)
    next(kept)


def test_an_asynchronous_generator_is_recorded(spans):
    @record_function("stream")
    async def stream():
        for number in range(3):
            await asyncio.sleep(0)
            yield number

    async def main():
        return [number async for number in stream()]

    assert inspect.isasyncgenfunction(stream)
    with recording() as profile:
        assert asyncio.run(main()) == [0, 1, 2]
    assert len([span for span in spans(profile) if span["name"] == "stream"]) >= 6


def test_async_with_is_a_span_over_awaits(events):
    async def main():
        async with record_function("request", id=7):
            await asyncio.sleep(0.001)

    with recording() as profile:
        asyncio.run(main())
    ends = [event for event in events(profile) if event["name"] == "request" and event["ph"] in "be"]
    assert [event["ph"] for event in sorted(ends, key=lambda event: event["ts"])] == ["b", "e"]
    assert profile.report["remarks"]["misnested"] == 0


@pytest.mark.parametrize("last", [0, 1])
def test_tasks_that_are_in_one_async_with_leave_their_own(last, events):
    async def main():
        one_left = asyncio.Event()

        async def request(number):
            async with record_function("request"):
                await asyncio.sleep(0)
                if number == last:
                    await one_left.wait()
            one_left.set()

        await asyncio.gather(request(0), request(1))

    with recording() as profile:
        asyncio.run(main())
    ends = [event for event in events(profile) if event["name"] == "request" and event["ph"] in "be"]
    order = [event["id"] for event in sorted(ends, key=lambda event: event["ts"])]
    assert order[last] == order[3] and order[1 - last] == order[2]
