"""A dataset, by the programs that people read it with, held against report.json: readers.py READER DATASET REPORT."""

import collections
import json
import os
import subprocess
import sys


def rows(folder):
    """What answers SQL with rows: `rankscope query` where RANKSCOPE names the program, else DuckDB."""
    return query_rows(os.environ["RANKSCOPE"], folder) if "RANKSCOPE" in os.environ else duckdb_rows(folder)


def query_rows(program, folder):
    def ask(sql):
        done = subprocess.run([program, "query", folder, sql, "--format", "json"], capture_output=True, text=True)
        assert done.returncode == 0, (sql, done.stderr)
        return [tuple(row.values()) for row in json.loads(done.stdout)]

    return ask


def duckdb_rows(folder):
    import duckdb

    os.chdir(folder)
    duckdb.sql(open("views.sql").read())
    return lambda sql: duckdb.sql(sql).fetchall()


def arrow_sums(table):
    groups = table.group_by(["rank", "name", "class"]).aggregate([("dur_ns", "sum"), ("dur_ns", "count")]).to_pylist()
    return {(row["rank"], row["name"], row["class"]): (row["dur_ns_sum"], row["dur_ns_count"]) for row in groups if row["class"]}


def pyarrow_sums(folder):
    import pyarrow.dataset as ds

    events = ds.dataset(f"{folder}/events", partitioning="hive")
    return arrow_sums(events.to_table(columns=["rank", "name", "class", "dur_ns"]))


def polars_sums(folder):
    import polars as pl

    events = pl.scan_parquet(f"{folder}/events/**/*.parquet", hive_partitioning=True).filter(pl.col("class").is_not_null())
    sums = events.group_by("rank", "name", "class").agg(pl.col("dur_ns").sum(), pl.len().alias("count")).collect()
    return {(row["rank"], row["name"], row["class"]): (row["dur_ns"], row["count"]) for row in sums.to_dicts()}


def pandas_sums(folder):
    import pandas as pd

    events = pd.read_parquet(f"{folder}/events", columns=["rank", "name", "class", "dur_ns"])
    sums = events.dropna(subset=["class"]).groupby(["rank", "name", "class"], observed=True).dur_ns.agg(["sum", "count"])
    return {(int(at[0]), at[1], at[2]): (int(row["sum"]), int(row["count"])) for at, row in sums.iterrows()}


def sql_sums(folder):
    sums = rows(folder)("SELECT rank, name, class, sum(dur_ns), count(*) FROM events WHERE class IS NOT NULL GROUP BY ALL")
    return {(rank, name, work): (ns, count) for rank, name, work, ns, count in sums}


def check_sums(sums, report):
    """Every kernel that the report lists, to the nanosecond, and sums by class where it lists all."""
    for rank in report["ranks"]:
        own = {at[1:]: value for at, value in sums.items() if at[0] == rank["rank"]}
        listed = {(kernel["name"], kernel["class"]): (kernel["total_ns"], kernel["count"]) for kernel in rank["kernels"]}
        assert listed and all(own[name] == value for name, value in listed.items()), (rank["rank"], own, listed)
        if len(listed) < 20:
            assert own == listed, (rank["rank"], own, listed)
    return len(sums)


def check_views(folder, report):
    """The account of time, steps and collectives."""
    ask = rows(folder)
    unions = {(rank, work): ns for rank, work, ns in ask("SELECT rank, work, union_ns FROM class_unions")}
    for rank in report["ranks"]:
        number, time = rank["rank"], rank["time_ns"]
        if len(sys.argv) > 4:
            account = [time["computation"], time["total_comm"], time["total_memcpy"]]
            assert account == [unions.get((number, work), 0) for work in ("compute", "communication", "memory")], (number, time, unions)
        figures = "computation_ns, exposed_comm_ns, exposed_memcpy_ns, busy_ns, idle_ns, total_ns, total_comm_ns, total_memcpy_ns"
        assert ask(f"SELECT {figures}, start_ns, end_ns FROM ranks WHERE rank = {number}") == [(*time.values(), *rank["window_ns"])]
        steps = [(step["step"], *step["time_ns"].values(), *step["window_ns"]) for step in rank["steps"]]
        assert ask(f"SELECT step, {figures}, start_ns, end_ns FROM steps WHERE rank = {number} ORDER BY start_ns, step") == steps
    check_kernels(ask)
    check_collectives(ask, report["collectives"])
    check_clock(ask, report["clock"])
    return len(unions)


