"""DistCA's functions give the golden arrays, whatever library their inputs come from, and what the command gives."""

import json
import zipfile

import pytest

from dispatch_cases import EXAMPLES, GOLDEN, LIBRARIES, command, flat, given, needed, of_kind, packed
from rankscope import dispatch

FIELDS = ["dst_rank", "dst_offset", "seq_len", "num_recv_tokens", "seq_recv_mask", "recv_seq_lens", "num_seqs"]


def assert_metadata(found, golden):
    for field in FIELDS:
        value, right = getattr(found, field), golden[field]
        if right is None:
            assert value is None, field
        else:
            assert packed(value.tolist()) == packed(right), field
    assert list(found.num_total_recv_tokens) == golden["num_total_recv_tokens"]


def assert_whole(found, golden):
    for metadata, name in zip(found, ["fwd_q", "rev_q", "fwd_kv", "rev_kv"], strict=False):
        assert_metadata(metadata, golden[name])
    assert found[4].to_dict() == golden["attn"]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", of_kind("compute_metadata"))
def test_metadata_of_queries_are_the_golden_ones(name, library):
    case = GOLDEN[name]
    forward, reverse = dispatch.compute_metadata(given(case["seq_len"], library), given(case["dispatch"], library))
    assert_metadata(forward, case["fwd"])
    assert_metadata(reverse, case["rev"])


@pytest.mark.parametrize("library", LIBRARIES)
def test_metadata_of_many_ranks_are_the_golden_ones(library):
    case = GOLDEN["g25_cm_2d_w64_pad"]
    shape = case["seq_len"]["shape"]
    rows = [
        [packed(case[name])[rank * shape[1] : (rank + 1) * shape[1]] for rank in range(shape[0])]
        for name in ("seq_len", "dispatch")
    ]
    forward, reverse = dispatch.compute_metadata(*(given(row, library) for row in rows))
    for found, golden in [(forward, case["fwd"]), (reverse, case["rev"])]:
        for field in FIELDS:
            if golden[field] is not None:
                assert flat(getattr(found, field).tolist()) == packed(golden[field]), field


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", of_kind("create_qkv_dispatch", "create_qkv_dispatch_2cp"))
def test_a_drawn_dispatch_is_the_golden_one(name, library):
    case = GOLDEN[name]
    inputs = {key: case["inputs"][key] for key in ("world_size", "total_seq_len", "num_seqs", "max_cp_degree", "seed")}
    create = getattr(dispatch, case["kind"])
    assert_whole(create(**inputs, seq_lens=given(case["inputs"]["seq_lens"], library)), case)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", of_kind("create_qkv_dispatch_with_custom_mapping"))
def test_a_dispatch_that_is_spelled_out_is_the_golden_one(name, library):
    case = GOLDEN[name]
    inputs = {key: given(case["inputs"][key], library) for key in ("seq_lens", "cp_num", "cp_dst", "shard_lens")}
    *whole, raw = dispatch.create_qkv_dispatch_with_custom_mapping(**inputs, return_intermediate=True)
    assert_whole(whole, case)
    for key, array in raw.items():
        assert array.tolist() == case["raw"][key], key


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", of_kind("create_qkv_dispatch"))
def test_metadata_of_keys_and_layouts_follow_from_the_raw_arrays(name, library):
    case = GOLDEN[name]
    raw = {key: given(value, library) for key, value in case["raw"].items()}
    forward, reverse = dispatch.compute_metadata_kv(
        raw["kv_to_q_mapping"],
        raw["kv_to_q_rank"],
        raw["kv_context_size"],
        raw["q_to_num_kv_seq"],
        raw["q_to_num_kv_token"],
        raw["shard_len"],
        raw["num_shards"],
        raw["q_dispatch"],
    )
    assert_metadata(forward, case["fwd_kv"])
    assert_metadata(reverse, case["rev_kv"])
    layout = dispatch.compute_attn_layout_seqlens(raw["shard_len"], raw["q_to_num_kv_token"], raw["q_dispatch"])
    assert layout.to_dict() == case["attn"]


@pytest.mark.parametrize(
    "case", GOLDEN["g01_gen_seq_lens"]["cases"], ids=lambda case: f"seed{case['seed']}-W{case['world_size']}"
)
def test_lengths_are_those_that_torch_draws(case):
    drawn = dispatch.gen_seq_lens(case["world_size"], case["num_seqs"], case["total_len"], seed=case["seed"])
    assert drawn.dtype == "int32"
    assert drawn.tolist() == case["seq_lens"]


def test_lengths_that_must_be_valid_are_positive():
    drawn = dispatch.gen_seq_lens(2, 16, 64, seed=1, valid=True)
    assert min(flat(drawn.tolist())) >= 1
    assert [sum(row) for row in drawn.tolist()] == [64, 64]


