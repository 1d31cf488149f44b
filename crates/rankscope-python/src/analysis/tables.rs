//! The tables of a document, whichever it is: every list of objects in it, by the path of its key.
//!
//! A list inside a row is a table of its own, whose rows begin with what their owner is known by: the steps of ranks are `ranks.steps`, with a
//! column `rank`. Tables of operators and collectives, which are in objects of their own, go by their names alone, as on the command line.

use rankscope_document::{Rows, Value};

/// Objects whose tables go by their own names.
const PLAIN: [&str; 2] = ["collective_tables", "across_ranks"];

/// The key of a rank's tables.
const OF_RANKS: &str = "tables";

/// Keys that tell rows from each other; the first that a row has counts.
const KNOWN_BY: [&str; 5] = ["rank", "test", "label", "step", "name"];

/// Lists by their keys, in the order in which these were first met.
type Lists<T> = Vec<(String, Vec<T>)>;

/// All tables of `document`.
pub(crate) fn tables(document: Value) -> Vec<Rows> {
    let mut found = Vec::new();
    if let Value::Object(entries) = document {
        within(&mut found, "", entries);
    }
    found
}

fn within(found: &mut Vec<Rows>, path: &str, entries: Vec<(String, Value)>) {
    for (key, value) in entries {
        let name = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match value {
            Value::Object(tables) if PLAIN.contains(&key.as_str()) => {
                tables.into_iter().for_each(|(name, table)| found.extend(Rows::of(&name, [(None, table)])));
            }
            Value::Object(inner) => within(found, &name, inner),
            Value::List(rows) if is_table(&rows) => list(found, &name, rows),
            _ => {}
        }
    }
}

/// The table called `name`, and those in its rows.
fn list(found: &mut Vec<Rows>, name: &str, rows: Vec<Value>) {
    let mut inner: Lists<Value> = Vec::new();
    let mut of_ranks: Lists<(Option<u32>, Value)> = Vec::new();
    let mut own = Vec::with_capacity(rows.len());
    for row in rows {
        let Value::Object(entries) = row else { continue };
        let owner = owner(&entries);
        let rank = owner.as_ref().and_then(|(_, value)| number(value));
        let mut kept = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            match value {
                Value::Object(tables) if key == OF_RANKS => {
                    tables.into_iter().for_each(|(name, table)| entry(&mut of_ranks, &name).push((rank, table)));
                }
                Value::List(rows) if is_table(&rows) => {
                    entry(&mut inner, &key).extend(rows.into_iter().map(|row| owned(row, owner.as_ref())));
                }
                // Nobody's list: a row of another rank has objects there.
                Value::List(rows) if rows.is_empty() && inner.iter().any(|(known, _)| *known == key) => {}
                value => kept.push((key, value)),
            }
        }
        own.push(Value::Object(kept));
    }
    let mut table = Rows::of(name, [(None, Value::List(own))]);
    for (key, _) in &inner {
        table.iter_mut().for_each(|table| without(table, key));
    }
    found.extend(table);
    inner.into_iter().for_each(|(key, rows)| list(found, &format!("{name}.{key}"), rows));
    for (name, tables) in of_ranks {
        // The document has notes, and so have the tables of ranks.
        let is_taken = found.iter().any(|table| table.name == name);
        let name = if is_taken { format!("{OF_RANKS}.{name}") } else { name };
        found.extend(Rows::of(&name, tables));
    }
}

/// What rows inside a row of `entries` begin with.
fn owner(entries: &[(String, Value)]) -> Option<(String, Value)> {
    entries.iter().find(|(key, _)| KNOWN_BY.contains(&key.as_str())).or_else(|| entries.first()).cloned()
}

/// `row` behind what its owner is known by, unless it says that itself.
fn owned(row: Value, owner: Option<&(String, Value)>) -> Value {
    match (row, owner) {
        (Value::Object(mut entries), Some((key, value))) if entries.iter().all(|(own, _)| own != key) => {
            entries.insert(0, (key.clone(), value.clone()));
            Value::Object(entries)
        }
        (row, _) => row,
    }
}

fn entry<'a, T>(lists: &'a mut Lists<T>, key: &str) -> &'a mut Vec<T> {
    let at = lists.iter().position(|(known, _)| known == key).unwrap_or_else(|| {
        lists.push((key.to_owned(), Vec::new()));
        lists.len() - 1
    });
    &mut lists[at].1
}

/// Takes the column of `key` out, where rows that have none in their lists left one.
fn without(table: &mut Rows, key: &str) {
    if let Some(at) = table.column(key) {
        table.columns.remove(at);
        table.rows.iter_mut().for_each(|row| drop(row.values.remove(at)));
    }
}

fn is_table(rows: &[Value]) -> bool {
    !rows.is_empty() && rows.iter().all(|row| matches!(row, Value::Object(_)))
}

fn number(value: &Value) -> Option<u32> {
    match *value {
        Value::Integer(number) => u32::try_from(number).ok(),
        Value::Unsigned(number) => u32::try_from(number).ok(),
        _ => None,
    }
}
