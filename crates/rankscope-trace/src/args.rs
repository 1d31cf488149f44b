//! Arguments of events: key and typed value, one row an event, packed.
//!
//! A million events share two flat vectors and a row index. The column stays empty (no rows) when a reader was asked for
//! analysis only; what analysis needs then lives in the trace's own columns.

use crate::StrId;

/// One value, typed as the file typed it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArgValue {
    /// JSON's null.
    Null,
    /// True or false.
    Bool(bool),
    /// A signed integer.
    I64(i64),
    /// An unsigned integer; from text only where it exceeds `i64`.
    U64(u64),
    /// A floating-point number.
    F64(f64),
    /// A string.
    Text(StrId),
    /// A JSON array or object, as its text.
    Json(StrId),
    /// Bytes, as an index into the trace's blobs.
    Blob(u32),
    /// A reference to a name of the file's own tables (XSpace `ref_value`).
    Ref(StrId),
}

/// Rows of arguments in compressed form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArgColumn {
    pub(crate) ends: Vec<u32>,
    pub(crate) keys: Vec<StrId>,
    pub(crate) values: Vec<ArgValue>,
}

impl ArgColumn {
    /// Adds one argument to the row under construction.
    pub fn push(&mut self, key: StrId, value: ArgValue) {
        self.keys.push(key);
        self.values.push(value);
    }

    /// Ends the row under construction, which may be empty.
    ///
    /// # Panics
    /// After four billion arguments.
    pub fn end_row(&mut self) {
        self.ends.push(u32::try_from(self.keys.len()).expect("memory ends before four billion arguments"));
    }

    /// The arguments of row `index`; none for a row that was never ended.
    pub fn row(&self, index: usize) -> impl Iterator<Item = (StrId, ArgValue)> + '_ {
        let end = self.ends.get(index).map_or(0, |end| *end as usize);
        let start = if index == 0 { 0 } else { self.ends.get(index - 1).map_or(end, |end| *end as usize) };
        (start.min(end)..end).map(|at| (self.keys[at], self.values[at]))
    }

    /// The value of `key` in row `index`.
    pub fn value(&self, index: usize, key: StrId) -> Option<ArgValue> {
        self.row(index).find_map(|(k, value)| (k == key).then_some(value))
    }

    /// How many rows have been ended.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// Appends the rows of `other`, whose keys and values are carried over to this trace's tables.
    ///
    /// # Panics
    /// Beyond four billion arguments.
    pub fn append(&mut self, other: &Self, key: impl Fn(StrId) -> StrId, value: impl Fn(ArgValue) -> ArgValue) {
        let base = self.keys.len();
        let end = |end: &u32| u32::try_from(base + *end as usize).expect("memory ends before four billion arguments");
        self.ends.extend(other.ends.iter().map(end));
        self.keys.extend(other.keys.iter().map(|of| key(*of)));
        self.values.extend(other.values.iter().map(|of| value(*of)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_arguments_apart() {
        let mut column = ArgColumn::default();
        column.push(StrId(1), ArgValue::I64(7));
        column.push(StrId(2), ArgValue::Bool(true));
        column.end_row();
        column.end_row();
        column.push(StrId(1), ArgValue::F64(0.5));
        column.end_row();
        assert_eq!(column.row(0).count(), 2);
        assert_eq!(column.row(1).count(), 0);
        assert_eq!(column.value(2, StrId(1)), Some(ArgValue::F64(0.5)));
        assert_eq!(column.row(3).count(), 0);
    }
}
