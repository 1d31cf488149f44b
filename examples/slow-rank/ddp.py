"""A small DDP job of torch, in which one rank can be made slow in a known way. CPU and gloo are enough.

    torchrun --nproc_per_node 4 ddp.py traces --because sleep

leaves one trace a rank in the folder `traces`. What makes the rank slow, with the place where a trace shows it:

    none     nothing
    sleep    its data loader sleeps, within the annotation `data_loading`
    batch    its batches are larger: the same operators, longer and with other shapes
    matmul   its forward pass has extra matrix products, within the annotation `extra_products`
"""
import argparse
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, record_function, schedule

WIDTH, LENGTH, BATCH = 128, 32, 4
WAIT, WARMUP = 1, 2


class Block(nn.Module):
    """Attention and two linear layers, as in any transformer."""

    def __init__(self):
        super().__init__()
        self.before_attention = nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.before_mlp = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        y = self.before_attention(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.before_mlp(x))


class Model(nn.Module):
    """Two blocks; on the rank that is slow for them, so many extra products before."""

    def __init__(self, extra_products):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.extra_products = extra_products

    def forward(self, x):
        if self.extra_products:
            x = x + 0.0 * self.multiply()
        return self.blocks(x)

    def multiply(self):
        with record_function("extra_products"), torch.no_grad():
            product = torch.ones(512, 512)
            for _ in range(self.extra_products):
                product = torch.mm(product, torch.full((512, 512), 1.0 / 512))
            return product.mean()


def load_batch(size, seconds):
    """What a data loader does for one step."""
    with record_function("data_loading"):
        if seconds:
            time.sleep(seconds)
        return torch.randn(size, LENGTH, WIDTH)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path, help="folder of the traces")
    parser.add_argument("--because", choices=["none", "sleep", "batch", "matmul"], default="none")
    parser.add_argument("--slow-rank", type=int, default=2)
    parser.add_argument("--steps", type=int, default=8, help="steps recorded")
    parser.add_argument("--sleep-ms", type=float, default=80, help="of `sleep`")
    parser.add_argument("--batches", type=int, default=12, help="of `batch`: times as much in a batch")
    parser.add_argument("--products", type=int, default=16, help="of `matmul`: extra products a step")
    return parser.parse_args()


def main():
    args = arguments()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    because = args.because if rank == args.slow_rank else "none"
    size = BATCH * (args.batches if because == "batch" else 1)
    seconds = args.sleep_ms / 1e3 if because == "sleep" else 0.0
    model = DistributedDataParallel(Model(args.products if because == "matmul" else 0))
    optimizer = torch.optim.AdamW(model.parameters())
    args.out.mkdir(parents=True, exist_ok=True)

    def train_step():
        batch = load_batch(size, seconds)
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    def keep(profiler):
        profiler.export_chrome_trace(str(args.out / f"rank{rank}.json"))

    recorded = schedule(wait=WAIT, warmup=WARMUP, active=args.steps, repeat=1)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=recorded,
        on_trace_ready=keep,
        record_shapes=True,
        with_stack=True,
        with_modules=True,
    ) as profiler:
        for _ in range(WAIT + WARMUP + args.steps):
            train_step()
            profiler.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
