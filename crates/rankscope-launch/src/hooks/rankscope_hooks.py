"""What happens to a profile after the job has written it: a copy goes to the run's raw folder, whole or not at all.

A copy and not a link, because the job, or the next run of it, may write to the same file again. A rank's newest profile is
raw/rank-R.*, older ones go to raw/more, and those of an attempt before a restart to raw/attempt-N.
"""

import functools
import os
import sys
import time

import rankscope_gpus
import rankscope_words

_SUFFIXES = (".xplane.pb", ".json.gz", ".json")


def torch_profiler(module, raw):
    """Keeps what `export_chrome_trace` writes; the handler for TensorBoard calls it, too."""
    profile = module._KinetoProfile
    export = profile.export_chrome_trace

    @functools.wraps(export)
    def export_chrome_trace(self, path, *args, **kwargs):
        result = export(self, path, *args, **kwargs)
        _guarded(_keep, os.fspath(path), raw, rankscope_words.torch_rank)
        return result

    profile.export_chrome_trace = export_chrome_trace
    rankscope_words.count_steps(module.profile)


def keep_export(profile, raw):
    """Keeps what `profile` exports without a copy, as nobody else wants that file."""
    export = profile.export_chrome_trace
    # What the hook above wraps.
    export = getattr(export, "__wrapped__", None)
    path = os.path.join(raw, ".rank-%d.%d.json" % (rankscope_words.torch_rank() or 0, os.getpid()))
    try:
        if export is None:
            profile.export_chrome_trace(path)
        else:
            export(profile, path)
            _keep(path, raw, rankscope_words.torch_rank, os.replace)
    finally:
        if os.path.exists(path):
            os.unlink(path)


def jax_profiler(module, raw):
    """Keeps the newest XSpace after `stop_trace`; `trace` calls it, too. Where the run has the library for it, each holds the host's clocks."""
    _install_clock_plane()
    stop = module.stop_trace

    @functools.wraps(stop)
    def stop_trace(*args, **kwargs):
        folder = getattr(getattr(module, "_profile_state", None), "log_dir", None)
        with _Turn(folder) as turn:
            known = _guarded(_xplanes, folder) or {}
            result = stop(*args, **kwargs)
            _guarded(_keep_xplane, folder, known, raw, turn.mine)
        return result

    module.stop_trace = stop_trace


def _install_clock_plane():
    if not os.environ.get("RANKSCOPE_PJRT_LIBRARY"):
        return
    try:
        import rankscope_clock_plane

        rankscope_clock_plane.install()
    except Exception as error:
        # A trace without them is a trace all the same.
        sys.stderr.write("rankscope: traces of JAX come without the host's clocks: %s\n" % (error,))


class _Turn:
    """Processes of one host that were given one folder write to the same file, as JAX names it by the host: each keeps its own before
    the next one writes. Nobody waits who has a folder alone, and nobody longer than the patience."""

    PATIENCE_S = 20

    def __init__(self, folder):
        self._folder, self._file, self.mine = folder, None, False

    def __enter__(self):
        try:
            import fcntl
            import socket
            import zlib

            about = "%s %s" % (socket.gethostname(), os.path.realpath(self._folder))
            name = "turn-%08x" % zlib.crc32(about.encode("utf-8", "surrogateescape"))
            self._file = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), "a")
            deadline = time.monotonic() + self.PATIENCE_S
            while not self.mine and time.monotonic() < deadline:
                try:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    self.mine = True
                except BlockingIOError:
                    time.sleep(0.01)
        except Exception:
            pass
        return self

    def __exit__(self, *error):
        if self._file is not None:
            self._file.close()


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


def _keep_xplane(folder, known, raw, mine):
    new = [(stamp, path) for path, stamp in _xplanes(folder).items() if known.get(path) != stamp]
    if new:
        if not mine:
            _note_twin(max(new)[1], raw, rankscope_words.jax_rank() or 0)
        _keep(max(new)[1], raw, rankscope_words.jax_rank)


def _note_twin(path, raw, rank):
    """Without a turn of its own this may be what another process wrote."""
    import filecmp

    for entry in os.scandir(raw):
        other = entry.name[len("rank-") : -len(".xplane.pb")]
        if entry.name.endswith(".xplane.pb") and other.isdigit() and int(other) != rank:
            if filecmp.cmp(path, entry.path, shallow=False):
                rankscope_words.about["note"] = (
                    "Ranks %d and %d wrote the same file %s: give each process its own log directory."
                    % (min(rank, int(other)), max(rank, int(other)), path)
                )


def _xplanes(folder):
    found = {}
    root = os.path.join(folder, "plugins", "profile") if folder else ""
    for session in os.scandir(root) if os.path.isdir(root) else ():
        if session.is_dir():
            for entry in os.scandir(session.path):
                if entry.name.endswith(".xplane.pb"):
                    found[entry.path] = entry.stat().st_mtime_ns
    return found


def _keep(path, raw, rank_of, take=None):
    rank = rank_of() or 0
    other = ".json.gz" if path.endswith(".gz") else ".json"
    suffix = next((suffix for suffix in _SUFFIXES if path.endswith(suffix)), other)
    partial = os.path.join(raw, ".rank-%d.%d.partial" % (rank, os.getpid()))
    try:
        (take or _copy)(path, partial)
        if suffix == ".json":
            _guarded(rankscope_gpus.add, partial)
        _make_room(raw, rank)
        os.replace(partial, os.path.join(raw, "rank-%d%s" % (rank, suffix)))
    finally:
        if os.path.exists(partial):
            os.unlink(partial)
    rankscope_words.tell(raw, rank)


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
    restart = rankscope_words.number(("TORCHELASTIC_RESTART_COUNT",)) or 0
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


