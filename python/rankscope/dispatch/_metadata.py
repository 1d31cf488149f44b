"""What DistCA's functions return: metadata of all ranks or of one, and the layout of attention."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rankscope._native import dispatch as _native
from rankscope.dispatch._arrays import AnyArray, Array, Like, converted_all, kind_of, plain
from rankscope.dispatch._errors import CaseError
from rankscope.dispatch._files import save_arrays, written
from rankscope.dispatch._html import table


@dataclass
class Metadata:
    """One direction of one tensor: where every shard goes, and what every rank receives."""

    dst_rank: AnyArray
    """The rank that each shard is sent to, [W, P] or, with copies, [W, P, C]; -1 where it is not."""
    dst_offset: AnyArray
    """The token at which it begins there."""
    seq_len: AnyArray
    """Tokens of the shard in each slot, [W, P]."""
    num_recv_tokens: AnyArray
    """Tokens that rank d receives from rank r, at [d, r], and their sum in the last column."""
    seq_recv_mask: AnyArray | None = None
    """On the way back of what was sent in copies: which of them come back, [W, P, C]."""
    recv_seq_lens: AnyArray | None = None
    """And how long they are, [W, P]."""
    num_seqs: AnyArray | None = None
    """Slots in use, [W]. None in the slice of one rank."""
    world_size: int | None = None
    """Ranks. None in the slice of one rank."""
    normalized: bool = False
    """Whether the types are those of the kernels' arguments."""
    num_total_recv_tokens: Any = None
    """Tokens that each rank receives from all; a number in the slice of one rank."""

    def get_slice(self, rank: int) -> Metadata:
        """What one rank needs: its rows, the first `num_seqs` slots of them."""
        if self.world_size is None or self.num_seqs is None:
            raise CaseError("these are metadata of one rank already")
        if not 0 <= rank < self.world_size:
            raise CaseError(f"the input `rank` is {rank}, of {self.world_size} ranks")
        slots = int(self.num_seqs[rank])
        return Metadata(
            dst_rank=self.dst_rank[rank][:slots],
            dst_offset=self.dst_offset[rank][:slots],
            seq_len=self.seq_len[rank][:slots],
            num_recv_tokens=self.num_recv_tokens[rank],
            seq_recv_mask=None if self.seq_recv_mask is None else self.seq_recv_mask[rank],
            recv_seq_lens=None if self.recv_seq_lens is None else self.recv_seq_lens[rank],
            normalized=self.normalized,
            num_total_recv_tokens=self.num_total_recv_tokens[rank],
        )

    def normalize_dtype(self) -> Metadata:
        """The same numbers in the types of the kernels' arguments; what does not fit is refused."""
        arrays = converted_all(_native.normalize_dtype(self._arrays()), kind_of(self.dst_rank))
        return Metadata(
            **arrays,
            world_size=self.world_size,
            normalized=True,
            num_total_recv_tokens=self.num_total_recv_tokens,
        )

    def to(self, device: Any) -> Metadata:
        """The same with tensors of torch on another device."""
        moved = {name: value.to(device).contiguous() for name, value in self._arrays().items() if value is not None}
        return Metadata(
            **moved,
            world_size=self.world_size,
            normalized=self.normalized,
            num_total_recv_tokens=self.num_total_recv_tokens,
        )

    def cuda(self) -> Metadata:
        """The same on the current CUDA device."""
        return self.to("cuda")

    def to_dict(self) -> dict[str, Any]:
        """The same as lists and numbers: what the command prints."""
        values = {name: plain(value) for name, value in self._arrays().items()}
        mask = values["seq_recv_mask"]
        values["seq_recv_mask"] = None if mask is None else _as_numbers(mask)
        return {**values, "world_size": self.world_size, "num_total_recv_tokens": plain(self.num_total_recv_tokens)}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes .json, .npz or .safetensors."""
        if Path(path).suffix == ".json":
            return written(path, json.dumps(self.to_dict()).encode())
        arrays = {name: _own(value) for name, value in self._arrays().items() if value is not None}
        return save_arrays(path, arrays, {"world_size": str(self.world_size)})

    def _arrays(self) -> dict[str, Any]:
        names = [field.name for field in fields(self)]
        return {name: getattr(self, name) for name in names if name not in _NO_ARRAYS}

    def _repr_html_(self) -> str:
        rows = [(name, _brief(value)) for name, value in self._arrays().items() if value is not None]
        return table(f"Metadata of {self.world_size} ranks", ["array", "shape", "first row"], [(n, *b) for n, b in rows])


_NO_ARRAYS = {"world_size", "normalized", "num_total_recv_tokens"}


@dataclass
class AttentionLayout:
    """What a variable-length attention kernel takes, by rank. Queries are aligned to the end of their keys, and causal."""

    cu_seqlens_q: list[AnyArray]
    """Where the queries of each task begin, and the end of all; an array for each rank."""
    cu_seqlens_kv: list[AnyArray]
    """The same of its keys and values."""
    max_seqlen_q: AnyArray
    """Queries of the longest task, [W]."""
    max_seqlen_kv: AnyArray
    """Keys of the longest task, [W]."""
    num_local_seqs_recv: AnyArray
    """Tasks, [W]."""

    def __iter__(self) -> Iterator[Any]:
        # DistCA returns a tuple of these.
        return iter(getattr(self, field.name) for field in fields(self))

    def to_dict(self) -> dict[str, Any]:
        """The same as lists: what the command prints."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes .json, .npz or .safetensors; in the latter two, the lengths of rank r are `cu_seqlens_q.r` and `cu_seqlens_kv.r`."""
        if Path(path).suffix == ".json":
            return written(path, json.dumps(self.to_dict()).encode())
        arrays = {name: _own(getattr(self, name)) for name in ("max_seqlen_q", "max_seqlen_kv", "num_local_seqs_recv")}
        for name in ("cu_seqlens_q", "cu_seqlens_kv"):
            arrays |= {f"{name}.{rank}": _own(lengths) for rank, lengths in enumerate(getattr(self, name))}
        return save_arrays(path, arrays, {})

    def _repr_html_(self) -> str:
        ranks = zip(self.cu_seqlens_q, self.cu_seqlens_kv, strict=True)
        rows = [(rank, _brief(queries)[1], _brief(keys)[1]) for rank, (queries, keys) in enumerate(ranks)]
        return table(f"Attention of {len(rows)} ranks", ["rank", "cu_seqlens_q", "cu_seqlens_kv"], rows)


def metadata_of(values: dict[str, Any], like: Like) -> Metadata:
    """The fields that the functions return, as arrays of that library."""
    found = Metadata(**converted_all(values, like))
    if like is not None and found.seq_recv_mask is not None:
        # Whoever indexes with a mask of 0 and 1 as integers gets the first two entries.
        found.seq_recv_mask = found.seq_recv_mask != 0
    return found


def _as_numbers(values: Any) -> Any:
    return [_as_numbers(value) for value in values] if isinstance(values, list) else int(values)


def _own(value: AnyArray) -> Array:
    """The array in our own memory."""
    return value if isinstance(value, Array) else _native.as_array(value)


def _brief(value: AnyArray) -> tuple[str, str]:
    """The shape, and the first row, or all of an array with one axis."""
    shape = " × ".join(str(axis) for axis in value.shape)
    first = str(plain(value if len(value.shape) == 1 else value[0])) if len(value) else ""
    return shape, first if len(first) <= 60 else first[:57] + "..."
