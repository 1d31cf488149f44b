//! Collectives of a trace without device work: where they lie, and who handed them over.
//!
//! A backend's threads do what an operator of torch.distributed handed to them, in order. Where a thread itself is in a collective and in
//! nothing else, the collective is a piece of that thread. Where it goes on with other operators meanwhile, or one collective began
//! before the one before it ended, the collective has a lane of its own.

use rankscope_analyze::spans::thread_label;
use rankscope_collectives::CollectiveStay;
use rankscope_trace::{SpanId, TrackId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{Activity, Builder, KeyId, LaneId, LaneKind, NewPiece, PieceId, Share};

use super::keys::{Keys, TraceKey};
use super::names::{Names, Sort};

/// A collective of the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostCollective {
    /// Its number among the rank's.
    pub(super) number: usize,
    pub(super) track: TrackId,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    /// Whether it is a piece of its thread.
    pub(super) on_thread: bool,
    /// Where and when it was handed over, if on another lane.
    pub(super) handed_over: Option<(TrackId, i64)>,
}

/// All collectives of the host, in order of their start.
pub(super) fn on_host(names: &Names<'_>) -> Vec<HostCollective> {
    let operators = Operators::of(names);
    let mut ended_ns: FxHashMap<TrackId, i64> = FxHashMap::default();
    let mut place = |(number, collective): (usize, CollectiveStay<'_>)| {
        let track = names.trace.spans.track[collective.span.0 as usize];
        let (start_ns, end_ns) = (collective.start_ns, collective.end_ns.max(collective.start_ns));
        let ended_ns = ended_ns.entry(track).or_insert(i64::MIN);
        let is_async = names.attribution.nesting.is_async(track);
        let on_thread = !is_async && start_ns >= *ended_ns && !operators.works_within(track, start_ns, end_ns);
        if on_thread {
            *ended_ns = end_ns;
        }
        HostCollective { number, track, start_ns, end_ns, on_thread, handed_over: None }
    };
    let all = names.collectives.collectives.iter();
    let mut placed: Vec<HostCollective> = all.enumerate().map(&mut place).collect();
    let in_order = operators.handing.len() == placed.len();
    for (at, collective) in placed.iter_mut().enumerate() {
        let before = operators.handing.partition_point(|(start_ns, _)| *start_ns <= collective.start_ns);
        let own = operators.handing.get(at).filter(|(start_ns, _)| in_order && *start_ns <= collective.start_ns);
        let by = own.or_else(|| operators.handing.get(before.checked_sub(1)?));
        let other = by.filter(|(_, track)| *track != collective.track || !collective.on_thread);
        collective.handed_over = other.map(|(start_ns, track)| (*track, *start_ns));
    }
    placed
}

/// The operators of a trace that say how its collectives lie.
struct Operators {
    /// Those that hand a collective over, by start.
    handing: Vec<(i64, TrackId)>,
    /// Starts of the others, of threads that hand collectives over.
    others: FxHashMap<TrackId, Vec<i64>>,
}

impl Operators {
    fn of(names: &Names<'_>) -> Self {
        let (spans, nesting) = (&names.trace.spans, &names.attribution.nesting);
        let track = |span: SpanId| spans.track[span.0 as usize];
        let is_outermost = |span: &SpanId| !nesting.parent(*span).is_some_and(|parent| names.hands_over(parent));
        let all: Vec<SpanId> = spans.ids().filter(|span| names.hands_over(*span)).filter(is_outermost).collect();
        let hand: FxHashSet<TrackId> = all.iter().map(|span| track(*span)).collect();
        let mut handing: Vec<(i64, TrackId)> = all.iter().map(|span| (spans.start_ns(*span), track(*span))).collect();
        handing.sort_unstable();
        let mut others: FxHashMap<TrackId, Vec<i64>> = FxHashMap::default();
        let works = |span: &SpanId| names.sort(*span) == Sort::Operator && !names.hands_over(*span) && is_outermost(span);
        for span in spans.ids().filter(|span| hand.contains(&track(*span))).filter(works) {
            others.entry(track(span)).or_default().push(spans.start_ns(span));
        }
        others.values_mut().for_each(|starts| starts.sort_unstable());
        Self { handing, others }
    }

    /// Whether an operator begins within that time on `track`, which hands collectives over.
    fn works_within(&self, track: TrackId, start_ns: i64, end_ns: i64) -> bool {
        let Some(starts) = self.others.get(&track) else { return false };
        let after = starts.partition_point(|at_ns| *at_ns <= start_ns);
        starts.get(after).is_some_and(|at_ns| *at_ns < end_ns)
    }
}

/// What a collective is known by.
pub(super) fn key(names: &Names<'_>, number: usize, keys: &mut Keys<'_>, builder: &mut Builder) -> KeyId {
    let span = names.collectives.collectives.span(number);
    keys.place(TraceKey::new(Activity::Communication, names.name(span)), builder)
}

/// Adds pieces for those of `collectives` that are no piece of their thread, on as few lanes as hold them side by side.
pub(super) fn beside(
    names: &Names<'_>,
    collectives: &[HostCollective],
    keys: &mut Keys<'_>,
    builder: &mut Builder,
) -> FxHashMap<usize, PieceId> {
    let mut lanes: FxHashMap<TrackId, Vec<(i64, LaneId)>> = FxHashMap::default();
    let mut pieces = FxHashMap::default();
    for one in collectives.iter().filter(|one| !one.on_thread) {
        let lanes = lanes.entry(one.track).or_default();
        let free = lanes.iter().position(|(ended_ns, _)| *ended_ns <= one.start_ns);
        let at = free.unwrap_or_else(|| {
            lanes.push((0, builder.lane(LaneKind::Thread, thread_label(names.trace, one.track))));
            lanes.len() - 1
        });
        lanes[at].0 = one.end_ns;
        let dur_ns = one.end_ns.saturating_sub(one.start_ns);
        let shares = vec![Share { key: key(names, one.number, keys, builder), ns: dur_ns }];
        let (lane, collective) = (lanes[at].1, Some(one.number));
        pieces.insert(one.number, builder.piece(NewPiece { lane, start_ns: one.start_ns, dur_ns, shares, collective }));
    }
    pieces
}
