//! What TraceLens calls the tables and columns that mean the same. What is not here is called by its key.

mod collectives;
mod ranks;

use super::figure::Figure;
use crate::column::Kind;

/// A table with headers of its own.
pub(super) struct Known {
    /// Its key in the document.
    key: &'static str,
    /// The name of its sheet.
    pub(super) sheet: &'static str,
    /// What it holds, in a line.
    pub(super) about: &'static str,
    /// Its columns; keys that none of them shows follow.
    pub(super) columns: &'static [Named],
}

/// A column with a header of its own. It is left out where the table does not have its keys.
pub(super) struct Named {
    pub(super) header: &'static str,
    pub(super) kind: Kind,
    pub(super) figure: Figure,
}

/// The table of `key`, if it is known.
pub(super) fn of(key: &str) -> Option<&'static Known> {
    ranks::TABLES.iter().chain(collectives::TABLES).find(|known| known.key == key)
}

const fn named(header: &'static str, kind: Kind, figure: Figure) -> Named {
    Named { header, kind, figure }
}
