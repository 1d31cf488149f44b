//! A dataset's tables and views in an engine: what the manifest lists, by the names that `views.sql` has.
//!
//! A table is the union of its runs' folders. Which run a row is of stands in no file, so each folder adds it; the engine then leaves
//! out the folders of other runs, as it does with ranks. Columns are the schema's, so that no file has to be opened to learn them, and a
//! file of an older version lacks a column rather than being refused.
//!
//! A dataset behind a URL is the same to the engine, but for who gives it bytes: see [`StoredFiles`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::TableReference;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::error::{DataFusionError, Result as Outcome};
use datafusion::execution::context::SQLOptions;
use datafusion::prelude::{DataFrame, Expr, SessionConfig, SessionContext, col, lit};
use rankscope_dataset::{Column, Kind, Manifest, RunEntry, Table, asked};
use rankscope_run::{Location, ObjectUrl, SideFile, StoreFault, is_folder, read_side};
use url::Url;

use crate::answer::Answer;
use crate::error::Error;
use crate::overlap::overlap_ns;
use crate::stored::{FOOTER_BYTES, Fault, StoredFiles};
use crate::union::union_ns;

/// Tables and views that can be asked.
pub struct Dataset {
    context: SessionContext,
    /// Where it is, as somebody said.
    named: PathBuf,
    /// What went wrong with a store, which says more than what the engine makes of it.
    fault: Fault,
}

/// Where a dataset lies, for the engine.
enum Root {
    Folder(PathBuf),
    Stored,
}

impl Root {
    /// The URL of `folder` in it. Neither is a pattern, whatever letters it has.
    fn url(&self, folder: &str) -> Option<Url> {
        match self {
            Self::Folder(root) => Url::from_directory_path(root.join(folder)).ok(),
            Self::Stored => {
                let mut url = stored().ok()?;
                url.path_segments_mut().ok()?.pop_if_empty().extend(folder.split('/')).push("");
                Some(url)
            }
        }
    }

    fn format(&self) -> ParquetFormat {
        match self {
            Self::Folder(_) => ParquetFormat::default(),
            Self::Stored => ParquetFormat::default().with_metadata_size_hint(Some(FOOTER_BYTES)),
        }
    }
}

/// What the engine calls the one store that it knows.
fn stored() -> Outcome<Url> {
    Url::parse("stored://dataset/").map_err(|error| DataFusionError::External(Box::new(error)))
}

/// The files of one table of one run.
struct Folder<'a> {
    table: Table,
    run: &'a str,
    url: Url,
    /// The column that stands in the names of folders below.
    in_path: Option<Field>,
}

impl<'a> Folder<'a> {
    /// Where the rows of `table` lie that `run` has: nowhere, if it has none.
    fn of(root: &Root, run: &'a RunEntry, table: Table) -> Option<Self> {
        let entry = run.tables.iter().find(|entry| entry.table == table.name() && !entry.files.is_empty())?;
        let by_rank = entry.files.iter().all(|file| file.path.contains("/rank="));
        let in_path = match table {
            Table::Events if by_rank => Some(Field::new("rank", DataType::Int32, false)),
            Table::Collectives => Some(Field::new("group_hash", DataType::Utf8, false)),
            _ => None,
        };
        Some(Self { table, run: &run.run, url: root.url(&table.folder(&run.run))?, in_path })
    }
}

impl Dataset {
    /// That at `path`: a folder, or a URL of a store that somebody registered.
    ///
    /// # Errors
    /// [`Error`], where there is no dataset, or not all of it.
    pub async fn open(path: &Path) -> Result<Self, Error> {
        // DuckDB's dialect, so that one text can be asked of both.
        let config = SessionConfig::new().with_information_schema(true).set_str("datafusion.sql_parser.dialect", "duckdb");
        let context = SessionContext::new_with_config(config);
        context.register_udaf(union_ns());
        context.register_udf(overlap_ns());
        let dataset = Self { context, named: path.to_owned(), fault: Fault::default() };
        let (root, manifest) = match Location::of(path)? {
            Location::Local(folder) => (Root::Folder(absolute(&folder)?), manifest(&folder)?),
            Location::Object(url) => (Root::Stored, dataset.connect(url).await?),
        };
        dataset.register(&root, &manifest).await.map_err(|error| dataset.failed(error))?;
        Ok(dataset)
    }

