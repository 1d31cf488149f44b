"""Plans executed by torch: rows go to where their attention is computed and outputs come back, with gradients, on any backend that
has `all_to_all_single`, gloo among them.

    plan = rankscope.dispatch.plan(lengths, ranks=dist.get_world_size())
    attention = AttentionDispatch(plan)
    out = attention(q, k, v)         # rows [tokens on this rank, heads, head size]

All ranks must have the same plan, which is so where they plan the same lengths: planning depends on nothing else.

Where ranks share the keys of a query (`split_kv`), each gives part of its output and the log-sum-exp of its scores, and both are merged:
on the rank that has several parts, and then at home. Where heads are in groups, rows are brought into their order and back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from rankscope.dispatch._errors import PlanError
from rankscope.dispatch._plan import Plan
from rankscope.dispatch._rank import RankRows

# A kernel as flash_attn_varlen_func is, called with causal=True: queries, keys and values of all tasks back to back, where each
# begins, and the longest of them. Queries are aligned to the end of their keys.
Kernel = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, int, int], Tensor]
# The same for plans that split keys: it is told for each task whether it is causal, else every query sees all keys, and gives the
# log-sum-exps as well, [queries, heads]. Gradients go through both.
PartialKernel = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, int, int, list[bool]], tuple[Tensor, Tensor]]


class AttentionDispatch:
    """One rank's part of a plan, ready to be executed every layer."""

    def __init__(
        self,
        plan: Plan,
        group: dist.ProcessGroup | None = None,
        *,
        device: torch.device | str | None = None,
        verify: bool = False,
    ) -> None:
        """Takes what this rank of `group` needs from the plan, to `device`.

        With `verify`, all ranks first make sure that they have the same plan; else a rank with another one hangs them all.
        """
        if dist.get_world_size(group) != plan.world_size:
            raise PlanError(f"the plan is for {plan.world_size} ranks, and the group has {dist.get_world_size(group)}")
        if verify:
            _ensure_same(plan, group, device)
        self.rows: RankRows = plan.rank(dist.get_rank(group), kept_last=True)
        arrays = {name: tensor.to(device) for name, tensor in self.rows.arrays("torch").items()}
        self.head_groups = plan.head_groups
        # Rows of a rank are those of the first group of heads, then of the next; tokens are the same in each.
        self.tokens = self.rows.tokens // self.head_groups
        self.cu_seqlens_q: Tensor = arrays["cu_seqlens_q"]
        self.cu_seqlens_k: Tensor = arrays["cu_seqlens_k"]
        self.position_ids: Tensor = arrays["position_ids"][: self.tokens]
        self.document_ids: Tensor = arrays["document_ids"][: self.tokens]
        self.causal = [bool(causal) for causal in arrays["causal"].tolist()]
        self._queries = _way(self.rows, "q", arrays, group)
        self._keys = _way(self.rows, "kv", arrays, group)

    def to_attention(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The queries of this rank's tasks, and for each of them all keys and values that it takes."""
        for name, tensor in (("q", q), ("k", k), ("v", v)):
            if tensor.shape[0] != self.tokens:
                raise PlanError(
                    f"{name} has {tensor.shape[0]} rows, and rank {self.rows.rank} holds {self.tokens} tokens in this plan"
                )
        q, k, v = (self._by_group(tensor) for tensor in (q, k, v))
        # Keys and values go together: one exchange less.
        wide = torch.cat((k.flatten(1), v.flatten(1)), dim=1)
        queries: Tensor = _Out.apply(q, self._queries)
        both: Tensor = _Out.apply(wide, self._keys)
        width = k.shape[1:].numel()
        keys, values = both[:, :width], both[:, width:]
        return queries, keys.reshape(-1, *k.shape[1:]), values.reshape(-1, *v.shape[1:])

    def from_attention(self, out: Tensor, lse: Tensor | None = None) -> Tensor:
        """The outputs of this rank's tokens, from wherever they were computed. Anything with a row per query goes the same way.

        With `lse`, which plans need that split keys, outputs are parts, and are merged by their log-sum-exps, [queries, heads].
        """
        if out.shape[0] != len(self._queries.receive_rows):
            raise PlanError(
                f"{out.shape[0]} rows of outputs, and rank {self.rows.rank} computes {len(self._queries.receive_rows)} queries"
            )
        if lse is None:
            if self.rows.merges:
                raise PlanError("this plan splits keys: outputs are parts, and are merged by their log-sum-exps, `lse`")
            back: Tensor = _Back.apply(out, self._queries)
            return self._by_token(back)
        return self._by_token(self._merged(out, lse))

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, kernel: Kernel | PartialKernel | None = None) -> Tensor:
        """Attention of this rank's tokens, computed wherever the plan says; by a `PartialKernel` where it splits keys."""
        queries, keys, values = self.to_attention(q, k, v)
        lengths = (self.cu_seqlens_q, self.cu_seqlens_k, self.rows.max_seqlen_q, self.rows.max_seqlen_k)
        # Kernels need not know what nothing is.
        none = kernel is None or len(queries) == 0
        if self.rows.merges:
            parts: Any = partial_attention if none else kernel
            return self.from_attention(*parts(queries, keys, values, *lengths, self.causal))
        whole: Any = varlen_attention if none else kernel
        return self.from_attention(whole(queries, keys, values, *lengths))

    def _merged(self, out: Tensor, lse: Tensor) -> Tensor:
        way = self._queries
        # One row for each that was received, however many tasks it was for; then one for each token.
        out, lse = _merge(out, lse, way.receive_rows, way.received)
        out, lse = (_Carried.apply(tensor, way, True) for tensor in (out, lse))
        return _merge(out, lse, way.send_rows, way.rows)[0]

    def _by_group(self, rows: Tensor) -> Tensor:
        if self.head_groups == 1:
            return rows
        if rows.shape[1] % self.head_groups:
            raise PlanError(f"{rows.shape[1]} heads are not {self.head_groups} equal groups, as this plan has them")
        heads = rows.shape[1] // self.head_groups
        by_group = rows.reshape(self.tokens, self.head_groups, heads, *rows.shape[2:]).transpose(0, 1)
        return by_group.reshape(self.rows.tokens, heads, *rows.shape[2:])

    def _by_token(self, rows: Tensor) -> Tensor:
        if self.head_groups == 1:
            return rows
        heads = rows.shape[1] * self.head_groups
        by_token = rows.reshape(self.head_groups, self.tokens, *rows.shape[1:]).transpose(0, 1)
        return by_token.reshape(self.tokens, heads, *rows.shape[2:])


