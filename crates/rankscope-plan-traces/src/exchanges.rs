//! Which recorded all-to-all is which exchange of the plan.
//!
//! Counts come from the plan, because profilers cut long lists of splits; what a trace does tell must agree with them. The
//! exchanges of a layer repeat over layers and steps, so every recorded all-to-all is tried against all four, by its counts first
//! and by their order where several fit.

use std::sync::Arc;

use rankscope_collectives::{CollectiveStay, Instance, Kind, element_bytes};
use rankscope_dispatch::network::measured::{Comparison, Contradiction, Recorded, Splits, Stay, compare, contradictions};
use rankscope_dispatch::network::{PredictedExchange, Topology};
use rankscope_job::Job;
use rankscope_time::{Instant, Rank, Span};
use rankscope_trace::{CollectiveArgs, StrId, Trace};

use crate::ExchangesError;

/// All that was found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Met {
    /// In order of time.
    pub exchanges: Vec<MetExchange>,
    /// All-to-alls of so many ranks that fit no exchange and were said to be another's.
    pub others: usize,
    /// All-to-alls that only some ranks have.
    pub incomplete: usize,
}

/// One recorded all-to-all.
#[derive(Debug)]
#[non_exhaustive]
pub struct MetExchange {
    /// Index among the plan's exchanges.
    pub which: usize,
    /// What it took beside what was predicted.
    pub comparison: Comparison,
    /// Where the trace says otherwise. Then `which` is the one that fits best.
    pub contradictions: Vec<Contradiction>,
    /// Ranks of which bytes are recorded.
    pub counted_ranks: usize,
}

impl Met {
    /// Whether a trace contradicts the plan anywhere.
    pub fn contradicted(&self) -> bool {
        self.exchanges.iter().any(|one| !one.contradictions.is_empty())
    }
}

/// A recorded all-to-all, seen by the plan's ranks.
struct Seen {
    stays: Vec<Stay>,
    recorded: Vec<(Rank, Recorded)>,
}

/// Matches the all-to-alls of `job`, whose ranks have these `traces`, with the plan's exchanges. Those that fit none may be others', such as
/// those of expert parallelism, if `others_allowed`.
///
/// # Errors
/// Where nothing of the job can be held against the plan.
pub fn exchanges(
    job: &Job,
    traces: &[Arc<Trace>],
    plan: &[PredictedExchange],
    topology: &Topology,
    others_allowed: bool,
) -> Result<Met, ExchangesError> {
    let ranks = plan.first().ok_or(ExchangesError::EmptyPlan)?.traffic.world_size() as usize;
    let all_to_alls = || job.matched.instances.iter().filter(|instance| kind(job, instance) == Some(Kind::AllToAll));
    let of_plan: Vec<&Instance> = all_to_alls().filter(|one| one.members.len() + one.absent.len() == ranks).collect();
    if of_plan.is_empty() {
        let sizes: Vec<usize> = all_to_alls().map(|one| one.members.len() + one.absent.len()).collect();
        return Err(match (sizes.iter().min(), sizes.iter().max()) {
            (Some(&least), Some(&most)) => ExchangesError::OtherRanks { ranks, count: sizes.len(), least, most },
            _ => ExchangesError::NoAllToAll,
        });
    }
    let mut met = Met { exchanges: Vec::new(), others: 0, incomplete: 0 };
    let mut seen: Vec<Seen> = Vec::new();
    for instance in of_plan {
        match instance.complete {
            true => seen.push(see(job, traces, instance)),
            false => met.incomplete += 1,
        }
    }
    seen.sort_by_key(|one| one.stays.iter().map(|stay| stay.entered).min());
    let mut last = None;
    for one in &seen {
        let (which, contradictions) = best(plan, one, last);
        if others_allowed && !contradictions.is_empty() {
            met.others += 1;
            continue;
        }
        last = Some(which);
        let Some(comparison) = compare(topology, &plan[which].traffic, &plan[which].prediction, &one.stays) else { continue };
        let counted_ranks = one.recorded.iter().filter(|(_, recorded)| *recorded != Recorded::default()).count();
        met.exchanges.push(MetExchange { which, comparison, contradictions, counted_ranks });
    }
    if met.exchanges.is_empty() {
        return Err(ExchangesError::NoneFits { count: met.others + met.incomplete, ranks });
    }
    Ok(met)
}

