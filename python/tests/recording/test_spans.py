"""Spans, moments, values and arrows."""

from __future__ import annotations

import asyncio
import threading

import pytest

import rankscope
from rankscope import record_function


def recording(**options) -> rankscope.profile:
    return rankscope.profile(python=False, garbage_collection=False, **options)


def test_a_span_has_its_name_and_its_arguments(spans):
    with recording() as profile:
        with record_function("forward", batch=32, lr=0.5, ok=True, shape=[2, 3], kind="warm", huge=1 << 63, longer=1 << 70, none=None):
            pass
    [forward] = [span for span in spans(profile) if span["name"] == "forward"]
    assert forward["cat"] == "user_annotation"
    args = forward["args"]
    assert (args["batch"], args["lr"], args["ok"], args["kind"], args["huge"]) == (32, 0.5, True, "warm", 1 << 63)
    assert args["longer"] == str(1 << 70) and "none" not in args
    assert args["shape"] in ([2, 3], "[2, 3]", "[2,3]")


def test_what_is_no_value_is_recorded_as_its_type_and_never_turned_into_text(spans):
    class Tensor:
        def __str__(self):
            raise AssertionError("a recorder may not wait for a device")

        __repr__ = __float__ = __index__ = __str__

    with recording() as profile, record_function("forward", input=Tensor()):
        pass
    [forward] = [span for span in spans(profile) if span["name"] == "forward"]
    assert forward["args"]["input"].endswith("Tensor>")


def test_a_phase_is_marked_by_name_and_what_is_none_is_refused():
    saving = rankscope.phase("checkpoint")
    with saving, rankscope.phase("initialization"), saving:
        pass
    saving.__exit__(None, None, None)
    with pytest.raises(ZeroDivisionError), saving:
        1 / 0
    with pytest.raises(ValueError, match="training, initialisation, evaluation, checkpoint"):
        rankscope.phase("saving")
    with pytest.raises(TypeError):
        rankscope.phase(3)


def test_the_second_argument_is_torchs(spans):
    with recording() as profile, record_function("forward", "layer 3"):
        pass
    assert [span["args"]["args"] for span in spans(profile) if span["name"] == "forward"] == ["layer 3"]


def test_names_may_be_any_text(spans):
    names = ["", 'quotes " and \\', "ünï → 测试", "line\nbreak", "\ud800 alone", "x" * 3000]
    with recording() as profile:
        for name in names:
            with record_function(name):
                pass
    found = [span["name"] for span in spans(profile) if not span["name"].startswith("ProfilerStep")]
    assert found[:4] == names[:4] and len(found) == len(names)


def test_an_exception_passes_through_and_is_named(spans):
    with recording() as profile:
        with pytest.raises(KeyError), record_function("lookup"):
            {}["missing"]
    assert [span["args"]["exception"] for span in spans(profile) if span["name"] == "lookup"] == ["KeyError"]


def test_a_span_is_entered_again_and_again_and_inside_itself(spans):
    span = record_function("again")
    with recording() as profile:
        for _ in range(3):
            with span, span:
                pass
    found = [span for span in spans(profile) if span["name"] == "again"]
    assert len(found) == 6
    assert profile.report["remarks"]["misnested"] == 0


def test_a_span_that_threads_share_is_each_ones_own(spans):
    span, turns = record_function("shared"), [threading.Event() for _ in range(3)]

    def second():
        turns[0].wait()
        with span, span:
            turns[1].set()
            turns[2].wait()

    with recording() as profile:
        thread = threading.Thread(target=second)
        thread.start()
        with span:
            turns[0].set()
            turns[1].wait()
        turns[2].set()
        thread.join()
        with span:
            pass
    found = [span for span in spans(profile) if span["name"] == "shared"]
    assert len(found) == 4 and len({span["tid"] for span in found}) == 2
    first, outer = found[0], found[1]
    assert first["ts"] + first["dur"] < outer["ts"] + outer["dur"], "each thread ended its own"
    assert {profile.report["remarks"][kind] for kind in ("misuse", "misnested")} == {0}


def stretches(events, name):
    """When each span of that name began and ended. Those that do not nest are apart, as asynchronous ones."""
    found = [event for event in events if event.get("name") == name]
    whole = [(event["ts"], event["ts"] + event["dur"]) for event in found if event["ph"] == "X"]
    ends = {event["id"]: event["ts"] for event in found if event["ph"] == "e"}
    return sorted([*whole, *((event["ts"], ends[event["id"]]) for event in found if event["ph"] == "b")])


