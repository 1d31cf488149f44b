//! The times of operations, one by one: what can be true at all, whatever the offset of the clocks.

use rankscope_clock::fit::FitOptions;
use rankscope_time::{Rate, Span};
use rankscope_trace::{GpuTimes, SpanId, StrId, Trace};
use rustc_hash::FxHashSet;

use super::{GpuClock, Unusable};

/// Times that can be an operation's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// The operation.
    pub(super) span: SpanId,
    /// Its communicator.
    pub(super) group: StrId,
    /// On the host.
    pub(super) launched_ns: Option<i64>,
    /// On the GPU.
    pub(super) start_ns: i64,
    /// On the GPU.
    pub(super) stop_ns: i64,
    /// On the host.
    pub(super) seen_ns: i64,
}

impl Told {
    /// The greatest that `GPU - host` can have been at the launch.
    pub(super) fn above_ns(&self) -> Option<i64> {
        Some(self.start_ns - self.launched_ns?)
    }

    /// The least that it can have been when the stop was seen.
    pub(super) fn below_ns(&self) -> i64 {
        self.stop_ns - self.seen_ns
    }
}

/// No clock is further from 1970 than this: 73 years. So differences of two, and loosened ones, fit.
const REACH_NS: i64 = 1 << 61;

/// The times of a trace that can be true.
#[derive(Debug, Default)]
pub(super) struct Usable {
    /// In order of when they were seen.
    pub(super) told: Vec<Told>,
    /// When the host saw others that contradict themselves, in order.
    pub(super) impossible_ns: Vec<i64>,
}

/// All in `trace` that can be true; what cannot is counted in `clock`. What contradicts itself is another operation's, and so may be what
/// follows in its communicator.
pub(super) fn usable(trace: &Trace, clock: &mut GpuClock) -> Usable {
    let group = |span| (span, group_of(trace, span));
    let mut all: Vec<((SpanId, StrId), GpuTimes)> = trace.gpu_times.iter().map(|(span, times)| (group(span), times)).collect();
    all.sort_by_key(|(_, times)| times.seen_ns);
    let mut banned: FxHashSet<StrId> = FxHashSet::default();
    let mut found = Usable { told: Vec::with_capacity(all.len()), impossible_ns: Vec::new() };
    for ((span, group), times) in all {
        clock.operations += 1;
        let checked = match checked((span, group), &times, clock.step_ns) {
            Ok(_) if banned.contains(&group) => Err(Unusable::AfterContradiction),
            checked => checked,
        };
        match checked {
            Ok(one) => {
                clock.unlaunched += u64::from(one.launched_ns.is_none());
                found.told.push(one);
            }
            Err(reason) => {
                if matches!(reason, Unusable::Backwards | Unusable::TooLong) {
                    banned.insert(group);
                    found.impossible_ns.push(times.seen_ns);
                }
                clock.refuse(reason);
            }
        }
    }
    found
}

/// The communicator of `span`.
pub(super) fn group_of(trace: &Trace, span: SpanId) -> StrId {
    let at = trace.collectives.binary_search_by_key(&span, |collective| collective.span);
    at.map_or(StrId::EMPTY, |at| trace.collectives[at].group_name)
}

fn checked((span, group): (SpanId, StrId), times: &GpuTimes, step_ns: i64) -> Result<Told, Unusable> {
    if times.start_ns == 0 || times.stop_ns == 0 {
        return Err(Unusable::Untold);
    }
    let near = |ns: i64| (-REACH_NS..=REACH_NS).contains(&ns);
    let of_gpu = |ns: u64| i64::try_from(ns).ok().filter(|ns| near(*ns)).ok_or(Unusable::OutOfRange);
    let (start_ns, stop_ns) = (of_gpu(times.start_ns)?, of_gpu(times.stop_ns)?);
    let GpuTimes { launched_ns, seen_ns, .. } = *times;
    if !launched_ns.is_none_or(near) || !near(seen_ns) {
        return Err(Unusable::OutOfRange);
    }
    let waited_ns = launched_ns.map(|launched_ns| seen_ns - launched_ns);
    if start_ns > stop_ns || waited_ns.is_some_and(|waited_ns| waited_ns < 0) {
        return Err(Unusable::Backwards);
    }
    if waited_ns.is_some_and(|waited_ns| stop_ns - start_ns > longest_ns(waited_ns, step_ns)) {
        return Err(Unusable::TooLong);
    }
    Ok(Told { span, group, launched_ns, start_ns, stop_ns, seen_ns })
}

/// What the GPU's clock can have gone on while the host waited for so long.
fn longest_ns(waited_ns: i64, step_ns: i64) -> i64 {
    let gained = skew_max().over(Span::from_nanos(waited_ns)).as_nanos();
    waited_ns.saturating_add(gained).saturating_add(2 * step_ns).saturating_add(HOST_NS)
}

fn skew_max() -> Rate {
    FitOptions::usual(Default::default()).skew_max
}

/// Readings of the host's clock are better than this.
const HOST_NS: i64 = 10_000;
