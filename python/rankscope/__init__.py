"""One timeline for a whole distributed training job: every rank on one clock, and a straight answer to where the time goes.

Importing this package is cheap; what a name needs is loaded when it is first used.
"""

from importlib import import_module as _import_module

from rankscope._native import __version__

# A public name, and the module that has it.
_HOMES: dict[str, str] = {}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
