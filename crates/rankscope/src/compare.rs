//! `rankscope compare`: runs in; what changed and how sure that is out.

mod gate;
mod history;
mod written;

use std::path::PathBuf;

use anyhow::Result;
use rankscope_cli::ExitCode;
use rankscope_cli::job::{Bar, ClockArgs, request};
use rankscope_cli::output::{self, Format};
use rankscope_compare::{RunSpread, Settings, compare, gate as held_against};
use rankscope_document::Convention;
use rankscope_pipeline::{read_sides, sides as requested_sides};

use crate::report::RulesArgs;

/// Compare runs: what changed, by how much, how sure that is, and what it is made of.
///
/// Each of BASE and TEST is a run directory, a folder of traces, a folder of such runs (one a repetition), parts, or a report.json that
/// was saved with --tables all. Three runs a side or more give a verdict (five are better); two single runs only tell how these two differ,
/// unless --run-spread says how much runs of one configuration differ anyway. With --policy the exit code is 3 if the gate
/// fails; without, what is found does not change it.
///
/// With --history DIR and no BASE, the runs of a folder are followed over time: where the level of each metric changed, and how the latest
/// run is beside those before it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The base, and one test or more
    #[arg(value_names = ["BASE", "TEST"], num_args = 1.., required_unless_present = "history")]
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
    history: history::HistoryArgs,
    #[command(flatten)]
    gate: gate::GateArgs,
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

pub(crate) use written::write_text;

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    if args.sides.is_empty() && args.gate.is_asked() {
        return Ok(output::misused("a gate takes a BASE and a TEST"));
    }
    if args.sides.len() == 1 && args.gate.init_policy.is_none() {
        return Ok(output::misused("compare takes a BASE and a TEST, or one or more of them with --init-policy"));
    }
    if args.run_spread.is_some_and(|spread| !spread.is_finite() || spread < 0.0) {
        return Ok(output::misused("--run-spread is a share of at least 0, such as 0.003 for 0.3 %"));
    }
    let requested = match requested_sides(&args.sides, &args.repeat) {
        Ok(sides) => sides,
        Err(why) => return Ok(output::misused(&why.to_string())),
    };
    let policy = match args.gate.policy() {
        Ok(policy) => policy,
        Err(gate::Refused::Policy(why)) => return Ok(output::misused(&why)),
        Err(gate::Refused::File(error)) => return Err(error.into()),
    };
    let mut like = request(&[], args.partial, &args.clocks);
    like.mapping.rules = args.rules.rules();
    let settings = Settings::default()
        .with_time_margin(args.margin)
        .with_run_spread(args.run_spread.map(RunSpread::stated))
        .with_convention(args.convention.into());
    let settings = match args.history.folder() {
        Some(folder) if args.sides.is_empty() => return args.history.show(folder, &like, &settings, args.format),
        Some(folder) => {
            let tests = requested[1..].iter().flat_map(|side| side.paths.clone()).collect::<Vec<_>>();
            settings.with_run_spreads(history::run_spreads(folder, &tests, &like)?)
        }
        None => settings,
    };
    if let Some(file) = &args.gate.init_policy {
        return gate::begin(file, args.gate.force, &read_sides(&requested, &like, &Bar::default())?, &settings);
    }
    let sides = read_sides(&requested, &like, &Bar::default())?;
    let mut document = compare(&sides, &settings);
    document.gate = policy.map(|(policy, file)| held_against(&sides, &policy, &file, &settings));
    for path in args.written.write(&document, &sides)? {
        output::remark(&format!("wrote {}", path.display()));
    }
    match args.format {
        Format::Json => output::answer_by(|to| rankscope_report::write_comparison(&document, to))?,
        Format::Table => output::answer(&rankscope_report::comparison(&document, output::style()))?,
    }
    std::mem::forget(sides);
    args.gate.write(&document)?;
    Ok(gate::exit_code(&document))
}
