"""Functions of Python, by sys.monitoring or sys.setprofile."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading

import pytest

import rankscope
from rankscope import PythonFunctions

monitored = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is there since Python 3.12")


def recording(wanted: bool | PythonFunctions = True) -> rankscope.profile:
    return rankscope.profile(python=wanted, garbage_collection=False)


def names(found: list[dict]) -> list[str]:
    """Of functions, without file and line."""
    return [span["name"].rpartition(": ")[2].rpartition(".")[2] for span in found]


def inner():
    return 1


def outer():
    return inner() + inner()


def test_calls_nest_as_they_were_made(spans):
    with recording() as profile:
        outer()
    found = spans(profile, "python_function")
    at = names(found).index("outer")
    assert names(found)[at : at + 3] == ["outer", "inner", "inner"]
    [whole, first, second] = found[at : at + 3]
    assert whole["ts"] <= first["ts"] and first["ts"] + first["dur"] <= second["ts"]
    assert second["ts"] + second["dur"] <= whole["ts"] + whole["dur"]
    assert f"test_functions.py({inner.__code__.co_firstlineno}): " in first["name"]


def test_the_functions_a_recording_begins_in_are_spans(spans):
    def caller():
        with recording() as profile:
            inner()
        return profile

    found = names(spans(caller(), "python_function"))
    assert found.index("caller") < found.index("inner")
    assert "test_the_functions_a_recording_begins_in_are_spans" in found


def test_the_library_and_the_recorder_are_left_out(spans):
    with recording() as profile:
        json.dumps({"a": [1]}, indent=1)
        profile.add_metadata("a", "b")
        inner()
    found = [span["name"] for span in spans(profile, "python_function")]
    assert any(name.endswith("inner") for name in found)
    assert not any("json" in name or "_recording" in name for name in found)


def test_what_is_included_and_excluded_is_by_module_or_by_pattern(spans):
    with recording(PythonFunctions(include=["json"])) as profile:
        json.dumps({"a": [1]}, indent=1)
    assert "dumps" in names(spans(profile, "python_function"))
    for pattern in ("*/recording/test_functions.py", "recording.test_functions"):
        with recording(PythonFunctions(exclude=[pattern])) as profile:
            inner()
        assert "inner" not in names(spans(profile, "python_function"))


def test_deeper_calls_are_left_out(spans):
    def down(depth):
        return depth and down(depth - 1)

    with recording() as profile:
        down(3)
    depth = names(spans(profile, "python_function")).index("down") + 2
    with recording(PythonFunctions(max_depth=depth)) as profile:
        down(9)
        down(9)
    assert names(spans(profile, "python_function")).count("down") == 4


def test_an_exception_ends_its_functions_and_is_named(spans):
    def fails():
        raise KeyError("gone")

    def passes_on():
        fails()

    with recording() as profile:
        with pytest.raises(KeyError):
            passes_on()
        inner()
    found = {name: span for name, span in zip(names(spans(profile, "python_function")), spans(profile, "python_function"))}
    assert found["inner"]["ts"] >= found["passes_on"]["ts"] + found["passes_on"]["dur"]
    if sys.version_info >= (3, 12):
        assert found["fails"]["args"]["exception"] == found["passes_on"]["args"]["exception"] == "KeyError"


def test_a_generator_is_a_span_each_time_it_runs(spans):
    def numbers():
        yield 1
        yield 2

    with recording() as profile:
        assert list(numbers()) == [1, 2]
        left = numbers()
        next(left)
    assert names(spans(profile, "python_function")).count("numbers") == 4
    assert profile.report["remarks"]["misnested"] == 0
    left.close()


def test_other_threads_are_recorded(spans):
    def work():
        return inner()

    with recording() as profile:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    found = spans(profile, "python_function")
    [work_span] = [span for span, name in zip(found, names(found)) if name == "work"]
    assert work_span["tid"] != os.getpid()


def test_functions_written_in_c_are_recorded_if_asked_for(spans):
    values = [3, 1, 2]
    with recording(PythonFunctions(c_functions=True)) as profile:
        sorted(values)
        with pytest.raises(TypeError):
            len(5)
    found = [span["name"] for span in spans(profile, "python_function")]
    assert "<built-in function sorted>" in found and "<built-in function len>" in found
    with recording() as profile:
        sorted(values)
    assert not any(span["name"].startswith("<built-in") for span in spans(profile, "python_function"))


def test_nothing_is_told_after_a_recording(spans):
    with recording() as profile:
        pass
    inner()
    assert "inner" not in names(spans(profile, "python_function"))
    assert sys.getprofile() is None
    if sys.version_info >= (3, 12):
        assert all(sys.monitoring.get_tool(tool) != "rankscope" for tool in range(6))


def test_a_second_recording_has_them_again(spans):
    for _ in range(3):
        with recording() as profile:
            outer()
        assert names(spans(profile, "python_function")).count("inner") == 2


def test_another_profiler_is_left_alone(spans):
    if sys.version_info >= (3, 12):
        for tool in (sys.monitoring.PROFILER_ID, 3, 4):
            sys.monitoring.use_tool_id(tool, "another")
    else:
        sys.setprofile(lambda *_: None)
    try:
        with pytest.warns(rankscope.RecordingWarning, match="functions are not recorded"), recording() as profile:
            with rankscope.record_function("still"):
                inner()
    finally:
        if sys.version_info >= (3, 12):
            for tool in (sys.monitoring.PROFILER_ID, 3, 4):
                sys.monitoring.free_tool_id(tool)
        else:
            sys.setprofile(None)
    found = [span["name"] for span in spans(profile)]
    assert "still" in found and not any(name.endswith("inner") for name in found)


@monitored
def test_where_profilers_place_is_taken_another_is_used(spans):
    sys.monitoring.use_tool_id(sys.monitoring.PROFILER_ID, "another")
    try:
        with recording() as profile:
            inner()
    finally:
        sys.monitoring.free_tool_id(sys.monitoring.PROFILER_ID)
    assert "inner" in names(spans(profile, "python_function"))


def test_pauses_for_garbage_collection_are_spans(spans):
    with rankscope.profile(python=False) as profile:
        gc.collect()
    [pause] = [span for span in spans(profile) if span["name"] == "gc.collect" and span["args"]["generation"] == 2]
    assert "collected" in pause["args"] and "uncollectable" in pause["args"]
    assert not any("on_collection" in repr(callback) for callback in gc.callbacks)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: PythonFunctions(include="json"), TypeError),
        (lambda: PythonFunctions(exclude=[3]), TypeError),
        (lambda: PythonFunctions(max_depth=0), ValueError),
        (lambda: PythonFunctions(max_depth="3"), TypeError),
        (lambda: rankscope.profile(python="yes"), TypeError),
    ],
)
def test_wrong_wishes_are_refused(wrong, error):
    with pytest.raises(error):
        wrong()


def test_what_a_failed_description_lets_go_of_may_run_code(run):
    """It is let go of where no lock is held, or the destructor, which is a function like any other, would wait for ever."""
    said = run("""
import faulthandler
import warnings
import rankscope

faulthandler.dump_traceback_later(60, exit=True)
warnings.simplefilter("ignore")

class Held:
    def __del__(self):
        gone()

def gone():
    pass

class Broken(rankscope.PythonFunctions):
    def wants(self, file):
        error = LookupError("nobody knows")
        error.held = Held()
        raise error

with rankscope.profile(python=Broken()):
    for name in "abc":
        exec(f"def {name}(): pass\\n{name}()")
print("still here")
""")
    assert said.stdout == "still here\n"
