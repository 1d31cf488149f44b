"""Processes: those that a recorded one starts, those that are killed, and those that are ranks of a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from recording.command import command

PROLOGUE = """
import multiprocessing, os, sys, time, warnings
import rankscope
from rankscope import record_function

def work(number):
    with record_function(f"work in a worker"):
        time.sleep(0.001)
    return number * 2
"""


def program(body: str) -> str:
    return PROLOGUE + textwrap.dedent(body)


def spans_of(path) -> list[dict]:
    """Rows of names, with the threads they ran on."""
    said = command("spans", path, "--format", "json")
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)["spans"]


def test_a_destructor_may_record_when_python_ends(run):
    said = run("""
import sys
import rankscope

class Late:
    def __del__(self):
        with rankscope.record_function("late"):
            rankscope.instant("moment")
            rankscope.counter("count", 1)
        print("recorded")

rankscope.profile(python=False).start()
sys.modules["late"] = Late()
""")
    assert said.stdout == "recorded\n" and not said.stderr


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_are_in_their_parents_recording(method, run, tmp_path):
    done = run(
        program(f"""
        if __name__ == "__main__":
            context = multiprocessing.get_context({method!r})
            with rankscope.profile("runs"):
                with record_function("parent"), context.Pool(2) as pool:
                    assert pool.map(work, range(20)) == [number * 2 for number in range(20)]
                    pool.close()
                    pool.join()
        """)
    )
    assert "RecordingWarning" not in done.stderr
    assert len(list((tmp_path / "runs" / "rank-0.workers").glob("*.rkr"))) >= 2
    rows = {row["name"]: row for row in spans_of(tmp_path / "runs")}
    assert rows["parent"]["count"] == 1
    assert rows["work in a worker"]["count"] == 20
    assert any(name.endswith(": work") for name in rows)


def test_parent_and_workers_are_on_one_timeline(run, tmp_path):
    run(
        program("""
        if __name__ == "__main__":
            with rankscope.profile("runs", python=False), record_function("parent"):
                with multiprocessing.get_context("fork").Pool(2) as pool:
                    pool.map(work, range(20))
                    pool.close()
                    pool.join()
        """)
    )
    said = command("convert", tmp_path / "runs" / "rank-0.rkr", tmp_path / "timeline.json")
    assert said.returncode == 0, said.stderr
    trace = json.loads((tmp_path / "timeline.json").read_text())
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    [parent] = [span for span in spans if span["name"] == "parent"]
    work = [span for span in spans if span["name"] == "work in a worker"]
    assert len(work) == 20 and parent["pid"] not in {span["pid"] for span in work}
    assert all(parent["ts"] <= span["ts"] and span["ts"] + span["dur"] <= parent["ts"] + parent["dur"] for span in work)


def test_a_plain_fork_is_a_worker_and_leaves_its_parents_profile_alone(run, tmp_path):
    done = run(
        program("""
        with rankscope.profile("runs") as profile:
            child = os.fork()
            if child == 0:
                with record_function("child"):
                    pass
                profile.step()
                profile.step()
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
            with record_function("parent"):
                pass
        """)
    )
    assert done.stderr.count("belongs to process") == 1
    assert {"child", "parent"} <= {row["name"] for row in spans_of(tmp_path / "runs")}


def test_workers_of_an_earlier_recording_are_put_aside(run, tmp_path):
    body = program("""
        if __name__ == "__main__":
            with rankscope.profile("runs"):
                process = multiprocessing.get_context("fork").Process(target=work, args=(1,))
                process.start()
                process.join()
        """)
    run(body)
    run(body)
    assert (tmp_path / "runs" / "rank-0.workers.1").is_dir()
    assert all(path.stat().st_size < 1 << 17 for path in (tmp_path / "runs").rglob("*.rkr")), "packed at the end"
    assert [row["count"] for row in spans_of(tmp_path / "runs") if row["name"] == "work in a worker"] == [1]


def test_workers_are_left_alone_if_asked(run, tmp_path):
    run(
        program("""
        if __name__ == "__main__":
            with rankscope.profile("runs", workers=False):
                process = multiprocessing.get_context("fork").Process(target=work, args=(1,))
                process.start()
                process.join()
        """)
    )
    assert os.listdir(tmp_path / "runs") == ["rank-0.rkr"]


def test_a_killed_job_leaves_its_recording(tmp_path):
    body = program("""
        def train():
            while True:
                with record_function("forward"):
                    time.sleep(0.0001)
                profile.step()
                print("step", flush=True)

        with rankscope.profile("runs") as profile:
            train()
        """)
    (tmp_path / "program.py").write_text(body)
    process = subprocess.Popen([sys.executable, "program.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    for _ in range(50):
        assert process.stdout.readline() == "step\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    rows = {row["name"]: row["count"] for row in spans_of(tmp_path / "runs")}
    assert rows["forward"] >= 50 and rows["ProfilerStep"] >= 50
    recovered = command("recover", tmp_path / "runs" / "rank-0.rkr")
    assert recovered.returncode == 0, recovered.stderr
    assert (tmp_path / "runs" / "rank-0.recovered.rkr").exists()


def test_a_job_that_ends_without_stopping_is_packed(run, tmp_path):
    for end in ("", "sys.exit(3)", "raise KeyError('gone')"):
        done = run(
            program(f"""
            profile = rankscope.profile("runs")
            profile.start()
            with record_function("work"):
                pass
            {end}
            """),
            check=False,
        )
        assert done.returncode in (0, 3, 1) and "RecordingWarning" not in done.stderr
        assert {"work"} <= {row["name"] for row in spans_of(tmp_path / "runs")}
        assert (tmp_path / "runs" / "rank-0.rkr").stat().st_size < 1 << 17


def test_threads_that_record_while_the_interpreter_ends_harm_nobody(run):
    done = run(
        program("""
        import threading

        def spin():
            while True:
                with record_function("spin"):
                    rankscope.counter("turns", 1)

        rankscope.profile("runs").start()
        for _ in range(4):
            threading.Thread(target=spin, daemon=True).start()
        time.sleep(0.05)
        """)
    )
    assert done.stderr == ""


SUBINTERPRETER = """
try:
    import rankscope
