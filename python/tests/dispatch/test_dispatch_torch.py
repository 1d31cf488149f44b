"""Attention that is dispatched over real processes is whole attention: outputs, gradients, and whatever lies on ranks without work."""

import json
import os
import subprocess
import sys

import pytest

from dispatch_cases import ROOT, needed

needed("torch")

# What every process asks of a plan, which has documents of these `lengths`: outputs and gradients are those of whole attention.
COMPARED = """
# Every exchange, as the rows that a rank sends to each and has from each.
exchange, exchanged = dist.all_to_all_single, []
def recorded(into, out, receive_counts, send_counts, **rest):
    exchanged.append((send_counts, receive_counts))
    assert (len(out), len(into)) == (sum(send_counts), sum(receive_counts))
    return exchange(into, out, receive_counts, send_counts, **rest)
dist.all_to_all_single = recorded

attention = AttentionDispatch(plan, verify=True)
starts = torch.tensor([0, *lengths]).cumsum(0)
held = starts[attention.document_ids] + attention.position_ids

torch.manual_seed(0)
tokens = sum(lengths)
rows = [torch.randn(tokens, heads, 8) for heads in (4, 2, 2)]
weights = torch.randn(tokens, 4, 8)
own = [tensor[held].requires_grad_() for tensor in rows]
out = attention(*own)
(out * weights[held]).sum().backward()

whole = [tensor.clone().requires_grad_() for tensor in rows]
ends = starts.to(torch.int32)
right = varlen_attention(*whole, ends, ends, max(lengths), max(lengths))
(right * weights).sum().backward()
for found, expected in zip([out, *(tensor.grad for tensor in own)], [right, *(tensor.grad for tensor in whole)], strict=True):
    torch.testing.assert_close(found, expected[held], rtol=1e-10, atol=1e-10)

# What crosses is sent, each way and back again, and nothing to oneself: outputs of split queries beside their log-sum-exps.
expected = plan.rank(rank)
def crossing(tensor):
    counts = [list(getattr(expected, f"{tensor}_{way}_counts")) for way in ("send", "receive")]
    for way in counts:
        way[rank] = 0
    return tuple(counts)
queries, keys = crossing("q"), crossing("kv")
home, parts = (queries[1], queries[0]), 2 if plan.merges else 1
assert exchanged == [queries, keys] + [home] * parts + [queries] * parts + [(keys[1], keys[0]), home], exchanged
exchanged.clear()
"""

# What each of the processes runs. Documents, where their pieces lie and who computes them come as arguments.
WORKER = (
    """
import json, os, sys
import torch
import torch.distributed as dist
from rankscope import dispatch
from rankscope.dispatch.torch import AttentionDispatch, varlen_attention

rank, ranks, meeting, pieces = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)
plan = dispatch.Plan.of_shards(pieces, ranks=ranks)
lengths = [sum(piece[2] for piece in document) for document in pieces]
"""
    + COMPARED
    + """
# Each direction is the transpose of the other, to any order.
y = attention.from_attention(attention.to_attention(*own)[0])
torch.testing.assert_close(y, own[0])
try:
    attention(own[0][:-1], own[1], own[2]) if len(held) else None
except dispatch.PlanError as error:
    assert f"rank {rank} holds {len(held)} tokens" in str(error)
else:
    assert not len(held)
dist.destroy_process_group()
"""
)


