//! [`Telling`]: the rank's live page, by which the job is watched while it runs.
//!
//! The keeper tells collectives as it comes to them: the rank arrives when one is enqueued, and leaves when its last channel has stopped.
//! Numbers are counted here, one sequence for each communicator, because NCCL counts each function by itself, and that puts them in no
//! order. Where the count is lost with a record, the page is taken away: it would name somebody wrongly. Messages are not told, nor are
//! communicators without a hash, which no other rank could know again.

use std::collections::HashMap;
use std::io;

use rankscope_record::live::{self, Collective, InCollective, PageOp, Told};
use rankscope_record::{TestClock, TickSource, raw_ns, tick_source, ticks};

use crate::comms::Comm;
use crate::compose::Done;
use crate::event::Sort;
use crate::place::Place;
use crate::record::{Phase, Record};
use crate::words::{Element, Function};

/// The page, while there is one.
pub(crate) struct Telling {
    told: Option<Told>,
    ticking: Ticking,
    /// By slot, collectives of the communicator so far.
    counts: HashMap<u16, u64>,
    /// Those that it has not left, by the number of their handle.
    inside: HashMap<u32, InCollective>,
}

impl Telling {
    /// Begins the page of this rank, if it is part of a run and ends of operations are told.
    pub(crate) fn begin(place: &Place, ends_are_told: bool, clock: Option<TestClock>) -> Self {
        let told = place.run.as_ref().filter(|_| ends_are_told).and_then(|run| match Told::begin(run, place.rank, clock) {
            Ok(told) => Some(told),
            // The program tells of itself.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
            Err(error) => {
                crate::say(&format!("rank {} cannot be watched while it runs: its live page: {error}", place.rank));
                None
            }
        });
        Self { told, ticking: Ticking::new(), counts: HashMap::new(), inside: HashMap::new() }
    }

    /// Tells what a record says of a collective. `comm` is its communicator, where this is the rank's own.
    pub(crate) fn take(&mut self, record: &Record, comm: impl FnOnce() -> Option<Comm>) {
        if self.told.is_none() {
            return;
        }
        match (record.phase, record.sort) {
            (Phase::Finalize, _) => drop(self.counts.remove(&record.comm)),
            (Phase::Start, Sort::Coll | Sort::CeColl) => {
                if let Some(comm) = comm().filter(|comm| comm.hash != 0 && comm.ranks > 0) {
                    self.enter(record, &comm);
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, record: &Record, comm: &Comm) {
        let count = self.counts.entry(record.comm).or_default();
        let sequence = *count;
        *count += 1;
        let function = Function::of_record(record.function);
        let put_in = function.elements(record.value, comm.ranks).0.unwrap_or(0);
        let collective = Collective {
            group: &group_name(comm),
            members: comm.ranks,
            sequence,
            op: PageOp::named(function.said()),
            bytes: put_in.saturating_mul(Element::of_record(record.element).bytes()),
        };
        let inside = live::collective_at(&collective, self.ticking.raw_ns(record.tick));
        // One of that handle whose end was never told has ended by now.
        self.inside.insert(record.handle, inside);
    }

    /// Tells that an operation is over, as far as it will ever be known.
    pub(crate) fn leave(&mut self, done: &Done) {
        if let Some(inside) = self.inside.remove(&done.handle) {
            inside.left_at(self.ticking.raw_ns(done.done_tick.unwrap_or_else(ticks)));
        }
    }

    /// Takes the page away where records were lost.
    pub(crate) fn check(&mut self, lost: u64) {
        if lost > 0 && self.told.take().is_some() {
            crate::say("the rank is watched no more: collectives came faster than they could be told");
        }
    }
}

/// What the page calls a communicator: its hash, which all its ranks share and no other has, and its name for people.
fn group_name(comm: &Comm) -> String {
    if comm.name.is_empty() { format!("{:016x}", comm.hash) } else { format!("{:016x} ({})", comm.hash, comm.name) }
}

/// What ticks are on the raw monotonic clock, by what one was worth since this began.
struct Ticking {
    first: (u64, i64),
}

impl Ticking {
    fn new() -> Self {
        Self { first: now() }
    }

    fn raw_ns(&self, tick: u64) -> i64 {
        match tick_source() {
            TickSource::MonotonicRaw => tick.cast_signed(),
            TickSource::Counter => self.before(now(), tick),
        }
    }

    /// The clock at `tick`, not long before both were read.
    fn before(&self, (now_tick, now_ns): (u64, i64), tick: u64) -> i64 {
        let (ticks, ns) = (now_tick.saturating_sub(self.first.0), now_ns.saturating_sub(self.first.1));
        let ago = i128::from(now_tick.saturating_sub(tick)) * i128::from(ns) / i128::from(ticks.max(1));
        now_ns.saturating_sub(i64::try_from(ago).unwrap_or(0))
    }
}

/// The tick counter and the raw monotonic clock, as close together as they are read.
fn now() -> (u64, i64) {
    (ticks(), raw_ns())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_told_by_what_ticks_were_worth_so_far() {
        // Three ticks a nanosecond.
        let ticking = Ticking { first: (1_000, 500) };
        assert_eq!(ticking.before((3_001_000, 1_000_500), 3_001_000), 1_000_500);
        assert_eq!(ticking.before((3_001_000, 1_000_500), 2_701_000), 900_500);
        assert_eq!(ticking.before((1_000, 500), 900), 500, "nothing is known yet");
    }

    #[test]
    fn a_communicator_is_called_by_its_hash() {
        let comm = Comm { hash: 0xfeed, name: "default_pg".to_owned(), ..Comm::default() };
        assert_eq!(group_name(&comm), "000000000000feed (default_pg)");
        assert_eq!(group_name(&Comm { name: String::new(), ..comm }), "000000000000feed");
    }
}
