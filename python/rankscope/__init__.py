"""One timeline for a whole distributed training job: every rank on one clock, and a straight answer to where the time goes.

Importing this package is cheap; what a name needs is loaded when it is first used.
"""

from importlib import import_module as _import_module

from rankscope._native import __version__

# At hand, and at hand for destructors that run when Python ends and nothing can be imported any more.
from rankscope._native import counter as counter
from rankscope._native import instant as instant
from rankscope._native import phase as phase
from rankscope._native import record_function as record_function

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
    from rankscope._errors import RecordingError as RecordingError
    from rankscope._errors import UsageError as UsageError
    from rankscope._recording.flow import flow as flow
    from rankscope._recording.functions import PythonFunctions as PythonFunctions
    from rankscope._recording.memory import MemorySite as MemorySite
    from rankscope._recording.memory import PythonMemory as PythonMemory
    from rankscope._recording.profile import profile as profile
    from rankscope._recording.schedule import ProfilerAction as ProfilerAction
    from rankscope._recording.schedule import RecordingWarning as RecordingWarning
    from rankscope._recording.schedule import schedule as schedule
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
    "MemorySite": "rankscope._recording.memory",
    "Note": "rankscope._answers",
    "ProfilerAction": "rankscope._recording.schedule",
    "PythonFunctions": "rankscope._recording.functions",
    "PythonMemory": "rankscope._recording.memory",
    "RecordingError": "rankscope._errors",
    "RecordingWarning": "rankscope._recording.schedule",
    "Report": "rankscope._answers",
    "Table": "rankscope._table",
    "Tables": "rankscope._answers",
    "UsageError": "rankscope._errors",
    "Validation": "rankscope._answers",
    "WhatIf": "rankscope._answers",
    "align": "rankscope._analysis",
    "clock_sync": "rankscope._rendezvous",
    "compare": "rankscope._analysis",
    "counter": "rankscope._native",
    "flow": "rankscope._recording.flow",
    "instant": "rankscope._native",
    "phase": "rankscope._native",
    "profile": "rankscope._recording.profile",
    "record_function": "rankscope._native",
    "report": "rankscope._analysis",
    "schedule": "rankscope._recording.schedule",
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
