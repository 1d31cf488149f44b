//! What a side lacks: settings of its profiler, tables of a saved report, marks, clocks.

use rankscope_document::{ClockMethod, Document, Tables};

use crate::Run;
use crate::side::Side;

/// Something that a run may have recorded: what it is, what its absence on one side means, and whether it is there.
type Recorded = (&'static str, &'static str, fn(&Document) -> bool);

/// Without these what is in them is not looked for.
const TABLES: &str = "tables of operators and kernels";

const RECORDED: [Recorded; 5] = [
    ("marks of steps", "its whole trace counts as one step, so times of a step are not of the same work", |document| {
        document.ranks.iter().any(|rank| !rank.steps.is_empty())
    }),
    (TABLES, "the change is split by class and by the longest kernels at most; save reports with --tables all", |document| {
        document.ranks.iter().any(|rank| rank.tables.is_some())
    }),
    ("tables of collectives", "waiting and moving data are not told apart", |document| document.collective_tables.is_some()),
    ("shapes of operators", "operators are compared by name; recording shapes takes time itself", |document| {
        has(document, |tables| tables.ops_unique_args.iter().flatten().any(|row| row.input_dims.is_some()))
    }),
    ("frames of Python", "recording them takes time itself, so that side looks slower", |document| {
        has(document, |tables| tables.modules.iter().flatten().any(|row| row.path.is_some()))
    }),
];

fn has(document: &Document, of: fn(&Tables) -> bool) -> bool {
    document.ranks.iter().filter_map(|rank| rank.tables.as_ref()).any(of)
}

/// What one side has and the other lacks.
pub(super) fn on_one_side(base: &Side, test: &Side) -> Vec<String> {
    let has = |side: &Side, of: fn(&Document) -> bool| side.documents().any(of);
    let mut sentences = Vec::new();
    for (what, so, of) in RECORDED {
        if has(base, of) != has(test, of) {
            let (with, without) = if has(base, of) { (base, test) } else { (test, base) };
            sentences.push(format!("{} has {what} and {} has none: {so}", with.label, without.label));
            if what == TABLES {
                break;
            }
        }
    }
    let windows = |side: &Side| side.documents().map(|document| document.windows.len()).max().unwrap_or(0);
    let (of_base, of_test) = (windows(base), windows(test));
    if of_base.max(of_test) > 1 && of_base.min(of_test) <= 1 {
        sentences.push(format!(
            "the profiling windows differ: {of_base} in {}, {of_test} in {}; what lies between windows is not recorded",
            base.label, test.label
        ));
    }
    sentences
}

/// What a side lacks by itself.
pub(super) fn of_side(side: &Side) -> Vec<String> {
    let mut sentences: Vec<String> = side.runs.iter().filter_map(|run| lost_marks(side, run)).collect();
    sentences.extend(side.runs.iter().filter_map(|run| stretched(side, run)));
    if let Some(first) = side.unfinished.first() {
        let runs = if side.unfinished.len() == 1 { "1 run".to_owned() } else { format!("{} runs", side.unfinished.len()) };
        sentences.push(format!("{}: {runs} left out whose job did not finish, the first {first}", side.label));
    }
    if side.documents().any(is_uncorrected) {
        sentences.push(format!(
            "{}: the clocks of its ranks are not corrected, so waits in collectives may be off by what the clocks are",
            side.label
        ));
    }
    sentences
}

/// Whether ranks are compared by clocks of which nothing is known.
fn is_uncorrected(document: &Document) -> bool {
    document.clock.method == ClockMethod::AsRecorded && document.collectives.matched > 0 && document.ranks.len() > 1
}

/// Steps that some ranks of a run did not mark, so that the job's time of them is not known.
fn lost_marks(side: &Side, run: &Run) -> Option<String> {
    let (step, ranks) = run.steps.lacking().first()?;
    let ranks = ranks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Some(match run.steps.lacking().len() {
        1 => format!("{}: step {step} is left out, as rank {ranks} did not mark it", side.label),
        n => format!("{}: {n} steps are left out that some ranks did not mark, the first {step} (rank {ranks})", side.label),
    })
}

/// Steps of a run that last until the mark after a lost one.
fn stretched(side: &Side, run: &Run) -> Option<String> {
    let steps = run.steps.stretched();
    let (first, more) = (steps.first()?, steps.len() - 1);
    let which = if more == 0 { format!("step {first} is") } else { format!("step {first} and {more} more are") };
    Some(format!("{}: {which} left out, as the mark after it is lost and it seems to last until the next one", side.label))
}
