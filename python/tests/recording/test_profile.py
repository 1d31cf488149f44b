"""The profile: steps, schedules, files, figures, and what it refuses."""

from __future__ import annotations

import gzip
import json
import os
import warnings

import pytest

import rankscope
from rankscope import ProfilerAction, RecordingError, RecordingWarning, record_function
from recording.command import command


def recording(*args, **options) -> rankscope.profile:
    return rankscope.profile(*args, **{"python": False, "garbage_collection": False, **options})


def steps(found: list[dict]) -> list[str]:
    return [span["name"] for span in found if span["name"].startswith("ProfilerStep")]


def walked(wait, warmup, active, repeat, skip_first, skip_first_wait, upto):
    """The same as a schedule, by walking."""
    actions = [ProfilerAction.NONE] * skip_first
    cycle = 0
    while len(actions) < upto and (repeat == 0 or cycle < repeat):
        actions += [ProfilerAction.NONE] * (0 if cycle == 0 and skip_first_wait else wait)
        actions += [ProfilerAction.WARMUP] * warmup + [ProfilerAction.RECORD] * (active - 1)
        actions += [ProfilerAction.RECORD_AND_SAVE]
        cycle += 1
    return (actions + [ProfilerAction.NONE] * upto)[:upto]


@pytest.mark.parametrize("numbers", [(0, 1, 1, 0, 0, 0), (1, 1, 3, 2, 0, 0), (2, 1, 2, 0, 3, 1), (3, 2, 1, 1, 1, 0)])
def test_a_schedule_is_torchs(numbers):
    keys = ("wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait")
    schedule = rankscope.schedule(**dict(zip(keys, numbers)))
    assert [schedule(step) for step in range(40)] == walked(*numbers, 40)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"wait": -1, "warmup": 0, "active": 1}, ValueError),
        ({"wait": 0, "warmup": 0, "active": 0}, ValueError),
        ({"wait": 0, "warmup": 0}, TypeError),
        ({"wait": "a", "warmup": 0, "active": 1}, ValueError),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(options, error):
    with pytest.raises(error):
        rankscope.schedule(**options)


def test_a_schedule_without_warmup_warns():
    with pytest.warns(RecordingWarning, match="warmup"):
        rankscope.schedule(wait=0, warmup=0, active=1)


def test_every_step_is_recorded_without_a_schedule(spans):
    with recording() as profile:
        for _ in range(3):
            with record_function("work"):
                pass
            profile.step()
    assert steps(spans(profile)) == [f"ProfilerStep#{number}" for number in range(4)]


@pytest.mark.parametrize("where", ["memory", "file"])
def test_cycles_are_handed_over_one_by_one(where, tmp_path, spans):
    seen = []

    def ready(profile):
        seen.append([span["name"] for span in spans(profile, "user_annotation")])

    schedule = rankscope.schedule(wait=1, warmup=1, active=2)
    out = None if where == "memory" else tmp_path / "run"
    with recording(out, schedule=schedule, on_trace_ready=ready) as profile:
        for step in range(8):
            with record_function(f"work {step}"):
                pass
            profile.step()
    assert seen == [
        ["ProfilerStep#2", "work 2", "ProfilerStep#3", "work 3"],
        ["ProfilerStep#6", "work 6", "ProfilerStep#7", "work 7"],
    ]
    if where == "file":
        listed = command("spans", tmp_path / "run").stdout
        assert "work 2" in listed and "work 7" in listed and "work 1" not in listed and "work 4" not in listed


def test_a_cycle_that_the_end_cuts_short_is_handed_over(spans):
    seen = []
    schedule = rankscope.schedule(wait=0, warmup=1, active=5)
    with recording(schedule=schedule, on_trace_ready=lambda profile: seen.append(steps(spans(profile)))) as profile:
        for _ in range(2):
            profile.step()
    assert seen == [["ProfilerStep#1", "ProfilerStep#2"]]


