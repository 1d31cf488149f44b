"""The profilers that a window of steps switches on, torch's and JAX's, and what tells one step from the next.

In torch a step ends with a call of an optimizer's `step` that has been called since the last step ended: two optimizers that take
turns, or one for each parameter, make one step together. In JAX a step begins with a `StepTraceAnnotation`.
"""

import functools
import os
import sys

import rankscope_hooks
import rankscope_profile
import rankscope_words


def torch_profiler(module, raw):
    """Windows of torch.profiler, whose module has just been loaded."""
    own = _OwnProfiles()
    opens = functools.partial(_TorchWindow, module, raw)
    steps = rankscope_profile.Steps(raw, opens, 1, rankscope_words.torch_rank, own.busy)
    own.watch(module.profile, steps)
    autograd = sys.modules.get("torch.autograd.profiler")
    for kind in (getattr(autograd, name, None) for name in ("profile", "emit_nvtx", "emit_itt")):
        _before(kind, "__enter__", lambda *_: steps.gives_way())
    sys.modules[__name__].torch_steps = steps


torch_steps = None


def torch_optimizer(module, raw):
    """Counts the calls of `step`, whatever the class: torch wraps that of each when its first optimizer is made, and this wraps what
    comes of that, so that a step ends when its call is over, and not within the span that torch records of it."""
    patch = module.Optimizer._patch_step_function

    @functools.wraps(patch)
    def _patch_step_function(self):
        patch(self)
        try:
            kind = type(self)
            if not getattr(kind.step, "counted_by_rankscope", False):
                kind.step = _counted(kind.step)
                kind.step.counted_by_rankscope = True
        except Exception:
            # A class that will not have it trains uncounted.
            pass

    module.Optimizer._patch_step_function = _patch_step_function


_called = set()
_depth = 0


def _counted(step):
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    is_compiling = getattr(compiler, "is_compiling", None) or (lambda: False)

    @functools.wraps(step)
    def counted(self, *args, **kwargs):
        global _depth
        # What is compiled is not counted: the counting would be compiled, too.
        if is_compiling():
            return step(self, *args, **kwargs)
        _depth += 1
        try:
            result = step(self, *args, **kwargs)
        finally:
            _depth -= 1
        # One optimizer may call another's, or that of its own base class.
        if not _depth:
            _ended(id(self))
        return result

    return counted


def _ended(optimizer):
    if not _called or optimizer in _called:
        _called.clear()
        if torch_steps is not None:
            torch_steps.begins()
    _called.add(optimizer)


class _OwnProfiles:
    """Profiles that the script started and has not stopped."""

    def __init__(self):
        import weakref

        self._open = weakref.WeakSet()

    def busy(self):
        autograd = sys.modules.get("torch.autograd.profiler")
        return bool(self._open) or bool(getattr(autograd, "_is_profiler_enabled", False))

    def watch(self, profile, steps):
        def starts(it, *_):
            if not getattr(it, "of_rankscope", False):
                steps.gives_way()
                self._open.add(it)

        def stops(it, *_):
            self._open.discard(it)

        _before(profile, "start", starts)
        _before(profile, "stop", stops)


def _before(kind, name, first):
    method = getattr(kind, name, None)
    if method is None:
        return

    @functools.wraps(method)
    def wrapped(self, *args, **kwargs):
        try:
            first(self)
        except Exception:
            pass
        return method(self, *args, **kwargs)

    setattr(kind, name, wrapped)


class _TorchWindow:
    """torch.profiler over some steps, switched on one step before where that can be, as the first step of a device's tracer is slow."""

    def __init__(self, module, raw, number, wish):
        action = module.ProfilerAction

        def schedule(step):
            if step < wish.first:
                return action.WARMUP
            last = wish.first + wish.steps - 1
            return action.NONE if step > last else action.RECORD_AND_SAVE if step == last else action.RECORD

        kind = type("profile", (module.profile,), {"of_rankscope": True})
        self._wish, self._raw = wish, raw
        self._profile = kind(
            schedule=schedule,
            on_trace_ready=self._keep,
            record_shapes="shapes" in wish.details,
            with_stack="stack" in wish.details,
            profile_memory="memory" in wish.details,
        )
        # Its steps have the numbers that the whole job's have.
        self._profile.step_num = number
        for name in ("current_action", "_prev_schedule_action"):
            setattr(self._profile, name, schedule(number))
        self._say_whose_it_is()
        self._profile.start()

    def step(self, number):
        self._profile.step()
        over = number >= self._wish.first + self._wish.steps
        if over:
            self._profile.stop()
        return over

    def close(self):
        self._profile.stop()

    def discard(self):
        self._profile.on_trace_ready = None
        self._profile.stop()

    def _say_whose_it_is(self):
        import json

        about = {"request": self._wish.request, "first_step": self._wish.first, "steps": self._wish.steps}
        preset = getattr(self._profile, "preset_metadata_json", None)
        if preset is not None:
            preset("rankscope_profile", json.dumps(about))

    def _keep(self, profile):
        rankscope_hooks.keep_export(profile, self._raw)


def jax_profiler(module, raw):
    """Windows of jax.profiler, whose module has just been loaded."""

    def busy():
        state = getattr(module, "_profile_state", None)
        return getattr(state, "profile_session", None) is not None

    opens = functools.partial(_JaxWindow, module, raw)
    steps = rankscope_profile.Steps(raw, opens, 0, rankscope_words.jax_rank, busy)
    annotation = getattr(module, "StepTraceAnnotation", None)
    if annotation is None:
        return
    create, start = annotation.__init__, module.start_trace
    number = iter(range(sys.maxsize))

    # The span begins when it is made, not when it is entered.
    @functools.wraps(create)
    def __init__(self, *args, **kwargs):
        steps.begins(next(number))
        create(self, *args, **kwargs)

    @functools.wraps(start)
    def start_trace(*args, **kwargs):
        if not _JaxWindow.at_work:
            steps.gives_way()
        return start(*args, **kwargs)

    annotation.__init__ = __init__
    module.start_trace = start_trace


class _JaxWindow:
    """jax.profiler over some steps, into a folder of this process alone, of which the newest profile is kept as of any other."""

    at_work = False

    def __init__(self, module, raw, number, wish):
        import tempfile

        self._module, self._wish = module, wish
        self._folder = tempfile.mkdtemp(prefix=".rankscope-profile-", dir=os.path.dirname(raw))
        _JaxWindow.at_work = True
        try:
            module.start_trace(self._folder)
        finally:
            _JaxWindow.at_work = False

    def step(self, number):
        over = number >= self._wish.first + self._wish.steps
        if over:
            self.close()
        return over

    def close(self):
        self._finish(self._module.stop_trace)

    def discard(self):
        # The hook of stop_trace keeps what it writes; the original is behind it.
        self._finish(getattr(self._module.stop_trace, "__wrapped__", self._module.stop_trace))

    def _finish(self, stop):
        import shutil

        try:
            self._wait_for_devices()
            stop()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    @staticmethod
    def _wait_for_devices():
        """Calls return before their work is done, and what is not done would not be in the trace."""
        jax = sys.modules.get("jax")
        for array in getattr(jax, "live_arrays", lambda: ())():
            try:
                array.block_until_ready()
            except Exception:
                pass
