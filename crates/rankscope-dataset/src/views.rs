//! Views over a dataset, in the words of each engine: the tables by their names, and what is asked most.
//!
//! What is asked most is plain SQL that both engines take; only how files are named differs. Paths are relative, so that a dataset can
//! be moved: DuckDB looks for them in the current folder, or in the one that `file_search_path` names.

use std::fmt::Write as _;

use crate::schema::Table;

/// An engine's way of naming files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// DuckDB.
    DuckDb,
    /// Spark.
    Spark,
}

/// How events lie in a dataset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layouts {
    /// In a file for each rank, whose number is in its path.
    pub by_rank: bool,
    /// In files that several ranks share, with a column for it.
    pub shared: bool,
}

impl Layouts {
    const fn has_events(self) -> bool {
        self.by_rank || self.shared
    }
}

impl Dialect {
    /// The file that its views are in.
    pub const fn file(self) -> &'static str {
        match self {
            Self::DuckDb => "views.sql",
            Self::Spark => "views-spark.sql",
        }
    }

    const fn create(self) -> &'static str {
        match self {
            Self::DuckDb => "CREATE OR REPLACE VIEW",
            Self::Spark => "CREATE OR REPLACE TEMPORARY VIEW",
        }
    }
}

/// The views over a dataset whose events lie as `layouts` says, as statements that end with semicolons.
pub fn views(dialect: Dialect, layouts: Layouts) -> String {
    let mut sql = String::from(match dialect {
        Dialect::DuckDb => {
            "-- For DuckDB. Read it in the folder of the dataset, or SET file_search_path to that folder first.\n"
        }
        Dialect::Spark => "-- For Spark. Paths are from the current folder on.\n",
    });
    let has_events = layouts.has_events();
    for table in Table::ALL.into_iter().filter(|table| *table != Table::Events || has_events) {
        let create = dialect.create();
        // A String takes any write.
        let _ = match dialect {
            Dialect::DuckDb => writeln!(sql, "{create} {} AS\n  {};", table.name(), duckdb(table, layouts)),
            Dialect::Spark => writeln!(sql, "{create} {0} USING parquet OPTIONS (path '{0}');", table.name()),
        };
    }
    for (name, query) in asked(layouts) {
        let _ = writeln!(sql, "{} {name} AS\n{query};", dialect.create());
    }
    sql
}

/// What is asked most, as names of views and their queries, in SQL that every engine takes, over tables whose events lie as `layouts` says.
pub fn asked(layouts: Layouts) -> impl Iterator<Item = (&'static str, &'static str)> {
    ASKED.iter().copied().filter(move |(_, query)| layouts.has_events() || !query.contains("FROM events"))
}

/// The files of `table` as DuckDB reads them.
fn duckdb(table: Table, layouts: Layouts) -> String {
    let read = |glob: &str, types: &str| {
        let folder = table.name();
        format!("SELECT * FROM read_parquet('{folder}/{glob}', hive_partitioning = true, hive_types = {{{types}}})")
    };
    let by_rank = || read("run=*/rank=*/*.parquet", "'run': VARCHAR, 'rank': INTEGER");
    let shared = || read("run=*/*.parquet", "'run': VARCHAR");
    match (table, layouts) {
        (Table::Events, Layouts { by_rank: true, shared: true }) => format!("{}\n  UNION ALL BY NAME {}", by_rank(), shared()),
        (Table::Events, Layouts { by_rank: true, .. }) => by_rank(),
        (Table::Collectives, _) => read("run=*/group_hash=*/*.parquet", "'run': VARCHAR, 'group_hash': VARCHAR"),
        _ => shared(),
    }
}

/// What is asked most, by the name of its view.
const ASKED: &[(&str, &str)] = &[
    (
        "class_sums",
        "  SELECT run, rank, class, count(*) AS events, CAST(sum(dur_ns) AS BIGINT) AS dur_ns
  FROM events WHERE class IS NOT NULL GROUP BY run, rank, class",
    ),
    (
        // Each row adds what lies behind the latest end of all that started before it.
        "class_unions",
        "  SELECT run, rank, work, CAST(sum(greatest(end_ns - greatest(start_ns, coalesce(covered_ns, start_ns)), 0)) AS BIGINT) AS union_ns
  FROM (
    SELECT run, rank, work, start_ns, end_ns,
      max(end_ns) OVER (PARTITION BY run, rank, work ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
    FROM (
      SELECT run, rank, ts_local_ns AS start_ns, ts_local_ns + dur_ns AS end_ns,
        CASE WHEN class IN ('memcpy', 'memset') THEN 'memory' ELSE class END AS work
      FROM events WHERE class IS NOT NULL
    ) AS work_of_ranks
  ) AS covered
  GROUP BY run, rank, work",
    ),
    (
        "lateness",
        "  SELECT run, rank, count(*) AS collectives, sum(CASE WHEN lead_ns > 0 THEN 1 ELSE 0 END) AS last,
    CAST(sum(lead_ns) AS BIGINT) AS lead_ns, CAST(sum(wait_ns) AS BIGINT) AS wait_ns
  FROM collectives WHERE complete AND kind NOT IN ('send', 'recv', 'send_recv') GROUP BY run, rank",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_view_for_each_table_that_is_there() {
        for dialect in [Dialect::DuckDb, Dialect::Spark] {
            for (layouts, has_events) in [
                (Layouts::default(), false),
                (Layouts { by_rank: true, shared: false }, true),
                (Layouts { by_rank: true, shared: true }, true),
            ] {
                let sql = views(dialect, layouts);
                assert_eq!(sql.contains("VIEW events "), has_events, "{sql}");
                assert_eq!(sql.contains("FROM events"), has_events, "{sql}");
                assert!(Table::ALL[1..].iter().all(|table| sql.contains(&format!("VIEW {} ", table.name()))), "{sql}");
            }
        }
    }
}
