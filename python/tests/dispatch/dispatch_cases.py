"""What several tests of dispatch need: the golden cases, the command, and libraries that may be missing."""

import base64
import importlib.util
import json
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "dispatch"
GOLDEN = {path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "fixtures" / "dispatch").glob("[gh]*.json"))}
LIBRARIES = ["lists", "numpy", "torch"]


def of_kind(*kinds):
    """Names of the golden cases of these kinds, of which there is at least one."""
    names = [name for name, case in GOLDEN.items() if case["kind"] in kinds]
    assert names, kinds
    return names


def given(value, library):
    """Nested lists as this library has them."""
    if library == "lists":
        return value
    module = needed(library)
    return module.asarray(value, dtype=module.int64)


def needed(library):
    """The library, or a test that says that it is not there."""
    return pytest.importorskip(library, reason=f"{library} is not installed")


def has(library):
    return importlib.util.find_spec(library) is not None


def packed(value):
    """The values of an array of a golden case, flat, whether it is packed or not."""
    if isinstance(value, dict):
        words = zlib.decompress(base64.b64decode(value["zlib_b64_i32le"]))
        return [int.from_bytes(words[at : at + 4], "little", signed=True) for at in range(0, len(words), 4)]
    return flat(value)


def flat(value):
    return [number for part in value for number in flat(part)] if isinstance(value, list) else [int(value)]


def command(*words, given=None):
    """What the command `rankscope dispatch` prints, and its exit code."""
    words = [sys.executable, "-m", "rankscope", "dispatch", *map(str, words)]
    done = subprocess.run(words, capture_output=True, text=True, input=given)
    return done.returncode, done.stdout, done.stderr