@pytest.mark.parametrize("name", of_kind("from_planner_output"))
def test_bytes_of_a_planner_output_are_the_golden_ones(name):
    case = GOLDEN[name]
    inputs = case["inputs"]
    found = dispatch.from_planner_output(
        inputs["world_size"],
        case["docs"],
        inputs["hidden_q"],
        inputs["hidden_k"],
        inputs["lse_size_elems"],
        inputs["element_size"],
        inputs["is_pipeline_tick"],
        inputs["is_resend_qkv"],
    )
    for way in ("qkv_linear_to_attn", "out_attn_to_linear", "attn", "alltoallv_qkv"):
        assert found[way] == case[way] or set(case[way]) <= set(found[way]), way
        if isinstance(case[way], dict):
            assert {key: found[way][key] for key in case[way]} == case[way]


def test_shards_may_be_objects_with_the_names_of_the_original():
    class ShardInfo:
        def __init__(self, rid, dispatch_rid, logical_sid, shard_len):
            self.rid, self.dispatch_rid, self.logical_sid, self.shard_len = rid, dispatch_rid, logical_sid, shard_len

    lists = [[[0, 0, 0, 4], [0, 1, 1, 4]], [[1, 1, 0, 6]]]
    objects = [[ShardInfo(*shard) for shard in document] for document in lists]
    assert dispatch.from_planner_output(2, objects, 8, 8, 0, 2) == dispatch.from_planner_output(2, lists, 8, 8, 0, 2)


@pytest.mark.parametrize("path", sorted((EXAMPLES / "cases").glob("[!b]*.json")), ids=lambda path: path.stem)
def test_every_kind_answers_what_the_command_answers(path):
    code, printed, complaint = command("metadata", path, "--format", "json")
    assert code == 0, complaint
    case = json.loads(path.read_text())
    inputs = {**{key: value for key, value in case.items() if key not in ("kind", "inputs")}, **case.get("inputs", {})}
    assert dispatch.metadata(case["kind"], **inputs) == json.loads(printed)


def test_a_backward_dispatch_is_drawn_as_the_command_draws_it():
    inputs = {"world_size": 4, "total_seq_len": 256, "num_seqs": 3, "max_cp_degree": 4, "seed": 9}
    answer = dispatch.metadata("create_qkv_dispatch_with_backward", **inputs)
    forward, backward = dispatch.create_qkv_dispatch_with_backward(**inputs)
    assert_whole(forward, answer["forward"])
    assert_whole(backward, answer["backward"])


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_tensor_moved_there_and_back_is_the_golden_one(library):
    module = needed(library)
    case = GOLDEN["g02_cm_2d_pad3"]
    forward, reverse = dispatch.compute_metadata(given(case["seq_len"], library), given(case["dispatch"], library))
    tokens = [sum(row) for row in case["seq_len"]]
    x = module.zeros((len(tokens), max(tokens), 1), dtype=module.int64)
    for rank, held in enumerate(tokens):
        x[rank, :held, 0] = module.arange(held) + 1000 * (rank + 1) + 1
    there = module.zeros((len(tokens), len(case["sim_forward"][0]), 1), dtype=module.int64)
    back = module.zeros((len(tokens), len(case["sim_reverse"][0]), 1), dtype=module.int64)
    dispatch.orchestrate_simulate(x, there, forward)
    dispatch.orchestrate_simulate(there, back, reverse)
    assert there[..., 0].tolist() == case["sim_forward"]
    assert back[..., 0].tolist() == case["sim_reverse"]


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_rows_that_leave_a_buffer_are_refused_and_named(library):
    module = needed(library)
    forward, _ = dispatch.compute_metadata([[2, 3]], [[0, 0]])
    with pytest.raises(dispatch.CaseError, match="rank 0, slot 1: 3 tokens from 2 to 2 of rank 0 leave a buffer"):
        dispatch.orchestrate_simulate(module.zeros((1, 5, 4)), module.zeros((1, 4, 4)), forward)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_slice_has_the_slots_in_use(library):
    seq_len, to = given([[10, 5, 0], [8, 12, 3]], library), given([[1, 0, -1], [0, 1, 1]], library)
    forward, _ = dispatch.compute_metadata(seq_len, to)
    part = forward.get_slice(0)
    assert (part.dst_rank.tolist(), part.seq_len.tolist()) == ([1, 0], [10, 5])
    assert (part.num_total_recv_tokens, part.num_seqs) == (13, None)
    with pytest.raises(dispatch.CaseError, match="`rank` is 2, of 2 ranks"):
        forward.get_slice(2)
    with pytest.raises(dispatch.CaseError, match="of one rank already"):
        part.get_slice(0)


@pytest.mark.parametrize("library", LIBRARIES)
def test_narrow_types_are_those_of_the_kernels(library):
    forward, _ = dispatch.compute_metadata(given([[10, 5]], library), given([[0, -1]], library))
    narrow = forward.normalize_dtype()
    types = {name: str(getattr(narrow, name).dtype).removeprefix("torch.") for name in FIELDS[:4] + ["num_seqs"]}
    assert types == {
        "dst_rank": "int32",
        "dst_offset": "uint32",
        "seq_len": "uint32",
        "num_recv_tokens": "uint64",
        "num_seqs": "int32",
    }
    assert narrow.dst_rank.tolist() == [[0, -1]]
    assert narrow.normalized


