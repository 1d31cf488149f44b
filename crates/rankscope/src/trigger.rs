//! `rankscope trigger`: its arguments, and what it prints. `rankscope-launch` asks the ranks, or keeps what they recorded.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use rankscope_cli::ExitCode;
use rankscope_cli::ending::stop_switch;
use rankscope_cli::output::{self, Format};
use rankscope_document::{Document, NoteLevel};
use rankscope_launch::{
    AllKept, Detail, Incident, IncidentRequest, ProfiledTogether, TogetherRequest, TriggerProgress, TriggerRequest, Triggered,
    Whose, keep_all, keep_incident, profile_together, trigger,
};
use rankscope_run::KeptLast;
use serde_json::json;

use crate::report;
use crate::run::ranks;

/// Profile the next steps of a job that runs on all its ranks, or keep its last moments.
///
/// The job must have been started by `rankscope run`, without --no-hooks, and count steps: calls of a torch optimizer's step(), or
/// JAX's StepTraceAnnotation. All ranks profile the same steps. Their traces are in the run directory when this ends. With --in it needs
/// neither: torch's own processes ask the agent of their node, if they run with KINETO_USE_DAEMON=1, and begin at one instant.
///
/// With --last nobody is asked for anything: what ranks that record themselves have recorded is read while they go on, and kept in
/// incidents/ of the run, aligned and reported. It works on every run that records itself, and brings in the ranks of nodes that share
/// no directory, if these share a key; `rankscope run --ring` keeps it small.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run directory
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Begin at one instant on all nodes, so long from now, in processes that ask `rankscope agent --on-demand`: at least 12s
    #[arg(long = "in", value_name = "DURATION", value_parser = humantime::parse_duration, requires = "duration",
        conflicts_with_all = ["steps", "details", "answer_within"])]
    after: Option<Duration>,
    /// With --in: profile for so long
    #[arg(long = "for", value_name = "DURATION", value_parser = humantime::parse_duration, requires = "after")]
    duration: Option<Duration>,
    /// With --in: profile so many iterations instead, from one that all ranks come to
    #[arg(long, value_name = "N", requires = "after")]
    iterations: Option<u32>,
    /// With --in: only these ranks
    #[arg(long, value_name = "RANKS", value_delimiter = ',', requires = "after")]
    ranks: Option<Vec<u32>>,
    /// Keep this much of what ranks have recorded until now, as 60s
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration,
        conflicts_with_all = ["after", "steps", "details", "answer_within"])]
    last: Option<Duration>,
    /// With --last: why, for whoever reads incident.json
    #[arg(long, value_name = "TEXT", requires = "last", default_value = "asked for by hand", hide_default_value = true)]
    because: String,
    /// With --last, of `rankscope run` on several nodes: one step of it alone
    #[arg(long, value_enum, requires = "last", hide = true)]
    only: Option<Only>,
    /// How many steps to profile
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    steps: u32,
    /// What to record beside what a profiler records anyway (may be repeated)
    #[arg(long = "with", value_name = "DETAIL", value_enum)]
    details: Vec<DetailArg>,
    /// Seconds in which ranks have to answer; those that have not are left out
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    answer_within: u64,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DetailArg {
    /// Shapes of operators' inputs
    Shapes,
    /// Python's stacks
    Stack,
    /// Allocations
    Memory,
}

/// A step of keeping an incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Only {
    /// What is kept of a run is not reported on yet.
    Keep,
    /// Nor is that of a node that has no manifest.
    KeepOfNode,
    /// RUN is an incident that was kept.
    Report,
}

