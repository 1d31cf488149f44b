"""DistCA's functions by their names.

They take what its call sites give, and answer in kind: tensors for tensors, arrays of numpy for arrays of numpy. Functions that are
given numbers only take `like="torch"` or `like="numpy"`. Random ones take the seed as an argument and touch no global generator; what
they draw for a seed is what torch draws after `torch.manual_seed`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rankscope._native import dispatch as _native
from rankscope.dispatch._arrays import AnyArray, Like, converted, converted_all, kind_of, plain
from rankscope.dispatch._errors import CaseError, DispatchError
from rankscope.dispatch._metadata import AttentionLayout, Metadata, metadata_of
from rankscope.dispatch._numbers import BITS_64, ensure_whole


def gen_seq_lens(
    world_size: int, num_seqs: int, total_len: int, *, seed: int = 0, valid: bool = False, like: Like = None
) -> AnyArray:
    """Lengths of documents [W, S] in int32, every row of which sums to `total_len`; none below 1 if they must be `valid`."""
    ensure_whole(CaseError, world_size=world_size, num_seqs=num_seqs, total_len=total_len)
    ensure_whole(CaseError, BITS_64, seed=seed)
    return converted(_native.gen_seq_lens(world_size, num_seqs, total_len, seed, valid), like)


def compute_metadata(seq_len: AnyArray, global_dispatch: AnyArray) -> tuple[Metadata, Metadata]:
    """Where shards go, [W, P] or with copies [W, P, C], and how they come back."""
    forward, reverse = _native.compute_metadata(seq_len, global_dispatch)
    like = kind_of(seq_len, global_dispatch)
    return metadata_of(forward, like), metadata_of(reverse, like)


def compute_metadata_kv(
    kv_to_q_mapping: AnyArray,
    kv_to_q_rank: AnyArray,
    kv_context_size: AnyArray,
    q_to_num_kv_seq: AnyArray,
    q_to_num_kv_token: AnyArray,
    seq_len: AnyArray,
    num_seqs: AnyArray,
    q_dispatch: AnyArray,
    q_seq_to_dst: AnyArray = None,
    max_num_local_seqs: Any = None,
    *,
    documented: bool = False,
) -> tuple[Metadata, Metadata]:
    """The same of keys and values. The last two arguments of DistCA's function follow from the others and are not looked at."""
    del q_seq_to_dst, max_num_local_seqs
    arrays = {
        "kv_to_q_mapping": kv_to_q_mapping,
        "kv_to_q_rank": kv_to_q_rank,
        "kv_context_size": kv_context_size,
        "q_to_num_kv_seq": q_to_num_kv_seq,
        "q_to_num_kv_token": q_to_num_kv_token,
        "seq_len": seq_len,
        "num_seqs": num_seqs,
        "q_dispatch": q_dispatch,
    }
    forward, reverse = _native.compute_metadata_kv(arrays, documented)
    like = kind_of(*arrays.values())
    return metadata_of(forward, like), metadata_of(reverse, like)


def compute_attn_layout_seqlens(seq_shard_len: AnyArray, seq_shard_cumsum: AnyArray, dispatch: AnyArray) -> AttentionLayout:
    """Cumulative lengths of the tasks of every rank, without padding and from 0."""
    layout = _native.compute_attn_layout_seqlens(seq_shard_len, seq_shard_cumsum, dispatch)
    return AttentionLayout(**converted_all(layout, kind_of(seq_shard_len, seq_shard_cumsum, dispatch)))


def create_qkv_dispatch(
    world_size: int,
    total_seq_len: int,
    num_seqs: int,
    max_cp_degree: int,
    return_intermediate: bool = False,
    return_mlp_no_shard_seq_lens: bool = False,
    *,
    seed: int = 0,
    seq_lens: AnyArray = None,
    like: Like = None,
) -> tuple[Any, ...]:
    """Draws a dispatch: metadata of queries, there and back, the same of keys and values, and the layout of attention.

    `return_intermediate` adds a dictionary of the input arrays, and `return_mlp_no_shard_seq_lens` the lengths of the sequences.
    """
    _ensure_sizes(world_size, total_seq_len, num_seqs, max_cp_degree, seed)
    (drawn,) = _native.create_qkv_dispatch("plain", world_size, total_seq_len, num_seqs, max_cp_degree, seed, seq_lens)
    return _dispatch(drawn, like or kind_of(seq_lens), return_intermediate, return_mlp_no_shard_seq_lens)