def together(ranks, script, meeting, *words):
    """Runs a script in so many processes, with the rank, their number and a file to meet at before other arguments."""
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    commands = [[sys.executable, "-c", script, str(rank), str(ranks), str(meeting), *words] for rank in range(ranks)]
    processes = [subprocess.Popen(command, env=environment, **pipes) for command in commands]
    try:
        printed = [process.communicate(timeout=120)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [process.returncode for process in processes], printed


@pytest.mark.parametrize(
    "pieces",
    [
        # A document over all ranks, computed elsewhere.
        [[[0, 1, 5], [1, 2, 7], [2, 0, 4]], [[0, 0, 3]]],
        # Rank 1 holds nothing and computes, rank 2 holds and computes nothing; pieces of no tokens; a document of none.
        [[[0, 1, 6], [2, 1, 0], [2, 0, 9]], [], [[2, 1, 1]]],
        # Several tasks of one document on one rank, which share keys.
        [[[0, 0, 4], [1, 1, 3], [0, 0, 5], [2, 0, 2]], [[1, 2, 6], [1, 0, 6]]],
    ],
)
def test_dispatched_attention_is_whole_attention(tmp_path, pieces):
    codes, printed = together(3, WORKER, tmp_path / "store", json.dumps(pieces))
    assert codes == [0, 0, 0], "\n".join(printed)


# The same of any plan in a file: rows of four query heads and two key heads.
FILE_WORKER = (
    """
import sys
import torch
import torch.distributed as dist
from rankscope import dispatch
from rankscope.dispatch.torch import AttentionDispatch, varlen_attention

rank, ranks, meeting, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)
plan = dispatch.load(path)
lengths = [0] * plan.documents
for document, _, _, tokens in plan.shards().tolist():
    if document < plan.documents:
        lengths[document] += tokens
"""
    + COMPARED
    + """dist.destroy_process_group()
"""
)

TILES = {
    "layout": [[[0, 6], [1, 5], [2, 3]], [[1, 4]], []],
    # Rank 2 has two parts of the same queries; rank 0 and rank 1 share those of the second document.
    "tasks": [
        [[0, 6, 0, 6, 0], [6, 11, 0, 2, 2], [6, 11, 2, 4, 0], [6, 11, 4, 6, 2], [6, 11, 6, 11, 1], [11, 14, 0, 11, 0], [11, 14, 11, 14, 2]],
        [[0, 2, 0, 2, 1], [2, 4, 0, 2, 0], [2, 4, 2, 4, 1]],
        [],
    ],
}
# Rank 2 holds nothing, and has no task.
IDLE = {"world_size": 3, "layout": [[[0, 4], [1, 4]]], "tasks": [[[0, 4, 0, 4, 0], [4, 8, 0, 4, 0], [4, 8, 4, 8, 1]]]}
GROUPS = {"head_groups": 2, "documents": [[[0, 0, 5], [1, 1, 4]], [[2, 0, 3]], [[0, 2, 3], [0, 1, 2], [1, 2, 4]], [[2, 2, 3]]]}
BOTH = {"head_groups": 2, "layout": TILES["layout"] * 2, "tasks": TILES["tasks"] + [[[0, 14, 0, 14, 2]], [[0, 4, 0, 4, 0]], []]}


@pytest.mark.parametrize("plan", [TILES, IDLE, GROUPS, BOTH])
def test_split_attention_is_whole_attention(tmp_path, plan):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"schema": 2, "rows": {"hidden_q": 32, "hidden_kv": 16, "lse": 8, "element_bytes": 2}, **plan}))
    codes, printed = together(3, FILE_WORKER, tmp_path / "store", str(path))
    assert codes == [0, 0, 0], "\n".join(printed)


OTHER_PLANS = """
import sys
import torch.distributed as dist
from rankscope import dispatch
from rankscope.dispatch.torch import AttentionDispatch

rank, ranks, meeting = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)
for lengths, text in [([100, 200 + rank], "have another plan"), ([300], None)]:
    try:
        AttentionDispatch(dispatch.plan(lengths, ranks=2), verify=True)
    except dispatch.PlanError as error:
        assert text and text in str(error), error
    else:
        assert text is None
try:
    AttentionDispatch(dispatch.plan([300], ranks=3))
except dispatch.PlanError as error:
    assert "the plan is for 3 ranks, and the group has 2" in str(error)
else:
    raise AssertionError("a plan for others was taken")
dist.destroy_process_group()
"""


def test_plans_that_differ_between_ranks_are_refused_before_anything_hangs(tmp_path):
    codes, printed = together(2, OTHER_PLANS, tmp_path / "store")
    assert codes == [0, 0], "\n".join(printed)


def test_the_example_trains_as_whole_attention_does():
    example = ROOT / "examples" / "dispatch-python" / "train.py"
    for layout in ("zigzag", "even"):
        words = [sys.executable, str(example), "--steps", "2", "--layout", layout]
        done = subprocess.run(words, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "same as whole attention, forward and backward" in done.stdout