impl DetailArg {
    fn detail(self) -> Detail {
        match self {
            Self::Shapes => Detail::Shapes,
            Self::Stack => Detail::Stack,
            Self::Memory => Detail::Memory,
        }
    }
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    if let (Some(after), Some(duration)) = (args.after, args.duration) {
        let request = TogetherRequest { run: args.run, after, duration, iterations: args.iterations, ranks: args.ranks };
        return together(&request, args.format);
    }
    if let Some(last) = args.last {
        let whose = if args.only == Some(Only::KeepOfNode) { Whose::Node } else { Whose::Run };
        let request = IncidentRequest { run: args.run, last, because: args.because, whose };
        return match args.only {
            None => keep(&request, args.format),
            Some(Only::Keep | Only::KeepOfNode) => keep_only(&request),
            Some(Only::Report) => report_on(&request.run),
        };
    }
    let mut request = TriggerRequest::new(args.run, args.steps);
    request.details = args.details.into_iter().map(DetailArg::detail).collect::<BTreeSet<_>>();
    request.answer_within = Duration::from_secs(args.answer_within);
    let done = trigger(&request, &*stop_switch()?, &mut |progress| {
        if args.format == Format::Table {
            output::remark(&said(progress, args.steps));
        }
    })?;
    output::answer(&match args.format {
        Format::Json => json!({
            "first_step": done.first_step,
            "steps": done.steps,
            "profiled": done.profiled,
            "not_profiled": done.not_profiled,
            "silent": done.silent,
        })
        .to_string(),
        Format::Table => sentence(&done),
    })?;
    let all = done.not_profiled.is_empty() && done.silent.is_empty();
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Keeps the last moments and reports on them as on a run, which they are.
fn keep(request: &IncidentRequest, format: Format) -> Result<ExitCode> {
    let (folder, recordings, problems, sentence) = match keep_all(request)? {
        AllKept::OfDirectory { incident, others } => {
            let others = others.map(|why| format!("only what {} has is kept: {why}", request.run.display()));
            let problems = incident.problems.iter().map(ToString::to_string).chain(others).collect();
            (incident.folder.clone(), Some(incident.kept.len()), problems, kept(&incident))
        }
        AllKept::OfNodes { folder, lacks } => {
            let sentence = format!("kept the end of what all nodes recorded, in {}", folder.display());
            (folder, None, lacks, sentence)
        }
        AllKept::OnFirstNode { host, folder, summary, lacks } => {
            return there(&host, &folder, &summary, &lacks, format);
        }
    };
    remark_all(&problems);
    let (document, written) = report::into_run(&folder)?;
    match format {
        Format::Json => output::answer(
            &json!({
                "incident": folder,
                "recordings": recordings.unwrap_or(document.ranks.len()),
                "problems": problems,
                "summary": summary(&document),
            })
            .to_string(),
        )?,
        Format::Table => {
            output::remark(&sentence);
            report::say(&document, format, written, None)?;
        }
    }
    Ok(code(&problems))
}

/// What was kept on `host`, which leads the job, is reported on there.
fn there(host: &str, folder: &Path, summary: &str, lacks: &[String], format: Format) -> Result<ExitCode> {
    remark_all(lacks);
    output::answer(&match format {
        Format::Json => json!({"incident": folder, "host": host, "problems": lacks, "summary": summary}).to_string(),
        Format::Table => {
            format!("The first node kept the end of what all nodes recorded: {summary} It is in {host}:{}", folder.display())
        }
    })?;
    Ok(code(lacks))
}

fn remark_all(problems: &[String]) {
    problems.iter().for_each(|problem| output::remark(&format!("rankscope: {problem}")));
}

fn code(problems: &[String]) -> ExitCode {
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Keeps them, for who will report on them.
fn keep_only(request: &IncidentRequest) -> Result<ExitCode> {
    let incident = keep_incident(request)?;
    remark_all(&incident.problems.iter().map(ToString::to_string).collect::<Vec<_>>());
    output::answer(&json!({"incident": incident.folder}).to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// Reports on what was kept in `folder`.
fn report_on(folder: &Path) -> Result<ExitCode> {
    let (document, _) = report::into_run(folder)?;
    output::answer(&json!({"incident": folder, "summary": summary(&document)}).to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// The first thing to know of it.
fn summary(document: &Document) -> String {
    let advice = document.advice.first().map(|advice| format!("{}.", advice.title));
    let finding = || document.notes.iter().find(|note| note.level == NoteLevel::Finding).map(|note| note.text.clone());
    advice.or_else(finding).unwrap_or_else(|| "its report has no finding.".to_owned())
}

fn kept(incident: &Incident) -> String {
    let spans = incident.kept.iter().filter_map(|(_, kept)| match kept {
        KeptLast::Last { span, .. } => Some(*span),
        KeptLast::Whole => None,
    });
    let longest = spans.max().map(|span| format!(", up to {:.1} s of each", span.as_secs_f64())).unwrap_or_default();
    let recordings = match incident.kept.len() {
        1 => "1 recording".to_owned(),
        count => format!("{count} recordings"),
    };
    format!("kept the end of {recordings}{longest}, in {}", incident.folder.display())
}

fn together(request: &TogetherRequest, format: Format) -> Result<ExitCode> {
    let done = profile_together(request, &*stop_switch()?)?;
    output::answer(&match format {
        Format::Json => json!({
            "collected": done.collected,
            "missing": done.missing,
            "busy": done.busy,
            "not_aligned": done.not_aligned,
            "problems": done.problems.iter().map(|(node, problem)| json!({"node": node, "problem": problem})).collect::<Vec<_>>(),
        })
        .to_string(),
        Format::Table => of_instant(&done),
    })?;
    let all = done.missing.is_empty() && done.busy.is_empty() && done.problems.is_empty() && !done.collected.is_empty();
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn of_instant(done: &ProfiledTogether) -> String {
    let mut text = match done.collected.as_slice() {
        [] => "No rank was profiled.".to_owned(),
        collected => format!("Profiles of {} are in the run.", ranks(collected)),
    };
    if !done.missing.is_empty() {
        text.push_str(&format!(" None of {}, which was asked.", ranks(&done.missing)));
    }
    if !done.busy.is_empty() {
        text.push_str(&format!(" Another profile waits on {}.", ranks(&done.busy)));
    }
    for (node, problem) in &done.problems {
        text.push_str(&format!(" Node {node}: {problem}."));
    }
    if !done.not_aligned.is_empty() {
        let nodes: Vec<String> = done.not_aligned.iter().map(u32::to_string).collect();
        text.push_str(&format!(" Began by wall clocks, as clocks were not known: node {}.", nodes.join(", ")));
    }
    text
}

fn said(progress: TriggerProgress, steps: u32) -> String {
    match progress {
        TriggerProgress::Asked => "asking the ranks which step they can profile first ...".to_owned(),
        TriggerProgress::Agreed { first_step, ranks } => {
            format!("agreed on {steps} steps from step {first_step} on, with {ranks} ranks ...")
        }
        TriggerProgress::TooLate { rank } => format!("rank {rank} had passed that step when it heard of it; once more ..."),
        _ => String::new(),
    }
}

fn sentence(done: &Triggered) -> String {
    let last = done.first_step.saturating_add(u64::from(done.steps)).saturating_sub(1);
    let mut text = match done.profiled.as_slice() {
        [] => format!("Steps {} to {last} were profiled on no rank.", done.first_step),
        profiled => format!("Steps {} to {last} were profiled on {}.", done.first_step, ranks(profiled)),
    };
    if !done.not_profiled.is_empty() {
        text.push_str(&format!(" Not on {}: run.json says why at the end of the run.", ranks(&done.not_profiled)));
    }
    if !done.silent.is_empty() {
        text.push_str(&format!(" No answer from {}.", ranks(&done.silent)));
    }
    text
}
