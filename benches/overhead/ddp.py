"""One rank of a data-parallel training loop on the processor, which says how long its steps took and what they cost."""

import json
import os
import resource
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def cpu_s():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


steps, folder = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
layers = [torch.nn.Linear(256, 256) for _ in range(4)]
model = DistributedDataParallel(torch.nn.Sequential(*layers))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
batch = torch.randn(64, 256)


def step():
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    return loss


for _ in range(5):
    step()
dist.barrier()
times, begun, cpu = [], time.perf_counter(), cpu_s()
for number in range(steps):
    step_begun = time.perf_counter()
    loss = step()
    times.append(time.perf_counter() - step_begun)
    if number % 10 == 0:
        print(f"step {number} loss {loss.item():.4f}", flush=True)
dist.barrier()
figures = {
    "step_ms": sorted(times)[len(times) // 2] * 1e3,
    "loop_s": time.perf_counter() - begun,
    "cpu_s": cpu_s() - cpu,
}
dist.destroy_process_group()
with open(os.path.join(folder, f"rank-{rank}.json"), "w", encoding="utf-8") as out:
    json.dump(figures, out)
