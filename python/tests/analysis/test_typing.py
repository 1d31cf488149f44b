"""Type checkers agree with the stubs, on a program that runs."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import rankscope

PROGRAM = Path(__file__).with_name("typed_report.py")
ROOT = Path(__file__).parents[3]
MODULES = ["_analysis.py", "_answers.py", "_html.py", "_progress.py", "_table.py", "clock.py"]
SITE = str(Path(rankscope.__file__).parents[1])


def test_the_program_runs(traces):
    said = subprocess.run([sys.executable, str(PROGRAM), traces], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    assert said.stdout.strip()


def test_mypy_is_content_with_it(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    words = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path)]
    # The sources: mypy refuses to be pointed at what is installed.
    package = ROOT / "python" / "rankscope"
    modules = [str(package / name) for name in MODULES]
    paths = {"MYPYPATH": str(package.parent)}
    said = subprocess.run([*words, str(PROGRAM), *modules], capture_output=True, text=True, env={**os.environ, **paths})
    assert said.returncode == 0, said.stdout


def test_pyright_is_content_with_it(tmp_path):
    if shutil.which("pyright") is None:
        pytest.skip("pyright is not installed")
    (tmp_path / "pyrightconfig.json").write_text(f'{{"typeCheckingMode": "strict", "extraPaths": ["{SITE}"]}}')
    shutil.copy(PROGRAM, tmp_path)
    said = subprocess.run(["pyright", "--pythonpath", sys.executable], capture_output=True, text=True, cwd=tmp_path)
    assert said.returncode == 0, said.stdout + said.stderr
