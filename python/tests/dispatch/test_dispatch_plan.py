"""Plans from Python are those of the command: the same answers, the same files, the same refusals."""

import copy
import json
import pickle
import subprocess
import sys

import pytest

from dispatch_cases import EXAMPLES, LIBRARIES, command, given
import rankscope
from rankscope import dispatch

BATCH = json.loads((EXAMPLES / "batch.json").read_text())
LENGTHS = [40_000, 3_000, 12_345, 700, 9_000, 492]


def without_time(answer):
    return {key: value for key, value in answer.items() if key != "elapsed_us"}


def planned_by_command(tmp_path, documents, *words):
    (tmp_path / "documents.json").write_text(json.dumps(documents))
    code, printed, complaint = command("plan", tmp_path / "documents.json", "--format", "json", *words)
    assert code == 0, complaint
    return json.loads(printed)


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ([], {}),
        (["--eps", "0.2"], {"eps": 0.2}),
        (["--planner", "greedy"], {"planner": "greedy"}),
        (["--weights", "1,1,0.5,0"], {"weights": [1, 1, 0.5, 0]}),
        (["--tokens-per-rank", "20000"], {"tokens_per_rank": 20_000}),
        (["--hidden-q", "8192", "--element-bytes", "4"], {"hidden_q": 8192, "element_bytes": 4}),
        (["--search-steps", "0"], {"search_steps": 0}),
        (["--layout", "choose"], {"layout": "choose"}),
        (["--pass", "backward"], {"backward": True}),
        (["--pass", "backward", "--network", "ethernet-100"], {"backward": True, "network": "ethernet-100"}),
        (["--pass", "backward", "--cap-send-bytes", "1000000000"], {"backward": True, "cap_send_bytes": 1_000_000_000}),
        (["--split-kv", "--heads", "32"], {"split_kv": True, "heads": 32}),
        (["--split-kv", "--pass", "backward"], {"split_kv": True, "backward": True}),
        (["--split-kv", "--cap-receive-bytes", "1000000000"], {"split_kv": True, "cap_receive_bytes": 1_000_000_000}),
        (["--split-kv", "--head-groups", "8", "--heads", "32"], {"split_kv": True, "head_groups": 8, "heads": 32}),
        (["--layout", "choose", "--planner", "greedy"], {"layout": "choose", "planner": "greedy"}),
        (["--layout", "choose", "--tokens-per-rank", "20000"], {"layout": "choose", "tokens_per_rank": 20_000}),
        (["--network", "h100-ib400"], {"network": "h100-ib400"}),
        (
            ["--network", "h100-ib400", "--layout", "choose", "--attention-tflops", "300"],
            {"network": "h100-ib400", "layout": "choose", "attention_tflops": 300},
        ),
    ],
)
def test_a_plan_is_the_one_of_the_command(tmp_path, words, settings):
    right = planned_by_command(tmp_path, LENGTHS, "--ranks", "4", *words)
    plan = dispatch.plan(LENGTHS, ranks=4, **settings)
    assert without_time(plan.to_dict()) == without_time(right)


def test_where_documents_should_lie_is_chosen():
    lengths = [9_000, 1_000, 7_000, 3_000, 500, 8_500, 4_000, 6_000]
    plan, given = dispatch.plan(lengths, ranks=4, layout="choose"), dispatch.plan(lengths, ranks=4)
    assert plan.bytes <= given.bytes == plan.to_dict()["given_bytes"]
    held = [0] * 4
    for _, linear, _, tokens in plan.shards().tolist():
        held[linear] += tokens
    mean = sum(lengths) / 4
    assert sum(held) == sum(lengths) and max(held) <= mean * 1.01 + 1
    # Pieces that lie elsewhere are documents, too.
    shards = [[(0, length)] for length in lengths]
    moved, stays = (dispatch.plan(shards=shards, ranks=4, layout=layout).bytes for layout in ("choose", "even"))
    assert moved < stays
    # What the documents themselves say of room holds.
    said = dispatch.plan({"documents": lengths, "world_size": 4, "tokens_per_rank": 12_000}, layout="choose")
    assert without_time(said.to_dict()) == without_time(
        dispatch.plan(lengths, ranks=4, tokens_per_rank=12_000, layout="choose").to_dict()
    )


def test_a_file_of_the_command_is_taken_as_it_is(tmp_path):
    assert without_time(dispatch.plan(BATCH).to_dict()) == without_time(planned_by_command(tmp_path, BATCH))


