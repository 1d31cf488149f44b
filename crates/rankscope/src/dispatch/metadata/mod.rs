//! `rankscope dispatch metadata`: DistCA's functions by their names. Reads a case as golden files keep it (`kind` and the
//! inputs), answers with the outputs of that kind under the same names, and with the inputs, so that the answer can be checked.

mod array;
mod bytes;
mod case;
mod functions;
mod json;
mod kinds;
mod lengths;
mod logical;
mod npy;
mod planners;
mod simulated;
mod tensor;
mod way;
mod whole;

use std::borrow::Cow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde_json::Value;

pub(crate) use self::array::{Form, Packed, is_packed, nested, read as read_array};
pub(crate) use self::case::{Case, MissingInput};
pub(crate) use self::json::{Json, Object};
pub(crate) use self::kinds::Kind;
pub(crate) use self::logical::{attention_of, metadata_of, raw_of};
pub(crate) use self::tensor::WrongFile;
pub(crate) use self::way::{Revision, Source, Way};
pub(crate) use self::whole::planned;

use crate::output::{self, Format};

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
    #[arg(long, value_enum, default_value_t = Revision::Exact)]
    compat: Revision,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let Some(input) = args.input else {
        output::answer(&kinds::list())?;
        return Ok(ExitCode::SUCCESS);
    };
    let case = Case::read(&input)?;
    let way = Way { revision: args.compat, source: Source::Library };
    let answer = answer(&case, way).with_context(|| input.display().to_string())?;
    output::answer(&match args.format {
        Format::Json => serde_json::to_string(&answer)?,
        Format::Table => answer.summary(),
    })?;
    Ok(if answer.says_no() { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

/// The answer to a case, with the inputs that it does not repeat anyway.
pub(crate) fn answer(case: &Case, way: Way) -> Result<Object> {
    let kind = Kind::named(case.kind()?)?;
    let case = if case.kind()? == kind.name { Cow::Borrowed(case) } else { Cow::Owned(case.with_kind(kind.name)) };
    let mut answer = (kind.answer)(&case, way)?;
    let names = kind.inputs.iter().flat_map(|input| input.0).filter(|name| **name != "cases" && !answer.has(name));
    let inputs: serde_json::Map<String, Value> =
        names.filter_map(|&name| Some((name.to_owned(), case.input(name)?.clone()))).collect();
    if !inputs.is_empty() {
        answer.insert(1, "inputs", Value::from(inputs));
    }
    Ok(answer)
}
