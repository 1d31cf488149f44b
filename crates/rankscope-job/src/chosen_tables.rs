//! Tables by the names that users give them: those of each rank, and those of the job.

use std::str::FromStr;

use rankscope_tables::Table;

use crate::JobTable;

/// A table that is made of each rank's events, or one of the job's collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyTable {
    /// Of each rank.
    OfRanks(Table),
    /// Of the job.
    OfJob(JobTable),
}

impl AnyTable {
    /// The table that goes by `name`.
    pub fn of_name(name: &str) -> Option<Self> {
        name.parse().map(Self::OfRanks).ok().or_else(|| name.parse().map(Self::OfJob).ok())
    }

    /// Its name: its key in the document.
    pub fn name(self) -> &'static str {
        match self {
            Self::OfRanks(table) => table.name(),
            Self::OfJob(table) => table.name(),
        }
    }
}

/// All tables, or one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableChoice {
    /// All.
    All,
    /// One.
    One(AnyTable),
}

/// A name that no table goes by.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not a table; the tables are {}", known().collect::<Vec<_>>().join(", "))]
pub struct UnknownTable {
    /// The name.
    pub name: String,
}

fn known() -> impl Iterator<Item = &'static str> {
    Table::ALL.iter().map(|table| table.name()).chain(JobTable::ALL.map(JobTable::name))
}

impl FromStr for TableChoice {
    type Err = UnknownTable;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match AnyTable::of_name(text) {
            _ if text == "all" => Ok(Self::All),
            Some(table) => Ok(Self::One(table)),
            None => Err(UnknownTable { name: text.to_owned() }),
        }
    }
}

/// Tables to make: of each rank, and of the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChosenTables {
    /// Of each rank, and those of all ranks side by side.
    pub of_ranks: Vec<Table>,
    /// Of the job.
    pub of_job: Vec<JobTable>,
}

impl ChosenTables {
    /// The tables of `choices`.
    pub fn of(choices: &[TableChoice]) -> Self {
        let mut chosen = Self::default();
        for choice in choices {
            match choice {
                TableChoice::All => return Self { of_ranks: Table::ALL.to_vec(), of_job: JobTable::ALL.to_vec() },
                TableChoice::One(table) => chosen.add(*table),
            }
        }
        chosen
    }

    /// Adds `table`.
    pub fn add(&mut self, table: AnyTable) {
        match table {
            AnyTable::OfRanks(table) => self.of_ranks.push(table),
            AnyTable::OfJob(table) => self.of_job.push(table),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_goes_by_its_name_and_a_stranger_is_told_all_of_them() {
        for name in known() {
            assert_eq!(AnyTable::of_name(name).map(AnyTable::name), Some(name));
        }
        let refused = "opps".parse::<TableChoice>().unwrap_err().to_string();
        assert!(
            refused.starts_with("\"opps\" is not a table; the tables are ") && refused.contains("ops_summary"),
            "{refused}"
        );
    }
}