def test_moves_are_explained_as_by_the_command(tmp_path):
    right = planned_by_command(tmp_path, LENGTHS, "--ranks", "4", "--explain")
    assert right["moves"]
    assert dispatch.plan(LENGTHS, ranks=4).to_dict(explain=True)["moves"] == right["moves"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_cumulative_lengths_are_the_same_documents(library):
    sums = [0, *(sum(LENGTHS[: at + 1]) for at in range(len(LENGTHS)))]
    assert dispatch.plan(cu_seqlens=given(sums, library), ranks=4) == dispatch.plan(given(LENGTHS, library), ranks=4)


def test_a_plan_that_is_saved_is_read_again_and_passes_the_check(tmp_path):
    plan = dispatch.plan(LENGTHS, ranks=4)
    for name in ("plan.json", "plan.rkd"):
        path = plan.save(tmp_path / name)
        assert dispatch.load(path) == plan
        code, printed, complaint = command("check", path)
        assert code == 0, printed + complaint
    _, printed, _ = command("check", path, "--format", "json")
    assert plan.check() == json.loads(printed)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_zigzag_gives_every_rank_a_chunk_from_each_end():
    plan = dispatch.plan([64, 32], ranks=2, layout="zigzag", eps=0.0)
    held = [rows.position_ids.tolist() for rows in map(plan.rank, range(2))]
    assert held[0] == [*range(16), *range(48, 64), *range(8), *range(24, 32)]
    assert held[1] == [*range(16, 48), *range(8, 24)]
    assert plan.rank(0).document_ids.tolist() == [0] * 32 + [1] * 16


def test_groups_of_ranks_have_their_own_documents():
    plan = dispatch.plan([[4096, 1024], [2048]], cp=2, layout="zigzag")
    assert plan.world_size == 4
    assert [plan.rank(rank).tokens for rank in range(4)] == [2560, 2560, 1024, 1024]
    assert dispatch.plan(cu_seqlens=[[0, 4096, 5120], [0, 2048]], cp=2, layout="zigzag") == plan


def test_shards_lie_where_they_are_said_to_lie():
    plan = dispatch.plan(shards=[[(1, 700), (0, 300)], [(0, 200)]], ranks=3)
    assert [row[:2] + row[3:] for row in plan.shards().tolist() if row[0] == 1] == [[1, 0, 200]]
    assert plan.rank(0).position_ids.tolist() == [*range(700, 1000), *range(200)]
    assert plan.rank(2).tokens == 0


def test_a_plan_of_others_is_taken_as_it_is():
    pieces = [[(0, 1, 5), (1, 0, 3)], [(1, 1, 4)]]
    plan = dispatch.Plan.of_shards(pieces, ranks=2)
    assert plan.shards().tolist() == [[0, 0, 1, 5], [0, 1, 0, 3], [1, 1, 1, 4]]
    assert plan.rank(0).cu_seqlens_k.tolist() == [0, 8]


def test_figures_of_a_plan_that_was_read_are_those_of_the_plan_that_was_made(tmp_path):
    plan = dispatch.plan(LENGTHS, ranks=4)
    read = dispatch.load(plan.save(tmp_path / "plan.json"))
    same = ("max_over_mean", "max_over_mean_before", "bytes", "layout_bytes", "loads", "loads_before", "shards", "moved_tokens")
    assert {name: read.to_dict()[name] for name in same} == {name: plan.to_dict()[name] for name in same}
    assert (read.seconds, read.to_dict()["planner"]) == (None, None)
    assert plan.seconds > 0


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: dispatch.plan([0, 5, 12], ranks=2), "Documents", "starts with 0 and only grows, as cumulative lengths do"),
        (lambda: dispatch.plan([5, -1], ranks=2), "Documents", r"the list\[1\]: -1 is not a length in tokens"),
        (lambda: dispatch.plan([5, 1.5], ranks=2), "Documents", r"the list\[1\]: 1.5 is not a length"),
        (lambda: dispatch.plan(cu_seqlens=[0, 5, 3], ranks=2), "Documents", "cu_seqlens: 3 after 5, at place 2"),
        (lambda: dispatch.plan(cu_seqlens=[1, 5], ranks=2), "Documents", "cu_seqlens: begins with 1, and must with 0"),
        (lambda: dispatch.plan([5]), "Documents", "the number of ranks is missing"),
        (lambda: dispatch.plan([[5], [6]], ranks=3), "Documents", "2 lists of documents for 3 ranks"),
        (lambda: dispatch.plan(), "Documents", "give either documents, or cu_seqlens, or shards"),
        (lambda: dispatch.plan([5], cu_seqlens=[0, 5], ranks=1), "Documents", "give either"),
        (lambda: dispatch.plan([object()], ranks=1), "Documents", "no lengths of documents"),
        (lambda: dispatch.plan([5], ranks=1, layout="ring"), "Documents", "no layout is called 'ring'"),
        (lambda: dispatch.plan([5], ranks=1, cp=1), "Documents", "`cp` is the degree of layout='zigzag'"),
        (lambda: dispatch.plan([[8], [8]], cp=2, ranks=3, layout="zigzag"), "Documents", "are 4 ranks, not 3"),
        (lambda: dispatch.plan([10], cp=2, layout="zigzag"), "Plan", "document 0: 10 tokens cannot be cut into 4 equal chunks"),
        (lambda: dispatch.plan([5], ranks=0), "Plan", "at least one rank"),
        (lambda: dispatch.plan([5], ranks=1, eps=-1), "Plan", "eps is -1, and must be zero or more"),
        (lambda: dispatch.plan([5], ranks=1, weights=[1, 1]), "Plan", "weights of ranks"),
        (
            lambda: dispatch.plan([500], ranks=2, tokens_per_rank=100),
            "Plan",
            "document 0 does not fit: 2 ranks of 100 tokens are full",
        ),
        (lambda: dispatch.plan([5], ranks=1, planner="best"), "Plan", "no planner is called best"),
        (lambda: dispatch.plan(shards=[[(2, 5)]], ranks=2), "Plan", "document 0, shard 0: rank 2 is not one of 0 to 1"),
        (lambda: dispatch.plan(shards=[[(2, 5, 1)]], ranks=3), "Documents", r"a piece of a document is \(rank, tokens\)"),
        (lambda: dispatch.plan(shards=[[(0, -5)]], ranks=3), "Documents", "whole numbers from 0 on"),
        (lambda: dispatch.plan([5], ranks=-1), "Plan", "ranks is -1: whole numbers from 0 to 4294967295 are taken"),
        (lambda: dispatch.plan([5], ranks=1 << 80), "Plan", "whole numbers from 0 to 4294967295"),
        (lambda: dispatch.plan([5], ranks=1, hidden_q=-1), "Plan", "hidden_q is -1"),
        (lambda: dispatch.plan([5], ranks=1, cap_send_bytes=-1), "Plan", "cap_send_bytes is -1"),
        (lambda: dispatch.plan([5], ranks=1).simulate(layers=-1), "Plan", "layers is -1"),
        (lambda: dispatch.plan([5], ranks=1).export("nccl", rank=-1), "Plan", "rank is -1"),
        (lambda: dispatch.gen_seq_lens(-1, 2, 3), "Case", "world_size is -1"),
        (lambda: dispatch.create_qkv_dispatch(2, 1 << 70, 1, 2), "Case", "total_seq_len is"),
        (lambda: dispatch.plan([5], ranks=1).rank(1), "Plan", "rank 1 is not one of 0 to 0"),
        (lambda: dispatch.plan([5], ranks=1).rank(-1), "Plan", "rank -1 is not one of 0 to 0"),
        (lambda: dispatch.plan([5], ranks=1).save("plan.npz"), "Plan", "plans are written as .json or .rkd"),
        (lambda: dispatch.plan([5], ranks=1).export("smoke"), "Plan", "there are alltoallv, nccl, puts, cu-seqlens"),
        (
            lambda: dispatch.plan([5], ranks=1).predict("carrier-pigeon"),
            "Network",
            "neither a file nor a network known by name",
        ),
        (lambda: dispatch.plan([5], ranks=1, mask="full"), "Mask", "mask 'full': a query needs the keys after it, too"),
        (lambda: dispatch.plan([5], ranks=1, mask="window"), "Mask", "mask 'window': .* ask for mask='causal'"),
        (lambda: dispatch.plan([5], ranks=1, mask="dotted"), "Mask", "no mask is called 'dotted'"),
    ],
)
def test_what_is_wrong_is_refused_and_named(call, kind, text):
    with pytest.raises(getattr(dispatch, f"{kind}Error"), match=text) as refused:
        call()
    assert isinstance(refused.value, dispatch.DispatchError)
    assert isinstance(refused.value, ValueError)
    assert isinstance(refused.value, rankscope.Error)