def check_kernels(ask):
    by_events = ask("SELECT rank, name, class, count(*), sum(dur_ns) FROM events WHERE class IS NOT NULL GROUP BY ALL ORDER BY 1, 2, 3")
    assert by_events == ask("SELECT rank, name, class, count, dur_ns FROM kernels ORDER BY 1, 2, 3")
    assert ask("SELECT sum(dur_ns) FROM class_sums") == ask("SELECT sum(dur_ns) FROM kernels")


def check_collectives(ask, known):
    assert ask("SELECT count(DISTINCT collective) FROM collectives WHERE complete")[0][0] == known["matched"]
    assert ask("SELECT count(DISTINCT collective) FROM collectives WHERE NOT complete")[0][0] == known["unmatched"]
    # Instances of the report, by when they began: who came when, and how long each waited.
    rows = ask("SELECT collective, rank, min(ts_ns) OVER (PARTITION BY collective), wait_ns, transfer_ns FROM collectives WHERE complete")
    ours = collections.defaultdict(list)
    for collective, rank, first_ns, wait_ns, transfer_ns in rows:
        ours[collective].append((first_ns, transfer_ns, rank, wait_ns))
    theirs = [
        sorted((one["start_ns"], one["transfer_ns"], rank, wait_ns) for rank, wait_ns in zip(one["arrival_order"], one["wait_ns"]))
        for one in known["instances"]
    ]
    # Of large ones the report lists only some ranks.
    if all("members" not in one for one in known["instances"]):
        assert sorted(map(sorted, ours.values())) == sorted(theirs)
    last = {int(rank): count for rank, count in known["last_arrivals"].items()}
    # Of two that came at the same time the report names one, and the view neither.
    assert all(count <= last[rank] for rank, count in ask("SELECT rank, last FROM lateness WHERE last > 0")), last
    # Each event that is a part in a collective is that row of the other table.
    joined = "SELECT count(*) FROM events e JOIN collectives c USING (run, rank, collective)"
    entered = " WHERE e.ts_local_ns = c.ts_local_ns OR c.kind IN ('send', 'recv', 'send_recv')"
    assert ask(joined) == ask(joined + entered) == ask("SELECT count(*) FROM collectives")


def check_clock(ask, clock):
    rows = [(own["rank"], own["method"], own["offset_ns"], own["drift_ppb"], own["lo_ns"], own["hi_ns"]) for own in clock["offsets"]]
    assert ask("SELECT rank, method, offset_ns, drift_ppb, offset_min_ns, offset_max_ns FROM clock ORDER BY rank") == rows
    # Stamps moved by what the table says, at the moment that it says it of.
    moved = ask(
        "SELECT max(abs(e.ts_local_ns - e.ts_ns - c.offset_ns - (e.ts_local_ns - c.at_ns) * c.drift_ppb / 1e9)) "
        "FROM events e JOIN clock c USING (run, rank)"
    )
    assert clock["method"] == "measured" or moved[0][0] is None or moved[0][0] <= 5, moved


def check_page(folder, statements):
    """Every statement of a page, one after the other."""
    ask = rows(folder)
    for statement in statements:
        assert ask(statement) is not None, statement
    assert ask("SELECT DISTINCT run FROM events ORDER BY run") == [("base",), ("test",)]
    return len(statements)


SUMS = {"pyarrow": pyarrow_sums, "polars": polars_sums, "pandas": pandas_sums}


def main():
    reader, folder, path = sys.argv[1:4]
    if reader == "page":
        checked = check_page(folder, json.load(open(path)))
    elif reader == "views":
        checked = check_views(folder, json.load(open(path)))
    else:
        report = json.load(open(path))
        sums = SUMS.get(reader, sql_sums)
        checked = check_sums(sums(folder), report)
    print("checked", checked)


main()
