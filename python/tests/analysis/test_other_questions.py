"""Comparisons, alignments, checks, replays and fits are the command's."""

from pathlib import Path

import pytest
import rankscope

POLICY = """
[[metric]]
name = "step_ns"
margin = 0.05
"""


def test_a_comparison_is_what_the_command_prints(traces, answered, tmp_path):
    (tmp_path / "base").symlink_to(traces)
    (tmp_path / "test").symlink_to(traces)
    sides = [tmp_path / "base", tmp_path / "test"]
    words = ["compare", *sides, "--run-spread", "0.003", "--margin", "0.02", "--convention", "aorta"]
    compared = rankscope.compare(*sides, run_spread=0.003, margin=0.02, convention="aorta")
    assert compared.to_dict() == answered(*words)
    assert "step_ns" in compared.metrics.to_dict()["name"]
    assert repr(compared).startswith("<rankscope.Comparison 'base / test'")
    for suffix in ("json", "html", "xlsx", "txt"):
        compared.save(tmp_path / f"saved.{suffix}")
        assert (tmp_path / f"saved.{suffix}").stat().st_size > 0
    with pytest.raises(rankscope.UsageError, match="cannot be saved"):
        compared.save(tmp_path / "saved.pftrace")


def test_a_gate_is_asked_by_its_policy(traces, answered, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    (tmp_path / "test").symlink_to(traces)
    compared = rankscope.compare(traces, tmp_path / "test", policy=policy, run_spread=0.003)
    expected = answered("compare", traces, tmp_path / "test", "--policy", policy, "--run-spread", "0.003")
    assert compared.to_dict() == expected
    assert compared.passed is expected["gate"]["passed"]
    with pytest.raises(rankscope.UsageError, match="there is no gate"):
        rankscope.compare(traces, tmp_path / "test").passed


def test_what_is_wrong_with_a_comparison_is_said_as_the_command_says_it(traces, refused, tmp_path):
    bad = tmp_path / "policy.toml"
    bad.write_text("[[metric]]\nnam = 'step_ns'\n")
    cases = [
        ([traces], {}, []),
        ([traces, traces], {"run_spread": -1.0}, ["--run-spread=-1"]),
        ([traces, traces], {"repeat": "/nowhere/x-*"}, ["--repeat", "/nowhere/x-*"]),
        ([traces, traces], {"policy": bad}, ["--policy", bad]),
        ([traces, tmp_path / "nowhere"], {}, []),
    ]
    for sides, options, words in cases:
        text, code = refused("compare", *sides, *words)
        with pytest.raises(rankscope.Error) as found:
            rankscope.compare(*sides, **options)
        assert str(found.value) == text
        assert isinstance(found.value, rankscope.UsageError) == (code == 2)


def test_an_alignment_is_what_the_command_prints(traces, answered, tmp_path):
    assert rankscope.align(traces).to_dict() == answered("align", traces)
    alone = rankscope.align(traces, from_traces=True, out=tmp_path)
    assert alone.to_dict() == answered("align", traces, "--from-traces")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["alignment.json", "timeline.pftrace"]
    assert len(alone.tables["ranks"]) == 4


def test_checks_are_what_the_command_prints(traces, answered):
    checked = rankscope.validate(traces)
    assert checked.to_dict() == answered("validate", traces)
    assert checked.ok == (checked.violations == 0)
    assert rankscope.validate(traces, align="from-traces").to_dict() == answered("validate", traces, "--align", "from-traces")
    with pytest.raises(rankscope.UsageError):
        rankscope.validate(traces, align="worst")


def test_a_replay_is_what_the_command_prints(traces, answered, command):
    words = ["what-if", traces, "--set", "rank:1=median"]
    if command(*words).returncode:
        with pytest.raises(rankscope.Error):
            rankscope.what_if(traces, "rank:1=median")
    else:
        replayed = rankscope.what_if(traces, ["rank:1=median"])
        assert replayed.to_dict() == answered(*words)
        assert replayed.saved_ns == replayed.to_dict()["saved_ns"]
    with pytest.raises(rankscope.UsageError):
        rankscope.what_if(traces, "rank=fast")


def log(path: Path, lines: int = 400) -> Path:
    """Exchanges of two clocks of which one is 5000 ns ahead."""
    rows = []
    for number in range(lines):
        for packet in range(2):
            at, delay = 1_000_000_000 + number * 20_000_000 + packet * 30_000, 10_000 + number % 7 * 100
            rows.append(f"{2 * number + packet}\t{at}\t{at + delay + 5_000}\t{at + delay + 6_000}\t{at + 2 * delay + 1_000}")
    path.write_text("\n".join([*rows, "damaged\tline", ""]))
    return path


def test_a_fit_is_what_the_command_prints(answered, refused, tmp_path):
    probes = log(tmp_path / "probes.tsv")
    fitted = rankscope.clock.fit(probes, window="2s", estimator="robust", skew_change_ppb=50)
    assert fitted.to_dict() == answered("clock", "fit", probes, "--window", "2s", "--estimator", "robust", "--skew-change-ppb", "50")
    assert rankscope.clock.fit(probes, window=2).to_dict() == answered("clock", "fit", probes, "--window", "2")
    assert len(fitted.problems) == 1
    offsets = [offset for offset in fitted.windows.to_dict()["offset_ns"] if offset is not None]
    assert offsets and all(abs(offset - 5_000) < 1_000 for offset in offsets)
    empty = tmp_path / "empty.tsv"
    empty.write_text("")
    text, _ = refused("clock", "fit", empty)
    with pytest.raises(rankscope.InputError) as found:
        rankscope.clock.fit(empty)
    assert str(found.value) == text
    for wrong in ({"window": "4h"}, {"estimator": "guess"}, {"skew_change_ppb": -1}):
        with pytest.raises(rankscope.UsageError):
            rankscope.clock.fit(probes, **wrong)
