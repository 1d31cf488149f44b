//! `rankscope-sql DATASET SQL`: what `rankscope query` starts.

use std::error::Error as _;
use std::io::{self, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use rankscope_sql::{Dataset, Error, Format};

/// Ask a dataset that `rankscope report --parquet` wrote.
///
/// Tables: events, collectives, steps, kernels, clock, ranks. Views: class_sums, class_unions, lateness. Functions beside DataFusion's own:
/// union_ns(start, end), how long the union of intervals is, and overlap_ns(start, end, start, end), how long two overlap. SHOW TABLES and
/// DESCRIBE TABLE say what is there.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// The folder of the dataset, or its URL: s3:// gs:// az:// abfss:// http:// https://
    dataset: PathBuf,
    /// The query; - reads it from standard input
    sql: String,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read the answer has seen enough.
        Err(Error::Writing(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            match () {
                () if error.is_misuse() => ExitCode::from(2),
                () if error.is_change() => ExitCode::from(4),
                () => ExitCode::FAILURE,
            }
        }
    }
}

fn run(args: &Args) -> Result<(), Error> {
    #[cfg(feature = "store")]
    rankscope_run::register_stores(Box::new(rankscope_store::ObjectStores::default()));
    let sql = match args.sql.as_str() {
        "-" => io::read_to_string(io::stdin().take(QUERY_BYTES)).map_err(Error::Asking)?,
        sql => sql.to_owned(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Error::Starting)?;
    let answer = runtime.block_on(async { Dataset::open(&args.dataset).await?.query(&sql).await })?;
    let mut out = BufWriter::new(io::stdout().lock());
    answer.write(args.format, &mut out)?;
    out.flush().map_err(Error::Writing)
}

/// Longer than any query that somebody wrote.
const QUERY_BYTES: u64 = 1 << 20;

/// What was tried, and why it failed. The engine's errors tell their own causes.
fn complain(error: &Error) {
    let why = error.source().map(|why| format!(": {why}")).unwrap_or_default();
    // Standard error that is gone has nobody to complain to.
    let _ = writeln!(io::stderr(), "error: {error}{why}");
}
