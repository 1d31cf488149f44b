//! `rankscope validate`: can what the traces show have happened, and will a viewer show all of it?

mod table;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use rankscope_align::validate::write_csv;
use rankscope_analyze::ClassMode;
use rankscope_cli::ExitCode;
use rankscope_cli::job::{Bar, MeasuredArgs, request_by};
use rankscope_cli::output::{self, Format};
use rankscope_job::{ClockChoice, Evidence, Rules, Validated, validation_document};
use rankscope_pipeline::{beside_validation, clock_folder, judged};
use rankscope_report::validation_html;
use rankscope_run::write_file;

pub(crate) use self::table::text;

/// Check traces for impossible or lost events: causality, torch's rules, nesting, flows.
///
/// Exits with 3 if anything impossible is found: a rank that left a collective before another entered it, a receive before its
/// send, a kernel before its launch. What a viewer would leave out or draw wrongly (overlapping spans, flows without a start) is
/// counted separately and fails only with --strict, because profilers do write such files. Data that older profilers did not
/// record is a warning. Traces are checked as recorded unless --align puts the ranks on one clock first.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, directories, archives or patterns of the traces of one run, or the folder of parts that `rankscope map --checks` made of
    /// them
    #[arg(required = true, value_name = "TRACES")]
    paths: Vec<PathBuf>,
    /// The clocks on which collectives are checked [default: best for a run directory or with --clocks, none for plain traces]
    #[arg(long, value_enum)]
    align: Option<Align>,
    #[command(flatten)]
    measured: MeasuredArgs,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Write the JSON document to this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a page to this file: every rule, what was found on which rank and by how much, and what to do
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write every matched collective to this file: starts, gap and correlation ids of all ranks
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Also exit with 3 for what a viewer would leave out
    #[arg(long)]
    strict: bool,
    /// Also count kernels whose names match this regular expression as communication (may be repeated)
    #[arg(long, value_name = "REGEX")]
    comm_pattern: Vec<String>,
    /// Continue without files that cannot be read
    #[arg(long)]
    partial: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Align {
    /// As recorded
    None,
    /// As the collectives of the traces suggest
    FromTraces,
    /// As measured where clocks were measured, else as the collectives suggest
    Best,
}

/// A broken rule, as the exit code tells it.
pub(crate) const BROKEN: u8 = 3;

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let (judged, title) = judge(&args)?;
    let document = validation_document(&judged, title);
    if let Some(path) = &args.csv {
        write_file(path, |file| Ok::<_, anyhow::Error>(write_csv(file, &judged.meetings, judged.participants.list.len())?))?;
    }
    let json = || serde_json::to_string_pretty(&document);
    if let Some(path) = &args.output {
        let text = json()?;
        write_file(path, |file| Ok::<_, anyhow::Error>(file.write_all(text.as_bytes())?))?;
    }
    if let Some(path) = &args.html {
        let page = validation_html(&document, &beside_validation(path, &args.paths))?;
        write_file(path, |file| Ok::<_, anyhow::Error>(file.write_all(page.as_bytes())?))?;
    }
    match args.format {
        Format::Json => output::answer(&json()?)?,
        Format::Table => output::answer(&text(&document))?,
    }
    let broken = document.violations > 0 || (args.strict && document.losses > 0);
    // The process ends here: giving back memory piece by piece would only take time.
    std::mem::forget(judged);
    Ok(if broken { ExitCode::from(BROKEN) } else { ExitCode::SUCCESS })
}

/// What is found, and what it is called.
fn judge(args: &Args) -> Result<(Validated, String)> {
    let mut request = request_by(&args.paths, args.partial, &args.measured, args.clocks()?);
    request.mapping.rules = Rules::new(ClassMode::Default, args.comm_pattern.clone(), false).with_checks(true);
    let judged = judged(&request, &Bar::default())?;
    Ok((Validated::of(Evidence::of(judged.job)), judged.title))
}

impl Args {
    fn clocks(&self) -> Result<ClockChoice> {
        Ok(match self.align {
            Some(Align::None) => ClockChoice::AsRecorded,
            Some(Align::FromTraces) => ClockChoice::FromTraces,
            Some(Align::Best) => ClockChoice::Best,
            None if clock_folder(&self.paths, self.measured.folder())?.is_none() => ClockChoice::AsRecorded,
            None => ClockChoice::Best,
        })
    }
}
