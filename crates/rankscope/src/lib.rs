//! The command line of rankscope: one file per verb, no logic of its own.
//!
//! Exit codes: 0 fine, 1 failed, 2 used wrongly, 3 a check said no, 4 an input changed meanwhile. Errors go to stderr as one paragraph; with `--format json`
//! stdout holds one JSON document and nothing else.

mod align;
mod combine;
mod compare;
mod config;
mod convert;
#[cfg(feature = "clock")]
mod counters;
#[cfg(feature = "clock")]
mod demo;
mod dist;
#[cfg(feature = "clock")]
mod doctor;
mod hang;
mod map;
mod merge;
mod open;
mod pace;
mod plan;
mod query;
mod recover;
mod report;
#[cfg(feature = "clock")]
mod run;
mod runs;
mod serve;
mod spans;
#[cfg(feature = "store")]
mod stores;
#[cfg(feature = "clock")]
mod sweep;
mod top;
#[cfg(feature = "clock")]
mod trigger;
mod validate;
mod verbs;
mod watch;
mod what_if;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use rankscope_cli::{called, memory, output};

/// One timeline for a distributed training job: every rank on one clock, and a straight answer to where the time goes.
#[derive(Debug, Parser)]
#[command(name = "rankscope", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    #[cfg(feature = "clock")]
    Demo(demo::Args),
    #[cfg(feature = "clock")]
    #[command(hide = true)]
    DemoRank(demo::RankArgs),
    #[cfg(feature = "clock")]
    Run(run::Args),
    #[cfg(feature = "clock")]
    Sweep(sweep::Args),
    #[cfg(feature = "clock")]
    Trigger(trigger::Args),
    #[cfg(feature = "clock")]
    Agent(rankscope_clock_cli::agent::Args),
    Report(report::Args),
    Plan(plan::Args),
    Map(map::Args),
    Merge(merge::Args),
    Dist(dist::Args),
    Query(query::Args),
    Hang(hang::Args),
    #[cfg(feature = "clock")]
    #[command(hide = true)]
    Counters(counters::Args),
    #[cfg(feature = "clock")]
    Doctor(doctor::Args),
    Top(top::Args),
    Watch(watch::Args),
    Spans(spans::Args),
    Align(align::Args),
    Combine(combine::Args),
    Compare(compare::Args),
    Serve(serve::Args),
    Open(open::Args),
    WhatIf(what_if::Args),
    Validate(validate::Args),
    Convert(convert::Args),
    Recover(recover::Args),
    Runs(runs::Args),
    Clock(rankscope_clock_cli::Args),
    Dispatch(rankscope_dispatch_cli::Args),
    Config(config::Args),
}

pub use rankscope_cli::ExitCode;
#[cfg(feature = "clock")]
pub use rankscope_launch::Executable;

/// Does what a command line asks for, whose first word is the name that the program was called by. Writes to stdout and stderr, and
/// tunes the allocator and the limits of the whole process, so it is for a process that does nothing else afterwards.
pub fn command_line<W: Into<OsString>>(words: impl IntoIterator<Item = W>) -> ExitCode {
    let words = called::by(words.into_iter().map(Into::into).collect());
    memory::map_large_blocks();
    #[cfg(feature = "clock")]
    rankscope_launch::outlive_file_limit();
    #[cfg(feature = "store")]
    stores::register();
    let verb = match parsed(words) {
        Ok(cli) => cli.verb,
        Err(error) => return output::usage(error, parsed),
    };
    memory::bound_rows(None);
    let done = match verb {
        #[cfg(feature = "clock")]
        Verb::Demo(args) => demo::run(args),
        #[cfg(feature = "clock")]
        Verb::DemoRank(args) => demo::train(args),
        #[cfg(feature = "clock")]
        Verb::Run(args) => run::run(args),
        #[cfg(feature = "clock")]
        Verb::Sweep(args) => sweep::run(args),
        #[cfg(feature = "clock")]
        Verb::Trigger(args) => trigger::run(args),
        #[cfg(feature = "clock")]
        Verb::Agent(args) => rankscope_clock_cli::agent::run(args),
        Verb::Report(args) => report::run(args),
        Verb::Plan(args) => plan::run(args),
        Verb::Map(args) => map::run(args),
        Verb::Merge(args) => merge::run(args),
        Verb::Dist(args) => dist::run(args),
        Verb::Query(args) => query::run(&args),
        Verb::Hang(args) => hang::run(args),
        #[cfg(feature = "clock")]
        Verb::Doctor(args) => doctor::run(&args),
        #[cfg(feature = "clock")]
        Verb::Counters(args) => counters::run(&args),
        Verb::Top(args) => top::run(&args),
        Verb::Watch(args) => watch::run(&args),
        Verb::Spans(args) => spans::run(args),
        Verb::Align(args) => align::run(args),
        Verb::Combine(args) => combine::run(args),
        Verb::Compare(args) => compare::run(args),
        Verb::Serve(args) => serve::run(args),
        Verb::Open(args) => open::run(args),
        Verb::WhatIf(args) => what_if::run(args),
        Verb::Validate(args) => validate::run(args),
        Verb::Convert(args) => convert::run(args),
        Verb::Recover(args) => recover::run(args),
        Verb::Runs(args) => runs::run(args),
        Verb::Clock(args) => rankscope_clock_cli::run(args),
        Verb::Dispatch(args) => rankscope_dispatch_cli::run(args),
        Verb::Config(args) => config::run(args),
    };
    memory::say_what_was_not_bound();
    match done {
        Ok(code) => code,
        Err(error) => output::fail(&error),
    }
}

/// The command line, with its help.
fn command() -> clap::Command {
    verbs::grouped(Cli::command())
}

/// `words` understood; the error holds what clap would say.
fn parsed<W: Into<OsString> + Clone>(words: impl IntoIterator<Item = W>) -> Result<Cli, clap::Error> {
    let matches = command().try_get_matches_from(words)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command()))
}

#[cfg(test)]
mod tests {

    /// Names that two groups of options share, and the like, are found by clap only when a verb is used.
    #[test]
    fn the_command_line_is_sound() {
        super::command().debug_assert();
    }
}
