//! `rankscope dispatch metadata`: DistCA's functions by their names. Reads a case as golden files keep it (`kind` and the
//! inputs), answers with the outputs of that kind under the same names, and with the inputs, so that the answer can be checked.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_conformance::{Case, Revision, answer, list};

use super::case_files::CaseFiles;
use super::paths;

/// Run DistCA's functions by their names: numbers in, arrays out
///
/// CASE is an object with `kind` (`compute_metadata`, `create_qkv_dispatch`, `orchestrate_simulate`, ...) and the inputs of that
/// kind, beside it or under `inputs`; --list names all kinds and their inputs. Arrays are nested lists, the name of a .npy file,
/// or packed (`shape` and `zlib_b64_i32le`). `rankscope dispatch check` takes the answer as it is.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A case as JSON; - reads it from the standard input
    #[arg(value_name = "CASE", required_unless_present = "list")]
    input: Option<PathBuf>,
    /// Name every kind with its inputs
    #[arg(long, conflicts_with = "input")]
    list: bool,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Whose numbers to give where DistCA is wrong
    #[arg(long, value_enum, default_value_t = Compat::Exact)]
    compat: Compat,
}

/// Whose numbers to give where DistCA is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Compat {
    /// What is really sent
    Exact,
    /// Add what the documented revision prints, under names that begin with `documented`
    Documented,
}

impl From<Compat> for Revision {
    fn from(compat: Compat) -> Self {
        match compat {
            Compat::Exact => Self::Exact,
            Compat::Documented => Self::Documented,
        }
    }
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let Some(input) = args.input else {
        output::answer(&list())?;
        return Ok(ExitCode::SUCCESS);
    };
    let case = read(&input)?;
    let answer = answer(&case, args.compat.into()).with_context(|| input.display().to_string())?;
    output::answer(&match args.format {
        Format::Json => serde_json::to_string(&answer)?,
        Format::Table => answer.summary(output::columns()),
    })?;
    Ok(if answer.says_no() { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

fn read(path: &Path) -> Result<Case> {
    let value = serde_json::from_slice(&paths::bytes(path)?).with_context(|| format!("{}: not JSON", path.display()))?;
    Case::new(value, CaseFiles::beside(path)).with_context(|| path.display().to_string())
}
