"""What the processes of a job say of themselves: where a rank runs, and what it failed with, in nodes/rank-R.json; how the ranks ended
that torchrun started, in nodes/launcher-HOST-PID.json.

One small file a process, as no two may append to one file of a shared disk. Nothing here is done in a step of the job.
"""

import functools
import os
import sys
import time

_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX")
_WORLDS = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
_NODES = ("RANKSCOPE_RANK", "GROUP_RANK", "SLURM_NODEID", "PET_NODE_RANK")
_MESSAGE = 400


def number(names):
    for name in names:
        try:
            return int(os.environ[name])
        except (KeyError, ValueError):
            pass
    return None


def torch_rank():
    rank = number(_RANKS[:1])
    dist = sys.modules.get("torch.distributed")
    if rank is None and dist is not None and dist.is_available() and dist.is_initialized():
        rank = dist.get_rank()
    return number(_RANKS) if rank is None else rank


def jax_rank():
    state = getattr(sys.modules.get("jax._src.distributed"), "global_state", None)
    rank = getattr(state, "process_id", None)
    # Without jax.distributed every process is number 0 to JAX, whoever started it.
    alone = getattr(state, "client", None) is None
    named = number(_RANKS)
    return named if named is not None and (alone or rank is None) else rank


def world_size():
    size = number(_WORLDS)
    dist = sys.modules.get("torch.distributed")
    if size is None and dist is not None and dist.is_available() and dist.is_initialized():
        size = dist.get_world_size()
    return size


_profile = None
_step = None


def count_steps(profile):
    """Remembers the profile that was started last, and how far it was when it was stopped. Its steps themselves are left alone."""
    import weakref

    import rankscope_gpus

    start, stop = getattr(profile, "start", None), getattr(profile, "stop", None)
    if start is None or stop is None:
        return

    @functools.wraps(start)
    def started(self, *args, **kwargs):
        global _profile, _step
        rankscope_gpus.starts()
        if not getattr(self, "of_rankscope", False):
            _profile, _step = weakref.ref(self), None
        return start(self, *args, **kwargs)

    @functools.wraps(stop)
    def stopped(self, *args, **kwargs):
        global _step
        if not getattr(self, "of_rankscope", False):
            _step = getattr(self, "step_num", None)
        return stop(self, *args, **kwargs)

    profile.start, profile.stop = started, stopped


def _last_step():
    alive = _profile() if _profile is not None else None
    step = getattr(alive, "step_num", None) if alive is not None else _step
    # Who never calls step() stays at 0.
    return step if isinstance(step, int) and step > 0 else None


def torch_launcher(module, raw):
    """torchrun knows how the ranks that it started ended, those too that could not say so themselves."""
    error = module.ChildFailedError
    create = error.__init__

    @functools.wraps(create)
    def __init__(self, name, failures, *args, **kwargs):
        create(self, name, failures, *args, **kwargs)
        try:
            _tell_launched(raw, failures)
        except Exception:
            pass

    error.__init__ = __init__


def _tell_launched(raw, failures):
    import socket

    ends = [{"rank": rank, "exit_code": it.exitcode, "unix_s": int(it.timestamp)} for rank, it in failures.items()]
    host = socket.gethostname()
    _write_word(raw, "launcher-%s-%d" % (host, os.getpid()), {"host": host, "failures": ends})


def failed(raw, kind, error, status=None):
    """This rank's last word: what it fails with, when, and after which step. The first such word stays."""
    launches = "torch.distributed.launcher.api" in sys.modules and number(_RANKS[:1]) is None
    if launches or "failure" in about:
        return
    now = time.time_ns()
    # torch.multiprocessing.spawn raises what one of its children died of.
    child = getattr(error, "error_index", None)
    failure = {"unix_ns": now, "message": _described(kind, error, status, child is not None)}
    if status is not None:
        failure["exit_code"] = status & 0xFF
    step = _last_step()
    if step is not None:
        about["after_step"] = step
    about["failure"] = failure
    ranks = (rank for rank in (child, torch_rank(), jax_rank()) if rank is not None)
    tell(raw, next(ranks, 0))


def _described(kind, error, status, of_child):
    if kind is None:
        return "os._exit(%d)" % status
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if of_child and lines:
        return lines[-1][:_MESSAGE]
    name = kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else "%s.%s" % (kind.__module__, kind.__qualname__)
    return ": ".join([name] + lines[:1])[:_MESSAGE]


about = {}


def tell(raw, rank):
    """Where this rank runs, and what else it has to say."""
    import socket

    about.update({"rank": rank, "host": socket.gethostname(), "pid": os.getpid()})
    for key, names in (("world_size", _WORLDS), ("node", _NODES), ("restart", ("TORCHELASTIC_RESTART_COUNT",))):
        value = number(names)
        if value is not None:
            about[key] = value
    _write_word(raw, "rank-%d" % rank, about)


def _write_word(raw, name, about):
    import json

    folder = os.path.join(os.environ.get("RANKSCOPE_RUN_DIR") or os.path.dirname(raw), "nodes")
    os.makedirs(folder, exist_ok=True)
    partial = os.path.join(folder, ".%s.%d.partial" % (name, os.getpid()))
    with open(partial, "w") as file:
        file.write(json.dumps(about) + "\n")
    os.replace(partial, os.path.join(folder, "%s.json" % name))