def test_generators_that_take_turns_end_their_own_spans(events):
    def part():
        with record_function("part"):
            yield

    with recording() as profile:
        parts = [part() for _ in range(3)]
        for one in parts:
            next(one)
        for one in parts:
            one.close()
    found = stretches(events(profile), "part")
    assert len(found) == 3
    assert found == sorted(found, key=lambda stretch: stretch[1]), "who began first ended first"


def test_tasks_that_take_turns_end_their_own_spans(events):
    async def fetch(turn, then):
        with record_function("fetch"):
            await turn.wait()
            then.set()

    async def main():
        turns = [asyncio.Event() for _ in range(4)]
        tasks = [asyncio.create_task(fetch(turn, then)) for turn, then in zip(turns, turns[1:])]
        await asyncio.sleep(0)
        turns[0].set()
        await asyncio.gather(*tasks)

    with recording() as profile:
        asyncio.run(main())
    found = stretches(events(profile), "fetch")
    assert len(found) == 3
    assert found == sorted(found, key=lambda stretch: stretch[1]), "who began first ended first"


def test_a_span_that_is_never_left_does_not_keep_the_next_of_its_name_from_ending(spans):
    def left_open():
        record_function("again").__enter__()

    with recording() as profile:
        for _ in range(3):
            left_open()
            with record_function("again"):
                pass
    finished = [span["args"].get("finished", True) if "args" in span else True for span in spans(profile) if span["name"] == "again"]
    assert sorted(finished) == [False] * 3 + [True] * 3


def test_nothing_is_recorded_outside_of_a_recording(spans):
    with record_function("before"):
        with recording() as profile:
            with record_function("within"):
                pass
    names = {span["name"] for span in spans(profile)}
    assert "within" in names and "before" not in names


def test_threads_have_their_names(events):
    def work():
        with record_function("in a thread"):
            pass

    with recording() as profile:
        thread = threading.Thread(target=work, name="loader-7")
        thread.start()
        thread.join()
    found = events(profile)
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in found if event.get("name") == "thread_name"}
    [span] = [event for event in found if event.get("name") == "in a thread"]
    assert "loader-7" in names[span["pid"], span["tid"]]


def test_moments_and_values_are_recorded(events):
    with recording() as profile:
        rankscope.instant("checkpoint", step=3)
        rankscope.counter("loss", 0.25)
        rankscope.counter("tokens", 1 << 40)
        rankscope.counter("far too many", 1 << 80)
    found = {event["name"]: event for event in events(profile) if event["ph"] in "iIC"}
    assert found["checkpoint"]["args"]["step"] == 3
    assert 0.25 in found["loss"]["args"].values()
    assert 1 << 40 in found["tokens"]["args"].values()
    assert "far too many" in found


def test_an_arrow_leads_from_thread_to_thread(events):
    def take(arrow):
        with record_function("taken"):
            arrow.end()

    with recording() as profile:
        with record_function("given"):
            arrow = rankscope.flow("batch")
            thread = threading.Thread(target=take, args=(arrow,))
            thread.start()
            thread.join()
    points = [event for event in events(profile) if event["ph"] in "sf" and event["name"] == "batch"]
    assert [point["ph"] for point in sorted(points, key=lambda point: point["ts"])] == ["s", "f"]
    assert len({point["id"] for point in points}) == 1 and len({point["tid"] for point in points}) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: record_function(3),
        lambda: record_function(),
        lambda: rankscope.instant(None),
        lambda: rankscope.counter("loss", "high"),
        lambda: rankscope.counter(1, 1),
        lambda: record_function("x")(3),
        lambda: record_function("x")(type("Class", (), {})),
    ],
)
def test_a_wrong_type_is_a_type_error(wrong):
    with pytest.raises(TypeError):
        wrong()


def test_a_span_left_open_and_one_left_twice_harm_nobody(spans):
    with recording() as profile:
        record_function("never left").__enter__()
        twice = record_function("twice")
        twice.__enter__()
        twice.__exit__(None, None, None)
        twice.__exit__(None, None, None)
        with record_function("after"):
            pass
    assert {"twice", "after"} <= {span["name"] for span in spans(profile)}


def test_a_span_that_another_thread_leaves_is_counted(spans):
    with recording() as profile:
        span = record_function("carried")
        span.__enter__()
        thread = threading.Thread(target=span.__exit__, args=(None, None, None))
        thread.start()
        thread.join()
        with record_function("after"):
            pass
    assert profile.report["remarks"]["misuse"] == 1
    assert "after" in {span["name"] for span in spans(profile)}
