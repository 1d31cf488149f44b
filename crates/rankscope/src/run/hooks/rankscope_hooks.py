"""What happens to a profile after the job has written it: a copy goes to the run's raw folder, whole or not at all.

A copy and not a link, because the job, or the next run of it, may write to the same file again. A rank's newest profile is
raw/rank-R.*, older ones go to raw/more, and those of an attempt before a restart to raw/attempt-N.
"""

import functools
import os
import sys

_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX")
_WORLDS = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
_NODES = ("RANKSCOPE_RANK", "GROUP_RANK", "SLURM_NODEID", "PET_NODE_RANK")
_SUFFIXES = (".xplane.pb", ".json.gz", ".json")


def torch_profiler(module, raw):
    """Keeps what `export_chrome_trace` writes; the handler for TensorBoard calls it, too."""
    profile = module._KinetoProfile
    export = profile.export_chrome_trace

    @functools.wraps(export)
    def export_chrome_trace(self, path, *args, **kwargs):
        result = export(self, path, *args, **kwargs)
        _guarded(_keep, os.fspath(path), raw, _torch_rank)
        return result

    profile.export_chrome_trace = export_chrome_trace


def jax_profiler(module, raw):
    """Keeps the newest XSpace after `stop_trace`; `trace` calls it, too."""
    stop = module.stop_trace

    @functools.wraps(stop)
    def stop_trace(*args, **kwargs):
        folder = getattr(getattr(module, "_profile_state", None), "log_dir", None)
        known = _guarded(_xplanes, folder) or {}
        result = stop(*args, **kwargs)
        _guarded(_keep_xplane, folder, known, raw)
        return result

    module.stop_trace = stop_trace


_complained = False


def _guarded(function, *args):
    global _complained
    try:
        return function(*args)
    except Exception as error:
        if not _complained:
            _complained = True
            try:
                sys.stderr.write("rankscope: a profile is not kept: %s\n" % (error,))
            except Exception:
                pass
    return None


def _keep_xplane(folder, known, raw):
    new = [(stamp, path) for path, stamp in _xplanes(folder).items() if known.get(path) != stamp]
    if new:
        _keep(max(new)[1], raw, _jax_rank)


def _xplanes(folder):
    found = {}
    root = os.path.join(folder, "plugins", "profile") if folder else ""
    for session in os.scandir(root) if os.path.isdir(root) else ():
        if session.is_dir():
            for entry in os.scandir(session.path):
                if entry.name.endswith(".xplane.pb"):
                    found[entry.path] = entry.stat().st_mtime_ns
    return found


def _number(names):
    for name in names:
        try:
            return int(os.environ[name])
        except (KeyError, ValueError):
            pass
    return None


def _torch_rank():
    rank = _number(_RANKS[:1])
    dist = sys.modules.get("torch.distributed")
    if rank is None and dist is not None and dist.is_available() and dist.is_initialized():
        rank = dist.get_rank()
    return _number(_RANKS) if rank is None else rank


def _jax_rank():
    state = getattr(sys.modules.get("jax._src.distributed"), "global_state", None)
    rank = getattr(state, "process_id", None)
    # Without jax.distributed every process is number 0 to JAX, whoever started it.
    alone = getattr(state, "client", None) is None
    named = _number(_RANKS)
    return named if named is not None and (alone or rank is None) else rank


def _keep(path, raw, rank_of):
    rank = rank_of() or 0
    other = ".json.gz" if path.endswith(".gz") else ".json"
    suffix = next((suffix for suffix in _SUFFIXES if path.endswith(suffix)), other)
    partial = os.path.join(raw, ".rank-%d.%d.partial" % (rank, os.getpid()))
    try:
        _copy(path, partial)
        _make_room(raw, rank)
        os.replace(partial, os.path.join(raw, "rank-%d%s" % (rank, suffix)))
    finally:
        if os.path.exists(partial):
            os.unlink(partial)
    _tell(raw, rank)


def _copy(source, target):
    """The kernel copies, or shares the blocks, where it can."""
    with open(source, "rb") as reader, open(target, "wb") as writer:
        try:
            while os.copy_file_range(reader.fileno(), writer.fileno(), 1 << 30):
                pass
        except (AttributeError, OSError):
            reader.seek(0)
            writer.seek(0)
            writer.truncate()
            block = reader.read(1 << 20)
            while block:
                writer.write(block)
                block = reader.read(1 << 20)


_first = True


def _make_room(raw, rank):
    global _first
    restart = _number(("TORCHELASTIC_RESTART_COUNT",)) or 0
    before = _first and restart > 0
    _first = False
    folder = os.path.join(raw, "attempt-%d" % (restart - 1) if before else "more")
    for suffix in _SUFFIXES:
        old = os.path.join(raw, "rank-%d%s" % (rank, suffix))
        if os.path.exists(old):
            os.makedirs(folder, exist_ok=True)
            number = 0
            while True:
                name = "rank-%d%s%s" % (rank, "" if before and not number else ".%d" % number, suffix)
                if not os.path.exists(os.path.join(folder, name)):
                    break
                number += 1
            os.replace(old, os.path.join(folder, name))


def _tell(raw, rank):
    """Where this rank runs: one small file a rank, as no two processes may append to one file of a shared disk."""
    import json
    import socket

    folder = os.path.join(os.environ.get("RANKSCOPE_RUN_DIR") or os.path.dirname(raw), "nodes")
    about = {"rank": rank, "host": socket.gethostname(), "pid": os.getpid()}
    for key, value in (("world_size", _number(_WORLDS)), ("node", _number(_NODES))):
        if value is not None:
            about[key] = value
    os.makedirs(folder, exist_ok=True)
    partial = os.path.join(folder, ".rank-%d.%d.partial" % (rank, os.getpid()))
    with open(partial, "w") as file:
        file.write(json.dumps(about) + "\n")
    os.replace(partial, os.path.join(folder, "rank-%d.json" % rank))