    /// Reads the list at `root`, and has the engine read its files there.
    async fn connect(&self, root: ObjectUrl) -> Result<Manifest, Error> {
        let at = root.clone();
        // Readers of stores wait where they stand, and the engine's threads must not.
        let read = tokio::task::spawn_blocking(move || stored_manifest(&at)).await;
        let manifest = read.map_err(|error| Error::Starting(error.into()))??;
        let files = StoredFiles::new(root, &manifest, self.fault.clone())?;
        let _none_before = self.context.register_object_store(&stored().map_err(|error| self.failed(error))?, Arc::new(files));
        Ok(manifest)
    }

    /// What `sql` asks for. It may only read.
    ///
    /// # Errors
    /// [`Error::Query`] for what is no query over these tables, and what reading fails with while it runs.
    pub async fn query(&self, sql: &str) -> Result<Answer, Error> {
        let only_reading = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        let asked = self.context.sql_with_options(sql, only_reading).await.map_err(Error::Query)?;
        let schema = Arc::clone(asked.schema().inner());
        let batches = asked.collect().await.map_err(|error| self.failed(error))?;
        Ok(Answer { schema, batches })
    }

    /// What a store said goes before what the engine makes of it.
    fn failed(&self, error: DataFusionError) -> Error {
        self.fault.take().unwrap_or_else(|| Error::Reading { dataset: self.named.clone(), source: error })
    }

    async fn register(&self, root: &Root, manifest: &Manifest) -> Outcome<()> {
        for table in Table::ALL {
            let mut all: Option<DataFrame> = None;
            for run in &manifest.runs {
                let Some(files) = Folder::of(root, run, table) else { continue };
                let rows = self.rows(root, &files).await?;
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
    async fn rows(&self, root: &Root, files: &Folder<'_>) -> Outcome<DataFrame> {
        let mut options = ListingOptions::new(Arc::new(root.format())).with_file_extension(".parquet");
        let in_files =
            files.table.columns().iter().filter(|column| files.in_path.as_ref().is_none_or(|path| path.name() != column.name));
        let schema = Schema::new(in_files.map(field).collect::<Vec<_>>());
        if let Some(column) = &files.in_path {
            options = options.with_table_partition_cols(vec![(column.name().clone(), column.data_type().clone())]);
        }
        let at = ListingTableUrl::try_new(files.url.clone(), None)?;
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

fn absolute(folder: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(folder).map_err(|source| Error::Unreadable { path: folder.to_owned(), source })
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

fn stored_manifest(root: &ObjectUrl) -> Result<Manifest, Error> {
    let (folder, path) = (root.to_path(), root.below(Manifest::NAME).to_path());
    match read_side(&path, SideFile::Record) {
        Ok(json) => Manifest::read(&json).map_err(|source| Error::Manifest { path, source }),
        Err(rankscope_run::Error::Store { fault: StoreFault::NoSuchObject, .. }) => match is_folder(&folder) {
            // Asked for an object, some stores do not say that its bucket is not there.
            Err(no_bucket @ rankscope_run::Error::Store { fault: StoreFault::NoSuchBucket { .. }, .. }) => {
                Err(no_bucket.into())
            }
            _ => Err(Error::NoDataset(folder)),
        },
        Err(other) => Err(other.into()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_stores_the_remedy_is_said() {
        // Nobody has registered any in this process, as in a program without the feature.
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("threads");
        let Err(error) = runtime.block_on(Dataset::open(Path::new("s3://bucket/set"))) else { panic!("nobody was asked") };
        let said = error.to_string();
        assert!(error.is_misuse() && said.starts_with("s3://bucket/set/") && said.contains("crates/rankscope-sql"), "{said}");
    }
}
