"""Collectives of torch.distributed on live pages: with torch where it is installed, and with a package that stands for it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from rankscope._recording.collectives import Telling

from .command import command

# What is used of torch, with its names: groups whose work is over when all processes have come, which they see by files.
TENSOR = """
class Device:
    type = "cpu"

class Tensor:
    device = Device()

    def numel(self):
        return 256

    def element_size(self):
        return 4

def zeros(*shape):
    return Tensor()
"""
C10D = """
import os, pathlib, time

class Work:
    def __init__(self, number):
        self._number = number

    def wait(self, timeout=None):
        while not all(pathlib.Path(f"came-{rank}-{self._number}").exists() for rank in range(2)):
            time.sleep(0.001)
        return True

class ProcessGroup:
    group_name, group_desc = "0", "default_pg"

    def __init__(self):
        self._number = 0

    def size(self):
        return 2

    def name(self):
        return "gloo"

    def _get_sequence_number_for_group(self):
        return self._number

    def _come(self, *args):
        self._number += 1
        pathlib.Path(f"came-{os.environ['RANK']}-{self._number}").touch()
        return Work(self._number)

    def allreduce(self, tensors, opts=None):
        return self._come()

    def allgather(self, outputs, inputs, opts=None):
        return self._come()

    def barrier(self, opts=None):
        return self._come()
"""
DISTRIBUTED = """
from torch._C._distributed_c10d import ProcessGroup

def init_process_group(backend, **options):
    global world
    world = ProcessGroup()

def over(work, async_op):
    if async_op:
        return work
    work.wait()

def all_reduce(tensor, async_op=False):
    return over(world.allreduce([tensor]), async_op)

def all_gather(outputs, tensor):
    over(world.allgather([outputs], [tensor]), False)

def barrier():
    over(world.barrier(), False)
"""
FAKE = {
    "torch/__init__.py": TENSOR,
    "torch/_C/__init__.py": "",
    "torch/_C/_distributed_c10d.py": C10D,
    "torch/distributed.py": DISTRIBUTED,
}

TRAIN = """
import os, pathlib, time
import rankscope, torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/meet", rank=rank, world_size=2)
with rankscope.profile() as profile:
    x = torch.zeros(256)
    for _ in range(5):
        dist.all_reduce(x)
        dist.all_reduce(x, async_op=True).wait()
        dist.all_gather([torch.zeros(256), torch.zeros(256)], x)
        dist.barrier()
        profile.step()
    pathlib.Path(f"ready-{rank}").touch()
    while rank == 1 and not pathlib.Path("done").exists():
        time.sleep(0.01)
    dist.all_reduce(x)
    profile.step()
"""


def seen(tmp_path: Path, environment: dict[str, str]) -> dict:
    """What `top` sees while rank 0 waits for rank 1 in the 21st collective."""
    (tmp_path / "train.py").write_text(textwrap.dedent(TRAIN))
    run = [sys.executable, "-m", "rankscope", "run", "-n", "2", "--no-clock", "--no-report", "--out", "job"]
    with subprocess.Popen(
        [*run, "--", sys.executable, "train.py"], cwd=tmp_path, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    ) as job:
        deadline = time.monotonic() + 90
        while not all((tmp_path / f"ready-{rank}").exists() for rank in range(2)) and time.monotonic() < deadline:
            if job.poll() is not None:
                break
            time.sleep(0.02)
        time.sleep(0.5)
        said = command("top", tmp_path / "job", "--once", "--format", "json")
        (tmp_path / "done").touch()
        told = job.communicate(timeout=60)[1]
    assert job.returncode == 0, told
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


def is_right(document: dict) -> None:
    inside, outside = sorted(document["ranks"], key=lambda rank: rank["rank"])
    assert (inside["open"]["group"], inside["open"]["op"], inside["open"]["bytes"]) == ("default_pg", "all_reduce", 1024)
    assert outside["open"] is None
    [group] = document["groups"]
    assert (group["group"], group["members"], group["open"]["missing"]) == ("default_pg", 2, [1])
    met = {row["op"]: (row["met"], row["bytes"]) for row in document["collectives"]}
    assert met == {"all_reduce": (10, 1024), "all_gather": (5, 1024), "barrier": (5, 0)}
    assert all(rank["lateness_ns"] is not None for rank in document["ranks"])


def test_a_rank_tells_which_collective_it_is_in_and_who_is_missing(tmp_path):
    for name, text in FAKE.items():
        path = tmp_path / "fake" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    paths = [str(tmp_path / "fake"), os.environ.get("PYTHONPATH", "")]
    is_right(seen(tmp_path, {"PYTHONPATH": os.pathsep.join(filter(None, paths))}))


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_torchs_own_groups_are_told_of(tmp_path):
    is_right(seen(tmp_path, {}))


class Work:
    def wait(self):
        return True


class Group:
    """A process group all of whose properties are wrong."""

    def __init__(self, failing: str = "") -> None:
        self.failing, self.called = failing, 0

    def size(self):
        if self.failing == "size":
            raise RuntimeError("no size")
        return "many" if self.failing == "words" else 2

    def allreduce(self, tensors, opts=None):
        self.called += 1
        if self.failing == "call":
            raise ValueError("refused by torch")
        return None if self.failing == "nothing" else Work()


@pytest.mark.parametrize("failing", ["", "size", "words", "nothing", "call"])
def test_whatever_is_wrong_the_call_is_made_once_and_as_it_was(failing, monkeypatch):
    told = []

    class Inside:
        def leave(self):
            told.append("left")

    def enter(*what):
        told.append(what)
        return Inside()

    class Tensor:
        device = type("Device", (), {"type": "cpu"})()
        numel = element_size = staticmethod(lambda: 8)

    # Methods are wrapped in classes that only this test knows.
    module = type("Module", (), {"ProcessGroup": type("ProcessGroup", (Group,), {}), "Work": type("Torch", (Work,), {})})
    monkeypatch.setitem(sys.modules, "torch._C._distributed_c10d", module)
    monkeypatch.setattr("rankscope._native.has_page", lambda: True)
    monkeypatch.setattr("rankscope._native.enter_collective", enter)
    telling = Telling()
    telling.begin()
    telling.begin()
    group = module.ProcessGroup(failing)
    if failing == "call":
        with pytest.raises(ValueError, match="refused by torch"):
            group.allreduce([Tensor()])
    else:
        group.allreduce([Tensor()])
    assert group.called == 1
    assert told == ([] if failing in ("size", "words") else [("", 2, 0, "all_reduce", 64), "left"])
    on_device = type("Tensor", (Tensor,), {"device": type("Device", (), {"type": "cuda"})()})
    told.clear()
    if failing != "call":
        group.allreduce([on_device()])
    assert told == []
