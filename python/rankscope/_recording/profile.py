"""`rankscope.profile`: a recording with the names and rules of `torch.profiler.profile`."""

from __future__ import annotations

import atexit
import json
import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rankscope import _native
from rankscope._errors import RecordingError
from rankscope._recording import options, workers
from rankscope._recording.averages import Average, Averages
from rankscope._recording.functions import PythonFunctions
from rankscope._recording.place import Size, place_of
from rankscope._recording.schedule import ProfilerAction, RecordingWarning, always
from rankscope._recording.sources import Sources, Wanted
from rankscope._recording.window import Window

if TYPE_CHECKING:
    from rankscope._recording.memory import Follower, MemorySite, PythonMemory

_WORDS = {
    "warmed up for nothing": "the schedule left warm-up without recording",
    "discarded": "the schedule left recording without saving: the cycle is lost",
}


class profile:  # noqa: N801 (torch's name)
    """Records this process, as a context manager or between `start` and `stop`.

    `out` is a folder (the recording is `rank-<r>.rkr` in it), a file `.rkr`, or a file that is written at the end (`.json`,
    `.pftrace`, `.xplane.pb`, also `.gz` or `.zst`); None records into memory, for `export_chrome_trace` and its relatives. What
    lies in a folder or a `.rkr` survives the death of the process. In a job that `rankscope run` started, the recording goes
    into the run's directory, whatever `out` says.

    A recording that cannot be made is a `RecordingWarning`: the program goes on without it.

    Args:
        schedule: From the number of a step to what it is for, as `rankscope.schedule`; without one all steps are recorded.
        on_trace_ready: Called with this profile when a cycle of the schedule is over, and at the end.
        python: Whether functions of Python are recorded, or which: `PythonFunctions(...)`.
        garbage_collection: Whether pauses for garbage collection are recorded.
        memory: `"tracemalloc"` or `PythonMemory(...)` follows the memory of Python's allocators.
        clock_sync: In a run with clock agents, whether the recording says how its clock stands to theirs.
        workers: Whether processes that this one starts (`multiprocessing`, workers of data loaders) are recorded, each in a file of its
            own beside the recording's, which has to be one that lives in a folder.
        acc_events: Whether `key_averages` sums up all cycles, and not the last.
        max_bytes: How large a recording may become. What comes then is dropped, and counted.
        keep_last_s: Keeps only about the last so many seconds; without it what `rankscope run --ring` says, if anything.
        keep_earlier: How many recordings that were there before are kept beside the new one.
    """

    def __init__(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        python: bool | PythonFunctions = True,
        garbage_collection: bool = True,
        memory: None | str | PythonMemory = None,
        clock_sync: bool = True,
        workers: bool = True,
        acc_events: bool = False,
        max_bytes: int = 1 << 30,
        keep_last_s: float | None = None,
        keep_earlier: int = 8,
    ) -> None:
        options.check(out, schedule, on_trace_ready, max_bytes, keep_last_s, keep_earlier)
        self._out, self._clock_sync, self._records_workers = out, bool(clock_sync), bool(workers)
        self._schedule = always if schedule is None else schedule
        self._on_trace_ready = on_trace_ready
        self._wanted = Wanted(options.functions(python), bool(garbage_collection))
        self._memory = options.memory(memory)
        self._accumulates = bool(acc_events)
        self._size = Size(max_bytes, keep_last_s, keep_earlier)
        self._metadata: dict[str, str] = {}
        self._process = 0
        self._is_started = False
        self._has_warned = False
        self._window: Window | None = None
        self._sources: Sources | None = None
        self._follower: Follower | None = None
        self._exported: str | None = None
        self._step: _native.Step | None = None
        self._begin_telling: Callable[[], None] | None = None
        self._undo: list[Callable[[], object]] = []
        self.step_num = 0
        self.current_action = ProfilerAction.NONE

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._is_started:
            self.stop()

    def start(self) -> None:
        """Enters step 0."""
        if self._is_started:
            raise RecordingError("this profile is started already: stop it first")
        place = place_of(self._out, self._clock_sync)
        self._process, self._is_started, self._has_warned = os.getpid(), True, False
        self._sources, self._exported = Sources(self._wanted), place.exported
        has_cycles = self._schedule is not always
        if self._size.ring_s is None:
            self._size = replace(self._size, ring_s=place.ring_s)
        self._window = Window(place, self._size, has_cycles=has_cycles, accumulates=self._accumulates)
        for key, value in self._metadata.items():
            self._window.say(key, value)
        self._tried(self._window.open)
        self._undo = [workers.in_child(self._leave_to_parent)]
        if _native.has_page():
            from rankscope._recording.collectives import telling

            self._begin_telling = telling.begin
            self._begin_telling()
        if self._records_workers and self._window.live_file is not None:
            self._begin_workers(self._window.live_file)
        if self._memory is not None:
            from rankscope._recording.memory import Follower

            self._follower = Follower(self._memory)
            self._follower.start()
        atexit.register(self._at_exit)
        self.step_num, self.current_action = 0, self._action_of(0)
        self._make(_native.moves(ProfilerAction.NONE, self.current_action))
        self._step = _native.Step(0)

    def step(self) -> None:
        """Leaves a step of the training loop and enters the next."""
        if not self._is_here("step"):
            return
        if self._step is not None:
            self._step.end()
        if self._follower is not None:
            self._follower.record()
        if self._begin_telling is not None:
            # Torch may have been imported since.
            self._begin_telling()
        self.step_num += 1
        before, self.current_action = self.current_action, self._action_of(self.step_num)
        try:
            self._make(_native.moves(before, self.current_action))
        finally:
            self._step = _native.Step(self.step_num)

    def stop(self) -> None:
        """Leaves the last step. What was recording is handed over as far as it got."""
        if not self._is_started:
            raise RecordingError("this profile is not started")
        if not self._is_here("stop"):
            return
        self._is_started = False
        atexit.unregister(self._at_exit)
        if self._step is not None:
            self._step.end()
        try:
            self._make(_native.moves(self.current_action, None))
        finally:
            self._end()

    @property
    def is_recording(self) -> bool:
        """Whether events are recorded at the moment."""
        return self._is_started and self._window is not None and self._window.is_open

    @property
    def file(self) -> str | None:
        """The live file of the recording, if it is one."""
        return None if self._window is None else self._window.live_file

    @property
    def report(self) -> dict[str, Any]:
        """How the last recording went: threads and their events, what was lost and why, the clock."""
        return self._whole().report

    def add_metadata(self, key: str, value: str) -> None:
        """Adds a text to know about the recording."""
        self.add_metadata_json(key, json.dumps(value))

    def add_metadata_json(self, key: str, value: str) -> None:
        """Adds something to know about the recording, as JSON."""
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError("metadata is a key and a value, both of them texts")
        try:
            json.loads(value)
        except ValueError as error:
            raise ValueError(f"metadata {key!r} is no JSON: {error}. Use add_metadata for a text") from None
        self._metadata[key] = value
        if self._window is not None:
            self._window.say(key, value)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes Chrome JSON as torch's profiler does, compressed where `path` ends in `.gz` or `.zst`."""
        self._whole().recorded().save(path, chrome=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the format that `path` names: `.rkr`, `.json`, `.pftrace`, `.xplane.pb`, each also `.gz` or `.zst`."""
        self._whole().recorded().save(path, chrome=False)

    def export_stacks(self, path: str | os.PathLike[str]) -> None:
        """Writes folded stacks, a line each with the nanoseconds spent in it, as flame graphs are drawn from."""
        _native.folded_stacks(self._whole().recorded(), path)

    def key_averages(self) -> Averages:
        """What each name cost."""
        return Averages(Average(*row) for row in _native.figures(self._whole().recorded()))

    def memory_sites(self) -> list[MemorySite]:
        """The lines of code that had taken memory when the recording stopped, and not given it back; the most first."""
        if self._follower is None:
            raise RecordingError("memory was not followed: ask for it by profile(memory='tracemalloc')")
        return self._follower.sites

    def _whole(self) -> Window:
        if self._window is None:
            raise RecordingError("nothing was recorded: start the profile first")
        return self._window

    def _begin_workers(self, live_file: str) -> None:
        folder = workers.folder_of(live_file)
        self._tried(lambda: workers.put_aside(folder))
        workers.begin(workers.Plan(folder, self._wanted, self._size))
        self._undo.append(workers.end)

    def _action_of(self, step: int) -> ProfilerAction:
        action = self._schedule(step)
        try:
            return ProfilerAction(action)
        except ValueError:
            raise TypeError(f"the schedule must return a ProfilerAction, not {action!r} (for step {step})") from None

    def _make(self, moves: list[str]) -> None:
        """All moves are made, whatever the program's own callback raises."""
        window, sources = self._whole(), self._sources
        assert sources is not None
        raised: BaseException | None = None
        for move in moves:
            if move == "prepare":
                self._tried(window.warm_up)
                sources.start()
            elif move == "start":
                self._tried(window.begin)
                sources.start()
                sources.begin_frames()
            elif move == "stop":
                sources.end_frames()
                sources.stop()
                self._tried(window.end)
            elif move in _WORDS:
                warnings.warn(_WORDS[move], RecordingWarning, stacklevel=4)
            elif move == "trace ready" and self._on_trace_ready is not None:
                try:
                    self._on_trace_ready(self)
                except BaseException as error:
                    raised = error
        if raised is not None:
            raise raised

    def _end(self) -> None:
        window, self._step = self._whole(), None
        for undo in self._undo:
            undo()
        self._undo = []
        if self._sources is not None:
            self._sources.stop()
        if self._follower is not None:
            self._follower.stop()
        self._tried(window.close)
        if self._exported is not None and window.has_recorded:
            exported = self._exported
            self._tried(lambda: window.recorded().save(exported, chrome=False))

    def _tried(self, do: Callable[[], object]) -> None:
        """Does something that must not end the program; says so once where it fails."""
        try:
            do()
        except (RecordingError, OSError) as error:
            if not self._has_warned:
                self._has_warned = True
                warnings.warn(f"not recorded: {error}", RecordingWarning, stacklevel=5)

    def _is_here(self, what: str) -> bool:
        """Whether the profile runs, in this process; says so once where not."""
        if self._is_started and os.getpid() == self._process:
            return True
        if not self._has_warned:
            self._has_warned = True
            why = "it is not started" if not self._is_started else f"it belongs to process {self._process}, not to this one"
            warnings.warn(f"{what} has no effect on this profile: {why}", RecordingWarning, stacklevel=3)
        return False

    def _leave_to_parent(self) -> None:
        """In the child of a fork."""
        if self._sources is not None:
            self._sources.stop()
        self._follower = None
        self._undo = []
        atexit.unregister(self._at_exit)

    def _at_exit(self) -> None:
        if self._is_started and os.getpid() == self._process:
            self.stop()
