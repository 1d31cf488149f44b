//! Threads that wait for each other: torch's backward runs on a thread of its own while the caller sleeps, and the caller sleeps again
//! until a backend's thread has done a collective. No trace records either.
//!
//! A thread waited for another one where nothing at all is recorded of it for [`QUIET_NS_MIN`] or longer, not even that a function of
//! Python was called, while it was in no operator and no call, and just before it went on the other thread ended what it did. "Just
//! before" is an eighth of that time, and no more than [`LATE_NS_MAX`]. A thread within an operator may have waited for a collective,
//! as operators of backward do, but not within an operator that has none inside it: that one worked.
//!
//! Who works on while the first thread goes on, did not hand anything to it, unless what ended is a collective.
//!
//! A thread that was in nothing, or begins, and starts a backward pass was called by a thread that is in something then: torch runs
//! that pass on threads of its own, which do nothing else.

use rankscope_trace::{SpanId, TrackId};

use super::names::{Names, Sort};
use super::sweep::sweep;

/// Shorter than this nobody waits for another thread.
const QUIET_NS_MIN: i64 = 50_000;

/// A thread goes on no later after what it waited for.
const LATE_NS_MAX: i64 = 5_000_000;

/// And within this part of the time that it was quiet.
const LATE_PART: i64 = 8;

/// So many ends are looked at.
const LOOKED_AT: usize = 16;

/// A stretch of a thread in which nothing is recorded to happen.
#[derive(Clone, Copy, Debug)]
struct Quiet {
    from_ns: i64,
    to_ns: i64,
    /// Whether it is within an operator.
    in_operator: bool,
}

/// What one thread did, as far as others wait for it.
pub(super) struct Activities {
    track: TrackId,
    quiet: Vec<Quiet>,
    /// Stretches in which nothing is open.
    pub(super) empty: Vec<(i64, i64)>,
    /// In operators and calls.
    pub(super) busy: Vec<(i64, i64)>,
    /// Where backward passes start: since when the thread was in nothing, and when they do.
    backward: Vec<(i64, i64)>,
    /// From its first span to the end of its last.
    extent_ns: (i64, i64),
}

impl Activities {
    /// Those of the thread of these `spans`, but for the time in collectives that are pieces of it, which `takes_part` knows.
    pub(super) fn of(names: &Names<'_>, track: TrackId, spans: &[SpanId], takes_part: impl Fn(SpanId) -> bool) -> Self {
        let mut own =
            Self { track, quiet: Vec::new(), empty: Vec::new(), busy: Vec::new(), backward: Vec::new(), extent_ns: (0, 0) };
        let (starts, ends) = (|span| names.trace.spans.start_ns(span), |span| names.trace.spans.end_ns(span));
        sweep(names, spans, |from_ns, to_ns, doing, _: &mut ()| {
            let Some((span, sort)) = doing.innermost else { return own.empty.push((from_ns, to_ns)) };
            if doing.collective.is_some_and(&takes_part) {
                return;
            }
            let is_leaf = sort == Sort::Operator && starts(span) == from_ns && ends(span) == to_ns;
            if to_ns.saturating_sub(from_ns) >= QUIET_NS_MIN && doing.call().is_none() && !is_leaf {
                own.quiet.push(Quiet { from_ns, to_ns, in_operator: doing.is_busy() });
            }
            match own.busy.last_mut().filter(|last| last.1 == from_ns) {
                _ if !doing.is_busy() => {}
                Some(last) => last.1 = to_ns,
                None => own.busy.push((from_ns, to_ns)),
            }
        });
        let long = own.empty.iter().filter(|(from_ns, to_ns)| to_ns.saturating_sub(*from_ns) >= QUIET_NS_MIN);
        own.quiet.extend(long.map(|(from_ns, to_ns)| Quiet { from_ns: *from_ns, to_ns: *to_ns, in_operator: false }));
        own.quiet.sort_by_key(|quiet| quiet.from_ns);
        let last_ns = spans.iter().map(|span| ends(*span)).max().unwrap_or(0);
        own.extent_ns = (spans.first().map_or(0, |first| starts(*first)), last_ns);
        own.backward = own.backward_passes(names, spans);
        own
    }

    fn backward_passes(&self, names: &Names<'_>, spans: &[SpanId]) -> Vec<(i64, i64)> {
        let start_ns = |span: SpanId| names.trace.spans.start_ns(span);
        let begins = spans.first().map(|first| (start_ns(*first), start_ns(*first)));
        let long = self.empty.iter().copied().filter(|(from_ns, to_ns)| to_ns.saturating_sub(*from_ns) >= QUIET_NS_MIN);
        let is_backward = |(_, to_ns): &(i64, i64)| {
            let next = spans.get(spans.partition_point(|span| start_ns(*span) < *to_ns));
            next.is_some_and(|span| names.runs_backward(*span))
        };
        begins.into_iter().chain(long).filter(is_backward).collect()
    }

