"""A report is the command's: its document, its files and its errors."""

import gzip
from pathlib import Path

import pytest
import rankscope


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        ({"tables": "all"}, ["--tables", "all"]),
        ({"tables": ["annotations", "straggler_summary"]}, ["--tables", "annotations,straggler_summary"]),
        ({"rank": 1, "no_answers": True}, ["--rank", "1", "--no-answers"]),
        ({"as_recorded": True}, ["--as-recorded"]),
        ({"from_traces": True, "ranks_per_node": 2}, ["--from-traces", "--ranks-per-node", "2"]),
        ({"classes": "tracelens", "gpu_only": True}, ["--classes", "tracelens", "--gpu-only"]),
        ({"comm_pattern": ["allreduce"], "window": "last"}, ["--comm-pattern", "allreduce", "--window", "last"]),
    ],
)
def test_the_document_is_what_the_command_prints(traces, answered, options, words):
    assert rankscope.report(traces, **options).to_dict() == answered("report", traces, *words)


def test_paths_may_be_several_and_of_any_kind(traces, answered):
    files = sorted(Path(traces).glob("*.gz"))
    expected = answered("report", *files)
    assert rankscope.report(files).to_dict() == expected
    assert rankscope.report(str(file) for file in files).to_dict() == expected


def test_keys_are_attributes(traces):
    report = rankscope.report(traces)
    document = report.to_dict()
    assert report.title == traces
    assert [rank["rank"] for rank in document["ranks"]] == report.ranks.to_dict()["rank"] == [0, 1, 2, 3]
    assert report.clock.method == document["clock"]["method"]
    assert [note.text for note in report.notes] == [note["text"] for note in document["notes"]]
    assert set(report.findings) == {note["text"] for note in document["notes"] if note["level"] == "finding"}
    with pytest.raises(AttributeError, match="Report has no attribute 'clok'"):
        report.clok
    assert "clock" in dir(report)


def test_a_report_is_shown_as_the_command_shows_it(traces, command, tmp_path):
    report = rankscope.report(traces)
    said = command("report", traces, "--no-timeline", "--out", tmp_path).stdout
    assert said.strip() == str(report).strip()
    assert repr(report).startswith(f"<rankscope.Report {traces!r}: ")
    assert "<pre>" in report._repr_html_()


def test_out_gets_the_files_of_the_command(traces, command, tmp_path):
    rankscope.report(traces, out=tmp_path / "here")
    command("report", traces, "--out", tmp_path / "there")
    names = sorted(file.name for file in (tmp_path / "there").iterdir())
    assert names == ["report.html", "report.json", "timeline.pftrace"]
    for name in names:
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes(), name


def test_a_report_is_saved_as_its_suffix_says(traces, command, tmp_path):
    report = rankscope.report(traces)
    command("report", traces, "--out", tmp_path)
    for suffix, twin in [("json", "report.json"), ("html", "report.html"), ("pftrace", "timeline.pftrace")]:
        report.save(tmp_path / f"saved.{suffix}")
        assert (tmp_path / f"saved.{suffix}").read_bytes() == (tmp_path / twin).read_bytes()
    report.save(tmp_path / "saved.txt")
    assert (tmp_path / "saved.txt").read_text().strip() == str(report).strip()
    report.save(tmp_path / "saved.xlsx")
    assert (tmp_path / "saved.xlsx").read_bytes().startswith(b"PK")
    with pytest.raises(rankscope.UsageError, match=r"saved\.doc: this cannot be saved as such a file"):
        report.save(tmp_path / "saved.doc")
    with pytest.raises(rankscope.Error, match="saved.json"):
        report.save(tmp_path / "saved.json" / "inside.json")


def test_workbooks_are_written_where_they_are_asked_for(traces, tmp_path):
    report = rankscope.report(traces, xlsx=tmp_path / "all.xlsx", out=tmp_path, layout="aorta", no_timeline=True)
    assert (tmp_path / "all.xlsx").stat().st_size > 0
    assert list((tmp_path / "tracelens_analysis").rglob("*.xlsx"))
    assert "ops_summary" not in report.tables, "tables of the workbook are not asked for in the document"


def test_errors_have_the_text_of_the_command(traces, refused, tmp_path):
    truncated = tmp_path / "rank0.json"
    truncated.write_bytes(gzip.decompress((Path(traces) / "rank0.json.gz").read_bytes())[:100])
    no_cards = tmp_path / "cards.toml"
    no_cards.write_text("[")
    cases = [
        (rankscope.InputError, [tmp_path / "nowhere"], {}, []),
        (rankscope.InputError, [truncated], {}, []),
        (rankscope.InputError, [traces], {"rank": 9}, ["--rank", 9]),
        (rankscope.InputError, [traces], {"step": 99999}, ["--step", 99999]),
        (rankscope.InputError, [traces], {"clocks": tmp_path / "nowhere"}, ["--clocks", tmp_path / "nowhere"]),
        (rankscope.InputError, [traces], {"tables": "all", "cards": no_cards}, ["--tables", "all", "--cards", no_cards]),
        (rankscope.UsageError, [traces], {"comm_pattern": "["}, ["--comm-pattern", "["]),
    ]
    for kind, paths, options, words in cases:
        text, code = refused("report", *paths, *words)
        with pytest.raises(kind) as found:
            rankscope.report(paths, **options)
        assert str(found.value) == text
        assert type(found.value) is kind
        assert code == (2 if kind is rankscope.UsageError else 1)


def test_what_makes_no_sense_is_said_before_anything_is_read():
    wrong = [
        {"tables": ["opps"]},
        {"tables": "all", "step": 1},
        {"classes": "none"},
        {"window": 0},
        {"rank": -1},
        {"ranks_per_node": 0},
        {"from_traces": True, "as_recorded": True},
        {"memory": "much"},
        {"layout": "other"},
        {"slim": True, "no_timeline": True, "out": "never"},
    ]
    for options in wrong:
        with pytest.raises(rankscope.UsageError):
            rankscope.report("/nowhere", **options)
    assert issubclass(rankscope.UsageError, ValueError)


def test_wrong_types_are_type_errors(traces):
    for paths in (None, 3, [None], object()):
        with pytest.raises(TypeError):
            rankscope.report(paths)
    with pytest.raises(TypeError):
        rankscope.report(traces, rank="one")
    with pytest.raises(TypeError, match="nonsense"):
        rankscope.report(traces, nonsense=1)
