"""The command that the wheel brings is the program."""

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import rankscope


def test_the_command_says_the_version_of_the_package():
    said = subprocess.run([sys.executable, "-m", "rankscope", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout == f"rankscope {rankscope.__version__}\n"


def test_what_is_used_wrongly_ends_with_two():
    assert subprocess.run([sys.executable, "-m", "rankscope", "--nonsense"], capture_output=True).returncode == 2


TRACES = Path(__file__).parents[2] / "fixtures" / "torch-gloo-4ranks"

# A rank that trains for as long as an agent needs to begin, and leaves a trace.
TRAIN = f"""
import os, pathlib, shutil, sys, time
raw = pathlib.Path(sys.argv[1])
begun = time.monotonic()
while not list(raw.parent.glob("clock/windows-node0.jsonl")) and time.monotonic() < begun + 60:
    time.sleep(0.05)
shutil.copy("{TRACES}/rank" + os.environ["RANK"] + ".json.gz", raw)
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"])
"""


def test_a_job_runs_with_agents_and_a_report_of_its_own(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    # Nothing is imported from where the job is started.
    (tmp_path / "rankscope.py").write_text("raise SystemExit('not this one')")
    words = ["run", "-n", "4", "--out", "run", "--", sys.executable, "train.py", "{raw}"]
    said = subprocess.run([command(), *words], capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert said.returncode == 0, said.stderr
    for rank in range(4):
        assert f"rank {rank} of 4" in said.stdout
    assert (tmp_path / "run/report/report.html").exists(), said.stderr
    assert "stopped after" in (tmp_path / "run/clock/agent-node0.log").read_text()


def test_the_demo_plays_in_processes_of_this_python(tmp_path):
    said = subprocess.run([command(), "demo", "--seconds", "2", "--ranks", "2", "--format", "json"], capture_output=True,
                          text=True, cwd=tmp_path, timeout=300)
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["ranks"]


def command() -> str:
    found = shutil.which("rankscope", path=sysconfig.get_path("scripts"))
    if found is None:
        pytest.skip("the package is not installed: there is no command beside this Python")
    return found