def test_cycles_add_up_if_asked_for(spans):
    schedule = rankscope.schedule(wait=1, warmup=1, active=1)
    with recording(schedule=schedule, acc_events=True) as profile:
        for _ in range(6):
            profile.step()
    assert steps(spans(profile)) == ["ProfilerStep#2", "ProfilerStep#5"]


def test_a_plan_may_be_any_function():
    with recording(schedule=lambda step: ProfilerAction.RECORD if step == 1 else 0) as profile:
        with pytest.warns(RecordingWarning, match="without saving"):
            for _ in range(3):
                profile.step()
    with pytest.raises(TypeError, match="ProfilerAction"), recording(schedule=lambda step: "always"):
        pass


def test_a_folder_has_a_recording_for_rankscope(tmp_path):
    with recording(tmp_path / "runs" / "a") as profile:
        with record_function("forward"):
            pass
        assert profile.is_recording and profile.file == str(tmp_path / "runs/a/rank-0.rkr")
    assert not profile.is_recording
    listed = command("spans", tmp_path / "runs" / "a")
    assert listed.returncode == 0 and "forward" in listed.stdout, listed.stderr
    assert os.listdir(tmp_path / "runs" / "a") == ["rank-0.rkr"]


@pytest.mark.parametrize("name", ["a.rkr", "a.json", "a.json.gz", "a.pftrace", "a.xplane.pb", "a.pftrace.zst"])
def test_a_file_has_the_format_of_its_name(name, tmp_path):
    with recording(tmp_path / name), record_function("forward"):
        pass
    assert "forward" in command("spans", tmp_path / name).stdout
    assert os.listdir(tmp_path) == [name]


def test_an_earlier_recording_is_put_aside(tmp_path):
    for _ in range(2):
        with recording(tmp_path / "a.rkr"), record_function("work"):
            pass
    assert sorted(os.listdir(tmp_path)) == ["a.rkr", "a.rkr.1"]


def test_chrome_json_is_written_whatever_the_name(tmp_path):
    with recording() as profile, record_function("forward"):
        pass
    for name, opened in (("trace", open), ("trace.gz", gzip.open)):
        profile.export_chrome_trace(tmp_path / name)
        with opened(tmp_path / name, "rt") as file:
            assert "forward" in {event.get("name") for event in json.load(file)["traceEvents"]}


def test_metadata_is_in_the_trace(tmp_path):
    profile = recording()
    profile.add_metadata("before", 'a "text"')
    with profile:
        profile.add_metadata_json("during", '{"layers": [1, 2]}')
    profile.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert trace["before"] == 'a "text"' and trace["during"] == {"layers": [1, 2]}
    with pytest.raises(ValueError, match="no JSON"):
        profile.add_metadata_json("key", "{")
    with pytest.raises(TypeError):
        profile.add_metadata_json("key", 3)


def test_averages_are_a_table():
    with recording() as profile:
        with record_function("outer"):
            for _ in range(3):
                with record_function("inner"):
                    pass
        profile.step()
    averages = profile.key_averages()
    rows = {row.key: row for row in averages}
    assert rows["inner"].count == 3 and rows["ProfilerStep"].count == 2
    assert rows["outer"].self_ns <= rows["outer"].total_ns - rows["inner"].total_ns
    assert rows["inner"].cpu_time_total == rows["inner"].total_ns / 1000
    table = averages.table(sort_by="count", row_limit=1)
    assert table.splitlines()[2].startswith("inner") and "2 more names" in table
    assert "<td>inner</td>" in averages._repr_html_()
    with pytest.raises(ValueError, match="cannot sort by"):
        averages.table(sort_by="colour")


def test_stacks_are_folded(tmp_path):
    with recording() as profile, record_function("outer"), record_function("inner"):
        pass
    profile.export_stacks(tmp_path / "stacks.folded")
    assert any("outer;inner " in line for line in (tmp_path / "stacks.folded").read_text().splitlines())


