"""What one rank needs to execute a plan, as arrays."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rankscope._native import dispatch as _native
from rankscope.dispatch._arrays import AnyArray, Array, Like, converted_all, plain
from rankscope.dispatch._files import save_arrays
from rankscope.dispatch._html import table


@dataclass(frozen=True)
class RankRows:
    """One rank's part of a plan: indices, counts and lengths, ready for `index_select`, `all_to_all_single` and attention kernels.

    Queries, keys and values begin in the layout of the dense layers: `tokens` rows on this rank. `x.index_select(0, q_send_rows)` is
    the send buffer of an all-to-all with `q_send_counts` and `q_receive_counts`, and `received.index_select(0, q_receive_rows)` the
    queries of this rank's tasks, one after the other. Keys and values do the same with their own arrays. Outputs return the same way
    backwards, and gradients as well, added up where a row was taken twice.

    The buffers have a message of the rank to itself as well, unless `kept_last` took it out of the counts.
    """

    rank: int
    world_size: int
    plan_hash: str
    """Names the plan, as `Plan.hash`."""
    tokens: int
    """Rows on this rank."""
    cu_seqlens_q: Array
    """Where the queries of each task begin, and the end of all, int32, for kernels that take packed sequences; causal, queries aligned
    to the end of their keys."""
    cu_seqlens_k: Array
    """The same of keys and values."""
    causal: Array
    """For each task 1 if its keys end with its queries, and 0 if every query sees all keys, which is so only where keys are split; int32."""
    merges: bool
    """Whether outputs of the plan are merged: those of a query by their log-sum-exp, in the receive buffer of the queries first, and at
    home from there."""
    max_seqlen_q: int
    """Queries of the longest task."""
    max_seqlen_k: int
    """Keys of the longest task."""
    q_send_rows: Array
    """Rows of queries to send, in the order of the send buffer, int64."""
    q_send_counts: list[int]
    """How many go to each rank."""
    q_receive_counts: list[int]
    """How many come from each rank."""
    q_receive_rows: Array
    """Rows of the receive buffer, in the order of the tasks, int64."""
    q_kept: int
    """Rows at the end of both buffers that stay on this rank and that counts leave out; none without `kept_last`."""
    kv_send_rows: Array
    """The same of keys and values, of which a row may go to several ranks."""
    kv_send_counts: list[int]
    """How many go to each rank."""
    kv_receive_counts: list[int]
    """How many come from each rank."""
    kv_receive_rows: Array
    """Rows of the receive buffer; a row may be taken by several tasks."""
    kv_kept: int
    """The same of keys and values as `q_kept`."""
    document_ids: Array
    """The document of each row on this rank."""
    position_ids: Array
    """Which of its document's tokens each row is."""
    q_document_ids: Array
    """The document of each query that this rank computes."""
    q_position_ids: Array
    """Which of its document's tokens each of those queries is."""

    def arrays(self, like: Like = None) -> dict[str, AnyArray]:
        """All arrays by name, counts among them, in the memory where they are, for numpy or torch."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        lists = {name: _native.as_array(value) for name, value in values.items() if isinstance(value, list)}
        own = {name: value for name, value in values.items() if isinstance(value, Array)}
        return converted_all({**own, **lists}, like)

    def to_dict(self) -> dict[str, Any]:
        """The same as lists and numbers."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes all arrays, as .npz or .safetensors."""
        names = ("rank", "world_size", "tokens", "max_seqlen_q", "max_seqlen_k", "q_kept", "kv_kept")
        scalars = {name: getattr(self, name) for name in names}
        arrays = {**self.arrays(), **{name: _native.as_array(value) for name, value in scalars.items()}}
        return save_arrays(path, arrays, {"plan_hash": self.plan_hash, "rank": str(self.rank)})

    def _repr_html_(self) -> str:
        rows = [(name, " × ".join(map(str, array.shape)), array.dtype) for name, array in self.arrays().items()]
        return table(f"Rank {self.rank} of {self.world_size}: {self.tokens} tokens", ["array", "shape", "type"], rows)
