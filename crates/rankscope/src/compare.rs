//! `rankscope compare`: runs in; what changed and how sure that is out.

mod sides;
mod written;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use rankscope_compare::{RunSpread, Settings, compare};
use rankscope_document::Convention;
use rankscope_pipeline::read_sides;

use crate::job::{Bar, ClockArgs, request};
use crate::output::{self, Format};
use crate::report::RulesArgs;

/// Compare runs: what changed, by how much, how sure that is, and what it is made of.
///
/// Each of BASE and TEST is a run directory, a folder of traces, a folder of such runs (one a repetition), parts, or a report.json that
/// was saved with --tables all. Three runs a side or more give a verdict; two single runs only tell how these two differ.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The base, and one test or more
    #[arg(required = true, num_args = 2.., value_names = ["BASE", "TEST"])]
    sides: Vec<PathBuf>,
    /// Further runs of a side: a pattern, by its first letters that of the side it names ('base-*' for base/), or SIDE=PATTERN (may be repeated)
    #[arg(long, value_name = "[SIDE=]PATTERN")]
    repeat: Vec<String>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Standard deviation between runs of one configuration, relative to their mean, such as 0.003; gives one run a side a verdict
    #[arg(long, value_name = "SHARE")]
    run_spread: Option<f64>,
    /// Whose signs the figures side by side have: in aorta's, a positive percentage is better
    #[arg(long, value_enum, default_value_t = Signs::Rankscope)]
    convention: Signs,
    #[command(flatten)]
    written: written::WrittenArgs,
    /// The change of a time that counts as none, as a share of the base
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    margin: f64,
    #[command(flatten)]
    rules: RulesArgs,
    /// Compare even if ranks are missing or files cannot be read
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    clocks: ClockArgs,
}

/// Conventions by the words of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Signs {
    /// Positive takes longer, on every sheet
    Rankscope,
    /// aorta's numbers and signs, for sheets that must match older ones
    Aorta,
}

impl From<Signs> for Convention {
    fn from(signs: Signs) -> Self {
        match signs {
            Signs::Rankscope => Self::Rankscope,
            Signs::Aorta => Self::Aorta,
        }
    }
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let sides = match sides::requested(&args.sides, &args.repeat) {
        Ok(sides) => sides,
        Err(why) => return Ok(output::misused(&why)),
    };
    let mut like = request(&[], args.partial, &args.clocks);
    like.mapping.rules = args.rules.rules();
    let settings = Settings::default()
        .with_time_margin(args.margin)
        .with_run_spread(args.run_spread.map(RunSpread::stated))
        .with_convention(args.convention.into());
    let sides = read_sides(&sides, &like, &Bar::default())?;
    let document = compare(&sides, &settings);
    for path in args.written.write(&document, &sides)? {
        output::remark(&format!("wrote {}", path.display()));
    }
    match args.format {
        Format::Json => output::answer_by(|to| rankscope_report::write_comparison(&document, to))?,
        Format::Table => output::answer(&rankscope_report::comparison(&document, output::style()))?,
    }
    std::mem::forget(sides);
    Ok(ExitCode::SUCCESS)
}