@pytest.mark.parametrize(
    "call",
    [
        lambda: dispatch.plan([5], ranks="x"),
        lambda: dispatch.plan([5], ranks=1.5),
        lambda: dispatch.plan([5], ranks=1, eps="x"),
        lambda: dispatch.plan(shards=3),
        lambda: dispatch.plan(shards=[[("a", 1)]]),
        lambda: dispatch.plan(shards=[[(0, 1.5)]]),
        lambda: dispatch.plan([5], ranks=1).rank("x"),
        lambda: dispatch.plan([5], ranks=1).simulate(then=[3]),
        lambda: dispatch.check(3),
        lambda: dispatch.from_planner_output(2, [[3]], 1, 1, 1, 1),
        lambda: dispatch.orchestrate_simulate(1, 2, 3),
        lambda: dispatch.load(3),
    ],
)
def test_what_is_of_a_wrong_type_is_a_type_error(call):
    with pytest.raises(TypeError):
        call()


def test_a_refusal_has_the_text_of_the_command(tmp_path):
    (tmp_path / "documents.json").write_text("[0, 5, 12]")
    code, _, printed = command("plan", tmp_path / "documents.json", "--ranks", 2)
    with pytest.raises(dispatch.DocumentsError) as refused:
        dispatch.plan([0, 5, 12], ranks=2)
    assert code == 1
    assert " ".join(printed.split()).endswith(str(refused.value))