def _merge(out: Tensor, lse: Tensor, index: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """Outputs over parts of the keys as those over all of them; `index` says for each of which row it is a part."""
    most = lse.new_full((rows, lse.shape[1]), float("-inf")).index_reduce_(0, index, lse.detach(), "amax")
    weights = (lse - most.index_select(0, index)).exp()
    total = torch.zeros_like(most).index_add(0, index, weights)
    shares = (weights / total.index_select(0, index)).unsqueeze(-1).to(out.dtype)
    merged = out.new_zeros((rows, *out.shape[1:])).index_add(0, index, out * shares)
    return merged, most + total.log()


def varlen_attention(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int, max_seqlen_k: int
) -> Tensor:
    """Causal attention of packed tasks by torch alone, task by task: right on every device, and fast on none.

    Rows are [tokens, heads, head size]; keys and values may have fewer heads, each for as many of the queries'.
    """
    del max_seqlen_q, max_seqlen_k
    ends_q, ends_k = cu_seqlens_q.tolist(), cu_seqlens_k.tolist()
    outputs = []
    for task in range(len(ends_q) - 1):
        queries = q[ends_q[task] : ends_q[task + 1]]
        keys, values = (rows[ends_k[task] : ends_k[task + 1]] for rows in (k, v))
        seen = torch.ones(len(queries), len(keys), dtype=torch.bool, device=q.device).tril(len(keys) - len(queries))
        queries, keys, values = (rows.transpose(0, 1).unsqueeze(0) for rows in (queries, keys, values))
        grouped = q.shape[1] != k.shape[1]
        out = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=seen, enable_gqa=grouped)
        outputs.append(out.squeeze(0).transpose(0, 1))
    # A rank without tasks still takes part in the way back, and its gradients in the way there.
    return torch.cat(outputs) if outputs else q + 0 * (k.sum() + v.sum())


def partial_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    causal: list[bool],
) -> tuple[Tensor, Tensor]:
    """Attention of packed tasks over part of their keys by torch alone, and the log-sum-exps of its scores: right on every device, and
    fast on none."""
    del max_seqlen_q, max_seqlen_k
    ends_q, ends_k = cu_seqlens_q.tolist(), cu_seqlens_k.tolist()
    group = q.shape[1] // k.shape[1]
    outputs, lses = [], []
    for task, is_causal in enumerate(causal):
        queries = q[ends_q[task] : ends_q[task + 1]].transpose(0, 1)
        rows = (tensor[ends_k[task] : ends_k[task + 1]].transpose(0, 1) for tensor in (k, v))
        keys, values = (tensor.repeat_interleave(group, dim=0) for tensor in rows)
        scores = queries @ keys.transpose(1, 2) / q.shape[-1] ** 0.5
        if is_causal:
            seen = torch.ones(scores.shape[1:], dtype=torch.bool, device=q.device).tril(scores.shape[2] - scores.shape[1])
            scores = scores.masked_fill(~seen, float("-inf"))
        lse = scores.logsumexp(dim=-1)
        outputs.append(((scores - lse.unsqueeze(-1)).exp() @ values).transpose(0, 1))
        lses.append(lse.transpose(0, 1))
    if outputs:
        return torch.cat(outputs), torch.cat(lses)
    # A rank without tasks still takes part in the way back, and its gradients in the way there.
    nothing = q + 0 * (k.sum() + v.sum())
    return nothing, nothing.sum(dim=-1)


