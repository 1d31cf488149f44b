//! A dataset's tables and views in an engine: what the manifest lists, by the names that `views.sql` has.
//!
//! A table is the union of its runs' folders. Which run a row is of stands in no file, so each folder adds it; the engine then leaves
//! out the folders of other runs, as it does with ranks. Columns are the schema's, so that no file has to be opened to learn them, and a
//! file of an older version lacks a column rather than being refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::TableReference;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::error::Result as Outcome;
use datafusion::execution::context::SQLOptions;
use datafusion::prelude::{DataFrame, Expr, SessionConfig, SessionContext, col, lit};
use rankscope_dataset::{Column, Kind, Manifest, RunEntry, Table, asked};

use crate::answer::Answer;
use crate::error::Error;
use crate::overlap::overlap_ns;
use crate::union::union_ns;

/// Tables and views that can be asked.
pub struct Dataset {
    context: SessionContext,
}

/// The files of one table of one run.
struct Folder<'a> {
    table: Table,
    run: &'a str,
    path: PathBuf,
    /// The column that stands in the names of folders below.
    in_path: Option<Field>,
}

impl<'a> Folder<'a> {
    /// Where the rows of `table` lie that `run` has: nowhere, if it has none.
    fn of(dataset: &Path, run: &'a RunEntry, table: Table) -> Option<Self> {
        let entry = run.tables.iter().find(|entry| entry.table == table.name() && !entry.files.is_empty())?;
        let by_rank = entry.files.iter().all(|file| file.path.contains("/rank="));
        let in_path = match table {
            Table::Events if by_rank => Some(Field::new("rank", DataType::Int32, false)),
            Table::Collectives => Some(Field::new("group_hash", DataType::Utf8, false)),
            _ => None,
        };
        Some(Self { table, run: &run.run, path: dataset.join(table.folder(&run.run)), in_path })
    }
}

impl Dataset {
    /// That in `folder`.
    ///
    /// # Errors
    /// [`Error`], where the folder is no dataset, or not whole.
    pub async fn open(folder: &Path) -> Result<Self, Error> {
        let manifest = manifest(folder)?;
        // DuckDB's dialect, so that one text can be asked of both.
        let config = SessionConfig::new().with_information_schema(true).set_str("datafusion.sql_parser.dialect", "duckdb");
        let context = SessionContext::new_with_config(config);
        context.register_udaf(union_ns());
        context.register_udf(overlap_ns());
        let dataset = Self { context };
        dataset.register(folder, &manifest).await.map_err(Error::Reading)?;
        Ok(dataset)
    }

    /// What `sql` asks for. It may only read.
    ///
    /// # Errors
    /// [`Error::Query`] for what is no query over these tables, [`Error::Reading`] for what fails while it runs.
    pub async fn query(&self, sql: &str) -> Result<Answer, Error> {
        let only_reading = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        let asked = self.context.sql_with_options(sql, only_reading).await.map_err(Error::Query)?;
        let schema = Arc::clone(asked.schema().inner());
        let batches = asked.collect().await.map_err(Error::Reading)?;
        Ok(Answer { schema, batches })
    }

    async fn register(&self, folder: &Path, manifest: &Manifest) -> Outcome<()> {
        for table in Table::ALL {
            let mut all: Option<DataFrame> = None;
            for run in &manifest.runs {
                let Some(files) = Folder::of(folder, run, table) else { continue };
                let rows = self.rows(&files).await?;
                all = Some(match all {
                    Some(others) => others.union(rows)?,
                    None => rows,
                });
            }
            if let Some(all) = all {
                self.context.register_table(TableReference::bare(table.name()), all.into_view())?;
            }
        }
        for (name, query) in asked(manifest.layouts()) {
            let view = self.context.sql(query).await?;
            self.context.register_table(TableReference::bare(name), view.into_view())?;
        }
        Ok(())
    }

    /// The rows of one run, with every column in the order of the reference.
    async fn rows(&self, files: &Folder<'_>) -> Outcome<DataFrame> {
        let mut options = ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension(".parquet");
        let in_files = files
            .table
            .columns()
            .iter()
            .filter(|column| files.in_path.as_ref().is_none_or(|path| path.name() != column.name));
        let schema = Schema::new(in_files.map(field).collect::<Vec<_>>());
        if let Some(column) = &files.in_path {
            options = options.with_table_partition_cols(vec![(column.name().clone(), column.data_type().clone())]);
        }
        let at = ListingTableUrl::parse(format!("{}/", files.path.display()))?;
        let config = ListingTableConfig::new(at).with_listing_options(options).with_schema(Arc::new(schema));
        let rows = self.context.read_table(Arc::new(ListingTable::try_new(config)?))?;
        let group = (files.table == Table::Collectives).then(|| col("group_hash"));
        let columns: Vec<Expr> = std::iter::once(lit(files.run.to_owned()).alias("run"))
            .chain(group)
            .chain(files.table.columns().iter().map(|column| col(column.name)))
            .collect();
        rows.select(columns)
    }
}

fn manifest(folder: &Path) -> Result<Manifest, Error> {
    let path = folder.join(Manifest::NAME);
    let json = match std::fs::read(&path) {
        Ok(json) => json,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(Error::NoDataset(folder.to_owned())),
        Err(source) => return Err(Error::Unreadable { path, source }),
    };
    let manifest = Manifest::read(&json).map_err(|source| Error::Manifest { path, source })?;
    let listed = manifest.runs.iter().flat_map(|run| &run.tables).flat_map(|table| &table.files);
    match listed.map(|file| folder.join(&file.path)).find(|path| !path.is_file()) {
        Some(missing) => Err(Error::Missing(missing)),
        None => Ok(manifest),
    }
}

fn field(column: &Column) -> Field {
    let kind = match column.kind {
        Kind::Int32 => DataType::Int32,
        Kind::Int64 => DataType::Int64,
        Kind::Bool => DataType::Boolean,
        Kind::Name | Kind::Text => DataType::Utf8View,
    };
    // What a file of an older version lacks is null, whatever the schema says of it now.
    Field::new(column.name, kind, true)
}