    /// Whether anything is recorded of the thread at `ns`.
    fn is_in_something(&self, ns: i64) -> bool {
        let begun = self.empty.partition_point(|(from_ns, _)| *from_ns <= ns);
        let (first_ns, last_ns) = self.extent_ns;
        (first_ns..last_ns).contains(&ns) && begun.checked_sub(1).is_none_or(|last| self.empty[last].1 <= ns)
    }
}

/// Where something ended that a thread may have waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Giver {
    /// The operators and calls of that thread.
    Thread(TrackId),
    /// That one of the rank's collectives.
    Collective(usize),
}

/// A thread waited for another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handoff {
    /// The thread that waited.
    pub(super) track: TrackId,
    pub(super) from_ns: i64,
    /// When the other one ended what it did.
    pub(super) until_ns: i64,
    pub(super) giver: Giver,
}

/// All hand-offs between `threads`, and from `collectives` (thread, end and number) to them.
pub(super) fn handoffs(threads: &[Activities], collectives: &[(TrackId, i64, usize)]) -> Vec<Handoff> {
    let mut ends: Vec<(i64, TrackId, Giver)> = Vec::new();
    for thread in threads {
        ends.extend(thread.busy.iter().map(|(_, end_ns)| (*end_ns, thread.track, Giver::Thread(thread.track))));
    }
    ends.extend(collectives.iter().map(|(track, end_ns, number)| (*end_ns, *track, Giver::Collective(*number))));
    ends.sort_unstable();
    let busy_at = |track: TrackId, at_ns: i64| {
        let thread = threads.iter().find(|thread| thread.track == track);
        thread.is_some_and(|thread| {
            let begun = thread.busy.partition_point(|(from_ns, _)| *from_ns < at_ns);
            begun > 0 && thread.busy[begun - 1].1 >= at_ns
        })
    };
    let mut found = Vec::new();
    for thread in threads {
        for quiet in &thread.quiet {
            let length_ns = quiet.to_ns.saturating_sub(quiet.from_ns);
            let first_ns =
                quiet.to_ns.saturating_sub((length_ns / LATE_PART).min(LATE_NS_MAX)).max(quiet.from_ns.saturating_add(1));
            let until = ends.partition_point(|(end_ns, ..)| *end_ns <= quiet.to_ns);
            let late = ends[..until].iter().rev().take_while(|(end_ns, ..)| *end_ns >= first_ns).take(LOOKED_AT);
            let gives = |(_, track, giver): &&(i64, TrackId, Giver)| match giver {
                Giver::Thread(_) => *track != thread.track && !quiet.in_operator && !busy_at(*track, quiet.to_ns),
                Giver::Collective(_) => true,
            };
            let handoff = |(end_ns, _, giver): &(i64, TrackId, Giver)| Handoff {
                track: thread.track,
                from_ns: quiet.from_ns,
                until_ns: *end_ns,
                giver: *giver,
            };
            found.extend(late.copied().find(|end| gives(&end)).as_ref().map(handoff));
        }
    }
    found.extend(called(threads, &found));
    found
}

/// Who called the backward passes that nobody is known to have handed anything to, by `known`: of the threads that are in something
/// when one starts that which works most.
fn called(threads: &[Activities], known: &[Handoff]) -> Vec<Handoff> {
    let busy_ns = |thread: &Activities| thread.busy.iter().map(|(from_ns, to_ns)| to_ns - from_ns).sum::<i64>();
    let work: Vec<i64> = threads.iter().map(busy_ns).collect();
    let mut found = Vec::new();
    for thread in threads {
        for (from_ns, to_ns) in thread.backward.iter().copied() {
            let is_known = |one: &Handoff| one.track == thread.track && (from_ns..=to_ns).contains(&one.until_ns);
            if known.iter().any(is_known) {
                continue;
            }
            let others =
                threads.iter().zip(&work).filter(|(other, _)| other.track != thread.track && other.is_in_something(to_ns));
            let caller = others.max_by_key(|(other, work)| (**work, std::cmp::Reverse(other.track)));
            found.extend(caller.map(|(caller, _)| Handoff {
                track: thread.track,
                from_ns,
                until_ns: to_ns,
                giver: Giver::Thread(caller.track),
            }));
        }
    }
    found
}