def test_what_does_not_fit_into_a_narrow_type_is_refused():
    forward, _ = dispatch.compute_metadata([[5]], [[0]])
    forward.dst_offset = [[1 << 33]]
    with pytest.raises(dispatch.CaseError, match="dst_offset, entry 0: 8589934592 does not fit into 32 bits without sign"):
        forward.normalize_dtype()


def test_the_original_test_passes():
    answer = dispatch.test_qkv_dispatch(world_size=4, num_seqs=3, max_seq_shard=4, num_tokens=256, hidden_size=8, seed=7)
    assert answer["passed"]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: dispatch.compute_metadata([[1, 2]], [[0, 5]]),
            "rank 0, slot 1, replica 0: destination 5 is neither -1 nor a rank",
        ),
        (lambda: dispatch.compute_metadata([[1, 2]], [[0]]), "seq_len: the shape is"),
        (lambda: dispatch.compute_metadata([[1], [2, 3]], [[0], [0]]), "the input `seq_len`: a row of 2 where the first has 1"),
        (lambda: dispatch.compute_metadata([[1.5]], [[0]]), "the input `seq_len`: an entry is no whole number of 64 bits"),
        (lambda: dispatch.compute_metadata("text", [[0]]), "the input `seq_len`: an entry is no whole number of 64 bits"),
        (lambda: dispatch.create_qkv_dispatch(4, 250, 2, 4), "250 tokens per rank are not divisible by the CP degree 4"),
        (lambda: dispatch.create_qkv_dispatch(2, 256, 2, 4), "CP degree 4 over 2 ranks"),
        (lambda: dispatch.gen_seq_lens(0, 1, 5), "a plan needs at least one rank"),
        (
            lambda: dispatch.metadata("compute_metadat"),
            r"no kind is called compute_metadat \(did you mean compute_metadata\?\)",
        ),
        (lambda: dispatch.metadata("compute_metadata", seq_len=[[1]]), "the input `dispatch` is missing"),
        (lambda: dispatch.metadata("compute_metadata", seq_len="lengths.npy", dispatch=[[0]]), "give the array itself"),
        (lambda: dispatch.metadata("gen_seq_lens", world_size=object()), "not JSON serializable"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_command(call, text):
    with pytest.raises(dispatch.CaseError, match=text):
        call()


def test_errors_have_the_text_of_the_command(tmp_path):
    case = {"kind": "compute_metadata", "seq_len": [[4, 4]], "dispatch": [[0, 9]]}
    (tmp_path / "case.json").write_text(json.dumps(case))
    code, _, printed = command("metadata", tmp_path / "case.json")
    with pytest.raises(dispatch.CaseError) as refused:
        dispatch.compute_metadata(case["seq_len"], case["dispatch"])
    assert code == 1
    assert " ".join(printed.split()).endswith(str(refused.value))


def test_a_check_finds_what_the_command_finds(tmp_path):
    inputs = {"seq_len": [[10, 5], [8, 12]], "dispatch": [[1, 0], [0, 1]]}
    forward, reverse = dispatch.compute_metadata(inputs["seq_len"], inputs["dispatch"])
    answer = {"kind": "compute_metadata", "inputs": inputs, "fwd": forward, "rev": reverse}
    assert dispatch.check(answer)["violations"] == []
    broken = forward.to_dict()
    broken["dst_offset"][1][0] += 1
    found = dispatch.check({**answer, "fwd": broken})
    (tmp_path / "answer.json").write_text(json.dumps({**answer, "fwd": broken, "rev": reverse.to_dict()}))
    code, printed, _ = command("check", tmp_path / "answer.json", "--format", "json")
    assert (code, json.loads(printed)) == (3, found)
    assert [violation["index"] for violation in found["violations"]] == [[1, 0]]


def test_kinds_name_their_inputs():
    assert set(dispatch.kinds()["compute_metadata"]) == {"seq_len", "dispatch"}


def test_metadata_are_shown_and_saved(tmp_path):
    forward, reverse = dispatch.compute_metadata([[10, 5], [8, 12]], [[[1, 0], [0, -1]], [[0, -1], [1, -1]]])
    assert "2 × 2 × 2" in forward._repr_html_()
    saved = json.loads(reverse.save(tmp_path / "reverse.json").read_text())
    assert saved["seq_recv_mask"] == [[[1, 1], [1, 0]], [[1, 0], [1, 0]]]
    with pytest.raises(dispatch.DispatchError, match=r"\.npz or \.safetensors"):
        forward.save(tmp_path / "forward.csv")


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_layout_is_shown_and_saved(tmp_path, library):
    lengths = given([[8, 8], [8, 8]], library)
    layout = dispatch.compute_attn_layout_seqlens(lengths, given([[8, 16], [8, 16]], library), given([[1, 0], [0, 1]], library))
    assert [part for part in layout][2].tolist() == [8, 8]
    assert "[0, 8, 16]" in layout._repr_html_()
    assert json.loads(layout.save(tmp_path / "layout.json").read_text()) == layout.to_dict()
    with zipfile.ZipFile(layout.save(tmp_path / "layout.npz")) as archive:
        assert "cu_seqlens_q.1.npy" in archive.namelist()