/// The exchange that `seen` contradicts least, and among equals the one that comes soonest after `last`: layers repeat the first
/// two going forward and the other two going backward.
fn best(plan: &[PredictedExchange], seen: &Seen, last: Option<usize>) -> (usize, Vec<Contradiction>) {
    let found = |which: usize| -> Vec<Contradiction> {
        seen.recorded.iter().flat_map(|(rank, recorded)| contradictions(&plan[which].traffic, *rank, recorded)).collect()
    };
    let judged = (0..plan.len()).map(|which| (found(which), distance(plan.len(), last, which), which));
    let best = judged.min_by_key(|(found, distance, _)| (found.len(), *distance));
    best.map_or((0, Vec::new()), |(found, _, which)| (which, found))
}

/// How far `which` lies behind the one before it.
fn distance(many: usize, last: Option<usize>, which: usize) -> usize {
    last.map_or(which, |last| (which + many - last - 1) % many)
}

fn kind(job: &Job, instance: &Instance) -> Option<Kind> {
    instance.members.first().map(|member| job.collectives[member.rank()].collectives.operation(member.collective()).kind)
}

fn see(job: &Job, traces: &[Arc<Trace>], instance: &Instance) -> Seen {
    let (mut stays, mut recorded) = (Vec::new(), Vec::new());
    // Ranks of a plan are counted within the group that runs it.
    for (place, member) in (0_u32..).zip(instance.members.iter()) {
        let collective = job.collectives[member.rank()].collectives.stay(member.collective());
        let on_job = |nanos| {
            Span::from_nanos(
                job.clocks.ranks[member.rank()].map.map(Instant::from_nanos_since_epoch(nanos)).nanos_since_epoch(),
            )
        };
        let rank = Rank(place);
        stays.push(Stay { rank, entered: on_job(collective.start_ns), left: on_job(collective.end_ns) });
        recorded.push((rank, record(&traces[member.rank()], collective)));
    }
    Seen { stays, recorded }
}

/// What the trace tells of one rank's bytes.
fn record(trace: &Trace, collective: CollectiveStay<'_>) -> Recorded {
    let width = element_bytes(&collective.dtype);
    let bytes = |elements: Option<u64>| elements.zip(width).and_then(|(elements, width)| elements.checked_mul(width));
    let (sent, received) = (bytes(collective.in_elements), bytes(collective.out_elements));
    let at = trace.collectives.binary_search_by_key(&collective.span, |args| args.span);
    let list = |of: fn(&CollectiveArgs) -> StrId, total| {
        at.map_or_else(|_| Splits::default(), |at| splits(trace.strings.text(of(&trace.collectives[at])), total))
    };
    Recorded { sent, received, sent_to: list(|args| args.in_split, sent), received_from: list(|args| args.out_split, received) }
}

/// A list of splits: rows, of a width that the total tells where the list is whole. A cut one ends in dots.
fn splits(text: &str, total: Option<u64>) -> Splits {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']').trim_end_matches(',');
    let numbers: Vec<Option<u64>> = inner.split(',').map(|number| number.trim().parse().ok()).collect();
    let rows: Vec<u64> = numbers.iter().map_while(|number| *number).collect();
    let is_whole = rows.len() == numbers.len();
    let sum = rows.iter().try_fold(0_u64, |sum, row| sum.checked_add(*row)).filter(|sum| is_whole && *sum > 0);
    let row_bytes = total.zip(sum).and_then(|(total, sum)| total.is_multiple_of(sum).then(|| total / sum));
    Splits { rows, row_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_whole_tells_how_wide_its_rows_are() {
        let whole = splits("[3, 0, 5]", Some(64));
        assert_eq!((whole.rows.as_slice(), whole.row_bytes), ([3, 0, 5].as_slice(), Some(8)));
        let cut = splits("[3, 0, 5, ...]", Some(640));
        assert_eq!((cut.rows.as_slice(), cut.row_bytes), ([3, 0, 5].as_slice(), None));
        assert_eq!(splits("", Some(64)), Splits::default());
    }
}