def create_qkv_dispatch_2cp(
    world_size: int,
    total_seq_len: int,
    num_seqs: int,
    max_cp_degree: int,
    return_intermediate: bool = False,
    return_mlp_no_shard_seq_lens: bool = False,
    *,
    seed: int = 0,
    seq_lens: AnyArray = None,
    like: Like = None,
) -> tuple[Any, ...]:
    """The same with up to two shards of a sequence on a rank; `max_cp_degree` is twice `world_size`."""
    _ensure_sizes(world_size, total_seq_len, num_seqs, max_cp_degree, seed)
    (drawn,) = _native.create_qkv_dispatch("2cp", world_size, total_seq_len, num_seqs, max_cp_degree, seed, seq_lens)
    return _dispatch(drawn, like or kind_of(seq_lens), return_intermediate, return_mlp_no_shard_seq_lens)


def create_qkv_dispatch_with_backward(
    world_size: int,
    total_seq_len: int,
    num_seqs: int,
    max_cp_degree: int,
    *,
    seed: int = 0,
    seq_lens: AnyArray = None,
    like: Like = None,
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """A dispatch, and one of the same shards to ranks that are drawn independently, for a backward pass that sends all again."""
    _ensure_sizes(world_size, total_seq_len, num_seqs, max_cp_degree, seed)
    forward, backward = _native.create_qkv_dispatch(
        "backward", world_size, total_seq_len, num_seqs, max_cp_degree, seed, seq_lens
    )
    like = like or kind_of(seq_lens)
    return _dispatch(forward, like, False, False), _dispatch(backward, like, False, False)


def create_qkv_dispatch_with_custom_mapping(
    seq_lens: AnyArray, cp_num: AnyArray, cp_dst: AnyArray, shard_lens: AnyArray, return_intermediate: bool = False
) -> tuple[Any, ...]:
    """A dispatch that its arrays spell out: sequences, their numbers of shards, and the ranks and lengths of those."""
    drawn = _native.create_qkv_dispatch_with_custom_mapping(seq_lens, cp_num, cp_dst, shard_lens)
    return _dispatch(drawn, kind_of(seq_lens, cp_num, cp_dst, shard_lens), return_intermediate, False)


def from_planner_output(
    world_size: int,
    documents: Any,
    hidden_size_q: int,
    hidden_size_k: int,
    lse_size: int,
    element_size: int,
    is_pipeline_tick: bool = False,
    is_resend_qkv: bool = False,
) -> dict[str, Any]:
    """Bytes and offsets of the fused all-to-alls, from the shards of a planner.

    A document is a list of shards `(linear rank, attention rank, position in the document, tokens)`, or of objects with the attributes
    `rid`, `dispatch_rid`, `logical_sid` and `shard_len`. Returned are lists by the names of `rankscope dispatch metadata`.
    """
    docs = [[_shard(shard) for shard in document] for document in plain(documents)]
    answer = metadata(
        "from_planner_output",
        world_size=world_size,
        docs=docs,
        hidden_q=hidden_size_q,
        hidden_k=hidden_size_k,
        element_size=element_size,
        lse_size=lse_size,
        is_pipeline_tick=is_pipeline_tick,
        is_resend_qkv=is_resend_qkv,
    )
    return {name: value for name, value in answer.items() if name not in ("kind", "inputs")}


def orchestrate_simulate(tensor: AnyArray, output_tensor: AnyArray, metadata: Metadata) -> AnyArray:
    """Moves the rows of `tensor` [W, N, ...] into `output_tensor` as the metadata say, in place, and returns that.

    Rank by rank, slot by slot, every copy; later writes overwrite, and nothing is summed.
    """
    if not isinstance(metadata, Metadata):
        raise TypeError(f"metadata are a Metadata, not {type(metadata).__name__}")
    ranks = metadata.world_size or 0
    where, offsets, lengths = plain(metadata.dst_rank), plain(metadata.dst_offset), plain(metadata.seq_len)
    for rank in range(ranks):
        start = 0
        for slot, tokens in enumerate(lengths[rank]):
            to, at = where[rank][slot], offsets[rank][slot]
            copies = zip(to, at, strict=True) if isinstance(to, list) else [(to, at)]
            for peer, offset in copies:
                if peer < 0:
                    continue
                end, to_end = start + tokens, offset + tokens
                if peer >= ranks or end > tensor.shape[1] or to_end > output_tensor.shape[1]:
                    raise CaseError(
                        f"rank {rank}, slot {slot}: {tokens} tokens from {start} to {offset} of rank {peer} leave a buffer"
                    )
                output_tensor[peer][offset:to_end] = tensor[rank][start:end]
            start += tokens
    return output_tensor


def test_qkv_dispatch(
    world_size: int = 2,
    num_seqs: int = 4,
    max_seq_shard: int = 2,
    num_tokens: int = 1024,
    hidden_size: int = 128,
    seed: int = 0,
) -> dict[str, Any]:
    """Creates a dispatch, moves random rows there and back, and compares. Raises AssertionError where they differ."""
    answer = metadata(
        "test_qkv_dispatch",
        world_size=world_size,
        num_seqs=num_seqs,
        max_seq_shard=max_seq_shard,
        num_tokens=num_tokens,
        hidden_size=hidden_size,
        seed=seed,
    )
    wrong = [f"{step['step']}: {step['where']}" for step in answer["steps"] if not step["passed"]]
    if wrong:
        raise AssertionError("; ".join(wrong))
    return answer


# A function of DistCA's, and no test of anybody who imports it.
setattr(test_qkv_dispatch, "__test__", False)


def metadata(kind: str, /, *, documented: bool = False, **inputs: Any) -> dict[str, Any]:
    """Any function by its kind, as `rankscope dispatch metadata` has it: inputs by name, and the answer as lists and numbers.

    `kinds` names them all. With `documented`, what DistCA's documentation has where it is wrong is added.
    """
    case = {"kind": kind, **{name: plain(value) for name, value in inputs.items() if value is not None}}
    answer = json.loads(_native.answer(_json(case, f"the inputs of {kind}"), documented))
    if not isinstance(answer, dict):
        raise DispatchError("an answer is an object")
    return answer


def check(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Compares every entry of an answer with what it must be: `rankscope dispatch check`. `violations` is empty if all are right.

    An answer is what `metadata` gives, or the same of your own code: `kind`, `inputs`, and the arrays, `Metadata` among them.
    """
    if not isinstance(answer, Mapping):
        raise TypeError(f"an answer is a dictionary, not {type(answer).__name__}")
    lists = {name: value.to_dict() if hasattr(value, "to_dict") else plain(value) for name, value in answer.items()}
    return dict(json.loads(_native.check(_json(lists, "an answer"))))


def kinds() -> dict[str, dict[str, str]]:
    """Every kind that `metadata` knows, with its inputs and what they are."""
    return {name: dict(inputs) for (name, _), inputs in _native.kinds()}


def _dispatch(drawn: dict[str, Any], like: Like, raw: bool, lengths: bool) -> tuple[Any, ...]:
    ways = [metadata_of(drawn[name], like) for name in ("fwd_q", "rev_q", "fwd_kv", "rev_kv")]
    found: tuple[Any, ...] = (*ways, AttentionLayout(**converted_all(drawn["attention"], like)))
    if raw:
        found += (converted_all(drawn["raw"], like),)
    if lengths:
        found += (converted(drawn["seq_lens"], like),)
    return found


def _ensure_sizes(world_size: int, total_seq_len: int, num_seqs: int, max_cp_degree: int, seed: int) -> None:
    ensure_whole(CaseError, world_size=world_size, total_seq_len=total_seq_len, num_seqs=num_seqs, max_cp_degree=max_cp_degree)
    ensure_whole(CaseError, BITS_64, seed=seed)


def _json(value: Any, what: str) -> str:
    try:
        return json.dumps(value)
    except TypeError as error:
        raise CaseError(f"{what}: {error}") from None


def _shard(shard: Any) -> list[int]:
    if isinstance(shard, (list, tuple)):
        return [int(number) for number in shard]
    try:
        return [int(shard.rid), int(shard.dispatch_rid), int(shard.logical_sid), int(shard.shard_len)]
    except AttributeError:
        raise TypeError(f"a shard is four numbers, or an object with rid, dispatch_rid, logical_sid and shard_len, not {shard!r}") from None
