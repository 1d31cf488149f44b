#!/usr/bin/env python3
"""Trains a small transformer on a packed batch over four CPU ranks, its attention dispatched by a plan, and compares every step with
the same model on whole documents in one process: outputs, loss, and the gradient of every weight. Needs rankscope and torch.

    python examples/dispatch-python/train.py [--ranks 4] [--steps 3] [--layout zigzag]
"""

import argparse
import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.multiprocessing.spawn import spawn
from torch.nn import functional as F

from rankscope import dispatch
from rankscope.dispatch.torch import AttentionDispatch

LENGTHS = [1024, 128, 512, 64, 256, 64]
VOCABULARY, WIDTH, HEADS, KV_HEADS, LAYERS = 64, 64, 4, 2, 2


class Layer(nn.Module):
    """Attention with fewer heads of keys than of queries, and a dense layer."""

    def __init__(self):
        super().__init__()
        self.size = WIDTH // HEADS
        self.qkv = nn.Linear(WIDTH, (HEADS + 2 * KV_HEADS) * self.size, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.dense = nn.Sequential(nn.RMSNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.norm = nn.RMSNorm(WIDTH)

    def forward(self, x, positions, attention):
        rows = self.qkv(self.norm(x)).unflatten(1, (-1, self.size))
        q, k, v = rows.split([HEADS, KV_HEADS, KV_HEADS], dim=1)
        x = x + self.out(attention(turned(q, positions), turned(k, positions), v).flatten(1))
        return x + self.dense(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens, positions, attention):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, positions, attention)
        return self.head(x)


def turned(x, positions):
    """Rotary embedding: by the position in the document, wherever the row lies."""
    rates = 10_000 ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
    angles = (positions[:, None] * rates)[:, None]
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack((even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()), -1).flatten(-2)


def whole_attention(q, k, v):
    """Every document on its own, from its first to its last token, as if nobody had cut anything."""
    outputs = []
    for rows in zip(*(tensor.split(LENGTHS) for tensor in (q, k, v)), strict=True):
        heads = [tensor.transpose(0, 1)[None] for tensor in rows]
        out = F.scaled_dot_product_attention(*heads, is_causal=True, enable_gqa=True)
        outputs.append(out[0].transpose(0, 1))
    return torch.cat(outputs)


def batch(step):
    """The same tokens on every rank, and the token that follows each in its document; -100 after the last."""
    torch.manual_seed(100 + step)
    tokens = [torch.randint(VOCABULARY, (length,)) for length in LENGTHS]
    following = [F.pad(document[1:], (0, 1), value=-100) for document in tokens]
    return torch.cat(tokens), torch.cat(following)


def loss_of(outputs, labels):
    # Of all tokens of the batch, so that the losses of ranks add up.
    return F.cross_entropy(outputs, labels, ignore_index=-100, reduction="sum") / (sum(LENGTHS) - len(LENGTHS))


def gradients(model):
    """Of all weights, in their order. Every one of them is used in every step."""
    return [weights.grad for weights in model.parameters() if weights.grad is not None]


def models():
    torch.manual_seed(0)
    model = Model()
    return model, torch.optim.SGD(model.parameters(), lr=0.5)


def worker(rank, ranks, steps, layout, meeting):
    # In 64 bits, what is left of a difference is rounding, and a mistake of one row shows.
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)

    plan = dispatch.plan(
        LENGTHS, ranks=ranks, layout=layout, hidden_q=WIDTH, hidden_kv=WIDTH // HEADS * KV_HEADS, element_bytes=8
    )
    attention = AttentionDispatch(plan, verify=True)
    starts = torch.tensor([0, *LENGTHS]).cumsum(0)
    held = starts[attention.document_ids] + attention.position_ids
    if rank == 0:
        print(f"{plan}: heaviest rank {plan.max_over_mean:.3f} of the mean", flush=True)

    (model, optimizer), (whole, whole_optimizer) = models(), models()
    positions = torch.cat([torch.arange(length) for length in LENGTHS])
    for step in range(steps):
        tokens, labels = batch(step)
        outputs = model(tokens[held], attention.position_ids, attention)
        loss = loss_of(outputs, labels[held])
        optimizer.zero_grad()
        loss.backward()
        for gradient in gradients(model):
            dist.all_reduce(gradient)
        dist.all_reduce(loss := loss.detach())

        right = whole(tokens, positions, whole_attention)
        right_loss = loss_of(right, labels)
        whole_optimizer.zero_grad()
        right_loss.backward()

        pairs = zip(gradients(model), gradients(whole), strict=True)
        worst = max(((found - expected).abs().max() / expected.abs().max()).item() for found, expected in pairs)
        wrong = torch.tensor([(outputs - right[held]).abs().max().item() if len(held) else 0.0, worst])
        dist.all_reduce(wrong, op=dist.ReduceOp.MAX)
        if rank == 0:
            print(
                f"step {step}: loss {loss:.6f}, whole {right_loss:.6f}; largest difference of outputs {wrong[0]:.1e}, "
                f"of gradients {wrong[1]:.1e}",
                flush=True,
            )
        assert wrong.max() < 1e-10, "the dispatched model is another one"
        optimizer.step()
        whole_optimizer.step()
    dist.destroy_process_group()


def main():
    options = argparse.ArgumentParser(description="Attention dispatched by a plan, compared with whole attention")
    options.add_argument("--ranks", type=int, default=4)
    options.add_argument("--steps", type=int, default=3)
    options.add_argument("--layout", choices=["zigzag", "even"], default="zigzag")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        meeting = os.path.join(folder, "store")
        spawn(worker, (chosen.ranks, chosen.steps, chosen.layout, meeting), nprocs=chosen.ranks)
    print("same as whole attention, forward and backward")


if __name__ == "__main__":
    main()
