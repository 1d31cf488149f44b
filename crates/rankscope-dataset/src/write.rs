//! Frames into Parquet files.
//!
//! Columns are written by Parquet's own interface: there is no Arrow between, which would be two thirds of what has to be compiled.
//! Whole numbers are packed as differences, since rows are in order of time; names have dictionaries; pages have an index, and
//! correlations a Bloom filter, because one is looked for among millions. Nothing in a file depends on when or by whom it was written.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};

use crate::schema::{Column, Kind, SCHEMA, Table};
use crate::{Frame, Values};

/// Why a file cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The encoder, or whoever it writes to, refuses.
    #[error("write Parquet")]
    Parquet(#[from] ParquetError),
    /// A frame is none of its table. Ours.
    #[error("a frame of {table} has no fitting column {column}; this is a fault of rankscope")]
    Flawed {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
    },
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Rows.
    pub rows: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Writes `frames`, all of `table`, as one file. The column `in_path` is left out, as every row has the same and the path says it.
///
/// # Errors
/// [`Error`].
pub fn write(
    table: Table,
    in_path: Option<&str>,
    frames: impl IntoIterator<Item = Frame>,
    to: &mut (impl Write + Send),
) -> Result<Written, Error> {
    let columns: Vec<&Column> = table.columns().iter().filter(|column| Some(column.name) != in_path).collect();
    let mut file = SerializedFileWriter::new(to, schema(table, &columns)?, Arc::new(properties(&columns)?))?;
    let mut rows = 0;
    for frame in frames {
        rows += frame.rows() as u64;
        let mut group = file.next_row_group()?;
        for column in &columns {
            let flawed = Error::Flawed { table: table.name(), column: column.name };
            put(&mut group, column, frame.values(column).ok_or(flawed)?)?;
        }
        group.close()?;
    }
    file.finish()?;
    Ok(Written { rows, bytes: file.bytes_written() as u64 })
}

fn schema(table: Table, columns: &[&Column]) -> Result<Arc<Type>, ParquetError> {
    let field = |column: &&Column| {
        let (physical, logical) = match column.kind {
            Kind::Int32 => (Physical::INT32, None),
            Kind::Int64 => (Physical::INT64, None),
            Kind::Bool => (Physical::BOOLEAN, None),
            Kind::Name | Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let converted = if logical.is_some() { ConvertedType::UTF8 } else { ConvertedType::NONE };
        let repetition = if column.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let builder = Type::primitive_type_builder(column.name, physical).with_repetition(repetition);
        Ok(Arc::new(builder.with_logical_type(logical).with_converted_type(converted).build()?))
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, ParquetError>>()?;
    Ok(Arc::new(Type::group_type_builder(table.name()).with_fields(fields).build()?))
}

/// Beyond it a dictionary is given up: a trace with as many names as rows gains nothing by one.
const DICTIONARY_BYTES: usize = 4 << 20;

/// How often the filter says that a correlation may be there which is not.
const FALSE_POSITIVES: f64 = 0.1;

fn properties(columns: &[&Column]) -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        // As readers parse it: application, version, build.
        .set_created_by(format!("rankscope version {SCHEMA}.0.0 (build dataset)"))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_dictionary_enabled(false)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES);
    for column in columns {
        let path = ColumnPath::from(column.name);
        properties = match column.kind {
            Kind::Int32 | Kind::Int64 => properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            Kind::Name => properties.set_column_dictionary_enabled(path, true),
            // The least and greatest of long texts help nobody.
            Kind::Text => properties.set_column_statistics_enabled(path, EnabledStatistics::None),
            Kind::Bool => properties,
        };
        if column.name == "correlation" {
            properties = properties.set_column_bloom_filter_fpp(ColumnPath::from(column.name), FALSE_POSITIVES);
        }
    }
    Ok(properties.build())
}

/// Puts the values of `column` into its place in `group`.
fn put<W: Write + Send>(group: &mut SerializedRowGroupWriter<'_, W>, column: &Column, values: &Values) -> Result<(), Error> {
    let Some(mut into) = group.next_column()? else { return Ok(()) };
    match values {
        Values::Integers(values) => {
            let present = values.iter().flatten();
            if column.kind == Kind::Int32 {
                // Columns of this kind hold ranks, and errors that fit.
                let present: Vec<i32> = present.map(|value| i32::try_from(*value).unwrap_or(i32::MAX)).collect();
                into.typed::<Int32Type>().write_batch(&present, levels(column, values, Option::is_some).as_deref(), None)?;
            } else {
                let present: Vec<i64> = present.copied().collect();
                into.typed::<Int64Type>().write_batch(&present, levels(column, values, Option::is_some).as_deref(), None)?;
            }
        }
        Values::Flags(values) => {
            into.typed::<BoolType>().write_batch(values, levels(column, values, |_| true).as_deref(), None)?;
        }
        Values::Texts(texts) => {
            let distinct: Vec<ByteArray> = texts.distinct.iter().map(|text| ByteArray::from(text.as_str())).collect();
            let present: Vec<ByteArray> = texts.rows.iter().flatten().map(|place| distinct[*place as usize].clone()).collect();
            put_texts(&mut into, &present, levels(column, &texts.rows, Option::is_some))?;
        }
    }
    Ok(into.close()?)
}

fn put_texts(into: &mut SerializedColumnWriter<'_>, present: &[ByteArray], levels: Option<Vec<i16>>) -> Result<(), Error> {
    into.typed::<ByteArrayType>().write_batch(present, levels.as_deref(), None)?;
    Ok(())
}

/// Which rows have a value, where rows may lack one.
fn levels<T>(column: &Column, values: &[T], has: impl Fn(&T) -> bool) -> Option<Vec<i16>> {
    column.optional.then(|| values.iter().map(|value| i16::from(has(value))).collect())
}
