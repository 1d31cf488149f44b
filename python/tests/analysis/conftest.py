"""Four ranks on the CPU, and what the command says of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TRACES = Path(__file__).parents[3] / "fixtures" / "torch-gloo-4ranks"


@pytest.fixture(scope="session")
def traces() -> str:
    return str(TRACES)


@pytest.fixture(scope="session")
def command():
    """Runs the command: a function of its words that gives what it answers."""

    def run(*words):
        return subprocess.run([sys.executable, "-m", "rankscope", *map(str, words)], capture_output=True, text=True)

    return run


@pytest.fixture(scope="session")
def answered(command):
    """The command's JSON."""

    def run(*words):
        done = command(*words, "--format", "json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def refused(command):
    """What the command says about what it refuses, and how it ends."""

    def run(*words):
        done = command(*words)
        assert done.returncode != 0
        return done.stderr.strip().removeprefix("rankscope: "), done.returncode

    return run
