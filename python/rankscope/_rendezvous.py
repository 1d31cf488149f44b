"""Clock agents that meet where the job meets already: over a store of torch.distributed, or over the coordination service of JAX.

An agent measures on a thread of the process that starts it, one a node, and needs no port to meet the others; its probes go over UDP between the
nodes, as ever. Whoever can write to the job's store can meet there, as it can join the job.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any, Protocol

from rankscope._native import ClockAgent

__all__ = ["ClockSync", "JaxStore", "JobStore", "TorchStore", "clock_sync", "job_store"]

# Before each text: some stores do not tell an empty one from none.
_MARK = "="


class JobStore(Protocol):
    """What agents need of a store. Texts and counters do not share names, and no addition may be lost."""

    def place(self) -> str:
        """Where it is, for messages."""

    def set(self, key: str, text: str) -> None:
        """Writes a text; what was there is gone."""

    def get(self, key: str) -> str | None:
        """The text, or None where there is none yet. Never waits."""

    def add(self, key: str, number: int) -> int:
        """Adds to a counter, which begins at 0, and returns what it came to."""


class TorchStore:
    """A `torch.distributed.Store`: a TCPStore, FileStore, HashStore, or one of them with a prefix."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def place(self) -> str:
        return f"torch's {type(self._store).__name__}"

    def set(self, key: str, text: str) -> None:
        self._store.set(f"t/{key}", _MARK + text)

    def get(self, key: str) -> str | None:
        # Its own get waits for the key.
        if not self._store.check([f"t/{key}"]):
            return None
        text: str = self._store.get(f"t/{key}").decode()
        return text[len(_MARK) :]

    def add(self, key: str, number: int) -> int:
        return int(self._store.add(f"c/{key}", number))


class JaxStore:
    """The client of JAX's coordination service, which is there after `jax.distributed.initialize`."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def place(self) -> str:
        return "the coordination service of JAX"

    def set(self, key: str, text: str) -> None:
        self._client.key_value_set(f"t/{key}", _MARK + text, allow_overwrite=True)

    def get(self, key: str) -> str | None:
        try:
            text: str = self._client.key_value_try_get(f"t/{key}")
        except Exception as error:
            if "NOT_FOUND" in str(error):
                return None
            raise
        return text[len(_MARK) :]

    def add(self, key: str, number: int) -> int:
        return int(self._client.key_value_increment(f"c/{key}", number))


def job_store(store: Any = None) -> JobStore:
    """`store` as agents need it, or without one the store that this process has: that of torch.distributed, else of jax.distributed."""
    dist: Any = sys.modules.get("torch.distributed")
    if store is None and dist is not None and dist.is_available() and dist.is_initialized():
        store = dist.distributed_c10d._get_default_store()
    if store is None:
        state = getattr(sys.modules.get("jax._src.distributed"), "global_state", None)
        store = getattr(state, "client", None)
    if store is None:
        raise RuntimeError(
            "this process has no store yet: call torch.distributed.init_process_group or jax.distributed.initialize first, or pass one"
        )
    if hasattr(store, "key_value_increment"):
        return JaxStore(store)
    if dist is not None and isinstance(store, dist.Store):
        return TorchStore(store)
    if not all(callable(getattr(store, name, None)) for name in ("place", "set", "get", "add")):
        raise TypeError(f"{type(store).__name__} is neither a store of torch or JAX nor has it place, set, get and add")
    return store  # type: ignore[no-any-return]


class ClockSync:
    """An agent that measures. Stop it before the job's store goes, or use it in a `with`."""

    def __init__(self, agent: ClockAgent) -> None:
        self._agent = agent
        # Its thread asks Python for the store, which must not be gone by then.
        atexit.register(self._stop_at_exit)

    def stop(self) -> None:
        """Stops measuring, once what was measured is written. Raises what kept the agent from measuring."""
        atexit.unregister(self._stop_at_exit)
        self._agent.stop()

    def _stop_at_exit(self) -> None:
        try:
            self._agent.stop()
        except RuntimeError as error:
            print(f"rankscope: clocks are not measured: {error}", file=sys.stderr)

    def __enter__(self) -> ClockSync:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def clock_sync(
    folder: str | os.PathLike[str], node: int, num_nodes: int, *, store: Any = None, run_id: str | None = None, **settings: object
) -> ClockSync:
    """Measures this node's clock against the others until it is stopped, and writes `windows-nodeK.jsonl` and `offsets.jsonl` into `folder`,
    which is the `clock/` of a run directory.

    Call it in one process of each node, all with the same `num_nodes`. `store` is any store of the job, by default the one it has; settings
    are those of the command, with `_` in the place of `-`.
    """
    told = {"output-dir": os.fspath(folder), "rank": node, "num-nodes": num_nodes}
    if run_id is not None:
        told["run-id"] = run_id
    told.update({name.replace("_", "-"): value for name, value in settings.items()})
    words = [(name, str(value).lower() if isinstance(value, bool) else str(value)) for name, value in told.items()]
    return ClockSync(ClockAgent(job_store(store), words))
