"""Stores of the job behind one small surface, and agents that meet over them."""

import json
import os
import subprocess
import sys
import threading
import time

import pytest

import rankscope
from rankscope._rendezvous import JaxStore, TorchStore, job_store


class Shared:
    """A store of this process, for nodes that are threads."""

    def __init__(self):
        self._texts, self._counts, self._lock = {}, {}, threading.Lock()

    def place(self):
        return "a dict"

    def set(self, key, text):
        self._texts[key] = text

    def get(self, key):
        return self._texts.get(key)

    def add(self, key, number):
        with self._lock:
            self._counts[key] = self._counts.get(key, 0) + number
            return self._counts[key]


def obeys_the_laws(store):
    assert store.get("text") is None
    store.set("text", "first")
    store.set("text", "second")
    assert store.get("text") == "second"
    store.set("empty", "")
    assert store.get("empty") == ""
    assert [store.add("text", 2), store.add("text", -3), store.add("text", 0)] == [2, -1, -1]
    assert store.get("text") == "second", "a counter is no text"


def test_stores_of_torch_obey(torch, tmp_path):
    dist = torch.distributed
    if not dist.is_available():
        pytest.skip("this torch has no torch.distributed")
    stores = [
        dist.HashStore(),
        dist.FileStore(str(tmp_path / "store"), 1),
        dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False),
        dist.PrefixStore("job", dist.HashStore()),
    ]
    for store in stores:
        obeys_the_laws(job_store(store))
        assert isinstance(job_store(store), TorchStore)


JAX_JOB = """
import socket, sys
import jax
sys.path.insert(0, sys.argv[1])
from test_rendezvous import JaxStore, job_store, obeys_the_laws
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=1, process_id=0)
assert isinstance(job_store(), JaxStore)
obeys_the_laws(job_store())
print("obeyed")
jax.distributed.shutdown()
"""


def test_the_coordination_service_of_jax_obeys():
    pytest.importorskip("jax", reason="jax is not installed")
    # It has to be there before anything is computed, so it gets a process of its own.
    job = [sys.executable, "-c", JAX_JOB, os.path.dirname(__file__)]
    said = subprocess.run(job, capture_output=True, text=True, timeout=120)
    assert said.stdout == "obeyed\n", said.stderr


def test_what_is_no_store_is_refused():
    with pytest.raises(TypeError, match="int is neither a store of torch or JAX"):
        job_store(3)


def test_agents_meet_over_a_store_and_measure(tmp_path):
    store = Shared()
    options = {"store": store, "run_id": "test", "probe_window_s": 1, "interfaces": "lo"}
    agents = [rankscope.clock_sync(tmp_path, node, 2, **options) for node in (0, 1)]
    windows = [tmp_path / f"windows-node{node}.jsonl" for node in (0, 1)]
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not all(path.exists() and path.read_text().count("\n") > 1 for path in windows):
        time.sleep(0.05)
    for agent in agents:
        agent.stop()
        agent.stop()
    lines = [json.loads(line) for path in windows for line in path.read_text().splitlines()]
    assert len(lines) > 2


def test_a_store_that_fails_is_told_of_when_the_agent_stops(tmp_path):
    class Broken(Shared):
        def set(self, key, text):
            raise OSError("the store is gone")

    agent = rankscope.clock_sync(tmp_path, 0, 2, store=Broken(), run_id="test", interfaces="lo")
    with pytest.raises(RuntimeError, match="the store is gone"):
        agent.stop()


def test_an_agent_that_waits_for_others_can_be_stopped(tmp_path):
    agent = rankscope.clock_sync(tmp_path, 0, 2, store=Shared(), run_id="test", interfaces="lo")
    with pytest.raises(RuntimeError, match="stopped while waiting"):
        agent.stop()
