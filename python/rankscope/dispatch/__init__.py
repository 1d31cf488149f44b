"""Communication plans for context-parallel attention: which rank computes which piece, and what moves for it.

A plan is made from the lengths of documents, and every rank takes its rows from it:

    plan = rankscope.dispatch.plan([60_000, 3_000, 2_536], ranks=4)
    rows = plan.rank(0)              # indices to pack and unpack, cu_seqlens, positions
    plan.save("plan.json")           # `rankscope dispatch predict`, `check` and `run` take it

DistCA's functions are here by their names: `compute_metadata`, `create_qkv_dispatch`, `orchestrate_simulate` and the others. They take
tensors of torch, arrays of numpy, anything else that speaks DLPack, and nested lists, and answer in kind. For torch itself, with
gradients, see `rankscope.dispatch.torch`.

Neither numpy nor torch is needed.
"""

from rankscope.dispatch._arrays import Array
from rankscope.dispatch._distca import (
    check,
    compute_attn_layout_seqlens,
    compute_metadata,
    compute_metadata_kv,
    create_qkv_dispatch,
    create_qkv_dispatch_2cp,
    create_qkv_dispatch_with_backward,
    create_qkv_dispatch_with_custom_mapping,
    from_planner_output,
    gen_seq_lens,
    kinds,
    metadata,
    orchestrate_simulate,
    test_qkv_dispatch,
)
from rankscope.dispatch._errors import (
    CaseError,
    DispatchError,
    DocumentsError,
    MaskError,
    NetworkError,
    PlanError,
)
from rankscope.dispatch._metadata import AttentionLayout, Metadata
from rankscope.dispatch._plan import Plan, load, plan
from rankscope.dispatch._rank import RankRows

__all__ = [
    "Array",
    "AttentionLayout",
    "CaseError",
    "DispatchError",
    "DocumentsError",
    "MaskError",
    "Metadata",
    "NetworkError",
    "Plan",
    "PlanError",
    "RankRows",
    "check",
    "compute_attn_layout_seqlens",
    "compute_metadata",
    "compute_metadata_kv",
    "create_qkv_dispatch",
    "create_qkv_dispatch_2cp",
    "create_qkv_dispatch_with_backward",
    "create_qkv_dispatch_with_custom_mapping",
    "from_planner_output",
    "gen_seq_lens",
    "kinds",
    "load",
    "metadata",
    "orchestrate_simulate",
    "plan",
    "test_qkv_dispatch",
]
