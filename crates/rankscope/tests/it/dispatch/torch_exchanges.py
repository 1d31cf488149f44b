"""Executes the exchanges of a plan with torch, under its profiler: a run for `rankscope dispatch check --trace`.

usage: torchrun --nproc_per_node W torch_exchanges.py PREDICTION.json OUTDIR [STEPS]

PREDICTION.json is what `rankscope dispatch predict PLAN --format json` prints; its pairs are the counts. Every rank sends bytes that
tell their sender and receiver and looks at those it got. Without a GPU the backend is gloo.
"""

import json
import sys

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile


def counts(exchange, rank, world):
    sends, receives = [0] * world, [0] * world
    for source, target, size in exchange["pairs"]:
        if source == rank:
            sends[target] = size
        if target == rank:
            receives[source] = size
    return sends, receives


def mark(source, target):
    return (source * 31 + target * 7 + 1) % 251


def run(exchange, rank, world):
    sends, receives = counts(exchange, rank, world)
    data = torch.cat([torch.full((size,), mark(rank, peer), dtype=torch.uint8) for peer, size in enumerate(sends)])
    got = torch.empty(sum(receives), dtype=torch.uint8)
    dist.all_to_all_single(got, data, receives, sends)
    for peer, part in enumerate(got.split(receives)):
        assert bool((part == mark(peer, rank)).all()), f"rank {rank} got wrong bytes from rank {peer}"


def main():
    with open(sys.argv[1]) as file:
        exchanges = json.load(file)["exchanges"]
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    for exchange in exchanges:
        run(exchange, rank, world)
    dist.barrier()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recording:
        for _ in range(steps):
            for exchange in exchanges:
                run(exchange, rank, world)
    recording.export_chrome_trace(f"{sys.argv[2]}/rank{rank}.json")
    dist.barrier()
    dist.destroy_process_group()


main()
