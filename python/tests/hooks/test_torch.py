"""Handlers and annotations for PyTorch, with the real one."""

import gzip
import json
import re
import subprocess
import sys
import types

import pytest

import rankscope
import rankscope.torch


def traced(folder, **options):
    """What `trace_handler` leaves of a profile of one step."""
    from torch import ones, profiler

    handler = rankscope.torch.trace_handler(folder, **options)
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], on_trace_ready=handler):
        ones(8) @ ones(8)


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_trace_says_whose_it_is(torch, tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    traced(tmp_path / "a")
    assert files(tmp_path / "a") == ["rank00003.pt.trace.json.gz"]
    trace = json.load(gzip.open(tmp_path / "a" / "rank00003.pt.trace.json.gz"))
    assert (trace["rankscope"]["rank"], trace["distributedInfo"]["world_size"]) == (3, 4)
    first, last = trace["rankscope"]["clock"]
    assert 0 < last["raw_clock_ns"] - first["raw_clock_ns"] and first["half_width_ns"] >= 0
    assert any(event["name"] == "aten::matmul" for event in trace["traceEvents"])


class Exported:
    """A profile that is over."""

    def export_chrome_trace(self, path):
        with open(path, "w") as file:
            file.write('{"schemaVersion": 1, "traceEvents": []}')


def told(folder):
    """What a trace says of its process."""
    rankscope.torch.trace_handler(folder, compress=False)(Exported())
    return json.loads((folder / "rank00000.pt.trace.json").read_text())["rankscope"]


@pytest.fixture
def cuda(monkeypatch):
    """A torch with two GPUs, of which nothing may be asked before it is up."""
    properties = [
        types.SimpleNamespace(uuid="GPU-A2A2A2A2-0000-0000-0000-000000000001", pci_domain_id=0, pci_bus_id=0xC3, pci_device_id=2),
        types.SimpleNamespace(uuid="b-2"),
    ]
    module = types.ModuleType("torch.cuda")
    module.up = True
    module.is_initialized = lambda: module.up
    module.device_count = lambda: 2 if module.up else pytest.fail("CUDA would be brought up")
    module.get_device_properties = lambda index: properties[index] if module.up else pytest.fail("CUDA would be brought up")
    version = types.ModuleType("torch.version")
    version.hip = None
    monkeypatch.setitem(sys.modules, "torch.cuda", module)
    monkeypatch.setitem(sys.modules, "torch.version", version)
    return module


def test_a_trace_says_which_gpus_its_process_saw(cuda, tmp_path):
    first = {"index": 0, "uuid": "a2a2a2a2-0000-0000-0000-000000000001", "pci": "0000:c3:02.0"}
    assert told(tmp_path)["devices"] == [first, {"index": 1, "uuid": "b-2"}]


def test_nobody_brings_cuda_up_to_say_that(cuda, tmp_path):
    cuda.up = False
    assert told(tmp_path)["devices"] == []


def test_a_torch_that_does_not_tell_costs_no_trace(cuda, tmp_path, monkeypatch):
    cuda.get_device_properties = lambda index: types.SimpleNamespace(name="an older torch")
    assert told(tmp_path / "a")["devices"] == []

    def lost(index):
        raise RuntimeError("CUDA error: device lost")

    cuda.get_device_properties = lost
    assert told(tmp_path / "b")["devices"] == []
    monkeypatch.setattr(sys.modules["torch.version"], "hip", "6.4")
    cuda.get_device_properties = lambda index: pytest.fail("UUIDs of torch are not those of AMD's driver")
    assert told(tmp_path / "c")["devices"] == []
    monkeypatch.delitem(sys.modules, "torch.cuda")
    assert told(tmp_path / "d")["devices"] == []


def test_older_traces_of_a_rank_are_out_of_the_way(torch, tmp_path):
    from torch import ones, profiler

    schedule = profiler.schedule(wait=0, warmup=1, active=1, repeat=3)
    handler = rankscope.torch.trace_handler(tmp_path, compress=False)
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], schedule=schedule, on_trace_ready=handler) as profile:
        for _ in range(6):
            ones(8).sum()
            profile.step()
    assert files(tmp_path) == [".older", "rank00000.pt.trace.json"]
    assert files(tmp_path / ".older") == ["rank00000.0.pt.trace.json", "rank00000.1.pt.trace.json"]
    steps = {event["name"] for event in json.loads((tmp_path / "rank00000.pt.trace.json").read_text())["traceEvents"]}
    assert "ProfilerStep#5" in steps


def test_nothing_is_left_of_a_trace_that_cannot_be_written(torch, tmp_path):
    class Broken:
        def export_chrome_trace(self, path):
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        rankscope.torch.trace_handler(tmp_path)(Broken())
    assert files(tmp_path) == []


