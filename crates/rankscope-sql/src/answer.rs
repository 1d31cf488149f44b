//! An answer, in the words of who reads it: a table for people, CSV for spreadsheets, JSON for programs. Whole numbers stay whole.

use std::io::{self, Write};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv::WriterBuilder;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::WriterBuilder as JsonBuilder;
use datafusion::arrow::json::writer::JsonArray;
use datafusion::arrow::util::pretty::pretty_format_batches_with_schema;

use crate::error::Error;

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A table
    #[default]
    Table,
    /// Comma-separated values, with a line of names
    Csv,
    /// A JSON array with an object for each row
    Json,
}

/// Rows, and what their columns are.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
}

impl Answer {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// [`Error::Writing`].
    pub fn write(&self, format: Format, to: &mut impl Write) -> Result<(), Error> {
        let written = match format {
            Format::Table => self.table(to),
            Format::Csv => self.csv(to),
            Format::Json => self.json(to),
        };
        written.map_err(|error| match error {
            ArrowError::IoError(_, error) => Error::Writing(error),
            other => Error::Writing(io::Error::other(other)),
        })
    }

    fn table(&self, to: &mut impl Write) -> Result<(), ArrowError> {
        let drawn = pretty_format_batches_with_schema(self.schema.clone(), &self.batches)?;
        let rows = self.rows();
        Ok(writeln!(to, "{drawn}\n{rows} {}", if rows == 1 { "row" } else { "rows" })?)
    }

    fn csv(&self, to: &mut impl Write) -> Result<(), ArrowError> {
        let mut writer = WriterBuilder::new().with_header(true).build(to);
        // Names stand there even where there is no row.
        writer.write(&RecordBatch::new_empty(self.schema.clone()))?;
        self.batches.iter().try_for_each(|batch| writer.write(batch))
    }

    fn json(&self, to: &mut impl Write) -> Result<(), ArrowError> {
        // Every row has every column: a key that is absent would be one more thing to look out for.
        let mut writer = JsonBuilder::new().with_explicit_nulls(true).build::<_, JsonArray>(&mut *to);
        self.batches.iter().try_for_each(|batch| writer.write(batch))?;
        writer.finish()?;
        drop(writer);
        Ok(writeln!(to)?)
    }
}
