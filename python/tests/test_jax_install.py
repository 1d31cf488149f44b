"""What `rankscope.jax.install` says where something is missing. That JAX's traces have the plane is tested with JAX, in rankscope-pjrt."""

import ctypes.util
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import rankscope.jax
from rankscope import _clock_plane


@pytest.fixture(autouse=True)
def nothing_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RANKSCOPE_PJRT_LIBRARY", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_clock_plane, "_installed", [])


def jaxlib(monkeypatch: pytest.MonkeyPatch, **functions: Any) -> None:
    profiler = types.ModuleType("jaxlib._profiler")
    profiler.__dict__.update(functions)
    monkeypatch.setitem(sys.modules, "jaxlib", types.ModuleType("jaxlib"))
    monkeypatch.setitem(sys.modules, "jaxlib._profiler", profiler)


def test_a_library_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="cargo build --release -p rankscope-pjrt"):
        rankscope.jax.install()
    with pytest.raises(FileNotFoundError, match="mine.so is not there"):
        rankscope.jax.install(tmp_path / "mine.so")
    monkeypatch.setenv("RANKSCOPE_PJRT_LIBRARY", str(tmp_path / "theirs.so"))
    with pytest.raises(FileNotFoundError, match="theirs.so is not there"):
        rankscope.jax.install()


def test_it_is_found_beside_the_program_and_among_its_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("bin", "lib"):
        (tmp_path / folder).mkdir()
    program = tmp_path / "bin" / "rankscope"
    program.write_text("#!/bin/sh")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    library = tmp_path / "lib" / "librankscope_pjrt.so"
    library.touch()
    assert Path(_clock_plane.find()).resolve() == library.resolve()
    (tmp_path / "bin" / library.name).touch()
    assert Path(_clock_plane.find()).resolve() == (tmp_path / "bin" / library.name).resolve()


def test_a_jaxlib_that_is_not_there_or_takes_no_profilers_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library = tmp_path / "any.so"
    library.touch()
    monkeypatch.setitem(sys.modules, "jaxlib", None)
    monkeypatch.setitem(sys.modules, "jaxlib._profiler", None)
    with pytest.raises(ImportError, match="pip install jax"):
        rankscope.jax.install(library)
    jaxlib(monkeypatch)
    with pytest.raises(RuntimeError, match="takes no profilers"):
        rankscope.jax.install(library)


def test_another_library_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[Any] = []
    jaxlib(monkeypatch, register_plugin_profiler=given.append)
    other = tmp_path / "other.so"
    other.touch()
    with pytest.raises(OSError):
        rankscope.jax.install(other)
    math = ctypes.util.find_library("m")
    for path in Path("/").glob(f"usr/lib/*/{math}"):
        with pytest.raises(OSError, match="no library of PJRT"):
            rankscope.jax.install(path)
    assert not given


def test_what_jax_loads_as_a_plugin_is_not_registered_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[Any] = []
    jaxlib(monkeypatch, register_plugin_profiler=given.append)
    library = tmp_path / "librankscope_pjrt.so"
    library.touch()
    (tmp_path / "link.so").symlink_to(library)
    monkeypatch.setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "mine:/other.so,cuda:%s" % (tmp_path / "link.so",))
    assert rankscope.jax.install(library) == str(library)
    assert not given
    # Another one is no library at all, which is found out by loading it.
    monkeypatch.setattr(_clock_plane, "_installed", [])
    monkeypatch.setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "cuda,cuda:,mine:/other.so")
    with pytest.raises(OSError):
        rankscope.jax.install(library)
