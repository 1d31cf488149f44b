"""Clocks compared by messages of a process group. Processes of one host share its raw clock, so that the truth is known: 0."""

import json
import subprocess
import sys

import pytest

from rankscope.torch._clock_check import _compared

JOB = """
import json, sys
import torch.distributed as dist
import rankscope.torch
rank = int(sys.argv[1])
dist.init_process_group("gloo", init_method=f"file://{sys.argv[2]}/store", rank=rank, world_size=3)
checks = rankscope.torch.clock_check(rounds=20, node=rank + 10)
print(json.dumps([(it.rank, it.node, it.lo_ns, it.hi_ns, it.agrees) for it in checks]))
dist.destroy_process_group()
"""


def test_the_truth_lies_within_the_bounds(torch, tmp_path):
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("this torch has no gloo")
    command = [sys.executable, "-c", JOB]
    ranks = [subprocess.Popen([*command, str(rank), str(tmp_path)], stdout=subprocess.PIPE, text=True) for rank in range(3)]
    said = [json.loads(rank.communicate(timeout=120)[0].splitlines()[-1]) for rank in ranks]
    assert said[1:] == [[], []]
    assert [(rank, node, agrees) for rank, node, _, _, agrees in said[0]] == [(1, 11, None), (2, 12, None)]
    assert all(lo <= 0 <= hi for _, _, lo, hi, _ in said[0])


def files(folder, offset_ns):
    """Node 0 is the reference, 1 is ahead by `offset_ns`; their host clocks count 1,000 and 5,000 ns from the raw ones."""
    for node, shift in ((0, 1_000), (1, 5_000)):
        header = {"meta": True, "node_id": node, "schema": 1, "host_minus_raw_ns": shift}
        (folder / f"windows-node{node}.jsonl").write_text(json.dumps(header) + "\n")
    row = {"node_id": 1, "offset_ns": offset_ns, "at_ns": 15_000, "skew_ppb": 0, "reachable": True}
    row.update(bound_lo_ns=offset_ns - 50, bound_hi_ns=offset_ns + 50)
    (folder / "offsets.jsonl").write_text(json.dumps({"meta": True, "reference": 0, "schema": 1}) + "\n" + json.dumps(row) + '\n{"cut')


@pytest.mark.parametrize(("offset_ns", "agrees"), [(4_000, True), (4_160, True), (4_200, False), (3_700, False)])
def test_probes_are_compared_with_messages(tmp_path, offset_ns, agrees):
    files(tmp_path, offset_ns)
    # Host clocks 4,000 ns apart are raw clocks that are equal, which the messages know to 130 ns.
    check = _compared(tmp_path, rank=7, own=0, node=1, found=(-100, 130, 10_000))
    assert (check.probes_ns, check.agrees) == (offset_ns - 4_000, agrees)


def test_without_probes_there_is_nothing_to_compare(tmp_path):
    assert _compared(tmp_path, rank=7, own=0, node=1, found=(-100, 130, 10_000)).agrees is None
