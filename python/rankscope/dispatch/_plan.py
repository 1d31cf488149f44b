"""Plans: who computes what, and what every rank needs to do its part."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import index
from pathlib import Path
from typing import Any, Literal

from rankscope._native import dispatch as _native
from rankscope.dispatch import _layout
from rankscope.dispatch._arrays import Array, plain
from rankscope.dispatch._errors import DocumentsError, PlanError, ensure_causal
from rankscope.dispatch._files import written
from rankscope.dispatch._html import bars, table
from rankscope.dispatch._numbers import BITS_64, ensure_whole
from rankscope.dispatch._rank import RankRows

Direction = Literal["forward", "output", "output-gradient", "backward", "resend"]
Form = Literal["alltoallv", "nccl", "puts", "cu-seqlens"]


def plan(
    documents: Any = None,
    *,
    cu_seqlens: Any = None,
    shards: Iterable[Iterable[Sequence[int]]] | None = None,
    ranks: int | None = None,
    layout: Literal["even", "zigzag", "choose"] = "even",
    cp: int | None = None,
    tokens_per_rank: int | None = None,
    mask: str = "causal",
    planner: Literal["bounded", "greedy", "exact"] = "bounded",
    eps: float = 0.05,
    tolerance: float = 0.1,
    network: str | os.PathLike[str] | None = None,
    attention_tflops: float = 400.0,
    weights: Sequence[float] = (),
    hidden_q: int = 4096,
    hidden_kv: int = 1024,
    element_bytes: int = 2,
    cap_send_bytes: int | None = None,
    cap_receive_bytes: int | None = None,
    cap_buffer_bytes: int | None = None,
    search_steps: int | None = None,
    split_kv: bool = False,
    heads: int | None = None,
    head_groups: int = 1,
    backward: bool = False,
) -> Plan:
    """Decides which rank computes which piece of attention.

    What there is to compute is said in one of three ways:

    - `documents`: lengths in tokens; or a list of them for each rank, on which they lie whole; or what the command reads from a file.
    - `cu_seqlens`: the same as sums from 0, as attention kernels take them.
    - `shards`: for each document its pieces from start to end, as `(rank, tokens)`, wherever your own layout put them. Every rank
      holds its pieces in the order of this list.

    Lengths alone are spread over `ranks`: evenly, or filling each with `tokens_per_rank`; or, with `layout="zigzag"`, as Megatron and
    Transformer Engine do with context parallelism of degree `cp` (all ranks if not given): in 2 x cp chunks, of which every rank has
    one from each end. Groups of `cp` ranks have a list of lengths each. With `layout="choose"` the plan says where documents should lie, too,
    for loaders that are free to decide: it moves no more bytes than the plan of the documents as given, and often far fewer.
    Ranks hold at most `tokens_per_rank`, or 1 % more than the mean; `shards()` has the answer.

    With `network`, one of the known ones or a file, the plan is for the shortest forward pass there, by the model of `predict`, instead of for
    the fewest bytes; `attention_tflops` is the speed of attention kernels.

    With `backward` the plan is for a backward pass by itself, which keeps nothing of the forward one, so that all it needs is sent again: its
    bytes and times are those of that pass, and so are caps. For the fewest bytes both passes have the same plan; for the shortest time they may not.

    With `split_kv` several ranks share the keys of the same queries where that moves less, and their outputs are merged by the
    log-sum-exps of `heads` heads, of all groups together (one for every 128 elements of a query row if not given); `to_dict` says what it
    comes to under `split_kv`, and what is needed at least whoever has which keys. With `head_groups` ranks may compute a document
    for some of its heads: as many groups as there are key heads at most, and both kinds of rows divide by it.

    `hidden_q`, `hidden_kv` and `element_bytes` are the sizes of a row of queries and of keys on one rank. No rank computes more than
    `1 + eps` times its share, by its weight. Only `mask="causal"` is planned; 'full' and 'window' are refused, with the reason.
    """
    ensure_causal(mask)
    ensure_whole(ranks=ranks, cp=cp, tokens_per_rank=tokens_per_rank, search_steps=search_steps)
    ensure_whole(hidden_q=hidden_q, hidden_kv=hidden_kv, element_bytes=element_bytes, heads=heads, head_groups=head_groups)
    caps = {"cap_send_bytes": cap_send_bytes, "cap_receive_bytes": cap_receive_bytes, "cap_buffer_bytes": cap_buffer_bytes}
    ensure_whole(PlanError, BITS_64, **caps)
    rows = (hidden_q, hidden_kv, 0, element_bytes)
    if shards is not None:
        if documents is not None or cu_seqlens is not None:
            raise DocumentsError("`shards` say it all: documents and cu_seqlens are not taken beside them")
        laid_out = _layout.sharded(shards, rows, ranks)
    else:
        given = "even" if layout == "choose" else layout
        laid_out = _layout.laid_out(_layout.documents(documents, cu_seqlens), rows, ranks, given, cp, tokens_per_rank)
    settings = {
        "planner": planner,
        "eps": eps,
        "tolerance": tolerance,
        "weights": list(weights),
        **caps,
        "search_steps": search_steps,
        "choose": layout == "choose",
        "tokens_per_rank": tokens_per_rank,
        "network": None if network is None else _network(network),
        "attention_tflops": attention_tflops,
        "head_groups": head_groups,
        "backward": bool(backward),
        "split_kv": bool(split_kv),
        "heads": heads,
    }
    return Plan(laid_out.planned(settings))


def load(path: str | os.PathLike[str]) -> Plan:
    """Reads a plan, JSON or .rkd, whoever wrote it."""
    try:
        return Plan(_native.read_plan(Path(path).read_bytes()))
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from None


class Plan:
    """Who computes what. Made by `plan`, or read by `load`."""

    def __init__(self, native: _native.Plan) -> None:
        self._native = native

    @staticmethod
    def of_shards(
        shards: Iterable[Iterable[Sequence[int]]],
        *,
        ranks: int,
        hidden_q: int = 4096,
        hidden_kv: int = 1024,
        element_bytes: int = 2,
    ) -> Plan:
        """A plan of somebody else's: for each document its pieces `(rank that holds it, rank that computes it, tokens)`."""
        ensure_whole(ranks=ranks, hidden_q=hidden_q, hidden_kv=hidden_kv, element_bytes=element_bytes)
        documents = [[_layout.piece(piece, 3) for piece in document] for document in plain(shards)]
        return Plan(_native.layout_shards(documents, (hidden_q, hidden_kv, 0, element_bytes), ranks))

    @property
    def world_size(self) -> int:
        """Ranks."""
        return self._native.world_size

    @property
    def documents(self) -> int:
        """How many documents."""
        return self._native.documents

    @property
    def hash(self) -> str:
        """Names the plan: two ranks with the same hash have the same plan."""
        return self._native.hash

    @property
    def seconds(self) -> float | None:
        """What the planning alone took; None of a plan that was read."""
        return self._native.seconds

    @property
    def max_over_mean(self) -> float:
        """Attention of the heaviest rank over the mean."""
        return float(self._own_figures["max_over_mean"])

    @property
    def bytes(self) -> int:
        """Bytes that move in a forward pass, per layer."""
        return int(self._own_figures["bytes"])

    @property
    def head_groups(self) -> int:
        """Groups of heads; the documents of one after those of another in `shards()`, `tasks()` and the rows of ranks."""
        return self._native.head_groups

    @property
    def merges(self) -> bool:
        """Whether some queries have several tasks, whose outputs are merged."""
        return self._native.merges

    def shards(self) -> Array:
        """A row per piece, documents in order and each from start to end: document, rank that holds it, rank that computes it, tokens.
        Where keys are split the last rank is that which holds it; see `tasks()`."""
        return self._native.shards()

    def tasks(self) -> Array:
        """A row per task: document, first query, end of the queries, first key, end of the keys, rank that computes it. The keys end
        with the queries, each of which sees those up to itself, or before them, and all are seen."""
        return self._native.tasks()

    def rank(self, number: int, *, kept_last: bool = False) -> RankRows:
        """What one rank needs to execute the plan.

        With `kept_last`, counts are of what crosses between ranks, and the rows that stay on the rank are the last `q_kept` and `kv_kept`
        of both buffers: an all-to-all takes what is before them, and they are copied from one buffer to the other.
        """
        if not 0 <= index(number) < self.world_size:
            raise PlanError(f"rank {number} is not one of 0 to {self.world_size - 1}")
        fields = self._native.rank(number, bool(kept_last))
        return RankRows(rank=number, world_size=self.world_size, plan_hash=self.hash, **fields)

    def to_dict(self, *, explain: bool = False) -> dict[str, Any]:
        """What `rankscope dispatch plan --format json` prints; with `explain`, why every piece moved. Of a plan that was read, planner,
        limits and time are not known, and None."""
        return self._told(True) if explain else dict(self._figures)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the plan, as JSON, or compact if the name ends in .rkd. `load` and the verbs of `rankscope dispatch` read both."""
        suffix = Path(path).suffix
        if suffix not in (".json", ".rkd"):
            raise PlanError(
                f"{path}: plans are written as .json or .rkd; the rows of a rank, of `rank(r)`, as .npz or .safetensors"
            )
        return written(path, self._native.content(suffix == ".rkd"))

    def export(
        self, form: Form, *, direction: Direction = "forward", rank: int | None = None, unit_bytes: int | None = None
    ) -> dict[str, Any]:
        """The arguments of libraries and kernels, as `rankscope dispatch export` writes them."""
        ensure_whole(rank=rank)
        ensure_whole(PlanError, BITS_64, unit_bytes=unit_bytes)
        return dict(json.loads(self._native.export(form, direction, rank, unit_bytes)))

    def check(self) -> dict[str, Any]:
        """Whether the metadata that follow have every property of a plan: `rankscope dispatch check`. `violations` is empty if so."""
        return dict(json.loads(self._native.check()))

    def predict(
        self,
        network: str | os.PathLike[str] = "h100-ib400",
        *,
        only: Literal["forward", "backward"] | None = None,
    ) -> dict[str, Any]:
        """How long the exchanges take on a network, one of the known ones or a file: `rankscope dispatch predict`.

        They are those of a layer whose backward pass keeps what the forward one had, or `only` those of one pass, of which a backward one
        sends everything again.
        """
        name, content = _network(network)
        return dict(json.loads(self._native.predict(name, content, only)))

    def simulate(
        self,
        network: str | os.PathLike[str] = "h100-ib400",
        *,
        then: Iterable[Plan] = (),
        layers: int = 1,
        stages: int = 1,
        microbatches: int | None = None,
        backward: bool = True,
        only: Literal["forward", "backward"] | None = None,
        resend: bool = False,
        overlap: bool = False,
        flows: bool = False,
        attention_tflops: float = 400.0,
        dense_tflops: float = 500.0,
        memory_gb_per_s: float = 3350.0,
    ) -> dict[str, Any]:
        """A step played in time, with further plans as further microbatches: `rankscope dispatch simulate --events`.

        The backward pass keeps what the forward one had, or everything is sent again for it with `resend`. `only` plays one pass, of which
        a backward one has everything sent again.
        """
        settings = {
            "layers": layers,
            "stages": stages,
            "microbatches": microbatches,
            "backward": backward,
            "only": only,
            "resend": resend,
            "overlap": overlap,
            "flows": flows,
            "attention_tflops": attention_tflops,
            "dense_tflops": dense_tflops,
            "memory_gb_per_s": memory_gb_per_s,
        }
        ensure_whole(layers=layers, stages=stages, microbatches=microbatches)
        name, content = _network(network)
        further = [_plan(one)._native for one in then]
        return dict(json.loads(self._native.simulate(name, content, further, settings)))

    @property
    def _own_figures(self) -> Mapping[str, Any]:
        return dict(self._figures.get("split_kv") or self._figures)

    @cached_property
    def _figures(self) -> Mapping[str, Any]:
        return self._told(False)

    def _told(self, explained: bool) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self._native.answer(explained))
        if self.seconds is None:
            # Whoever made it did not say how.
            told |= {"planner": None, "elapsed_us": None, "eps": None, "limits": None}
        return told

    def __reduce__(self) -> tuple[Any, ...]:
        # Who made it, and in which time, stays with the process that did.
        return _unpickled, (self._native.content(True),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    def __repr__(self) -> str:
        return f"<Plan of {self.documents} documents over {self.world_size} ranks, {self.hash[:12]}>"

    def _repr_html_(self) -> str:
        figures = self._figures
        known = [
            ("documents", f"{figures['documents']} of {figures['tokens']} tokens"),
            ("heaviest rank over mean", f"{figures['max_over_mean']:.4f}, was {figures['max_over_mean_before']:.4f}"),
            ("moved forward, per layer", f"{figures['bytes'] / 2**20:.1f} MiB in {figures['n']} pieces"),
        ]
        mean = max(sum(figures["loads"]) / self.world_size, 1e-9)
        shown = slice(0, _RANKS_DRAWN)
        before, after = ([load / mean for load in figures[name][shown]] for name in ("loads_before", "loads"))
        title = "attention by rank over the mean" + (f", first {_RANKS_DRAWN}" if self.world_size > _RANKS_DRAWN else "")
        return table(f"Plan over {self.world_size} ranks", ["", ""], known) + bars(title, before, after)


def _unpickled(content: bytes) -> Plan:
    return Plan(_native.read_plan(content))


# More would fill the page.
_RANKS_DRAWN = 32


def _plan(one: object) -> Plan:
    if not isinstance(one, Plan):
        raise TypeError(f"`then` is a list of plans, not of {type(one).__name__}")
    return one


def _network(network: str | os.PathLike[str]) -> tuple[str, bytes | None]:
    path = Path(network)
    return (os.fspath(network), path.read_bytes()) if path.is_file() else (os.fspath(network), None)
