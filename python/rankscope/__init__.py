"""One timeline for a whole distributed training job: every rank on one clock, and a straight answer to where the time goes.

Importing this package is cheap; what a name needs is loaded when it is first used.
"""

from importlib import import_module as _import_module

from rankscope._native import __version__

# The module typing takes longer to import than all of this. Type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from rankscope import clock as clock
    from rankscope import dispatch as dispatch
    from rankscope import integrations as integrations
    from rankscope import jax as jax
    from rankscope import torch as torch
    from rankscope._analysis import align as align
    from rankscope._analysis import compare as compare
    from rankscope._analysis import report as report
    from rankscope._analysis import validate as validate
    from rankscope._analysis import what_if as what_if
    from rankscope._answers import Alignment as Alignment
    from rankscope._answers import Answer as Answer
    from rankscope._answers import Comparison as Comparison
    from rankscope._answers import Note as Note
    from rankscope._answers import Report as Report
    from rankscope._answers import Tables as Tables
    from rankscope._answers import Validation as Validation
    from rankscope._answers import WhatIf as WhatIf
    from rankscope._errors import Error as Error
    from rankscope._errors import InputChanged as InputChanged
    from rankscope._errors import InputError as InputError
    from rankscope._errors import InternalError as InternalError
    from rankscope._errors import UsageError as UsageError
    from rankscope._rendezvous import ClockSync as ClockSync
    from rankscope._rendezvous import clock_sync as clock_sync
    from rankscope._table import Table as Table

# A public name, and the module that has it.
_HOMES: dict[str, str] = {
    "Alignment": "rankscope._answers",
    "Answer": "rankscope._answers",
    "ClockSync": "rankscope._rendezvous",
    "Comparison": "rankscope._answers",
    "Error": "rankscope._errors",
    "InputChanged": "rankscope._errors",
    "InputError": "rankscope._errors",
    "InternalError": "rankscope._errors",
    "Note": "rankscope._answers",
    "Report": "rankscope._answers",
    "Table": "rankscope._table",
    "Tables": "rankscope._answers",
    "UsageError": "rankscope._errors",
    "Validation": "rankscope._answers",
    "WhatIf": "rankscope._answers",
    "align": "rankscope._analysis",
    "clock_sync": "rankscope._rendezvous",
    "compare": "rankscope._analysis",
    "report": "rankscope._analysis",
    "validate": "rankscope._analysis",
    "what_if": "rankscope._analysis",
}
# Modules of this package that are names of it, too.
_PARTS = (
    "clock",
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