def test_calls_of_a_training_loop_are_recorded(torch, recorded):
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.ReLU()))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(torch.ones(4, 4), batch_size=4)
    with rankscope.torch.annotate(model, optimizer, loader, depth=1):
        for batch in loader:
            model(batch).sum().backward()
            optimizer.step()
    names = [event[0] for event in recorded if isinstance(event, tuple)]
    assert names == ["DataLoader.next", "Sequential", "Linear: 0", "Sequential: 1", "SGD.step", "DataLoader.next"]
    assert len(recorded) == 2 * len(names), "what begins ends"
    model(torch.ones(1, 4))
    list(loader)
    assert len(recorded) == 2 * len(names), "nothing is left of it"
    assert type(loader) is torch.utils.data.DataLoader


def test_a_module_that_fails_ends_its_span(torch, recorded):
    model = torch.nn.Linear(4, 4)
    with rankscope.torch.annotate(model), pytest.raises(RuntimeError):
        model(torch.ones(1, 5))
    assert recorded == [("Linear", {}), "Linear"]


def test_collectives_are_recorded_with_groups_sizes_and_numbers(torch, recorded):
    dist = torch.distributed
    if not dist.is_available() or not dist.is_gloo_available():
        pytest.skip("this torch has no gloo")
    original = dist.all_reduce
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        with rankscope.torch.annotate():
            dist.all_reduce(torch.ones(6))
            dist.all_gather([torch.ones(2)], tensor=torch.ones(2))
            dist.barrier()
    finally:
        dist.destroy_process_group()
    reduced, gathered, barrier = (event[1] for event in recorded if isinstance(event, tuple))
    assert (reduced["Collective name"], reduced["In msg nelems"], reduced["dtype"], reduced["Seq"]) == ("allreduce", 6, "float32", 0)
    assert (gathered["Out msg nelems"], gathered["Process Group Ranks"], gathered["Seq"]) == (2, "[0]", 1)
    assert (barrier["Collective name"], barrier["Group size"], barrier["Seq"]) == ("barrier", 1, 2)
    assert dist.all_reduce is original


DATA_PARALLEL = """
import hashlib, json, sys, warnings
import torch, torch.distributed as dist
import rankscope.torch
rank, hooked, view = int(sys.argv[1]), *(word == "True" for word in sys.argv[3:])
dist.init_process_group("gloo", init_method=f"file://{sys.argv[2]}", rank=rank, world_size=3)
torch.manual_seed(0)
layers = torch.nn.Sequential(torch.nn.Linear(33, 65), torch.nn.ReLU(), torch.nn.Linear(65, 17))
model = torch.nn.parallel.DistributedDataParallel(layers, gradient_as_bucket_view=view)
optimizer, drawn = torch.optim.SGD(model.parameters(), lr=0.1), torch.Generator().manual_seed(rank)
with warnings.catch_warnings(record=True) as warned, rankscope.profile(python=False) as profile:
    warnings.simplefilter("always")
    annotations = rankscope.torch.annotate(model, reductions=hooked)
    for step in range(6):
        if step == 5:
            annotations.remove()
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        model(torch.randn(9, 33, generator=drawn)).pow(2).mean().backward()
        optimizer.step()
numbers = b"".join(tensor.detach().numpy().tobytes() for one in model.parameters() for tensor in (one, one.grad))
reduced = [row.count for row in profile.key_averages() if row.key == "torch.distributed:allreduce"]
print(json.dumps([hashlib.sha256(numbers).hexdigest(), sum(reduced), [str(one.message) for one in warned if "reductions" in str(one.message)]]))
dist.destroy_process_group()
"""


def trained(folder, hooked, view):
    """What three ranks of a data-parallel job say."""
    said = [sys.executable, "-c", DATA_PARALLEL]
    words = [str(folder / f"store-{hooked}-{view}"), str(hooked), str(view)]
    ranks = [subprocess.Popen([*said, str(rank), *words], stdout=subprocess.PIPE, text=True) for rank in range(3)]
    return [json.loads(rank.communicate(timeout=300)[0].splitlines()[-1]) for rank in ranks]


def test_reductions_of_gradients_are_recorded_and_change_no_bit(torch, tmp_path):
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("this torch has no gloo")
    [alone, none, _], [hooked, reduced, warned] = trained(tmp_path, False, False)[0], trained(tmp_path, True, False)[0]
    assert hooked == alone
    # All parameters fit one bucket: one reduction a step, and none seen after the annotations were taken away.
    assert (none, reduced, warned) == (0, 5, [])


def test_no_hook_is_set_where_it_could_change_a_bit(torch, tmp_path):
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("this torch has no gloo")
    for _, reduced, [warned] in trained(tmp_path, True, True):
        assert reduced == 0 and "3 ranks" in warned


@pytest.mark.parametrize("version", ["1.13.1+cu117", "0.4"])
def test_a_torch_that_is_too_old_is_said(monkeypatch, version):
    old = types.ModuleType("torch")
    old.__version__ = version
    monkeypatch.setitem(sys.modules, "torch", old)
    with pytest.raises(rankscope.UsageError, match=f"needs torch 2.0 or newer, and this is torch {re.escape(version)}"):
        rankscope.torch.annotate(object())


def test_importing_it_imports_no_torch():
    check = "import sys, rankscope.torch, rankscope.jax; sys.exit('torch' in sys.modules or 'jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0
