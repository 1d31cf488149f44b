//! SQL for tables of which one does not know which columns they have.

use crate::database::{Database, Table, quoted};

/// A selection under construction. What is not there is selected as NULL, so that the places of columns never change.
#[derive(Debug)]
pub(crate) struct Query<'d> {
    /// Tables by the short name that they have here.
    tables: Vec<(&'static str, &'d Table)>,
    columns: Vec<String>,
    joins: String,
}

impl<'d> Query<'d> {
    /// From the table called `name`; none where there is no such table.
    pub(crate) fn from(database: &'d Database, alias: &'static str, name: &str) -> Option<Self> {
        let table = database.table(name)?;
        let joins = format!(" FROM {} AS {alias}", quoted(&table.name));
        Some(Self { tables: vec![(alias, table)], columns: Vec::new(), joins })
    }

    /// Where the first table begins in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.tables[0].1.offset
    }

    /// The first table's name.
    pub(crate) fn table(&self) -> &'d str {
        &self.tables[0].1.name
    }

    /// Joins the table called `name` where its `id` is the column `key` of table `of`; nothing where either is missing.
    pub(crate) fn join(mut self, database: &'d Database, alias: &'static str, name: &str, of: &'static str, key: &str) -> Self {
        let table = database.table(name).filter(|table| table.has("id") && self.has(of, key));
        if let Some(table) = table {
            self.joins += &format!(" LEFT JOIN {} AS {alias} ON {alias}.id = {of}.{}", quoted(&table.name), quoted(key));
            self.tables.push((alias, table));
        }
        self
    }

    /// Whether table `alias` is part of it and has a column called `name`.
    pub(crate) fn has(&self, alias: &str, name: &str) -> bool {
        self.tables.iter().any(|(known, table)| *known == alias && table.has(name))
    }

    /// Selects a column: the first that there is of `choices` of table and column.
    pub(crate) fn column(mut self, choices: &[(&str, &str)]) -> Self {
        let there = choices.iter().find(|(alias, name)| self.has(alias, name));
        self.columns.push(there.map_or_else(|| "NULL".to_owned(), |(alias, name)| format!("{alias}.{}", quoted(name))));
        self
    }

    /// Selects columns of one table.
    pub(crate) fn columns(self, alias: &str, names: &[&str]) -> Self {
        names.iter().fold(self, |query, name| query.column(&[(alias, name)]))
    }

    /// The text of it.
    pub(crate) fn sql(&self) -> String {
        format!("SELECT {}{}", self.columns.join(", "), self.joins)
    }
}
