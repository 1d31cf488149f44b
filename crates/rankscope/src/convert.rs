//! `rankscope convert`: between formats; the suffix decides.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use rankscope_cli::ExitCode;
use rankscope_cli::output;
use rankscope_formats::perfetto::{RankView, Timeline};
use rankscope_formats::{ArgsPolicy, Format, LeftOut, Scope, json, left_out, xspace};
use rankscope_pipeline::{Reading, load_file};
use rankscope_run::{file_name, refuse_same_file, write_encoded};
use rankscope_time::ClockMap;
use rankscope_trace::Trace;

/// Convert a trace between Kineto JSON, XSpace and Perfetto.
///
/// The suffix of OUT decides: .json, .xplane.pb or .pftrace, each also .gz or .zst; recordings (.rkr), rocprofv3's JSON, rocpd and
/// what nsys exports as SQLite are read only. Everything that the target format can hold is kept, arguments included; what it
/// cannot hold is counted on stderr.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The trace to read
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The trace to write
    #[arg(value_name = "OUT")]
    output: PathBuf,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let Some(format) = Format::of_name(&file_name(&args.output)) else {
        bail!(
            "{}: unknown suffix; use .json, .xplane.pb or .pftrace, optionally followed by .gz or .zst",
            args.output.display()
        );
    };
    refuse_same_file(std::slice::from_ref(&args.input), &args.output)?;
    if args.input.is_dir() {
        bail!(
            "{}: is a directory, and convert takes one trace at a time; `rankscope combine` merges a directory of traces into one file",
            args.input.display()
        );
    }
    let traces = load_file(&args.input, Reading { args: ArgsPolicy::All, scope: Scope::All })?;
    for problem in traces.iter().flat_map(|trace| trace.provenance.problems.iter()) {
        output::remark(&format!("{}: {problem}", args.input.display()));
    }
    write_encoded(&args.output, |encoder| write(&traces, format, encoder).with_context(|| args.output.display().to_string()))?;
    let mut lost = LeftOut::default();
    traces.iter().for_each(|trace| lost.merge(&left_out(trace, format)));
    if let Some(words) = lost.in_words() {
        output::remark(&format!("{}: not in the output, because the format cannot hold it: {words}", args.output.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn write(traces: &[Trace], format: Format, output: &mut (impl Write + Send)) -> Result<()> {
    match (format, traces) {
        (Format::Perfetto, _) => {
            let identity = ClockMap::identity();
            let mut timeline = Timeline::new(BufWriter::new(output));
            let rank = |trace: &Trace| trace.provenance.rank.map(|(rank, _)| rank);
            let views: Vec<_> = traces.iter().map(|trace| RankView { trace, rank: rank(trace), map: &identity }).collect();
            timeline.add(&views)?;
            timeline.finish()?;
        }
        (Format::Json, [trace]) => json::write(trace, output)?,
        (Format::XSpace, [trace]) => xspace::write(trace, output)?,
        (Format::Recording, _) => {
            bail!("only the recorder and `rankscope recover` write .rkr: other traces lack the recorder's ticks")
        }
        (Format::Json | Format::XSpace, several) => {
            bail!("the input holds {} ranks, and only .pftrace holds several in one file", several.len())
        }
    }
    Ok(())
}
