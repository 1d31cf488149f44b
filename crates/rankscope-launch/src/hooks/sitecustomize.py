"""Loaded by every Python process of a job that `rankscope run` started: it keeps a copy of each profile the job exports, and a word
of what a rank fails with, and can switch a profiler on for some steps.

It costs a look-up per import until torch.profiler or jax.profiler is imported, and imports nothing itself before that. Whatever goes
wrong here is told once on stderr and never reaches the job. Another sitecustomize on the path still runs.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _watch():
    raw = os.environ.get("RANKSCOPE_RAW_DIR")
    if not raw:
        return

    def patch(*names):
        def after(module):
            for room, name in names:
                try:
                    getattr(__import__(room), name)(module, raw)
                except Exception as error:
                    _complain(error, room)

        return after

    wanted = {
        "torch.profiler.profiler": patch(("rankscope_hooks", "torch_profiler"), ("rankscope_windows", "torch_profiler")),
        "torch.optim.optimizer": patch(("rankscope_windows", "torch_optimizer")),
        "torch.distributed.elastic.multiprocessing.errors": patch(("rankscope_words", "torch_launcher")),
        "jax._src.profiler": patch(("rankscope_hooks", "jax_profiler"), ("rankscope_windows", "jax_profiler")),
    }

    class Finder:
        """Finds nothing itself: it asks the others, and has a word with what they find."""

        @staticmethod
        def find_spec(name, path=None, target=None):
            if name not in wanted:
                return None
            for finder in list(sys.meta_path):
                find = getattr(finder, "find_spec", None)
                spec = None if finder is Finder or find is None else find(name, path, target)
                if spec is not None:
                    _then(spec.loader, name, wanted)
                    return spec
            return None

    sys.meta_path.insert(0, Finder)
    _listen(raw)


def _listen(raw):
    """Hears of the uncaught exception, or the hard exit, that a rank ends with. What a rank starts is not the rank, though it inherits
    its number."""
    numbers = sorted(name + "=" + os.environ[name] for name in os.environ if name.endswith(("RANK", "PROCID", "COMPLETION_INDEX")))
    who = " ".join(numbers) or "alone"
    if os.environ.get("RANKSCOPE_PROCESS") == who:
        return
    os.environ["RANKSCOPE_PROCESS"] = who
    own, show, end = os.getpid(), sys.excepthook, os._exit

    def tell(*what):
        # A fork inherits this and is not the rank either.
        if os.getpid() == own:
            try:
                import rankscope_words

                rankscope_words.failed(raw, *what)
            except Exception:
                pass

    def excepthook(kind, error, trace):
        tell(kind, error)
        show(kind, error, trace)

    def _exit(status):
        if status:
            tell(None, None, status)
        end(status)

    sys.excepthook, os._exit = excepthook, _exit


def _then(loader, name, wanted):
    """Lets the patch of `name` see the module as soon as its own code has run."""
    execute = getattr(loader, "exec_module", None)
    if execute is None:
        return

    def exec_module(module):
        execute(module)
        # A loader may serve other modules, too.
        after = wanted.pop(name, None) if module.__name__ == name else None
        if after is not None:
            after(module)

    try:
        loader.exec_module = exec_module
    except Exception as error:
        _complain(error)


def _complain(error, room=""):
    what = "steps of this process are not counted" if room == "rankscope_windows" else "profiles of this process are not kept"
    try:
        sys.stderr.write("rankscope: %s: %r\n" % (what, error))
    except Exception:
        pass


def _chain():
    """Runs the sitecustomize that this one stands in front of, as if this one were not there."""
    try:
        # What importlib itself stands on: it is there already, and the rest of importlib brings a dozen modules along.
        from _frozen_importlib import module_from_spec
        from _frozen_importlib_external import PathFinder
    except ImportError:
        from importlib.machinery import PathFinder
        from importlib.util import module_from_spec

    elsewhere = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != _HERE]
    spec = PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    _watch()
except Exception as error:
    _complain(error)
_chain()
