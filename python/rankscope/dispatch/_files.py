"""Files of arrays, written here because that takes a page: .npz for numpy, .safetensors for everybody."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from secrets import token_hex

from rankscope.dispatch._arrays import Array
from rankscope.dispatch._errors import DispatchError

# numpy's code of a type, and that of safetensors.
_CODES = {"int64": ("<i8", "I64"), "int32": ("<i4", "I32"), "uint64": ("<u8", "U64"), "uint32": ("<u4", "U32")}


def written(path: str | os.PathLike[str], data: bytes) -> Path:
    """Writes a file whole or not at all."""
    path = Path(path)
    beside = path.with_name(f".{path.name}.{token_hex(4)}")
    try:
        with open(beside, "xb") as file:
            file.write(data)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    return path


def save_arrays(path: str | os.PathLike[str], arrays: Mapping[str, Array], notes: Mapping[str, str]) -> Path:
    """Writes arrays under their names; the suffix says how. Notes are texts that .safetensors keeps, too."""
    suffix = Path(path).suffix
    if suffix == ".npz":
        return written(path, npz(arrays.items()))
    if suffix == ".safetensors":
        return written(path, safetensors(arrays, notes))
    raise DispatchError(f"{path}: arrays are written as .npz or .safetensors")


def npz(arrays: Iterable[tuple[str, Array]]) -> bytes:
    """A zip of .npy files, each with a header that numpy evaluates and the values."""
    whole = BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays:
            head = f"{{'descr': '{_CODES[array.dtype][0]}', 'fortran_order': False, 'shape': {array.shape}, }}"
            # Values begin at a multiple of 64 bytes; the magic and the length before the header take 10.
            head += " " * (-(len(head) + 11) % 64) + "\n"
            data = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + array.tobytes()
            # The time of day would make two files of the same plan differ.
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), data)
    return whole.getvalue()


def safetensors(arrays: Mapping[str, Array], notes: Mapping[str, str]) -> bytes:
    """The length of a header, the header, which is JSON, and the values of all arrays."""
    header: dict[str, object] = {"__metadata__": dict(notes)}
    values = bytearray()
    for name, array in arrays.items():
        start = len(values)
        values += array.tobytes()
        place = {"dtype": _CODES[array.dtype][1], "shape": list(array.shape), "data_offsets": [start, len(values)]}
        header[name] = place
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + bytes(values)
