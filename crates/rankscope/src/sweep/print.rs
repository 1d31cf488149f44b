//! What is said of a sweep: the plan before it, a line before and after each run, and at the end how far each configuration is and how
//! to compare them.

use std::ffi::OsString;

use anyhow::Result;
use rankscope_cli::output::{self, Format, Lines};
use rankscope_launch::{Begins, Notice, Plan, SweepNotice, SweepObserver, Swept};
use rankscope_sweep::{Configuration, Order, Run, RunState, compare_command};
use serde_json::{Value, json};

/// The plan as an answer.
pub(super) fn dry_run(plan: &Plan, format: Format) -> Result<()> {
    if format == Format::Json {
        return Ok(output::answer(&document(plan, None)?.to_string())?);
    }
    let mut lines = Lines::default();
    head(plan).iter().for_each(|line| lines.line(format_args!("{line}")));
    for run in &plan.sweep.runs {
        let state = if run.state == RunState::Planned { String::new() } else { format!("  ({})", run.state.name()) };
        let set = plan.sweep.configuration(&run.configuration).map(assignments).unwrap_or_default();
        lines.line(format_args!("{:>5}  round {}  {}  {set}{state}", run.number, run.round, run.path));
    }
    Ok(output::answer(&lines.into_text())?)
}

fn head(plan: &Plan) -> Vec<String> {
    let sweep = &plan.sweep;
    let done = sweep.runs.iter().filter(|run| run.state == RunState::Succeeded).count();
    let done = if done == 0 { String::new() } else { format!(", {done} of them have succeeded") };
    let seed = if sweep.order == Order::Balanced { format!(" from seed {}", sweep.seed) } else { String::new() };
    let mut lines = vec![format!(
        "{} in {}: {}, {} each, order {}{seed}{done}",
        counted(sweep.runs.len(), "run"),
        plan.folder.display(),
        counted(sweep.configurations.len(), "configuration"),
        times(sweep.repeat),
        sweep.order.name(),
    )];
    let width = sweep.configurations.iter().map(|one| one.directory.len()).max().unwrap_or(0);
    lines.extend(sweep.configurations.iter().map(|one| format!("  {:width$}  {}", one.directory, assignments(one))));
    lines.extend(plan.warnings.iter().map(|warning| format!("  warning: {warning}")));
    if sweep.repeat < RUNS_FOR_A_VERDICT && sweep.configurations.len() > 1 {
        lines.push(format!("  note: fewer than {RUNS_FOR_A_VERDICT} runs of a configuration show no spread between runs, so no verdict: see --repeat"));
    }
    lines
}

/// From how many runs a side a difference can be told from the spread between runs.
const RUNS_FOR_A_VERDICT: u32 = 3;

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn times(repeat: u32) -> String {
    if repeat == 1 { "once".to_owned() } else { format!("{repeat} times") }
}

/// What a configuration sets, as a shell would be told.
fn assignments(configuration: &Configuration) -> String {
    if configuration.set.is_empty() {
        return "(sets nothing)".to_owned();
    }
    let set: Vec<String> = configuration.set.iter().map(|(name, value)| format!("{name}={}", output::quoted(value))).collect();
    set.join(" ")
}

/// Says on stderr what happens.
pub(super) struct Printer;

impl SweepObserver for Printer {
    fn plan(&self, plan: &Plan) {
        let mut lines = head(plan).into_iter();
        lines.next().into_iter().for_each(|line| output::remark(&format!("rankscope: {line}")));
        lines.for_each(|line| output::remark(&line));
    }

    fn notice(&self, notice: &Notice) {
        output::remark(&format!("rankscope: {}", output::told_of(notice)));
    }

    fn sweep_notice(&self, notice: &SweepNotice) {
        output::remark(&format!("rankscope: {notice}"));
    }

    fn begins(&self, begins: &Begins<'_>) {
        let which = match begins.run {
            Some(run) => format!("run {} of {}, {}", run.number, begins.of, run.path),
            None => "warm-up, not compared".to_owned(),
        };
        output::remark(&format!("rankscope: {which}: {}", assignments(begins.configuration)));
    }

    fn ended(&self, run: &Run) {
        let took = run.took_ms().map_or_else(String::new, |ms| match ms {
            ..1_000 => format!(" after {ms} ms"),
            ms => format!(" after {}.{} s", ms / 1_000, ms % 1_000 / 100),
        });
        let traces = run.traces.filter(|_| run.state == RunState::Succeeded).map_or_else(String::new, |count| match count {
            0 => ", and left no traces: there is nothing to compare".to_owned(),
            count => format!(", {}", counted(usize::try_from(count).unwrap_or(usize::MAX), "trace")),
        });
        output::remark(&format!("rankscope: run {} {}{took}{traces}{}", run.number, run.state.name(), why(run)));
    }
}

fn why(run: &Run) -> String {
    match (run.state, &run.problem, run.exit_code) {
        (RunState::Succeeded, ..) => String::new(),
        (_, Some(problem), _) => format!(": {problem}"),
        (_, None, Some(code)) => format!(" (exit code {code})"),
        (_, None, None) => String::new(),
    }
}

/// How the sweep stands at its end.
pub(super) fn over(swept: &Swept, format: Format) -> Result<()> {
    let Plan { sweep, folder, .. } = &swept.plan;
    if format == Format::Json {
        return Ok(output::answer(&document(&swept.plan, swept.stopped_by)?.to_string())?);
    }
    let stopped = swept.stopped_by.map_or_else(String::new, |signal| format!("was stopped by signal {signal} and "));
    output::remark_apart(&format!("rankscope: the sweep {stopped}is in {}", folder.display()));
    for summed in sweep.summed() {
        let of = summed.succeeded + summed.failed.len() + summed.left;
        output::remark(&format!("  {}: {} of {of} runs succeeded", summed.configuration.directory, summed.succeeded));
        for run in summed.failed {
            output::remark(&format!("    {} failed{}", folder.join(&run.path).display(), why(run)));
        }
    }
    let left = sweep.runs.iter().filter(|run| run.state != RunState::Succeeded).count();
    if left > 0 {
        let resume = ["rankscope", "sweep", "--resume"].map(OsString::from).into_iter();
        let resume: Vec<OsString> = resume.chain([folder.clone().into_os_string()]).collect();
        output::remark(&format!("  {left} left to run; to go on: {}", output::command_line(&resume)));
    }
    if let Some(command) = compare_command(sweep, folder) {
        output::remark(&format!("  to compare: {}", output::command_line(&command)));
    }
    Ok(())
}

/// `sweep.json`, with what is not in it: where it lies, warnings, and how to compare.
fn document(plan: &Plan, stopped_by: Option<i32>) -> Result<Value> {
    let mut document = serde_json::to_value(&plan.sweep)?;
    let words = |words: Vec<OsString>| words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>();
    document["folder"] = json!(plan.folder.display().to_string());
    document["warnings"] = json!(plan.warnings.iter().map(ToString::to_string).collect::<Vec<_>>());
    document["stopped_by_signal"] = json!(stopped_by);
    document["compare"] = json!(compare_command(&plan.sweep, &plan.folder).map(words));
    Ok(document)
}