def test_memory_is_followed(events):
    with recording(memory="tracemalloc") as profile:
        kept = bytearray(1 << 20)
        profile.step()
    values = [event for event in events(profile) if event["name"] == "Python memory (bytes)"]
    assert any(1 << 20 <= value for event in values for value in event["args"].values())
    largest = profile.memory_sites()[0]
    assert largest.bytes >= len(kept) and largest.file.endswith("test_profile.py")
    with recording() as profile:
        pass
    with pytest.raises(RecordingError, match="tracemalloc"):
        profile.memory_sites()


def test_two_profiles_run_at_once(spans):
    with recording() as outer:
        with recording() as inner, record_function("both"):
            pass
        with record_function("one"):
            pass
    assert "one" not in {span["name"] for span in spans(inner)}
    assert {"one", "both"} <= {span["name"] for span in spans(outer)}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"out": 3}, TypeError),
        ({"schedule": 3}, TypeError),
        ({"on_trace_ready": "print"}, TypeError),
        ({"memory": "all"}, TypeError),
        ({"max_bytes": "1G"}, TypeError),
        ({"max_bytes": 0}, ValueError),
        ({"keep_last_s": -1}, ValueError),
        ({"keep_earlier": -1}, ValueError),
        ({"nonsense": 1}, TypeError),
    ],
)
def test_wrong_options_are_refused(options, error):
    with pytest.raises(error):
        rankscope.profile(**options)


def test_what_comes_at_the_wrong_time_is_said(tmp_path):
    profile = recording()
    with pytest.raises(RecordingError, match="not started"):
        profile.stop()
    with pytest.raises(RecordingError, match="nothing was recorded"):
        profile.export_chrome_trace(tmp_path / "trace.json")
    with pytest.warns(RecordingWarning, match="not started"):
        profile.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        profile.step()
    with profile, pytest.raises(RecordingError, match="started already"):
        profile.start()
    with pytest.raises(RecordingError, match="not started"):
        profile.stop()
    assert issubclass(RecordingError, rankscope.Error) and issubclass(RecordingError, RuntimeError)


def test_a_profile_is_started_again(spans):
    profile = recording()
    for name in ("first", "second"):
        with profile, record_function(name):
            pass
        assert [span["name"] for span in spans(profile)] == ["ProfilerStep#0", name]


def test_a_file_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path):
    with recording() as profile, record_function("work"):
        pass
    for path in (tmp_path / "missing" / "trace.json", tmp_path):
        with pytest.raises(RecordingError, match="could not be written"):
            profile.export_chrome_trace(path)
    with pytest.raises(RecordingError, match="unknown suffix"):
        profile.save(tmp_path / "trace.txt")
    assert [path.name for path in tmp_path.iterdir()] == []


def test_what_a_callback_raises_is_its_callers(spans):
    def ready(_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        with recording(on_trace_ready=ready) as profile, record_function("work"):
            pass
    assert "work" in {span["name"] for span in spans(profile)}
    with recording():
        pass


def test_a_place_that_cannot_be_written_is_one_warning(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(RecordingWarning) as warned:
        with recording(tmp_path / "file" / "runs") as profile:
            for _ in range(3):
                with record_function("work"):
                    pass
                profile.step()
            assert not profile.is_recording
    assert len(warned) == 1


def test_a_full_recording_drops_and_counts():
    with recording(max_bytes=1 << 18) as profile:
        for _ in range(200_000):
            with record_function("work"):
                pass
    assert sum(count for _, count in profile.report["drops"]) > 0


def test_a_ring_keeps_the_end(spans):
    with recording(max_bytes=1 << 20, keep_last_s=3600) as profile:
        for number in range(200_000):
            with record_function("work"):
                pass
        with record_function("the last"):
            pass
    assert "the last" in {span["name"] for span in spans(profile)}


def test_a_folder_may_have_a_percent_sign_in_its_name(tmp_path):
    out = tmp_path / "100%run"
    with recording(out=out):
        with record_function("work"):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["100%run"]
    assert any(out.rglob("*.rkr"))
