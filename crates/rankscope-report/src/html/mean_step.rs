//! What a step of the mean rank consists of, with communication split into what moves bytes and what waits for a late rank.
//!
//! Classes of time are means over every step of every rank, or over the ranks' whole recordings where no rank marks steps. The split is
//! that of the budgets, which are of the whole recording; communication that has no counterpart is in no budget and stays unsplit.

use std::collections::BTreeSet;

use rankscope_document::{Document, Time};
use serde::Serialize;

/// The parts add up to `total`, to the nanosecond.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct MeanStep {
    /// Steps that any rank marks; 0 where the parts are of whole recordings.
    steps: usize,
    /// Ranks that have times.
    ranks: usize,
    total: i64,
    computation: i64,
    /// Exposed communication once the rank that is waited for had come.
    transfer: i64,
    /// Exposed communication before it came.
    waiting: i64,
    /// Exposed communication of which neither is known.
    unsplit: i64,
    exposed_memcpy: i64,
    idle: i64,
}

/// That of `document`; none where no rank has any time.
pub(super) fn mean_step(document: &Document) -> Option<MeanStep> {
    let marked = || document.ranks.iter().flat_map(|rank| &rank.steps).filter(|step| step.time_ns.total > 0);
    let steps: Vec<&Time> = marked().map(|step| &step.time_ns).collect();
    let whole: Vec<&Time> = document.ranks.iter().map(|rank| &rank.time_ns).filter(|time| time.total > 0).collect();
    let times = if steps.is_empty() { &whole } else { &steps };
    let mean = |part: fn(&Time) -> i64| mean_of(times.iter().map(|time| part(time)));
    let (computation, exposed) = (mean(|time| time.computation)?, mean(|time| time.exposed_comm)?);
    let (exposed_memcpy, idle) = (mean(|time| time.exposed_memcpy)?, mean(|time| time.idle)?);
    let (waiting, transfer) = split(document, exposed);
    let unsplit = exposed.saturating_sub(waiting).saturating_sub(transfer);
    // What rounding leaves over belongs to a part that is there.
    let (transfer, unsplit) =
        if unsplit <= 1 && transfer > 0 { (transfer.saturating_add(unsplit), 0) } else { (transfer, unsplit) };
    Some(MeanStep {
        steps: marked().map(|step| step.step).collect::<BTreeSet<_>>().len(),
        ranks: whole.len(),
        total: [exposed, exposed_memcpy, idle].into_iter().fold(computation, i64::saturating_add),
        computation,
        transfer,
        waiting,
        unsplit,
        exposed_memcpy,
        idle,
    })
}

fn mean_of(values: impl ExactSizeIterator<Item = i64>) -> Option<i64> {
    let count = values.len() as i128;
    let sum: i128 = values.map(i128::from).sum();
    i64::try_from(sum.checked_div(count)?).ok()
}

/// The parts of `exposed` that are waiting and transfer. Collectives that run at the same time are in budgets more than once.
fn split(document: &Document, exposed: i64) -> (i64, i64) {
    let sum = |part: fn(&rankscope_document::Budget) -> i64| {
        document.budgets.iter().map(|budget| i128::from(part(budget)).max(0)).sum::<i128>()
    };
    let (waiting, transfer) = (sum(|budget| budget.wait_ns), sum(|budget| budget.transfer_ns));
    let of_ranks: i128 = document.ranks.iter().map(|rank| i128::from(rank.time_ns.exposed_comm)).sum();
    let whole = of_ranks.max(waiting + transfer).max(1);
    let part = |of: i128| i64::try_from(i128::from(exposed) * of / whole).unwrap_or(0);
    (part(waiting), part(transfer))
}

#[cfg(test)]
mod tests {
    use rankscope_document::{Budget, Rank, Step};

    use super::*;

    fn time(computation: i64, exposed_comm: i64, idle: i64) -> Time {
        let total = computation + exposed_comm + idle;
        Time { computation, exposed_comm, idle, total, busy: total - idle, ..Time::default() }
    }

    fn rank(rank: u32, steps: &[Time]) -> Rank {
        let steps: Vec<Step> =
            (0..).zip(steps).map(|(step, time_ns)| Step { step, time_ns: *time_ns, ..Step::default() }).collect();
        let sum = |part: fn(&Time) -> i64| steps.iter().map(|step| part(&step.time_ns)).sum();
        let time_ns = time(sum(|time| time.computation), sum(|time| time.exposed_comm), sum(|time| time.idle));
        Rank { rank, steps, time_ns, ..Rank::default() }
    }

    fn budget(wait_ns: i64, transfer_ns: i64) -> Budget {
        Budget { wait_ns, transfer_ns, exposed_ns: wait_ns + transfer_ns, ..Budget::default() }
    }

    #[test]
    fn parts_are_means_over_steps_and_add_up() {
        let ranks = vec![rank(0, &[time(10, 90, 1), time(20, 80, 2)]), rank(1, &[time(101, 0, 0)])];
        let document = Document { ranks, budgets: vec![budget(85, 34)], ..Document::default() };
        let found = mean_step(&document).unwrap();
        assert_eq!((found.steps, found.ranks, found.computation, found.idle), (2, 2, 43, 1));
        assert_eq!((found.waiting, found.transfer, found.unsplit), (28, 11, 17), "half, a fifth, the rest of 56");
        let parts = found.computation + found.transfer + found.waiting + found.unsplit + found.exposed_memcpy + found.idle;
        assert_eq!(parts, found.total);
    }

    #[test]
    fn budgets_beyond_what_was_exposed_share_it() {
        let document =
            Document { ranks: vec![rank(0, &[time(1, 30, 0)])], budgets: vec![budget(60, 30)], ..Document::default() };
        let found = mean_step(&document).unwrap();
        assert_eq!((found.waiting, found.transfer, found.unsplit), (20, 10, 0));
    }

    #[test]
    fn without_steps_it_is_the_recording_and_without_times_nothing() {
        let whole = Rank { steps: Vec::new(), ..rank(0, &[time(7, 0, 3)]) };
        let found = mean_step(&Document { ranks: vec![whole, Rank::default()], ..Document::default() }).unwrap();
        assert_eq!((found.steps, found.ranks, found.total), (0, 1, 10));
        assert_eq!(mean_step(&Document { ranks: vec![Rank::default()], ..Document::default() }), None);
        assert_eq!(mean_step(&Document::default()), None);
    }
}
