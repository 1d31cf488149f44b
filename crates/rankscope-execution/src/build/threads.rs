//! [`Threads`]: the threads that matter, and where each is cut.
//!
//! Where devices work, those are the threads that launch work or wait for it. Where none does, all that do something of their own.

use rankscope_analyze::Side;
use rankscope_analyze::spans::thread_label;
use rankscope_trace::{SpanId, TrackId, TrackKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{Activity, Builder, KeyId, LaneKind, PieceId};

use super::calls::{Waited, waits};
use super::collectives::{HostCollective, beside, key, on_host};
use super::devices::Devices;
use super::handoffs::{Activities, Giver, handoffs};
use super::keys::{Keys, TraceKey};
use super::names::{Names, Sort};
use super::pieces::{Awaited, Cut, Cutter, Pieces, Why};
use super::recorded::Recorded;
use super::sweep::sweep;

/// The threads of a trace that its graph has.
pub(super) struct Threads<'a> {
    threads: Vec<(TrackId, &'a [SpanId])>,
    waited: FxHashMap<SpanId, Waited>,
    collectives: Vec<HostCollective>,
}

impl<'a> Threads<'a> {
    /// Those of `names`, whose devices did what `devices` says, and waited for what is `recorded`.
    pub(super) fn of(names: &Names<'a>, devices: &Devices, recorded: &mut Recorded) -> Self {
        let trace = names.trace;
        let mut matters = vec![false; trace.tracks.len()];
        let (mut waited, mut collectives) = (FxHashMap::default(), Vec::new());
        let track = |span: SpanId| trace.spans.track[span.0 as usize].0 as usize;
        match names.side {
            Side::Device => {
                waited = waits(names, devices, recorded);
                let calls = devices.pieces.iter().filter_map(|piece| piece.launch).chain(waited.keys().copied());
                calls.for_each(|call| matters[track(call)] = true);
            }
            Side::Host => {
                collectives = on_host(names);
                let works = |span: &SpanId| matches!(names.sort(*span), Sort::Operator | Sort::Annotation);
                trace.spans.ids().filter(works).for_each(|span| matters[track(span)] = true);
            }
        }
        let is_host = |track: TrackId| matches!(trace.tracks.get(track).kind, TrackKind::Thread | TrackKind::Process);
        let nesting = &names.attribution.nesting;
        let threads = nesting
            .tracks()
            .filter(|(track, _)| matters[track.0 as usize] && is_host(*track) && !nesting.is_async(*track))
            .collect();
        Self { threads, waited, collectives }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// Adds their pieces, and ties them to each other and to `devices`.
    pub(super) fn cut(&self, names: &Names<'a>, devices: &Devices, keys: &mut Keys<'_>, builder: &mut Builder) {
        let mut of_collective = self.apart(names, keys, builder);
        let mut cuts = self.cuts(names, devices, keys, builder);
        let mut made: FxHashMap<TrackId, Pieces> = FxHashMap::default();
        for (track, spans) in self.threads.iter().copied() {
            let mut own = cuts.remove(&track).unwrap_or_default();
            own.sort_unstable();
            let lane = builder.lane(LaneKind::Thread, thread_label(names.trace, track));
            let start_ns = spans.first().map_or(0, |span| names.trace.spans.start_ns(*span));
            let mut cutter = Cutter::new(lane, start_ns, &own, keys, builder);
            sweep(names, spans, |from_ns, to_ns, doing, known: &mut Option<KeyId>| {
                let key = *known.get_or_insert_with(|| {
                    let waits = doing.call().is_some_and(|call| self.waited.contains_key(&call));
                    let key = doing.key(names);
                    cutter.key(if waits { TraceKey { activity: Activity::Synchronization, ..key } } else { key })
                });
                cutter.spent(from_ns, to_ns, key);
            });
            let pieces = cutter.finish();
            of_collective.extend(pieces.collectives.iter().copied());
            made.insert(track, pieces);
        }
        self.tie(names, devices, &made, &of_collective, builder);
    }

    /// Collectives that are no piece of a thread that the graph has, each on a lane beside.
    fn apart(&self, names: &Names<'a>, keys: &mut Keys<'_>, builder: &mut Builder) -> FxHashMap<usize, PieceId> {
        let has = |track: TrackId| self.threads.iter().any(|(own, _)| *own == track);
        let apart: Vec<HostCollective> =
            self.collectives.iter().map(|one| HostCollective { on_thread: one.on_thread && has(one.track), ..*one }).collect();
        beside(names, &apart, keys, builder)
    }

    /// Where each thread is cut.
    fn cuts(
        &self,
        names: &Names<'a>,
        devices: &Devices,
        keys: &mut Keys<'_>,
        builder: &mut Builder,
    ) -> FxHashMap<TrackId, Vec<Cut>> {
        let spans = &names.trace.spans;
        let track = |span: SpanId| spans.track[span.0 as usize];
        let mut cuts: FxHashMap<TrackId, Vec<Cut>> = FxHashMap::default();
        let mut add = |track: TrackId, cut: Cut| cuts.entry(track).or_default().push(cut);
        let mut calls: Vec<SpanId> = devices.pieces.iter().filter_map(|piece| piece.launch).collect();
        calls.sort_unstable();
        calls.dedup();
        calls.iter().for_each(|call| add(track(*call), Cut::here(spans.start_ns(*call))));
        for waited in self.waited.values() {
            let why = Why::Waits(Some(Awaited::Piece(waited.piece)));
            add(track(waited.call), Cut { at_ns: spans.start_ns(waited.call), until_ns: waited.until_ns, why });
        }
        let on_thread = self.collectives.iter().filter(|one| one.on_thread);
        let on_thread: FxHashSet<SpanId> = on_thread.map(|one| names.collectives.collectives.span(one.number)).collect();
        let activities = self.threads.iter().map(|(track, spans)| {
            let takes_part = |span: SpanId| on_thread.contains(&span);
            Activities::of(names, *track, spans, takes_part)
        });
        let activities: Vec<Activities> = activities.collect();
        let mut marks: Vec<i64> = names.step_marks().collect();
        marks.sort_unstable();
        marks.dedup();
        for ((track, _), own) in self.threads.iter().zip(&activities) {
            marks.iter().for_each(|at_ns| add(*track, Cut::here(*at_ns)));
            if names.side == Side::Host {
                own.busy
                    .iter()
                    .for_each(|(from_ns, to_ns)| [from_ns, to_ns].iter().for_each(|at| add(*track, Cut::here(**at))));
            }
        }
        for one in &self.collectives {
            if let Some((track, at_ns)) = one.handed_over {
                add(track, Cut::here(at_ns));
            }
            if !one.on_thread {
                continue;
            }
            let why = Why::Collective(one.number, key(names, one.number, keys, builder));
            add(one.track, Cut { at_ns: one.start_ns, until_ns: one.end_ns, why });
            // A backend's thread that was in nothing waited for what it was handed.
            let own = self.threads.iter().position(|(track, _)| *track == one.track).map(|at| &activities[at]);
            let before = own.filter(|_| one.handed_over.is_some()).and_then(|own| {
                let at = own.empty.binary_search_by_key(&one.start_ns, |(_, to_ns)| *to_ns).ok()?;
                Some(own.empty[at])
            });
            if let Some((from_ns, to_ns)) = before {
                add(one.track, Cut { at_ns: from_ns, until_ns: to_ns, why: Why::Waits(None) });
            }
        }
        let ends: Vec<(TrackId, i64, usize)> = self.collectives.iter().map(|one| (one.track, one.end_ns, one.number)).collect();
        for handoff in handoffs(&activities, &ends) {
            let awaited = match handoff.giver {
                Giver::Thread(track) => {
                    add(track, Cut::here(handoff.until_ns));
                    Awaited::Ended(track, handoff.until_ns)
                }
                Giver::Collective(number) => Awaited::Collective(number),
            };
            let why = Why::Waits(Some(awaited));
            add(handoff.track, Cut { at_ns: handoff.from_ns, until_ns: handoff.until_ns, why });
        }
        cuts
    }

    /// Who launched what, and who waited for what.
    fn tie(
        &self,
        names: &Names<'a>,
        devices: &Devices,
        made: &FxHashMap<TrackId, Pieces>,
        of_collective: &FxHashMap<usize, PieceId>,
        builder: &mut Builder,
    ) {
        let spans = &names.trace.spans;
        let ended = |track: TrackId, ns: i64| made.get(&track).and_then(|pieces| pieces.last_ended(ns));
        for piece in &devices.pieces {
            let Some(call) = piece.launch else { continue };
            if let Some(by) = ended(spans.track[call.0 as usize], spans.start_ns(call)) {
                builder.launch(piece.id, by);
            }
        }
        for one in &self.collectives {
            let by = one.handed_over.and_then(|(track, at_ns)| ended(track, at_ns));
            if let Some((piece, by)) = of_collective.get(&one.number).zip(by) {
                builder.launch(*piece, by);
            }
        }
        for (track, _) in &self.threads {
            for (piece, awaited) in made.get(track).into_iter().flat_map(|pieces| &pieces.waiting) {
                let other = match awaited {
                    Awaited::Piece(other) => Some(*other),
                    Awaited::Ended(track, at_ns) => ended(*track, *at_ns),
                    Awaited::Collective(number) => of_collective.get(number).copied(),
                };
                if let Some(other) = other {
                    builder.wait(*piece, other);
                }
            }
        }
    }
}
