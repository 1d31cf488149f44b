"""Arrays in and out: what was given decides what is returned.

Our own `Array` is what comes out where nothing says otherwise. numpy.asarray takes it without a copy, and so does torch.from_dlpack.
"""

from __future__ import annotations

import importlib
from typing import Any, Literal, TypeAlias

from rankscope._native import dispatch as _native
from rankscope.dispatch._errors import CaseError

Array = _native.Array

# A tensor of torch, an array of numpy, or an `Array`. No type is shared by all of them, and neither library need be installed.
AnyArray: TypeAlias = Any
Like: TypeAlias = Literal["torch", "numpy"] | None


def kind_of(*given: object) -> Like:
    """The library of the first of these that is an array of one."""
    for value in given:
        root = type(value).__module__.partition(".")[0]
        if root == "torch":
            return "torch"
        if root == "numpy":
            return "numpy"
    return None


def converted(array: Array, like: Like) -> AnyArray:
    """The array in the memory where it is, as an array of that library."""
    if like == "torch":
        return importlib.import_module("torch").from_dlpack(array)
    if like == "numpy":
        return importlib.import_module("numpy").asarray(array)
    if like is None:
        return array
    raise CaseError(f"like={like!r}: arrays of 'torch' and 'numpy' can be had, or, with None, those of this package")


def converted_all(values: dict[str, Any], like: Like) -> dict[str, Any]:
    """The same of all arrays among the values, also of those in lists."""

    def one(value: Any) -> Any:
        if isinstance(value, Array):
            return converted(value, like)
        if isinstance(value, list) and value and isinstance(value[0], Array):
            return [converted(part, like) for part in value]
        return value

    return {name: one(value) for name, value in values.items()}


def plain(value: Any) -> Any:
    """The same as lists and numbers, for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value


def _unpickled(dtype: str, shape: list[int], values: bytes) -> Array:
    # Pickles name this function, and what is native has no name that they could.
    return _native.unpickled_array(dtype, shape, values)
