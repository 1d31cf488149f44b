//! [`Frame`]: some rows of a table, column by column, on their way into a file.
//!
//! Columns are found by their names, so the order in which they are made means nothing; a frame that lacks one is refused when it is
//! written.

use std::collections::{BTreeMap, HashMap};

use crate::schema::{Column, Kind, Table};

/// Values of a column, a row each.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Integers(Vec<Option<i64>>),
    /// Truths.
    Flags(Vec<bool>),
    /// Words and texts.
    Texts(Texts),
}

/// Texts, each distinct one once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts {
    /// The distinct ones.
    pub distinct: Vec<String>,
    /// The place of each row's among them.
    pub rows: Vec<Option<u32>>,
}

impl Texts {
    /// Those of `rows`.
    pub fn of<'a>(rows: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let mut places: HashMap<&str, u32> = HashMap::new();
        let mut texts = Self::default();
        for text in rows {
            let place = text.map(|text| {
                *places.entry(text).or_insert_with(|| {
                    texts.distinct.push(text.to_owned());
                    (texts.distinct.len() - 1) as u32
                })
            });
            texts.rows.push(place);
        }
        texts
    }

    /// The text of `row`.
    pub fn text(&self, row: usize) -> Option<&str> {
        self.rows.get(row).copied().flatten().map(|place| self.distinct[place as usize].as_str())
    }
}

impl Values {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Flags(values) => values.len(),
            Self::Texts(texts) => texts.rows.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether these may be the values of `column`.
    pub fn fit(&self, column: &Column) -> bool {
        let (kinds, lacks): (&[Kind], bool) = match self {
            Self::Integers(values) => (&[Kind::Int32, Kind::Int64], values.iter().any(Option::is_none)),
            Self::Flags(_) => (&[Kind::Bool], false),
            Self::Texts(texts) => (&[Kind::Name, Kind::Text], texts.rows.iter().any(Option::is_none)),
        };
        kinds.contains(&column.kind) && (column.optional || !lacks)
    }
}

/// Some rows of one table.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The table.
    pub table: Table,
    columns: BTreeMap<&'static str, Values>,
}

impl Frame {
    /// A frame of `table` without a column yet.
    pub fn of(table: Table) -> Self {
        Self { table, columns: BTreeMap::new() }
    }

    /// The same with a column of whole numbers that no row lacks.
    #[must_use]
    pub fn numbers(self, name: &'static str, values: impl IntoIterator<Item = i64>) -> Self {
        self.maybe_numbers(name, values.into_iter().map(Some))
    }

    /// The same with a column of whole numbers.
    #[must_use]
    pub fn maybe_numbers(self, name: &'static str, values: impl IntoIterator<Item = Option<i64>>) -> Self {
        self.with(name, Values::Integers(values.into_iter().collect()))
    }

    /// The same with a column of texts.
    #[must_use]
    pub fn texts<'a>(self, name: &'static str, values: impl IntoIterator<Item = &'a str>) -> Self {
        self.maybe_texts(name, values.into_iter().map(Some))
    }

    /// The same with a column of texts that rows may lack.
    #[must_use]
    pub fn maybe_texts<'a>(self, name: &'static str, values: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        self.with(name, Values::Texts(Texts::of(values)))
    }

    /// The same with this column.
    #[must_use]
    pub fn with(mut self, name: &'static str, values: Values) -> Self {
        self.columns.insert(name, values);
        self
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.columns.values().map(Values::len).next().unwrap_or(0)
    }

    /// The values of `column`, where there are as many as rows and they fit.
    pub fn values(&self, column: &Column) -> Option<&Values> {
        let rows = self.rows();
        self.columns.get(column.name).filter(|values| values.len() == rows && values.fit(column))
    }

    /// The column that is lacking, or that does not fit, if there is one.
    pub fn flaw(&self) -> Option<&'static str> {
        self.table.columns().iter().find(|column| self.values(column).is_none()).map(|column| column.name)
    }
}
