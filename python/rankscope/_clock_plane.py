"""The library that puts the host's clocks into every trace of jax.profiler, found and handed to jaxlib.

This file stands alone: the job of `rankscope run` loads it without the rest of the package.
"""

from __future__ import annotations

import ctypes
import os
import shutil
from importlib import import_module
from typing import Any

NAME = "librankscope_pjrt.so"
_VARIABLE = "RANKSCOPE_PJRT_LIBRARY"
# Where JAX is told of plugins: name:path,... A library that is among them JAX registers by itself, profiler and all.
_PLUGINS = "PJRT_NAMES_AND_LIBRARY_PATHS"

# jaxlib holds on to the table for as long as the process lives, and so do we.
_installed: list[tuple[str, Any]] = []


def install(library: str | None = None) -> str:
    """Registers the library with jaxlib, once. Returns its path."""
    if _installed:
        return _installed[0][0]
    path = find(library)
    if _is_plugin(path):
        _installed.append((path, None))
        return path
    try:
        profiler: Any = import_module("jaxlib._profiler")
    except ImportError as error:
        raise ImportError("jaxlib is not there, or has no profiler: pip install jax (%s)" % (error,)) from error
    register = getattr(profiler, "register_plugin_profiler", None)
    if register is None:
        raise RuntimeError("this jaxlib takes no profilers of others: jax 0.10 does")
    loaded = ctypes.CDLL(path)
    try:
        table = loaded.GetPjrtApi
    except AttributeError:
        raise OSError("%s has no GetPjrtApi: it is no library of PJRT" % (path,)) from None
    table.restype = ctypes.c_void_p
    capsule: Any = ctypes.pythonapi.PyCapsule_New
    capsule.restype = ctypes.py_object
    capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    register(capsule(table(), b"pjrt_c_api", None))
    _installed.append((path, loaded))
    return path


def _is_plugin(path: str) -> bool:
    """Whether JAX has the library as a plugin: registered once more, each trace would have the plane twice."""
    plugins = os.environ.get(_PLUGINS, "").split(",")
    return any(os.path.realpath(plugin.partition(":")[2]) == os.path.realpath(path) for plugin in plugins if ":" in plugin)


def find(library: str | None = None) -> str:
    """Where the library is: there, or where the variable says, or beside `rankscope` or this package."""
    told = library or os.environ.get(_VARIABLE)
    if told:
        if not os.path.isfile(told):
            raise FileNotFoundError("%s is not there" % (told,))
        return told
    folders = [os.path.dirname(os.path.abspath(__file__))]
    program = shutil.which("rankscope")
    if program:
        beside = os.path.dirname(os.path.realpath(program))
        folders += [beside, os.path.join(beside, os.pardir, "lib")]
    for folder in folders:
        path = os.path.join(folder, NAME)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(
        "%s is not there: cargo build --release -p rankscope-pjrt builds it; copy it beside the program rankscope, "
        "or name it in %s" % (NAME, _VARIABLE)
    )
