"""Tables are Arrow's: readers take the memory as it is, and nanoseconds stay integers."""

import json

import pytest
import rankscope


@pytest.fixture(scope="module")
def report(traces):
    return rankscope.report(traces, tables="all")


def test_every_list_of_the_document_is_a_table(report):
    document = report.to_dict()
    tables = report.tables
    assert len(tables["ranks"]) == len(document["ranks"])
    assert len(tables["ranks.steps"]) == sum(len(rank["steps"]) for rank in document["ranks"])
    assert len(tables["collectives.groups"]) == len(document["collectives"]["groups"])
    assert len(tables["clock.offsets"]) == len(document["clock"]["offsets"])
    assert len(tables["annotations"]) == sum(len(rank["tables"]["annotations"]) for rank in document["ranks"])
    assert len(tables["critical_path.top"]) == sum(len(path["top"]) for path in document["critical_path"])
    assert set(tables["critical_path.top"].to_dict()["step"]) == {path["step"] for path in document["critical_path"]}
    for name, rows in document["collective_tables"].items():
        if isinstance(rows, list):
            assert len(tables[name]) == len(rows)
    assert len(set(tables)) == len(tables)


def test_cells_are_those_of_the_document(report):
    document = report.to_dict()
    steps = report.steps.to_dict()
    expected = [(rank["rank"], step) for rank in document["ranks"] for step in rank["steps"]]
    assert steps["rank"] == [rank for rank, _ in expected]
    assert steps["step"] == [step["step"] for _, step in expected]
    assert steps["window_ns"] == [step["window_ns"] for _, step in expected]
    for part in ("computation", "idle", "total"):
        assert steps[f"time_ns.{part}"] == [step["time_ns"][part] for _, step in expected]
    annotations = report.tables["annotations"].to_dict()
    rows = [row for rank in document["ranks"] for row in rank["tables"]["annotations"]]
    assert rows
    for key in rows[0]:
        assert annotations[key] == [row.get(key) for row in rows], key


def test_a_table_that_is_not_there_is_named_with_those_that_are(report):
    with pytest.raises(KeyError, match="there is no table 'opps' here.* annotations"):
        report.tables["opps"]
    plain = rankscope.report(report.title)
    with pytest.raises(KeyError, match=r"It is made on request: tables=\[\.\.\.\]"):
        plain.tables["annotations"]


def test_markup_in_a_trace_is_text_in_a_notebook(report, tmp_path):
    trace = tmp_path / "rank0.json"
    event = {"ph": "X", "cat": "cpu_op", "name": "<script>x</script>", "pid": 1, "tid": 1, "ts": 1.0, "dur": 2.0}
    trace.write_text(json.dumps({"traceEvents": [event, {**event, "ts": 5.0}]}))
    odd = rankscope.report(trace)
    shown = odd.tables["ranks.kernels"]._repr_html_() + odd._repr_html_()
    assert "&lt;script&gt;" in shown and "<script>" not in shown
    assert "ranks.steps" in report._repr_html_()


def test_pyarrow_takes_every_table_without_copying(report):
    pyarrow = pytest.importorskip("pyarrow")
    for name, table in report.tables.items():
        taken = pyarrow.table(table)
        taken.validate(full=True)
        assert taken.to_pydict() == {column: cells for column, cells in table.to_dict().items()}, name
        assert taken.schema == pyarrow.schema(table)
        again = pyarrow.table(table)
        # Who copies has another copy the next time.
        assert [addresses(column) for column in taken.columns] == [addresses(column) for column in again.columns], name
    times = pyarrow.table(report.steps)["time_ns.total"]
    assert times.type == pyarrow.int64()
    # What was taken outlives what it was taken from.
    taken, expected = pyarrow.table(rankscope.report(report.title).steps), report.steps.to_dict()
    assert taken.to_pydict() == expected


def test_polars_takes_the_same_memory(report):
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    taken = polars.DataFrame(report.steps)
    assert taken["time_ns.total"].dtype == polars.Int64
    assert taken["time_ns.total"].to_list() == report.steps.to_dict()["time_ns.total"]
    held = report.steps
    series = polars.DataFrame(held)["time_ns.total"]
    assert addresses(pyarrow.chunked_array(series))[0][1] == addresses(pyarrow.table(held)["time_ns.total"])[0][1]


def test_duckdb_reads_a_table_by_the_name_of_its_variable(report):
    duckdb = pytest.importorskip("duckdb")
    steps = report.steps
    ((total,),) = duckdb.sql('select sum("time_ns.total")::bigint from steps').fetchall()
    assert total == sum(steps.to_dict()["time_ns.total"])


def test_pandas_keeps_nanoseconds_whole(report):
    pandas = pytest.importorskip("pandas")
    frame = report.steps.to_pandas()
    assert list(frame.columns) == report.steps.column_names
    assert frame["time_ns.total"].dtype == "int64"
    assert frame["time_ns.total"].tolist() == report.steps.to_dict()["time_ns.total"]
    for name, table in report.tables.items():
        frame, cells = table.to_pandas(), table.to_dict()
        assert len(frame) == len(table)
        for column, values in cells.items():
            if values and all(value is None or type(value) is int for value in values):
                found = [None if value is pandas.NA else value for value in frame[column].astype(object)]
                assert found == values or all(value is None for value in values), (name, column)


def addresses(column):
    """Where the buffers of a column lie."""
    return [tuple(buffer and buffer.address for buffer in chunk.buffers()) for chunk in column.chunks]
