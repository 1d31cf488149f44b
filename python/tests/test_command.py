"""The command that the wheel brings is the program."""

import subprocess
import sys

import rankscope


def test_the_command_says_the_version_of_the_package():
    said = subprocess.run([sys.executable, "-m", "rankscope", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout == f"rankscope {rankscope.__version__}\n"


def test_what_is_used_wrongly_ends_with_two():
    assert subprocess.run([sys.executable, "-m", "rankscope", "--nonsense"], capture_output=True).returncode == 2