def test_a_file_that_is_no_plan_is_named(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text('{"lengths": [1]}')
    with pytest.raises(dispatch.PlanError, match=r"plan\.json: neither `world_size` nor `documents`: this is no plan"):
        dispatch.load(path)
    with pytest.raises(FileNotFoundError):
        dispatch.load(tmp_path / "none.json")


def test_predictions_and_exports_are_those_of_the_command(tmp_path):
    plan = dispatch.plan(LENGTHS, ranks=4)
    path = plan.save(tmp_path / "plan.json")
    for network in ("h100-ib400", "ethernet-100"):
        _, printed, _ = command("predict", path, "--network", network, "--format", "json")
        assert plan.predict(network) == json.loads(printed)
        for only in ("forward", "backward"):
            _, printed, _ = command("predict", path, "--network", network, "--pass", only, "--format", "json")
            assert plan.predict(network, only=only) == json.loads(printed)
    for form in ("alltoallv", "nccl", "puts", "cu-seqlens"):
        _, printed, _ = command("export", path, "--as", form, "--rank", 1, "--direction", "backward")
        assert plan.export(form, rank=1, direction="backward") == json.loads(printed)
    _, printed, _ = command("simulate", path, "--events", "--layers", 2, "--overlap", "--then", path, "--format", "json")
    assert plan.simulate(layers=2, overlap=True, then=[plan]) == json.loads(printed)
    for words, settings in [(["--resend"], {"resend": True}), (["--pass", "backward"], {"only": "backward"}), (["--pass", "forward"], {"backward": False})]:
        _, printed, _ = command("simulate", path, "--events", *words, "--format", "json")
        assert plan.simulate(**settings) == json.loads(printed)
    for wrong in ({"only": "both"}, {"only": "forward", "resend": True}, {"backward": False, "resend": True}, {"backward": False, "only": "backward"}):
        with pytest.raises(dispatch.PlanError):
            plan.simulate(**wrong)


def test_a_step_of_no_layers_is_refused():
    with pytest.raises(dispatch.PlanError, match="layers: 1 to 4096 are played"):
        dispatch.plan([5], ranks=1).simulate(layers=0)


def test_a_plan_is_shown_with_the_load_of_every_rank():
    page = dispatch.plan(LENGTHS, ranks=4)._repr_html_()
    assert "Plan over 4 ranks" in page
    assert page.count("background:#4269d0") == 4


def test_plans_of_the_same_documents_are_equal_and_hash_alike():
    plans = {dispatch.plan(LENGTHS, ranks=4), dispatch.plan(list(LENGTHS), ranks=4), dispatch.plan(LENGTHS, ranks=2)}
    assert len(plans) == 2


def test_dispatch_does_not_import_torch():
    said = subprocess.run(
        [sys.executable, "-c", "import sys, rankscope; rankscope.dispatch.plan([5], ranks=1); print('torch' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "False\n"
    assert "rankscope.dispatch.torch" not in dispatch.__all__


@pytest.mark.parametrize("carried", [copy.deepcopy, lambda plan: pickle.loads(pickle.dumps(plan))])
def test_a_plan_travels_between_processes(carried):
    plan = dispatch.plan(LENGTHS, ranks=4)
    other = carried(plan)
    assert other == plan
    assert other.rank(3).to_dict() == plan.rank(3).to_dict()