@dataclass(frozen=True)
class _Way:
    """How the rows of a tensor get to the attention layout.

    The rows that stay on this rank are the last of the send buffer and of the receive buffer. They are in no message: while the others
    are on their way, they go from the tensor into the receive buffer, or on the way back from buffer to buffer.
    """

    rows: int
    send_rows: Tensor
    send_counts: list[int]
    receive_counts: list[int]
    receive_rows: Tensor
    kept: int
    # Whether every row is sent once and kept once: then nothing needs adding up on the way back.
    once: bool
    group: dist.ProcessGroup | None

    @property
    def received(self) -> int:
        """Rows of the receive buffer."""
        return sum(self.receive_counts) + self.kept

    def out(self, x: Tensor) -> Tensor:
        crossing, kept = self.send_rows.tensor_split([sum(self.send_counts)])
        received = x.new_empty((self.received, *x.shape[1:]))
        with self._exchange(received, x.index_select(0, crossing), self.receive_counts, self.send_counts) as own:
            torch.index_select(x, 0, kept, out=own)
        return received.index_select(0, self.receive_rows)

    def back(self, y: Tensor) -> Tensor:
        """The transpose of `out`."""
        returned = self.carried(self._unselected(y, self.receive_rows, self.received), home=True)
        return self._unselected(returned, self.send_rows, self.rows)

    def carried(self, buffer: Tensor, home: bool) -> Tensor:
        """What the send buffer is once it is received; or, on the way home, the receive buffer once it has returned."""
        receive_counts, send_counts = self.receive_counts, self.send_counts
        if home:
            receive_counts, send_counts = send_counts, receive_counts
        crossing, kept = buffer.contiguous().tensor_split([sum(send_counts)])
        carried = buffer.new_empty((sum(receive_counts) + self.kept, *buffer.shape[1:]))
        with self._exchange(carried, crossing, receive_counts, send_counts) as own:
            own.copy_(kept)
        return carried

    @contextmanager
    def _exchange(
        self, into: Tensor, crossing: Tensor, receive_counts: list[int], send_counts: list[int]
    ) -> Iterator[Tensor]:
        """Fills `into`, but for its end, which it gives to be filled meanwhile."""
        come, own = into.tensor_split([sum(receive_counts)])
        # None only for ranks outside of the group, which have no such object.
        work: Any = dist.all_to_all_single(come, crossing, receive_counts, send_counts, group=self.group, async_op=True)
        yield own
        work.wait()

    def _unselected(self, y: Tensor, at: Tensor, rows: int) -> Tensor:
        if self.once:
            return y.new_empty((rows, *y.shape[1:])).index_copy_(0, at, y)
        return y.new_zeros((rows, *y.shape[1:])).index_add_(0, at, y)


# Both are linear and each is the other's transpose, so each is the other's gradient, as often as one differentiates.
class _Out(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, way: _Way) -> Tensor:
        ctx.way = way
        return way.out(x)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor, None]:
        return _Back.apply(grad_outputs[0], ctx.way), None


class _Back(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, way: _Way) -> Tensor:
        ctx.way = way
        return way.back(y)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor, None]:
        return _Out.apply(grad_outputs[0], ctx.way), None


class _Carried(torch.autograd.Function):
    """From buffer to buffer, and gradients back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, way: _Way, home: bool) -> Tensor:
        ctx.way, ctx.home = way, home
        return way.carried(x, home)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor, None, None]:
        return _Carried.apply(grad_outputs[0], ctx.way, not ctx.home), None, None


def _way(rows: RankRows, tensor: str, arrays: dict[str, Tensor], group: dist.ProcessGroup | None) -> _Way:
    return _Way(
        rows=rows.tokens,
        send_rows=arrays[f"{tensor}_send_rows"],
        send_counts=getattr(rows, f"{tensor}_send_counts"),
        receive_counts=getattr(rows, f"{tensor}_receive_counts"),
        receive_rows=arrays[f"{tensor}_receive_rows"],
        kept=getattr(rows, f"{tensor}_kept"),
        # A query that several ranks have tasks for is sent to each of them.
        once=tensor == "q" and not rows.merges,
        group=group,
    )


def _ensure_same(plan: Plan, group: dist.ProcessGroup | None, device: torch.device | str | None) -> None:
    # 63 bits of the hash, in a type that every backend gathers.
    own = torch.tensor([int(plan.hash[:16], 16) >> 1], dtype=torch.int64, device=device)
    all_of_them = [torch.empty_like(own) for _ in range(plan.world_size)]
    dist.all_gather(all_of_them, own, group=group)
    others = [rank for rank, other in enumerate(all_of_them) if int(other) != int(own)]
    if others:
        raise PlanError(f"ranks {others} have another plan; plan the same lengths, with the same settings, everywhere")
