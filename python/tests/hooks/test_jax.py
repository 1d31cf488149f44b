"""Traces of JAX, with the real one."""

import pytest

import rankscope.jax


def test_each_process_has_a_trace_of_its_own(tmp_path, monkeypatch):
    jax = pytest.importorskip("jax", reason="jax is not installed")
    monkeypatch.setenv("RANK", "2")
    double = jax.jit(lambda x: x + x)
    for _ in range(2):
        with rankscope.jax.trace(tmp_path):
            double(jax.numpy.ones(8)).block_until_ready()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".older", "rank00002.xplane.pb"]
    assert [path.name for path in (tmp_path / ".older").iterdir()] == ["rank00002.0.xplane.pb"]
    planes = {plane.name for plane in jax.profiler.ProfileData.from_file(str(tmp_path / "rank00002.xplane.pb")).planes}
    assert "/host:CPU" in planes


def test_what_fails_inside_is_still_the_scripts(tmp_path):
    pytest.importorskip("jax", reason="jax is not installed")
    with pytest.raises(ZeroDivisionError), rankscope.jax.trace(tmp_path):
        1 / 0
    assert [path.name for path in tmp_path.iterdir()] == ["rank00000.xplane.pb"]
