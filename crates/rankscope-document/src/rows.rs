//! Tables as rows and columns, whatever their keys are, so that a new table needs no line in a view that shows any.
//!
//! A table is a list of objects, or one object. What it holds beside figures becomes:
//! - an object in a row: columns of their own, `KEY.INNER`;
//! - a list of objects in a table that is one object (the streams of `idle`): a table of its own, `TABLE_KEY`;
//! - any other list: a value.
//!
//! `params` stays one object in its column, because every row has other ones.

use crate::Value;

/// The key of what a row's model was given.
pub const PARAMS: &str = "params";

/// A table of one rank or of several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Its name: its key in the document.
    pub name: String,
    /// The keys of its rows, in the order in which they were first met.
    pub columns: Vec<String>,
    /// The rows: whose each is, and a value for each column.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The rank, where the table is of single ranks.
    pub rank: Option<u32>,
    /// A value for each column, null where the row has none.
    pub values: Vec<Value>,
}

impl Rows {
    /// The table called `name` as each of `tables` has it, and those inside it; none where nobody has it.
    pub fn of(name: &str, tables: impl IntoIterator<Item = (Option<u32>, Value)>) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for (rank, table) in tables {
            match table {
                Value::List(rows) => table_of(&mut found, name).extend(rank, rows),
                Value::Object(entries) => {
                    let (inner, own): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(_, value)| is_table(value));
                    table_of(&mut found, name).push(rank, own);
                    for (key, value) in inner {
                        let Value::List(rows) = value else { continue };
                        table_of(&mut found, &format!("{name}_{key}")).extend(rank, rows);
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Where the column of `key` is.
    pub fn column(&self, key: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == key)
    }

    fn extend(&mut self, rank: Option<u32>, rows: Vec<Value>) {
        for row in rows {
            match row {
                Value::Object(entries) => self.push(rank, entries),
                other => self.push(rank, vec![("value".to_owned(), other)]),
            }
        }
    }

    fn push(&mut self, rank: Option<u32>, entries: Vec<(String, Value)>) {
        let mut values = vec![Value::Null; self.columns.len()];
        // Rows of one type have the same keys in the same order, as a rule.
        for (expected, (key, value)) in flat(entries).into_iter().enumerate() {
            let at = if self.columns.get(expected) == Some(&key) { Some(expected) } else { self.column(&key) };
            match at {
                Some(at) => values[at] = value,
                None => {
                    self.columns.push(key);
                    self.rows.iter_mut().for_each(|row| row.values.push(Value::Null));
                    values.push(value);
                }
            }
        }
        self.rows.push(Row { rank, values });
    }
}

fn table_of<'a>(tables: &'a mut Vec<Rows>, name: &str) -> &'a mut Rows {
    let at = tables.iter().position(|table| table.name == name).unwrap_or_else(|| {
        tables.push(Rows { name: name.to_owned(), ..Rows::default() });
        tables.len() - 1
    });
    &mut tables[at]
}

/// Whether it is a list of objects; an empty list may be one.
fn is_table(value: &Value) -> bool {
    matches!(value, Value::List(items) if items.iter().all(|item| matches!(item, Value::Object(_))))
}

/// The entries, those of objects inside with both keys.
fn flat(entries: Vec<(String, Value)>) -> Vec<(String, Value)> {
    if entries.iter().all(|(key, value)| key == PARAMS || !matches!(value, Value::Object(_))) {
        return entries;
    }
    let mut all = Vec::new();
    for (key, value) in entries {
        match value {
            Value::Object(inner) if key != PARAMS => {
                all.extend(flat(inner).into_iter().map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            value => all.push((key, value)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{CategorySummary, IdleBreakdown, StreamIdle, Tables};

    fn tables(category: &str) -> Tables {
        let row = CategorySummary { category: category.to_owned(), count: 2, direct_kernel_ns: 7, kernel_sum_ns: 8 };
        let stream = StreamIdle { stream: "7".to_owned(), host_wait_ns: 4, kernel_wait_ns: 5, other_ns: 6 };
        Tables {
            ops_summary_by_category: Some(vec![row]),
            idle: Some(IdleBreakdown { host_wait_ns: 1, kernel_wait_ns: 2, other_ns: 3, streams: vec![stream] }),
            ..Tables::default()
        }
    }

    #[test]
    fn keys_keep_their_order_and_ranks_follow_each_other() {
        let (one, two) = (tables("GEMM"), tables("other"));
        let found = Rows::of(
            "ops_summary_by_category",
            [(Some(0), &one), (Some(3), &two)].map(|(rank, of)| (rank, Value::under("ops_summary_by_category", of))),
        );
        assert_eq!(found[0].columns, ["category", "count", "direct_kernel_ns", "kernel_sum_ns"]);
        let names: Vec<_> = found[0].rows.iter().map(|row| (row.rank, row.values[0].text())).collect();
        assert_eq!(names, [(Some(0), Some("GEMM")), (Some(3), Some("other"))]);
        assert!(Rows::of("kernel_ns", [(None, Value::under("kernel_ns", &one))]).is_empty(), "a figure is no table");
        assert!(Rows::of("ops_summary", [(None, Value::under("ops_summary", &one))]).is_empty(), "nobody has it");
    }

    #[test]
    fn a_list_inside_a_table_of_one_row_is_a_table() {
        let found = Rows::of("idle", [(Some(1), Value::under("idle", &tables("GEMM")))]);
        let names: Vec<_> = found.iter().map(|table| table.name.as_str()).collect();
        assert_eq!(names, ["idle", "idle_streams"]);
        assert_eq!(found[0].columns, ["host_wait_ns", "kernel_wait_ns", "other_ns"]);
        assert_eq!(found[1].rows[0].values[1], Value::Integer(4));
    }

    #[test]
    fn rows_may_have_other_keys_and_objects_inside() {
        let inner = |key| BTreeMap::from([(key, 1)]);
        let rows = vec![BTreeMap::from([("a", inner("x")), ("params", inner("m"))]), BTreeMap::from([("a", inner("y"))])];
        let found = Rows::of("rows", [(None, Value::of(&rows))]);
        assert_eq!(found[0].columns, ["a.x", "params", "a.y"]);
        assert_eq!(found[0].rows[1].values, [Value::Null, Value::Null, Value::Integer(1)]);
        assert!(matches!(&found[0].rows[0].values[1], Value::Object(params) if params[0].0 == "m"));
    }
}