except ImportError as error:
    print("refused:", error)
else:
    with rankscope.profile(python=True), rankscope.record_function("inside"):
        (lambda: None)()
    print("taken")
"""


def test_a_subinterpreter_is_refused_or_records(run):
    done = run(f"""
import sys
try:
    if sys.version_info >= (3, 13):
        import _interpreters as interpreters
    else:
        import _xxsubinterpreters as interpreters
except ImportError:
    print("no such thing here")
    sys.exit()
import rankscope
with rankscope.profile() as profile:
    number = interpreters.create()
    try:
        (getattr(interpreters, "exec", None) or interpreters.run_string)(number, {SUBINTERPRETER!r})
    finally:
        interpreters.destroy(number)
    with rankscope.record_function("outside"):
        pass
assert "outside" in {{row.key for row in profile.key_averages()}}
""")
    # Which of the two it is, is PyO3's to say; that the interpreter beside goes on recording is ours.
    assert done.stdout.startswith(("refused:", "taken", "no such thing")), done.stdout + done.stderr


def test_a_rank_of_a_run_records_into_it(tmp_path):
    (tmp_path / "train.py").write_text(
        program("""
        with rankscope.profile("elsewhere") as profile:
            for _ in range(3):
                with record_function("forward"):
                    time.sleep(0.001)
                profile.step()
        """)
    )
    said = subprocess.run(
        [sys.executable, "-m", "rankscope", "run", "-n", "2", "--no-report", "--out", "job", "--", sys.executable, "train.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert said.returncode == 0, said.stderr
    assert sorted(path.name for path in (tmp_path / "job" / "raw").iterdir()) == ["rank-0.rkr", "rank-1.rkr"]
    assert not (tmp_path / "elsewhere").exists()
    reported = command("report", tmp_path / "job", "--format", "json")
    assert reported.returncode == 0, reported.stderr
    assert [rank["rank"] for rank in json.loads(reported.stdout)["ranks"]] == [0, 1]


def test_a_run_watches_its_ranks_and_keeps_what_they_did_last(run, tmp_path):
    (tmp_path / "train.py").write_text(
        textwrap.dedent("""
        import pathlib, time, rankscope
        with rankscope.profile() as profile:
            for _ in range(20):
                with rankscope.record_function("work"):
                    time.sleep(0.01)
                profile.step()
            with rankscope.phase("checkpoint"):
                while not pathlib.Path("done").exists():
                    time.sleep(0.01)
        """)
    )
    run = [sys.executable, "-m", "rankscope", "run", "-n", "2", "--no-clock", "--no-report", "--ring", "60s", "--out", "job"]
    with subprocess.Popen([*run, "--", sys.executable, "train.py"], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as job:
        pages = [tmp_path / "job" / "live" / f"rank-{rank}.page" for rank in range(2)]
        deadline = time.monotonic() + 60
        while not all(page.exists() for page in pages) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.5)
        seen = command("top", tmp_path / "job", "--once", "--format", "json")
        kept = command("trigger", tmp_path / "job", "--last", "60s", "--format", "json")
        (tmp_path / "done").touch()
        said = job.communicate(timeout=60)[1]
    assert job.returncode == 0, said
    assert seen.returncode == 0, seen.stderr
    ranks = json.loads(seen.stdout)["ranks"]
    assert [(rank["rank"], rank["phase"]) for rank in ranks] == [(0, "checkpoint"), (1, "checkpoint")]
    assert kept.returncode == 0, kept.stderr
    incident = json.loads(kept.stdout)
    assert incident["recordings"] == 2 and not incident["problems"]
    reported = command("report", incident["incident"], "--format", "json")
    assert [rank["rank"] for rank in json.loads(reported.stdout)["ranks"]] == [0, 1]


def test_a_run_without_ranks_is_said(run):
    done = run(
        program("""
        with rankscope.profile() as profile:
            pass
        """),
        environment={"RANKSCOPE_RAW_DIR": "/nowhere"},
    )
    assert "no launcher says which rank" in done.stderr


def test_importing_is_cheap_in_modules():
    said = subprocess.run(
        [sys.executable, "-c", "import sys, rankscope; print(*(set(sys.modules) & {'multiprocessing', 'tracemalloc', 'json', 'numpy'}))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == []
