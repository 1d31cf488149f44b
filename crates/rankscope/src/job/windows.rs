//! From the exports of every rank to one trace a rank: of the profiling windows that all ranks have, or of those that are asked
//! for.

use std::collections::BTreeSet;
use std::str::FromStr;

use anyhow::{Result, bail};
use rankscope_run::{Export, LeftOut, Why, Window, Windows};
use rankscope_time::Rank;
use rankscope_trace::Trace;
use rayon::prelude::*;

use super::rank_of;

/// Which of the windows that all ranks have are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WindowChoice {
    /// Every one.
    #[default]
    All,
    /// The one at this place, counted from 1.
    Number(usize),
    First,
    Last,
}

impl FromStr for WindowChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            "first" => Ok(Self::First),
            "last" => Ok(Self::Last),
            number => match number.parse() {
                Ok(number) if number > 0 => Ok(Self::Number(number)),
                _ => Err("give the number of a window, from 1, or first, last or all".to_owned()),
            },
        }
    }
}

/// Which profiling windows to look at.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct WindowArgs {
    /// Where a profiler recorded several windows, use only this one: its number from 1, first or last [default: all]
    #[arg(long, value_name = "K|first|last|all", default_value = "all", hide_default_value = true)]
    pub(crate) window: WindowChoice,
}

/// What of the ranks' exports is compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compared {
    /// First and last step of each window, where they are marked.
    pub(crate) windows: Vec<Option<(i64, i64)>>,
    /// Ranks that left any export.
    pub(crate) ranks: usize,
    /// The exports that are not, for reasons of their own; not those of windows that nobody asked for.
    pub(crate) left_out: Vec<LeftOutExport>,
}

/// An export that is not compared.
#[derive(Clone, Debug)]
pub(crate) struct LeftOutExport {
    pub(crate) rank: Rank,
    pub(crate) steps: Option<(i64, i64)>,
    pub(crate) file: String,
    pub(crate) why: Why,
}

/// Joins of `traces`, sorted by rank and time, what lies in the windows of `choice`, to one trace a rank.
pub(super) fn join(traces: Vec<Trace>, choice: WindowChoice) -> Result<(Vec<Trace>, Compared)> {
    let exports: Vec<Export> = traces.par_iter().map(export).collect();
    let Windows { list, left_out } = Windows::of(&exports);
    let ranks = exports.iter().map(|export| export.rank).collect::<BTreeSet<_>>().len();
    let chosen = chosen(list, choice)?;
    let windows = chosen.iter().map(|window| window.steps).collect();
    let mut wanted = vec![false; traces.len()];
    chosen.iter().flat_map(|window| &window.exports).for_each(|at| wanted[*at] = true);
    let mut joined: Vec<Trace> = Vec::new();
    for (trace, _) in traces.into_iter().zip(wanted).filter(|(_, wanted)| *wanted) {
        match joined.last_mut().filter(|last| rank_of(last) == rank_of(&trace)) {
            Some(last) => last.join_export(trace),
            None => joined.push(trace),
        }
    }
    let out = |LeftOut { export, why }| {
        let Export { rank, steps, file, .. } = exports[export].clone();
        LeftOutExport { rank, steps, file, why }
    };
    Ok((joined, Compared { windows, ranks, left_out: left_out.into_iter().map(out).collect() }))
}

fn export(trace: &Trace) -> Export {
    Export {
        rank: rank_of(trace),
        bounds_ns: trace.bounds_ns().unwrap_or_default(),
        steps: trace.step_range(),
        file: trace.provenance.file.clone(),
    }
}

fn chosen(mut list: Vec<Window>, choice: WindowChoice) -> Result<Vec<Window>> {
    let number = match choice {
        WindowChoice::All => return Ok(list),
        WindowChoice::First => 1,
        WindowChoice::Last => list.len(),
        WindowChoice::Number(number) => number,
    };
    if number == 0 || number > list.len() {
        let all: Vec<String> = (1..).zip(&list).map(|(number, window)| named(number, window.steps)).collect();
        let there = if all.len() == 1 { "is" } else { "are" };
        bail!("--window {number}: no such window; there {there} {}: {}", all.len(), all.join(", "));
    }
    Ok(vec![list.swap_remove(number - 1)])
}

fn named(number: usize, steps: Option<(i64, i64)>) -> String {
    steps.map_or_else(|| number.to_string(), |steps| format!("{number} ({})", range(steps)))
}

/// `step 8` or `steps 2 to 5`.
pub(crate) fn range((first, last): (i64, i64)) -> String {
    if first == last { format!("step {first}") } else { format!("steps {first} to {last}") }
}
