//! `rankscope dispatch metadata`: the original's functions by their names. Reads a case as golden files keep it (`kind` and the
//! inputs), answers with the outputs of that kind under the same names.

mod array;
mod bytes;
mod case;
mod invalid;
mod json;
mod lengths;
mod logical;
mod planners;
mod simulated;
mod whole;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

pub(crate) use self::array::{Form, Packed};
pub(crate) use self::case::Case;
pub(crate) use self::json::{Json, Object};
pub(crate) use self::whole::{custom, draw};

use crate::output::{self, Format};

/// The original's functions by their names: numbers in, its arrays out.
///
/// CASE is an object with `kind` (`compute_metadata`, `create_qkv_dispatch`, `gen_seq_lens`, ...) and the inputs of that kind,
/// beside it or under `inputs`. Arrays are nested lists, or packed (`shape` and `zlib_b64_i32le`).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A case as JSON; - reads it from the standard input
    #[arg(value_name = "CASE")]
    input: PathBuf,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Whose numbers to give where the original is wrong
    #[arg(long, value_enum, default_value_t = Revision::Exact)]
    compat: Revision,
}

/// See [`rankscope_dispatch::metadata::Compat`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Revision {
    /// What is really sent
    Exact,
    /// Add what the documented revision prints, under names that begin with `documented`
    Documented,
}

/// Answers a case of one kind.
type Kind = fn(&Case, Revision) -> Result<Object>;

/// Every kind there is. The names are those of the golden files, which are the original's function names where there is one.
const KINDS: &[(&str, Kind)] = &[
    ("gen_seq_lens", lengths::gen_seq_lens),
    ("pipeline_tick", lengths::pipeline_tick),
    ("compute_metadata", logical::compute_metadata),
    ("compute_metadata_big", logical::compute_metadata),
    ("compute_metadata_kv", logical::compute_metadata_kv),
    ("compute_attn_layout_seqlens", logical::compute_attn_layout_seqlens),
    ("create_qkv_dispatch", whole::seeded),
    ("create_qkv_dispatch_big", whole::seeded),
    ("create_qkv_dispatch_2cp", whole::seeded_2cp),
    ("create_qkv_dispatch_with_backward", whole::with_backward),
    ("create_qkv_dispatch_with_custom_mapping", whole::custom_mapping),
    ("fa2a_from_logical", bytes::fa2a_from_logical),
    ("from_planner_output", bytes::planner_output),
    ("greedy_planner", planners::greedy_planner),
    ("equal_flops_planner", planners::equal_flops_planner),
    ("planner_benchmark", planners::planner_benchmark),
    ("invalid_inputs", invalid::invalid_inputs),
];

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let case = Case::read(&args.input)?;
    let answer = answer(&case, args.compat).with_context(|| args.input.display().to_string())?;
    output::answer(&match args.format {
        Format::Json => serde_json::to_string(&answer)?,
        Format::Table => answer.summary(),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn answer(case: &Case, revision: Revision) -> Result<Object> {
    let name = case.kind()?;
    match KINDS.iter().find(|kind| kind.0 == name) {
        Some((_, kind)) => kind(case, revision),
        None => bail!("no kind is called {name}; there are {}", KINDS.iter().map(|kind| kind.0).collect::<Vec<_>>().join(", ")),
    }
}
