"""One timeline for a whole distributed training job: every rank on one clock, and a straight answer to where the time goes.

Importing this package is cheap; what a name needs is loaded when it is first used.
"""

from importlib import import_module as _import_module

from rankscope._native import __version__

# A public name, and the module that has it.
_HOMES: dict[str, str] = {
    "ClockSync": "rankscope._rendezvous",
    "clock_sync": "rankscope._rendezvous",
}
# Modules of this package that are names of it, too.
_PARTS = (
    "dispatch",
    "integrations",
    "jax",
    "torch",
)

__all__ = ["__version__", *_HOMES, *_PARTS]


def __getattr__(name: str) -> object:
    if name in _PARTS:
        return _import_module(f"{__name__}.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_PARTS})
